"""Finds a system by the name that a person gives: a built-in name, `package.module:Class`, or `path/to/file.py:Class`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fencecheck.errors import BadInput, alike
from fencecheck.run.adapter import AgentSystem, name_of
from fencecheck.run.raised import said

BUILT_IN = ("systems", "mutants")


def load(name: str, near: Path | None = None) -> type[AgentSystem]:
    """The adapter class of that name.

    Args:
        near: a folder from which files and packages are looked for first, upwards: that of a stored case.

    Raises:
        BadInput: there is none, or its module fails to import (its own error is shown).
    """
    if ":" in name:
        where, _, attribute = name.rpartition(":")
        if not where or not attribute:
            right = f"{where}:Class, with the class" if where else "package.module:Class or path/to/file.py:Class"
            raise BadInput(f"{name!r} names no system: give {right}")
        above = () if near is None else (near.resolve(), *near.resolve().parents)
        module = _from_file(_first(Path(where), above)) if where.endswith(".py") else _from_module(where, above)
        found = module
        for part in attribute.split("."):
            if not hasattr(found, part):
                raise BadInput(f"{where} has no {attribute}: it defines {_adapters_in(module)}")
            found = getattr(found, part)
        if not callable(found):
            raise BadInput(f"{name} is a {type(found).__name__}, not an adapter class")
        return found  # type: ignore[no-any-return]
    catalogue = built_in()
    if name in catalogue:
        return catalogue[name]
    if name.endswith(".py") and _is_file(Path(name)):
        raise BadInput(f"{name} is a file, which defines {_adapters_in(_from_file(Path(name)))}: name the class too, as {name}:Class")
    like = alike(name, catalogue)
    meant = f"did you mean {like}? Else " if like is not None else ""
    raise BadInput(
        f"there is no system {name!r}: {meant}give package.module:Class, path/to/file.py:Class or a name that `fencecheck systems` lists"
    )


def built_in() -> dict[str, type[AgentSystem]]:
    """The systems and mutants that are shipped, by name."""
    found: dict[str, type[AgentSystem]] = {}
    for package in BUILT_IN:
        module = importlib.import_module(f"fencecheck.{package}")
        found |= module.ALL | getattr(module, "ON_FILES", {})
    return found


def reference(system: Any) -> str | None:
    """A name by which another process can load this same system, or None for one that was made inside a function."""
    for name, known in built_in().items():
        if known is system:
            return name
    module, qualname = getattr(system, "__module__", None), getattr(system, "__qualname__", "<")
    if module is None or "<" in qualname:
        return None
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not file.endswith(".py"):
        return None
    in_module: Any = sys.modules[module]
    for part in qualname.split("."):
        in_module = getattr(in_module, part, None)
    if in_module is not system:
        return None
    return f"{module}:{qualname}" if module != "__main__" and "." in module else f"{file}:{qualname}"


def _first(path: Path, folders: Iterable[Path]) -> Path:
    """The first file of that path from one of these folders; where there is none, from the working directory."""
    return next((folder / path for folder in folders if _is_file(folder / path)), path)


def _from_module(where: str, above: Iterable[Path] = ()) -> Any:
    if not all(part.isidentifier() for part in where.split(".")):
        raise BadInput(f"{where!r} is no name of a module: give package.module:Class, or path/to/file.py:Class")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    top = where.partition(".")[0]
    holds = next((folder for folder in above if _is_file(folder / f"{top}.py") or _is_file(folder / top / "__init__.py")), None)
    if holds is not None and top not in sys.modules and importlib.util.find_spec(top) is None:
        sys.path.insert(0, str(holds))
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name is not None and (where == error.name or where.startswith(error.name + ".")):
            raise BadInput(f"there is no module {where!r} on the import path: check the name, or give path/to/file.py:Class") from error
        raise BadInput(f"module {where!r} fails to import: {said(error)}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise BadInput(f"module {where!r} fails to import: {said(error)}") from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, or a folder that may not be looked into
        return False


def _from_file(path: Path) -> Any:
    if not _is_file(path):
        raise BadInput(f"there is no file {str(path)!r}: check the path before the colon")
    path = path.resolve()
    for known in list(sys.modules.values()):
        if getattr(known, "__file__", None) == str(path):
            return known
    name = path.stem if path.stem not in sys.modules else f"_fencecheck_{path.stem}_{abs(hash(str(path)))}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(name, None)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise BadInput(f"{path.name} fails to import: {said(error)}{_line_in(error, path)}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _line_in(error: BaseException, path: Path) -> str:
    frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f" (line {lines[-1]})" if lines else ""


def _adapters_in(module: Any) -> str:
    names = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, AgentSystem) and value is not AgentSystem
    ]
    return ", ".join(names) or f"no adapter ({name_of(AgentSystem)} subclass)"
