"""Interleavings drawn by Hypothesis: what is counted, what is said of chance, and what a failure is brought down to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.database import InMemoryExampleDatabase

from fencecheck import systems
from fencecheck.codec import load_case, save_case
from fencecheck.errors import BadInput, Nondeterministic
from fencecheck.interleaving import Event, Interleaving, MissingParent, Outage, Update
from fencecheck.judge import ALWAYS_FAIL
from fencecheck.report.terminal import bound_in_words, summary
from fencecheck.run.loading import load
from fencecheck.run.simulate import Runner
from fencecheck.search.budget import Budget
from fencecheck.search.check import check
from fencecheck.search.explore import _Found, _Hunt
from fencecheck.search.replay import case_of, replay
from fencecheck.search.report import Bound
from fencecheck.search.tally import Tally
from fencecheck.worlds import world

from .files import agent

FENCED = """
order = kit.read("x", timeout=1)
if getattr(order, "key", None) != "x" or order.removed or kit.head("x", timeout=1) != order.id:
    raise Halt("changed")
kit.validated(["x"])
kit.act("ship", {"to": order.value}, basis={"x": order.id})
"""
COUNTED = "RUNS = [0]"


def explored(folder: Path, run: str, before: str = "", **options: Any) -> Any:
    return check(agent(folder, run, before), engine="explore", seed=1, fresh_process=False, **{"examples": 300, **options})


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What fired in each episode that is counted."""
    found: list[Any] = []
    add = Tally.add

    def noting(self: Tally, dropped: Any, events: Any, judgement: Any, fired: tuple[Event, ...]) -> None:
        found.append((dropped, fired))
        add(self, dropped, events, judgement, fired)

    monkeypatch.setattr(Tally, "add", noting)
    return found


@pytest.mark.parametrize("max_events", [1, 3])
def test_an_episode_that_comes_again_is_not_counted_again(tmp_path: Path, counted: list[Any], max_events: int) -> None:
    report = explored(tmp_path, FENCED, max_events=max_events)
    assert report.verdict == "held"
    assert report.bound.value == 300  # drawn
    assert len(counted) == len(set(counted)) == report.episodes < 300
    assert report.counts["completed"] + report.counts["halted_changed"] + report.counts["halted_unverified"] == report.episodes


def test_a_system_that_now_and_then_goes_another_way(tmp_path: Path) -> None:
    now_and_then = FENCED.replace("    raise", "    RUNS[0] += 1\n    if RUNS[0] % 3:\n        raise")
    with pytest.raises(Nondeterministic) as caught:
        explored(tmp_path, now_and_then, COUNTED)
    said = str(caught.value)
    assert said.startswith("Agent is not deterministic: one interleaving failed once and then did not: entry ")
    assert "Validated(agent='agent', keys=('x',)) in one and Ended(how='halted', detail='Halt: changed') in the other" in said


def test_a_system_that_now_and_then_sends_something_else(tmp_path: Path) -> None:
    """Where the plan does not say it, arguments are all that shows what an act was made from, and runs are not compared by them."""
    now_and_then = """
order = kit.read("x", timeout=1)
kit.pause()
fresh = kit.read("x", timeout=1)
changed = getattr(order, "id", "") != getattr(fresh, "id", "")
RUNS[0] += changed
kit.act("ship", {"to": order.value if changed and RUNS[0] % 3 == 0 else fresh.value})
"""
    with pytest.raises(Nondeterministic, match=r"^Agent is not deterministic: one interleaving failed once and then did not show "):
        explored(tmp_path, now_and_then, COUNTED, kinds=["update"])


def test_what_a_failure_is_brought_down_to_may_break_what_the_search_may(tmp_path: Path) -> None:
    """Of two ways to fail the simpler is an owner that answers with an older version, which only this search may try."""
    fails_in_two_ways = """
order = kit.read("x", timeout=1)
if getattr(order, "key", None) != "x" or order.removed:
    raise Halt("no order")
plan = kit.derive({"to": order.value}, [order])
head = kit.head("x", timeout=1)
try:
    if kit.record(order) != order:
        raise Halt("corrupt")
    lost = False
except faults.RecordMissing:
    lost = True
ids = (order.id, head, lost)
if ids in [("x@1", "x@1", False), ("x@2", "x@1", False), ("x@2", "x@2", True)]:
    kit.validated(["x"])
    kit.act("ship", {"to": order.value}, plan=plan)
else:
    raise Halt("changed")
"""
    system = agent(tmp_path, fails_in_two_ways)
    drawn = Interleaving(system.scenario, events=[Event(0, Update("x")), Event(3, MissingParent("x"))])
    found = {}
    for broken in (frozenset[str](), frozenset({"honest-owners"})):
        with Runner(system) as runner:
            hunt = _Hunt(runner, "at-validation", ALWAYS_FAIL, broken)
            with pytest.raises(_Found):
                hunt.run(drawn)
            hunt.keep_smallest()
        [(code, shown)] = hunt.tally.shown.items()
        assert code == "unverified-act"
        found[broken] = shown.events
    assert list(found.values()) == [
        (Event(0, Update("x")), Event(3, MissingParent(1))),
        (Event(0, Update("x")), Event(2, Outage("orders", "older-head"))),
    ]


