"""Every snippet and command of the page about a store of one's own is run; what it shows is what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("aiosqlite", reason="aiosqlite is not installed: pip install aiosqlite")

from .snippets import Page, inside


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    inside(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")
    return Page("docs/how-to/own-store.md", tmp_path)


def test_every_command_prints_what_is_shown(page: Page) -> None:
    naive, fenced = page.commands()
    page.check(naive, 1)
    page.check(fenced, 0)


def test_no_snippet_is_left_out_and_links_lead_somewhere(page: Page) -> None:
    assert page.modules == ["rooms", "booking", "check_booking"]
    assert [text.strip() for text in page.blocks("sh")] == ["pip install fencecheck aiosqlite"]
    assert page.links()
    assert all(link.exists() for link in page.links())
