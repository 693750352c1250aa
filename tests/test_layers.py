"""The rules of the house: which room may import which, what a bare import costs, what is banned, and how long things get."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "fencecheck"
VALUES = {"errors", "model", "interleaving", "history"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "model": {"errors"},
    "interleaving": {"errors", "model"},
    "history": {"errors", "model", "interleaving"},
    "faults": {"run"},
    "decisions": {"run"},
    "conformance": {"search"},
    "codec": VALUES,
    "worlds": VALUES,
    "fence": set(),
    "judge": VALUES,
    "run": VALUES | {"worlds", "strategies", "systems", "mutants"},
    "integrations": VALUES | {"fence", "run", "faults"},
    "systems": VALUES | {"fence", "run", "integrations"},
    "mutants": VALUES | {"fence", "run", "systems"},
    "measure": VALUES | {"codec", "judge", "run", "search", "worlds"},
    "search": VALUES | {"judge", "run", "codec", "worlds", "strategies"},
    "strategies": VALUES | {"worlds", "run"},
    "report": VALUES | {"judge", "search", "measure", "codec"},
}
"""Room to the rooms that it may import: the table of ARCHITECTURE.md. Rooms that are not listed may import everything."""

LATE = {
    ("run", "worlds"),
    ("run", "strategies"),
    ("run", "systems"),
    ("run", "mutants"),
    ("search", "strategies"),
    ("search", "worlds"),
    ("measure", "worlds"),
}
"""Imports that may stand only inside a function: what is looked up by name, or is heavy."""

HEAVY = {
    "hypothesis": {"strategies", "search/explore.py"},
    "asyncio": {"run", "fence", "mutants", "integrations"},
    "trio": {"run", "fence"},
    "rich": {"report", "cli"},
    "scipy": {"measure"},
    "matplotlib": {"report"},
}
"""Packages that only some rooms or files may import."""


def sources() -> list[Path]:
    inside = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "strategies"]
    return sorted([*inside, *(ROOT / "strategies").glob("*.py")])


def room(path: Path) -> str:
    if path.is_relative_to(ROOT / "strategies"):
        return "strategies"
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> list[tuple[str, bool]]:
    """Modules that a file imports, each with whether the import stands inside a function (or is for type checkers only)."""
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, late: bool) -> None:
        for child in ast.iter_child_nodes(node):
            inside = late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if isinstance(child, ast.Import):
                found.extend((alias.name, late) for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.module and child.level == 0:
                found.append((child.module, late))
                if child.module == "fencecheck":
                    found.extend((f"fencecheck.{alias.name}", late) for alias in child.names)
            visit(child, inside)

    visit(ast.parse(path.read_text("utf-8")), False)
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    here = room(path)
    if here in {"__init__", "__main__", "cli", "cli_measure", "cli_dependencies", "pytest", "suite"}:
        return  # what a person calls may import everything
    assert here in MAY_IMPORT, f"{here} is not in the table: add it to MAY_IMPORT and ARCHITECTURE.md"
    for module, late in imports(path):
        if not module.startswith("fencecheck."):
            continue
        there = module.split(".")[1]
        if there.startswith("__") or there == here:
            continue
        assert there in MAY_IMPORT[here], f"{path.name} imports {module}: {here}/ may import only {sorted(MAY_IMPORT[here])}"
        assert late or (here, there) not in LATE or path.name == "explore.py", (
            f"{path.name}: import {module} inside the function that needs it"
        )


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_heavy_packages_stay_in_their_rooms(path: Path) -> None:
    where = room(path)
    for module, _ in imports(path):
        allowed = HEAVY.get(module.split(".")[0])
        if allowed is None:
            continue
        inside = where in allowed or any(str(path).endswith(name) for name in allowed)
        assert inside, f"{path.name} imports {module}, which only {sorted(allowed)} may"


BANNED = {
    ("time", "time"),
    ("random", "random"),
    ("random", "choice"),
    ("random", "shuffle"),
    ("random", "seed"),
    ("gc", "collect"),
    ("copy", "deepcopy"),
}


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_banned_calls(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            call = (node.func.value.id, node.func.attr)
            assert call not in BANNED, (
                f"{path.name}:{node.lineno} calls {'.'.join(call)}: use time.perf_counter, a random.Random of your own, or nothing"
            )


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_and_functions_stay_readable(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.count("\n") <= 500, f"{path.name} is longer than 500 lines: split it by what its parts do"
    assert_short(path)


@pytest.mark.parametrize("folder", ["benchmarks", "examples", "tests"])
def test_functions_stay_readable_in(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        assert_short(path)


def assert_short(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno
            assert length <= 60, f"{path.name}: {node.name} is longer than 60 lines: it must fit on a screen"


def test_every_subpackage_is_listed_for_the_wheel() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"])
    inits = [*PACKAGE.glob("*/__init__.py"), *PACKAGE.glob("*/*/__init__.py")]
    found = {"fencecheck", *(".".join(("fencecheck", *init.parent.relative_to(PACKAGE).parts)) for init in inits)}
    assert listed == found


def test_strategies_is_a_symlink_to_the_top_level_folder() -> None:
    assert (PACKAGE / "strategies").is_symlink()
    assert os.readlink(PACKAGE / "strategies") == "../strategies"


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.split(".")[0] for name in done.stdout.split()}


def test_a_bare_import_loads_nothing_heavy() -> None:
    assert not loaded_by("import fencecheck") & {"hypothesis", "msgspec", "faker", "rich", "click", "asyncio", "trio", "scipy"}


def test_an_adapter_loads_neither_hypothesis_nor_faker_nor_terminal() -> None:
    assert not loaded_by("from fencecheck import AgentSystem, Scenario, Action, Update") & {"hypothesis", "faker", "rich", "click", "trio"}


def test_every_public_name_resolves() -> None:
    import fencecheck

    for name in (*fencecheck._WHERE, *fencecheck._MODULES):
        assert getattr(fencecheck, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        fencecheck.nothing  # noqa: B018
