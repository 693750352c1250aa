"""The reduced search sees all that the plain one sees: the same answers with the same findings, and nothing besides."""

from __future__ import annotations

from random import Random

import pytest

from fencecheck import mutants, systems
from fencecheck.interleaving import KINDS, Replan, Restart, Update
from fencecheck.mutants.concurrent import ConcurrentFence
from fencecheck.mutants.plain import PlainFence
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.simulate import Runner
from fencecheck.worlds import world

from .programs import asking_system
from .programs import system as program
from .seen import difference, plain, reduced
from .specimens import SHOWN_BY, SHOWN_BY_THREE, KeepsItsPlan, ReadsOnceMore

BUILT_IN = {**systems.ALL, "plain-fence": PlainFence, "concurrent-fence": ConcurrentFence, **mutants.ALL}
CONCURRENT = [name for name, system in BUILT_IN.items() if system.runtime != "sync"]
ALL_KINDS = (*KINDS, "dropped-declaration")
GROUPS = (
    ("update", "deliver", "outage"),
    ("update", "missing-parent", "corrupt-parent"),
    ("update", "restart", "replan", "tool-fault"),
    ("outage", "restore", "replan", "dropped-declaration"),
    ("missing-parent", "deliver", "restart", "update"),
)


@pytest.mark.parametrize("name", BUILT_IN)
def test_one_event_of_any_kind(name: str) -> None:
    with Runner(BUILT_IN[name], world(keys=2, declared=2, depth=2)) as runner:
        assert difference(runner, 1, ALL_KINDS, broken={"honest-owners"}) == ""


@pytest.mark.parametrize(("name", "kinds"), [(name, GROUPS[i % len(GROUPS)]) for i, name in enumerate(BUILT_IN)])
def test_two_events_of_some_kinds(name: str, kinds: tuple[str, ...]) -> None:
    with Runner(BUILT_IN[name], world(keys=2, declared=1 + len(name) % 2, depth=1)) as runner:
        assert difference(runner, 2, kinds) == ""


@pytest.mark.parametrize("name", CONCURRENT)
@pytest.mark.parametrize("kinds", [("switch", "advance", "update"), ("switch", "outage", "restore")])
def test_two_events_one_of_which_says_who_goes_first(name: str, kinds: tuple[str, ...]) -> None:
    with Runner(BUILT_IN[name], world(keys=2, declared=2, depth=1)) as runner:
        assert difference(runner, 2, kinds) == ""


@pytest.mark.parametrize("name", ["concurrent-fence", "takes-over"])
def test_three_turns(name: str) -> None:
    with Runner(BUILT_IN[name], world(keys=2, declared=2, depth=1)) as runner:
        assert difference(runner, 3, ("switch", "advance")) == ""


@pytest.mark.parametrize("kinds", GROUPS)
def test_two_events_of_each_group_of_kinds_under_the_reference_fence(kinds: tuple[str, ...]) -> None:
    with Runner(systems.ALL["planfence"], world(keys=2, declared=1, depth=2)) as runner:
        assert difference(runner, 2, kinds) == ""


@pytest.mark.parametrize("name", ["planfence", "asks-memory"])
def test_three_updates_and_deliveries(name: str) -> None:
    with Runner(BUILT_IN[name], world(keys=1, declared=1, depth=1, owners=1)) as runner:
        assert difference(runner, 3, ("update", "deliver")) == ""


@pytest.mark.parametrize("seed", range(30))
def test_two_events_in_a_generated_system(seed: int) -> None:
    with Runner(program(seed, length=2 + seed % 3)) as runner:
        kinds = Random(seed).sample([kind for kind in ALL_KINDS if kind in runner.kinds], 2)
        assert difference(runner, 2, {*kinds, "update"} & set(runner.kinds), broken={"honest-owners"} if seed % 3 == 0 else ()) == ""


@pytest.mark.parametrize("seed", range(100, 108))
def test_three_events_in_a_short_generated_system(seed: int) -> None:
    with Runner(program(seed, length=1)) as runner:
        kinds = Random(seed).sample([kind for kind in ("deliver", "missing-parent", "restart", "replan") if kind in runner.kinds], 1)
        assert difference(runner, 3, ("update", *kinds)) == ""


@pytest.mark.parametrize("seed", range(12))
def test_two_events_in_a_generated_system_that_asks_for_more(seed: int) -> None:
    with Runner(asking_system(seed, length=2)) as runner:
        further = Random(seed).choice([kind for kind in ("deliver", "missing-parent", "restart") if kind in runner.kinds])
        assert difference(runner, 2, ("update", further, "dropped-declaration")) == ""


def test_the_full_search_is_the_plain_one() -> None:
    with Runner(systems.ALL["planfence"], world(keys=2, declared=1, depth=1)) as runner:
        kinds = ("update", "replan", "restart", "missing-parent")
        assert set(reduced(runner, 2, kinds, full=True)) == set(plain(runner, 2, kinds))


# -- systems each of which shows one way in which an event and a point depend on one another -----------------------------------------


@pytest.mark.parametrize(("system", "kinds"), SHOWN_BY)
def test_two_events_where_they_depend_in_one_particular_way(system: type[AgentSystem], kinds: tuple[str, ...]) -> None:
    with Runner(system) as runner:
        assert difference(runner, 2, kinds) == ""


@pytest.mark.parametrize(("system", "kinds"), SHOWN_BY_THREE)
def test_three_events_where_it_takes_three(system: type[AgentSystem], kinds: tuple[str, ...]) -> None:
    with Runner(system) as runner:
        assert difference(runner, 3, kinds) == ""


def test_an_event_after_a_restart_lands_before_the_first_call_of_the_next_run() -> None:
    with Runner(ReadsOnceMore) as runner:
        found = reduced(runner, 2, ("restart", "update"))
    after_restart = [events for dropped, events in found.values() if [type(e.what) for e in events] == [Restart, Update]]
    assert (1, 1) in {(events[0].at, events[1].at) for events in after_restart}


def test_a_replan_comes_before_a_restart_and_after_it() -> None:
    with Runner(KeepsItsPlan) as runner:
        found = reduced(runner, 2, ("restart", "replan"))
    orders = {tuple(type(e.what) for e in events) for dropped, events in found.values() if len(events) == 2}
    assert {(Replan, Restart), (Restart, Replan)} <= orders
