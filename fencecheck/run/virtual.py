"""An asyncio event loop in virtual time, without I/O and without chance: the same calls give the same order on every machine.

It is written against the public interface of `asyncio.AbstractEventLoop`, whose other methods are all real I/O and are refused by name.
Callbacks run in the order in which they were asked for, timers in that of their times and then of their making. When no callback is left,
one of the port calls that wait is answered (`line`); with none, the clock jumps to the next timer; with no timer either, it is a deadlock.
"""

from __future__ import annotations

import asyncio
import heapq
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Any, NoReturn

from fencecheck.errors import CouldNotRun
from fencecheck.run import deadlock, workers
from fencecheck.run.deadlock import Deadlock
from fencecheck.run.line import Line


class LaneTask(asyncio.Task[Any]):
    """A task that knows its number in the order of creation.

    That is its hash too: asyncio keeps tasks in sets (a task group cancels its tasks in the order of one), and the order of a set of things
    that are hashed by their addresses would differ between two processes.
    """

    lane: int

    def __init__(self, lane: int, coro: Coroutine[Any, Any, Any], loop: VirtualLoop, **options: Any) -> None:
        self.lane = lane
        super().__init__(coro, loop=loop, **options)

    def __hash__(self) -> int:
        return self.lane


class _Handle(asyncio.Handle):
    """A callback to be run: as asyncio's own, filled in by `call_soon`, which need not look whether the loop is in debug mode."""

    __slots__ = ()
    _repr = _source_traceback = None  # of debug mode only

    def __init__(self) -> None:
        """Has nothing in it yet."""


