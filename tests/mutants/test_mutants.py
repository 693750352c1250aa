"""Each known-bad fence: what it breaks, from which level on, and the exact smallest interleaving that shows it, whoever looks for it."""

from __future__ import annotations

from functools import cache

import pytest

from fencecheck.interleaving import kind_of
from fencecheck.judge import ALWAYS_FAIL, FINDINGS, LEVELS, judge
from fencecheck.mutants import ALL
from fencecheck.mutants.concurrent import ConcurrentFence
from fencecheck.mutants.plain import PlainFence
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check
from fencecheck.search.drawing import Drawing
from fencecheck.search.explore import explore_into
from fencecheck.search.report import Report
from fencecheck.systems import ALL as SYSTEMS
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
    "first-answer-wins": [
        ("stale-act", "order/42/window", "Event(at=3, what=Update(key='order/42/window'))"),
        ("unverified-act", "order/42/requirement", "Event(at=3, what=Outage(owner='orders', how='hang'))"),
    ],
    "swallows-one-failure": [("unverified-act", "order/42/requirement", "Event(at=3, what=Outage(owner='orders'))")],
    "wrong-key": [
        ("stale-act", "order/42/requirement", "Event(at=3, what=Update(key='order/42/requirement'))"),
        ("unverified-act", "order/42/requirement", "Event(at=3, what=Outage(owner='orders', how='wrong-key'))"),
    ],
    "two-executors": [("duplicate-act", None, "Event(at=3, what=Switch(task=2))")],
    "takes-over": [("duplicate-act", None, "Event(at=3, what=Advance())")],
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
            (
                "Event(at=7, what=Update(key='order/42/requirement')), Event(at=7, what=Outage(owner='orders')), "
                "Event(at=9, what=Restore(owner='orders'))"
            ),
        )
    ],
    "retries-the-refused": [
        (
            "stale-act",
            "order/42/requirement",
            (
                "Event(at=8, what=Outage(owner='calendar')), Event(at=10, what=Update(key='order/42/requirement')), "
                "Event(at=10, what=Restore(owner='calendar'))"
            ),
        )
    ],
    "short-change-list": [
        (
            "stale-act",
            "order/42/requirement",
            (
                "Event(at=7, what=Update(key='order/42/requirement')), Event(at=7, what=Update(key='order/42/requirement')), "
                "Event(at=7, what=Update(key='order/42/requirement'))"
            ),
        )
    ],
    "saves-too-early": [
        (
            "stale-act",
            "order/42/requirement",
            (
                "Event(at=7, what=Update(key='order/42/requirement')), Event(at=12, what=Restart()), "
                "Event(at=12, what=Update(key='order/42/requirement'))"
            ),
        )
    ],
}
ASKED = {"two-executors": ["duplicate-act"], "takes-over": ["duplicate-act"]}
"""What fails a check of these only where it is asked for."""


BEYOND = {code for code, kind in FINDINGS.items() if kind.level != LEVELS[0]}
"""What the default level does not promise."""


@cache
def checked(name: str) -> Report:
    """The default check."""
    return check(ALL[name], fresh_process=False, fail_on=ASKED.get(name, ()))


def test_the_table_names_every_mutant() -> None:
    assert set(SMALLEST) == set(ALL)


@pytest.mark.parametrize("name", SMALLEST)
def test_exact_smallest_interleaving(name: str) -> None:
    report = checked(name)
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
    report = check(ALL[name], max_events=fewer, fresh_process=False, fail_on=ASKED.get(name, ()))
    assert report.failures == []
    assert report.verdict == ("held" if fewer else "inconclusive")


@pytest.mark.parametrize(
    ("name", "right"),
    [
        (name, right)
        for name in SMALLEST
        for right in ([ConcurrentFence] if issubclass(ALL[name], ConcurrentFence) else [PlainFence, SYSTEMS["planfence"]])
    ],
)
def test_the_same_interleaving_breaks_no_right_fence(name: str, right: type[AgentSystem]) -> None:
    with Runner(right) as runner:
        histories = [runner.run(failure.interleaving.dropped, failure.interleaving.events) for failure in checked(name).failures]
    # an event after the last point of a right fence does not fire, nor time that passes where a right fence waits for none
    assert any(history.fired for history in histories) or name == "takes-over"
    assert {finding.code for history in histories for finding in judge(history).findings} <= BEYOND


def test_the_fence_that_they_get_wrong_holds() -> None:
    report = check(PlainFence, fresh_process=False)
    assert (report.verdict, report.strongest, report.failures) == ("held", "at-validation", [])
    assert report.noticed == {}
    assert set(report.beyond) == {"raced-act", "torn-validation"}
    assert min(report.counts["completed"], report.counts["recovered"], report.counts["halted_changed"]) > 0


def test_the_concurrent_fence_that_they_get_wrong_holds() -> None:
    report = check(ConcurrentFence, fresh_process=False, fail_on=["duplicate-act", "crash"])
    assert (report.verdict, report.strongest, report.failures) == ("held", "at-validation", [])
    assert report.noticed == {}
    assert min(report.fired[kind] for kind in ("switch", "advance", "update", "outage")) > 0
    assert min(report.counts["completed"], report.counts["recovered"], report.counts["halted_changed"]) > 0


def test_the_fence_that_they_get_wrong_holds_where_lineage_is_deep() -> None:
    assert check(PlainFence, scenario=world(depth=5), max_events=1, fresh_process=False).verdict == "held"


# -- what Hypothesis shrinks to --------------------------------------------------------------------------------------------------------

SEEDS = {1: 20, 2: 2, 3: 1}
"""How many seeds, by the number of events: two or three that only together show anything are a rare find, and each seed takes seconds."""
MOST_EXAMPLES = 20_000
TOO_RARE = {"retries-for-an-answer", "retries-the-refused", "validates-the-saved-plan", "newest-wins"}
"""What takes ten thousand examples or more to find, even among the kinds that it needs."""
OTHERWISE_MINIMAL = {"saves-too-early", "revalidates-the-changed", "compares-the-highest"}
"""Where exploring stops at as many events, two of which stand in the other order, or whose keys have changed places."""


def explored(name: str, seed: int) -> list[tuple[str, str | None, str]]:
    """What exploring shrinks to, among the kinds of event of the smallest interleaving."""
    smallest = checked(name).failures[0].events
    with Runner(ALL[name]) as runner:
        runner.only(kind_of(event.what) for event in smallest)
        fails = ALWAYS_FAIL | frozenset(ASKED.get(name, ()))
        drawn = Drawing(MOST_EXAMPLES, seed, len(smallest) + 1)
        tally = explore_into(runner, drawn, LEVELS[0], fails, frozenset()).tally
    shown = tally.failing(LEVELS[0], fails)
    assert [one.dropped for one in shown.values()] == [()]
    return [(code, one.finding.key, ", ".join(map(repr, one.events))) for code, one in shown.items()]


@pytest.mark.parametrize("name", [name for name in SMALLEST if name not in TOO_RARE | OTHERWISE_MINIMAL])
def test_exploring_shrinks_to_the_same(name: str) -> None:
    for seed in range(SEEDS[SMALLEST[name][0][2].count("Event(")]):
        [found] = explored(name, seed)
        assert found in SMALLEST[name], seed
