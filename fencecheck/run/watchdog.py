"""Ends an episode in which the system runs on without ever calling a port: nothing else would, as events and caps wait for port calls.

One coarse timer for a whole search, so that an episode costs nothing: a signal of the main thread that looks, every second or so, whether
the same episode is still on and has made no point since. Only where there are such signals, nobody else uses them, and nobody debugs.

What it raises inside the system is no `Exception`, and is raised again until it gets through: a loop that swallows everything is left by
a trace function, which raises at the line that swallowed. What not even that ends takes the process with it. It is raised only where the
run of the system, or a hook that a worker calls once, is on the stack, and not inside a destructor or a callback of the garbage collector,
of which Python would print it and go on.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from fencecheck.history import is_point
from fencecheck.run.faults import Overdue
from fencecheck.run.lines import inside_run
from fencecheck.run.raised import is_library

if TYPE_CHECKING:
    from fencecheck.run.kit import Kit

MOST_STATEMENTS = 1_000_000
"""Entries of an episode that may be no points, such as `declared`: more are an endless loop, and memory."""
_ALARM = getattr(signal, "SIGALRM", None)
_SOON_S = 0.05
_MOST_ROUNDS = 60
_FIRST_TRACED = 3
_MOST_WAITS = 40
"""How often it waits for a destructor to end, each time for `_SOON_S`."""
_HERE = str(Path(__file__).parent)
_SIMULATE = str(Path(__file__).parent / "simulate.py")
_SWALLOW = frozenset({"hypothesis", "weakref", "_weakrefset"})
"""Packages whose functions are called where garbage is collected, and which do not call what a system does."""
_LOOPS = frozenset({"asyncio", "trio", "outcome", "selectors", "concurrent", "threading"})
_DEBUGGERS = frozenset({"pdb", "bdb", "ipdb", "pudb", "pydevd", "_pydevd_bundle", "debugpy"})


class _Call:
    """Stands for the kit while no episode is on, but a hook that a worker calls once."""

    _closed = False

    def __init__(self) -> None:
        self._log: list[Any] = []

    def _stuck(self, waited_for: str) -> None:
        """There is nothing to note it in."""


class Watchdog:
    """Watches the episodes of one search.

    Args:
        name: of the system.
        limit_s: real seconds that may pass between two points; a tenth of it, once one episode was ended, since others will do the same.
        episode: the kit of the episode that is on, or of the last one.
    """

    def __init__(self, name: str, limit_s: float, episode: Callable[[], Kit | None]) -> None:
        self._name, self._limit_s, self._episode = name, limit_s, episode
        self._call: _Call | None = None
        self._kit: Kit | _Call | None = None
        self._read = 0  # entries looked at
        self._looking = False
        self._since = 0.0
        self._rounds = 0
        self._waits = 0
        self._armed = False
        self._trace_before: Any = None

    def start(self) -> None:
        """Arms the timer, where that can be done."""
        if _ALARM is None or threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(_ALARM) != signal.SIG_DFL or signal.getitimer(signal.ITIMER_REAL)[0]:
            return  # somebody else's, or a search around this one
        signal.signal(_ALARM, self._look)
        self._armed = True
        self._every(self._tick_s)

    def stop(self) -> None:
        """Disarms it, unless the system took the signal for itself."""
        if self._armed and _ALARM is not None and signal.getsignal(_ALARM) == self._look:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(_ALARM, signal.SIG_DFL)
        if self._rounds:
            sys.settrace(self._trace_before)
        self._armed, self._kit, self._rounds, self._waits = False, None, 0, 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """What is done inside is watched as an episode is."""
        self._call = _Call()
        try:
            yield
        finally:
            self._call = None

    @property
    def _tick_s(self) -> float:
        return min(1.0, self._limit_s / 4)

    def _every(self, seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

    def _look(self, number: int, frame: FrameType | None) -> None:
        if self._looking or frame is None:
            return
        self._looking = True
        try:
            self._watch(frame)
        finally:
            self._looking = False

    def _watch(self, frame: FrameType) -> None:
        kit = self._call or self._episode()
        if kit is None or kit._closed or not inside_run(frame) or _debugged(frame):  # an error of the tool closes no episode
            self._begin(None)
            return
        log, read = kit._log, self._read if kit is self._kit else 0
        if len(log) - read > MOST_STATEMENTS:
            self._end(kit, frame, f"no port was called for {MOST_STATEMENTS:,} statements")
        elif kit is not self._kit or any(map(is_point, log[read:])):
            self._begin(kit)
        elif time.perf_counter() - self._since >= self._limit_s:
            self._end(kit, frame, f"no port was called for {self._limit_s:g} s")

    def _begin(self, kit: Kit | _Call | None) -> None:
        """Another episode, or the same one that goes on."""
        self._kit, self._read, self._since = kit, 0 if kit is None else len(kit._log), time.perf_counter()
        if self._rounds:
            self._limit_s = max(self._limit_s / 10, min(1.0, self._limit_s))
            sys.settrace(self._trace_before)
        if self._rounds or self._waits:
            self._rounds = self._waits = 0
            self._every(self._tick_s)

    def _end(self, kit: Kit | _Call, frame: FrameType, why: str) -> None:
        if _is_ours(frame):
            return
        if _is_swallowed(frame) and self._waits < _MOST_WAITS:
            self._waits += 1
            self._every(_SOON_S)
            return
        if self._rounds == 0:
            self._trace_before = sys.gettrace()
            self._every(_SOON_S)
        self._rounds += 1
        over = Overdue(why, _place(frame))
        kit._stuck(f"nothing: {over}")
        if self._rounds > _MOST_ROUNDS:
            os.write(2, f"fencecheck: {self._name} is stuck and cannot be ended: {over}\n".encode())
            os._exit(2)
        if self._rounds >= _FIRST_TRACED:
            _raise_at_next_line(frame, over)
        raise over


def _is_ours(frame: FrameType | None) -> bool:
    """Whether what runs right now is no code of the system, but a port, or a loop of ours that waits and will end that itself."""
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in _LOOPS:
        frame = frame.f_back
    return frame is None or frame.f_code.co_filename.startswith(_HERE)


def _is_swallowed(frame: FrameType | None) -> bool:
    """Whether Python prints what is raised here and goes on: in a destructor, or in what is called where garbage is collected."""
    callbacks = [getattr(callback, "__code__", None) for callback in gc.callbacks]
    while frame is not None and frame.f_code.co_filename != _SIMULATE:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if frame.f_code.co_name == "__del__" or frame.f_code in callbacks or package in _SWALLOW:
            return True
        frame = frame.f_back
    return False


def _system_frames(frame: FrameType | None) -> list[FrameType]:
    """The frames of an episode that belong to the system, innermost first; with its libraries where it is installed as one itself."""
    found = []
    while frame is not None and frame.f_code.co_filename != _SIMULATE:
        found.append(frame)
        frame = frame.f_back
    return [frame for frame in found if not is_library(frame.f_code.co_filename)] or found


def _place(frame: FrameType) -> str:
    innermost = _system_frames(frame)[0]
    return f"{Path(innermost.f_code.co_filename).name}:{innermost.f_lineno}"


def _raise_at_next_line(frame: FrameType, error: BaseException) -> None:
    def trace(frame: FrameType, event: str, about: Any) -> Any:
        if event == "line":
            raise error
        return None if event == "call" else trace

    for one in _system_frames(frame):
        one.f_trace = trace
    sys.settrace(trace)


def _debugged(frame: FrameType | None) -> bool:
    """Whether a person is stepping through the system, or stands at a prompt inside it."""
    if str(getattr(sys.gettrace(), "__module__", "")).partition(".")[0] in _DEBUGGERS:
        return True
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False
