"""An adapter from plain functions: plan, validate, act."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencecheck import from_functions
from fencecheck.errors import BadInput
from fencecheck.history import Act, Declared, Derive, Ended, Halted, Head, Read, Validated
from fencecheck.interleaving import OUTAGE_HOWS, Event, Outage, Update
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.loading import load, reference
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check

X, Y = "order/1/address", "order/1/slot"
WORLD = Scenario(owners={"orders": [X], "slots": [Y]}, actions=[Action("ship", [X, Y])])


def plan(records: dict[str, Record]) -> tuple[str, str]:
    assert list(records) == [X, Y]
    return records[X].value, records[Y].value


def act(made: tuple[str, str]) -> dict[str, str]:
    return dict(zip(("to", "at"), made, strict=True))


def validate(made: Any, basis: dict[str, str], head: Callable[[str], str]) -> bool:
    return all(head(key) == id for key, id in basis.items())


Unfenced = from_functions(plan=plan, act=act, scenario=WORLD, name="Unfenced")
Fenced = from_functions(plan=plan, act=act, validate=validate, scenario=WORLD, name="Fenced")
READS = [Read("agent", X, f"{X}@1"), Read("agent", Y, f"{Y}@1"), Derive("agent", "p1")]
ACT = Act("agent", "ship", {"to": f"{X} version 1", "at": f"{Y} version 1"}, "p1")


def run(system: type[AgentSystem], *events: Event) -> Any:
    with Runner(system) as runner:
        return runner.run((), events)


def test_without_validate_it_reads_plans_and_acts() -> None:
    history = run(Unfenced)
    assert history.entries == [*READS, ACT, Ended("returned")]
    assert history.records["p1"].value == (f"{X} version 1", f"{Y} version 1")
    assert history.records["p1"].parents == (f"{X}@1", f"{Y}@1")


def test_with_validate_it_marks_what_it_validated() -> None:
    asked = [Declared("agent", "ship", (X, Y)), Head("agent", X, f"{X}@1"), Head("agent", Y, f"{Y}@1")]
    assert run(Fenced).entries == [*READS, *asked, Validated("agent", (X, Y)), ACT, Ended("returned")]


def test_what_is_no_longer_declared_is_not_validated() -> None:
    with Runner(Fenced) as runner:
        entries = runner.run((("ship", Y),)).entries
    asked = [Declared("agent", "ship", (X,)), Head("agent", X, f"{X}@1")]
    assert entries == [*READS, *asked, Validated("agent", (X,)), ACT, Ended("returned")]


def test_a_plan_that_does_not_pass_is_no_longer_current() -> None:
    history = run(Fenced, Event(3, Update(X)))
    assert history.entries[-2:] == [Halted("agent", "the plan is no longer current"), Ended("halted", "the plan is no longer current")]
    assert history.effects == ()


@pytest.mark.parametrize("system", [Unfenced, Fenced])
@pytest.mark.parametrize("how", [how for how in OUTAGE_HOWS if how != "older-head"])
def test_an_owner_that_gives_no_answer_halts_it(system: type[AgentSystem], how: Any) -> None:
    history = run(system, Event(0, Outage("orders", how)))
    assert history.ended.how == "halted"
    assert history.effects == ()


def test_a_removed_key_halts_it() -> None:
    assert run(Unfenced, Event(0, Update(Y, "removed"))).ended == Ended("halted", f"there is no {Y} to plan from")


def test_what_a_function_raises_is_a_crash() -> None:
    def broken(records: dict[str, Record]) -> Any:
        raise KeyError("price")

    system = from_functions(plan=broken, act=act, scenario=WORLD)
    assert run(system).ended == Ended("crashed", "KeyError: 'price'")


def test_verdicts() -> None:
    unfenced = check(Unfenced, fresh_process=False)
    assert [(failure.code, failure.events) for failure in unfenced.failures if failure.code == "stale-act"] == [
        ("stale-act", (Event(3, Update(X)),))
    ]
    assert check(Fenced, fresh_process=False).verdict == "held"


def test_it_is_named_for_reports_and_other_processes() -> None:
    assert Fenced.__name__ == Fenced.__qualname__ == "Fenced"
    assert reference(Fenced) is not None
    assert reference(Fenced).endswith(":Fenced")  # type: ignore[union-attr]
    assert reference(from_functions(plan=plan, act=act, scenario=WORLD)) is None  # bound to no name of its module


def test_it_is_loaded_by_name_and_runs_in_a_fresh_process(tmp_path: Path) -> None:
    path = tmp_path / "agents_of_functions.py"
    path.write_text(
        "from fencecheck import Action, Scenario, from_functions\n"
        "WORLD = Scenario(owners={'orders': ['x']}, actions=[Action('ship', ['x'])])\n"
        "def plan(records):\n    return records['x'].value\n"
        "def act(made):\n    return {'to': made}\n"
        "Agent = from_functions(plan=plan, act=act, scenario=WORLD, name='Agent')\n"
    )
    system = load(f"{path}:Agent")
    assert reference(system) == f"{path}:Agent"
    report = check(system, max_events=1)
    assert (report.verdict, report.assumed[0]) == ("violated", "deterministic (checked, in a fresh process too)")


async def awaited(*_: Any) -> Any: ...


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"plan": 3}, "plan must be a function, not 3"),
        ({"act": None}, "act must be a function, not None"),
        ({"validate": "yes"}, "validate must be a function, not 'yes'"),
        ({"validate": awaited}, "validate is async, and nobody would await it: write an AgentSystem with runtime = 'asyncio'"),
        ({"act": awaited}, "act is async, and nobody would await it: write an AgentSystem with runtime = 'asyncio'"),
        ({"scenario": None}, "scenario must be a fencecheck.Scenario, not None"),
        ({"name": 3}, "name must be a text, not 3"),
        (
            {"scenario": Scenario({"disk": ["a"]}, [Action("write", lambda args: [args["path"]])])},
            "plan() needs the keys of 'write' before there are arguments: write Action('write', [...])",
        ),
    ],
)
def test_what_is_no_plain_function(wrong: dict[str, Any], sentence: str) -> None:
    """An async `validate` would be true whatever it finds, and pass for a fence."""
    given: dict[str, Any] = {"plan": lambda records: 1, "act": lambda plan: {}, "scenario": WORLD, **wrong}
    with pytest.raises(BadInput) as caught:
        from_functions(**given)
    assert str(caught.value) == f"from_functions: {sentence}"
