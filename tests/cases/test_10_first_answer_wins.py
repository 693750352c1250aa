"""Owners are asked side by side, and the code goes on after the first answer. Found where answers can come back in any order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import trio

from fencecheck.interleaving import Event, Outage, Switch, Update
from fencecheck.judge import FINDINGS, counts_at, judge
from fencecheck.model import Action, Scenario
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.simulate import Runner
from fencecheck.search.exhaust import episodes

from .agents import AwaitingAgent, Stop, checked, of, smallest

LIMIT, RATE = "account/1/limit", "account/1/rate"
each_runtime = pytest.mark.parametrize("runtime", ["asyncio", "trio"])


def world(*depends_on: str) -> Scenario:
    return Scenario(owners={"bank": [LIMIT], "market": [RATE]}, actions=[Action("transfer", depends_on=depends_on)])


class Transfers(AwaitingAgent):
    """`needed`: how many answers it waits for. It halts on a failure, and on a change, among those that have come by then."""

    scenario = world(LIMIT)
    runtime = "asyncio"
    needed = 1

    async def run(self) -> None:
        self.known_as = {key: await self.look_later(key) for key in (LIMIT, RATE)}
        self.plan = await self.kit.aio.derive({"sum": self.known_as[LIMIT].value}, [*self.known_as.values()])
        self.answers, self.failed = 0, False
        await (self.on_trio() if self.runtime == "trio" else self.on_asyncio())

    async def on_asyncio(self) -> None:
        enough = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for key in (LIMIT, RATE):
                group.create_task(self.ask(key, enough))
            await enough.wait()
            await self.go()

    async def on_trio(self) -> None:
        enough = trio.Event()
        async with trio.open_nursery() as nursery:
            for key in (LIMIT, RATE):
                nursery.start_soon(self.ask, key, enough)
            await enough.wait()
            await self.go()

    async def ask(self, key: str, enough: Any) -> None:
        try:
            if await self.head_later(key) != self.known_as[key].id:
                self.failed = True
        except self.halt_exceptions:
            self.failed = True
        self.answers += 1
        if self.answers == self.needed:
            enough.set()

    async def go(self) -> None:
        if self.failed:
            raise Stop("changed, or not known")
        self.kit.validated(self.scenario.actions[0].depends_on)
        await self.kit.aio.act("transfer", self.plan.value, plan=self.plan)


def on(runtime: str, **attributes: Any) -> type[AgentSystem]:
    return of(Transfers, runtime=runtime, **attributes)


def found_with(system: type[AgentSystem], *kinds: str) -> dict[str, tuple[Event, ...]]:
    """Code to smallest interleaving of the violations that events of these kinds show."""
    found: dict[str, tuple[Event, ...]] = {}
    with Runner(system) as runner:
        for episode in episodes(runner, 2, kinds=kinds):
            for finding in judge(episode.history).findings:
                if FINDINGS[finding.code].kind == "safety" and counts_at(finding.code, "at-validation"):
                    found.setdefault(finding.code, episode.events)
    return found


@each_runtime
def test_an_owner_that_is_late_is_not_verified(runtime: str) -> None:
    report = checked(on(runtime), max_events=1)
    assert smallest(report) == [("unverified-act", LIMIT, (Event(3, Outage("bank", "hang")),))]


@each_runtime
def test_that_it_changed_is_missed_only_where_the_other_answer_comes_first(runtime: str) -> None:
    assert found_with(on(runtime), "update", "restore") == {}
    assert found_with(on(runtime), "update", "switch") == {"stale-act": (Event(3, Switch(2)), Event(3, Update(LIMIT)))}


@each_runtime
def test_for_what_is_asked_last_the_order_of_asking_is_enough(runtime: str) -> None:
    report = checked(on(runtime, scenario=world(LIMIT, RATE)), max_events=1)
    assert smallest(report) == [
        ("stale-act", RATE, (Event(3, Update(RATE)),)),
        ("unverified-act", LIMIT, (Event(3, Outage("bank", "hang")),)),
    ]


@each_runtime
def test_waiting_for_all_answers_holds(runtime: str) -> None:
    report = checked(on(runtime, needed=2, scenario=world(LIMIT, RATE)))
    assert (report.verdict, report.failures) == ("held", [])
    assert report.fired["switch"] > 0


@each_runtime
def test_a_note_that_is_kept_across_an_answer_overwrites_the_other_one(runtime: str) -> None:
    """All answers are waited for, and of two tasks that add to one note each has read it before the other wrote."""

    async def ask(self: Any, key: str, enough: Any) -> None:
        self.failed |= await self.head_later(key) != self.known_as[key].id
        self.answers += 1
        if self.answers == self.needed:
            enough.set()

    report = checked(on(runtime, needed=2, ask=ask), max_events=1)
    assert smallest(report)[0] == ("stale-act", LIMIT, (Event(3, Update(LIMIT)),))
