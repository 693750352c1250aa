"""Where an asynchronous episode runs: asyncio or trio with virtual time, or the stock asyncio loop with real I/O.

Virtual time means that nothing waits: when no task can go on, the clock jumps to the next timer. With no timer either, the episode is stuck.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from fencecheck.errors import CouldNotRun


class Deadlock(Exception):
    """No task can go on and no timer is set."""


Main = Callable[[], Coroutine[Any, Any, Any]]


class _NoSelector:
    """Stands where the loop expects a selector. There is no I/O: a wait moves the clock, and a wait for ever is a deadlock."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Deadlock
        self._loop.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """An asyncio event loop in virtual time, without I/O. Work for threads is run to its end as one step."""

    def __init__(self, wait_s: float) -> None:
        super().__init__()
        self.now = 0.0
        self._wait_s = wait_s
        self._selector = _NoSelector(self)
        self._clock_resolution = 1e-9
        self._worker: ThreadPoolExecutor | None = None

    def time(self) -> float:
        """Virtual seconds since the episode began."""
        return self.now

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Runs `func` in a real thread and waits for it here, so that the order does not depend on the threads of the machine."""
        if executor is None:
            executor = self._worker = self._worker or ThreadPoolExecutor(1, thread_name_prefix="fencecheck")
        future = self.create_future()
        try:
            future.set_result(executor.submit(func, *args).result(self._wait_s))
        except TimeoutError as error:
            raise CouldNotRun(
                f"a function given to a thread did not return within {self._wait_s:g} s: it may wait for the event loop"
            ) from error
        except BaseException as error:
            future.set_exception(error)
        return future

    def close(self) -> None:
        """Closes the loop and its worker thread."""
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)
        super().close()


class AsyncioVirtual:
    """Runs each episode on a new virtual loop."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s

    def run(self, main: Main, *, keep: bool = False) -> Any:
        """Runs `main` to its end. Nothing can be kept.

        Raises:
            Deadlock: nothing can go on.
        """
        loop = VirtualLoop(self._wait_s)
        try:
            return loop.run_until_complete(main())
        finally:
            _cancel(loop, asyncio.all_tasks(loop))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def close(self) -> None:
        """Nothing outlives an episode."""


class AsyncioNative:
    """Runs all episodes on one stock loop, to which pools and clients may be bound.

    What `open()` leaves running (the tasks of a pool, a context manager that it entered) is kept until the loop is closed.
    """

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._loop: asyncio.AbstractEventLoop | None = None  # made when it is first needed
        self._kept: set[asyncio.Task[Any]] = set()

    def run(self, main: Main, *, keep: bool = False) -> Any:
        """Runs `main` to its end, at most `timeout_s` real seconds. With `keep` the tasks that it leaves behind live on."""

        async def bounded() -> Any:
            try:
                async with asyncio.timeout(self._wait_s) as bound:
                    return await main()
            except TimeoutError:
                if bound.expired():
                    raise Deadlock from None
                raise

        loop = self._loop = self._loop or asyncio.new_event_loop()
        try:
            return loop.run_until_complete(bounded())
        finally:
            left = asyncio.all_tasks(loop)
            if keep:
                self._kept |= left
            _cancel(loop, left - self._kept)

    def close(self) -> None:
        """Closes the loop."""
        if self._loop is None:
            return
        loop, self._loop = self._loop, None
        self._kept.clear()
        _cancel(loop, asyncio.all_tasks(loop))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def _cancel(loop: asyncio.AbstractEventLoop, left: set[asyncio.Task[Any]]) -> None:
    """Cancels what an episode left behind, so that it cannot reach into the next one; also what that starts while it is cancelled."""
    kept = asyncio.all_tasks(loop) - left
    for _ in range(100):
        if not left:
            break
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.wait(left, timeout=1.0))
        left = asyncio.all_tasks(loop) - kept


class Trio:
    """Runs each episode in a trio run of its own, with a clock that jumps when all tasks are blocked."""

    def __init__(self, wait_s: float) -> None:
        try:
            import trio.testing  # noqa: F401
        except ImportError as error:
            raise CouldNotRun("runtime 'trio' needs the package trio: pip install 'fencecheck[trio]'") from error

    def run(self, main: Main, *, keep: bool = False) -> Any:
        """Runs `main` to its end. Nothing can be kept.

        Raises:
            Deadlock: all tasks are blocked and no timer is set.
        """
        import trio
        import trio.testing

        clock = trio.testing.MockClock(autojump_threshold=0)
        answer: Any = None
        over = False

        async def root() -> None:
            nonlocal answer, over
            async with trio.open_nursery() as nursery:
                nursery.start_soon(watch, nursery.cancel_scope)
                answer = await main()
                over = True
                nursery.cancel_scope.cancel()

        async def watch(scope: trio.CancelScope) -> None:
            # Wakes only when nothing else can: autojump takes the earliest timer, and no real system waits for a year.
            await trio.sleep(365 * 86_400)
            scope.cancel()

        try:
            trio.run(root, clock=clock)
        except BaseExceptionGroup as group:
            raise _only(group) from None
        if not over:
            raise Deadlock
        return answer

    def close(self) -> None:
        """Nothing outlives an episode."""


def _only(group: BaseExceptionGroup[Any]) -> BaseException:
    """The one exception inside, as the episode raised it: our own nursery is no part of the system."""
    return group.exceptions[0] if len(group.exceptions) == 1 else group


def runtime(name: str, wait_s: float) -> AsyncioVirtual | AsyncioNative | Trio:
    """The runtime of that name.

    Raises:
        CouldNotRun: this is called by what runs on such a loop itself.
    """
    if _inside_loop(name):
        raise CouldNotRun(
            f"a system of runtime {name!r} gets a loop of its own, which cannot run inside another: call it from a plain function, "
            "not from an async one"
        )
    kinds: dict[str, type[AsyncioVirtual] | type[AsyncioNative] | type[Trio]] = {
        "asyncio": AsyncioVirtual,
        "asyncio-native": AsyncioNative,
        "trio": Trio,
    }
    return kinds[name](wait_s)


def _inside_loop(name: str) -> bool:
    """Whether a loop of that kind runs on this thread already."""
    if name != "trio":
        return asyncio._get_running_loop() is not None
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_run())
