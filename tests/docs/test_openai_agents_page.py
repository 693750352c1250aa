"""Every snippet and command of the page about the OpenAI Agents SDK is run; what it shows is what comes out."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed: pip install 'fencecheck[openai-agents]'")

from .snippets import Page, inside


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    inside(tmp_path, monkeypatch)
    return Page("docs/how-to/openai-agents.md", tmp_path)


def test_every_command_prints_what_is_shown(page: Page) -> None:
    naive, fenced = page.commands()
    page.check(naive, 1)
    page.check(fenced, 0)


def test_the_fence_works_without_a_kit(page: Page) -> None:
    runpy.run_path(str(page.folder / "production.py"))


def test_no_snippet_is_left_out_and_links_lead_somewhere(page: Page) -> None:
    assert page.modules == ["deploy_agent", "check_deploy", "fenced_deploy", "production"]
    assert [text.strip() for text in page.blocks("sh")] == ["pip install 'fencecheck[openai-agents]'"]
    assert all(link.exists() for link in page.links())
