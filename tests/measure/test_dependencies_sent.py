"""When two runs sent the same, and when they did not."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck.history import Act
from fencecheck.measure.dependencies_sent import differs, first_unlike, same, unlike
from fencecheck.model import Record

NAN = float("nan")


class Itself:
    """Equal to itself only, as objects are."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Itself({self.value})"


class Array:
    """Comparing it makes no truth, as with arrays."""

    def __init__(self, *values: int) -> None:
        self.values = values

    def __eq__(self, other: object) -> Any:
        raise ValueError("ambiguous")

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"Array{self.values}"


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (1, 1.0, True),
        (1, True, False),
        ("1", 1, False),
        ({"a": [1, {"b": (2,)}]}, {"a": [1, {"b": (2,)}]}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([1, 2], [2, 1], False),
        ([1], (1,), False),
        ([NAN], [float("nan")], True),
        (NAN, 1.0, False),
        (Itself([1]), Itself([1]), True),
        (Itself(1), Itself(2), False),
        (Array(1, 2), Array(1, 2), True),
        ({"to": Array(1)}, {"to": Array(2)}, False),
        (Record("p1", None, "x", ("a@1",)), Record("p2", None, "x", ("a@2",)), True),
        (Record("p1", None, "x"), Record("p1", None, "y"), False),
        (Record("a@1", "a", "x"), Record("a@2", "a", "x", supersedes="a@1"), False),
    ],
    ids=repr,
)
def test_values(one: Any, other: Any, alike: bool) -> None:
    assert same(one, other) is alike
    assert same(other, one) is alike


def acts(*named: str, agent: str = "agent") -> list[Act]:
    """`ship:Tokyo` is one call."""
    return [Act(agent, action, {"to": to}) for action, _, to in (text.partition(":") for text in named)]


@pytest.mark.parametrize(
    ("one", "other", "differing"),
    [
        (["ship:A", "bill:A"], ["ship:A", "bill:A"], set()),
        (["ship:A", "bill:A"], ["ship:B", "bill:A"], {"ship"}),
        (["ship:A", "bill:A"], ["ship:A"], {"bill"}),
        (["ship:A", "ship:B"], ["ship:B", "ship:A"], {"ship"}),
        (["ship:A", "bill:A"], ["bill:A", "ship:A"], {"ship", "bill"}),
        (["ship:A", "note:A", "bill:A"], ["note:A", "ship:A", "bill:A"], {"ship", "note"}),
        (["bill:A", "ship:A"], ["ship:A"], {"bill"}),
    ],
    ids=lambda what: str(sorted(what) if isinstance(what, set) else what),
)
def test_each_action_by_its_own_calls_and_its_place(one: list[str], other: list[str], differing: set[str]) -> None:
    assert {name for name in ("ship", "bill", "note") if differs(name, acts(*one), acts(*other))} == differing


def test_agents_are_compared_each_alone() -> None:
    first, second = acts("ship:A", agent="one"), acts("ship:B", agent="two")
    assert not differs("ship", [*first, *second], [*second, *first])
    assert first_unlike([*first, *second], [*second, *first]) == ""
    assert differs("ship", first, acts("ship:A", agent="two"))


def test_what_is_unlike_counts_each_call_once() -> None:
    assert unlike([1, 1, 2], [1, 3]) == [1, 2]
    assert unlike([1], [1, 1]) == []


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (["ship:A"], ["ship:A"], ""),
        (["ship:A"], ["ship:B"], "ship goes out with to='A' in one and to='B' in the other"),
        (["ship:A"], ["bill:A"], "ship goes out in one and bill in the other"),
        (["ship:A"], [], "what goes out is 1 in number in one and 0 in the other"),
    ],
    ids=lambda what: str(sorted(what) if isinstance(what, set) else what),
)
def test_the_first_difference_in_words(one: list[str], other: list[str], said: str) -> None:
    assert first_unlike(acts(*one), acts(*other)) == said
