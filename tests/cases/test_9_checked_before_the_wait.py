"""Validation, then a person takes an hour to approve, then the act. One made before a pause is void."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck.interleaving import Event, Update
from fencecheck.model import Action, Scenario

from .agents import Agent, AwaitingAgent, Stop, checked, of, smallest

LIMIT = "account/1/limit"
WORLD = Scenario(owners={"bank": [LIMIT]}, actions=[Action("transfer", depends_on=[LIMIT])])
LEVELS = ["at-validation", "at-one-instant", "at-act"]


class Transfers(Agent):
    """`order`: of the steps check, wait and look (another look at some unrelated thing)."""

    scenario = WORLD
    order: tuple[str, ...] = ("check", "wait")

    def run(self) -> None:
        limit = self.look(LIMIT)
        plan = self.kit.derive({"sum": limit.value}, [limit])
        for step in self.order:
            if step == "check":
                if self.head(LIMIT) != limit.id:
                    raise Stop("changed")
                self.kit.validated([LIMIT])
            elif step == "wait":
                self.kit.pause("approval")
            else:
                self.kit.point("log")
        self.kit.act("transfer", plan.value, plan=plan)


@pytest.mark.parametrize("level", LEVELS)
def test_with_the_wait_the_update_makes_it_stale_at_every_level(level: Any) -> None:
    report = checked(Transfers, level=level)
    assert (report.verdict, report.strongest) == ("violated", None)
    assert smallest(report) == [("stale-act", LIMIT, (Event(4, Update(LIMIT)),))]
    assert report.counts["unmarked"] > 0


@pytest.mark.parametrize("order", [("check",), ("wait", "check"), ("check", "wait", "check")])
def test_without_a_wait_after_the_check_it_is_a_race_and_no_violation_by_default(order: tuple[str, ...]) -> None:
    system = of(Transfers, order=order)
    for level in ("at-validation", "at-one-instant"):
        report = checked(system, level=level)  # type: ignore[arg-type]
        assert (report.verdict, report.strongest, set(report.beyond)) == ("held", "at-one-instant", {"raced-act"})
    report = checked(system, level="at-act")
    act = 2 + len(order)
    assert smallest(report) == [("raced-act", LIMIT, (Event(act, Update(LIMIT)),))]


def test_another_seam_between_check_and_act_widens_the_window_and_voids_nothing() -> None:
    report = checked(of(Transfers, order=("check", "log", "log")), level="at-act")
    assert smallest(report) == [("raced-act", LIMIT, (Event(5, Update(LIMIT)),))]
    assert report.strongest == "at-one-instant"


@pytest.mark.parametrize("order", [("check", "wait", "log"), ("check", "log", "wait"), ("check", "check", "wait")])
def test_no_check_before_the_last_wait_counts(order: tuple[str, ...]) -> None:
    report = checked(of(Transfers, order=order), max_events=1)
    assert smallest(report) == [("stale-act", LIMIT, (Event(5, Update(LIMIT)),))]


class TransfersLater(AwaitingAgent):
    scenario = WORLD
    waits = True

    async def run(self) -> None:
        limit = await self.look_later(LIMIT)
        plan = await self.kit.aio.derive({"sum": limit.value}, [limit])
        if await self.head_later(LIMIT) != limit.id:
            raise Stop("changed")
        self.kit.validated([LIMIT])
        if self.waits:
            await self.kit.aio.pause("approval")
        await self.kit.aio.act("transfer", plan.value, plan=plan)


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_awaited(runtime: str) -> None:
    report = checked(of(TransfersLater, runtime=runtime), max_events=1)
    assert smallest(report) == [("stale-act", LIMIT, (Event(4, Update(LIMIT)),))]
    without = of(TransfersLater, runtime=runtime, waits=False)
    assert checked(without, max_events=1).verdict == "held"
    assert smallest(checked(without, level="at-act", max_events=1)) == [("raced-act", LIMIT, (Event(3, Update(LIMIT)),))]
