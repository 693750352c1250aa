"""The page on hidden dependencies: its command prints what it shows, and what it advises comes out so."""

from __future__ import annotations

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


def test_a_value_that_reaches_the_branch_shows_what_the_limit_is_for(page: Page) -> None:
    import refunds

    class Reached(refunds.Refunds):
        scenario = refunds.Scenario(
            owners=refunds.Refunds.scenario.owners,
            actions=refunds.Refunds.scenario.actions,
            values={**refunds.Refunds.scenario.values, refunds.LIMIT: [100, 30, 300, 400]},
        )

    assert dependencies(Reached).actions[0].unused == ()


def test_links_lead_somewhere(page: Page) -> None:
    assert page.links()
    assert all(link.exists() for link in page.links())
