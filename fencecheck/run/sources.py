"""What a system's code is: its source file, and those of its project that it imports.

Episodes that are stored are those of one version of it. Function bodies are not searched for imports: whether what they name is loaded yet
depends on what has run before. What is installed, and fencecheck itself, has versions of its own.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

_INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")
_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def digest_of(system: Any) -> str:
    """A digest of those source files, whatever folder they lie in; nothing for a system that comes from no file."""
    own = sys.modules.get(getattr(system, "__module__", ""))
    others = _others()
    found: dict[Path, str] = {}
    waiting = [own]
    while waiting:
        module = waiting.pop()
        path = _file_of(module)
        if module is None or path is None or path in found or (module is not own and any(path.is_relative_to(folder) for folder in others)):
            continue
        source = path.read_bytes()
        found[path] = hashlib.sha256(source).hexdigest()
        waiting += [sys.modules.get(name) for name in _imported(source, module)]
    return hashlib.sha256("".join(sorted(found.values())).encode()).hexdigest() if found else ""


def _others() -> list[Path]:
    """Folders of code that is not the project's."""
    folders = {sysconfig.get_path(name) for name in _INSTALLED}
    return [*(Path(folder).resolve() for folder in folders if folder), Path(__file__).resolve().parents[1]]


def _file_of(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    path = Path(file).resolve()
    return path if path.is_file() else None


def _imported(source: bytes, module: ModuleType) -> Iterator[str]:
    """Names that may be those of modules which a module had imported once it was loaded."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):  # changed since it was loaded
        return
    for node in _at_once(body):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_packages(alias.name)
        elif isinstance(node, ast.ImportFrom):
            package = (module.__package__ or "").split(".")
            above = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            where = ".".join(part for part in (above, node.module) if part)
            yield from _with_packages(where)
            yield from (f"{where}.{alias.name}" for alias in node.names)


def _at_once(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The statements that run when a module is loaded."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif not isinstance(node, _LATER):
            waiting += ast.iter_child_nodes(node)


def _with_packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count])
