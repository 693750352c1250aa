"""What `fencecheck init` writes for a framework: an adapter that runs at once, its test, and a workflow for continuous integration.

Each folder of `starters/` is a framework: its `starter.toml`, and the files to write, each with `.txt` after its name, so that no tool takes
them for code of this package. The test and the workflow are the same for all, unless the folder has a test of its own.

    summary = "one line for --help"
    order = 4                       # its place in that list
    system = "OrderAgent"           # the class in fencecheck_adapter.py
    extra = "langgraph"             # the extra of fencecheck that it needs, if any
    imports = ["langgraph"]         # what that extra brings, to see whether it is there
    most = 1                        # how many events are tried at most, where an episode takes long; else any number
    advice = "..."                  # what to change to make it hold: "in FILE do this"
    [[mend]]                        # the same for a machine: the tests do it
    file = "fencecheck_adapter.py"
    replace = "..."
    by = "..."
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

import msgspec
from msgspec import Struct

from fencecheck.errors import BadInput
from fencecheck.report.json import refuse_unwritable_folder, write

ADAPTER_FILE = "fencecheck_adapter.py"
TEST_FILE = "test_fencecheck_adapter.py"
WORKFLOW_FILE = Path(".github") / "workflows" / "fencecheck.yml"
DEFAULT = "plain"


class Mend(Struct, forbid_unknown_fields=True):
    """One replacement that makes the adapter hold."""

    file: str
    replace: str
    by: str


class Starter(Struct, forbid_unknown_fields=True):
    """What `starter.toml` says of a framework."""

    summary: str
    order: int
    system: str
    advice: str
    mend: list[Mend]
    extra: str = ""
    imports: list[str] = []
    most: int | None = None


def starters() -> dict[str, Starter]:
    """Every framework by name, in the order of `--help`."""
    folders = [folder for folder in _all().iterdir() if folder.is_dir() and folder.joinpath("starter.toml").is_file()]
    found = {folder.name: msgspec.toml.decode(folder.joinpath("starter.toml").read_bytes(), type=Starter) for folder in folders}
    return dict(sorted(found.items(), key=lambda item: item[1].order))


def starter(name: str) -> Starter:
    """The framework of that name, if what it needs is installed.

    Raises:
        BadInput: there is none, or an extra is missing.
    """
    known = starters()
    if name not in known:
        near = get_close_matches(name.lower().replace("_", "-"), known, 2, 0.5)
        meant = f"did you mean {' or '.join(near)}? Else it" if near else "it"
        raise BadInput(f"there is no framework {name!r}: {meant} is one of {', '.join(known)}")
    found = known[name]
    missing = [module for module in found.imports if not is_there(module)]
    if missing:
        package = f"fencecheck[{found.extra}]" if found.extra else "fencecheck"
        raise BadInput(f"--framework {name} needs {missing[0]}, which is not installed: pip install '{package}'")
    return found


def listed() -> Iterator[str]:
    """The frameworks as lines of text."""
    return (f"  {name:<15} {kind.summary}" for name, kind in starters().items())


def write_all(name: str, directory: Path) -> Iterator[str]:
    """Writes what belongs to a framework into `directory`, and yields what to say of it, line by line.

    Raises:
        BadInput: there is no such framework, an extra is missing, a file is there already, or none can be written.
    """
    kind, top = starter(name), top_of_repository(directory)
    found = texts(name, Path(os.path.relpath(directory.resolve(), top)).as_posix())
    workflow = found.pop(str(WORKFLOW_FILE))
    for path in (directory / name for name in found):
        if path.exists():
            raise BadInput(f"{path} is there already and is not overwritten: remove it, or name another directory")
    refuse_unwritable_folder(directory)
    for name, text in found.items():
        write(directory / name, text)
        yield f"wrote {directory / name}"
    yield _write_workflow(top / WORKFLOW_FILE, workflow, absolute=directory.is_absolute())
    yield f"now: fencecheck check {directory / ADAPTER_FILE}:{kind.system}{_check(kind)}"
    yield f"it is violated; to make it hold, {kind.advice}"


def _write_workflow(path: Path, text: str, absolute: bool) -> str:
    """One workflow serves a whole repository: one that is there already stays as it is."""
    shown = path if absolute else Path(os.path.relpath(path))
    if path.exists():
        return f"left {shown} as it is: add the new adapter to it"
    refuse_unwritable_folder(path.parent)
    write(path, text)
    return f"wrote {shown}"


def texts(name: str, folder: str) -> dict[str, str]:
    """The files of a framework, by the path from the folder in which the agent is; the workflow's is from the top of the repository.

    Args:
        folder: the folder of the agent, from the top of the repository.
    """
    kind, here = starter(name), _all().joinpath(name)
    found = {file.name.removesuffix(".txt"): file.read_text("utf-8") for file in here.iterdir() if file.name.endswith(".txt")}
    written = {ADAPTER_FILE: found.pop(ADAPTER_FILE), **dict(sorted(found.items()))}
    written.setdefault(TEST_FILE, _all().joinpath("test.py.txt").read_text("utf-8"))
    written[str(WORKFLOW_FILE)] = _all().joinpath("workflow.yml.txt").read_text("utf-8")
    marks = {
        "@SYSTEM@": kind.system,
        "@SNAKE@": re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.system).lower(),
        "@EXTRAS@": ",".join(filter(None, (kind.extra, "pytest"))),
        "@FOLDER@": folder,
        "@ADVICE@": kind.advice,
        "@SUITE@": "" if kind.most is None else f', engine="exhaust", max_events={kind.most}',
        "@CHECK@": _check(kind),
    }
    return {path: _filled(text, marks) for path, text in written.items()}


def top_of_repository(folder: Path) -> Path:
    """The folder that holds the repository of `folder`, or `folder` itself where there is none."""
    whole = folder.resolve()
    return next((above for above in (whole, *whole.parents) if (above / ".git").exists()), whole)


def _check(kind: Starter) -> str:
    """The options of `fencecheck check`."""
    return "" if kind.most is None else f" --max-events {kind.most}"


def _filled(text: str, marks: dict[str, str]) -> str:
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


def _all() -> Traversable:
    return files("fencecheck.report").joinpath("starters")


def is_there(module: str) -> bool:
    """Whether a module can be imported."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that it is part of
        return False
