"""A, then B, then A again: the head is a new version with the old text. Texts are equal, versions are not."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck.interleaving import Event, Update
from fencecheck.judge import judge
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.simulate import Runner

from .agents import Agent, AwaitingAgent, Stop, checked, of, smallest

ADDRESS = "order/8/address"
WORLD = Scenario(owners={"orders": [ADDRESS]}, actions=[Action("ship", depends_on=[ADDRESS])])
BACK = (Event(2, Update(ADDRESS)), Event(2, Update(ADDRESS, "earlier")))


class Ships(Agent):
    """Reads again right before it ships, and compares. `shows`: what an observer can see of what it was made from."""

    scenario = WORLD
    shows = "plan"
    texts = True
    replans = False

    def run(self) -> None:
        record = self.look(ADDRESS)
        plan = self.kit.derive({"to": record.value}, [record])
        now = self.look(ADDRESS)
        if not self.same(record, now):
            if not self.replans:
                raise Stop("changed")
            record, plan = now, self.kit.derive({"to": now.value}, [now])
            if not self.same(record, self.look(ADDRESS)):
                raise Stop("changed again")
        self.kit.validated([ADDRESS])
        shown: dict[str, Any] = {"plan": plan} if self.shows == "plan" else {"basis": {ADDRESS: record.id}} if self.shows == "basis" else {}
        self.kit.act("ship", plan.value, **shown)

    def same(self, made_from: Record, now: Record) -> bool:
        return made_from.value == now.value if self.texts else made_from.id == now.id


@pytest.mark.parametrize("shows", ["plan", "basis", "arguments only"])
def test_comparing_texts_is_not_stale_and_the_count_says_that_it_is_by_value(shows: str) -> None:
    system = of(Ships, shows=shows)
    with Runner(system) as runner:
        judgement = judge(runner.run((), BACK))
    # arguments carry texts: with nothing else to see, both versions are what it was made from
    by_value = 0 if shows == "arguments only" else 1
    assert (judgement.outcome, judgement.findings, judgement.value_current) == ("completed", [], by_value)
    report = checked(system)
    assert (report.verdict, report.strongest, report.noticed) == ("held", "at-one-instant", {})
    assert (report.counts["value_current"] > 0) == bool(by_value)


def test_comparing_versions_halts_or_replans_and_is_never_current_by_value() -> None:
    for replans, outcome in ((False, "halted-changed"), (True, "completed")):
        system = of(Ships, texts=False, replans=replans)
        with Runner(system) as runner:
            judgement = judge(runner.run((), BACK))
        assert (judgement.outcome, judgement.recovered, judgement.findings) == (outcome, replans, [])
        report = checked(system)
        assert (report.verdict, report.noticed, report.counts["value_current"]) == ("held", {}, 0)


def test_comparing_texts_still_sees_another_text() -> None:
    with Runner(Ships) as runner:
        judgement = judge(runner.run((), BACK[:1]))
    assert (judgement.outcome, judgement.findings) == ("halted-changed", [])


def test_a_value_that_was_removed_in_between_and_came_back() -> None:
    removed = (Event(2, Update(ADDRESS, "removed")), Event(2, Update(ADDRESS, "earlier")))
    with Runner(Ships) as runner:
        judgement = judge(runner.run((), removed))
    assert (judgement.outcome, judgement.findings, judgement.value_current) == ("completed", [], 1)


def test_a_value_that_comes_back_after_the_validation_is_no_race() -> None:
    with Runner(Ships) as runner:
        act = runner.horizon - 1
        back = judge(runner.run((), (Event(act, Update(ADDRESS)), Event(act, Update(ADDRESS, "earlier")))))
        away = judge(runner.run((), (Event(act, Update(ADDRESS)),)))
    assert back.findings == []
    assert [finding.code for finding in away.findings] == ["raced-act"]


def test_acting_on_the_text_in_between_is_stale() -> None:
    class ActsOnTheSecond(Ships):
        def same(self, made_from: Record, now: Record) -> bool:
            return True

    report = checked(ActsOnTheSecond, max_events=1)
    assert smallest(report) == [("stale-act", ADDRESS, (Event(2, Update(ADDRESS)),))]


class ShipsLater(AwaitingAgent):
    scenario = WORLD
    texts = True

    async def run(self) -> None:
        record = await self.look_later(ADDRESS)
        plan = await self.kit.aio.derive({"to": record.value}, [record])
        now = await self.look_later(ADDRESS)
        if (now.value != record.value) if self.texts else (now.id != record.id):
            raise Stop("changed")
        self.kit.validated([ADDRESS])
        await self.kit.aio.act("ship", plan.value, plan=plan)


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_awaited(runtime: str) -> None:
    for texts, outcome, by_value in ((True, "completed", 1), (False, "halted-changed", 0)):
        with Runner(of(ShipsLater, runtime=runtime, texts=texts)) as runner:
            judgement = judge(runner.run((), BACK))
        assert (judgement.outcome, judgement.findings, judgement.value_current) == (outcome, [], by_value)
