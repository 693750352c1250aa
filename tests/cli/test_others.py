"""`demo`, `systems`, `init`, and what starting costs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fencecheck import __version__, cli
from fencecheck.mutants import ALL as MUTANTS
from fencecheck.systems import ALL as SYSTEMS

from .made import HEAD, fencecheck, sentence

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def test_demo() -> None:
    result = fencecheck("demo")
    assert result.exit_code == 0
    rows = [line.split()[:3] for line in result.stdout.splitlines() if line.startswith("  ") and line.split()[0] in SYSTEMS]
    assert rows == [
        ["planfence", "held", "-"],
        ["central", "held", "-"],
        ["direct-parents", "violated", "stale-act"],
        ["fresh-read", "violated", "stale-act"],
        ["if-match", "held", "-"],
        ["idempotency-key", "violated", "stale-act"],
    ]
    assert "made from requirement r1, current r2" in result.stdout
    assert "Each verdict is the expected one." in result.stdout


def test_demo_fails_where_a_verdict_is_not_the_expected_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.EXPECTED, "fresh-read", "held")
    result = fencecheck("demo")
    assert result.exit_code == 1
    assert "not as expected: fresh-read is violated, not held" in result.stdout


def test_systems() -> None:
    result = fencecheck("systems")
    assert result.exit_code == 0
    for name in (*SYSTEMS, *MUTANTS):
        assert re.search(rf"^  {name} +[A-Z].*\.$", result.stdout, re.M), name


def test_version() -> None:
    assert fencecheck("--version").stdout == f"fencecheck {__version__}\n"


def test_no_command_shows_the_help() -> None:
    result = fencecheck()
    assert "Usage: fencecheck" in result.output
    assert result.exit_code in (0, 2)  # 2 from click 8.2 on


def test_init_writes_what_runs_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = fencecheck("init")
    assert result.exit_code == 0
    assert result.stdout == (
        "wrote fencecheck_adapter.py\nwrote test_fencecheck_adapter.py\nnow: fencecheck check fencecheck_adapter.py:OrderAgent\n"
    )
    system = "fencecheck_adapter.py:OrderAgent"
    broken = fencecheck("check", system)
    assert broken.exit_code == 1
    assert 'ship(to="2-21 Shibuya, Tokyo")  made from address r1, current r2' in broken.stdout
    assert broken.stdout.splitlines()[0] == "OrderAgent · violated · stale-act at at-validation"
    assert "deterministic (checked, in a fresh process too)" in broken.stdout

    adapter = Path("fencecheck_adapter.py")
    text = adapter.read_text()
    assert "The fix: validate=validate" in text
    sys.modules.pop("fencecheck_adapter")
    fixed = text.replace("validate=None,", "validate=validate,")
    adapter.write_text(fixed)
    assert fencecheck("check", system).exit_code == 0
    sys.modules.pop("fencecheck_adapter")


def test_the_test_that_init_writes(tmp_path: Path) -> None:
    assert fencecheck("init", tmp_path / "new").exit_code == 0
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environment = {**ENVIRONMENT, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    broken = subprocess.run(command, cwd=tmp_path / "new", env=environment, capture_output=True, text=True, check=False)
    assert broken.returncode == 1, broken.stdout + broken.stderr
    assert "2 failed" in broken.stdout
    adapter = tmp_path / "new" / "fencecheck_adapter.py"
    adapter.write_text(adapter.read_text().replace("validate=None,", "validate=validate,"))
    fixed = subprocess.run(command, cwd=tmp_path / "new", env=environment, capture_output=True, text=True, check=False)
    assert fixed.returncode == 0, fixed.stdout + fixed.stderr


@pytest.mark.parametrize("name", ["fencecheck_adapter.py", "test_fencecheck_adapter.py"])
def test_init_overwrites_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    said = f"{tmp_path / name} is there already and is not overwritten: remove it, or name another directory"
    assert sentence("init", tmp_path) == said
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_init_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert sentence("init", tmp_path / "file").endswith("cannot be written (file exists): name a directory that can be written")


@pytest.mark.parametrize("arguments", ["--help", "--version", "check --help"])
def test_help_is_cheap(arguments: str) -> None:
    code = f"""
import sys
from fencecheck.cli import main
try:
    main({arguments.split()!r})
except SystemExit as error:
    assert error.code == 0, error.code
heavy = {{"hypothesis", "faker", "rich", "msgspec", "asyncio", "trio", "pytest"}} & {{name.partition(".")[0] for name in sys.modules}}
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=ENVIRONMENT, check=True, capture_output=True)


def test_it_runs_as_a_module_and_reports_in_the_streams_encoding() -> None:
    command = [sys.executable, "-m", "fencecheck", "check", "fresh-read", "--max-events", "1"]
    done = subprocess.run(command, cwd=ROOT, env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith(b"fresh-read - violated - stale-act at at-validation\n")
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout


def test_interrupted(tmp_path: Path) -> None:
    slow = HEAD + "\n    def run(self):\n        import time\n        open('started', 'w').close()\n        time.sleep(60)\n"
    (tmp_path / "slow.py").write_text(slow)
    command = [sys.executable, "-m", "fencecheck", "check", "slow.py:Naive"]
    running = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, b"", b"fencecheck: interrupted\n")