# -- worlds ----------------------------------------------------------------------------------------------------------------------------

EXECUTORS = """
import asyncio
from fencecheck import AgentSystem

class Crew(AgentSystem):
    runtime = "asyncio"

    async def run(self):
        orders = [await self.kit.aio.read(key) for key in self.kit.scenario.actions[0].depends_on]
        plan = await self.kit.aio.derive({order.key: order.value for order in orders}, orders)
        if len(self.kit.scenario.agents) > 2:
            async with asyncio.TaskGroup() as group:
                for name in self.kit.scenario.agents:
                    group.create_task(self.carry_out(name, plan))
        else:
            await self.carry_out("agent", plan)

    async def carry_out(self, name, plan):
        with self.kit.agent(name):
            await self.kit.aio.act(self.kit.scenario.actions[0].name, plan.value, plan=plan)
"""
"""One plan carried out by everyone, where there are more than two."""


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Interleaving]:
    """The examples, in the order in which they are drawn."""
    found: list[Interleaving] = []
    run = _Hunt.run

    def noting(self: _Hunt, interleaving: Interleaving) -> None:
        found.append(interleaving)
        run(self, interleaving)

    monkeypatch.setattr(_Hunt, "run", noting)
    return found


def large(system: Any, **options: Any) -> Any:
    return check(system, engine="explore", worlds="large", fresh_process=False, **options)


@pytest.mark.parametrize("seed", range(2))
def test_a_large_world_shrinks_to_the_smallest_that_fails(seed: int) -> None:
    [failure] = large(systems.ALL["fresh-read"], seed=seed, kinds=["update"]).failures
    assert failure.interleaving.scenario == world(keys=1, declared=1, depth=1, owners=1)
    assert failure.events == (Event(2, Update("order/42/requirement")),)


def test_as_many_generations_are_left_as_it_takes() -> None:
    [failure] = large(systems.ALL["direct-parents"], kinds=["update"]).failures
    assert failure.interleaving.scenario == world(keys=1, declared=1, depth=2, owners=1)


def test_as_many_executors_are_left_as_it_takes(tmp_path: Path) -> None:
    (tmp_path / "crew.py").write_text(EXECUTORS)
    [failure] = large(load(f"{tmp_path / 'crew.py'}:Crew"), examples=100, fail_on=["duplicate-act"], kinds=["deliver"]).failures
    assert failure.code == "duplicate-act"
    assert failure.interleaving == Interleaving(world(keys=1, declared=1, depth=1, owners=1, executors=3))


def test_the_case_of_a_drawn_world_stores_it_and_replays(tmp_path: Path) -> None:
    report = large(systems.ALL["direct-parents"], kinds=["update"])
    case = load_case(save_case(case_of(report, report.failures[0]), tmp_path))
    assert case.scenario == world(keys=1, declared=1, depth=2, owners=1)
    assert replay(case, systems.ALL["direct-parents"]).status == "fails"


def test_events_land_where_the_episodes_of_their_world_can_have_points(drawn: list[Interleaving]) -> None:
    report = large(systems.ALL["planfence"], examples=60, seed=1)
    sizes = {(len(one.scenario.keys), len(one.scenario.owners), one.scenario.depth, len(one.scenario.agents)) for one in drawn}
    assert len(sizes) > 10
    for one in drawn:
        with Runner(systems.ALL["planfence"], one.scenario) as runner:
            assert all(event.at < 2 * runner.horizon for event in one.events)
    most = report.bound.worlds
    assert (most.keys, most.owners, most.depth, most.executors) == tuple(max(size[i] for size in sizes) for i in range(4))
    words = f"{most.keys} keys ({most.declared} declared), {most.owners} owners, depth {most.depth} and {most.executors} executors"
    assert bound_in_words(report) == f"60 interleavings drawn by Hypothesis, in worlds of up to {words}"
    assert max(len(one.events) for one in drawn) <= 12


def test_a_world_that_is_given_is_kept(drawn: list[Interleaving]) -> None:
    given = world(keys=3, declared=1)
    report = check(systems.ALL["planfence"], engine="explore", scenario=given, examples=20, fresh_process=False)
    assert {id(one.scenario) for one in drawn} == {id(given)}
    assert report.bound.worlds is None


