"""The verdict of each compared system, at each level and in worlds of several sizes."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck.history import Act
from fencecheck.interleaving import Event, Outage, ToolFault, Update
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check
from fencecheck.search.report import Report
from fencecheck.systems import ALL
from fencecheck.worlds import world

REQUIREMENT, WINDOW = "order/42/requirement", "order/42/window"


def checked(name: str, **options: Any) -> Report:
    return check(ALL[name], fresh_process=False, **options)


def smallest(report: Report) -> list[tuple[str, tuple[Event, ...]]]:
    return [(failure.code, failure.events) for failure in report.failures]


def test_planfence_holds_at_the_default_level_and_says_what_it_does_not_promise() -> None:
    report = checked("planfence")
    assert (report.verdict, report.exit_status, report.strongest) == ("held", 0, "at-validation")
    assert (report.bound.kind, report.bound.value) == ("complete", 10)
    assert set(report.beyond) == {"raced-act", "torn-validation"}
    assert report.noticed == {}
    counts = report.counts
    ended = ("completed", "halted_changed", "halted_unverified", "halted_needless", "crashed", "stuck")
    assert sum(counts[name] for name in ended) == report.episodes
    assert [counts[n] for n in ("halted_needless", "crashed", "stuck", "duplicates", "needless_replans", "misreported")] == [0] * 6
    assert min(counts["completed"], counts["recovered"], counts["halted_changed"], counts["halted_unverified"], counts["refused"]) > 0


@pytest.mark.parametrize(
    ("name", "point"),
    [("planfence", 8), ("central", 5)],
)
def test_an_update_between_two_owner_queries_tears_a_validation(name: str, point: int) -> None:
    report = checked(name, level="at-one-instant")
    assert (report.verdict, report.exit_status, report.strongest) == ("violated", 1, "at-validation")
    assert smallest(report) == [("torn-validation", (Event(point, Update(REQUIREMENT)),))]


def test_an_update_between_validation_and_act_is_a_race() -> None:
    report = checked("planfence", scenario=world(declared=1), level="at-act")
    assert (report.verdict, report.strongest) == ("violated", "at-one-instant")
    horizon = Runner(ALL["planfence"], world(declared=1)).horizon
    assert smallest(report) == [("raced-act", (Event(horizon - 1, Update(REQUIREMENT)),))]
    assert report.failures[0].history.effects[0].args[REQUIREMENT] == world().value_of(REQUIREMENT, 1)


def test_with_one_declared_key_nothing_can_be_torn() -> None:
    report = checked("planfence", scenario=world(declared=1), level="at-one-instant")
    assert (report.verdict, report.strongest) == ("held", "at-one-instant")
    assert set(report.beyond) == {"raced-act"}


def test_fresh_read_is_violated_by_one_update_between_plan_and_act() -> None:
    report = checked("fresh-read")
    assert report.verdict == "violated"
    with Runner(ALL["fresh-read"]) as runner:
        assert runner.horizon == 7
    # two reads, two derives, then the two fresh reads (4 and 5) and the act
    assert smallest(report) == [("stale-act", (Event(4, Update(REQUIREMENT)),))]
    failure = report.failures[0]
    assert failure.finding.key == REQUIREMENT
    assert failure.number == 8
    act = failure.history.effects[0]
    assert act.args[REQUIREMENT] == world().value_of(REQUIREMENT, 1)


@pytest.mark.parametrize("at", [4, 5, 6])
def test_fresh_read_is_stale_wherever_the_update_lands_after_planning(at: int) -> None:
    with Runner(ALL["fresh-read"]) as runner:
        codes = {f.code for f in judge(runner.run((), (Event(at, Update(REQUIREMENT)),))).findings}
    assert codes == {"stale-act"}


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_fresh_read_is_stale_before_planning_only_where_it_had_read_before(at: int) -> None:
    with Runner(ALL["fresh-read"]) as runner:
        codes = {f.code for f in judge(runner.run((), (Event(at, Update(REQUIREMENT)),))).findings}
    assert codes == (set() if at == 0 else {"stale-act"})


def test_direct_parents_holds_at_depth_one_and_not_at_two() -> None:
    assert checked("direct-parents", scenario=world(depth=1)).verdict == "held"
    report = checked("direct-parents", scenario=world(depth=2))
    assert smallest(report) == [("stale-act", (Event(4, Update(REQUIREMENT)),))]


@pytest.mark.parametrize(("depth", "point"), [(1, None), (2, 4), (4, 6), (8, 10)])
def test_direct_parents_misses_what_is_behind_a_derived_record(depth: int, point: int | None) -> None:
    report = checked("direct-parents", scenario=world(depth=depth), max_events=1)
    assert smallest(report) == ([] if point is None else [("stale-act", (Event(point, Update(REQUIREMENT)),))])


def test_central_holds() -> None:
    report = checked("central")
    assert (report.verdict, report.strongest, report.noticed) == ("held", "at-validation", {})
    assert report.counts["recovered"] > 0


def test_if_match_holds_at_the_act_itself() -> None:
    report = checked("if-match", level="at-act", per_kind=0)
    assert (report.verdict, report.bound.kind, report.strongest) == ("held", "complete", "at-act")
    assert (report.beyond, report.noticed) == ({}, {})
    counts = report.counts
    assert min(counts["completed"], counts["recovered"], counts["halted_changed"], counts["refused"]) > 0
    assert counts["duplicates"] == 0


def test_if_match_plans_again_once_where_the_tool_says_that_something_changed() -> None:
    with Runner(ALL["if-match"]) as runner:
        act = runner.horizon - 1
        once = runner.run((), (Event(act, Update(REQUIREMENT)),))
        twice = runner.run((), (Event(act, Update(REQUIREMENT)), Event(2 * act + 1, Update(REQUIREMENT))))
    acts = [[entry.outcome for entry in history.entries if type(entry) is Act] for history in (once, twice)]
    assert acts == [["precondition-failed", "done"], ["precondition-failed", "precondition-failed"]]
    assert [judge(history).outcome for history in (once, twice)] == ["completed", "halted-changed"]


def test_an_idempotency_key_keeps_out_duplicates_and_nothing_else() -> None:
    report = checked("idempotency-key", fail_on=["duplicate-act"])
    assert smallest(report) == [("stale-act", (Event(4, Update(REQUIREMENT)),))]
    assert report.counts["duplicates"] == 0


def test_a_lost_reply_is_asked_for_again_under_the_same_key() -> None:
    with Runner(ALL["idempotency-key"]) as runner:
        history = runner.run((), (Event(4, ToolFault("deliver", "lost-reply")),))
    acts = [entry for entry in history.entries if type(entry) is Act]
    assert [(act.outcome, act.effect) for act in acts] == [("lost-reply", True), ("repeated", False)]
    assert len({act.idempotency_key for act in acts}) == 1


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
@pytest.mark.parametrize("name", ["planfence", "central"])
def test_a_right_fence_holds_at_every_depth(name: str, depth: int) -> None:
    report = checked(name, scenario=world(depth=depth), max_events=1)
    assert (report.verdict, report.noticed) == ("held", {})
    assert report.counts["recovered"] == 2


@pytest.mark.parametrize(("keys", "declared", "owners"), [(2, 2, 1), (3, 3, 3), (8, 1, 2), (8, 8, 4)])
def test_planfence_holds_in_worlds_of_other_sizes(keys: int, declared: int, owners: int) -> None:
    report = checked("planfence", scenario=world(keys=keys, declared=declared, owners=owners), max_events=1)
    assert (report.verdict, report.noticed) == ("held", {})
    # one replan for each key that changes after it was read and before it was asked for
    assert report.counts["recovered"] == declared


@pytest.mark.parametrize("family", ["booking", "deployment"])
def test_the_other_families_have_the_same_verdicts(family: Any) -> None:
    scenario = world(family=family)
    verdicts = {name: checked(name, scenario=scenario, max_events=1).verdict for name in ALL}
    assert verdicts == {
        "planfence": "held",
        "central": "held",
        "eager-sync": "held",
        "batched-all-keys": "held",
        "direct-parents": "violated",
        "fresh-read": "violated",
        "if-match": "held",
        "idempotency-key": "violated",
        "auditing": "held",
    }


def test_a_dropped_declaration_is_counted_and_blamed_on_nobody() -> None:
    with Runner(ALL["planfence"]) as runner:
        dropped = (("deliver", WINDOW),)
        judgement = judge(runner.run(dropped, (Event(4, Update(WINDOW)),)))
        kept = judge(runner.run((), (Event(4, Update(WINDOW)),)))
    assert (judgement.outcome, judgement.omitted, judgement.findings) == ("completed", 1, [])
    assert (kept.outcome, kept.omitted, kept.recovered) == ("completed", 0, True)


def test_dropping_declarations_makes_no_right_fence_fail() -> None:
    report = checked("planfence")
    assert report.counts["omitted"] > 0
    assert report.fired["dropped-declaration"] > 0
    assert report.failures == []


def test_a_dishonest_owner_is_counted_and_not_blamed_on_the_fence() -> None:
    honest = checked("planfence")
    broken = checked("planfence", assume_broken={"honest-owners"})
    assert (honest.counts["misreported"], honest.verdict) == (0, "held")
    assert (broken.counts["misreported"] > 0, broken.verdict) == (True, "held")
    assert broken.episodes > honest.episodes


def test_an_older_head_that_the_fence_could_have_noticed_is_blamed() -> None:
    """Served the second version once, asked again and served the first: that is no answer."""
    scenario = world(declared=1)
    with Runner(ALL["fresh-read"], scenario) as runner:
        events = (Event(0, Update(REQUIREMENT)), Event(3, Outage("orders", "older-head")))
        judgement = judge(runner.run((), events))
    assert {finding.code for finding in judgement.findings} == {"unverified-act"}


def test_no_event_at_all_is_inconclusive() -> None:
    report = checked("planfence", max_events=0)
    assert (report.verdict, report.exit_status, report.episodes) == ("inconclusive", 3, 1)
    assert report.why == "no event fired, so nothing was tested: allow at least one event"
    assert report.counts["completed"] == 1


@pytest.mark.parametrize("name", ALL)
def test_a_fresh_process_does_the_same(name: str) -> None:
    report = check(ALL[name], max_events=1)
    assert report.assumed[0] == "deterministic (checked, in a fresh process too)"
    assert report.reference == name
