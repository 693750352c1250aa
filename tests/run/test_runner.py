"""What a runner refuses, in one sentence each, and what it takes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import strategies as st

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.history import Ended
from fencecheck.interleaving import KINDS, Event, Interleaving, Restart, Update
from fencecheck.model import Action, Scenario
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.kit import Kit
from fencecheck.run.simulate import Runner, simulate
from fencecheck.systems import ALL

from .faces import WORLD, X


class Well(AgentSystem):
    scenario = WORLD

    def run(self) -> None:
        self.kit.act("go", {"to": self.kit.read(X).value})


class Anywhere(AgentSystem):
    def run(self) -> None:
        for action in self.kit.scenario.actions:
            self.kit.act(action.name)


class NoRun(AgentSystem):
    scenario = WORLD


class NoAdapter:
    def run(self) -> None: ...


class NeedsArguments(Well):
    def __init__(self, url: str) -> None:
        self.url = url


class BreaksWhenMade(Well):
    def __init__(self) -> None:
        raise OSError("no network")


class OnCurio(Well):
    runtime = "curio"  # type: ignore[assignment]


class PublishAlone(Well):
    def publish(self, key: str, value: Any) -> str:
        return ""


class TruthAlone(Well):
    def true_head(self, key: str) -> str:
        return ""


class ScenarioOfAnotherType(Well):
    scenario = {"owners": {"a": [X]}}  # type: ignore[assignment]


def makes_no_adapter() -> Any:
    return NoAdapter()


def said(system: Any, *args: Any) -> str:
    with pytest.raises(BadInput) as caught:
        Runner(system, *args)
    return str(caught.value)


REFUSED: list[tuple[Any, str]] = [
    (NoRun, "NoRun has no run(): define run(self), which carries out one episode"),
    (NoAdapter, "NoAdapter is not an adapter: let it inherit from fencecheck.AgentSystem and define run()"),
    (makes_no_adapter, "makes_no_adapter makes a NoAdapter, not an adapter: let it inherit from fencecheck.AgentSystem"),
    (BreaksWhenMade, "BreaksWhenMade cannot be made without arguments: OSError: no network"),
    (OnCurio, "OnCurio: runtime must be one of sync, asyncio, asyncio-native, trio, not 'curio'"),
    (PublishAlone, "PublishAlone defines publish() but not true_head(): a system with its own store needs both"),
    (TruthAlone, "TruthAlone defines true_head() but not publish(): a system with its own store needs both"),
    (ScenarioOfAnotherType, "ScenarioOfAnotherType: scenario must be a fencecheck.Scenario, not a dict"),
]


@pytest.mark.parametrize(("system", "sentence"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_an_adapter_that_cannot_be_used(system: Any, sentence: str) -> None:
    assert said(system) == sentence


def test_an_adapter_that_needs_arguments() -> None:
    assert said(NeedsArguments) == (
        "NeedsArguments cannot be made without arguments: TypeError: "
        "NeedsArguments.__init__() missing 1 required positional argument: 'url'"
    )
    with Runner(lambda: NeedsArguments("http://orders")) as runner:  # a function that makes it is as good
        assert len(runner.run().effects) == 1


def test_a_scenario_for_a_system_that_brings_its_own() -> None:
    other = Scenario(owners={"b": ["z"]}, actions=[Action("stop", ["z"])])
    assert said(Well, other) == "Well brings its own scenario: keys, declared keys and depth cannot be chosen for it"
    with Runner(Well, WORLD) as runner:  # the same one is no contradiction
        assert runner.scenario is WORLD


def test_a_scenario_for_a_system_that_takes_one() -> None:
    with Runner(Anywhere, WORLD) as runner:
        assert (runner.scenario, runner.takes_scenario) == (WORLD, True)
        assert [effect.action for effect in runner.run().effects] == ["go"]
    with Runner(Anywhere) as runner:
        assert [action.name for action in runner.scenario.actions] == ["deliver"]  # the default world
        assert len(runner.scenario.keys) == 4


def test_strategies_among_the_values_are_drawn_from_once() -> None:
    class Drawn(Anywhere):
        scenario = Scenario(owners={"a": [X]}, actions=[Action("go", [X])], values={X: st.integers(0, 1_000_000)})

    with Runner(Drawn) as runner:
        values = runner.scenario.values[X]
        assert len(set(values)) == len(values) > 1
        assert all(type(value) is int for value in values)
        assert runner.run().records["x@1"].value == values[0]


@pytest.mark.parametrize("method", ["setup", "run", "teardown"])
def test_a_coroutine_of_a_plain_system(method: str) -> None:
    async def waits(self: Any, *args: Any) -> None: ...

    with pytest.raises(CouldNotRun) as caught:
        Runner(type("Waits", (Well,), {method: waits})).run()
    assert str(caught.value) == (
        f"Waits: {method}() returned a coroutine but its runtime is 'sync', so it would never run: set runtime = 'asyncio' or 'trio'"
    )


@pytest.mark.parametrize("runtime", ["asyncio", "asyncio-native", "trio"])
def test_plain_methods_run_on_every_runtime(runtime: str) -> None:
    assert Runner(type("Plain", (Well,), {"runtime": runtime})).run() == Runner(Well).run()


@pytest.mark.parametrize("runtime", ["asyncio", "asyncio-native"])
def test_inside_a_loop(runtime: str) -> None:
    async def inside() -> None:
        Runner(type("Inside", (Well,), {"runtime": runtime})).run()

    with pytest.raises(CouldNotRun) as caught:
        asyncio.run(inside())
    assert str(caught.value) == (
        f"a system of runtime '{runtime}' gets a loop of its own, which cannot run inside another: call it from a plain "
        "function, not from an async one"
    )


def test_a_trio_system_inside_an_asyncio_loop() -> None:
    async def inside() -> int:
        return len(Runner(type("Inside", (Well,), {"runtime": "trio"})).run().effects)

    assert asyncio.run(inside()) == 1


# -- which events it can receive ---------------------------------------------------------------------------------------------------


UNSCHEDULED = dict.fromkeys(("switch", "advance"), "its runtime is sync")


@pytest.mark.parametrize(
    ("runtime", "why"),
    [("sync", "its runtime is sync"), ("asyncio", None), ("asyncio-native", "the stock event loop has an order of its own")],
)
def test_who_goes_first_is_for_a_scheduler_of_ours_to_say(runtime: str, why: str | None) -> None:
    with Runner(type("On", (Well,), {"runtime": runtime})) as runner:
        assert [runner.missing.get(kind) for kind in ("switch", "advance")] == [why] * 2


def test_kinds_that_need_a_hook_are_missing_without_it() -> None:
    with Runner(Well) as runner:
        assert runner.missing == {"replan": "replan()", "restart": "restart()"} | UNSCHEDULED
        assert runner.kinds == tuple(kind for kind in KINDS if kind not in runner.missing)
    with Runner(type("Full", (Well,), {"replan": print, "restart": print, "runtime": "asyncio"})) as runner:
        assert (runner.missing, runner.kinds) == ({}, tuple(KINDS))


def test_a_store_of_its_own_needs_a_hook_for_deliveries_too() -> None:
    def hook(self: Any, *_: Any) -> str:
        return "v1"

    with Runner(type("Own", (Well,), {"publish": hook, "true_head": hook})) as runner:
        assert runner.own_store
        assert runner.missing.items() >= {"deliver": "deliver()", "replan": "replan()", "restart": "restart()"}.items()
    with Runner(type("Own", (Well,), {"publish": hook, "true_head": hook, "deliver": hook})) as runner:
        assert "deliver" not in runner.missing


# -- what it is called -------------------------------------------------------------------------------------------------------------


def test_a_name_for_reports() -> None:
    assert Runner(Well).name == "Well"
    assert Runner(type("Any", (Well,), {"name": "well, on Postgres"})).name == "well, on Postgres"
    assert Runner(ALL["planfence"]).name == "planfence"


# -- episodes ----------------------------------------------------------------------------------------------------------------------


def test_one_runner_runs_many_episodes_and_each_starts_afresh() -> None:
    with Runner(Well) as runner:
        first = runner.run()
        assert runner.run((), (Event(0, Update(X)),)).effects[0].args == {"to": "coffee"}
        assert runner.run() == first
        assert runner.horizon == 2


def test_a_factory_that_gives_one_instance_each_time() -> None:
    """Legal: whatever it keeps of an episode is its own doing, and the kit is a new one."""
    kits: list[Kit] = []

    class Kept(Well):
        def setup(self, kit: Kit) -> None:
            super().setup(kit)
            kits.append(kit)

    only = Kept()
    with Runner(lambda: only) as runner:
        assert runner.run() == runner.run()
    assert len(kits) == len(set(map(id, kits))) == 2


def test_a_runner_can_be_used_again_after_it_was_closed() -> None:
    calls: list[str] = []

    class Pooled(Well):
        def open(self) -> None:
            calls.append("open")

        def shutdown(self) -> None:
            calls.append("shutdown")

    for runtime in ("sync", "asyncio", "asyncio-native", "trio"):
        calls.clear()
        with Runner(type("P", (Pooled,), {"runtime": runtime})) as runner:
            first = runner.run()
            runner.close()
            assert runner.run() == first
        runner.close()
        assert calls == ["open", "shutdown"] * 2


def test_simulate_runs_one_interleaving() -> None:
    history = simulate(Well, Interleaving(WORLD, events=[(0, Update(X))]))
    assert history.effects[0].args == {"to": "coffee"}
    history = simulate(Anywhere, Interleaving(WORLD))
    assert history.scenario == WORLD


def test_events_beyond_the_last_point_do_not_land() -> None:
    with Runner(Well) as runner:
        history = runner.run((), (Event(1, Update(X)), Event(2, Update(X)), Event(99, Restart("agent"))))
    assert history.fired == (Event(1, Update(X)),)
    assert history.ended == Ended("returned")


def test_an_interleaving_of_a_drawn_scenario_runs_on_a_class_and_on_a_function_alike() -> None:
    class Drawn(AgentSystem):
        scenario = Scenario(owners={"a": ["x"]}, actions=[Action("go", ["x"])], values={"x": st.text(min_size=9)})

        def run(self) -> None:
            self.kit.act("go", {"to": self.kit.read("x", timeout=1).value})

    drawn = Interleaving(Runner(Drawn).scenario)
    assert simulate(Drawn, drawn).entries == simulate(lambda: Drawn(), drawn).entries
