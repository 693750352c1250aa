"""The snippets of a page: its files are written to a folder, its commands run there, and what they print is what the page shows."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fencecheck.cli import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Page:
    """A page of the documentation, in a folder of its own.

    Args:
        path: of the page, from the root of the project.
        folder: where its files are put.
    """

    def __init__(self, path: str, folder: Path) -> None:
        self.path, self.folder = ROOT / path, folder
        self.text = self.path.read_text("utf-8")
        self.modules: list[str] = []
        for text in self.blocks("python"):
            name = re.match(r"# (\S+)\.py\n", text)
            assert name is not None, f"a snippet without a file name in its first line: {text[:40]!r}"
            (folder / f"{name[1]}.py").write_text(text, "utf-8")
            self.modules.append(name[1])
            sys.modules.pop(name[1], None)  # of a page before this one

    def blocks(self, language: str) -> list[str]:
        return [text for found, text in BLOCK.findall(self.text) if found == language]

    def commands(self) -> dict[str, str]:
        """Each command and what the page shows of its output."""
        pairs = (text.partition("\n")[::2] for text in self.blocks("console"))
        return {command.removeprefix("$ fencecheck "): shown for command, shown in pairs}

    def check(self, command: str, status: int) -> None:
        """Runs a command of the page in its folder."""
        done = CliRunner().invoke(main, shlex.split(command), env={"NO_COLOR": "1"})
        assert done.exit_code == status, done.output
        assert matches(self.commands()[command], done.output), f"{command} prints:\n{done.output}"

    def links(self) -> list[Path]:
        return [self.path.parent / target for target in re.findall(r"\]\(([^)#:]+)\)", self.text)]


def matches(shown: str, printed: str) -> bool:
    """Whether `printed` is what is shown, `...` on a line of its own standing for any lines, and any spaces for spaces."""
    lines = [" ".join(line.split()) for line in shown.rstrip().splitlines()]
    pattern = "\n".join(".*" if line == "..." else re.escape(line) for line in lines)
    return re.fullmatch(pattern, "\n".join(" ".join(line.split()) for line in printed.rstrip().splitlines()), re.DOTALL) is not None


def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the end of the test imports are looked for in the folder too, and commands run there."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
