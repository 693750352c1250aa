"""Episodes on asyncio in virtual time, and how what an episode leaves behind is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, NoReturn

from fencecheck.errors import CouldNotRun
from fencecheck.run.deadlock import Deadlock, named, waits_for_loop
from fencecheck.run.line import IN_EVENT, Line
from fencecheck.run.virtual import VirtualLoop, lane_of


class AsyncioLine(Line):
    """The line of an episode on a virtual loop."""

    __slots__ = ("loop",)

    loop: VirtualLoop

    def wait(self, port: str, about: str) -> Any:
        """Parks the task that runs now; to be awaited. Gives the number of the point."""
        loop = asyncio._get_running_loop()
        if loop is not self.loop:
            return self._elsewhere()
        lane = lane_of(asyncio.current_task(loop))
        future = loop.create_future()
        waiting = self.waiting
        if lane in waiting:  # of a call that was cancelled
            del waiting[lane]
        waiting[lane] = (future, port, about)
        return future

    def function_of(self, lane: int) -> str:
        """The name of the function that the task `lane` runs."""
        coro = self.loop.tasks[lane].get_coro()
        return str(getattr(coro, "__qualname__", coro)).rpartition("<locals>.")[2]

    async def _elsewhere(self) -> int:
        """On a loop of the system's own, in a thread of its own."""
        await asyncio.sleep(0)
        return IN_EVENT if self.in_event else next(self._kit._points)

    async def hang(self, what: str) -> NoReturn:
        """Waits for ever, and says for what."""
        lane = lane_of(asyncio.current_task())
        self.hanging[lane] = what
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            del self.hanging[lane]
        raise AssertionError("what never comes came")


class AsyncioVirtual:
    """Runs each episode on a new virtual loop: a loop is cheap to make, and nothing can be left on it."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._worker: ThreadPoolExecutor | None = None
        self._loop: VirtualLoop | None = None

    def line(self, kit: Any) -> AsyncioLine:
        """The line of an episode."""
        return AsyncioLine(kit)

    def run(self, main: Callable[[], Coroutine[Any, Any, Any]], *, line: AsyncioLine | None = None, keep: bool = False) -> Any:
        """Runs `main` to its end. Nothing can be kept.

        Raises:
            Deadlock: nothing can go on.
            CouldNotRun: something was called that there is none of in virtual time.
        """
        loop = self._loop = VirtualLoop(line, self._in_thread, self._wait_s)  # type: ignore[abstract]  # the rest is set below the class
        if line is not None:
            line.loop = loop
        answer: Any = None
        failed: BaseException | None = None
        try:
            answer = loop.run_until_complete(main())
        except BaseException as error:
            failed = error  # raised below: what ends now would link its exceptions with one that is being handled, at worst in a circle
        try:
            if loop._asyncgens or loop.left():
                _end(loop)
        finally:
            refused = loop.refused
            loop.close()
            self._loop = None
            if refused is not None:
                raise refused
        try:
            if failed is not None:
                raise failed
            return answer
        finally:
            del failed

    def _in_thread(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> Any:
        if executor is None:
            executor = self._worker = self._worker or ThreadPoolExecutor(1, thread_name_prefix="fencecheck")
        work = executor.submit(func, *args)
        if not wait([work], self._wait_s).done:
            self.close()
            raise waits_for_loop(self._wait_s, named(func))
        return work

    def tasks(self) -> set[asyncio.Task[Any]]:
        """The tasks that live now."""
        assert self._loop is not None
        return set(self._loop.left())

    async def forget(self, before: set[asyncio.Task[Any]]) -> None:
        """Cancels the tasks that were begun since: a restart leaves none of them."""
        assert self._loop is not None
        for _ in range(100):
            left = [task for task in self._loop.left() if task not in before]
            if not left:
                break
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=1.0)

    async def finish(self, teardown: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Runs the teardown, however the episode ended."""
        await teardown()

    def close(self) -> None:
        """Lets the worker thread go."""
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)
            self._worker = None


MOST_CANCELS = 3
"""How often a task that an episode left running is cancelled, each time with a second to end."""


def _end(loop: VirtualLoop) -> None:
    """Cancels what an episode left behind, so that it cannot reach into the next one; also what that starts while it is cancelled."""
    with suppress(Deadlock):  # how the episode ended is known by now
        cancel(loop, loop.left, set())
        if loop._asyncgens:
            loop.run_until_complete(loop.shutdown_asyncgens())


def cancel(loop: asyncio.AbstractEventLoop, tasks: Callable[[], Any], kept: set[asyncio.Task[Any]]) -> None:
    """Cancels all `tasks()` but those `kept`, until there are none.

    Raises:
        CouldNotRun: a task goes on for all that, so that it would reach into the next episode.
    """
    cancelled: dict[asyncio.Task[Any], int] = {}
    for _ in range(100):
        left = [task for task in tasks() if task not in kept]
        if not left:
            break
        for task in left:
            cancelled[task] = cancelled.get(task, 0) + 1
            if cancelled[task] > MOST_CANCELS:
                name = getattr(task.get_coro(), "__qualname__", task.get_name())
                who = "run()" if name.startswith("Runner.") else f"{name} was left running by run() and"
                raise CouldNotRun(f"{who} swallows its cancellation: let CancelledError end it")
            task.cancel()
        loop.run_until_complete(asyncio.wait(left, timeout=1.0))
