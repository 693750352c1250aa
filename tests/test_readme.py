"""Every snippet and command of the README is run, in order, in one folder; what it shows is what comes out."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(README) if found == language]


def settled(text: str) -> str:
    """Without what differs between two runs: seconds, and the hash in the name of a case."""
    text = re.sub(r"\b\d+(\.\d+)? s\b", "N s", text)
    return re.sub(r"[-_][0-9a-f]{6}\b", "-HASH", text).rstrip()


def matches(shown: str, printed: str) -> bool:
    """Whether `printed` is what is shown, `...` on a line of its own standing for any lines."""
    pattern = "\n".join(".*" if line == "..." else re.escape(line.rstrip()) for line in settled(shown).splitlines())
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in settled(printed).splitlines()), re.DOTALL) is not None


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command.replace("cases/CASE", str(next(folder.glob("cases/*.json"), "none"))))
    words = [sys.executable, "-m", *words]
    environment = {
        **os.environ,
        "COLUMNS": "120",
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(folder))),
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the README tells to save."""
    made = tmp_path_factory.mktemp("readme")
    for text in blocks("python"):
        name = re.match(r"# (\S+\.py)\n", text)
        assert name is not None, f"a snippet without a file name in its first line: {text[:40]!r}"
        (made / name[1]).write_text(text, "utf-8")
    return made


def test_every_command_prints_what_is_shown(folder: Path) -> None:
    exits = {
        "check delivery": 1,
        "check fenced": 0,
        "check own_store": 0,
        "check two-executors": 1,
        "check-adapter shop": 0,
        "compare": 0,
        "demo": 0,
        "replay cases/CASE --system": 0,
        "replay cases/CASE": 1,
    }
    commands = blocks("console")
    assert len(commands) == 9
    for text in commands:
        command, _, shown = text.partition("\n")
        done = run(command.removeprefix("$ "), folder)
        expected = next(status for start, status in exits.items() if command.removeprefix("$ fencecheck ").startswith(start))
        assert done.returncode == expected, f"{command}: {done.stdout}{done.stderr}"
        assert matches(shown, done.stdout), f"{command} prints:\n{done.stdout}\nwhere the README shows:\n{shown}"


@pytest.mark.parametrize("adapter", ["delivery:DeliveryAgent", "fenced:FencedAgent", "own_store:OrderAgent"])
def test_nothing_is_wrong_with_its_adapters(folder: Path, adapter: str) -> None:
    done = run(f"fencecheck check-adapter {adapter}", folder)
    assert (done.returncode, done.stdout) == (0, f"{adapter.partition(':')[2]}: nothing is wrong with the adapter\n")


def test_the_test_file_passes(folder: Path) -> None:
    done = run("pytest -q -p no:cacheprovider test_delivery.py", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_the_suite_runs_without_a_test_file(folder: Path) -> None:
    done = run("pytest -q -p no:cacheprovider --ignore=cases --fencecheck-system fenced:FencedAgent", folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_saved_test_fails_before_the_fix(folder: Path) -> None:
    saved = next(folder.glob("cases/test_*.py"), None)
    if saved is None:
        run("fencecheck check delivery.py:DeliveryAgent --save cases", folder)
        saved = next(folder.glob("cases/test_*.py"))
    assert run(f"pytest -q -p no:cacheprovider {shlex.quote(str(saved))}", folder).returncode == 1


def test_the_set_up_commands_are_two_lines_that_install_this_project() -> None:
    commands = [text.strip() for text in blocks("sh")]
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv && .venv/bin/pip install") for command in commands)
    assert "demo" in commands[0]
    assert "pytest" in commands[1]


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
