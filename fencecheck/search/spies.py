"""An adapter watched from inside: which hooks were called, what they asked, which results were thrown away, what went past the ports.

The system runs as it is; what is watched is put around the methods of each instance, and around its kit. Nothing of it is part of a search.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from fencecheck.run.adapter import OPTIONAL, AgentSystem, name_of
from fencecheck.run.current import inside_via
from fencecheck.run.kit import inside_hook
from fencecheck.run.raised import is_library
from fencecheck.run.recognise import equal, parts
from fencecheck.run.simulate import SystemLike

_PORTS = ("read", "head", "memory", "record", "derive", "act")
_ANSWERING = ("read", "head", "memory", "record")
_MOST_PARTS = 200
"""Parts of an answer that are looked at."""
_NO_EVENT = ("versions_in", "version_of")
"""Hooks that are asked beside any event."""


class Notes:
    """What was seen of a system so far.

    Attributes:
        hooks: each hook to how often it was called.
        asked: each hook to the ports that it called.
        in_setup: the ports that `setup` called.
        discarded: each place to the port whose answer was thrown away there.
        past: each function that a port calls to a place where the system called it past its ports.
        by_run: each hook to a place where `run` called it itself.
        handed: each key to the places where a version of it was handed out past the ports, each with the function that was called there.
        raised: each exception that left `run`, with whether the system's own code raised it on purpose.
    """

    def __init__(self) -> None:
        self.hooks: dict[str, int] = {}
        self.asked: dict[str, set[str]] = {}
        self.in_setup: set[str] = set()
        self.discarded: dict[str, str] = {}
        self.past: dict[str, str] = {}
        self.by_run: dict[str, str] = {}
        self.handed: dict[str, dict[str, str]] = {}
        self.kit: Any = None
        self.adapter: Any = None
        self.raised: list[tuple[BaseException, bool]] = []
        self.phase = ""


def watched(system: SystemLike, notes: Notes) -> Callable[[], AgentSystem]:
    """A maker of instances of `system` that are watched."""

    def make() -> AgentSystem:
        instance = notes.adapter = system()
        for hook in OPTIONAL:
            if callable(getattr(instance, hook, None)):
                _put(instance, hook, _counted(notes, instance, hook, getattr(instance, hook)))
        _put(instance, "setup", _set_up(notes, instance.setup))
        _put(instance, "run", _run(notes, instance.run))
        return instance

    make.__qualname__ = make.__name__ = name_of(system)
    return make


def _put(instance: Any, name: str, method: Any) -> None:
    try:
        setattr(instance, name, method)
    except AttributeError:  # slots, or a property: then it goes unwatched
        return


def _around(method: Callable[..., Any], before: Callable[..., None], after: Callable[[BaseException | None], None]) -> Callable[..., Any]:
    """`method`, plain or async, with something done before and after."""
    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def awaited(*args: Any) -> Any:
            before(*args)
            try:
                answer = await method(*args)
            except BaseException as error:
                after(error)
                raise
            after(None)
            return answer

        return awaited

    @wraps(method)
    def called(*args: Any) -> Any:
        before(*args)
        try:
            answer = method(*args)
        except BaseException as error:
            after(error)
            raise
        after(None)
        return answer

    return called


def _counted(notes: Notes, instance: AgentSystem, hook: str, method: Callable[..., Any]) -> Callable[..., Any]:
    outer: list[str] = []

    def before(*args: Any) -> None:
        outer.append(notes.phase)
        caller = sys._getframe(2)  # past `called`, or `awaited`
        if notes.phase == "run" and not inside_via() and not is_library(caller.f_code.co_filename):
            notes.by_run.setdefault(hook, _place(caller))
            return
        notes.hooks[hook] = notes.hooks.get(hook, 0) + 1
        notes.phase = hook

    def after(error: BaseException | None) -> None:
        notes.phase = outer.pop()

    return _around(method, before, after)


def _set_up(notes: Notes, method: Callable[..., Any]) -> Callable[..., Any]:
    def before(kit: Any) -> None:
        notes.phase, notes.kit = "setup", kit
        for port in _PORTS:
            setattr(kit, port, _noted(notes, port, getattr(kit, port)))
        kit._aio = _NotedPorts(notes, kit.aio)

    def after(error: BaseException | None) -> None:
        notes.phase = ""

    return _around(method, before, after)


def _run(notes: Notes, method: Callable[..., Any]) -> Callable[..., Any]:
    def before() -> None:
        notes.phase = "run"

    def after(error: BaseException | None) -> None:
        notes.phase = ""
        if error is not None:
            notes.raised.append((error, _on_purpose(error)))

    return _around(method, before, after)


def _on_purpose(error: BaseException) -> bool:
    """Whether a `raise` of the system's own raised it: not a bug that came up by itself, nor a library."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or is_library(trace.tb_frame.f_code.co_filename):
        return False
    return dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


# -- the ports -----------------------------------------------------------------------------------------------------------------------


class _NotedPorts:
    """`kit.aio`, watched."""

    def __init__(self, notes: Notes, ports: Any) -> None:
        self._notes, self._ports = notes, ports

    def __getattr__(self, port: str) -> Any:
        return _noted(self._notes, port, getattr(self._ports, port))


