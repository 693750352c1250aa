"""The search that closes sees all that the plain one sees: the same answers with the same findings, and nothing besides."""

from __future__ import annotations

from random import Random

import pytest

from fencecheck import mutants, systems
from fencecheck.interleaving import DROPPED, KINDS
from fencecheck.mutants.concurrent import ConcurrentFence
from fencecheck.mutants.plain import PlainFence
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.simulate import Runner
from fencecheck.search.closing import variant
from fencecheck.search.placing import every
from fencecheck.search.prove import BASE
from fencecheck.worlds import world

from .programs import asking_system
from .programs import system as program
from .seen import PLACES, lost_by_closing
from .specimens import SHOWN_BY

BUILT_IN = {**systems.ALL, "plain-fence": PlainFence, "concurrent-fence": ConcurrentFence, **mutants.ALL}
CONCURRENT = tuple(name for name, system in BUILT_IN.items() if system.runtime != "sync")
VARIANTS = tuple(dict.fromkeys(variant(what) for what in every(world(), KINDS, 1, frozenset({"honest-owners"}))))


def variants_of(runner: Runner, kinds: tuple[str, ...]) -> list[str]:
    return [name for name in (*VARIANTS, DROPPED) if name.split(" (")[0] in kinds and name.split(" (")[0] in (*runner.kinds, DROPPED)]


@pytest.mark.parametrize("name", BUILT_IN)
def test_two_base_events(name: str) -> None:
    with Runner(BUILT_IN[name], world(keys=2, declared=1 + len(name) % 2, depth=1 + len(name) % 2)) as runner:
        assert lost_by_closing(runner, 2, BASE) == ""


@pytest.mark.parametrize("name", ["planfence", "central", "fresh-read", "newest-wins", "asks-memory"])
def test_three_base_events_in_a_small_world(name: str) -> None:
    with Runner(BUILT_IN[name], world(keys=1, declared=1, depth=1, owners=1)) as runner:
        assert lost_by_closing(runner, 3, BASE) == ""


@pytest.mark.parametrize(("name", "further"), [(list(BUILT_IN)[i % len(BUILT_IN)], further) for i, further in enumerate(VARIANTS)])
def test_a_further_kind_beside_updates(name: str, further: str) -> None:
    with Runner(BUILT_IN[name], world(keys=2, declared=2, depth=1)) as runner:
        assert lost_by_closing(runner, 2, {"update (fresh)", "missing-parent", further}) == ""


@pytest.mark.parametrize("name", CONCURRENT)
@pytest.mark.parametrize(
    "names", [("switch", "update (fresh)"), ("switch", "advance"), ("outage (hang)", "switch"), ("outage (refuse)", "restore", "advance")]
)
def test_two_events_where_tasks_take_turns(name: str, names: tuple[str, ...]) -> None:
    with Runner(BUILT_IN[name], world(keys=2, declared=2, depth=1)) as runner:
        assert lost_by_closing(runner, 2, names) == ""


@pytest.mark.parametrize("name", ["concurrent-fence", "takes-over"])
def test_three_events_where_tasks_take_turns(name: str) -> None:
    with Runner(BUILT_IN[name], world(keys=1, declared=1, depth=1, owners=1)) as runner:
        assert lost_by_closing(runner, 3, ("switch", "advance", "update (fresh)")) == ""


@pytest.mark.parametrize("seed", range(60))
def test_two_events_in_a_generated_system(seed: int) -> None:
    with Runner(program(seed, length=2 + seed % 3)) as runner:
        further = Random(seed).sample(variants_of(runner, runner.kinds), 2)
        assert lost_by_closing(runner, 2, {"update (fresh)", *further}) == ""


@pytest.mark.parametrize("seed", range(12))
def test_two_events_in_a_generated_system_that_asks_for_more(seed: int) -> None:
    with Runner(asking_system(seed, length=2)) as runner:
        further = Random(seed).choice([name for name in variants_of(runner, runner.kinds) if name != "update (fresh)"])
        assert lost_by_closing(runner, 2, {"update (fresh)", further, DROPPED}) == ""


@pytest.mark.parametrize("seed", range(200, 216))
def test_three_events_in_a_short_generated_system(seed: int) -> None:
    with Runner(program(seed, length=1)) as runner:
        further = Random(seed).choice(variants_of(runner, runner.kinds))
        assert lost_by_closing(runner, 3, {"update (fresh)", further}) == ""


@pytest.mark.parametrize(("system", "kinds"), SHOWN_BY)
@pytest.mark.parametrize("back", [None, 1], ids=["as needed", "told apart"])
def test_two_events_where_they_depend_in_one_particular_way(system: type[AgentSystem], kinds: tuple[str, ...], back: int | None) -> None:
    with Runner(system) as runner:
        names = variants_of(runner, kinds)
        assert lost_by_closing(runner, 2, names, back=None if back is None or "outage (older-head)" in names else back) == ""


@pytest.mark.parametrize(
    ("system", "names"),
    [
        (system, ("update (fresh)", "update (earlier)") if "text" in system.__name__.lower() else ("update (fresh)", "deliver", *extra))
        for system, extra in [
            *((system, ()) for system, kinds in SHOWN_BY if "update" in kinds and "restart" not in kinds and "replan" not in kinds),
        ]
    ],
)
def test_three_events_of_these(system: type[AgentSystem], names: tuple[str, ...]) -> None:
    with Runner(system) as runner:
        assert lost_by_closing(runner, 3, names) == ""


def test_places_are_enough_for_every_lineage_here() -> None:
    assert PLACES > 5
