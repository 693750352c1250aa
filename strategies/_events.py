"""Events, one strategy for each kind, and `events` for all of them together.

Every event is four choices, whatever its kind: the kind, what it happens to, how, and where. Hypothesis holds fewer choices to be simpler,
so that a kind with one choice less would be taken for simpler than an update. What it happens to and how are choices of their own, since
Hypothesis lowers equal choices of several events together: a fresh value of a key and its earlier value again both move to the first key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fencecheck.interleaving import (
    CORRUPT_HOWS,
    DISHONEST,
    OUTAGE_HOWS,
    TOOL_HOWS,
    Advance,
    CorruptParent,
    Deliver,
    Event,
    MissingParent,
    Outage,
    Replan,
    Restart,
    Restore,
    Switch,
    ToolFault,
    Update,
    What,
    update_hows,
)
from fencecheck.model import Scenario
from fencecheck.strategies._arguments import check_assumptions, check_count, check_kinds, check_scenario, some

W = TypeVar("W")
LIKELY_TASKS = 4
"""Tasks of a system that is not known: one that starts three."""


def updates(scenario: Scenario) -> SearchStrategy[Update]:
    """The owner of a key commits a new version: a fresh value first, then an earlier one again, then a removal, then the scenario's further ways.

    Args:
        scenario: the world.

    Raises:
        BadArgument: `scenario` is none, or has no keys.
    """
    keys = some("updates", "keys", check_scenario("updates", scenario).keys)
    return _made(Update, keys, update_hows(scenario))


def deliveries(scenario: Scenario) -> SearchStrategy[Deliver]:
    """The newest version of a key reaches every agent's memory. `scenario` and what is raised as for `updates`."""
    keys = some("deliveries", "keys", check_scenario("deliveries", scenario).keys)
    return _made(Deliver, keys)


def switches(scenario: Scenario, *, tasks: int = LIKELY_TASKS) -> SearchStrategy[Switch]:
    """The call of another task is answered first.

    Args:
        scenario: the world.
        tasks: how many tasks a run has that call ports at the same time.

    Raises:
        BadArgument: `scenario` is none, or there is no task.
    """
    check_scenario("switches", scenario)
    return _made(Switch, range(check_count("switches", "tasks", tasks, 1)))


def advances(scenario: Scenario) -> SearchStrategy[Advance]:
    """Virtual time passes to the next timer. `scenario` and what is raised as for `missing_parents`."""
    check_scenario("advances", scenario)
    return _made(lambda _: Advance(), range(1))


def outages(scenario: Scenario, *, assume_broken: Iterable[str] = frozenset()) -> SearchStrategy[Outage]:
    """An owner answers badly from now on.

    Args:
        scenario: the world.
        assume_broken: with `honest-owners` also owners that answer with an earlier version, which no fence can see.

    Raises:
        BadArgument: `scenario` is none or has no owners, or there is no such assumption.
    """
    owners = some("outages", "owners", tuple(check_scenario("outages", scenario).owners))
    broken = check_assumptions("outages", assume_broken)
    hows = [how for how in OUTAGE_HOWS if how not in DISHONEST or "honest-owners" in broken]
    return _made(Outage, owners, hows)


def restores(scenario: Scenario) -> SearchStrategy[Restore]:
    """An owner answers well again. `scenario` and what is raised as for `outages`."""
    owners = some("restores", "owners", tuple(check_scenario("restores", scenario).owners))
    return _made(Restore, owners)


def missing_parents(scenario: Scenario) -> SearchStrategy[MissingParent]:
    """A record can no longer be read: at some place of the lineage of the last plan, or the head of a declared key.

    Args:
        scenario: the world.

    Raises:
        BadArgument: `scenario` is none.
    """
    places = _places(check_scenario("missing_parents", scenario))
    return _made(MissingParent, (*places, *_declared_keys(scenario)))


def corrupt_parents(scenario: Scenario) -> SearchStrategy[CorruptParent]:
    """A record of the lineage of the last plan is served so that it must not verify. `scenario` and what is raised as for `missing_parents`."""
    places = _places(check_scenario("corrupt_parents", scenario))
    return _made(CorruptParent, places, CORRUPT_HOWS)


def tool_faults(scenario: Scenario) -> SearchStrategy[ToolFault]:
    """The next call of a tool goes wrong. `scenario` and what is raised as for `missing_parents`."""
    tools = tuple(dict.fromkeys(action.tool for action in check_scenario("tool_faults", scenario).actions))
    return _made(ToolFault, tools, TOOL_HOWS)