class VirtualLoop(asyncio.AbstractEventLoop):
    """Runs one episode, or what a worker does once.

    Args:
        line: who is answered next; None where there are no ports.
        in_thread: runs a function in a thread to its end and returns its future.
        wait_s: longest real time in seconds that a thread of anyio is waited for.

    Attributes:
        now: virtual seconds since the loop was made.
        tasks: all tasks, by number.
        refused: what was called that there is none of here, the first of it.
    """

    slow_callback_duration = 0.1

    def __init__(self, line: Line | None, in_thread: Callable[..., Any], wait_s: float = 30.0) -> None:
        self.now = 0.0
        self.line = line
        self.tasks: list[asyncio.Task[Any]] = []
        self.refused: CouldNotRun | None = None
        self._in_thread, self._wait_s = in_thread, wait_s
        self._from_workers: list[tuple[threading.Thread, asyncio.Handle]] = []
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers_made = 0
        self._passes = 0
        self._until: asyncio.Future[Any] | None = None
        self._running = self._stopping = self._closed = False
        self._factory: Any = None
        self._handler: Any = None
        self._executor: Executor | None = None
        self._asyncgens: weakref.WeakKeyDictionary[Any, None] | None = None  # in the order in which they were begun

    # -- running -----------------------------------------------------------------------------------------------------

    def run_until_complete(self, future: Any) -> Any:
        """Runs until `future` has its result.

        Raises:
            Deadlock: nothing can go on.
            CouldNotRun: the system stopped the loop, or a thread waits for it.
        """
        self._refuse_nesting()
        task = future if asyncio.isfuture(future) else self.create_task(future)
        self._until = task
        task.add_done_callback(_stop)
        try:
            self._run()
        finally:
            task.remove_done_callback(_stop)
        if not task.done():
            raise deadlock.stopped()
        return task.result()

    def run_forever(self) -> None:
        """Runs until `stop()` is called."""
        self._refuse_nesting()
        self._run()

    def stop(self) -> None:
        """Ends `run_forever` after the callbacks that are ready now."""
        self._stopping = True

    def _refuse_nesting(self) -> None:
        if self._closed:
            raise RuntimeError("Event loop is closed")
        if self._running:
            raise RuntimeError("This event loop is already running")
        if asyncio._get_running_loop() is not None:
            raise RuntimeError("Cannot run the event loop while another loop is running")

    def _run(self) -> None:
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._begin_asyncgen, finalizer=self._finalize_asyncgen)
        self._running = True
        asyncio._set_running_loop(self)
        try:
            while not self._stopping:
                if not self._ready:
                    self._idle()
                self._pass()
        finally:
            self._running = self._stopping = False
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def _pass(self) -> None:
        """Runs the callbacks that are ready now."""
        self._passes += 1
        if self._passes > deadlock.MOST_STEPS:
            self._passes = 0
            raise deadlock.endless()
        ready = self._ready
        left = len(ready)
        while left:
            left -= 1
            handle: Any = ready.popleft()
            if handle._cancelled:
                continue
            try:  # as Handle._run() does it
                handle._context.run(handle._callback, *handle._args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self.call_exception_handler({"message": "Exception in callback", "exception": error, "handle": handle})

    def _idle(self) -> None:
        """Nobody can go on by himself: answers one of the calls that wait, or lets time pass.

        Raises:
            Deadlock: no call waits, and no timer is set.
            CouldNotRun: a thread waits for the loop.
        """
        if workers.ANYIO in sys.modules and self._worked():
            return
        timers, line = self._timers, self.line
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
        if line is not None and line.waiting and not (line.in_event and timers):
            for call in line.waiting.values():
                if call[0].done():
                    line.forget_cancelled()
                    break
            answered = line.next(bool(timers)) if line.waiting else None
            if answered is not None:
                answered[0].set_result(answered[1])
                return
        if not timers:
            raise self._deadlock()
        self.now = max(self.now, timers[0][0])
        while timers and timers[0][0] <= self.now:
            self._ready.append(heapq.heappop(timers)[2])

    def _worked(self) -> bool:
        """Waits for the threads of anyio that work for this loop, so that what they do is one step; whether there is anything from them."""
        workers.wait(self, self._from_workers, self._wait_s)
        self._ready.extend(handle for _, handle in workers.in_order(self._from_workers))
        self._from_workers.clear()
        return bool(self._ready)

    def _deadlock(self) -> Deadlock:
        left = [(lane_of(task), task.get_name(), task.get_coro()) for task in self.tasks if not task.done()]
        return deadlock.told(left, self.line.hanging if self.line is not None else {})

    def is_running(self) -> bool:
        """Whether the loop runs."""
        return self._running

    def is_closed(self) -> bool:
        """Whether the loop was closed."""
        return self._closed

    def close(self) -> None:
        """Closes the loop and lets go of all that it held."""
        if self._running:
            raise RuntimeError("Cannot close a running event loop")
        self._closed = True
        self._ready.clear()
        self._timers.clear()
        self.tasks.clear()
        self.line = self._until = self._handler = self._factory = None

    # -- callbacks and time ------------------------------------------------------------------------------------------

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self.now

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        """Runs `callback` after all that is ready."""
        if self._closed:
            raise RuntimeError("Event loop is closed")
        handle: Any = _Handle()
        handle._context = copy_context() if context is None else context
        handle._loop, handle._callback, handle._args, handle._cancelled = self, callback, args, False
        self._ready.append(handle)
        return handle  # type: ignore[no-any-return]

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        """The same. A thread of `run_in_executor` is waited for where it begins; what one of anyio's says is taken up in an order of ours."""
        thread = threading.current_thread()
        if not workers.works_for(thread, self):
            return self.call_soon(callback, *args, context=context)
        if self._closed:
            raise RuntimeError("Event loop is closed")
        handle = asyncio.Handle(callback, args, self, context)
        self._from_workers.append((thread, handle))
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Runs `callback` after `delay` virtual seconds."""
        if delay is None:
            raise TypeError("delay must not be None")
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Runs `callback` at the virtual time `when`."""
        if when is None:
            raise TypeError("when cannot be None")
        if self._closed:
            raise RuntimeError("Event loop is closed")
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timers_made += 1
        heapq.heappush(self._timers, (when, self._timers_made, timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are dropped when they come first."""

    # -- tasks and futures -------------------------------------------------------------------------------------------

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: Any = None, context: Context | None = None, **options: Any) -> asyncio.Task[Any]:
        """A task that has the next number. Named by it, where it is not named: asyncio's own names count over the whole process."""
        if self._closed:
            raise RuntimeError("Event loop is closed")
        lane = len(self.tasks)
        if name is None:
            name = f"Task-{lane}"
        if self._factory is None:
            task: asyncio.Task[Any] = LaneTask(lane, coro, self, name=name, context=context, **options)
            self.tasks.append(task)
            return task
        return self._made_by_factory(lane, coro, name, {"context": context, **options} if context is not None else options)

    def _made_by_factory(self, lane: int, coro: Any, name: Any, options: dict[str, Any]) -> asyncio.Task[Any]:
        """A task of the system's own factory. One that starts at once may reach ports before it is known here: its number is kept for it."""
        holder: Any = _Place(lane)
        self.tasks.append(holder)
        task: asyncio.Task[Any] = self._factory(self, coro, **options)
        if isinstance(task, asyncio.Task):
            task.set_name(str(name))
            self.tasks[lane] = task
            task.lane = lane  # type: ignore[attr-defined]
        return task

    def set_task_factory(self, factory: Any) -> None:
        """As asyncio's own."""
        if factory is not None and not callable(factory):
            raise TypeError("task factory must be a callable or None")
        self._factory = factory

    def get_task_factory(self) -> Any:
        """As asyncio's own."""
        return self._factory

    # -- threads -----------------------------------------------------------------------------------------------------

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Runs `func` in a real thread and waits for it here, so that the order does not depend on the threads of the machine."""
        work = self._in_thread(executor or self._executor, func, *args)
        future = self.create_future()
        error = work.exception()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(work.result())
        return future

    def set_default_executor(self, executor: Any) -> None:
        """As asyncio's own."""
        self._executor = executor

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """The threads are the runtime's."""

    # -- what is left over -------------------------------------------------------------------------------------------

    def _begin_asyncgen(self, agen: Any) -> None:
        if self._asyncgens is None:
            self._asyncgens = weakref.WeakKeyDictionary()
        self._asyncgens[agen] = None

    def _finalize_asyncgen(self, agen: Any) -> None:
        if self._asyncgens is not None:
            self._asyncgens.pop(agen, None)
        if not self._closed:
            self.create_task(agen.aclose())

    async def shutdown_asyncgens(self) -> None:
        """Closes the asynchronous generators that were begun and not ended."""
        left = list(self._asyncgens or ())
        self._asyncgens = None
        await asyncio.gather(*[agen.aclose() for agen in left], return_exceptions=True)

    def left(self) -> list[asyncio.Task[Any]]:
        """The tasks that have not ended, by number."""
        return [task for task in self.tasks if not task.done()]

    # -- errors and debugging ----------------------------------------------------------------------------------------

    def get_debug(self) -> bool:
        """False: debugging measures real time."""
        return False

    def set_debug(self, enabled: bool) -> None:
        """Debugging measures real time, so there is none."""

    def get_exception_handler(self) -> Any:
        """As asyncio's own."""
        return self._handler

    def set_exception_handler(self, handler: Any) -> None:
        """As asyncio's own."""
        self._handler = handler

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """What a task left behind raises is the system's, and told by no one else."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """As asyncio's own."""
        if self._handler is not None:
            with suppress(Exception):  # one that fails is told by no one
                self._handler(self, context)


class _Place:
    """Stands among the tasks for one that a factory is making."""

    def __init__(self, lane: int) -> None:
        self.lane = lane

    def done(self) -> bool:
        return True


def lane_of(task: Any) -> int:
    """The number of a task. One that starts before its factory returned has the last number given."""
    lane = getattr(task, "lane", None)
    if lane is None:
        lane = task.lane = len(task.get_loop().tasks) - 1
    return int(lane)


def _stop(future: asyncio.Future[Any]) -> None:
    future.get_loop().stop()


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(self: VirtualLoop, *args: Any, **options: Any) -> NoReturn:
        error = CouldNotRun(
            f"loop.{name}() is real I/O, which takes real time: let the port do it (via=) in a function that needs no loop, "
            "or set runtime = 'asyncio-native'"
        )
        self.refused = self.refused or error
        raise error

    refuse.__name__ = name
    return refuse


for _name, _method in vars(asyncio.AbstractEventLoop).items():
    if callable(_method) and not _name.startswith("_") and _name not in vars(VirtualLoop):
        setattr(VirtualLoop, _name, _refusal(_name))
