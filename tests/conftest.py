"""What all tests share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _line_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are 120 cells wide, whatever the terminal, or whoever runs the tests in parallel, says."""
    monkeypatch.setenv("COLUMNS", "120")
