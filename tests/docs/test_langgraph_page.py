"""Every snippet and command of the page about LangGraph is run; what it shows is what comes out."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph is not installed: pip install 'fencecheck[langgraph]'")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from fencecheck import check

from .snippets import Page, inside


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.setenv("COLUMNS", "120")
    page = Page("docs/how-to/langgraph.md", tmp_path)
    inside(tmp_path, monkeypatch)
    return page


def test_every_command_prints_what_is_shown(page: Page) -> None:
    naive, fenced, once, awaited = page.commands()
    page.check(naive, 1)
    page.check(fenced, 0)
    page.check(once, 0)
    page.check(awaited, 1)


def test_the_fenced_graph_runs_in_production(page: Page) -> None:
    shop, fenced = importlib.import_module("shop"), importlib.import_module("fenced")
    config: Any = {"configurable": {"thread_id": "1"}}
    graph = fenced.build_graph(InMemorySaver())
    graph.invoke({"order": "42"}, config)
    shop.ORDERS["42"] = {"version": "v2", "address": "3-1 Umeda, Osaka"}
    again = graph.invoke(Command(resume=True), config)
    assert again["__interrupt__"][0].value == {"ship to": "3-1 Umeda, Osaka"}
    assert graph.invoke(Command(resume=True), config)["tracking"] == "a courier goes to 3-1 Umeda, Osaka"


def test_a_graph_that_a_module_holds_is_checked_as_it_stands(page: Page) -> None:
    report = check(importlib.import_module("held").HeldShop, fresh_process=False, max_events=1)
    assert [failure.code for failure in report.failures] == ["stale-act"]


def test_no_snippet_is_left_out_and_links_lead_somewhere(page: Page) -> None:
    assert page.modules == ["shop", "checked", "held", "fenced", "checked_fence", "once", "awaited"]
    assert [text.strip() for text in page.blocks("sh")] == ["pip install 'fencecheck[langgraph]'"]
    assert all(link.exists() for link in page.links())
