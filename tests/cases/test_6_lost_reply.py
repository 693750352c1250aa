"""The tool did its work, the reply was lost, the agent retried with a freshly computed operation id."""

from __future__ import annotations

import itertools

import pytest

from fencecheck.history import Act
from fencecheck.interleaving import Event, ToolFault, Update
from fencecheck.judge import judge
from fencecheck.model import Action, Scenario
from fencecheck.run.faults import PreconditionFailed, ReplyLost, ToolRefused
from fencecheck.run.kit import Kit
from fencecheck.run.simulate import Runner

from .agents import Agent, AwaitingAgent, Stop, checked, of, smallest

PRICE = "order/5/price"
WORLD = Scenario(owners={"shop": [PRICE]}, actions=[Action("pay", depends_on=[PRICE])])
LOST = ToolFault("pay", "lost-reply")


class Pays(Agent):
    """Pays, and pays again where no reply came. `key` says where the operation id comes from."""

    scenario = WORLD
    key = "fresh"
    again_from_the_new_price = False

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.serial = itertools.count()

    def operation(self) -> str | None:
        return {"fresh": f"operation {next(self.serial)}", "stable": "order/5", "none": None}[self.key]

    def run(self) -> None:
        price = self.look(PRICE)
        for _ in range(3):
            try:
                self.kit.act(
                    "pay", {"sum": price.value}, expect={PRICE: price.id}, basis={PRICE: price.id}, idempotency_key=self.operation()
                )
                return
            except ReplyLost:
                if self.again_from_the_new_price:
                    price = self.look(PRICE)
            except PreconditionFailed:
                raise
            except ToolRefused:
                continue
        raise Stop("no reply")


@pytest.mark.parametrize("key", ["fresh", "none"])
def test_one_lost_reply_pays_twice(key: str) -> None:
    report = checked(of(Pays, key=key), fail_on={"duplicate-act"})
    assert smallest(report) == [("duplicate-act", None, (Event(1, LOST),))]
    assert [entry.outcome for entry in report.failures[0].history.entries if type(entry) is Act] == ["lost-reply", "done"]


def test_by_default_it_is_noticed_and_no_violation() -> None:
    report = checked(Pays)
    assert (report.verdict, report.strongest, set(report.noticed)) == ("held", "at-act", {"duplicate-act"})
    assert (
        report.counts["duplicates"] == report.noticed["duplicate-act"] > 0
    )  # in episodes, though where two replies are lost there are two


def test_two_lost_replies_pay_three_times() -> None:
    with Runner(Pays) as runner:
        judgement = judge(runner.run((), (Event(1, LOST), Event(2, LOST))))
    assert (judgement.effects, judgement.duplicates) == (3, 2)


def test_with_a_stable_key_none() -> None:
    report = checked(of(Pays, key="stable"), fail_on={"duplicate-act"})
    assert (report.verdict, report.noticed, report.counts["duplicates"]) == ("held", {}, 0)
    assert report.fired["tool-fault"] > 0


def test_a_stable_key_is_refused_with_other_arguments() -> None:
    system = of(Pays, key="stable", again_from_the_new_price=True)
    with Runner(system) as runner:
        history = runner.run((), (Event(1, LOST), Event(2, Update(PRICE))))
    assert [entry.outcome for entry in history.entries if type(entry) is Act] == ["lost-reply", "key-reused", "key-reused"]
    judgement = judge(history)
    assert (judgement.effects, judgement.duplicates, judgement.refused) == (1, 0, 2)
    assert checked(system, fail_on={"duplicate-act"}).verdict == "held"


def test_a_refused_call_may_be_sent_again() -> None:
    with Runner(of(Pays, key="stable")) as runner:
        history = runner.run((), (Event(1, ToolFault("pay", "refuse")),))
    assert [entry.outcome for entry in history.entries if type(entry) is Act] == ["refused", "done"]
    assert judge(history).findings == []


class PaysLater(AwaitingAgent):
    scenario = WORLD
    stable = False

    async def run(self) -> None:
        price = await self.look_later(PRICE)
        for attempt in range(2):
            try:
                key = "order/5" if self.stable else f"attempt {attempt}"
                await self.kit.aio.act("pay", {"sum": price.value}, expect={PRICE: price.id}, idempotency_key=key)
                return
            except ReplyLost:
                continue


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_awaited(runtime: str) -> None:
    report = checked(of(PaysLater, runtime=runtime), fail_on={"duplicate-act"}, max_events=1)
    assert smallest(report) == [("duplicate-act", None, (Event(1, LOST),))]
    assert checked(of(PaysLater, runtime=runtime, stable=True), fail_on={"duplicate-act"}, max_events=1).verdict == "held"
