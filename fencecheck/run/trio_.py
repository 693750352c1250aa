"""Episodes on trio, in an order of ours and in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fencecheck.errors import CouldNotRun
from fencecheck.run.line import IN_EVENT, Line

try:
    import trio

    from fencecheck.run.turns import Clock, Turns
except ImportError as error:
    raise CouldNotRun("runtime 'trio' needs the package trio: pip install 'fencecheck[trio]'") from error

Main = Callable[[], Coroutine[Any, Any, Any]]


class TrioLine(Line):
    """The line of an episode on trio."""

    __slots__ = ("turns",)

    turns: Turns

    async def wait(self, port: str, about: str) -> Any:
        """Parks the task that runs now. Gives the number of the point."""
        task = trio.lowlevel.current_task()
        lane = self.turns.lanes.get(task)
        if lane is None:  # on a loop of the system's own, in a thread of its own
            await trio.lowlevel.checkpoint()
            return IN_EVENT if self.in_event else next(self._kit._points)
        waiting = self.waiting

        def leave(raise_cancel: Any) -> trio.lowlevel.Abort:
            del waiting[lane]
            return trio.lowlevel.Abort.SUCCEEDED

        waiting[lane] = (task, port, about)
        return await trio.lowlevel.wait_task_rescheduled(leave)

    def function_of(self, lane: int) -> str:
        """The name of the function that the task `lane` runs."""
        return self.turns.function_of(lane)

    async def hang(self, what: str) -> NoReturn:
        """Waits for ever, and says for what."""
        lane = self.turns.lanes.get(trio.lowlevel.current_task(), 0)
        self.hanging[lane] = what
        try:
            await trio.sleep_forever()
        finally:
            del self.hanging[lane]
        raise AssertionError("what never comes came")


class Trio:
    """Runs each episode in a trio run of its own."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s

    def line(self, kit: Any) -> TrioLine:
        """The line of an episode."""
        return TrioLine(kit)

    def run(self, main: Main, *, line: TrioLine | None = None, keep: bool = False) -> Any:
        """Runs `main` to its end. Nothing can be kept.

        Raises:
            Deadlock: nothing can go on.
        """
        turns = Turns(line, self._wait_s)
        if line is not None:
            line.turns = turns
        answer: Any = None
        failed: BaseException | None = None
        ended = False

        async def first() -> None:
            nonlocal answer, failed, ended
            try:
                answer = await main()
                ended = True
            except trio.Cancelled:
                raise
            except BaseException as error:
                failed = error

        async def root() -> None:
            async with trio.open_nursery() as nursery:
                turns.scope = nursery.cancel_scope
                nursery.start_soon(first, name="run")

        try:
            trio.run(root, clock=Clock(turns), instruments=[turns])
        except BaseException as error:
            failed = failed or error
        if turns.refused is not None:
            raise turns.refused
        if turns.over is not None:
            raise turns.over
        if failed is not None:
            raise failed
        assert ended
        return answer

    def tasks(self) -> set[Any]:
        """Nurseries end their tasks themselves."""
        return set()

    async def forget(self, before: set[Any]) -> None:
        """Nurseries end their tasks themselves."""

    async def finish(self, teardown: Main) -> None:
        """Runs the teardown, however the episode ended: for at most a virtual minute, since nothing else would end it."""
        with trio.move_on_after(60, shield=True):
            await teardown()

    def close(self) -> None:
        """Nothing outlives an episode."""
