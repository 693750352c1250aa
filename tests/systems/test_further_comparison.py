"""Three more systems of the paper's comparison: what each is worth, and what it costs."""

from __future__ import annotations

import pytest

from fencecheck.history import Act, points
from fencecheck.interleaving import Event, Outage, Update
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check
from fencecheck.systems import ALL
from fencecheck.systems.auditing import Auditing
from fencecheck.worlds import world

REQUIREMENT, WINDOW, CONTACT = "order/42/requirement", "order/42/window", "order/42/contact"


def checked(name: str, **options):  # type: ignore[no-untyped-def]
    return check(ALL[name], fresh_process=False, **options)


def smallest(name: str, level: str) -> dict[str, int]:
    """Code of each failure at a level to how many points before the end of the episode without events its one update lands."""
    report = checked(name, level=level, max_events=1)
    with Runner(ALL[name]) as runner:
        end = runner.horizon
    assert all(event.what == Update(REQUIREMENT) for failure in report.failures for event in failure.events)
    return {failure.code: end - event.at for failure in report.failures for event in failure.events}


class TestEagerSync:
    """Each commit waits until the metadata of the agent has it."""

    def test_it_asks_nobody_and_holds(self) -> None:
        report = checked("eager-sync", max_events=1)
        assert (report.verdict, report.strongest) == ("held", "at-one-instant")
        assert set(report.beyond) == {"raced-act"}
        with Runner(ALL["eager-sync"]) as runner:
            points = [type(entry).__name__ for entry in runner.run().entries]
        assert "Head" not in points, "no owner is asked between plan and act"

    def test_its_metadata_is_a_table_that_it_reads_at_one_instant(self) -> None:
        assert checked("eager-sync", max_events=1, level="at-one-instant").verdict == "held"
        assert checked("planfence", max_events=1, level="at-one-instant").verdict == "violated"

    def test_at_the_act_it_is_raced_as_any_fence_is(self) -> None:
        report = checked("eager-sync", max_events=1, level="at-act")
        with Runner(ALL["eager-sync"]) as runner:
            last = runner.horizon - 1
        assert [(failure.code, failure.events) for failure in report.failures] == [("raced-act", (Event(last, Update(REQUIREMENT)),))]

    def test_an_owner_that_is_down_stops_no_validation(self) -> None:
        """Where planfence halts, since it asks."""
        for name, outcome in {"eager-sync": "completed", "planfence": "halted-unverified"}.items():
            with Runner(ALL[name], world(declared=1)) as runner:
                planned = 3
                assert judge(runner.run((), (Event(planned, Outage("orders")),))).outcome == outcome

    def test_a_missed_update_is_not_among_its_faults_and_said_so(self) -> None:
        assert checked("eager-sync", max_events=0).missing["deliver"] == "the metadata arrives with the update itself"


class TestBatchedAllKeys:
    """Every owner is asked for everything that it owns."""

    def test_it_holds(self) -> None:
        report = checked("batched-all-keys", max_events=2)
        assert (report.verdict, report.strongest) == ("held", "at-validation")

    def test_each_level_that_it_breaks_has_its_smallest_interleaving(self) -> None:
        """Its declared keys are asked for first: while the last of the other two is asked for they can change, and before the act."""
        assert smallest("batched-all-keys", "at-validation") == {}
        assert smallest("batched-all-keys", "at-one-instant") == {"torn-validation": 2}
        assert smallest("batched-all-keys", "at-act") == {"torn-validation": 2, "raced-act": 1}

    def test_what_is_asked_after_the_one_declared_key_tears_its_validation_too(self) -> None:
        scenario = world(declared=1)
        torn = {
            name: checked(name, scenario=scenario, max_events=1, level="at-one-instant").verdict
            for name in ("batched-all-keys", "planfence")
        }
        assert torn == {"batched-all-keys": "violated", "planfence": "held"}

    def test_an_owner_that_does_not_matter_halts_it(self) -> None:
        scenario = world(keys=2, declared=1)
        assert scenario.owners == {"orders": (REQUIREMENT,), "calendar": (WINDOW,)}
        report = checked("batched-all-keys", scenario=scenario, max_events=1, fail_on=["needless-halt"])
        (failure,) = report.failures
        assert failure.code == "needless-halt"
        assert failure.events == (Event(4, Outage("calendar")),)
        assert checked("planfence", scenario=scenario, max_events=1, fail_on=["needless-halt"]).failures == []

    def test_a_change_that_does_not_matter_is_no_reason_to_replan(self) -> None:
        with Runner(ALL["batched-all-keys"]) as runner:
            judgement = judge(runner.run((), (Event(4, Update(CONTACT)),)))
        assert (judgement.outcome, judgement.replans) == ("completed", 0)


class Idempotent(Auditing):
    """Both agents send the plan's id as idempotency key."""

    idempotent = True


class TestAuditing:
    """An auditing agent repeats what was valid."""

    def test_the_act_goes_out_twice_without_any_event(self) -> None:
        with Runner(ALL["auditing"]) as runner:
            judgement = judge(runner.run())
        assert [finding.code for finding in judgement.findings] == ["duplicate-act"]
        assert (judgement.effects, judgement.duplicates, judgement.outcome) == (2, 1, "completed")

    def test_it_is_safe(self) -> None:
        report = checked("auditing", max_events=2)
        assert report.verdict == "held"
        assert report.noticed["duplicate-act"] > 0

    def test_each_level_that_it_breaks_has_its_smallest_interleaving(self) -> None:
        """That of its executor: the auditor asks for both keys and acts after it, so three points follow the first act."""
        assert smallest("auditing", "at-validation") == {}
        assert smallest("auditing", "at-one-instant") == {"torn-validation": 5}
        assert smallest("auditing", "at-act") == {"torn-validation": 5, "raced-act": 4}

    def test_what_has_changed_since_is_not_repeated(self) -> None:
        with Runner(ALL["auditing"]) as runner:
            act = next(number for number, (_, entry) in enumerate(points(runner.run())) if type(entry) is Act)
            judgement = judge(runner.run((), (Event(act + 1, Update(REQUIREMENT)),)))
        assert (judgement.effects, judgement.findings) == (1, [])

    @pytest.mark.parametrize("events", [0, 1])
    def test_with_a_stable_key_it_has_one_effect(self, events: int) -> None:
        report = check(Idempotent, fresh_process=False, max_events=events, fail_on=["duplicate-act"])
        assert report.counts["duplicates"] == 0
        assert not report.failures
