"""Where an asynchronous episode runs: asyncio or trio with virtual time, or the stock asyncio loop with real I/O.

Virtual time means that nothing waits: when no task can go on, the clock jumps to the next timer. With no timer either, the episode is stuck.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import Any

from fencecheck.errors import CouldNotRun

MOST_STEPS = 100_000
"""Passes of the event loop after which an episode is endless: its points are capped long before."""


class Deadlock(Exception):
    """No task can go on and no timer is set, or the tasks go on for ever. Says what is waited for."""

    def __init__(self, waits_for: str = "something that never comes (real I/O needs runtime = 'asyncio-native')") -> None:
        super().__init__(waits_for)


def _endless() -> Deadlock:
    return Deadlock(f"what an endless loop looks for ({MOST_STEPS:,} turns of the event loop)")


Main = Callable[[], Coroutine[Any, Any, Any]]


class _NoSelector:
    """Stands where the loop expects a selector. There is no I/O: a wait moves the clock, and a wait for ever is a deadlock."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._steps = 0

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Deadlock
        self._steps += 1
        if self._steps > MOST_STEPS:
            self._steps = 0
            raise _endless()
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
        self.set_exception_handler(lambda loop, context: None)  # what a task left behind raises is the system's, and told by no one else

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
        work = executor.submit(func, *args)
        if not wait([work], self._wait_s).done:
            raise _waits_for_loop(self._wait_s)
        error = work.exception()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(work.result())
        return future

    def close(self) -> None:
        """Closes the loop and its worker thread."""
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)
        super().close()


class _Asyncio:
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


class AsyncioVirtual(_Asyncio):
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
            try:
                with suppress(Deadlock):
                    _cancel(loop, asyncio.all_tasks(loop))
                    loop.run_until_complete(loop.shutdown_asyncgens())
            finally:
                loop.close()

    def close(self) -> None:
        """Nothing outlives an episode."""


class AsyncioNative(_Asyncio):
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
                    answer = await main()
            except TimeoutError:
                if bound.expired():
                    raise Deadlock from None
                raise
            if bound.expired():
                raise Deadlock
            return answer

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
        try:
            with suppress(CouldNotRun):  # an episode that left such a task has said so
                _cancel(loop, asyncio.all_tasks(loop))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()


MOST_CANCELS = 3
"""How often a task that an episode left running is cancelled, each time with a second to end."""


def _cancel(loop: asyncio.AbstractEventLoop, left: set[asyncio.Task[Any]]) -> None:
    """Cancels what an episode left behind, so that it cannot reach into the next one; also what that starts while it is cancelled.

    Raises:
        CouldNotRun: a task goes on for all that, so that it would reach into the next one.
    """
    kept = asyncio.all_tasks(loop) - left
    cancelled: dict[asyncio.Task[Any], int] = {}
    for _ in range(100):
        if not left:
            break
        for task in left:
            cancelled[task] = cancelled.get(task, 0) + 1
            if cancelled[task] > MOST_CANCELS:
                name = getattr(task.get_coro(), "__qualname__", task.get_name())
                raise CouldNotRun(f"{name} was left running by run() and swallows its cancellation: let CancelledError end it")
            task.cancel()
        loop.run_until_complete(asyncio.wait(left, timeout=1.0))
        left = asyncio.all_tasks(loop) - kept


class Trio:
    """Runs each episode in a trio run of its own, with a clock that jumps when all tasks are blocked."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
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

        clock = _ticking(trio.testing.MockClock(autojump_threshold=0))
        answer: Any = None
        over = waits_for_loop = False
        steps = _Steps()

        def too_long() -> None:
            nonlocal waits_for_loop
            waits_for_loop = True
            steps.stop()

        async def root() -> None:
            nonlocal answer, over
            async with trio.open_nursery() as nursery:
                steps.stop = nursery.cancel_scope.cancel
                nursery.start_soon(watch, nursery.cancel_scope)
                answer = await main()
                over = True
                nursery.cancel_scope.cancel()

        async def watch(scope: trio.CancelScope) -> None:
            # Wakes only when nothing else can: autojump takes the earliest timer, and no real system waits for a year.
            await trio.sleep(365 * 86_400)
            scope.cancel()

        try:
            with _steady(self._wait_s, too_long):
                trio.run(root, clock=clock, instruments=[steps])  # type: ignore[list-item]
        except BaseExceptionGroup as group:
            raise _only(group) from None
        if waits_for_loop:
            raise _waits_for_loop(self._wait_s)
        if not over:
            raise _endless() if steps.passed > MOST_STEPS else Deadlock()
        return answer

    def tasks(self) -> set[Any]:
        """Nurseries end their tasks themselves."""
        return set()

    async def forget(self, before: set[Any]) -> None:
        """Nurseries end their tasks themselves."""

    async def finish(self, teardown: Main) -> None:
        """Runs the teardown, however the episode ended: for at most a virtual minute, since nothing else would end it."""
        import trio

        with trio.move_on_after(60, shield=True):
            await teardown()

    def close(self) -> None:
        """Nothing outlives an episode."""


def _ticking(clock: Any) -> Any:
    """A virtual clock that moves on by next to nothing whenever it is read: of two timers for one time, the first that was set goes first."""
    read = clock.current_time

    def current_time() -> float:
        clock._virtual_base += 1e-9
        return float(read())

    clock.current_time = current_time
    return clock


class _FirstComeFirstServed:
    """Stands for the dice with which trio decides whether the tasks that are ready go in reverse."""

    def random(self) -> float:
        return 0.0


@contextmanager
def _steady(wait_s: float, too_long: Callable[[], None]) -> Iterator[None]:
    """Trio without chance: tasks go on in the order in which they became ready, and work for threads is run to its end as one step.

    Args:
        too_long: called where that work does not end within `wait_s` real seconds.
    """
    from trio import _threads as threads
    from trio._core import _run

    start: Any = getattr(threads, "start_thread_soon", None)

    def run_to_its_end(function: Callable[[], Any], deliver: Callable[[Any], Any], name: str | None = None) -> None:
        done = threading.Event()

        def delivered(outcome: Any) -> None:
            deliver(outcome)
            done.set()

        start(function, delivered, name)
        if not done.wait(wait_s):
            too_long()

    ours = (
        (_run, "_r", _FirstComeFirstServed()),
        (_run, "_ALLOW_DETERMINISTIC_SCHEDULING", False),
        (threads, "start_thread_soon", run_to_its_end),
    )
    # Trio offers no public way to say this. A release without one of these names goes by its own order, which the preflight notices.
    theirs = [(module, name, getattr(module, name)) for module, name, _ in ours if hasattr(module, name)]
    try:
        for module, name, value in ours:
            if hasattr(module, name):
                setattr(module, name, value)
        yield
    finally:
        for module, name, value in theirs:
            setattr(module, name, value)


def _waits_for_loop(wait_s: float) -> CouldNotRun:
    return CouldNotRun(f"a function given to a thread did not return within {wait_s:g} s: it may wait for the event loop")


class _Steps:
    """Counts the passes of a trio run."""

    def __init__(self) -> None:
        self.passed = 0
        self.stop: Callable[[], Any] = lambda: None

    def before_io_wait(self, timeout: float) -> None:
        self.passed += 1
        if self.passed > MOST_STEPS:
            self.stop()


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
