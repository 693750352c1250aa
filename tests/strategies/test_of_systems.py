"""The strategies, given systems: what they draw fits the system, runs, is stored and is replayed."""

from __future__ import annotations

import gc

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import fencecheck
from fencecheck import history as entries
from fencecheck import strategies as fst
from fencecheck.codec import anchored, decode_history, encode_history
from fencecheck.errors import BadInput
from fencecheck.history import History, shape
from fencecheck.interleaving import KINDS, Event, Interleaving, Restart, Update, kind_of
from fencecheck.judge import judge
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.kit import Kit
from fencecheck.run.landing import Anchored
from fencecheck.run.simulate import Runner, simulate
from fencecheck.systems import ALL
from fencecheck.worlds import world

PlanFence, FreshRead = ALL["planfence"], ALL["fresh-read"]
KEY = "order/42/requirement"


class Shop(AgentSystem):
    """Ships what it read, in a world whose values are a strategy; cannot replan or restart."""

    scenario = Scenario(owners={"orders": [KEY]}, actions=[Action("ship", [KEY])], values={KEY: fst.values()})
    opened: list[str] = []

    def open(self) -> None:
        self.opened.append("open")

    def shutdown(self) -> None:
        self.opened.append("shut")

    def setup(self, kit: Kit) -> None:
        self.kit = kit

    def run(self) -> None:
        self.kit.act("ship", {"to": self.kit.read(KEY).value})


@pytest.mark.parametrize("system", ALL.values(), ids=ALL)
def test_interleavings_of_a_system_run_and_come_back_from_jsonl(system: type[AgentSystem]) -> None:
    @settings(max_examples=30, deadline=None)
    @given(fst.interleavings(system))
    def runs(interleaving: Interleaving) -> None:
        history = simulate(system, interleaving)
        assert interleaving.scenario == world()
        assert decode_history(encode_history(history)) == history

    runs()


def test_the_default_horizon_is_twice_the_points_of_the_episode_without_events() -> None:
    last = 2 * Runner(FreshRead).horizon - 1
    few = settings(max_examples=2000, database=None, derandomize=True)
    strategy = fst.interleavings(FreshRead, kinds=["update"], max_events=1)
    assert find(strategy, lambda i: any(e.at == last for e in i.events), settings=few).events == (Event(last, Update(KEY)),)

    @given(strategy)
    def within(interleaving: Interleaving) -> None:
        assert all(event.at <= last for event in interleaving.events)

    within()


def test_kinds_that_a_system_cannot_receive_are_left_out() -> None:
    receivable = Runner(Shop).kinds

    @settings(deadline=None)
    @given(fst.interleavings(Shop), fst.interleavings(Shop, kinds=["replan"]))
    def fits(interleaving: Interleaving, none: Interleaving) -> None:
        assert {kind_of(event.what) for event in interleaving.events} <= set(receivable)
        assert none.events == ()

    assert "replan" not in receivable
    fits()


def test_a_system_whose_values_are_a_strategy_is_simulated_inside_a_test() -> None:
    @settings(deadline=None)
    @given(fst.interleavings(Shop, kinds=["update", "deliver"]))
    def runs(interleaving: Interleaving) -> None:
        history = simulate(Shop, interleaving)
        assert history.scenario == interleaving.scenario == fst.concrete(Shop.scenario)
        assert all(act.args["to"] in (*history.scenario.values[KEY], None) for act in history.effects)

    runs()


def test_histories_find_the_stale_act_of_a_system_without_a_fence() -> None:
    def stale(history: History) -> bool:
        return any(finding.code == "stale-act" for finding in judge(history).findings)

    few = settings(max_examples=2000, database=None, derandomize=True, deadline=None)
    history = find(fst.histories(FreshRead, kinds=["update"], max_events=2), stale, settings=few)
    assert [(event.what, event.at) for event in history.fired] == [(Update(KEY), 1)]


def test_a_history_can_be_pasted() -> None:
    names = {name: getattr(fencecheck, name) for name in ("Action", "Event", "Interleaving", "Scenario")}
    kinds = {kind.__name__: kind for kind in (*KINDS.values(), *entries.Entry.__args__, Record, History)}

    @settings(max_examples=20, deadline=None)
    @given(fst.histories(FreshRead))
    def pasted(history: History) -> None:
        assert eval(repr(history), {**names, **kinds}) == history

    pasted()


def test_histories_shut_down_what_the_system_opened() -> None:
    def use() -> None:
        @settings(max_examples=5, deadline=None, database=None)
        @given(fst.histories(Shop))
        def draws(history: History) -> None: ...

        draws()

    Shop.opened.clear()
    use()
    for _ in range(3):
        gc.collect()
    assert Shop.opened[:2] == ["open", "shut"]  # to count the points
    assert Shop.opened[2] == "open"


@pytest.mark.parametrize("system", [PlanFence, FreshRead])
def test_anchored_events_land_where_they_landed(system: type[AgentSystem]) -> None:
    runner = Runner(system)

    @settings(max_examples=200, deadline=None)
    @given(fst.interleavings(system))
    def replays(interleaving: Interleaving) -> None:
        history = runner.run(interleaving.dropped, runner.run(interleaving.dropped, interleaving.events).fired)
        anchors = Anchored(tuple((event.label, event.occurrence, event.what) for event in anchored(history, history.fired)))
        again = runner.run(interleaving.dropped, anchors=anchors)
        assert not anchors.left
        assert shape(again) == shape(history)

    replays()


def test_a_restart_lands_again_before_the_call_that_it_unwound() -> None:
    runner = Runner(PlanFence)
    for at in range(runner.horizon):
        history = runner.run((), (Event(at, Restart()),))
        anchors = Anchored(tuple((event.label, event.occurrence, event.what) for event in anchored(history, history.fired)))
        assert shape(runner.run((), anchors=anchors)) == shape(history)
        assert not anchors.left


def test_what_is_no_system_is_refused() -> None:
    with pytest.raises(BadInput) as raised:
        fst.interleavings(Shop())
    assert str(raised.value) == "interleavings(): give the class Shop, not an instance of it: each episode needs a fresh one"
    with pytest.raises(BadInput, match=r"^int is not an adapter: let it inherit from fencecheck.AgentSystem and define run\(\)$"):
        fst.interleavings(int)
    with pytest.raises(BadInput, match=r"^interleavings\(\): expected a Scenario or an adapter class, not just\(3\)$"):
        fst.histories(st.just(3))
