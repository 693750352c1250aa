"""What cannot be a scenario is refused when it is made, with one sentence that says what it should be."""

from __future__ import annotations

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
        ({"depth": "3"}, "the lineage depth of a scenario is 1 or more, not '3'"),
        ({"values": ["Tokyo"]}, "values of a scenario is a mapping, not ['Tokyo']: values={'order/42/address': ['Tokyo', 'Osaka']}"),
        ({"values": {"k": "Tokyo"}}, "the values of 'k' must be a list, one for each version, or a Hypothesis strategy, not 'Tokyo'"),
        ({"values": {"k": 5}}, "the values of 'k' must be a list, one for each version, or a Hypothesis strategy, not 5"),
        ({"values": {"kk": ["Tokyo"]}}, "values are given for the key 'kk', which no owner holds (keys: k): correct its name"),
    ],
)
def test_a_field_of_the_wrong_shape(fields: Any, sentence: str) -> None:
    assert refused(**fields) == sentence


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"depends_on": 3}, "action 'ship': depends_on must be a list of keys, not 3"),
        ({"depends_on": "k"}, "action 'ship': depends_on must be a list of keys, not the single string 'k'; write ['k']"),
        ({"depends_on": ["k", 3]}, "action 'ship': depends_on must be a list of keys, which are texts, and holds 3"),
        ({"times": "x"}, "action 'ship': times must be a whole number, not 'x'"),
        ({"replans": None}, "action 'ship': replans must be a whole number, not None"),
    ],
)
def test_an_action_of_the_wrong_shape(fields: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        Action("ship", **fields)
    assert str(caught.value) == sentence
