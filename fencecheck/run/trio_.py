"""Trio."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from fencecheck.errors import CouldNotRun
from fencecheck.run import deadlock
from fencecheck.run.asyncio_ import waits_for_loop
from fencecheck.run.deadlock import Deadlock

Main = Callable[[], Coroutine[Any, Any, Any]]


class Trio:
    """Runs each episode in a trio run of its own, with a clock that jumps when all tasks are blocked."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        try:
            import trio.testing  # noqa: F401
        except ImportError as error:
            raise CouldNotRun("runtime 'trio' needs the package trio: pip install 'fencecheck[trio]'") from error

    def line(self, kit: Any) -> None:
        """None yet."""

    def run(self, main: Main, *, line: None = None, keep: bool = False) -> Any:
        """Runs `main` to its end. Nothing can be kept.

        Raises:
            Deadlock: all tasks are blocked and no timer is set.
        """
        import trio
        import trio.testing

        clock = _ticking(trio.testing.MockClock(autojump_threshold=0))
        answer: Any = None
        over = late = False
        steps = _Steps()

        def too_long() -> None:
            nonlocal late
            late = True
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
        if late:
            raise waits_for_loop(self._wait_s)
        if not over:
            raise deadlock.endless() if steps.passed > deadlock.MOST_STEPS else Deadlock()
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


class _Steps:
    """Counts the passes of a trio run."""

    def __init__(self) -> None:
        self.passed = 0
        self.stop: Callable[[], Any] = lambda: None

    def before_io_wait(self, timeout: float) -> None:
        self.passed += 1
        if self.passed > deadlock.MOST_STEPS:
            self.stop()


def _only(group: BaseExceptionGroup[Any]) -> BaseException:
    """The one exception inside, as the episode raised it: our own nursery is no part of the system."""
    return group.exceptions[0] if len(group.exceptions) == 1 else group
