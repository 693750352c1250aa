"""What is said of an exception that a system raised. Its text is code of the system too, and may fail in its turn."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

_OURS = str(Path(__file__).parent.parent)
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})

_MOST_SAID = 2_000


def is_library(file: str) -> bool:
    """Whether a source file is fencecheck's own, or of a library: not of the system under test."""
    return file.startswith((_OURS, "<", *_LIBRARIES))


def said(error: BaseException) -> str:
    """Its kind and the beginning of its text, where it has one: `KeyError: 'order'`."""
    kind = type(error).__name__
    try:
        text = str(error)
    except Exception:
        return f"{kind} (whose text cannot be made)"
    return f"{kind}: {text[:_MOST_SAID]}{'…' if text[_MOST_SAID:] else ''}" if text else kind


def place(error: BaseException) -> str:
    """`file:line` of where the system's own code raised it, or nothing: rather than where in a library, or in fencecheck."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    theirs = [found for found in frames if not found[0].startswith((_OURS, "<"))]
    own = [found for found in theirs if not is_library(found[0])] or theirs
    return f"{Path(own[-1][0]).name}:{own[-1][1]}" if own else ""
