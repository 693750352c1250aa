"""The order in which the tasks of a trio run go on, and its virtual time, by what trio offers to everyone.

Trio goes through the tasks that are ready in an order of chance, and wakes those that wait for one event in the order of a set. Here each
task runs inside a coroutine of ours (`Task.coro`, which an instrument may replace when the task is spawned), which lets it go on only when
it is its turn: those that were woken by one step go on in the order in which they fell asleep. The clock is asked how long to sleep
whenever no task is ready: then a call that waits is answered (`line`), or time jumps to the next timer, or it is a deadlock.
"""

from __future__ import annotations

import itertools
import math
import time
import types
from collections import deque
from collections.abc import Coroutine, Generator
from typing import Any

import outcome
import trio

from fencecheck.errors import CouldNotRun
from fencecheck.run import deadlock
from fencecheck.run.deadlock import Deadlock, waits_for_loop, where
from fencecheck.run.faults import EpisodeOver
from fencecheck.run.line import Line

_TO_THREAD = trio.to_thread.run_sync.__globals__
MOST_LAST_STEPS = 10_000
"""Steps that the tasks of an episode that is over may take to end, each time."""
MOST_ENDS = 20
"""How often it is tried to end a run."""


class Clock(trio.abc.Clock):
    """Virtual seconds. Moves on by next to nothing whenever it is read: of two timers for one time the first that was set goes first."""

    def __init__(self, turns: Turns) -> None:
        self.now = 0.0
        self._turns = turns
        self._exact = False

    def start_clock(self) -> None:
        """It starts at 0."""

    def current_time(self) -> float:
        """Virtual seconds since the run began."""
        if self._exact:
            self._exact = False
        else:
            self.now += 1e-9
        return self.now

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Real seconds to sleep, as no task is ready: none, unless a thread works."""
        left_s = self._turns.idle(deadline)
        if left_s is None:
            self.now, self._exact = max(self.now, deadline), True
            return 0.0
        return left_s


class Turns(trio.abc.Instrument):
    """Whose turn it is in one run of trio.

    Args:
        line: whose call is answered next; None where there are no ports.
        wait_s: real seconds for which a function given to a thread may work.

    Attributes:
        lanes: the tasks that live to their numbers, in the order in which they were spawned.
        over: what ended the run before its time.
        refused: the same, where the system cannot be run here.
    """

    def __init__(self, line: Line | None, wait_s: float) -> None:
        self.lanes: dict[trio.lowlevel.Task, int] = {}
        self.over: Deadlock | None = None
        self.refused: CouldNotRun | None = None
        self.scope: trio.CancelScope | None = None
        self._line, self._wait_s = line, wait_s
        self._inner: dict[trio.lowlevel.Task, Coroutine[Any, Any, Any]] = {}
        self._numbers = itertools.count()
        self._asleep: dict[trio.lowlevel.Task, int] = {}
        self._sleeps = itertools.count()
        self._order: deque[trio.lowlevel.Task] = deque()
        self._woken: list[trio.lowlevel.Task] = []
        self._held: set[trio.lowlevel.Task] = set()  # are ready, and it is not their turn
        self._let_go: trio.lowlevel.Task | None = None
        self._stepping: trio.lowlevel.Task | None = None
        self._thread_of: trio.lowlevel.Task | None = None
        self._thread_since = 0.0
        self._steps = 0
        self._ends = 0  # how often it was tried to end the run
        self._doomed: set[trio.lowlevel.Task] = set()  # in which it is raised that the episode is over

    # -- what trio says ----------------------------------------------------------------------------------------------

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        """A new task: it is given its number, and goes on in turn."""
        if self.scope is None:
            return  # one of trio's own, or that which begins
        self.lanes[task] = next(self._numbers)
        self._asleep[task] = next(self._sleeps)
        self._inner[task] = task.coro
        task.coro = self._in_turn(task, task.coro)  # type: ignore[assignment]  # trio only sends, throws and looks at the frame

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        """A task is ready."""
        if task is self._let_go:
            self._let_go = None
        elif task in self.lanes:
            self._woken.append(task)
            if task is self._thread_of:
                self._thread_of = None
                self._release()

    def function_of(self, lane: int) -> str:
        """The name of the function that the task `lane` runs."""
        task = next(task for task, number in self.lanes.items() if number == lane)
        return str(getattr(self._inner[task], "__qualname__", task.name)).rpartition("<locals>.")[2]

    # -- turns -------------------------------------------------------------------------------------------------------

    async def _in_turn(self, task: trio.lowlevel.Task, inner: Coroutine[Any, Any, Any]) -> Any:
        """Runs a task, each step in its turn."""
        step: Any = inner.send
        value: Any = None
        try:
            while True:
                self._line_up()
                if self._order[0] is not task or self._thread_of is not None:
                    self._held.add(task)
                    await trio.lowlevel.wait_task_rescheduled(_stays)
                if task in self._doomed:
                    self._doomed.remove(task)
                    step, value = inner.throw, EpisodeOver(str(self.over))
                try:
                    trap = step(value)
                except StopIteration as end:
                    return end.value
                self._step_over(task, trap)
                step, value = inner.send, None
                try:
                    value = await _yield(trap)
                except BaseException as error:
                    step, value = inner.throw, error
                    if isinstance(error, GeneratorExit):
                        raise
        finally:
            del self.lanes[task], self._inner[task]
            if self._order and self._order[0] is task:
                self._step_over(task, None)
            inner.close()

    def _line_up(self) -> None:
        if self._woken:
            if len(self._woken) > 1:
                self._woken.sort(key=self._asleep.__getitem__)
            self._order.extend(self._woken)
            self._woken.clear()

    def _step_over(self, task: trio.lowlevel.Task, trap: Any) -> None:
        """The task whose turn it was goes to sleep, or ended."""
        self._order.popleft()
        self._asleep[task] = next(self._sleeps)
        self._stepping = task
        self._line_up()
        abort = getattr(trap, "abort_func", None)
        if abort is not None and abort.__globals__ is _TO_THREAD:  # work for a thread is one step: nobody goes on beside it
            self._thread_of, self._thread_since = task, time.perf_counter()
        self._steps += 1
        if self._steps > deadlock.MOST_STEPS:
            self._end(deadlock.endless())
        self._stepping = None
        self._release()

    def _release(self) -> None:
        if self._order and self._thread_of is None and self._order[0] in self._held:
            self._let_go = self._order[0]
            self._held.remove(self._let_go)
            trio.lowlevel.reschedule(self._let_go)

    # -- nobody is ready ---------------------------------------------------------------------------------------------

    def idle(self, deadline: float) -> float | None:
        """Nobody can go on by himself: real seconds to wait for a thread, or none where a call was answered. None: time passes to `deadline`."""
        if self._thread_of is not None:
            return self._for_thread()
        line, armed = self._line, deadline < math.inf
        if line is not None and line.waiting and self.over is None and not (line.in_event and armed):
            answered = line.next(armed)
            if answered is not None:
                trio.lowlevel.reschedule(answered[0], outcome.Value(answered[1]))
                return 0.0
        if armed:
            return None
        if self.lanes:  # else only trio's own tasks are left, which are about to end
            self._end(self._told())
        return 0.0

    def _for_thread(self) -> float:
        left_s = self._thread_since + self._wait_s - time.perf_counter()
        if left_s > 0:
            return left_s
        if self.refused is None:
            assert self._thread_of is not None
            self.refused = waits_for_loop(self._wait_s, f"the work of {where(self._inner[self._thread_of])}")
            self._end(Deadlock())
        return self._wait_s

    def _end(self, over: Deadlock) -> None:
        """Ends what is left: cancels it, then raises inside each task that goes on for all that, then gives the whole run up.

        Raises:
            Deadlock: the run is given up.
        """
        assert self.scope is not None
        self.over = self.over or over
        self._steps = deadlock.MOST_STEPS - MOST_LAST_STEPS
        self._ends += 1
        if self._ends == 1:
            self.scope.cancel()
        elif self._ends > MOST_ENDS:
            raise self.over
        else:
            ready = {*self._order, *self._woken}
            # a task whose nursery is not empty has to wait for that
            childless = [task for task in self.lanes if not any(nursery.child_tasks for nursery in task.child_nurseries)]
            self._doomed.update(childless)
            for task in childless:
                if task not in ready and task is not self._stepping:
                    trio.lowlevel.reschedule(task)

    def _told(self) -> Deadlock:
        left = [(lane, task.name.rpartition(".")[2], self._inner[task]) for task, lane in self.lanes.items()]
        self.refused = deadlock.real_io(coro for _, _, coro in left)
        return deadlock.told(left, self._line.hanging if self._line is not None else {})


def _stays(raise_cancel: Any) -> trio.lowlevel.Abort:
    """A task that is ready has slept well: its cancellation is due when it sleeps again."""
    return trio.lowlevel.Abort.FAILED


@types.coroutine
def _yield(trap: Any) -> Generator[Any, Any, Any]:
    return (yield trap)
