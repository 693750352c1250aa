"""The stock asyncio loop, for systems that do real I/O: a wait takes the time that it says, and no event says whose call is answered next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from fencecheck.errors import CouldNotRun
from fencecheck.run.asyncio_ import cancel
from fencecheck.run.deadlock import Deadlock, stopped

LONGEST_ALONE_S = 1.0
"""How long one wait of a port keeps others from beginning, in real seconds: it may itself wait for one of them."""
_ALONE: ContextVar[bool] = ContextVar("fencecheck_alone", default=False)


class Alone:
    """Lets the calls of an episode wait for the outside one after another, in the order in which they were made.

    What comes from several connections, threads or processes comes in an order of chance. With one wait at a time there is nothing to be first,
    so that an episode whose tasks ask side by side runs the same way each time, and no event lands while the hooks of another are at work.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def __call__(self, wait: Awaitable[Any]) -> Any:
        """Awaits `wait` when it is its turn. What that waits for itself needs no turn."""
        if _ALONE.get():
            return await wait
        try:
            mine = await self._turn()
        except BaseException:
            if hasattr(wait, "close"):
                wait.close()
            raise
        before = _ALONE.set(True)
        try:
            return await wait
        finally:
            _ALONE.reset(before)
            if mine:
                self._lock.release()

    async def _turn(self) -> bool:
        """Whether it is this one's turn, or it goes beside another that takes too long."""
        if not self._lock.locked():
            return await self._lock.acquire()
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_ALONE_S):
                return await self._lock.acquire()
        return False


Main = Callable[[], Coroutine[Any, Any, Any]]


class AsyncioNative:
    """Runs all episodes on one stock loop, to which pools and clients may be bound.

    What `open()` leaves running (the tasks of a pool, a context manager that it entered) is kept until the loop is closed. It runs in one task
    with `shutdown()`, so that the one can leave what the other entered: a cancel scope of anyio is bound to its task.
    """

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._loop: asyncio.AbstractEventLoop | None = None  # made when it is first needed
        self._kept: set[asyncio.Task[Any]] = set()
        self._calls: asyncio.Queue[tuple[Main, asyncio.Future[Any]]] | None = None  # of the task of the worker
        self._closing = False

    def line(self, kit: Any) -> None:
        """None: who is answered next is the stock loop's to say."""

    def run(self, main: Main, *, line: None = None, keep: bool = False) -> Any:
        """Runs `main` to its end, at most `timeout_s` real seconds. With `keep` in the worker's task, and the tasks that it leaves live on."""
        loop = self._loop = self._loop or asyncio.new_event_loop()
        done = self._given_to_worker(loop, main) if keep else loop.create_task(self._bounded(main))
        answer: Any = None
        failed: BaseException | None = None
        try:
            answer = loop.run_until_complete(done)
        except RuntimeError as error:
            failed = error if done.done() else stopped()
        except BaseException as error:
            failed = error  # raised below, as on the loop in virtual time
        left = asyncio.all_tasks(loop)
        if keep:
            self._kept |= left
        cancel(loop, lambda: asyncio.all_tasks(loop), asyncio.all_tasks(loop) - left | self._kept)
        try:
            if failed is not None:
                raise failed
            return answer
        finally:
            del failed

    async def _bounded(self, main: Main) -> Any:
        try:
            async with asyncio.timeout(self._wait_s) as bound:
                answer = await main()
        except TimeoutError:
            if bound.expired():
                raise Deadlock from None
            raise
        if bound.expired():
            raise Deadlock
        return answer

    def _given_to_worker(self, loop: asyncio.AbstractEventLoop, main: Main) -> asyncio.Future[Any]:
        if self._calls is None:
            self._calls = asyncio.Queue()
            loop.create_task(self._work(self._calls)).set_name("worker")
        done = loop.create_future()
        self._calls.put_nowait((main, done))
        return done

    async def _work(self, calls: asyncio.Queue[tuple[Main, asyncio.Future[Any]]]) -> None:
        while not self._closing:
            try:
                main, done = await calls.get()
            except asyncio.CancelledError:
                continue  # by a scope that open() entered, and that shutdown() leaves, unless all is being closed
            try:
                done.set_result(await self._bounded(main))
            except (KeyboardInterrupt, SystemExit):
                raise
            except asyncio.CancelledError:
                done.cancel()
            except BaseException as error:
                done.set_exception(error)

    def tasks(self) -> set[asyncio.Task[Any]]:
        """The tasks that live now."""
        return asyncio.all_tasks()

    async def forget(self, before: set[asyncio.Task[Any]]) -> None:
        """Cancels the tasks that were begun since: a restart leaves none of them."""
        for _ in range(100):
            left = asyncio.all_tasks() - before
            if not left:
                break
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=1.0)

    async def finish(self, teardown: Main) -> None:
        """Runs the teardown, however the episode ended."""
        await teardown()

    def close(self) -> None:
        """Closes the loop."""
        if self._loop is None:
            return
        loop, self._loop, self._calls = self._loop, None, None
        self._kept.clear()
        self._closing = True
        try:
            with suppress(CouldNotRun):  # an episode that left such a task has said so
                cancel(loop, lambda: asyncio.all_tasks(loop), set())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()
