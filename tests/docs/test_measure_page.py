"""Every command and snippet of the page on measuring is run; what it shows is what comes out."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .snippets import ROOT, Page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Page("docs/how-to/measure.md", tmp_path_factory.mktemp("measure"))


def test_the_commands_print_what_is_shown(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(page.folder)
    commands = list(page.commands())
    assert len(commands) == 4
    for command in commands:
        page.check(command, 0)
    assert (page.folder / "campaign.sqlite").stat().st_size > 100_000
    assert (page.folder / "rates.svg").read_text("utf-8").startswith("<?xml")
    assert (page.folder / "rates.csv").read_text("utf-8").startswith("system,p,episodes")


def test_the_snippet_runs_on_several_processes(page: Page) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "many_machines.py"], cwd=page.folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line.split("(")[0] for line in done.stdout.splitlines()] == ["central 0 of 300 ", "planfence 0 of 300 "]