def test_a_system_that_brings_its_scenario_gets_no_other(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^Agent brings its own scenario: no other world can be drawn for it$"):
        explored(tmp_path, FENCED, worlds="large")


# -- profiles --------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> InMemoryExampleDatabase:
    """The database of the nightly profile, in memory."""
    database = InMemoryExampleDatabase()
    nightly = settings(settings.get_profile("fencecheck-nightly"), database=database)
    monkeypatch.setitem(settings._profiles, "fencecheck-nightly", nightly)
    return database


def test_a_nightly_failure_is_tried_first_the_next_night(kept: InMemoryExampleDatabase, drawn: list[Interleaving]) -> None:
    options: dict[str, Any] = {"engine": "explore", "profile": "fencecheck-nightly", "fresh_process": False}
    night = check(systems.ALL["fresh-read"], seed=1, **options)
    assert night.verdict == "violated"
    drawn.clear()
    following = check(systems.ALL["fresh-read"], seed=2, examples=1, **options)
    assert following.failures[0].events == night.failures[0].events
    assert drawn[0].events  # drawing begins with the empty interleaving
    drawn.clear()
    assert check(systems.ALL["planfence"], seed=2, examples=20, **options).verdict == "held"
    assert drawn[0].events == ()  # what one system fails by is no example for another


def test_a_nightly_run_begins_somewhere_else_each_time(kept: InMemoryExampleDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"engine": "explore", "profile": "fencecheck-nightly", "fresh_process": False, "examples": 5}
    monkeypatch.setattr("secrets.randbelow", lambda most: 7)
    assert check(systems.ALL["planfence"], **options).seed == 7
    assert check(systems.ALL["planfence"], seed=3, **options).seed == 3


def test_a_pull_request_draws_the_same_each_time_and_keeps_nothing(kept: InMemoryExampleDatabase, drawn: list[Interleaving]) -> None:
    options: dict[str, Any] = {"engine": "explore", "profile": "fencecheck-pr", "fresh_process": False, "examples": 50, "kinds": ["update"]}
    report = check(systems.ALL["fresh-read"], **options)
    once = [*drawn]
    drawn.clear()
    check(systems.ALL["fresh-read"], **options)
    assert drawn == once
    assert kept.data == {}
    again = "--seed 0 --profile fencecheck-pr --examples 50 --kinds update"
    assert report.again == f"fencecheck check fresh-read --engine explore {again}"


@pytest.mark.parametrize("options", [{"profile": "ci"}, {"worlds": "small"}, {"engine": "exhaust", "worlds": "large"}])
def test_what_cannot_be_drawn_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        check(systems.ALL["planfence"], **{"engine": "explore", **options})


def test_the_command_that_draws_the_same_again_says_all_that_matters() -> None:
    options: dict[str, Any] = {"engine": "explore", "profile": "fencecheck-pr", "examples": 5, "fresh_process": False}
    sized = check(systems.ALL["planfence"], scenario=world(keys=5, declared=3, depth=1), level="at-act", fail_on=["crash"], **options)
    assert sized.again is not None
    assert sized.again.endswith("--examples 5 --keys 5 --declared 3 --depth 1 --level at-act --fail-on crash")
    assert check(systems.ALL["planfence"], scenario=world(seed=3), **options).again is None


# -- how many, and how long ----------------------------------------------------------------------------------------------------------


def test_a_report_says_why_there_are_fewer_episodes_than_were_drawn(tmp_path: Path) -> None:
    report = explored(tmp_path, FENCED, max_events=1)
    again = 300 - report.episodes
    assert f"; 300 interleavings drawn, {again} of them the same as one before but for events that changed nothing" in summary(report)[0]
    report = explored(tmp_path, FENCED, examples=1)
    assert summary(report)[0].endswith("; 1 interleaving drawn")


def test_a_search_whose_time_is_up_is_inconclusive_and_says_how_many_it_drew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter(range(10_000))
    monkeypatch.setattr(Budget, "left", lambda self: next(asked) < 7 or setattr(self, "ran_out", True))
    report = explored(tmp_path, FENCED)
    assert (report.verdict, report.bound) == ("inconclusive", Bound("examples", 7))
    assert report.why == "the time was up before 300 were drawn: allow more, or fewer examples"


def test_a_failure_that_was_seen_in_time_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = 'order = kit.read("x", timeout=1)\nkit.pause()\nkit.act("ship", {"to": getattr(order, "value", "")})'
    whole = explored(tmp_path, fails)
    asked = iter(range(10_000))
    monkeypatch.setattr(Budget, "left", lambda self: next(asked) < whole.bound.value or setattr(self, "ran_out", True))
    report = explored(tmp_path, fails)  # with no time to shrink it
    assert [failure.code for failure in report.failures] == [failure.code for failure in whole.failures]
    assert report.failures[0].interleaving.size == 1


@pytest.mark.parametrize(
    ("engine", "options", "sentence"),
    [
        ("exhaust", {"seed": 1}, "a seed is for what is drawn, and exhaust runs every interleaving: use the engine explore"),
        (
            "exhaust",
            {"examples": 5},
            "a number of examples is for what is drawn, and exhaust runs every interleaving: use the engine explore",
        ),
        ("explore", {"per_kind": 5}, "a number of episodes for each further kind is for the engine exhaust, which goes on to these"),
    ],
)
def test_an_option_that_the_engine_would_not_look_at(engine: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        check(systems.ALL["planfence"], engine=engine, **options)
    assert str(caught.value) == sentence
