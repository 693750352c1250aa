"""The source line of a call, in the system's own code."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

from fencecheck.run.raised import is_library

_HERE = (str(Path(__file__).parent), str(Path(__file__).parent.parent / "fence"))
_INTEGRATIONS = str(Path(__file__).parent.parent / "integrations")
_SIMULATE = str(Path(__file__).parent / "simulate.py")


def line_of_caller() -> str:
    """`file:line` of the call in the system's own code, or nothing where that is not known.

    A port that is made a task of its own, as by `gather`, is called by the event loop: then it is where the call was written. One that an
    integration calls of its own accord has no line.
    """
    frame: FrameType | None = sys._getframe(1)
    outer: str | None = None
    while frame is not None and frame.f_code.co_filename != _SIMULATE:
        file, line = frame.f_code.co_filename, frame.f_lineno
        if not file.startswith((*_HERE, "<")):
            if not is_library(file):
                return f"{Path(file).name}:{line}"
            if outer is None:
                outer = "" if file.startswith(_INTEGRATIONS) else f"{Path(file).name}:{line}"
        frame = frame.f_back
    return _line_of_task() or outer or ""


def _line_of_task() -> str:
    asyncio = sys.modules.get("asyncio")
    try:
        task = asyncio.current_task() if asyncio is not None else None
    except RuntimeError:  # no loop of asyncio runs
        task = None
    made = getattr(task.get_coro(), "cr_origin", None) or () if task is not None else ()
    return next((f"{Path(file).name}:{line}" for file, line, _ in made if not is_library(file)), "")
