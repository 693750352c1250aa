"""A saved plan is refused whenever anything in the shared state has changed, related or not. Safe, and useless on a busy day."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck.interleaving import Event, Update
from fencecheck.model import Action, Scenario
from fencecheck.run.faults import MALFORMED
from fencecheck.run.kit import Kit

from .agents import Agent, AwaitingAgent, Stop, checked, of, smallest

BUCKET, QUEUE, USER = "infra/bucket", "infra/queue", "infra/user"
WORLD = Scenario(owners={"state": [BUCKET, QUEUE, USER]}, actions=[Action("apply", depends_on=[BUCKET])])


class AppliesSavedPlan(Agent):
    """Reads the state, saves a plan for the bucket, applies it later if the keys that `compares` names are as they were."""

    scenario = WORLD
    compares: tuple[str, ...] = (BUCKET, QUEUE, USER)

    def run(self) -> None:
        state = {key: self.look(key) for key in self.compares}
        plan = self.kit.derive({"bucket": state[BUCKET].value}, [state[BUCKET]])
        self.kit.pause("review")
        if [self.head(key) for key in self.compares] != [state[key].id for key in self.compares]:
            raise Stop("the state has moved on: plan again")
        self.kit.validated(self.compares)
        self.kit.act("apply", plan.value, plan=plan)


def test_it_is_safe_and_refuses_for_an_unrelated_key() -> None:
    report = checked(AppliesSavedPlan)
    assert (report.verdict, report.failures) == ("held", [])
    assert set(report.noticed) == {"needless-halt"}
    assert report.counts["halted_needless"] > 0


def test_one_update_of_an_unrelated_key_shows_it() -> None:
    report = checked(AppliesSavedPlan, fail_on={"needless-halt"})
    assert smallest(report) == [("needless-halt", None, (Event(6, Update(QUEUE)),))]
    assert report.failures[0].history.ended.detail == "Stop: the state has moved on: plan again"


def test_a_change_of_the_bucket_itself_is_a_needed_halt() -> None:
    report = checked(of(AppliesSavedPlan, compares=(BUCKET,)), fail_on={"needless-halt", "needless-replan"})
    assert (report.verdict, report.noticed) == ("held", {})
    assert report.counts["halted_changed"] > 0
    assert report.counts["halted_needless"] == 0


class AppliesUnderASerial(Agent):
    """The state has one serial of its own, which counts every write of every resource."""

    scenario = WORLD
    per_resource = False

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.serial = 0
        self.rows: dict[str, tuple[str, Any]] = {}

    def publish(self, key: str, value: Any) -> str:
        self.serial += 1
        self.rows[key] = (f"written at {self.serial}", value)
        return self.rows[key][0]

    def true_head(self, key: str) -> str | None:
        return self.rows[key][0] if key in self.rows else None

    def run(self) -> None:
        row = self.kit.read(BUCKET, timeout=5.0, via=lambda: self.rows[BUCKET])
        if row is MALFORMED:
            raise Stop("no row")
        serial = self.serial
        self.kit.pause("review")
        head = self.kit.head(BUCKET, timeout=5.0, via=lambda: self.rows[BUCKET][0])
        if head != row[0] if self.per_resource else serial != self.serial:
            raise Stop("the serial has moved on")
        if head is MALFORMED:
            raise Stop("no version")
        self.kit.validated([BUCKET])
        self.kit.act("apply", {"bucket": row[1]}, basis={BUCKET: row[0]})


def test_a_real_serial_is_as_safe_and_as_useless() -> None:
    report = checked(AppliesUnderASerial, max_events=1)
    assert (report.verdict, set(report.noticed)) == ("held", {"needless-halt"})
    report = checked(AppliesUnderASerial, fail_on={"needless-halt"}, max_events=1)
    ((code, _, (event,)),) = smallest(report)
    assert (code, event.what) == ("needless-halt", Update(QUEUE))


def test_versions_of_each_resource_are_not() -> None:
    report = checked(of(AppliesUnderASerial, per_resource=True), fail_on={"needless-halt"}, max_events=1)
    assert (report.verdict, report.noticed) == ("held", {})


class AppliesLater(AwaitingAgent):
    scenario = WORLD
    compares: tuple[str, ...] = (BUCKET, QUEUE, USER)

    async def run(self) -> None:
        state = {key: await self.look_later(key) for key in self.kit.scenario.keys}
        plan = await self.kit.aio.derive({"bucket": state[BUCKET].value}, [state[BUCKET]])
        await self.kit.aio.pause("review")
        for key in self.compares:
            if await self.head_later(key) != state[key].id:
                raise Stop("the state has moved on")
        self.kit.validated(self.compares)
        await self.kit.aio.act("apply", plan.value, plan=plan)


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_awaited(runtime: str) -> None:
    report = checked(of(AppliesLater, runtime=runtime), fail_on={"needless-halt"}, max_events=1)
    assert smallest(report) == [("needless-halt", None, (Event(6, Update(QUEUE)),))]
