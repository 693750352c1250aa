"""The source line of a call, in the system's own code."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

from fencecheck.errors import CouldNotRun
from fencecheck.run.raised import is_library

_ROOMS = Path(__file__).parent.parent
_HERE = (str(_ROOMS / "run"), str(_ROOMS / "fence"))
_INTEGRATIONS = str(_ROOMS / "integrations")
_KIT = str(_ROOMS / "run" / "kit.py")
_SIMULATE = str(_ROOMS / "run" / "simulate.py")
ELSEWHERE: ContextVar[str | None] = ContextVar("fencecheck_line", default=None)
"""Where the call stands, as `file:line`, for whoever makes it in another's place: a caller in another process (an empty text where it does not
say), or the tool for which an integration calls a port."""


def line_of_caller() -> str:
    """`file:line` of the call in the system's own code, or nothing where that is not known.

    A port that is made a task of its own, as by `gather`, is called by the event loop: then it is where the call was written. One that an
    integration calls of its own accord has no line.
    """
    said = ELSEWHERE.get()
    if said is not None:
        return said
    frame: FrameType | None = sys._getframe(1)
    outer, from_framework = "", False
    while frame is not None and frame.f_code.co_filename != _SIMULATE:
        file, line = frame.f_code.co_filename, frame.f_lineno
        if file.startswith(_INTEGRATIONS):
            from_framework = True  # which then is what stands further out
        elif not file.startswith((*_HERE, "<")):
            if not is_library(file):
                return f"{Path(file).name}:{line}"
            outer = outer or ("" if from_framework else f"{Path(file).name}:{line}")
        frame = frame.f_back
    return _line_of_task() or outer


def inside_run(frame: FrameType | None) -> bool:
    """Whether an episode, or a hook that a worker calls once, is on the stack."""
    while frame is not None:
        if frame.f_code.co_filename == _SIMULATE:
            return True
        frame = frame.f_back
    return False


def unawaitable(name: str, runtime: str) -> CouldNotRun:
    """What is said where an async function was given to a port that cannot await.

    Args:
        name, runtime: of the system.
    """
    port = _port_of_caller()
    if not port:
        right = "set runtime = 'asyncio' or 'trio'" if runtime == "sync" else "let it be no coroutine"
        return CouldNotRun(f"{name}: an async hook is reached where nothing can be awaited: {right}")
    return CouldNotRun(
        f"{name}: kit.{port} at {line_of_caller()} is not awaited, and comes to an async hook or via= function: write `await kit.aio.{port}(...)`"
    )


def _port_of_caller() -> str:
    """The plain port that is called right now, or nothing where none is."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != _SIMULATE:
        name = frame.f_code.co_name
        if frame.f_code.co_filename == _KIT and not name.startswith("_"):
            return name
        frame = frame.f_back
    return ""


def _line_of_task() -> str:
    asyncio = sys.modules.get("asyncio")
    try:
        task = asyncio.current_task() if asyncio is not None else None
    except RuntimeError:  # no loop of asyncio runs
        task = None
    made = getattr(task.get_coro(), "cr_origin", None) or () if task is not None else ()
    return next((f"{Path(file).name}:{line}" for file, line, _ in made if not is_library(file) and not file.startswith(_INTEGRATIONS)), "")
