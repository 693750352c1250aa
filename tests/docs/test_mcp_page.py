"""Every snippet and command of the page about MCP is run; what it shows is what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="mcp is not installed: pip install 'fencecheck[mcp]'")

from .snippets import Page, inside


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    inside(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")
    return Page("docs/how-to/mcp.md", tmp_path)


def test_every_command_prints_what_is_shown(page: Page) -> None:
    naive, fenced = page.commands()
    page.check(naive, 1)
    page.check(fenced, 0)


def test_no_snippet_is_left_out_and_links_lead_somewhere(page: Page) -> None:
    assert page.modules == ["clinic", "booking", "check_booking"]
    assert [text.strip() for text in page.blocks("sh")] == ["pip install 'fencecheck[mcp]'"]
    assert page.links()
    assert all(link.exists() for link in page.links() if not str(link).startswith("https"))
