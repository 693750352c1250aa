"""Which values of a key are tried."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from fencecheck import Action, Scenario
from fencecheck.measure.dependencies_values import FAR, choices

TEXTS = ["x version 2", "x version 3", "x version 4"]


def scenario_of(listed: list[Any]) -> Scenario:
    return Scenario(owners={"o": ["x"]}, actions=[Action("go")], values={"x": listed} if listed else {})


@pytest.mark.parametrize(
    ("listed", "values", "given"),
    [
        pytest.param(["A", "B", "C", "D", "E"], ["A", "B", "C", "D"], 4, id="as many of the scenario as are asked for"),
        pytest.param(["A", "B"], ["A", "B"], 2, id="no text is made up beside two"),
        pytest.param(["A", "B", "A", "C"], ["A", "B", "C"], 3, id="each once"),
        pytest.param(["A"], ["A", *TEXTS, ""], 1, id="texts beside one, the last one empty"),
        pytest.param([], ["x version 1", *TEXTS], 4, id="all made up alike, and so none is"),
        pytest.param([5, 7], [5, 7, 5 + FAR, 5 - FAR, 0, 6, 4], 2, id="numbers far off, zero, and one beside"),
        pytest.param([0.0, 1.0], [0.0, 1.0, 1.0 * FAR, -1.0 * FAR, -1.0], 2, id="numbers with a point"),
        pytest.param(
            [Decimal("0.5")],
            [
                Decimal("0.5"),
                *(Decimal(number) + Decimal("0.5") for number in (1000 * 2, 1000 * 3, 1000 * 4, FAR, -FAR)),
                *(Decimal(0), Decimal("1.5"), Decimal("-0.5")),
            ],
            1,
            id="amounts of money",
        ),
        pytest.param([True], [True, False], 1, id="of two things the other"),
        pytest.param([True, False], [True, False], 2, id="both things"),
        pytest.param([None, "A"], [None, "A"], 2, id="nothing"),
        pytest.param(
            [{"of": 5, "to": "A", "new": True}, {"of": 6, "to": "B", "new": True}],
            [{"of": 5, "to": "A", "new": True}, {"of": 6, "to": "B", "new": True}]
            + [{"of": number, "to": "A", "new": True} for number in (5 + FAR, 5 - FAR, 0, 6, 4)],
            2,
            id="numbers inside a record",
        ),
    ],
)
def test_those_of_the_scenario_first_and_made_up_ones_where_it_does_not_say_enough(
    listed: list[Any], values: list[Any], given: int
) -> None:
    assert choices(scenario_of(listed), "x", 3) == (values, given, ())


def test_beside_one_record_there_are_others_like_it_and_an_empty_one() -> None:
    values, given, _ = choices(scenario_of([{"to": "A", "parts": [1]}]), "x", 1)
    assert given == 1
    assert values[1] == {"to": "x version 2", "parts": [2001]}
    assert values[2] == {"to": "A", "parts": [1 + FAR]}
    assert values[-1] == {"to": "", "parts": []}


@pytest.mark.parametrize(("listed", "first"), [(["A", "B", "C"], "C"), (["A", "B"], "x version 5"), ([7], 11007)])
def test_what_acts_write_is_none_of_them(listed: list[Any], first: Any) -> None:
    values, _, written = choices(scenario_of(listed), "x", 3, writes=True)
    assert written[0] == first
    assert len({*values, *written}) == len(values) + len(written)
