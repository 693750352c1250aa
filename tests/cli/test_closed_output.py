"""A reader of standard output that has gone changes neither the exit status nor what is written to files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def run_unread(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """The command line with a pipe for standard output whose other end is closed before anything is printed."""
    program = (
        "import os, sys\nread, write = os.pipe()\nos.close(read)\nos.dup2(write, 1)\nfrom fencecheck.cli import main\nmain(sys.argv[1:])\n"
    )
    return subprocess.run([sys.executable, "-c", program, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, check=False)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["systems"], 0), (["check", "planfence", "--max-events", "1"], 0), (["check", "fresh-read", "--max-events", "1"], 1)],
)
def test_the_status_is_that_of_the_verdict(arguments: list[str], status: int, tmp_path: Path) -> None:
    done = run_unread(tmp_path, *arguments)
    assert (done.returncode, done.stderr) == (status, b"")


def test_later_systems_are_checked_and_the_results_written(tmp_path: Path) -> None:
    done = run_unread(tmp_path, "check", "planfence", "fresh-read", "--max-events", "1", "--json", "found.json", "--save", "cases")
    assert done.returncode == 1
    found = json.loads((tmp_path / "found.json").read_text())
    assert [system["verdict"] for system in found["systems"]] == ["held", "violated"]
    assert len(list((tmp_path / "cases").glob("*.json"))) == 1


def test_standard_output_that_is_closed(tmp_path: Path) -> None:
    program = "import sys; sys.stdout = None; from fencecheck.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "check", "planfence", "--max-events", "1"]
    done = subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
