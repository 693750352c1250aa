"""`fencecheck init`: what it writes for each framework runs at once, fails in the way that it says, and holds once that is put right."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
import yaml

from fencecheck.report import starter

from .made import fencecheck, sentence

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    **os.environ,
    "COLUMNS": "120",
    "PYTHONPATH": str(ROOT),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
STARTERS = starter.starters()
WORKFLOW = Path(".github/workflows/fencecheck.yml")


RUNNABLE = [name for name, kind in STARTERS.items() if all(map(starter.is_there, kind.imports))]
LOOK = """
import json, os, pathlib, sys
from fencecheck import check
from fencecheck.conformance import problems
from fencecheck.run.loading import load

def look():
    report = check(load(sys.argv[1]), max_events=1, kinds=["update"], fresh_process=False)
    print(report.verdict, *(f"{failure.code} {len(failure.interleaving.events)}" for failure in report.failures))

look()
print(*problems(load(sys.argv[1]), fresh_process=False))
for change in json.loads(sys.argv[2]):
    path = pathlib.Path(change["file"])
    path.write_text(path.read_text("utf-8").replace(change["replace"], change["by"]), "utf-8")
for name, module in list(sys.modules.items()):
    if (getattr(module, "__file__", None) or "").startswith(os.getcwd()):
        del sys.modules[name]
look()
"""
"""What a person finds out in three commands, in one process, since a framework takes long to import."""


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter in that folder, as a person would run one."""
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def mend(folder: Path, name: str) -> None:
    """Does what the advice says."""
    for change in STARTERS[name].mend:
        path = folder / change.file
        text = path.read_text("utf-8")
        assert text.count(change.replace) == 1, f"{name}: {change.replace!r} is not in {change.file} exactly once"
        path.write_text(text.replace(change.replace, change.by), "utf-8")


@pytest.mark.parametrize("name", RUNNABLE)
def test_what_is_written_is_violated_as_it_says_and_holds_once_mended(name: str, tmp_path: Path) -> None:
    """And nothing is wrong with the adapter."""
    kind = STARTERS[name]
    written = fencecheck("init", tmp_path, "--framework", name)
    assert written.exit_code == 0, written.output
    most = "" if kind.most is None else f" --max-events {kind.most}"
    assert written.stdout.splitlines()[-2:] == [
        f"now: fencecheck check {tmp_path / 'fencecheck_adapter.py'}:{kind.system}{most}",
        f"it is violated; to make it hold, {kind.advice}",
    ]
    system = f"fencecheck_adapter.py:{kind.system}"
    looked = python(tmp_path, "-c", LOOK, system, msgspec.json.encode(kind.mend).decode())
    assert looked.stdout == "violated stale-act 1\n\nheld\n", looked.stdout + looked.stderr
    for change in kind.mend:
        assert change.by in (tmp_path / change.file).read_text("utf-8")


def test_each_framework_that_has_its_integration_is_tested() -> None:
    for name, kind in STARTERS.items():
        own = [module for module in kind.imports if module.startswith("fencecheck.")]
        assert name in RUNNABLE or not all(map(starter.is_there, own)), f"{name}: install fencecheck[{kind.extra}]"


def test_in_two_commands(tmp_path: Path) -> None:
    assert fencecheck("init", tmp_path).exit_code == 0
    broken = python(tmp_path, "-m", "fencecheck", "check", "fencecheck_adapter.py:OrderAgent")
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert broken.stdout.splitlines()[0] == "OrderAgent · violated · stale-act at at-validation"
    assert 'ship(to="2-21 Shibuya, Tokyo")  made from address r1, current r2' in broken.stdout
    assert "deterministic (checked, in a fresh process too)" in broken.stdout


def test_the_test_that_it_writes_fails_and_passes_alike(tmp_path: Path) -> None:
    assert fencecheck("init", tmp_path).exit_code == 0
    broken = python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "exhaust or test_adapter")
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert "1 failed, 1 passed, 1 deselected" in broken.stdout
    mend(tmp_path, "plain")
    fixed = python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "exhaust or test_adapter")
    assert fixed.returncode == 0, fixed.stdout + fixed.stderr


@pytest.mark.parametrize("name", RUNNABLE)
def test_what_is_written_says_all_that_is_to_be_said(name: str, tmp_path: Path) -> None:
    assert fencecheck("init", tmp_path, "--framework", name).exit_code == 0
    for path in tmp_path.rglob("*"):
        if path.is_file():
            text = path.read_text("utf-8")
            assert "@SYSTEM@" not in text
            assert not any(mark in text for mark in ("@ADVICE@", "@SNAKE@", "@EXTRAS@", "@FOLDER@", "@SUITE@", "@CHECK@")), path
    code = "".join(path.read_text("utf-8") for path in tmp_path.glob("*.py"))
    assert "the mistake: " in code.lower()
    assert "The fix: " in code


