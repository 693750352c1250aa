"""A workflow node has an effect, then waits for a person; resuming runs the node from its start, and the effect goes out twice."""

from __future__ import annotations

import pytest

from fencecheck.model import Action, Scenario
from fencecheck.run.kit import Kit

from .agents import Agent, AwaitingAgent, checked, of

KEY = "ticket/3/status"
WORLD = Scenario(owners={"desk": [KEY]}, actions=[Action("notify", [KEY]), Action("close", [KEY])])


class Interrupt(Exception):
    """The node waits for a person."""


class Workflow(Agent):
    """An engine that runs a node again from its start when the person has answered. `node` is one of the methods below."""

    scenario = WORLD
    node = "notifies_first"

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.answer: str | None = None
        self.checkpoint: set[str] = set()

    def run(self) -> None:
        for _ in range(2):
            try:
                self.status = self.look(KEY)
                getattr(self, self.node)()
                return
            except Interrupt:
                self.kit.pause("approval")
                self.answer = "yes"

    def send(self, action: str, idempotency_key: str | None = None) -> None:
        """The tool itself checks the version that the node has just read, so that nothing here can be stale."""
        self.kit.act(action, {"about": "ticket/3"}, expect=self.expected(), basis=self.expected(), idempotency_key=idempotency_key)

    def expected(self) -> dict[str, str]:
        return {KEY: self.status.id}

    def ask(self) -> str:
        if self.answer is None:
            raise Interrupt
        return self.answer

    def notifies_first(self) -> None:
        self.send("notify")
        self.ask()
        self.send("close")

    def notifies_with_a_key(self) -> None:
        self.send("notify", idempotency_key="notify/ticket/3")
        self.ask()
        self.send("close", idempotency_key="close/ticket/3")

    def notes_what_it_did(self) -> None:
        if "notified" not in self.checkpoint:
            self.checkpoint.add("notified")
            self.send("notify")
        self.ask()
        self.send("close")

    def asks_first(self) -> None:
        self.ask()
        self.send("notify")
        self.send("close")


def test_the_effect_goes_out_twice_without_any_event() -> None:
    report = checked(Workflow, fail_on={"duplicate-act"})
    assert [(failure.code, failure.events, failure.interleaving.dropped) for failure in report.failures] == [("duplicate-act", (), ())]
    assert report.failures[0].finding.message == "notify had 2 effects and was meant to have 1."
    assert report.counts["duplicates"] == report.episodes == 1


def test_it_says_nothing_about_staleness() -> None:
    report = checked(Workflow)
    assert (report.verdict, report.failures, report.beyond, report.strongest) == ("held", [], {}, "at-act")
    assert set(report.noticed) == {"duplicate-act"}
    assert report.counts["duplicates"] > 1
    assert report.counts["refused"] > 0


@pytest.mark.parametrize("node", ["notifies_with_a_key", "notes_what_it_did", "asks_first"])
def test_three_ways_to_have_it_go_out_once(node: str) -> None:
    report = checked(of(Workflow, node=node), fail_on={"duplicate-act"})
    assert (report.verdict, report.noticed, report.counts["duplicates"]) == ("held", {}, 0)


def test_an_action_that_is_meant_to_go_out_twice_is_no_duplicate() -> None:
    twice = Scenario(owners={"desk": [KEY]}, actions=[Action("notify", [KEY], times=2), Action("close", [KEY])])
    report = checked(of(Workflow, scenario=twice), fail_on={"duplicate-act"})
    assert (report.verdict, report.counts["duplicates"]) == ("held", 0)


class WorkflowLater(AwaitingAgent):
    scenario = WORLD
    key: str | None = None

    async def run(self) -> None:
        for resumed in (False, True):
            status = await self.look_later(KEY)
            expected = {KEY: status.id}
            await self.kit.aio.act("notify", {}, expect=expected, basis=expected, idempotency_key=self.key)
            if not resumed:
                await self.kit.aio.pause("approval")
        await self.kit.aio.act("close", {}, expect=expected, basis=expected)


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_awaited(runtime: str) -> None:
    report = checked(of(WorkflowLater, runtime=runtime), fail_on={"duplicate-act"}, max_events=1)
    assert [(failure.code, failure.events) for failure in report.failures] == [("duplicate-act", ())]
    assert checked(of(WorkflowLater, runtime=runtime, key="one"), fail_on={"duplicate-act"}, max_events=1).verdict == "held"
