"""What `open()` leaves running on the stock loop lives as long as the worker; what an episode leaves running does not outlive it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import pytest

from fencecheck import Action, AgentSystem, Scenario
from fencecheck.errors import CouldNotRun
from fencecheck.run.simulate import Runner

log: list[str] = []


@asynccontextmanager
async def connection() -> AsyncIterator[list[str]]:
    held = ["open"]
    try:
        yield held
    finally:
        held.clear()


class Pooled(AgentSystem):
    scenario = Scenario(owners={"orders": ["order/42"]}, actions=[Action("ship", ["order/42"])])
    runtime = "asyncio-native"

    async def open(self) -> None:
        self.entered = connection()
        self.connection = await self.entered.__aenter__()
        self.jobs: asyncio.Queue[asyncio.Future[str]] = asyncio.Queue()
        self.task = asyncio.create_task(self.work())

    async def work(self) -> None:
        while True:
            (await self.jobs.get()).set_result("done")

    async def run(self) -> None:
        assert self.worker.connection == ["open"]
        job = asyncio.get_running_loop().create_future()
        self.worker.jobs.put_nowait(job)
        assert await job == "done"
        self.worker.left = asyncio.create_task(asyncio.sleep(3600))
        record = await self.kit.aio.read("order/42")
        await self.kit.aio.act("ship", {"to": record.value}, basis={"order/42": record.id})

    async def shutdown(self) -> None:
        log.append(f"connection {self.connection}, task done {self.task.done()}")
        await self.entered.__aexit__(None, None, None)


def test_what_open_started_is_kept_and_what_an_episode_started_is_not() -> None:
    log.clear()
    with Runner(Pooled) as runner:
        for _ in range(3):
            history = runner.run()
            assert history.ended.how == "returned", history.ended
            assert runner._opened.left.cancelled()  # type: ignore[union-attr]
        task = runner._opened.task  # type: ignore[union-attr]
    assert log == ["connection ['open'], task done False"]
    assert task.cancelled()


class Scoped(AgentSystem):
    """Holds a task group of anyio, as the client of an MCP server does: it must be left by the task that entered it."""

    scenario = Pooled.scenario
    runtime = "asyncio-native"

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        self.group = await self.stack.enter_async_context(anyio.create_task_group())
        self.stack.callback(self.group.cancel_scope.cancel)
        self.group.start_soon(anyio.sleep_forever)

    async def run(self) -> None:
        record = await self.kit.aio.read("order/42")
        await self.kit.aio.act("ship", {"to": record.value}, basis={"order/42": record.id})

    async def shutdown(self) -> None:
        await self.stack.aclose()
        log.append("left")


def test_what_open_entered_is_left_by_shutdown_in_the_same_task() -> None:
    log.clear()
    with Runner(Scoped) as runner:
        assert runner.run().ended.how == "returned"
    assert log == ["left"]


class Fails(Scoped):
    """One of the tasks fails that were started in `open()`."""

    async def open(self) -> None:
        await super().open()
        self.group.start_soon(self.fails)

    async def fails(self) -> None:
        raise LookupError("the connection is gone")


def test_a_group_of_open_that_fails_is_told_when_it_is_left() -> None:
    log.clear()
    runner = Runner(Fails)
    assert runner.run().ended.how == "returned"
    with pytest.raises(CouldNotRun, match=r"shutdown\(\) failed: "):
        runner.close()
    assert log == []
