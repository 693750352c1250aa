"""First mistakes of whoever writes an adapter, each answered by one sentence instead of a verdict that means nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from fencecheck import Action, AgentSystem, CorruptParent, Event, Outage, Scenario, Update
from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.faults import OwnerUnavailable
from fencecheck.history import Halted, Pause, Seam
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check

SCENARIO = Scenario(
    owners={"o": ["k"], "p": ["order/address"]}, actions=[Action("ship", depends_on=["k"])], values={"k": ["Tokyo", "Osaka"]}
)


def running(body: Any, **attributes: Any) -> type[AgentSystem]:
    return type("Mine", (AgentSystem,), {"scenario": SCENARIO, "run": body, **attributes})


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (lambda self: self.kit.act("ship", {}, plan={"to": "x"}), "Mine: kit.act('ship', plan=...) takes the record that"),
        (lambda self: self.kit.act("ship", {}, basis=["k@1"]), "Mine: basis= and expect= are mappings of key to version id, not a list"),
        (lambda self: self.kit.derive("plan", "k@1"), "Mine calls derive(..., 'k@1'): the parents are a list; write ['k@1']"),
        (lambda self: self.kit.derive("plan", 3), "Mine calls derive(..., 3): the parents are a list of records, or of their ids"),
        (lambda self: self.kit.derive("plan", key=3), "Mine calls derive(..., key=3): a key is a text"),
        (lambda self: self.kit.validated("k"), "Mine calls validated('k'): it takes a list of keys; write ['k']"),
        (lambda self: self.kit.validated(3), "Mine calls validated(3): it takes a list of keys, which are texts"),
        (lambda self: self.kit.validated([["k"]]), "Mine calls validated([['k']]): it takes a list of keys, which are texts"),
        (
            lambda self: self.kit.act("ship", {}, basis={"k": []}),
            "Mine: basis= and expect= map keys to version ids: unhashable type: 'list'",
        ),
        (lambda self: self.kit.agent(3).__enter__(), "Mine calls agent(3): the name of an agent is a text"),
        (
            lambda self: self.kit.act("ship", {}, basis={"order/adress": "k@1"}),
            "Mine: basis= of kit.act('ship') names 'order/adress', and no owner holds the key 'order/adress': did you mean 'order/address'?",
        ),
        (
            lambda self: self.kit.act("ship", {}, expect={"zz": "k@1"}),
            "Mine: expect= of kit.act('ship') names 'zz', and no owner holds the key 'zz' (keys: k, order/address)",
        ),
        (
            lambda self: self.kit.act("ship", {}, basis={"k": "r1"}),
            "gives 'r1' for 'k', which is how reports number the versions, and there is no such version: give the id of the record that",
        ),
        (
            lambda self: self.kit.act("ship", {}, basis={"order/address": None}),
            "gives None for 'order/address', and there is no such version: give the id of the record that was read, such as 'order/address@1'",
        ),
        (
            lambda self: self.kit.act("ship", {}, plan="p7"),
            "gives 'p7', and there is no record 'p7': give the record, or its id",
        ),
        (
            lambda self: self.kit.validated(["k", "order/adress"]),
            "Mine calls validated(['k', 'order/adress']): no owner holds the key 'order/adress': did you mean 'order/address'?",
        ),
        (
            lambda self: self.kit.derive("plan", ["order/adress@1"]),
            "Mine calls derive(..., ['order/adress@1']): there is no record 'order/adress@1': did you mean 'order/address@1'?",
        ),
        (lambda self: self.kit.derive("plan", [None]), "Mine calls derive(..., [None]): a parent is a record, or its id"),
        (
            lambda self: self.kit.derive("plan", [{"id": "k@1"}]),
            "Mine calls derive(..., [{'id': 'k@1'}]): the parents are a list of records, or of their ids",
        ),
        (
            lambda self: self.kit.act("shp"),
            "Mine acts 'shp', which its scenario does not list (actions: ship): did you mean 'ship'? Else add Action('shp', ...)",
        ),
    ],
)
def test_an_argument_of_the_wrong_shape(body: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as raised:
        Runner(running(body)).run()
    assert sentence in str(raised.value)


@pytest.mark.parametrize("port", ["read", "head", "memory"])
def test_a_key_that_nobody_owns(port: str) -> None:
    def halts(self: Any) -> None:
        try:
            getattr(self.kit, port)("order/adress")
        except LookupError:
            self.kit.halted("the order could not be read")
            return
        self.kit.act("ship", {})

    with pytest.raises(CouldNotRun) as caught:
        check(running(halts), fresh_process=False)
    assert str(caught.value) == (
        "Mine never acts, even without any event: run() returned, so there is nothing to judge: "
        "no owner holds the key 'order/adress': did you mean 'order/address'?"
    ).replace("run() returned", "it halted (the order could not be read)")


def test_what_is_told_of_a_key_is_told_once() -> None:
    halts = running(lambda self: self.kit.read("order/adress"), halt_exceptions=(LookupError,))
    with pytest.raises(CouldNotRun) as caught:
        check(halts, fresh_process=False)
    assert str(caught.value) == (
        "Mine never acts, even without any event: it halted (RecordMissing: no owner holds the key 'order/adress': did you mean 'order/address'?), "
        "so there is nothing to judge: correct the name"
    )


def test_a_key_that_nobody_owns_and_that_is_got_over() -> None:
    def acts(key: str) -> Any:
        def run(self: Any) -> None:
            with suppress(LookupError):
                self.kit.read(key, timeout=1)
            self.kit.act("ship", {"to": self.kit.memory("k").value})

        return running(run)

    with pytest.raises(CouldNotRun) as caught:
        check(acts("order/adress"), fresh_process=False)
    assert str(caught.value) == (
        "Mine asks for what there is none of: no owner holds the key 'order/adress': did you mean 'order/address'?"
    )
    assert check(acts("approval/7"), fresh_process=False, max_events=1).verdict == "violated"  # which nobody has written yet


def test_a_key_that_nobody_owns_by_way_of_the_systems_own() -> None:
    with pytest.raises(CouldNotRun) as caught:
        Runner(running(lambda self: self.kit.read("K", via=lambda: "Tokyo"))).run()
    assert str(caught.value) == "Mine calls kit.read('K', via=...): no owner holds the key 'K' (keys: k, order/address)"


def test_a_mistake_that_the_system_swallows_is_told_all_the_same() -> None:
    def run(self: Any) -> None:
        try:
            self.kit.act("ship", {}, basis={"k": "r1"})
        except Exception:
            self.kit.halted("something went wrong")

    with pytest.raises(BadInput, match=r"^Mine: basis= of kit\.act\('ship'\) gives 'r1' for 'k'"):
        check(running(run), fresh_process=False)


def test_what_a_fault_handed_out_may_be_named() -> None:
    def run(self: Any) -> None:
        stranger = self.kit.read("k", timeout=1)
        plan = self.kit.derive("plan", [stranger])
        self.kit.validated([stranger.key])
        self.kit.act("ship", {}, plan=plan, basis={stranger.key: stranger.id, "k": stranger.id})

    alone = Scenario(owners={"o": ["k"]}, actions=[Action("ship", depends_on=["k"])])
    history = Runner(running(run, scenario=alone)).run((), (Event(0, Outage("o", "wrong-key")),))
    assert history.effects[0].basis == {"k/other": "k/other@1", "k": "k/other@1"}
    history = Runner(running(lambda self: self.kit.derive("plan", [self.kit.read("k", timeout=1)]))).run(
        (), (Event(0, Outage("o", "malformed")),)
    )
    assert [record.parents for record in history.records.values() if record.key is None] == [("<malformed answer>",)]

    def of_corrupt(self: Any) -> None:
        record = self.kit.record(self.kit.read("k").id)
        self.kit.derive("plan", record.parents)

    history = Runner(running(of_corrupt)).run((), (Event(1, CorruptParent("k", "dangling")),))
    assert [record.parents for record in history.records.values() if record.key is None] == [("k@1/dangling",)]


def test_what_versions_in_returns() -> None:
    act = lambda self: self.kit.act("ship", {})  # noqa: E731
    with pytest.raises(BadInput, match=r"^Mine: versions_in\(\) returns a mapping of key to version ids, not 3$"):
        Runner(running(act, versions_in=lambda self, args: 3)).run()
    with pytest.raises(CouldNotRun, match=r"^Mine: versions_in\(\) failed: KeyError: 'to' \(test_first_mistakes.py:\d+\)$"):
        Runner(running(act, versions_in=lambda self, args: args["to"])).run()
    history = Runner(running(act, versions_in=lambda self, args: {"k": "k@1"})).run()
    assert history.effects[0].versions == {"k": ("k@1",)}


def test_a_fault_for_which_no_exception_is_made() -> None:
    system = running(lambda self: self.kit.read("k"), fault_exceptions={OwnerUnavailable: lambda text: None})
    with pytest.raises(BadInput, match=r"^Mine: fault_exceptions makes None of OwnerUnavailable: let it make an exception$"):
        Runner(system).run((), (Event(0, Outage("o")),))


@pytest.mark.parametrize("runtime", ["sync", "asyncio"])
def test_labels_and_reasons_become_texts(runtime: str) -> None:
    def run(self: AgentSystem) -> None:
        self.kit.pause(3)  # type: ignore[arg-type]
        self.kit.point(None)  # type: ignore[arg-type]
        self.kit.halted(LookupError("gone"))  # type: ignore[arg-type]

    async def awaited(self: AgentSystem) -> None:
        await self.kit.aio.pause(3)  # type: ignore[arg-type]
        await self.kit.aio.point(None)  # type: ignore[arg-type]
        self.kit.halted(LookupError("gone"))  # type: ignore[arg-type]

    history = Runner(running(run if runtime == "sync" else awaited, runtime=runtime)).run()
    assert history.entries[:3] == [Pause("agent", "3"), Seam("agent", "None"), Halted("agent", "gone")]


@pytest.mark.parametrize("method", ["setup", "run", "teardown", "replan", "true_head"])
def test_a_method_that_can_never_run(method: str) -> None:
    def generator(self: Any) -> Any:
        yield

    with pytest.raises(BadInput, match=rf"^Mine: {method} must be a method, not 3$"):
        Runner(running(lambda self: None, **{method: 3}) if method != "run" else running(3))
    bad = running(generator) if method == "run" else running(lambda self: None, **{method: generator})
    with pytest.raises(BadInput, match=rf"^Mine: {method}\(\) has a yield in it, so that its body would never run: take the yield out$"):
        Runner(bad)


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
