"""An interleaving written by hand that names what there is none of is refused in one sentence, rather than run without its event."""

from __future__ import annotations

import pytest

from fencecheck import simulate
from fencecheck.errors import BadInput
from fencecheck.interleaving import Deliver, Event, Interleaving, MissingParent, Outage, Replan, Restart, Restore, ToolFault, Update, What
from fencecheck.systems import ALL
from fencecheck.worlds import world

SYSTEM = ALL["planfence"]
SCENARIO = world()
KEY = SCENARIO.keys[0]
OWNER = next(iter(SCENARIO.owners))
ACTION = SCENARIO.actions[0]

UNKNOWN: list[tuple[What, str]] = [
    (Update(KEY + "x"), f"no owner holds the key '{KEY}x': did you mean '{KEY}'?"),
    (Deliver("q"), "no owner holds the key 'q' (keys: "),
    (MissingParent("q"), "no owner holds the key 'q' (keys: "),
    (Outage(OWNER + "x"), f"there is no owner '{OWNER}x': did you mean '{OWNER}'?"),
    (Restore("q"), "there is no owner 'q' (owners: "),
    (ToolFault("q"), f"there is no tool 'q' (tools: {ACTION.tool})"),
    (Replan("q"), "there is no task 'q' (tasks: "),
]


@pytest.mark.parametrize(("what", "said"), UNKNOWN, ids=[type(what).__name__ for what, _ in UNKNOWN])
def test_an_event_about_what_there_is_none_of(what: What, said: str) -> None:
    with pytest.raises(BadInput) as raised:
        simulate(SYSTEM, Interleaving(SCENARIO, (), (Event(0, what),)))
    assert str(raised.value).startswith(f"{Event(0, what)!r} can never fire: {said}")


@pytest.mark.parametrize("dropped", [("q", KEY), (ACTION.name, "q")])
def test_a_declaration_that_there_is_not(dropped: tuple[str, str]) -> None:
    with pytest.raises(BadInput, match="cannot be dropped: "):
        simulate(SYSTEM, Interleaving(SCENARIO, (dropped,), ()))


def test_what_there_is_fires_and_an_agent_may_be_another() -> None:
    history = simulate(SYSTEM, Interleaving(SCENARIO, (), (Event(0, Update(KEY)), Event(1, Restart("somebody else")))))
    assert Event(0, Update(KEY)) in history.fired