@pytest.mark.parametrize("name", STARTERS)
def test_each_extra_is_one_that_the_package_has(name: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    kind = STARTERS[name]
    assert not kind.extra or kind.imports
    assert not kind.extra or kind.extra in extras


# -- the workflow ----------------------------------------------------------------------------------------------------------------------


def test_the_workflow_runs_what_was_written(tmp_path: Path) -> None:
    assert fencecheck("init", tmp_path).exit_code == 0
    text = (tmp_path / WORKFLOW).read_text("utf-8")
    job = yaml.safe_load(text)["jobs"]["fencecheck"]
    assert job["defaults"] == {"run": {"working-directory": "."}}
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands[:4] == [
        "pip install 'fencecheck[pytest]'",
        "fencecheck check-adapter fencecheck_adapter.py:OrderAgent",
        "fencecheck check fencecheck_adapter.py:OrderAgent --save fencecheck-cases --json fencecheck.json",
        "pytest",
    ]
    actions = [step["uses"] for step in job["steps"] if "uses" in step]
    assert actions
    assert all(action.startswith("actions/") and action.rpartition("@v")[2].isdigit() for action in actions)
    assert "http" not in text


def test_each_command_of_the_workflow_is_one(tmp_path: Path) -> None:
    """As far as its options go: a directory in which nothing is found is all that can be wrong with it."""
    assert fencecheck("init", tmp_path).exit_code == 0
    job = yaml.safe_load((tmp_path / WORKFLOW).read_text("utf-8"))["jobs"]["fencecheck"]
    commands = [step["run"].split() for step in job["steps"] if step.get("run", "").startswith("fencecheck ")]
    assert len(commands) == 3
    for command in commands:
        arguments = [str(tmp_path / "gone.py:OrderAgent") if ".py:" in word else word for word in command[1:]]
        assert sentence(*arguments).startswith("there is no file ")


def test_in_a_repository_it_lies_at_the_top_and_runs_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "services").mkdir()
    monkeypatch.chdir(tmp_path / "services")
    result = fencecheck("init", "orders")
    assert result.stdout.splitlines()[:4] == [
        "wrote orders/fencecheck_adapter.py",
        "wrote orders/test_fencecheck_adapter.py",
        "wrote ../.github/workflows/fencecheck.yml",
        "now: fencecheck check orders/fencecheck_adapter.py:OrderAgent",
    ]
    job = yaml.safe_load((tmp_path / WORKFLOW).read_text("utf-8"))["jobs"]["fencecheck"]
    assert job["defaults"] == {"run": {"working-directory": "services/orders"}}


def test_a_workflow_that_is_there_already_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / WORKFLOW).parent.mkdir(parents=True)
    (tmp_path / WORKFLOW).write_text("mine")
    assert f"left {tmp_path / WORKFLOW} as it is: add the new adapter to it\n" in fencecheck("init", tmp_path).stdout
    assert (tmp_path / WORKFLOW).read_text() == "mine"


# -- mistakes --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fencecheck_adapter.py", "test_fencecheck_adapter.py"])
def test_it_overwrites_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    assert sentence("init", tmp_path) == f"{tmp_path / name} is there already and is not overwritten: remove it, or name another directory"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert sentence("init", tmp_path / "file").endswith("cannot be written (file exists): name a directory that can be written")


def test_a_framework_that_there_is_not(tmp_path: Path) -> None:
    known = ", ".join(STARTERS)
    assert sentence("init", tmp_path, "--framework", "own_stor") == (
        f"there is no framework 'own_stor': did you mean own-store? Else it is one of {known}"
    )
    assert sentence("init", tmp_path, "--framework", "zz") == f"there is no framework 'zz': it is one of {known}"
    assert list(tmp_path.iterdir()) == []


def test_an_extra_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = starter.Starter("", 9, "Agent", "", [], extra="trio", imports=["trio", "no_such_module.of_it"])
    monkeypatch.setattr(starter, "starters", lambda: {"sails": needs})
    assert sentence("init", tmp_path, "--framework", "sails") == (
        "--framework sails needs no_such_module.of_it, which is not installed: pip install 'fencecheck[trio]'"
    )
    assert list(tmp_path.iterdir()) == []


def test_the_frameworks_are_listed(tmp_path: Path) -> None:
    lines = fencecheck("init", tmp_path, "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(STARTERS)
    assert lines[0] == "  plain           three plain functions: plan, validate, act"
    assert list(tmp_path.iterdir()) == []
