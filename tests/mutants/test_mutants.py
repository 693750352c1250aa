"""Each known-bad fence: what it breaks, from which level on, and the exact smallest interleaving that shows it."""

from __future__ import annotations

import pytest

from fencecheck.judge import FINDINGS, LEVELS
from fencecheck.mutants import ALL
from fencecheck.mutants.plain import PlainFence
from fencecheck.search.check import check
from fencecheck.worlds import world

# name: finding code, the key that it names, and the smallest interleaving as it is printed; the finding that matters most comes first
SMALLEST: dict[str, list[tuple[str, str | None, str]]] = {
    "fail-open": [("unverified-act", "order/42/requirement", "Event(at=7, what=Outage(owner='orders'))")],
    "missing-is-current": [("unverified-act", None, "Event(at=3, what=MissingParent(place=0))")],
    "validates-once": [
        (
            "stale-act",
            "order/42/requirement",
            "Event(at=7, what=Update(key='order/42/requirement')), Event(at=12, what=Update(key='order/42/requirement'))",
        )
    ],
    "replans-forever": [
        (
            "unbounded-replan",
            None,
            "Event(at=7, what=Update(key='order/42/requirement')), Event(at=15, what=Update(key='order/42/requirement'))",
        )
    ],
    "any-key": [
        ("stale-act", "order/42/requirement", "Event(at=7, what=Update(key='order/42/requirement'))"),
        ("unverified-act", "order/42/requirement", "Event(at=7, what=Outage(owner='orders', how='wrong-key'))"),
    ],
    "asks-one-owner": [("stale-act", "order/42/window", "Event(at=7, what=Update(key='order/42/window'))")],
    "asks-memory": [("stale-act", "order/42/requirement", "Event(at=8, what=Update(key='order/42/requirement'))")],
    "sends-old-arguments": [
        ("stale-act", "order/42/requirement", "Event(at=7, what=Update(key='order/42/requirement'))"),
        ("provenance-mismatch", "order/42/requirement", "Event(at=7, what=Update(key='order/42/requirement'))"),
    ],
    "newest-wins": [
        (
            "stale-act",
            "order/42/requirement",
            "Event(at=3, what=Update(key='order/42/requirement')), Event(at=3, what=CorruptParent(place=0, how='two-versions'))",
        ),
        (
            "unverified-act",
            None,
            "Event(at=0, what=Update(key='order/42/requirement')), Event(at=3, what=CorruptParent(place=0, how='two-versions'))",
        ),
    ],
    "validates-before-the-wait": [("stale-act", "order/42/requirement", "Event(at=8, what=Update(key='order/42/requirement'))")],
    "removed-is-unchanged": [("stale-act", "order/42/requirement", "Event(at=7, what=Update(key='order/42/requirement', how='removed'))")],
    "compares-numbers": [("unverified-act", "order/42/requirement", "Event(at=7, what=Outage(owner='orders', how='wrong-key'))")],
    "compares-the-lineage": [("unverified-act", None, "Event(at=3, what=CorruptParent(how='wrong-key'))")],
    "plans-again-after-validating": [
        ("stale-act", "order/42/requirement", "Event(at=13, what=Update(key='order/42/requirement'))"),
        ("unbounded-replan", None, "Event(at=7, what=Update(key='order/42/requirement'))"),
    ],
    "caches-answers": [
        (
            "stale-act",
            "order/42/requirement",
            "Event(at=7, what=Update(key='order/42/requirement')), Event(at=14, what=Update(key='order/42/requirement'))",
        )
    ],
    "last-answer-holds": [
        (
            "unverified-act",
            "order/42/requirement",
            "Event(at=7, what=Update(key='order/42/requirement')), Event(at=15, what=Outage(owner='orders'))",
        )
    ],
    "revalidates-the-changed": [
        (
            "stale-act",
            "order/42/window",
            "Event(at=7, what=Update(key='order/42/requirement')), Event(at=15, what=Update(key='order/42/window'))",
        )
    ],
    "compares-the-highest": [
        (
            "stale-act",
            "order/42/window",
            "Event(at=0, what=Update(key='order/42/requirement')), Event(at=8, what=Update(key='order/42/window'))",
        ),
        (
            "unverified-act",
            None,
            "Event(at=0, what=Update(key='order/42/requirement')), Event(at=3, what=CorruptParent(place=0, how='two-versions'))",
        ),
    ],
    "retries-the-act": [
        (
            "stale-act",
            "order/42/requirement",
            "Event(at=8, what=Update(key='order/42/requirement')), Event(at=9, what=ToolFault(tool='deliver'))",
        )
    ],
    "validates-the-saved-plan": [
        (
            "stale-act",
            "order/42/requirement",
            "Event(at=4, what=Update(key='order/42/requirement')), Event(at=4, what=Replan())",
        )
    ],
    "retries-for-an-answer": [
        (
            "stale-act",
            "order/42/requirement",
            "Event(at=7, what=Update(key='order/42/requirement')), Event(at=7, what=Outage(owner='orders')), "
            "Event(at=9, what=Restore(owner='orders'))",
        )
    ],
    "retries-the-refused": [
        (
            "stale-act",
            "order/42/requirement",
            "Event(at=8, what=Outage(owner='calendar')), Event(at=10, what=Update(key='order/42/requirement')), "
            "Event(at=10, what=Restore(owner='calendar'))",
        )
    ],
    "short-change-list": [
        (
            "stale-act",
            "order/42/requirement",
            "Event(at=7, what=Update(key='order/42/requirement')), Event(at=7, what=Update(key='order/42/requirement')), "
            "Event(at=7, what=Update(key='order/42/requirement'))",
        )
    ],
    "saves-too-early": [
        (
            "stale-act",
            "order/42/requirement",
            "Event(at=7, what=Update(key='order/42/requirement')), Event(at=12, what=Restart()), "
            "Event(at=12, what=Update(key='order/42/requirement'))",
        )
    ],
}


