"""The verdict of each coding agent that is built in, on real files."""

from __future__ import annotations

import pytest

from fencecheck.interleaving import Event, Update
from fencecheck.run.loading import load
from fencecheck.search.check import check
from fencecheck.systems import ON_FILES
from fencecheck.systems.editor import NOTES


@pytest.mark.parametrize(
    ("name", "failures", "noticed", "beyond"),
    [
        ("file-naive", [("stale-act", (Event(2, Update(NOTES)),))], set(), set()),
        ("file-mtime", [("stale-act", (Event(2, Update(NOTES, "same-tick")),))], {"needless-halt"}, {"raced-act"}),
        ("file-hash", [], set(), {"raced-act"}),
    ],
)
def test_each_verdict_with_one_event_of_any_kind(name: str, failures: list[object], noticed: set[str], beyond: set[str]) -> None:
    report = check(load(name), fresh_process=False, max_events=1)
    assert (report.system, report.reference) == (name, name)
    assert [(failure.code, failure.events) for failure in report.failures] == failures
    assert (set(report.noticed), set(report.beyond)) == (noticed, beyond)
    assert (report.counts["crashed"], report.counts["stuck"]) == (0, 0)


def test_that_is_all_of_them() -> None:
    assert list(ON_FILES) == ["file-naive", "file-mtime", "file-hash"]


def test_drawn_interleavings_come_to_the_same_smallest_one() -> None:
    report = check(ON_FILES["file-mtime"], engine="explore", examples=400, fresh_process=False)
    assert [failure.events for failure in report.failures] == [(Event(2, Update(NOTES, "same-tick")),)]
