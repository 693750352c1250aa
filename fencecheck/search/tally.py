"""Adds up what the judge said of many episodes, and keeps the first episode that shows each finding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from fencecheck.interleaving import Event, kind_of
from fencecheck.judge import FINDINGS, Finding, Judgement, Level, counts_at
from fencecheck.model import Scenario

COUNTS = (
    "completed",
    "recovered",
    "halted_changed",
    "halted_unverified",
    "halted_needless",
    "crashed",
    "stuck",
    "duplicates",
    "refused",
    "needless_replans",
    "value_current",
    "omitted",
    "misreported",
    "unmarked",
    "overtaken",
)
"""What is counted, by the names that JSON uses: numbers of episodes."""


class Shown(Struct):
    """The first episode in which a finding was seen.

    Args:
        number: how many episodes showed it.
        scenario: the world, where it was drawn.
    """

    finding: Finding
    dropped: tuple[tuple[str, str], ...]
    events: tuple[Event, ...]
    number: int = 1
    scenario: Scenario | None = None

    @property
    def size(self) -> int:
        """Number of events and dropped declarations."""
        return len(self.events) + len(self.dropped)


class Tally:
    """Counts over episodes.

    Args:
        order: what comes first among interleavings of one size; by default the one that was seen first.

    Attributes:
        episodes: how many were added.
        counts: by the names in `COUNTS`.
        fired: event kind to the number of episodes in which one fired; `dropped-declaration` among them.
        shown: finding code to the smallest episode that shows it.
    """

    def __init__(self, order: Callable[[tuple[Event, ...]], Any] | None = None) -> None:
        self.episodes = 0
        self._order = order
        self.counts: dict[str, int] = dict.fromkeys(COUNTS, 0)
        self.fired: dict[str, int] = {}
        self.shown: dict[str, Shown] = {}

    def add(self, dropped: tuple[tuple[str, str], ...], events: tuple[Event, ...], judgement: Judgement, fired: tuple[Event, ...]) -> None:
        """Adds one judged episode."""
        self.episodes += 1
        counts = self.counts
        outcome = judgement.outcome.replace("-", "_")
        counts[outcome] += 1
        counts["recovered"] += judgement.recovered
        for name in ("duplicates", "refused", "needless_replans", "value_current", "omitted", "misreported", "unmarked", "overtaken"):
            counts[name] += getattr(judgement, name) > 0
        for kind in {kind_of(event.what) for event in fired}:
            self.fired[kind] = self.fired.get(kind, 0) + 1
        if dropped:
            self.fired["dropped-declaration"] = self.fired.get("dropped-declaration", 0) + 1
        for code, finding in {finding.code: finding for finding in reversed(judgement.findings)}.items():
            shown = self.shown.get(code)
            if shown is None:
                self.shown[code] = Shown(finding, dropped, events)
                continue
            shown.number += 1
            if self._comes_first(dropped, events, shown):
                shown.finding, shown.dropped, shown.events = finding, dropped, events

    def _comes_first(self, dropped: tuple[tuple[str, str], ...], events: tuple[Event, ...], shown: Shown) -> bool:
        if self._order is None or len(events) + len(dropped) != shown.size:
            return False
        return (dropped, self._order(events)) < (shown.dropped, self._order(shown.events))

    def failing(self, level: Level, fail_on: frozenset[str]) -> dict[str, Shown]:
        """The findings that fail a check, by code."""
        return {code: shown for code, shown in self.shown.items() if code in fail_on and counts_at(code, level)}

    def beyond(self, level: Level) -> dict[str, Shown]:
        """The safety findings that only a stronger level would count."""
        return {code: shown for code, shown in self.shown.items() if FINDINGS[code].kind == "safety" and not counts_at(code, level)}