def test_the_table_names_every_mutant() -> None:
    assert set(SMALLEST) == set(ALL)


@pytest.mark.parametrize("name", SMALLEST)
def test_exact_smallest_interleaving(name: str) -> None:
    report = check(ALL[name], fresh_process=False)
    assert (report.verdict, report.exit_status, report.strongest) == ("violated", 1, None)
    found = [(f.code, f.finding.key, ", ".join(map(repr, f.events))) for f in report.failures]
    assert found == SMALLEST[name]
    assert [f.interleaving.dropped for f in report.failures] == [()] * len(found)


@pytest.mark.parametrize("name", SMALLEST)
def test_what_it_breaks_counts_from_the_weakest_level_on(name: str) -> None:
    assert {FINDINGS[code].level for code, _, _ in SMALLEST[name]} == {LEVELS[0]}


@pytest.mark.parametrize("name", SMALLEST)
def test_one_event_fewer_shows_nothing(name: str) -> None:
    fewer = SMALLEST[name][0][2].count("Event(") - 1
    report = check(ALL[name], max_events=fewer, fresh_process=False)
    assert report.failures == []
    assert report.verdict == ("held" if fewer else "inconclusive")


def test_the_fence_that_they_get_wrong_holds() -> None:
    report = check(PlainFence, fresh_process=False)
    assert (report.verdict, report.strongest, report.failures) == ("held", "at-validation", [])
    assert report.noticed == {}
    assert set(report.beyond) == {"raced-act", "torn-validation"}
    assert min(report.counts["completed"], report.counts["recovered"], report.counts["halted_changed"]) > 0


def test_the_fence_that_they_get_wrong_holds_where_lineage_is_deep() -> None:
    assert check(PlainFence, scenario=world(depth=5), max_events=1, fresh_process=False).verdict == "held"