def _noted(notes: Notes, port: str, call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def noted(*args: Any, **options: Any) -> Any:
        if notes.phase == "setup":
            notes.in_setup.add(port)
        elif notes.phase in OPTIONAL and (inside_hook() or notes.phase in _NO_EVENT):
            notes.asked.setdefault(notes.phase, set()).add(port)
        elif port in _ANSWERING and options.get("via") is not None:
            frame = sys._getframe(1)
            if _is_statement(frame):
                notes.discarded.setdefault(_place(frame), port)
        return call(*args, **options)

    return noted


def _place(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _is_statement(frame: FrameType) -> bool:
    """Whether the call that `frame` is making is a statement of its own, so that nobody looks at what it returns."""
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    return (positions[1], positions[3]) in _statements(frame.f_code.co_filename)


@lru_cache(maxsize=64)
def _statements(file: str) -> frozenset[tuple[int | None, int | None]]:
    """Where the calls end that are statements of their own, awaited or not."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return frozenset()
    calls = (node.value.value if isinstance(node.value, ast.Await) else node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return frozenset((call.end_lineno, call.end_col_offset) for call in calls if isinstance(call, ast.Call))


# -- past the ports ------------------------------------------------------------------------------------------------------------------


@contextmanager
def listening(notes: Notes) -> Iterator[None]:
    """Notes what the ports call with `via=`, and where `run` calls the same function itself."""
    if sys.getprofile() is not None:  # somebody profiles the process already
        yield
        return
    calls = _Calls(notes)
    sys.setprofile(calls)
    threading.setprofile(calls)
    try:
        yield
    finally:
        threading.setprofile(None)
        sys.setprofile(None)
        notes.past.update(calls.past())


class _Calls:
    """A profile function. The real method behind a `via=` is that function itself, and of a small one of its own what it returns."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._behind: dict[CodeType, None] = {}
        self._outside: dict[CodeType, str] = {}
        self._passing_on: set[tuple[str, FrameType]] = set()
        self._answers: dict[FrameType, tuple[CodeType, Any]] = {}

    def __call__(self, frame: FrameType, event: str, answer: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or is_library(code.co_filename):
            return
        if not inside_via():
            back = frame.f_back
            if self._notes.phase == "run" and back is not None and not is_library(back.f_code.co_filename):
                if event == "call":
                    self._outside.setdefault(code, self._place(frame, back))
                elif answer is not None:
                    self._handed(frame, back, answer)
            return
        if event != "return":
            return
        back = frame.f_back
        if back is not None and _is_step(back):
            self._ended(frame, answer)
        elif back is not None and back.f_back is not None and _is_step(back.f_back):
            self._answers[back] = (code, answer)

    def _place(self, frame: FrameType, caller: FrameType) -> str:
        """Where the system called a function: from where the object was called that it belongs to, unless that is the adapter."""
        its = frame.f_locals.get("self")
        while its is not None and its is not self._notes.adapter and caller.f_locals.get("self") is its and caller.f_back is not None:
            caller = caller.f_back
        return _place(caller)

    def _handed(self, frame: FrameType, caller: FrameType, answer: Any) -> None:
        """A function has returned past the ports: maybe a version of some key, or its id. One that only passes it on is not told."""
        kit = self._notes.kit
        for key in kit.scenario.keys:
            if _carries(kit, key, answer, any(type(value) is str and value == key for value in frame.f_locals.values())):
                handed, where = self._notes.handed.setdefault(key, {}), self._place(frame, caller)
                if where in handed or (key, frame) not in self._passing_on:
                    handed[where] = frame.f_code.co_qualname
                self._pass_on(key, caller)

    def _pass_on(self, key: str, frame: FrameType | None) -> None:
        """Notes that a version of `key`, or its id, comes to `frame` and those who wait for it."""
        while frame is not None:
            self._passing_on.add((key, frame))
            frame = frame.f_back

    def _ended(self, via: FrameType, answer: Any) -> None:
        """A `via=` has returned."""
        for key in self._notes.kit.scenario.keys:
            self._pass_on(key, via)
        self._behind[via.f_code] = None
        code, last = self._answers.pop(via, (None, None))
        if code is not None and last is answer:
            self._behind[code] = None
        if inspect.iscoroutine(answer):
            self._behind[answer.cr_code] = None

    def past(self) -> dict[str, str]:
        """Each such function, with a place that calls it itself."""
        return {code.co_qualname: self._outside[code] for code in self._behind if code in self._outside}


def _carries(kit: Any, key: str, answer: Any, is_asked: bool) -> bool:
    """Whether an answer holds a version of a key or the id of one. A number can be there by chance, unless the key was asked for."""
    world, names = kit._world, kit._landing.names
    ids = [id for id in world.versions.get(key, ()) if not world.records[id].removed]
    values = [world.records[id].value for id in ids]
    for part in islice(parts(answer, 2), _MOST_PARTS):
        is_id = isinstance(part, str) or (type(part) is int and is_asked and part is answer)
        if is_id and names.get((key, part)) in ids:
            return True
        if part is not None and not isinstance(part, bool | int | float) and any(equal(part, value) for value in values):
            return True
    return False


def _is_step(frame: FrameType) -> bool:
    """Whether it is the kit that calls."""
    return frame.f_code.co_name == "_call" and is_library(frame.f_code.co_filename) and frame.f_code.co_filename.endswith("kit.py")
