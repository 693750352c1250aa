"""The strategies: what they draw is legal and can be pasted, the simplest is nothing, and what cannot be used is refused at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument, NoSuchExample
from msgspec.structs import replace

import fencecheck
from fencecheck import strategies as fst
from fencecheck.errors import BadInput
from fencecheck.interleaving import KINDS, Event, Interleaving, MissingParent, Outage, Switch, Update, kind_of
from fencecheck.model import Action, Scenario
from fencecheck.strategies._arguments import KIND_ORDER
from fencecheck.worlds import world

WORLD = world()
KEYS = WORLD.actions[0].depends_on
BARE = Scenario(owners={}, actions=[Action("ship")])
NAMES = {name: getattr(fencecheck, name) for name in ("Action", "Event", "Interleaving", "Scenario")} | {
    kind.__name__: kind for kind in KINDS.values()
}
ONE_KIND: dict[str, Callable[[Scenario], st.SearchStrategy[Any]]] = {
    "update": fst.updates,
    "deliver": fst.deliveries,
    "switch": fst.switches,
    "advance": fst.advances,
    "outage": fst.outages,
    "restore": fst.restores,
    "missing-parent": fst.missing_parents,
    "corrupt-parent": fst.corrupt_parents,
    "tool-fault": fst.tool_faults,
    "restart": fst.restarts,
    "replan": fst.replans,
}


def test_all_kinds_have_a_strategy_and_a_place_in_the_order() -> None:
    assert set(KIND_ORDER) == set(KINDS) == set(ONE_KIND)


@given(fst.scenarios().flatmap(fst.interleavings))
def test_a_drawn_interleaving_can_be_pasted(interleaving: Interleaving) -> None:
    assert eval(repr(interleaving), dict(NAMES)) == interleaving


@given(st.data(), st.sampled_from(sorted(ONE_KIND)))
def test_each_kind_draws_its_own_events_which_can_be_pasted(data: st.DataObject, kind: str) -> None:
    what = data.draw(ONE_KIND[kind](data.draw(fst.scenarios())))
    assert kind_of(what) == kind
    assert eval(repr(what), dict(NAMES)) == what


@given(fst.interleavings(WORLD, max_events=3, kinds=["replan", "update"], horizon=5, drop_declarations=False))
def test_options_bound_what_is_drawn(interleaving: Interleaving) -> None:
    assert interleaving.scenario is WORLD
    assert len(interleaving.events) <= 3
    assert {kind_of(event.what) for event in interleaving.events} <= {"update", "replan"}
    assert all(event.at < 5 for event in interleaving.events)
    assert interleaving.dropped == ()


@given(fst.interleavings(WORLD))
def test_drawn_names_are_those_of_the_scenario(interleaving: Interleaving) -> None:
    known = {
        "key": WORLD.keys,
        "owner": tuple(WORLD.owners),
        "tool": ("deliver",),
        "agent": WORLD.agents,
        "task": (*WORLD.tasks, *range(4)),
        "place": (*range(2 * WORLD.depth + 2 + 1), *KEYS),
    }
    for event in interleaving.events:
        for field in event.what.__struct_fields__:
            assert field == "how" or getattr(event.what, field) in known[field]
        assert event.what != Outage("orders", "older-head")
    assert set(interleaving.dropped) <= {("deliver", key) for key in KEYS}


@given(fst.scenarios())
def test_scenarios_are_worlds(scenario: Scenario) -> None:
    assert 1 <= len(scenario.actions[0].depends_on) <= min(4, len(scenario.keys)) <= 8
    assert scenario.depth in (1, 2, 4, 8)
    assert all(len(values) == 8 for values in scenario.values.values())


@given(fst.scenarios(keys=st.just(3), declared=st.just(9), depth=st.just(5), owners=st.just(2), family=st.just("booking"), seed=st.just(4)))
def test_scenarios_of_fixed_sizes(scenario: Scenario) -> None:
    assert scenario == world(keys=3, declared=3, depth=5, owners=2, family="booking", seed=4)


@given(st.from_type(Interleaving), st.from_type(Scenario))
def test_types_are_registered(interleaving: Interleaving, scenario: Scenario) -> None:
    assert scenario.keys
    assert interleaving.scenario.keys


def test_a_scenario_in_which_little_can_happen() -> None:
    @given(fst.interleavings(BARE))
    def bare(interleaving: Interleaving) -> None:
        assert not {kind_of(event.what) for event in interleaving.events} & {"update", "deliver", "outage", "restore"}
        assert interleaving.dropped == ()

    @given(fst.interleavings(BARE, kinds=["update"]))
    def empty(interleaving: Interleaving) -> None:
        assert interleaving == Interleaving(BARE)

    bare()
    empty()


@given(fst.dropped_declarations(Scenario(owners={"o": ["a", "b"]}, actions=[Action("x", ["a", "b"], declared=["a"])])))
def test_only_what_is_declared_can_be_dropped(dropped: tuple[tuple[str, str], ...]) -> None:
    assert dropped in ((), (("x", "a"),))


@given(fst.dropped_declarations(Scenario(owners={"o": ["a"]}, actions=[Action("x", lambda args: [args["key"]])])))
def test_dependencies_that_are_a_function_are_not_dropped(dropped: tuple[tuple[str, str], ...]) -> None:
    assert dropped == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fst.updates("order"), "updates(): expected a Scenario, not 'order'; fencecheck.world() makes one"),
        (lambda: fst.updates(BARE), "updates(): the scenario has no keys"),
        (lambda: fst.outages(BARE), "outages(): the scenario has no owners"),
        (
            lambda: fst.outages(WORLD, assume_broken={"clocks"}),
            "outages(): assume_broken cannot hold 'clocks': use honest-owners",
        ),
        (
            lambda: fst.outages(WORLD, assume_broken="honest-owners"),
            "outages(): assume_broken must be a list of names, not 'honest-owners'",
        ),
        (lambda: fst.events(WORLD, kinds="update"), "events(): kinds must be a list of names, not 'update'"),
        (
            lambda: fst.events(WORLD, kinds=["updat"]),
            f"events(): kinds cannot hold 'updat': use {', '.join(KINDS)}",
        ),
        (
            lambda: fst.events(WORLD, kinds=[]),
            f"events(): kinds is empty: name at least one of {', '.join(KIND_ORDER)}",
        ),
        (lambda: fst.events(BARE, kinds=["update"]), "events(): the scenario has no keys, so that none of these kinds can happen"),
        (lambda: fst.events(WORLD, horizon=0), "events(): horizon must be a whole number of 1 or more, not 0"),
        (lambda: fst.interleavings(WORLD, horizon=2.5), "interleavings(): horizon must be a whole number of 1 or more, not 2.5"),
        (lambda: fst.interleavings(WORLD, max_events=-1), "interleavings(): max_events must be a whole number of 0 or more, not -1"),
        (lambda: fst.interleavings(WORLD, max_events=True), "interleavings(): max_events must be a whole number of 0 or more, not True"),
        (lambda: fst.interleavings(WORLD, drop_declarations="no"), "interleavings(): drop_declarations must be True or False, not 'no'"),
        (lambda: fst.interleavings(3), "interleavings(): expected a Scenario or an adapter class, not 3"),
        (lambda: fst.histories(WORLD), "histories(): expected an adapter class, not a scenario: only a system makes a history"),
        (lambda: fst.scenarios(keys=4), "scenarios(): keys must be a strategy, not 4: wrap a fixed value in st.just(4)"),
        (lambda: fst.values("cooking"), "values(): there is no family 'cooking': use delivery, booking, deployment"),
        (lambda: fst.values("booking", 3), "values(): key must be a text, not 3"),
        (lambda: fst.concrete(WORLD, -1), "concrete(): seed must be a whole number of 0 or more, not -1"),
    ],
)
def test_bad_arguments_are_refused_when_the_strategy_is_made(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        make()
    assert str(raised.value) == message
    assert isinstance(raised.value, BadInput)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": st.just(17)}, "scenarios(): keys gave 17, which is not a whole number of 1 to 16"),
        ({"owners": st.just(0)}, "scenarios(): owners gave 0, which is not a whole number of 1 or more"),
        ({"family": st.just("cooking")}, "there is no family 'cooking': use delivery, booking, deployment"),
    ],
)
def test_numbers_out_of_range_are_refused_when_drawn(options: dict[str, Any], message: str) -> None:
    @given(fst.scenarios(**options))
    def draws(scenario: Scenario) -> None: ...

    with pytest.raises(BadInput) as raised:
        draws()
    assert str(raised.value) == message


def test_options_are_keyword_only() -> None:
    with pytest.raises(TypeError):
        fst.interleavings(WORLD, 3)  # type: ignore[misc]
    with pytest.raises(TypeError):
        fst.events(WORLD, ["update"])  # type: ignore[misc]


# -- values


@given(st.lists(fst.values("booking", "trip/7/hotel"), min_size=2, max_size=8, unique=True))
def test_values_are_realistic_texts(texts: list[str]) -> None:
    assert all(" Hotel, " in text for text in texts)


def test_concrete_leaves_a_scenario_without_strategies_alone() -> None:
    assert fst.concrete(WORLD) is WORLD


OPEN = Scenario(
    owners={"o": ["a", "b", "c", "d"]},
    actions=[Action("x", ["a"])],
    values={"a": fst.values(), "b": st.text(max_size=3), "c": st.sampled_from(["", "fixed", "1", "10"]), "d": ["fixed", "more"]},
)


def test_concrete_draws_values_that_all_differ() -> None:
    closed = fst.concrete(OPEN)
    assert {key: len(values) for key, values in closed.values.items()} == {"a": 8, "b": 8, "c": 2, "d": 2}
    texts = [text for values in closed.values.values() for text in values]
    assert len(set(texts)) == len(texts)
    assert set(closed.values["c"]) == {"1", "10"}
    assert all(texts)
    assert fst.concrete(OPEN) is closed
    assert fst.concrete(replace(OPEN)) == closed
    assert fst.concrete(OPEN, 1) != closed
    assert all(type(values) is tuple for values in closed.values.values())


def test_concrete_gives_the_same_in_every_process_and_inside_a_test() -> None:
    @settings(max_examples=3, deadline=None, database=None)
    @given(st.integers())
    def inside(_: int) -> None:
        assert fst.concrete(replace(OPEN)) == expected

    expected = fst.concrete(OPEN)
    inside()
    code = "from tests.strategies.test_strategies import OPEN, fst; print(fst.concrete(OPEN).values)"
    root = Path(__file__).parents[2]
    for hash_seed, more in (("1", ""), ("2", "import fencecheck.codec, fencecheck.run.simulate, fencecheck.judge; ")):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
        run = subprocess.run([sys.executable, "-c", more + code], env=env, capture_output=True, text=True, check=True)
        assert run.stdout == f"{expected.values}\n"


def test_concrete_refuses_a_strategy_that_gives_nothing_new() -> None:
    for strategy in (st.just(""), st.just("more")):
        scenario = Scenario(owners={"o": ["a", "b"]}, actions=[Action("x", ["a"])], values={"a": strategy, "b": ["more"]})
        with pytest.raises(BadInput) as raised:
            fst.concrete(scenario)
        assert str(raised.value) == "concrete(): the strategy for 'a' gives no value that is not empty and differs from all others"
    with pytest.raises(BadInput, match=r"^concrete\(\): nothing can be drawn from the strategy for 'a': "):
        fst.concrete(Scenario(owners={"o": ["a"]}, actions=[Action("x", ["a"])], values={"a": st.nothing()}))


def test_interleavings_of_an_open_scenario_are_concrete() -> None:
    @settings(max_examples=5)
    @given(fst.interleavings(OPEN))
    def closed(interleaving: Interleaving) -> None:
        assert interleaving.scenario == fst.concrete(OPEN)

    closed()


def test_switches_are_drawn_where_one_is_known_to_fire_too() -> None:
    options: dict[str, Any] = {"kinds": ["switch", "update"], "horizon": 3, "tasks": 2, "turns": (7,)}
    drawn = fst.interleavings(WORLD, **options)
    found = find(drawn, lambda one: any(event == Event(7, Switch(1)) for event in one.events))
    assert found.events == (Event(7, Switch(1)),)
    assert find(drawn, lambda one: any(isinstance(event.what, Switch) for event in one.events)).events == (Event(0, Switch(0)),)
    with pytest.raises(NoSuchExample):
        find(drawn, lambda one: any(event.at > 2 and event.at != 7 for event in one.events))
    with pytest.raises(NoSuchExample):
        find(drawn, lambda one: any(event.at == 7 and isinstance(event.what, Update) for event in one.events))


def test_older_heads_only_if_owners_may_lie() -> None:
    def lies(interleaving: Interleaving) -> bool:
        return any(isinstance(event.what, Outage) and event.what.how == "older-head" for event in interleaving.events)

    few = settings(max_examples=300, database=None, derandomize=True)
    with pytest.raises(NoSuchExample):
        find(fst.interleavings(WORLD, kinds=["outage"]), lies, settings=few)
    found = find(fst.interleavings(WORLD, kinds=["outage"], assume_broken={"honest-owners"}), lies, settings=few)
    assert found.events == (Event(0, Outage("orders", "older-head")),)


def test_places_reach_every_declared_key_and_the_end_of_the_lineage() -> None:
    for place in (0, 6, *KEYS):
        few = settings(max_examples=2000, database=None, derandomize=True)
        assert find(fst.missing_parents(WORLD), lambda what, place=place: what.place == place, settings=few) == MissingParent(place)


def test_importing_the_package_imports_neither_hypothesis_nor_faker() -> None:
    code = (
        "import sys, fencecheck, fencecheck.codec, fencecheck.worlds, fencecheck.run.simulate; fencecheck.simulate; "
        "print([m for m in ('hypothesis', 'faker') if m in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_importing_the_strategies_does_not_import_faker() -> None:
    code = "import sys, fencecheck.strategies; print('faker' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    assert subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_simplest_event_is_an_update_before_the_first_point() -> None:
    assert find(fst.events(WORLD), lambda event: True) == Event(0, Update(KEYS[0]))


def test_the_profiles_are_there_to_be_loaded() -> None:
    pr, nightly = (settings.get_profile(f"fencecheck-{name}") for name in ("pr", "nightly"))
    assert (pr.derandomize, pr.database, pr.print_blob, pr.deadline) == (True, None, True, None)
    assert (nightly.derandomize, nightly.deadline) == (False, None)
    assert nightly.database is not None


@given(fst.large_scenarios())
def test_large_scenarios_are_worlds_within_their_bounds(scenario: Scenario) -> None:
    keys, declared = len(scenario.keys), len(scenario.actions[0].depends_on)
    assert 1 <= declared <= keys <= 16
    assert len(scenario.owners) <= min(6, keys)
    assert scenario.depth <= 8
    assert len(scenario.agents) == len(scenario.tasks) <= 8


def test_the_simplest_large_scenario_is_the_smallest() -> None:
    assert find(fst.large_scenarios(), lambda scenario: True) == world(keys=1, declared=1, depth=1, owners=1)
