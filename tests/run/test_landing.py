"""Events at a point: their order, and those that do not fire."""

from __future__ import annotations

import pytest

from fencecheck.history import Act, Ended, Landed, Memory, Read
from fencecheck.interleaving import CorruptParent, Deliver, Event, MissingParent, Outage, Restore, ToolFault, Update
from fencecheck.run.simulate import Runner

from .faces import RUNTIMES, WORLD, Face, X, Y, run, system

each_runtime = pytest.mark.parametrize("runtime", RUNTIMES)


def test_events_of_one_point_land_in_the_order_given_before_the_port_does_its_work() -> None:
    async def body(io: Face) -> None:
        await io.read(X)
        await io.read(X)

    history = run(body, "sync", (Event(1, Update(X)), Event(1, Update(X)), Event(1, Outage("a"))))
    assert [type(entry).__name__ for entry in history.entries] == ["Read", "Landed", "Landed", "Landed", "Read", "Ended"]
    assert [entry.version for entry in history.entries if isinstance(entry, Landed)] == ["x@2", "x@3", None]


def test_events_that_change_nothing_have_not_fired() -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    nothing = [
        Update("z"), Update(X, "earlier"), Deliver(X), Deliver("z"), Outage("nobody"), Restore("a"), MissingParent(3), MissingParent("z"),
        CorruptParent(1),
    ]  # fmt: skip
    history = run(body, "sync", tuple(Event(0, what) for what in nothing))
    assert [(type(entry), entry.fired) for entry in history.entries[:-2]] == [(Landed, False)] * len(nothing)
    assert history.fired == ()


def test_a_mode_or_a_fault_that_is_set_twice_fires_once() -> None:
    async def body(io: Face) -> None:
        await io.read(Y)

    events = [Outage("a"), Outage("a"), Outage("a", "hang"), ToolFault("go"), ToolFault("go"), ToolFault("go", "lost-reply"), Restore("a")]
    history = run(body, "sync", tuple(Event(0, what) for what in events))
    assert [entry.fired for entry in history.entries if isinstance(entry, Landed)] == [True, False, True, True, False, True, True]


def test_events_beyond_the_last_point_do_not_land() -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    assert run(body, "sync", (Event(1, Update(X)),)).entries == [Read("agent", X, "x@1"), Ended("returned")]


@each_runtime
def test_one_runner_starts_each_episode_anew(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.memory(X)
        await io.act("go", {}, idempotency_key="one")
        await io.read(X)

    with Runner(system(body, runtime, WORLD)) as runner:
        first = runner.run()
        runner.run(
            (), (Event(0, Update(X)), Event(0, Deliver(X)), Event(0, Outage("a")), Event(0, MissingParent(Y)), Event(1, ToolFault("go")))
        )
        again = runner.run()
    assert again.entries == first.entries
    assert [type(entry) for entry in again.entries] == [Memory, Act, Read, Ended]
