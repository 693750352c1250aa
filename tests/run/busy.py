"""Systems in which many tasks use all that waits and wakes, and what 1,000 random episodes of them are, as one digest.

python -m tests.run.busy asyncio
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import trio

from fencecheck import codec
from fencecheck.history import History
from fencecheck.interleaving import Advance, Event, Switch, Update
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.simulate import Runner

from .faces import WORLD, X

EPISODES = 1_000


class OnAsyncio(AgentSystem):
    """Waiters of one event, a queue, a lock, timeouts, a group that is cancelled, and a thread."""

    scenario = WORLD
    runtime = "asyncio"

    async def run(self) -> None:
        self.event, self.lock, self.queue = asyncio.Event(), asyncio.Lock(), asyncio.Queue[str]()
        try:
            async with asyncio.TaskGroup() as group:
                for name in "abc":
                    group.create_task(self.waits(name))
                for name in "def":
                    group.create_task(self.is_cancelled(name))
                for name in "gh":
                    group.create_task(self.chats(name))
                group.create_task(self.ticks())
                group.create_task(self.feeds())
                group.create_task(self.fails())
        except* LookupError:
            await asyncio.gather(*(self.point(name) for name in "xyz"))

    async def point(self, label: str) -> None:
        await self.kit.aio.point(label)

    async def waits(self, name: str) -> None:
        await self.event.wait()
        async with self.lock:
            await self.point(f"{name} {await self.queue.get()}")
        try:
            async with asyncio.timeout(2):
                await self.kit.aio.read(X)
        except TimeoutError:
            await self.point(f"{name} late")

    async def is_cancelled(self, name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.shield(asyncio.create_task(self.point(f"{name} ends")))

    async def chats(self, name: str) -> None:
        for number in range(4):
            await self.point(f"{name}{number}")

    async def ticks(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0.2)

    async def feeds(self) -> None:
        self.event.set()
        for word in ("one", "two", "three"):
            self.queue.put_nowait(word)
            await asyncio.sleep(1)
            await asyncio.to_thread(self.kit.point, f"thread {word}")

    async def fails(self) -> None:
        await asyncio.sleep(5)
        await self.point("fails")
        raise LookupError


class OnTrio(AgentSystem):
    """The same on trio."""

    scenario = WORLD
    runtime = "trio"

    async def run(self) -> None:
        self.event, self.lock = trio.Event(), trio.Lock()
        self.into, self.out = trio.open_memory_channel[str](3)
        try:
            async with trio.open_nursery() as nursery:
                for name in "abc":
                    nursery.start_soon(self.waits, name)
                for name in "def":
                    nursery.start_soon(self.is_cancelled, name)
                for name in "gh":
                    nursery.start_soon(self.chats, name)
                nursery.start_soon(self.ticks)
                nursery.start_soon(self.feeds)
                nursery.start_soon(self.fails)
        except* LookupError:
            async with trio.open_nursery() as nursery:
                for name in "xyz":
                    nursery.start_soon(self.point, name)

    async def point(self, label: str) -> None:
        await self.kit.aio.point(label)

    async def waits(self, name: str) -> None:
        await self.event.wait()
        async with self.lock:
            await self.point(f"{name} {await self.out.receive()}")
        with trio.move_on_after(2) as scope:
            await self.kit.aio.read(X)
        if scope.cancelled_caught:
            await self.point(f"{name} late")

    async def is_cancelled(self, name: str) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await self.point(f"{name} ends")

    async def chats(self, name: str) -> None:
        for number in range(4):
            await self.point(f"{name}{number}")

    async def ticks(self) -> None:
        for _ in range(20):
            await trio.sleep(0.2)

    async def feeds(self) -> None:
        self.event.set()
        for word in ("one", "two", "three"):
            self.into.send_nowait(word)
            await trio.sleep_until(5)  # for several the same instant
            await trio.to_thread.run_sync(self.kit.point, f"thread {word}", limiter=trio.CapacityLimiter(1))

    async def fails(self) -> None:
        await trio.sleep_until(5)
        await self.point("fails")
        raise LookupError


SYSTEMS = {"asyncio": OnAsyncio, "trio": OnTrio}


def random_events(seed: int) -> tuple[Event, ...]:
    """Up to six switches, advances and updates."""
    chance = random.Random(seed)
    kinds: tuple[Any, ...] = (*(Switch(task) for task in range(1, 17)), *[Advance()] * 14, *[Update(X)] * 4)
    return tuple(sorted((Event(chance.randrange(24), chance.choice(kinds)) for _ in range(chance.randrange(7))), key=lambda e: e.at))


def histories(runtime: str) -> Iterator[History]:
    """Those of 1,000 random episodes."""
    with Runner(SYSTEMS[runtime]) as runner:
        for seed in range(EPISODES):
            yield runner.run((), random_events(seed))


def digest(runtime: str) -> str:
    """One for them all."""
    whole = hashlib.sha256()
    for history in histories(runtime):
        whole.update(codec.encode_history(history))
    return whole.hexdigest()


if __name__ == "__main__":
    print(digest(sys.argv[1]))
