"""Every snippet and command of the page about PydanticAI is run; what it shows is what comes out."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: pip install 'fencecheck[pydantic-ai]'")

from fencecheck import Interleaving, simulate
from fencecheck.run.loading import load

from .snippets import Page, inside


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    inside(tmp_path, monkeypatch)
    return Page("docs/how-to/pydantic-ai.md", tmp_path)


def test_every_command_prints_what_is_shown(page: Page) -> None:
    naive, fenced = page.commands()
    page.check(naive, 1)
    page.check(fenced, 0)


def test_the_fence_works_without_a_kit(page: Page) -> None:
    runpy.run_path(str(page.folder / "production.py"))


def test_with_its_own_store_the_tools_are_called(page: Page) -> None:
    made: list[Any] = []

    def make() -> Any:
        made.append(load("own_store.py:OwnStore")())
        return made[-1]

    history = simulate(make, Interleaving(load("own_store.py:OwnStore").scenario, (), ()))
    assert len(history.effects) == 1
    assert made[-1].bank.paid == ["DE02 1203 0000"]


def test_no_snippet_is_left_out_and_links_lead_somewhere(page: Page) -> None:
    assert page.modules == ["refund_agent", "check_refund", "fenced_refund", "production", "own_store"]
    assert [text.strip() for text in page.blocks("sh")] == ["pip install 'fencecheck[pydantic-ai]'"]
    assert all(link.exists() for link in page.links())
