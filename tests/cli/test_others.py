"""`demo`, `systems`, `init`, and what starting costs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import indent

import pytest

from fencecheck import __version__, cli
from fencecheck.mutants import ALL as MUTANTS
from fencecheck.systems import ALL as SYSTEMS

from .made import HEAD, fencecheck

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


HANGS = "import time\nopen('started', 'w').close()\ntime.sleep(60)\n"


@pytest.mark.parametrize("where", ["import", "open", "run"])
def test_interrupted(where: str, tmp_path: Path) -> None:
    method = f"\n    def {where}(self):\n" + indent(HANGS, " " * 8)
    run = "" if where == "run" else "\n    def run(self):\n        pass\n"
    (tmp_path / "slow.py").write_text(HANGS if where == "import" else HEAD + run + method)
    command = [sys.executable, "-m", "fencecheck", "check", "slow.py:Naive"]
    running = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, b"", b"fencecheck: interrupted\n")
