"""The page on hidden dependencies: its command prints what it shows, and what it advises comes out so."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencecheck.measure import dependencies

from .snippets import Page


@pytest.fixture
def page(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Page:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return Page("docs/how-to/hidden-dependencies.md", tmp_path)


def test_the_command_prints_what_is_shown(page: Page) -> None:
    page.check("dependencies refunds.py:Refunds", 1)


def test_the_model_is_asked_once_for_each_distinct_input(page: Page, tmp_path: Path) -> None:
    page.check("dependencies triage.py:Triage", 1)
    asked = (tmp_path / "asked.txt").read_text().splitlines()
    assert sorted(asked) == ["a typo, free", "a typo, gold", "it is down, free", "it is down, gold"]
    page.check("dependencies triage.py:Triage", 1)
    assert (tmp_path / "asked.txt").read_text().splitlines() == asked, "nothing is asked again"


def test_a_value_that_reaches_the_branch_shows_what_the_region_is_for(page: Page) -> None:
    import refunds

    class Reached(refunds.Refunds):
        scenario = refunds.Scenario(
            owners=refunds.Refunds.scenario.owners,
            actions=refunds.Refunds.scenario.actions,
            values={**refunds.Refunds.scenario.values, refunds.REGION: ["EU", "JP"]},
        )

    assert dependencies(Reached).actions[0].unused == ()


def test_links_lead_somewhere(page: Page) -> None:
    assert page.links()
    assert all(link.exists() for link in page.links())
