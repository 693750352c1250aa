"""A reader of standard output that has gone changes neither the exit status nor what is written to files. A full disk is said, at the end."""

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


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["systems"], ["init", "new"], ["check", "fresh-read", "--max-events", "1", "--json", "found.json"]])
def test_standard_output_on_a_full_disk(arguments: list[str], tmp_path: Path) -> None:
    with FULL.open("w") as full:
        command = [sys.executable, "-m", "fencecheck", *arguments]
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = "fencecheck: standard output cannot be written (no space left on device): send it elsewhere, or use --json FILE\n"
    assert (done.returncode, done.stderr) == (2, said)
    assert arguments[0] != "check" or json.loads((tmp_path / "found.json").read_text())["systems"][0]["verdict"] == "violated"


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("system", "status"), [("nothing", 2), ("fresh-read", 1), ("planfence", 0)])
def test_standard_error_that_cannot_be_written_leaves_the_status(system: str, status: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fencecheck", "check", system, "--max-events", "1"]
    with FULL.open("w") as full:
        done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=full, check=False)
    assert done.returncode == status
    program = "import sys; sys.stderr = None; from fencecheck.cli import main; main(sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", program, *command[3:]], cwd=tmp_path, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == status


@pytest.mark.skipif(sys.platform == "win32", reason="a working directory cannot be removed there")
def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    program = "import os, sys; from fencecheck.cli import main; os.rmdir(os.getcwd()); main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "check", "agent.py:Agent"]
    done = subprocess.run(command, cwd=tmp_path / "gone", stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "fencecheck: the working directory is gone: change into one that exists\n")
