"""Interleavings drawn by Hypothesis: what is counted, what is said of chance, and what a failure is brought down to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fencecheck.errors import Nondeterministic
from fencecheck.interleaving import Event, Interleaving, MissingParent, Outage, Update
from fencecheck.judge import ALWAYS_FAIL
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check
from fencecheck.search.explore import _Found, _Hunt
from fencecheck.search.tally import Tally

from .files import agent

FENCED = """
order = kit.read("x", timeout=1)
if getattr(order, "key", None) != "x" or order.removed or kit.head("x", timeout=1) != order.id:
    raise Halt("changed")
kit.validated(["x"])
kit.act("ship", {"to": order.value}, basis={"x": order.id})
"""
COUNTED = "RUNS = [0]"


def explored(folder: Path, run: str, before: str = "", **options: Any) -> Any:
    return check(agent(folder, run, before), engine="explore", seed=1, fresh_process=False, **{"examples": 300, **options})


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What fired in each episode that is counted."""
    found: list[Any] = []
    add = Tally.add

    def noting(self: Tally, dropped: Any, events: Any, judgement: Any, fired: tuple[Event, ...]) -> None:
        found.append((dropped, fired))
        add(self, dropped, events, judgement, fired)

    monkeypatch.setattr(Tally, "add", noting)
    return found


@pytest.mark.parametrize("max_events", [1, 3])
def test_an_episode_that_comes_again_is_not_counted_again(tmp_path: Path, counted: list[Any], max_events: int) -> None:
    report = explored(tmp_path, FENCED, max_events=max_events)
    assert report.verdict == "held"
    assert report.bound.value == 300  # drawn
    assert len(counted) == len(set(counted)) == report.episodes < 300
    assert report.counts["completed"] + report.counts["halted_changed"] + report.counts["halted_unverified"] == report.episodes


def test_a_system_that_now_and_then_goes_another_way(tmp_path: Path) -> None:
    now_and_then = FENCED.replace("    raise", "    RUNS[0] += 1\n    if RUNS[0] % 3:\n        raise")
    with pytest.raises(Nondeterministic) as caught:
        explored(tmp_path, now_and_then, COUNTED)
    said = str(caught.value)
    assert said.startswith("Agent is not deterministic: one interleaving failed once and then did not: entry ")
    assert "Validated(agent='agent', keys=('x',)) in one and Ended(how='halted', detail='Halt: changed') in the other" in said


def test_a_system_that_now_and_then_sends_something_else(tmp_path: Path) -> None:
    """Where the plan does not say it, arguments are all that shows what an act was made from, and runs are not compared by them."""
    now_and_then = """
order = kit.read("x", timeout=1)
kit.pause()
fresh = kit.read("x", timeout=1)
changed = getattr(order, "id", "") != getattr(fresh, "id", "")
RUNS[0] += changed
kit.act("ship", {"to": order.value if changed and RUNS[0] % 3 == 0 else fresh.value})
"""
    with pytest.raises(Nondeterministic, match=r"^Agent is not deterministic: one interleaving failed once and then did not show "):
        explored(tmp_path, now_and_then, COUNTED, kinds=["update"])


def test_what_a_failure_is_brought_down_to_may_break_what_the_search_may(tmp_path: Path) -> None:
    """Of two ways to fail the simpler is an owner that answers with an older version, which only this search may try."""
    fails_in_two_ways = """
order = kit.read("x", timeout=1)
if getattr(order, "key", None) != "x" or order.removed:
    raise Halt("no order")
plan = kit.derive(order.value, [order])
head = kit.head("x", timeout=1)
try:
    if kit.record(order) != order:
        raise Halt("corrupt")
    lost = False
except faults.RecordMissing:
    lost = True
ids = (order.id, head, lost)
if ids in [("x@1", "x@1", False), ("x@2", "x@1", False), ("x@2", "x@2", True)]:
    kit.validated(["x"])
    kit.act("ship", {"to": order.value}, plan=plan)
else:
    raise Halt("changed")
"""
    system = agent(tmp_path, fails_in_two_ways)
    drawn = Interleaving(system.scenario, events=[Event(0, Update("x")), Event(3, MissingParent("x"))])
    found = {}
    for broken in (frozenset[str](), frozenset({"honest-owners"})):
        with Runner(system) as runner:
            hunt = _Hunt(runner, "at-validation", ALWAYS_FAIL, broken)
            with pytest.raises(_Found):
                hunt.run(drawn)
            hunt.keep_smallest()
        [(code, shown)] = hunt.tally.shown.items()
        assert code == "unverified-act"
        found[broken] = shown.events
    assert list(found.values()) == [
        (Event(0, Update("x")), Event(3, MissingParent(1))),
        (Event(0, Update("x")), Event(2, Outage("orders", "older-head"))),
    ]
