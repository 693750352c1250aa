"""Of a failing interleaving nothing can be left out, by whichever search it was found; and it is called smallest only where it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencecheck.interleaving import Event, Update
from fencecheck.judge import judge
from fencecheck.mutants import ALL
from fencecheck.report.terminal import plain, report_lines
from fencecheck.run.simulate import Runner, simulate
from fencecheck.search.budget import Shard
from fencecheck.search.check import check
from fencecheck.search.minimal import one_minimal
from fencecheck.search.placing import Dropped
from fencecheck.search.report import Failure, Report
from tests.systems.specimens import SHOWN_BY

from .files import agent

ASKED = ["duplicate-act"]
TIRED = """
order = kit.read("x", timeout=1)
if getattr(order, "key", None) != "x" or order.removed:
    raise Halt("no order")
seen = [order.id]
for _ in range({asks}):
    head = kit.head("x", timeout=1)
    seen += [] if head in seen else [head]
if 1 < len(seen) <= {asks}:
    raise Halt("changed")
kit.validated(["x"])
kit.act("ship", {{"to": order.value}}, basis={{"x": order.id}})
"""
"""Halts as long as it has seen few changes, and takes no notice of many: as many as it asks."""


def one_fewer(failure: Failure) -> Iterator[tuple[Dropped, tuple[Event, ...]]]:
    dropped, events = failure.interleaving.dropped, failure.interleaving.events
    yield from ((dropped, events[:i] + events[i + 1 :]) for i in range(len(events)))
    yield from ((dropped[:i] + dropped[i + 1 :], events) for i in range(len(dropped)))


def needed(report: Report, system: Any) -> bool:
    """Whether no failure of the report is seen without any one of its events."""
    for failure in report.failures:
        for dropped, events in one_fewer(failure):
            interleaving = type(failure.interleaving)(failure.interleaving.scenario, dropped, events)
            if failure.code in {finding.code for finding in judge(simulate(system, interleaving)).findings}:
                return False
    return True


@pytest.mark.parametrize("name", ALL)
def test_nothing_can_be_left_out_of_what_exhaustion_finds(name: str) -> None:
    report = check(ALL[name], fresh_process=False, fail_on=ASKED)
    assert report.failures
    assert all(failure.smallest for failure in report.failures)
    assert needed(report, ALL[name])


SPECIMENS = dict.fromkeys(shown[0] for shown in SHOWN_BY)
ACTING = [system for system in SPECIMENS if Runner(system).run().effects]
"""Those that can be checked: the others act after an event only."""


@pytest.mark.parametrize("system", ACTING, ids=lambda system: system.__name__)
def test_nothing_can_be_left_out_of_what_a_specimen_fails_by(system: Any) -> None:
    assert needed(check(system, fresh_process=False, fail_on=["duplicate-act", "crash"], per_kind=100), system)


@pytest.mark.parametrize("events", [3, 4])
def test_nothing_can_be_left_out_of_what_the_search_that_closes_finds(tmp_path: Path, events: int) -> None:
    """Of 3 events it is the smallest, since all of 2 were run; of 4 it is the smallest of these kinds only."""
    system = agent(tmp_path, TIRED.format(asks=events))
    report = check(system, fresh_process=False)
    [failure] = report.failures
    assert failure.events == tuple(Event(at, Update("x")) for at in range(1, events + 1))
    assert needed(report, system)
    assert failure.smallest == (events == 3)
    found = {3: "smallest interleaving: 3 events", 4: "smallest interleaving found, of which nothing can be left out: 4 events"}
    assert found[events] in plain(report_lines(report)).splitlines()[3]


def test_what_was_drawn_or_shared_out_is_not_called_smallest(tmp_path: Path) -> None:
    system = agent(tmp_path, TIRED.format(asks=1))
    drawn = check(system, engine="explore", fresh_process=False)
    shared = check(system, max_events=1, shard=Shard(1, 1), fresh_process=False)
    parts = [check(system, max_events=2, shard=Shard(part, 2), fresh_process=False) for part in (1, 2)]
    assert {failure.smallest for failure in drawn.failures} == {False}
    assert {failure.smallest for failure in shared.failures} == {True}
    assert {failure.smallest for report in parts for failure in report.failures} == {False}
    assert needed(drawn, system)


def test_what_is_not_needed_is_left_out_until_all_is() -> None:
    a, b, c = (Event(at, Update("x")) for at in range(3))
    x, y = ("ship", "x"), ("ship", "y")

    def fails(dropped: Dropped, events: tuple[Event, ...]) -> bool:
        return b in events and y in dropped

    assert one_minimal(fails, (x, y), (a, b, c)) == ((y,), (b,))
    assert one_minimal(lambda dropped, events: True, (x,), (a,)) == ((), ())
