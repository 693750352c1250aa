"""The source line of a call, in the system's own code."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from pathlib import Path
from types import FrameType

from fencecheck.run.raised import is_library

_ROOMS = Path(__file__).parent.parent
_HERE = (str(_ROOMS / "run"), str(_ROOMS / "fence"))
_INTEGRATIONS = str(_ROOMS / "integrations")
_SIMULATE = str(Path(__file__).parent / "simulate.py")
WRITTEN: ContextVar[str] = ContextVar("fencecheck_written", default="")
"""Where the function stands in whose place an integration calls a port, as `file:line`: no line of the system's own makes that call."""


def line_of_caller() -> str:
    """`file:line` of the call in the system's own code, or nothing where that is not known.

    A port that is made a task of its own, as by `gather`, is called by the event loop: then it is where the call was written.
    """
    if written := WRITTEN.get():
        return written
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


def _line_of_task() -> str:
    asyncio = sys.modules.get("asyncio")
    try:
        task = asyncio.current_task() if asyncio is not None else None
    except RuntimeError:  # no loop of asyncio runs
        task = None
    made = getattr(task.get_coro(), "cr_origin", None) or () if task is not None else ()
    return next((f"{Path(file).name}:{line}" for file, line, _ in made if not is_library(file) and not file.startswith(_INTEGRATIONS)), "")
