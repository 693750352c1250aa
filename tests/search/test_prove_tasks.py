"""Going on to any number of events in a system of several tasks."""

from __future__ import annotations

import asyncio

from fencecheck.fence import Halt
from fencecheck.interleaving import Switch
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault, PreconditionFailed
from fencecheck.run.simulate import Runner
from fencecheck.search.prove import prove

from .careful import ONE, X, checked, proof_of


class Race(AgentSystem):
    """Checks, then acts, while another task may update what it rests on in between; looks again right before it acts, or not."""

    scenario = ONE
    runtime = "asyncio"
    halt_exceptions = (Fault, Halt)
    looks_again = False

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.updater())
            group.create_task(self.agent())

    async def agent(self) -> None:
        record = await self.kit.aio.read(X)
        await asyncio.sleep(0)
        if await self.kit.aio.head(X) != record.id:
            self.kit.halted("x changed")
            return
        self.kit.validated([X])
        if self.looks_again:
            await self.kit.aio.act("go", {"to": record.value}, basis={X: record.id}, expect={X: record.id})
        else:
            await self.kit.aio.act("go", {"to": record.value}, basis={X: record.id})

    async def updater(self) -> None:
        await self.kit.aio.derive("another", [], X)


class SafeRace(Race):
    """The tool checks with its own update."""

    halt_exceptions = (Fault, Halt, PreconditionFailed)
    looks_again = True


def test_every_order_of_answers_is_tried_once() -> None:
    """Three calls of one task and one of another: C(4, 1) orders, the first of which is the episode without events."""
    report = checked(SafeRace, kinds=["switch"], level="at-act")
    proof = proof_of(report)
    assert (report.verdict, report.bound.kind, proof.kinds) == ("held", "complete", ("switch",))
    assert proof.base is not None
    assert proof.base.episodes == 4


def test_a_race_is_found_by_the_first_order_that_shows_it() -> None:
    report = checked(Race, kinds=["switch"], level="at-act")
    assert report.verdict == "violated"
    assert [(event.at, type(event.what)) for event in report.failures[0].events] == [(0, Switch), (1, Switch)]
    assert report.failures[0].code == "raced-act"


def test_a_concurrent_system_is_complete_in_the_order_in_which_calls_come_and_with_switches() -> None:
    report = checked(SafeRace, kinds=["update", "switch", "restore"], level="at-act")
    proof = proof_of(report)
    assert proof.complete
    assert [(reach.kind, reach.complete) for reach in proof.further if reach.kind == "switch"] == [("switch", True)]


def test_real_time_is_refused() -> None:
    class Native(SafeRace):
        runtime = "asyncio-native"

    with Runner(Native) as runner:
        why = prove(runner, lambda episode, judgement: False, known=2, in_time=lambda: True).why
    assert why == "real time and real I/O decide in which order its calls are answered"
