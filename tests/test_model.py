"""What cannot be a scenario is refused when it is made, with one sentence that says what it should be."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from fencecheck import Action, Scenario
from fencecheck.errors import BadInput

SHIP = Action("ship", ["k"])


def refused(**fields: Any) -> str:
    with pytest.raises(BadInput) as caught:
        Scenario(**{"owners": {"o": ["k"]}, "actions": [SHIP], **fields})
    return str(caught.value)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"owners": None}, "owners of a scenario is a mapping, not None: owners={'orders': ['order/42/address']}"),
        ({"owners": {"o": "k"}}, "owner 'o': what it owns must be a list of keys, not the single string 'k'; write ['k']"),
        ({"owners": {"o": 3}}, "owner 'o': what it owns must be a list of keys, not 3"),
        ({"owners": {"o": ["k", 3]}}, "owner 'o': what it owns must be a list of keys, which are texts, and holds 3"),
        ({"owners": {3: ["k"]}}, "owners of a scenario must be a list of names, which are texts, and holds 3"),
        ({"actions": "ship"}, "actions of a scenario is a list of actions, not 'ship': actions=[Action('ship', depends_on=[...])]"),
        ({"actions": ["ship"]}, "actions of a scenario is a list of actions, and holds 'ship': actions=[Action('ship', depends_on=[...])]"),
        ({"actions": None}, "actions of a scenario is a list of actions, not None: actions=[Action('ship', depends_on=[...])]"),
        ({"agents": "bob"}, "agents of a scenario must be a list of names, not the single string 'bob'; write ['bob']"),
        ({"tasks": 3}, "tasks of a scenario must be a list of names, not 3"),
        (
            {"actions": [Action("ship", ["x"])]},
            "action 'ship' depends on the key 'x', which no owner holds (keys: k): add it to owners",
        ),
        (
            {"actions": [Action("ship", ["k"], declared=["x"])]},
            "action 'ship' declares the key 'x', which no owner holds (keys: k): add it to owners",
        ),
        (
            {"actions": [Action("ship", ["k"], writes=["x"])]},
            "action 'ship' writes the key 'x', which no owner holds (keys: k): add it to owners",
        ),
        ({"depth": True}, "the lineage depth of a scenario is 1 or more, not True"),
        ({"depth": "3"}, "the lineage depth of a scenario is 1 or more, not '3'"),
        ({"values": ["Tokyo"]}, "values of a scenario is a mapping, not ['Tokyo']: values={'order/42/address': ['Tokyo', 'Osaka']}"),
        ({"values": {"k": "Tokyo"}}, "the values of 'k' must be a list, one for each version, or a Hypothesis strategy, not 'Tokyo'"),
        ({"values": {"k": 5}}, "the values of 'k' must be a list, one for each version, or a Hypothesis strategy, not 5"),
        (
            {"values": {"k": ["Tokyo", "Osaka", "Osaka"]}},
            "the values 2 and 3 of 'k' are both 'Osaka', so that an update would change nothing: let each differ from the one before",
        ),
        ({"values": {"kk": ["Tokyo"]}}, "values are given for the key 'kk', which no owner holds (keys: k): did you mean 'k'?"),
    ],
)
def test_a_field_of_the_wrong_shape(fields: Any, sentence: str) -> None:
    assert refused(**fields) == sentence


@pytest.mark.parametrize("values", [["Tokyo", "Osaka", "Tokyo"], [True, False, True], [1, True, 1.0], [None]], ids=str)
def test_values_each_of_which_is_a_change(values: list[Any]) -> None:
    assert Scenario(owners={"o": ["k"]}, actions=[SHIP], values={"k": values}).values == {"k": tuple(values)}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"depends_on": 3}, "action 'ship': depends_on must be a list of keys, not 3"),
        ({"depends_on": "k"}, "action 'ship': depends_on must be a list of keys, not the single string 'k'; write ['k']"),
        ({"depends_on": ["k", 3]}, "action 'ship': depends_on must be a list of keys, which are texts, and holds 3"),
        ({"times": "x"}, "action 'ship': times must be a whole number, not 'x'"),
        ({"replans": None}, "action 'ship': replans must be a whole number, not None"),
        ({"replans": True}, "action 'ship': replans must be a whole number, not True"),
        ({"tool": 3}, "action 'ship': tool must be a name, not 3"),
    ],
)
def test_an_action_of_the_wrong_shape(fields: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        Action("ship", **fields)
    assert str(caught.value) == sentence


# -- keys that depend on the arguments ---------------------------------------------------------------------------------------------


def test_keys_by_arguments_are_asked_for_with_the_arguments_only() -> None:
    action = Action("write", lambda args: [args["path"], args["path"]])
    scenario = Scenario(owners={"disk": ["a", "b"]}, actions=[action])
    assert scenario.declared(action, args={"path": "a"}) == ("a",)
    assert scenario.declared(action) == ("a", "b")  # any may be one
    assert scenario.declared(action, [("write", "b")]) == ("a",)
    with pytest.raises(BadInput, match=r"^the keys of action 'write' depend on its arguments: give the arguments too$"):
        action.true_keys()


def test_what_is_listed_as_declared_needs_no_arguments() -> None:
    action = Action("write", lambda args: [args["path"]], declared=["a"])
    assert Scenario(owners={"disk": ["a", "b"]}, actions=[action]).declared(action) == ("a",)


@pytest.mark.parametrize(
    ("depends_on", "sentence"),
    [
        (lambda args: [args["file"]], "depends_on fails (KeyError: 'file', for arguments path): let it name keys for whatever is sent"),
        (lambda args: args["path"], "depends_on returned 'a': let it return a list of keys"),
        (lambda args: None, "depends_on returned None: let it return a list of keys"),
    ],
)
def test_a_function_from_arguments_to_keys_that_is_none(depends_on: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        Action("write", depends_on).true_keys({"path": "a"})
    assert str(caught.value) == f"action 'write': {sentence}"


def test_what_stands_in_place_of_a_key_is_a_key_that_nobody_owns() -> None:
    assert Action("write", lambda args: [args["path"]]).true_keys({"path": 3}) == ("3",)


@pytest.mark.parametrize(
    ("given", "made_up"),
    [
        ((90, 80), 3_080),
        ((0.5,), 2_000.5),
        ((Decimal("9.90"),), Decimal("2009.90")),
        ((date(2026, 2, 27), date(2026, 2, 28)), date(2026, 3, 3)),
        ((datetime(2026, 12, 30, 12),), datetime(2027, 1, 1, 12)),
        ((date.max,), "x version 2"),
        (({"cap": 100, "open": True},), {"cap": 2_100, "open": True}),
        (([1, "a"],), [2_001, "x version 2"]),
        (("tea", "coffee"), "x version 3"),
        ((True, False), "x version 3"),
        ((), "x version 1"),
    ],
)
def test_a_value_beyond_those_given_is_like_the_last_of_them(given: tuple[Any, ...], made_up: Any) -> None:
    world = Scenario(owners={"a": ["x"]}, actions=[Action("go", ["x"])], values={"x": given} if given else {})
    number = len(given) + 1
    assert world.value_of("x", number) == made_up
    assert len({repr(world.value_of("x", n)) for n in range(1, number + 5)}) == number + 4


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Scenario(owner={}, actions=[]), "Scenario() takes no argument 'owner': did you mean 'owners'?"),  # type: ignore[call-arg]
        (lambda: Action("a", depend_on=["k"]), "Action() takes no argument 'depend_on': did you mean 'depends_on'?"),  # type: ignore[call-arg]
        (
            lambda: Action("a", zzz=1),  # type: ignore[call-arg]
            "Action() takes no argument 'zzz': it takes name, depends_on, declared, writes, times, replans, tool, keys_of",
        ),
        (lambda: Scenario(owners={}), "Missing required argument 'actions'"),  # type: ignore[call-arg]
    ],
)
def test_an_argument_of_another_name(make: Any, sentence: str) -> None:
    with pytest.raises(TypeError) as caught:
        make()
    assert str(caught.value) == sentence


def test_values_that_are_none() -> None:
    assert refused(values={"k": []}) == "the values of 'k' are an empty list: give the first at least, or leave the key out of values"
