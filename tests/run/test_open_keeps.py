"""What `open()` leaves running on the stock loop lives as long as the worker; what an episode leaves running does not outlive it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fencecheck import Action, AgentSystem, Scenario
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
