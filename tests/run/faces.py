"""One body for all runtimes: `run(body, "sync")` drives the plain ports, the others the awaited ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from fencecheck.history import History
from fencecheck.interleaving import Event
from fencecheck.model import Action, Scenario
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.kit import Kit
from fencecheck.run.simulate import Runner

RUNTIMES = ("sync", "asyncio", "asyncio-native", "trio")
VIRTUAL = ("asyncio", "trio")
X, Y = "x", "y"
WORLD = Scenario(
    owners={"a": [X], "b": [Y]},
    actions=[Action("go", depends_on=[X])],
    values={X: ("tea", "coffee", "cocoa"), Y: ("noon", "dusk", "dawn")},
)


class Face:
    """The ports to await, over the plain ones where the runtime is sync."""

    def __init__(self, kit: Kit, runtime: str) -> None:
        self.kit, self.plain, self.trio = kit, runtime == "sync", runtime == "trio"

    def __getattr__(self, port: str) -> Any:
        if port in ("validated", "declared", "halted", "agent", "scenario"):
            return getattr(self.kit, port)
        if not self.plain:
            return getattr(self.kit.aio, port)

        async def call(*args: Any, **options: Any) -> Any:
            return getattr(self.kit, port)(*args, **options)

        return call

    async def together(self, *calls: Any) -> None:
        """Awaits all of them, in a task each."""
        if self.trio:
            async with trio.open_nursery() as nursery:
                for call in calls:
                    nursery.start_soon(_awaited, call)
            return
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(call)

    async def sleep(self, seconds: float) -> None:
        await (trio.sleep if self.trio else asyncio.sleep)(seconds)

    async def in_time(self, seconds: float, call: Any) -> bool:
        """Awaits it for at most so many seconds: whether it ended in time."""
        try:
            if self.trio:
                with trio.fail_after(seconds):
                    await call
            else:
                async with asyncio.timeout(seconds):
                    await call
        except (TimeoutError, trio.TooSlowError):
            return False
        return True


async def _awaited(call: Awaitable[Any]) -> None:
    await call


Body = Callable[[Face], Awaitable[Any]]


def to_its_end(waiting: Any) -> Any:
    """Runs a coroutine that never really waits."""
    try:
        waiting.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waited")


def system(body: Body, runtime: str, scenario: Scenario = WORLD, **attributes: Any) -> type[AgentSystem]:
    """An adapter that runs `body`."""

    def run(self: Any) -> Any:
        return to_its_end(body(Face(self.kit, runtime)))

    async def run_async(self: Any) -> Any:
        return await body(Face(self.kit, runtime))

    attributes = {"scenario": scenario, "runtime": runtime, "run": run if runtime == "sync" else run_async} | attributes
    return type("Made", (AgentSystem,), attributes)


def run(body: Body, runtime: str, events: tuple[Event, ...] = (), dropped: Any = (), **attributes: Any) -> History:
    """One episode of `body`."""
    with Runner(system(body, runtime, **attributes)) as runner:
        return runner.run(dropped, events)


async def failure(waiting: Awaitable[Any]) -> BaseException | None:
    """The exception that it ends with."""
    try:
        await waiting
    except Exception as error:
        return error
    return None
