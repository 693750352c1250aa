"""Interleavings, what they are made of, and the histories that a system makes of them."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fencecheck.history import History
from fencecheck.interleaving import Event, Interleaving
from fencecheck.model import Action, Scenario
from fencecheck.strategies._arguments import BadArgument, check_assumptions, check_count, check_flag, check_kinds, check_scenario
from fencecheck.strategies._events import LIKELY_TASKS, events_of, likely_points, possible_kinds
from fencecheck.strategies._values import concrete

_REPLANNED = 2
"""Times as many points as the episode without events that an episode with one replan may have."""


def dropped_declarations(scenario: Scenario) -> SearchStrategy[tuple[tuple[str, str], ...]]:
    """Declarations that the application forgets, as pairs of action name and key, each at most once; none is simplest.

    Raises:
        BadArgument: `scenario` is none.
    """
    pairs = [(action.name, key) for action in check_scenario("dropped_declarations", scenario).actions for key in _listed(action)]
    if not pairs:
        return st.just(())
    return st.lists(st.sampled_from(pairs), unique=True).map(tuple)


def _listed(action: Action) -> tuple[str, ...]:
    """The declared keys that are known before the action is called."""
    return action.declared if action.declared is not None else action.depends_on


def interleavings(
    scenario_or_system: Any,
    *,
    max_events: int = 8,
    kinds: Iterable[str] | None = None,
    horizon: int | None = None,
    drop_declarations: bool = True,
    assume_broken: Iterable[str] = frozenset(),
    tasks: int | None = None,
    turns: Iterable[int] = (),
) -> SearchStrategy[Interleaving]:
    """Interleavings of a scenario, or of a system in its own scenario. The simplest has no events and drops nothing.

    Args:
        scenario_or_system: a `Scenario`, or an adapter: a class, or a function that makes one. A system without a scenario of its own
            gets the default world. Strategies in `Scenario.values` are replaced by `concrete`.
        max_events: the most events that one interleaving has.
        kinds: names of the kinds of event; all by default. Kinds that the system cannot receive, or for which the scenario has
            nothing, are left out.
        horizon: events land before the points 0 to `horizon - 1`; by default as many as an episode with one replan is likely to
            have, which for a system is twice as many as it has without events.
        drop_declarations: whether declarations can be dropped.
        assume_broken: assumptions of the protocol that need not hold: `honest-owners`.
        tasks: how many tasks may call ports at the same time; by default four, or for a system as many as do so without events.
        turns: points at which switches and advances land more often; for a system, those where one can fire without other events.

    Raises:
        BadArgument: an argument cannot be used.
        BadInput: the adapter cannot be used.
        CouldNotRun: the adapter failed when it was run once without events, to count its points.
    """
    check_count("interleavings", "max_events", max_events, 0)
    check_flag("interleavings", "drop_declarations", drop_declarations)
    broken = check_assumptions("interleavings", assume_broken)
    asked = check_kinds("interleavings", kinds)
    points = None if horizon is None else check_count("interleavings", "horizon", horizon, 1)
    lanes = LIKELY_TASKS
    if isinstance(scenario_or_system, Scenario):
        scenario = concrete(scenario_or_system)
        points = points or likely_points(scenario)
    else:
        scenario, receivable, points, lanes, turns = _of_system("interleavings", scenario_or_system, points)
        asked = tuple(kind for kind in asked if kind in receivable)
    firing = tuple(check_count("interleavings", "turns", at, 0) for at in turns)
    lanes = lanes if tasks is None else check_count("interleavings", "tasks", tasks, 1)
    possible = possible_kinds(scenario, asked)
    events: SearchStrategy[list[Event]] = st.just([])
    if possible and max_events:

        @cache  # made and checked once for each set of kinds, not in each example
        def listed(on: tuple[str, ...]) -> SearchStrategy[list[Event]]:
            return st.lists(events_of(scenario, on, points, broken, lanes, firing), max_size=max_events)

        events = _some_kinds(possible).flatmap(listed)
    dropped = dropped_declarations(scenario) if drop_declarations else st.just(())
    return st.builds(Interleaving, st.just(scenario), dropped, events)


def _some_kinds(kinds: tuple[str, ...]) -> SearchStrategy[tuple[str, ...]]:
    """Which kinds are on in one example ("Swarm Testing", Groce et al., ISSTA 2012): few kinds together reach further than all at once."""
    if len(kinds) == 1:
        return st.just(kinds)
    subsets = st.lists(st.sampled_from(kinds), min_size=1, unique=True)
    return subsets.map(lambda on: tuple(kind for kind in kinds if kind in on))


def _of_system(function: str, system: Any, horizon: int | None) -> tuple[Scenario, tuple[str, ...], int, int, tuple[int, ...]]:
    """Scenario, receivable kinds, horizon, number of tasks of a system, and where switches and advances can fire."""
    with _runner(function, system) as runner:
        return runner.scenario, runner.kinds, horizon or max(1, _REPLANNED * runner.horizon), runner.lanes, runner.turns


def _runner(function: str, system: Any) -> Any:
    from fencecheck.run.adapter import AgentSystem
    from fencecheck.run.simulate import Runner

    if isinstance(system, AgentSystem):
        raise BadArgument(
            f"{function}(): give the class {type(system).__qualname__}, not an instance of it: each episode needs a fresh one"
        )
    if not callable(system):
        raise BadArgument(f"{function}(): expected a Scenario or an adapter class, not {system!r}")
    return Runner(system)


def histories(system: Any, **options: Any) -> SearchStrategy[History]:
    """What `system` makes of the interleavings that `interleavings(system, **options)` draws.

    Args:
        system: an adapter: a class, or a function that makes one.
        options: as for `interleavings`.

    Raises:
        BadArgument, BadInput, CouldNotRun: as for `interleavings`.
    """
    if isinstance(system, Scenario):
        raise BadArgument("histories(): expected an adapter class, not a scenario: only a system makes a history")
    drawn, runner = interleavings(system, **options), _runner("histories", system)

    def run(interleaving: Interleaving) -> History:
        history: History = runner.run(interleaving.dropped, interleaving.events)
        return history

    weakref.finalize(run, runner.close)  # what the system opened for its worker is shut down with the strategy
    return drawn.map(run)
