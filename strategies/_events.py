"""Events, one strategy for each kind, and `events` for all of them together.

Each kind is one choice from a list, the plainest way of going wrong first. So every event is three choices, whatever its kind: where, of
which kind, and which. Hypothesis holds fewer choices to be simpler; a kind with one choice less would be taken for simpler than an update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fencecheck.interleaving import (
    CORRUPT_HOWS,
    DISHONEST,
    OUTAGE_HOWS,
    TOOL_HOWS,
    UPDATE_HOWS,
    CorruptParent,
    Deliver,
    Event,
    MissingParent,
    Outage,
    Replan,
    Restart,
    Restore,
    ToolFault,
    Update,
    What,
)
from fencecheck.model import Scenario
from fencecheck.strategies._arguments import check_assumptions, check_count, check_kinds, check_scenario, some


def updates(scenario: Scenario) -> SearchStrategy[Update]:
    """The owner of a key commits a new version: a fresh value first, then an earlier one again, then a removal.

    Raises:
        BadArgument: `scenario` is none, or has no keys.
    """
    keys = some("updates", "keys", check_scenario("updates", scenario).keys)
    return st.sampled_from([Update(key, how) for how in UPDATE_HOWS for key in keys])


def deliveries(scenario: Scenario) -> SearchStrategy[Deliver]:
    """The newest version of a key reaches every agent's memory. Raises as `updates`."""
    keys = some("deliveries", "keys", check_scenario("deliveries", scenario).keys)
    return st.sampled_from([Deliver(key) for key in keys])


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
    return st.sampled_from([Outage(owner, how) for how in hows for owner in owners])


def restores(scenario: Scenario) -> SearchStrategy[Restore]:
    """An owner answers well again. Raises as `outages`."""
    owners = some("restores", "owners", tuple(check_scenario("restores", scenario).owners))
    return st.sampled_from([Restore(owner) for owner in owners])


def missing_parents(scenario: Scenario) -> SearchStrategy[MissingParent]:
    """A record can no longer be read: at some place of the lineage of the last plan, or the head of a declared key.

    Raises:
        BadArgument: `scenario` is none.
    """
    places = _places(check_scenario("missing_parents", scenario))
    return st.sampled_from([MissingParent(place) for place in (*places, *_declared_keys(scenario))])


def corrupt_parents(scenario: Scenario) -> SearchStrategy[CorruptParent]:
    """A record of the lineage of the last plan is served so that it must not verify. Raises as `missing_parents`."""
    places = _places(check_scenario("corrupt_parents", scenario))
    return st.sampled_from([CorruptParent(place, how) for how in CORRUPT_HOWS for place in places])


def tool_faults(scenario: Scenario) -> SearchStrategy[ToolFault]:
    """The next call of a tool goes wrong. Raises as `missing_parents`."""
    tools = dict.fromkeys(action.tool for action in check_scenario("tool_faults", scenario).actions)
    return st.sampled_from([ToolFault(tool, how) for how in TOOL_HOWS for tool in tools])


def restarts(scenario: Scenario) -> SearchStrategy[Restart]:
    """An agent loses what it holds in memory. Raises as `missing_parents`."""
    return st.sampled_from([Restart(agent) for agent in check_scenario("restarts", scenario).agents])


def replans(scenario: Scenario) -> SearchStrategy[Replan]:
    """The planner derives a new plan for a task. Raises as `missing_parents`."""
    return st.sampled_from([Replan(task) for task in check_scenario("replans", scenario).tasks])


def events(
    scenario: Scenario,
    *,
    kinds: Iterable[str] | None = None,
    horizon: int | None = None,
    assume_broken: Iterable[str] = frozenset(),
) -> SearchStrategy[Event]:
    """Events of several kinds, `Event(at, what)`, the simplest of which is an update before point 0.

    Args:
        scenario: the world.
        kinds: names of the kinds to draw from; all by default. Kinds for which the scenario has nothing are left out.
        horizon: events land before the points 0 to `horizon - 1`; by default as many as an episode with one replan is likely to have.
        assume_broken: as for `outages`.

    Raises:
        BadArgument: an argument cannot be used, or nothing can happen in this scenario.
    """
    check_scenario("events", scenario)
    possible = possible_kinds(scenario, check_kinds("events", kinds))
    some("events", "keys, so that none of these kinds can happen", possible)
    points = likely_points(scenario) if horizon is None else check_count("events", "horizon", horizon, 1)
    return events_of(scenario, possible, points, check_assumptions("events", assume_broken))


def events_of(scenario: Scenario, kinds: tuple[str, ...], horizon: int, assume_broken: frozenset[str]) -> SearchStrategy[Event]:
    """The same, of arguments that were checked."""

    def of(kind: str) -> SearchStrategy[What]:
        return outages(scenario, assume_broken=assume_broken) if kind == "outage" else _STRATEGIES[kind](scenario)

    # What happens is drawn before where: of two interleavings of one size the one with simpler events is simpler, as for exhaust.
    whats = st.one_of([of(kind) for kind in kinds])
    return st.tuples(whats, st.integers(0, horizon - 1)).map(lambda drawn: Event(drawn[1], drawn[0]))


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
    if any(action.keys_of is not None and action.declared is None for action in scenario.actions):
        return scenario.keys
    return tuple(dict.fromkeys(key for action in scenario.actions for key in action.declared_keys()))


def _places(scenario: Scenario) -> range:
    return range(2 * scenario.depth + len(_declared_keys(scenario)) + 1)


_STRATEGIES: dict[str, Callable[[Scenario], SearchStrategy[What]]] = {
    "update": updates,
    "deliver": deliveries,
    "restore": restores,
    "missing-parent": missing_parents,
    "corrupt-parent": corrupt_parents,
    "tool-fault": tool_faults,
    "restart": restarts,
    "replan": replans,
}
