"""An await that was forgotten is told by the port and the line, not by what comes of it."""

from __future__ import annotations

import asyncio
import gc
import warnings
from pathlib import Path
from typing import Any

import pytest

from fencecheck.errors import CouldNotRun
from fencecheck.interleaving import Event, Outage
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check

from .faces import RUNTIMES, WORLD, X, Y

AWAITED = [runtime for runtime in RUNTIMES if runtime != "sync"]
HERE = Path(__file__).name


def line_of(text: str) -> int:
    """The number of the only line of this file that ends so."""
    [number] = [n for n, line in enumerate(Path(__file__).read_text("utf-8").splitlines(), 1) if line.endswith(text)]
    return number


def running(run: Any, runtime: str = "asyncio", **attributes: Any) -> type[AgentSystem]:
    return type("Mine", (AgentSystem,), {"scenario": WORLD, "runtime": runtime, "run": run, **attributes})


async def forgets_to_act(self: Any) -> None:
    await self.kit.aio.read(X)
    self.kit.aio.act("go", {})  # forgotten: act


async def forgets_to_read(self: Any) -> None:
    order = self.kit.aio.read(X)  # forgotten: read
    await self.kit.aio.act("go", {"to": order.value})


async def plans_from_what_it_forgot(self: Any) -> None:
    self.kit.derive("plan", [self.kit.aio.memory(X)])  # forgotten: memory


@pytest.mark.parametrize("runtime", AWAITED)
@pytest.mark.parametrize(
    ("run", "port", "about"),
    [(forgets_to_act, "act", "'go'"), (forgets_to_read, "read", "'x'"), (plans_from_what_it_forgot, "memory", "'x'")],
)
def test_a_forgotten_await(runtime: str, run: Any, port: str, about: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Python's own, that it was never awaited
        with pytest.raises(CouldNotRun) as caught:
            check(running(run, runtime), fresh_process=False)
        gc.collect()
    line = f"{HERE}:{line_of('# forgotten: ' + port)}"
    assert str(caught.value) == (
        f"Mine: kit.aio.{port}({about}) at {line} is not awaited, so it never happens: write `await kit.aio.{port}(...)`"
    )


def test_a_forgotten_await_on_a_loop_of_the_systems_own() -> None:
    system = running(lambda self: asyncio.run(forgets_to_act(self)), "sync")
    with pytest.raises(CouldNotRun, match=r"kit\.aio\.act\('go'\) at test_awaits\.py:\d+ is not awaited"):
        check(system, fresh_process=False)


def test_a_plain_port_that_is_awaited() -> None:
    async def run(self: Any) -> None:
        await self.kit.read(X)

    with pytest.raises(CouldNotRun) as caught:
        check(running(run), fresh_process=False)
    assert str(caught.value).endswith("nothing to judge: kit.read is not to be awaited: write await kit.aio.read(...)")


def test_a_call_that_an_event_kept_from_being_awaited() -> None:
    async def run(self: Any) -> None:
        one, two = self.kit.aio.read(X), self.kit.aio.read(Y)
        await one
        await two

    history = Runner(running(run, halt_exceptions=(Fault,))).run((), (Event(0, Outage("a")),))
    assert history.ended.how == "halted"


def test_a_call_that_was_cancelled_before_it_began_was_awaited() -> None:
    async def run(self: Any) -> None:
        task = asyncio.create_task(self.kit.aio.read(Y))
        task.cancel()
        order = await self.kit.aio.read(X)
        await self.kit.aio.act("go", {"to": order.value})

    assert len(Runner(running(run)).run().effects) == 1


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_a_plain_port_on_a_loop_is_told_with_its_line(runtime: str) -> None:
    async def run(self: Any) -> None:
        order = self.kit.read(X, timeout=1)  # plain: read
        self.kit.pause()
        self.kit.validated([X])
        await self.kit.aio.act("go", {"to": getattr(order, "value", "")})

    report = check(running(run, runtime), max_events=1, fresh_process=False)
    line = f"{HERE}:{line_of('# plain: read')}"
    assert f"lets no other task go on while it calls kit.read at {line} and 1 more (write await kit.aio.read)" in report.assumed


def test_what_awaits_its_ports_is_told_nothing() -> None:
    async def run(self: Any) -> None:
        order = await self.kit.aio.read(X, timeout=1)
        await self.kit.aio.act("go", {"to": getattr(order, "value", "")})

    report = check(running(run), max_events=1, fresh_process=False)
    assert not [text for text in report.assumed if "other task" in text]


def test_an_async_hook_where_nothing_can_be_awaited() -> None:
    async def publish(self: Any, key: str, value: str) -> int:
        return 1

    system = running(lambda self: None, "sync", publish=publish, true_head=lambda self, key: None)
    with pytest.raises(CouldNotRun) as caught:
        Runner(system).run()
    assert str(caught.value) == "Mine: an async hook is reached where nothing can be awaited: set runtime = 'asyncio' or 'trio'"


def test_a_replay_in_the_first_episode_is_one() -> None:
    async def run(self: Any) -> None:
        for again in (False, True):
            with self.kit.replaying(lambda again=again: again, of="workflow"):
                order = await self.kit.aio.read(X)
        await self.kit.aio.act("go", {"to": order.value})

    history = Runner(running(run, replays=True)).run()
    assert [type(entry).__name__ for entry in history.entries] == ["Read", "Act", "Ended"]
