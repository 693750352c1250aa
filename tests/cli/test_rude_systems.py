"""Systems that end the process, fork it, go elsewhere, print rubbish or cannot be looked at: none decides the exit status or harms the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .made import HEAD, NAIVE, RUN, fencecheck, sentence


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def first(statement: str) -> str:
    """The text of a module whose `run` does something first."""
    return HEAD + RUN.replace("    def run(self):\n", f"    def run(self):\n        import os, sys\n        {statement}\n")


def alone(command: str, text: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own."""
    Path("rude.py").write_text(text)
    whole = [sys.executable, "-m", "fencecheck", command, "rude.py:Naive", *arguments]
    return subprocess.run(whole, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)


@pytest.mark.parametrize("command", ["check", "check-adapter"])
@pytest.mark.parametrize("text", [first("os._exit(0)"), "import os\nos._exit(0)\n"], ids=["in run", "at import"])
def test_a_system_that_ends_the_process_is_no_pass(command: str, text: str) -> None:
    done = alone(command, text)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        "fencecheck: the system under test called os._exit(0), and nothing can be judged after that: take it out, or raise an exception\n"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_child_that_a_system_forks_does_not_go_on_with_the_search() -> None:
    """Each would fork in its turn, in each of its episodes; there are few here."""
    done = alone("check", first("os.fork() and open('forked', 'a').write('.')"), "--max-events", "0")
    alone("check", first("open('alone', 'a').write('.')"), "--max-events", "0")
    assert (done.returncode, done.stdout.decode().count("Naive · ")) == (3, 1)
    assert Path("forked").stat().st_size == Path("alone").stat().st_size > 0


def test_a_child_that_a_system_forks_may_end_as_it_likes() -> None:
    done = alone("check", first("os.fork() or os._exit(0)"), "--max-events", "1", "--kinds", "update")
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("where", ["in run", "at import"])
def test_what_a_system_prints_need_be_no_text(where: str) -> None:
    rubbish = r"sys.stdout.buffer.write(b'\xff\xfe\x00'); sys.stdout.flush(); sys.stderr.buffer.write(b'\xff'); sys.stderr.flush()"
    done = alone(
        "check", first(rubbish) if where == "in run" else f"import sys\n{rubbish}\n{NAIVE}", "--max-events", "1", "--kinds", "update"
    )
    assert done.returncode == 1
    assert "Naive · violated" in done.stdout.decode(errors="replace")


def test_a_system_that_goes_elsewhere_takes_no_files_there(tmp_path: Path) -> None:
    Path("elsewhere").mkdir()
    Path("rude.py").write_text(first("os.path.isdir('elsewhere') and os.chdir('elsewhere')"))
    fencecheck("check", "rude.py:Naive", "--max-events", "1", "--kinds", "update", "--save", "cases", "--json", "out.json")
    assert (Path.cwd(), [*Path("elsewhere").iterdir()]) == (tmp_path, [])
    assert Path("cases").is_dir()
    assert Path("out.json").is_file()


@pytest.mark.parametrize(
    "rude",
    [
        "runtime = property(lambda self: 1 / 0)",
        "publish = property(lambda self: 1 / 0)",
        "scenario = property(lambda self: 1 / 0)",
        "max_points = property(lambda self: 1 / 0)",
        "def __getattr__(self, name): return 1 / 0",
    ],
)
def test_an_attribute_that_cannot_be_looked_at(rude: str) -> None:
    Path("rude.py").write_text(f"{NAIVE}\n    {rude}\n")
    said = sentence("check", "rude.py:Naive")
    assert said.startswith("Naive cannot be looked at: ZeroDivisionError: division by zero (rude.py:")
    assert said.endswith("): let its attributes be plain, and set up in setup()")


def test_a_name_that_is_no_text_is_none() -> None:
    Path("rude.py").write_text(f"{NAIVE}\n    name = property(lambda self: 'mine')\n")
    assert fencecheck("check", "rude.py:Naive", "--max-events", "0").stdout.startswith("Naive · ")


def test_an_exception_of_a_megabyte_is_a_sentence_everywhere() -> None:
    Path("rude.py").write_text(first("raise ValueError('x' * 1_000_000)"))
    assert len(sentence("check", "rude.py:Naive")) < 2_100
    assert len(fencecheck("check-adapter", "rude.py:Naive").stdout) < 3_000