def restarts(scenario: Scenario) -> SearchStrategy[Restart]:
    """An agent loses what it holds in memory. `scenario` and what is raised as for `missing_parents`."""
    return _made(Restart, check_scenario("restarts", scenario).agents)


def replans(scenario: Scenario) -> SearchStrategy[Replan]:
    """The planner derives a new plan for a task. `scenario` and what is raised as for `missing_parents`."""
    return _made(Replan, check_scenario("replans", scenario).tasks)


def events(
    scenario: Scenario,
    *,
    kinds: Iterable[str] | None = None,
    horizon: int | None = None,
    assume_broken: Iterable[str] = frozenset(),
    tasks: int = LIKELY_TASKS,
) -> SearchStrategy[Event]:
    """Events of several kinds, `Event(at, what)`, the simplest of which is an update before point 0.

    Args:
        scenario: the world.
        kinds: names of the kinds to draw from; all by default. Kinds for which the scenario has nothing are left out.
        horizon: events land before the points 0 to `horizon - 1`; by default as many as an episode with one replan is likely to have.
        assume_broken: as for `outages`.
        tasks: as for `switches`.

    Raises:
        BadArgument: an argument cannot be used, or nothing can happen in this scenario.
    """
    check_scenario("events", scenario)
    possible = possible_kinds(scenario, check_kinds("events", kinds))
    some("events", "keys, so that none of these kinds can happen", possible)
    points = likely_points(scenario) if horizon is None else check_count("events", "horizon", horizon, 1)
    lanes = check_count("events", "tasks", tasks, 1)
    return events_of(scenario, possible, points, check_assumptions("events", assume_broken), lanes)


def events_of(
    scenario: Scenario, kinds: tuple[str, ...], horizon: int, assume_broken: frozenset[str], tasks: int, turns: tuple[int, ...] = ()
) -> SearchStrategy[Event]:
    """The same, of arguments that were checked.

    Args:
        turns: points at which it is known that a switch or an advance can fire: every other one is drawn there.
    """

    def of(kind: str) -> SearchStrategy[What]:
        if kind == "switch":
            return switches(scenario, tasks=tasks)
        return outages(scenario, assume_broken=assume_broken) if kind == "outage" else _STRATEGIES[kind](scenario)

    def where(kind: str) -> SearchStrategy[int]:
        if kind not in ("switch", "advance") or not turns:
            return st.integers(0, horizon - 1)
        return st.integers(0, 2 * horizon - 1).map(lambda drawn: drawn if drawn < horizon else turns[drawn % len(turns)])

    # What happens is drawn before where: of two interleavings of one size the one with simpler events is simpler, as for exhaust.
    return st.one_of([st.tuples(of(kind), where(kind)) for kind in kinds]).map(lambda drawn: Event(drawn[1], drawn[0]))


def possible_kinds(scenario: Scenario, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the kinds for which the scenario has something to happen to."""
    gone = set()
    if not scenario.keys:
        gone |= {"update", "deliver"}
    if not scenario.owners:
        gone |= {"outage", "restore"}
    return tuple(kind for kind in kinds if kind not in gone)


def likely_points(scenario: Scenario) -> int:
    """Points of an episode with one replan: read, derive, walk the lineage and ask the owners, twice; then act."""
    declared = len(_declared_keys(scenario))
    return 2 * (declared + scenario.depth + (scenario.depth + declared) + declared) + 1


def _declared_keys(scenario: Scenario) -> tuple[str, ...]:
    """Keys that some action declares. Where they depend on arguments, any key may be one."""
    return tuple(dict.fromkeys(key for action in scenario.actions for key in scenario.declared(action)))


def _made(kind: Callable[..., W], about: Sequence[Any], hows: Sequence[Any] = ()) -> SearchStrategy[W]:
    """Events of a kind, which happen to one of `about`, in one of these ways; the first of each is simplest.

    Integers rather than `st.sampled_from`, which makes no choice where there is only one thing to choose from.
    """
    ways: list[tuple[Any, ...]] = [(how,) for how in hows] or [()]
    numbers = st.tuples(st.integers(0, len(about) - 1), st.integers(0, len(ways) - 1))
    return numbers.map(lambda drawn: kind(about[drawn[0]], *ways[drawn[1]]))


def _places(scenario: Scenario) -> range:
    return range(2 * scenario.depth + len(_declared_keys(scenario)) + 1)


_STRATEGIES: dict[str, Callable[[Scenario], SearchStrategy[What]]] = {
    "update": updates,
    "deliver": deliveries,
    "advance": advances,
    "restore": restores,
    "missing-parent": missing_parents,
    "corrupt-parent": corrupt_parents,
    "tool-fault": tool_faults,
    "restart": restarts,
    "replan": replans,
}
