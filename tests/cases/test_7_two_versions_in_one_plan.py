"""A plan combines a decision made from one version with a direct read of the next version of the same key."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck.fence import Halt, PlanFence
from fencecheck.interleaving import Event, Update
from fencecheck.judge import judge
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.simulate import Runner

from .agents import Agent, Stop, checked, of, smallest

REQUIREMENT = "order/42/requirement"
WORLD = Scenario(owners={"orders": [REQUIREMENT]}, actions=[Action("ship", depends_on=[REQUIREMENT])])


class Combines(Agent):
    """Decides from one read and plans from that decision and another look. `between` records stand above the decision."""

    scenario = WORLD
    halt_exceptions = (*Agent.halt_exceptions, Halt)
    between = 0

    def run(self) -> None:
        first, second = self.look(REQUIREMENT), self.look(REQUIREMENT)
        decision = self.kit.derive("the carrier", [first])
        for _ in range(self.between):
            decision = self.kit.derive("the slot", [decision])
        plan = self.kit.derive({"by": "the carrier", "to": second.value}, [decision, second])
        plan = self.clear(plan)
        self.kit.act("ship", plan.value, plan=plan)

    def found(self, plan: Record) -> list[str]:
        """The versions of the requirement in the lineage, each verified to be what was written."""
        versions, todo = [], list(plan.parents)
        while todo:
            id = todo.pop(0)
            if id in versions:
                continue
            record = self.kit.record(id)
            if record.key not in (None, REQUIREMENT) or len(record.parents) != (0 if record.key else 1) or id in record.parents:
                raise Stop("a lineage that was not written so")
            versions += [id] if record.key == REQUIREMENT else []
            todo += record.parents
        return versions

    def clear(self, plan: Record) -> Record:
        """Keeps the newest version found."""
        newest = max(self.found(plan), key=lambda id: int(id.rpartition("@")[2]))
        if newest != self.head(REQUIREMENT):
            raise Stop("changed")
        self.kit.validated([REQUIREMENT])
        return plan


class TakesOneVersionOnly(Combines):
    def clear(self, plan: Record) -> Record:
        if set(self.found(plan)) != {self.head(REQUIREMENT)}:
            raise Stop("changed")
        self.kit.validated([REQUIREMENT])
        return plan


class BehindTheReferenceFence(Combines):
    replans = True

    def clear(self, plan: Record) -> Record:
        def replan(old: Record, changed: Any) -> Record:
            now: Record = changed[REQUIREMENT]
            return self.kit.derive({"by": "the carrier", "to": now.value}, [self.kit.derive("the carrier", [now])])

        fence: PlanFence[Record] = PlanFence(
            self.kit.record, lambda key: self.kit.head(key, timeout=5.0), replan if self.replans else None, self.kit.validated
        )
        return fence.clear(plan, [REQUIREMENT]).plan


@pytest.mark.parametrize("between", [0, 1, 3])
def test_the_newest_of_two_versions_is_called_current(between: int) -> None:
    report = checked(of(Combines, between=between), max_events=1)
    assert smallest(report) == [("stale-act", REQUIREMENT, (Event(1, Update(REQUIREMENT)),))]
    finding = report.failures[0].finding
    assert finding.message.endswith(f"while {REQUIREMENT}@2 was current.")
    assert f"{REQUIREMENT}@1" in finding.message


@pytest.mark.parametrize("between", [0, 3])
def test_one_version_only_holds(between: int) -> None:
    report = checked(of(TakesOneVersionOnly, between=between))
    assert (report.verdict, report.failures) == ("held", [])
    assert report.counts["halted_changed"] > 0
    assert report.counts["recovered"] == 0


def test_the_reference_fence_replans() -> None:
    report = checked(BehindTheReferenceFence, max_events=1)
    assert (report.verdict, report.noticed) == ("held", {})
    assert report.counts["recovered"] > 0
    with Runner(BehindTheReferenceFence) as runner:
        judgement = judge(runner.run((), (Event(1, Update(REQUIREMENT)),)))
    assert (judgement.outcome, judgement.recovered, judgement.needless_replans) == ("completed", True, 0)


def test_or_halts() -> None:
    system = of(BehindTheReferenceFence, replans=False)
    assert checked(system, max_events=1).verdict == "held"
    with Runner(system) as runner:
        judgement = judge(runner.run((), (Event(1, Update(REQUIREMENT)),)))
    assert (judgement.outcome, judgement.findings) == ("halted-changed", [])
