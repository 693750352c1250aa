"""Every snippet and command of the page on files is run, in order, in one folder; what it shows is what comes out."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fencecheck.integrations.files import HOWS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "files.md"
TEXT = PAGE.read_text("utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXITS = {"editor.py:MyEditor": 1, "hashing.py:HashingEditor": 0}


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(TEXT) if found == language]


def matches(shown: str, printed: str) -> bool:
    """Whether `printed` is what is shown, but for seconds, `...` on a line of its own standing for any lines."""
    shown, printed = (re.sub(r"\b\d+(\.\d+)? s\b", "N s", text).rstrip() for text in (shown, printed))
    pattern = "\n".join(".*" if line == "..." else re.escape(line.rstrip()) for line in shown.splitlines())
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.splitlines()), re.DOTALL) is not None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page tells to save."""
    made = tmp_path_factory.mktemp("files")
    for text in blocks("python"):
        name = re.match(r"# (\S+\.py)\n", text)
        assert name is not None, f"a snippet without a file name in its first line: {text[:40]!r}"
        (made / name[1]).write_text(text, "utf-8")
    return made


@pytest.mark.parametrize("text", blocks("console"), ids=lambda text: text.partition("\n")[0])
def test_a_command_prints_what_is_shown(folder: Path, text: str) -> None:
    command, _, shown = text.partition("\n")
    words = shlex.split(command.removeprefix("$ "))
    environment = {**os.environ, "COLUMNS": "120", "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "PYTHONUTF8": "1", "TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == EXITS[words[2]], done.stdout + done.stderr
    assert matches(shown, done.stdout), f"{command} prints:\n{done.stdout}\nwhere the page shows:\n{shown}"
    assert not list(folder.glob("fencecheck-files-*"))


def test_the_table_has_each_way_in_which_a_file_changes() -> None:
    rows = {how for row in re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE) for how in re.findall(r"`(.*?)`", row)}
    assert rows == {"fresh", "earlier", "removed", *HOWS}


def test_every_command_is_there() -> None:
    assert len(blocks("console")) == len(EXITS)
