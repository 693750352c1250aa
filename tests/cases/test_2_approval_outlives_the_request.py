"""A request is approved; it is rewritten while it stays approved; the act goes ahead. The approval rests on the request."""

from __future__ import annotations

import pytest

from fencecheck.interleaving import Event, Update
from fencecheck.judge import judge
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.simulate import Runner

from .agents import Agent, AwaitingAgent, Stop, checked, of, smallest

REQUEST, RISK, ROLLBACK = "request/9/text", "request/9/risk", "request/9/rollback"
ONE = Scenario(owners={"tickets": [REQUEST]}, actions=[Action("apply", depends_on=[REQUEST])])
THREE = Scenario(owners={"tickets": [REQUEST, RISK, ROLLBACK]}, actions=[Action("apply", depends_on=[REQUEST, RISK, ROLLBACK])])


class Applies(Agent):
    """Has the request approved, waits for its slot, and applies the plan that rests on the approval.

    `between` records stand between request and approval; where `invalidates`, an edit makes the approval void.
    """

    scenario = ONE
    between = 0
    invalidates = False

    def run(self) -> None:
        request = {key: self.look(key) for key in self.kit.scenario.keys}
        parents: list[Record] = list(request.values())
        for _ in range(self.between):
            parents = [self.kit.derive("assessment", parents)]
        approval = self.kit.derive("approved", parents, key="approval/9")
        self.kit.pause("change window")
        plan = self.kit.derive({key: record.value for key, record in request.items()}, [approval])
        if self.invalidates:
            self.still_approved(request)
        self.kit.act("apply", plan.value, plan=plan)

    def still_approved(self, request: dict[str, Record]) -> None:
        """An edit of what was approved invalidates the approval."""
        if any(self.head(key) != record.id for key, record in request.items()):
            raise Stop("the approval is void: the request was edited")
        self.kit.validated(request)


@pytest.mark.parametrize(("between", "act"), [(0, 4), (1, 5), (4, 8)])
def test_stale_through_the_approval_at_any_depth(between: int, act: int) -> None:
    report = checked(of(Applies, between=between), max_events=1)
    assert smallest(report) == [("stale-act", REQUEST, (Event(act, Update(REQUEST)),))]
    plan = report.failures[0].history.effects[0].plan
    assert plan is not None
    assert report.failures[0].history.records[plan].parents == ("approval/9@1",)


def test_no_matter_which_part_of_the_request_is_rewritten() -> None:
    with Runner(of(Applies, scenario=THREE)) as runner:
        assert runner.horizon == 7
        for key in (REQUEST, RISK, ROLLBACK):
            findings = judge(runner.run((), (Event(4, Update(key)),))).findings
            assert [(finding.code, finding.key) for finding in findings] == [("stale-act", key)]


@pytest.mark.parametrize("between", [0, 1, 4])
def test_an_edit_that_invalidates_the_approval_holds(between: int) -> None:
    report = checked(of(Applies, between=between, invalidates=True))
    assert (report.verdict, report.strongest, report.noticed) == ("held", "at-one-instant", {})
    assert report.counts["halted_changed"] > 0
    assert set(report.beyond) == {"raced-act"}


def test_invalidation_looks_at_every_part() -> None:
    report = checked(of(Applies, scenario=THREE, invalidates=True), max_events=1)
    assert (report.verdict, report.noticed) == ("held", {})

    class LooksAtTheTextOnly(Applies):
        scenario = THREE
        invalidates = True

        def still_approved(self, request: dict[str, Record]) -> None:
            super().still_approved({REQUEST: request[REQUEST]})
            self.kit.validated(request)  # says more than it looked at

    assert smallest(checked(LooksAtTheTextOnly, max_events=1)) == [("stale-act", RISK, (Event(6, Update(RISK)),))]


class AppliesWhatItSaysNow(Applies):
    """Applies the text as it is now, under the approval of what it was."""

    def run(self) -> None:
        request = self.look(REQUEST)
        approval = self.kit.derive("approved", [request], key="approval/9")
        self.kit.pause("change window")
        now = self.look(REQUEST)
        plan = self.kit.derive({REQUEST: now.value}, [approval])
        self.kit.act("apply", plan.value, plan=plan)


def test_the_new_text_under_the_old_approval_is_stale_and_not_what_was_approved() -> None:
    report = checked(AppliesWhatItSaysNow, max_events=1)
    assert smallest(report) == [
        ("stale-act", REQUEST, (Event(3, Update(REQUEST)),)),
        ("provenance-mismatch", REQUEST, (Event(3, Update(REQUEST)),)),
    ]


class AppliesLater(AwaitingAgent):
    scenario = ONE
    invalidates = False

    async def run(self) -> None:
        kit = self.kit.aio
        request = await self.look_later(REQUEST)
        approval = await kit.derive("approved", [request], key="approval/9")
        await kit.pause("change window")
        plan = await kit.derive({REQUEST: request.value}, [approval])
        if self.invalidates:
            if await self.head_later(REQUEST) != request.id:
                raise Stop("the approval is void")
            self.kit.validated([REQUEST])
        await kit.act("apply", plan.value, plan=plan)


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_awaited(runtime: str) -> None:
    report = checked(of(AppliesLater, runtime=runtime), max_events=1)
    assert smallest(report) == [("stale-act", REQUEST, (Event(4, Update(REQUEST)),))]
    assert checked(of(AppliesLater, runtime=runtime, invalidates=True), max_events=1).verdict == "held"
