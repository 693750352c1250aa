"""Switches and advances in a search: where they are placed, and the smallest order that shows what only another order shows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import trio

from fencecheck.interleaving import Advance, Event, Switch, Update
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check
from fencecheck.search.exhaust import episodes, order_of
from fencecheck.search.placing import every, push_right, turns_of

X = "x"
WORLD = Scenario(owners={"a": [X]}, actions=[Action("go", depends_on=[X])])
TURNS = ("switch", "advance")


class Halt(Exception):
    """It stops without acting."""


class Tasks(AgentSystem):
    """Runs the tasks that `tasks()` names side by side; then it checks, and acts or halts."""

    scenario = WORLD
    runtime = "asyncio"
    halt_exceptions = (Fault, Halt)

    async def run(self) -> None:
        record = await self.kit.aio.read(X, timeout=1.0)
        if self.runtime == "trio":
            self.locks: Any = (trio.Lock(), trio.Lock())
            async with trio.open_nursery() as nursery:
                for task in self.tasks():
                    nursery.start_soon(task)
        else:
            self.locks = (asyncio.Lock(), asyncio.Lock())
            async with asyncio.TaskGroup() as group:
                for task in self.tasks():
                    group.create_task(task())
        if not isinstance(record, Record) or record.key != X or await self.kit.aio.head(X, timeout=1.0) != record.id:
            raise Halt("changed")
        self.kit.validated([X])
        await self.kit.aio.act("go", {}, basis={X: record.id})

    def tasks(self) -> list[Any]:
        return []


class LocksInTwoOrders(Tasks):
    """Deadlocks where the second task takes its lock before the first one has both."""

    def tasks(self) -> list[Any]:
        return [self.one, self.two]

    async def one(self) -> None:
        async with self.locks[0]:
            await self.kit.aio.point("one")
            async with self.locks[1]:
                await self.kit.aio.point("both")

    async def two(self) -> None:
        if self.runtime == "trio":
            await self.kit.aio.point("long")  # a free lock lets other tasks of trio go on
        await self.kit.aio.point("before")
        async with self.locks[1]:
            await self.kit.aio.point("two")
            async with self.locks[0]:
                await self.kit.aio.point("both")


class GivesUp(Tasks):
    """Acts only where its question is answered in time, and asks for ever where it was not."""

    def tasks(self) -> list[Any]:
        return [self.asks]

    async def asks(self) -> None:
        try:
            async with asyncio.timeout(5):
                await self.kit.aio.point("question")
        except TimeoutError:
            await asyncio.Event().wait()


def on(system: type[AgentSystem], runtime: str) -> type[AgentSystem]:
    return type(system.__name__, (system,), {"runtime": runtime})


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
@pytest.mark.parametrize("engine", ["exhaust", "explore"])
def test_a_deadlock_that_only_another_order_shows(engine: Any, runtime: str) -> None:
    report = check(on(LocksInTwoOrders, runtime), engine=engine, fresh_process=False)
    at = 2 if runtime == "trio" else 1
    assert [(failure.code, failure.events) for failure in report.failures] == [("stuck", (Event(at, Switch(2)),))]
    said = report.failures[0].finding.message
    assert "(main task)" in said
    for task in ("one", "two"):
        assert f".acquire in LocksInTwoOrders.{task}" in said


@pytest.mark.parametrize("engine", ["exhaust", "explore"])
def test_a_timeout_that_runs_out_before_its_answer(engine: Any) -> None:
    report = check(GivesUp, engine=engine, fresh_process=False)
    assert [(failure.code, failure.events) for failure in report.failures] == [("stuck", (Event(1, Advance()),))]


def test_a_switch_is_placed_where_another_waits_and_an_advance_where_a_timer_is_set() -> None:
    with Runner(LocksInTwoOrders) as runner:
        history = runner.run()
        assert history.waiting == {1: (1, 2), 2: (2, 1)}
        assert turns_of(history, TURNS, None) == [Event(1, Switch(2)), Event(2, Switch(1))]
    with Runner(GivesUp) as runner:
        history = runner.run()
        assert turns_of(history, TURNS, None) == [Event(1, Advance())]
        assert turns_of(history, ("switch",), None) == turns_of(history, (), None) == []


def test_whose_turn_it_is_comes_first_at_a_point_and_again_after_an_advance() -> None:
    with Runner(LocksInTwoOrders) as runner:
        history = runner.run()
    both = [Event(1, Switch(2)), Event(2, Switch(1))]
    assert turns_of(history, TURNS, Event(0, Update(X))) == both
    assert turns_of(history, TURNS, Event(1, Advance())) == both
    assert turns_of(history, TURNS, Event(1, Update(X))) == both[1:]
    assert turns_of(history, TURNS, Event(1, Switch(2))) == both[1:]


def test_every_turn_that_is_tried_fires_once() -> None:
    with Runner(LocksInTwoOrders) as runner:
        tried = list(episodes(runner, 3, kinds=TURNS))
    assert all(episode.new for episode in tried)
    events = [episode.events for episode in tried]
    assert len(set(events)) == len(events) > 3


def test_the_smallest_is_the_same_for_every_engine() -> None:
    with Runner(LocksInTwoOrders) as runner:
        order = order_of(runner)
        assert order((Event(5, Update(X)),)) < order((Event(0, Switch(1)),)) < order((Event(0, Switch(2)),)) < order((Event(0, Advance()),))
        whats = every(WORLD, TURNS, 1, tasks=runner.lanes)
    assert whats == [Switch(0), Switch(1), Switch(2), Advance()]
    assert every(WORLD, TURNS, 1) == []


def test_what_is_pushed_right_passes_a_switch_and_a_switch_stays() -> None:
    events = (Event(1, Switch(2)), Event(1, Update(X)))
    with Runner(LocksInTwoOrders) as runner:
        history = runner.run((), events)
        assert history.fired == events
    assert push_right(history, events) == events  # nothing that follows depends on the update: it was stuck
    with Runner(GivesUp) as runner:
        assert push_right(runner.run((), (Event(1, Update(X)),)), (Event(1, Update(X)),)) == (Event(2, Update(X)),)
