"""What cannot be used as a system: each with one sentence that says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.interleaving import Event, Interleaving, Update
from fencecheck.run.adapter import AgentSystem, from_functions, name_of
from fencecheck.run.faults import Fault
from fencecheck.run.simulate import Runner, simulate
from fencecheck.worlds import world

from .faces import VIRTUAL, WORLD, Face, X, system


class NoRun(AgentSystem):
    scenario = WORLD


class NotAnAdapter:
    def run(self) -> None: ...


class NeedsArguments(AgentSystem):
    def __init__(self, url: str) -> None:
        self.url = url

    def run(self) -> None: ...


class BreaksWhenMade(AgentSystem):
    def __init__(self) -> None:
        raise RuntimeError("no licence")

    def run(self) -> None: ...


class OfNoRuntime(AgentSystem):
    scenario = WORLD
    runtime = "gevent"  # type: ignore[assignment]

    def run(self) -> None: ...


class OfNoScenario(AgentSystem):
    scenario = {"owners": {}}  # type: ignore[assignment]

    def run(self) -> None: ...


BAD: list[tuple[Any, str]] = [
    (NoRun, "NoRun has no run(): define run(self), which carries out one episode"),
    (NotAnAdapter, "NotAnAdapter is not an adapter: let it inherit from fencecheck.AgentSystem and define run()"),
    (
        NeedsArguments,
        "NeedsArguments cannot be made without arguments: TypeError: NeedsArguments.__init__() missing 1 required positional argument: 'url'",
    ),
    (BreaksWhenMade, "BreaksWhenMade cannot be made without arguments: RuntimeError: no licence"),
    (OfNoRuntime, "OfNoRuntime: runtime must be one of sync, asyncio, asyncio-native, trio, not 'gevent'"),
    (OfNoScenario, "OfNoScenario: scenario must be a fencecheck.Scenario, not a dict"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "sentence"), BAD)
def test_one_sentence(bad: Any, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        Runner(bad)
    assert str(caught.value) == sentence
    assert caught.value.exit_status == 2


def test_a_function_that_makes_something_else() -> None:
    def make() -> int:
        return 3

    with pytest.raises(BadInput) as caught:
        Runner(make)  # type: ignore[arg-type]
    assert str(caught.value).endswith("make makes a int, not an adapter: let it inherit from fencecheck.AgentSystem")


def test_a_scenario_for_a_system_that_brings_its_own() -> None:
    async def body(io: Face) -> None: ...

    made = system(body, "sync")
    with pytest.raises(BadInput) as caught:
        Runner(made, world())
    assert str(caught.value) == "Made brings its own scenario: keys, declared keys and depth cannot be chosen for it"
    assert Runner(made, WORLD).scenario == WORLD  # the same one is no contradiction


def test_a_run_that_would_never_be_awaited() -> None:
    async def run(self: Any) -> None: ...

    async def body(io: Face) -> None: ...

    with pytest.raises(CouldNotRun) as caught:
        Runner(system(body, "sync", run=run)).run()
    expected = "Made: run() returned a coroutine but its runtime is 'sync', so it would never run: set runtime = 'asyncio' or 'trio'"
    assert str(caught.value) == expected


@pytest.mark.parametrize("method", ["setup", "teardown"])
def test_a_setup_or_teardown_that_would_never_be_awaited(method: str) -> None:
    async def coroutine(self: Any, *_: Any) -> None: ...

    async def body(io: Face) -> None: ...

    with pytest.raises(CouldNotRun, match=rf"^Made: {method}\(\) returned a coroutine but its runtime is 'sync'"):
        Runner(system(body, "sync", **{method: coroutine})).run()


@pytest.mark.parametrize("runtime", VIRTUAL)
def test_a_plain_run_on_an_awaited_runtime_is_fine(runtime: str) -> None:
    def run(self: Any) -> None:
        self.kit.read(X)
        self.kit.act("go", {})

    async def body(io: Face) -> None: ...

    assert len(Runner(system(body, runtime, run=run)).run().effects) == 1


def test_a_system_without_a_scenario_takes_the_default_world_or_a_given_one() -> None:
    class Any_(AgentSystem):
        def run(self) -> None:
            self.kit.act(self.kit.scenario.actions[0].name, {})

    assert Runner(Any_).scenario == world()
    assert Runner(Any_).takes_scenario
    given = world(keys=3, declared=1, family="booking")
    history = simulate(Any_, Interleaving(given))
    assert (history.scenario, history.effects[0].action) == (given, "book")


def test_simulate_takes_the_interleaving_of_a_system_with_its_own_scenario() -> None:
    async def body(io: Face) -> None:
        await io.read(X)
        await io.read(X)

    history = simulate(system(body, "sync"), Interleaving(WORLD, (), [(1, Update(X))]))
    assert history.fired == (Event(1, Update(X)),)


def test_a_function_that_makes_adapters() -> None:
    async def body(io: Face) -> None:
        await io.act("go", {})

    made = system(body, "sync")

    def make() -> AgentSystem:
        return made()

    assert len(Runner(make).run().effects) == 1


def test_names_of_systems() -> None:
    class Named(NoRun):
        name = "a name"  # type: ignore[assignment]

    assert (name_of(NoRun), name_of(NoRun()), name_of(Named), name_of(Named())) == ("NoRun", "NoRun", "a name", "a name")


def test_the_horizon_is_the_number_of_points_without_events() -> None:
    async def body(io: Face) -> None:
        await io.read(X)
        io.validated([X])
        await io.pause()
        io.declared("go")
        await io.act("go", {})

    assert Runner(system(body, "sync")).horizon == 3


# -- from_functions ------------------------------------------------------------------------------------------------------------------


def compares(plan: Any, basis: dict[str, str], head: Any) -> bool:
    return all(head(key) == version for key, version in basis.items())


def test_an_adapter_from_three_functions() -> None:
    made = from_functions(
        plan=lambda records: {key: record.value for key, record in records.items()},
        act=lambda plan: {"drink": plan[X]},
        validate=compares,
        scenario=WORLD,
        name="made",
    )
    assert (made.__name__, made.__module__) == ("made", __name__)
    assert made.halt_exceptions == (Fault,)
    with Runner(made) as runner:
        history = runner.run()
        changed = runner.run((), (Event(2, Update(X)),))
    assert [entry.__struct_config__.tag for entry in history.entries] == ["read", "derive", "declared", "head", "validated", "act", "ended"]
    assert history.effects[0].args == {"drink": "tea"}
    assert changed.ended.detail == "the plan is no longer current"


def test_an_adapter_from_two_functions_acts_unvalidated() -> None:
    made = from_functions(plan=lambda records: records[X].value, act=lambda plan: {"drink": plan}, scenario=WORLD)
    with Runner(made) as runner:
        history = runner.run()
        removed = runner.run((), (Event(0, Update(X, "removed")),))
    assert [entry.__struct_config__.tag for entry in history.entries] == ["read", "derive", "act", "ended"]
    assert (removed.ended.detail, removed.effects) == ("there is no x to plan from", ())
    assert name_of(made) == "from_functions"
