"""Every snippet and command of the page on an agent whose code stays as it is is run; what it shows is what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from .snippets import Page, inside

STATUSES = {"check-adapter": 0, "check check_shop.py:Shop": 1, "check check_shop.py:FencedShop": 0, "check check_workflow.py:Workflow": 1}


def test_every_command_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("FENCECHECK_DECISIONS", raising=False)
    page = Page("docs/how-to/your-own-agent.md", tmp_path)
    assert page.modules == ["shop", "check_shop", "check_workflow"]
    assert len(page.commands()) == len(STATUSES)
    for command, (start, status) in zip(page.commands(), STATUSES.items(), strict=True):
        assert command.startswith(start)
        page.check(command, status)
    assert "secret" not in (tmp_path / "decisions.json").read_text("utf-8")
    monkeypatch.setenv("FENCECHECK_DECISIONS", "replay")  # what was recorded is all that there is
    inside(tmp_path, monkeypatch)
    page.check(next(command for command in page.commands() if "FencedShop --max-events" in command), 0)
