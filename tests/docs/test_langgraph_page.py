"""Every snippet and command of the page on LangGraph is run, in order, in one folder; what it shows is what comes out."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph is not installed: pip install 'fencecheck[langgraph]'")

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "langgraph.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXITS = {"checked.py": 1, "checked_fence.py": 0, "once.py": 0, "awaited.py": 1}


def blocks(language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(PAGE.read_text("utf-8")) if found == language]


def matches(shown: str, printed: str) -> bool:
    """Whether `printed` is what is shown, but for seconds, `...` on a line of its own standing for any lines."""
    shown, printed = (re.sub(r"\b\d+(\.\d+)? s\b", "N s", text).rstrip() for text in (shown, printed))
    pattern = "\n".join(".*" if line == "..." else re.escape(line.rstrip()) for line in shown.splitlines())
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.splitlines()), re.DOTALL) is not None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page tells to save."""
    made = tmp_path_factory.mktemp("langgraph")
    for text in blocks("python"):
        name = re.match(r"# (\S+\.py)\n", text)
        assert name is not None, f"a snippet without a file name in its first line: {text[:40]!r}"
        (made / name[1]).write_text(text, "utf-8")
    return made


@pytest.mark.parametrize("text", blocks("console"), ids=lambda text: text.partition("\n")[0])
def test_a_command_prints_what_is_shown(folder: Path, text: str) -> None:
    command, _, shown = text.partition("\n")
    words = shlex.split(command.removeprefix("$ "))
    environment = {**os.environ, "COLUMNS": "120", "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "PYTHONUTF8": "1"}
    done = subprocess.run([sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == EXITS[words[2].partition(":")[0]], done.stdout + done.stderr
    assert matches(shown, done.stdout), f"{command} prints:\n{done.stdout}\nwhere the page shows:\n{shown}"


def test_every_command_is_there() -> None:
    assert len(blocks("console")) == len(EXITS)


PRODUCTION = """
import fenced, held, shop
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from fencecheck import check

config = {"configurable": {"thread_id": "1"}}
graph = fenced.build_graph(InMemorySaver())
graph.invoke({"order": "42"}, config)
shop.ORDERS["42"] = {"version": "v2", "address": "3-1 Umeda, Osaka"}
print(graph.invoke(Command(resume=True), config)["__interrupt__"][0].value)
print(graph.invoke(Command(resume=True), config)["tracking"])
print(check(held.HeldShop, fresh_process=False, max_events=1).failures[0].code)
"""


def test_the_fenced_graph_runs_in_production_and_one_that_is_held_is_checked(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", PRODUCTION], cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == "{'ship to': '3-1 Umeda, Osaka'}\na courier goes to 3-1 Umeda, Osaka\nstale-act\n", done.stderr


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGE.read_text("utf-8")):
        assert (PAGE.parent / target).exists(), target
