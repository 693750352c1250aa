"""A failure as files: a case to replay, and a pytest file that fails until the system is fixed and passes from then on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fencecheck.codec import AnchoredEvent, Case, load_case, save_case
from fencecheck.report.json import write
from fencecheck.report.timeline import wrapped
from fencecheck.report.words import Names, clean
from fencecheck.search.replay import case_of
from fencecheck.search.report import Failure, Report

WIDTH = 120


def save(report: Report, directory: Path, system: str | None = None) -> None:
    """Writes the case and the test of each failure into `directory`, and notes their paths in the report.

    Args:
        system: how the system was named; by default how the report refers to it.

    Raises:
        BadInput: the directory cannot be written, or a value of the scenario cannot be stored.
    """
    for failure in report.failures:
        case = case_of(report, failure)
        named = system or case.system
        case = replace(case, system=_portable(named, directory))
        path = save_case(case, directory)
        stored = load_case(path)  # as the other engine found it, maybe
        case = replace(case, seed=stored.seed, smallest=stored.smallest)
        name = test_name(path)
        test = directory / f"{name}.py"
        write(test, test_file(case, failure, name, directory, named))
        failure.case, failure.test = str(path), str(test)


def _portable(system: str, directory: Path) -> str:
    """A file by its path from the nearest folder that holds the case too: from wherever it is replayed, it is looked for upwards from the case.

    Where the two share no folder but the root, by its absolute path.
    """
    where, colon, attribute = system.rpartition(":")
    if where.endswith(".py"):
        file, folder = Path(where).resolve(), directory.resolve()
        shared = next(one for one in (folder, *folder.parents) if file.is_relative_to(one) or one == one.parent)
        where = file.as_posix() if shared == shared.parent else file.relative_to(shared).as_posix()
    return f"{where}{colon}{attribute}"


def test_name(case: Path) -> str:
    """The name of the test of a case file: `test_fresh_read_3f2a9c`."""
    return "test_" + re.sub(r"\W+", "_", case.stem)


def test_file(case: Case, failure: Failure, name: str, directory: Path, system: str) -> str:
    """The source of the test.

    Args:
        name: of the test function.
        directory: where the file will stand.
        system: how the system is named from the working directory.
    """
    said = f"{case.system}, {case.code}: {Names(failure.history).readable(case.message)}"
    target, root = _target(system, directory)
    used = sorted({type(part).__name__ for part in _structs(case)} - {"AnchoredEvent", "Case"})
    imports = [f"from fencecheck import {', '.join(used)}"] if used else []
    events = ", ".join(sorted({type(part).__name__ for part in _structs(case) if isinstance(part, AnchoredEvent | Case)}))
    lines = [
        *wrapped(clean(said), WIDTH, "# ", "# "),
        f"# Written by fencecheck {case.fencecheck}. It fails until the system is fixed, and passes from then on.",
        *([""] if not ("__file__" in target or root) else ["", "from pathlib import Path", ""]),
        *imports,
        f"from fencecheck.codec import {events}",
        "from fencecheck.pytest import assert_fixed",
        "",
        f"SYSTEM = {target}",
        f"CASE = {code(case)}",
        "",
        "",
        f"def {name}() -> None:",
        f"    assert_fixed(CASE, SYSTEM{root})",
    ]
    return "\n".join(lines) + "\n"


def _target(system: str, directory: Path) -> tuple[str, str]:
    """The expression that names the system from the test's own folder, and the argument that says where its package is found."""
    where, _, attribute = system.rpartition(":")
    if not where:
        return repr(system), ""
    if where.endswith(".py"):
        return f"str({_from_here(Path(where), directory)}) + {':' + attribute!r}", ""
    return repr(system), f", root={_from_here(Path.cwd(), directory)}"


def _from_here(path: Path, directory: Path) -> str:
    try:
        relative = Path(os.path.relpath(path.resolve(), directory.resolve())).as_posix()
    except ValueError:  # on another drive
        return f"Path({str(path.resolve())!r})"
    return f"Path(__file__).parent / {relative!r}"


def _structs(value: Any) -> Iterator[Struct]:
    """Every struct inside a value, itself included."""
    if isinstance(value, Struct):
        yield value
        parts: Any = [getattr(value, field) for field in value.__struct_fields__]
    elif isinstance(value, dict):
        parts = value.values()
    else:
        parts = value if isinstance(value, list | tuple) else ()
    for part in parts:
        yield from _structs(part)


def code(value: Any, indent: int = 0) -> str:
    """A value as Python source, one part to a line where it does not fit on one."""
    whole = repr(value)
    if indent + len(whole) <= WIDTH - 10:
        return whole
    inner, end = " " * (indent + 4), "\n" + " " * indent
    if isinstance(value, Struct):
        shown = [(f, getattr(value, f)) for f in value.__struct_fields__ if _said(value, f)]
        return f"{type(value).__name__}(\n" + "".join(f"{inner}{f}={code(v, indent + 4)},\n" for f, v in shown) + end[1:] + ")"
    if isinstance(value, dict):
        return "{\n" + "".join(f"{inner}{k!r}: {code(v, indent + 4)},\n" for k, v in value.items()) + end[1:] + "}"
    if isinstance(value, list | tuple):
        left, right = "[]" if isinstance(value, list) else "()"
        return f"{left}\n" + "".join(f"{inner}{code(v, indent + 4)},\n" for v in value) + end[1:] + right
    return whole


def _said(value: Struct, field: str) -> bool:
    """Whether a field is not at its default."""
    fields = value.__struct_fields__
    defaults = dict(zip(reversed(fields), reversed(value.__struct_defaults__), strict=False))
    return field not in defaults or getattr(value, field) != defaults[field]
