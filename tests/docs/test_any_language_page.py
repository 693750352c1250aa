"""Every snippet and command of the page is run; what it shows is what comes out."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencecheck.integrations.http.ports import PORTS, ROUTES
from tests.curl import carried_out
from tests.test_readme import BLOCK, matches

ROOT = Path(__file__).parents[2]
PATH = ROOT / "docs" / "how-to" / "any-language.md"
PAGE = PATH.read_text("utf-8")
WRITTEN = "127.0.0.1:8765"
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def blocks(*languages: str) -> list[tuple[str, str]]:
    return [(language, text) for language, text in BLOCK.findall(PAGE) if language in languages]


def environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "120", "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "PYTHONUTF8": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page tells to save."""
    made = tmp_path_factory.mktemp("any-language")
    for _, text in blocks("python", "js"):
        name = re.match(r"(?:#|//) (\S+)\n", text)
        assert name is not None, f"a snippet without a file name in its first line: {text[:40]!r}"
        (made / name[1]).write_text(text, "utf-8")
    return made


@pytest.mark.parametrize(("number", "status"), [(0, 1), (1, 0)])
def test_a_check_prints_what_is_shown(folder: Path, number: int, status: int) -> None:
    command, _, shown = blocks("console")[number][1].partition("\n")
    words = [sys.executable, "-m", *shlex.split(command.removeprefix("$ "))]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (status, "")
    assert matches(shown, done.stdout), f"{command} prints:\n{done.stdout}\nwhere the page shows:\n{shown}"


def test_each_command_line_is_shown_once() -> None:
    assert len(blocks("console")) == 2


@pytest.fixture
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """The service that the page tells to start, at a free port: the command, and where it listens."""
    command = blocks("sh")[0][1].strip()
    words = shlex.split(command.replace("--port 8765", "--port 0"))
    running = subprocess.Popen(
        [sys.executable, "-u", "-m", *words], cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert running.stdout is not None
    found = re.search(r"http://(\S+?)/", running.stdout.readline())
    assert found is not None
    yield command, found[1]
    running.kill()
    running.communicate()


def test_what_is_asked_of_the_service_is_answered_as_shown(served: tuple[str, str]) -> None:
    answered = None
    shown = blocks("sh", "json")[1:]
    for language, text in shown:
        if language == "json":
            assert answered == json.loads(text)
            continue
        for line in text.strip().splitlines():
            answer = carried_out(line.replace(WRITTEN, served[1]))
            answered = answer.json() if answer.content else None
    assert [language for language, _ in shown] == ["sh", "json"] * 3


def test_each_request_stands_in_the_table() -> None:
    rows = dict(re.findall(r"^\| `((?:GET|HEAD|PUT|POST) \S+?)`[^|]*\| (.*?) \|", PAGE, re.MULTILINE))
    assert len(rows) == len(ROUTES) == len(PORTS)
    asked = {f"{method} {path.partition('/')[0]}" for method, path, _ in ROUTES}
    assert {re.sub(r"/(KEY|ID|NAME)$", "", request) for request in rows} == asked


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGE):
        assert (PATH.parent / target).exists(), target
