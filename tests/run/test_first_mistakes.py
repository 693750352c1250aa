"""First mistakes of whoever writes an adapter, each answered by one sentence instead of a verdict that means nothing."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck import Action, AgentSystem, Event, Scenario, Update
from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.faults import OwnerUnavailable
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check

SCENARIO = Scenario(owners={"o": ["k"]}, actions=[Action("ship", depends_on=["k"])], values={"k": ["Tokyo", "Osaka"]})


def running(body: Any, **attributes: Any) -> type[AgentSystem]:
    return type("Mine", (AgentSystem,), {"scenario": SCENARIO, "run": body, **attributes})


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (lambda self: self.kit.act("ship", {}, plan={"to": "x"}), "Mine: kit.act('ship', plan=...) takes the record that"),
        (lambda self: self.kit.act("ship", {}, basis=["k@1"]), "Mine: basis= and expect= are mappings of key to version id, not a list"),
        (lambda self: self.kit.derive("plan", "k@1"), "Mine calls derive(..., 'k@1'): the parents are a list; write ['k@1']"),
        (lambda self: self.kit.validated("k"), "Mine calls validated('k'): it takes a list of keys; write ['k']"),
    ],
)
def test_an_argument_of_the_wrong_shape(body: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as raised:
        Runner(running(body)).run()
    assert sentence in str(raised.value)


def test_a_record_given_as_parents() -> None:
    with pytest.raises(BadInput, match="the parents are a list"):
        Runner(running(lambda self: self.kit.derive("plan", self.kit.read("k")))).run()


def test_via_without_a_way_for_updates_to_reach_the_store() -> None:
    rows = {"k": "Tokyo"}

    def run(self: AgentSystem) -> None:
        row = self.kit.read("k", via=lambda: rows["k"])
        self.kit.act("ship", {"to": row})

    with pytest.raises(CouldNotRun, match=r"via= of kit.read\('k'\) did not answer with the current version, .* define publish"):
        check(running(run), fresh_process=False)


def test_a_value_that_can_be_there_by_chance_does_not_pass_for_evidence() -> None:
    flags = Scenario(owners={"o": ["k"]}, actions=[Action("ship", depends_on=["k"])], values={"k": [True, False, True, False]})

    def run(self: AgentSystem) -> None:
        flag = self.kit.read("k", timeout=1)
        if flag.key != "k" or flag.removed:
            raise LookupError("no flag")
        self.kit.pause("approval")
        self.kit.act("ship", {"vip": flag.value, "notify": True, "partial": False})

    judgement = judge(Runner(running(run, scenario=flags)).run((), (Event(2, Update("k")),)))
    assert [finding.code for finding in judgement.findings] == ["no-evidence"]


def test_state_that_only_a_fault_leaves_behind_is_noticed() -> None:
    class Breaker(AgentSystem):
        scenario = SCENARIO
        is_open = False

        def run(self) -> None:
            if Breaker.is_open:
                self.kit.halted("the breaker is open")
                return
            try:
                order = self.kit.read("k", timeout=1)
            except OwnerUnavailable:
                Breaker.is_open = True
                self.kit.halted("the owner is down")
                return
            if getattr(order, "key", None) == "k":
                self.kit.act("ship", {"to": order.value}, expect={"k": order.id})

    with pytest.raises(
        CouldNotRun, match="leaks state from one episode into the next: after the search the episode without events is another"
    ):
        check(Breaker, fresh_process=False)


def test_a_bug_beside_a_halt_is_a_crash() -> None:
    class Stop(Exception):
        pass

    for members, outcome in (([Stop()], "halted-needless"), ([Stop(), KeyError("bug")], "crashed")):

        async def run(self: AgentSystem, members: list[Exception] = members) -> None:
            raise ExceptionGroup("both", members)

        system = running(run, runtime="asyncio", halt_exceptions=(Stop,))
        assert judge(Runner(system).run()).outcome == outcome
