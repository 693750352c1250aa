"""Reports as one JSON object, and files that appear whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fencecheck import __version__
from fencecheck.errors import BadInput
from fencecheck.history import History
from fencecheck.interleaving import kind_of
from fencecheck.judge import judge
from fencecheck.search.report import Report


def as_object(reports: Iterable[Report], errors: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What `--json` writes.

    Args:
        errors: systems that could not be checked, with the sentence that says why; the field is there only where there are any.
    """
    found: dict[str, Any] = {"fencecheck": __version__, "systems": [report.as_json() for report in reports]}
    if errors:
        found["errors"] = [{"system": system, "message": message} for system, message in errors.items()]
    return found


def judged_in_short(history: History) -> dict[str, Any]:
    """What one episode came to: how it ended, how many effects it had, which events fired, and what was found."""
    judgement = judge(history)
    return {
        "outcome": judgement.outcome,
        "effects": len(history.effects),
        "fired": [kind_of(event.what) for event in history.fired],
        "findings": [{"code": found.code, "message": found.message} for found in judgement.findings],
    }


def encoded(value: Mapping[str, Any]) -> str:
    """The object as indented JSON."""
    return json.dumps(value, indent=2) + "\n"


def write(path: Path, text: str) -> None:
    """Writes a file so that a reader finds the old one or the whole new one. What is no file, such as a pipe, is written to.

    Raises:
        BadInput: it cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        path = path.resolve()
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_text(text, encoding="utf-8")
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(f"{path} cannot be written ({_reason(error)})") from error


def refuse_unwritable(path: Path) -> None:
    """Says before a long run that a file could not be written after it.

    Raises:
        BadInput: its folder does not exist or takes no file, it is a folder itself, or `-`.
    """
    if path == Path("-"):
        raise BadInput("- is no file, and standard output has the report in words: name a file")
    if path.is_dir():
        raise BadInput(f"{path} cannot be written (is a directory): name a file")
    if not path.exists():
        _try_file(path.resolve().parent, path)
    elif path.is_file() and not os.access(path, os.W_OK):
        raise BadInput(f"{path} cannot be written (permission denied)")


def refuse_one_file(paths: Sequence[Path]) -> None:
    """Says before a long run that one file would be written over another.

    Raises:
        BadInput: two of the paths are of one file.
    """
    known: set[Path] = set()
    for path in paths:
        if path.resolve() in known and not path.is_char_device():
            raise BadInput(f"{path} is asked for twice, and would be written over: name a file for each")
        known.add(path.resolve())


def refuse_unwritable_folder(folder: Path) -> None:
    """Says before a long run that no file could be written into a folder after it; makes the folder.

    Raises:
        BadInput: it cannot be made, or takes no file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{folder} cannot be written ({_reason(error)}): name a directory that can be written") from error
    _try_file(folder, folder)


def _try_file(folder: Path, named: Path) -> None:
    draft = folder / f".fencecheck-{os.getpid()}"
    try:
        draft.touch()
        draft.unlink()
    except OSError as error:
        raise BadInput(f"{named} cannot be written ({_reason(error)})") from error


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
