"""Hypothesis strategies for everything that varies: scenarios, events, interleavings, histories and values.

For use in tests of one's own::

    from hypothesis import given
    from fencecheck import simulate, strategies as fst

    @given(fst.interleavings(OrderAgents))
    def test_never_ships_a_stale_order(interleaving):
        history = simulate(OrderAgents, interleaving)
        ...

Importing it makes the Hypothesis profiles `fencecheck-pr` and `fencecheck-nightly` known: see `_profiles`.

The simplest interleaving has no events and drops nothing. Events are drawn as (at, what), with the absolute number of the point before
which they land, so that each shrinks on its own. Whatever is drawn is a plain value whose `repr` can be pasted into a test.
"""

from __future__ import annotations

from hypothesis import strategies as st

from fencecheck.interleaving import Interleaving
from fencecheck.model import Scenario
from fencecheck.strategies._arguments import BadArgument
from fencecheck.strategies._events import (
    advances,
    corrupt_parents,
    deliveries,
    events,
    missing_parents,
    outages,
    replans,
    restarts,
    restores,
    switches,
    tool_faults,
    updates,
)
from fencecheck.strategies._interleavings import dropped_declarations, histories, interleavings
from fencecheck.strategies._profiles import register as _register_profiles
from fencecheck.strategies._scenarios import large_scenarios, scenarios
from fencecheck.strategies._values import concrete, values

__all__ = [
    "BadArgument",
    "advances",
    "concrete",
    "corrupt_parents",
    "deliveries",
    "dropped_declarations",
    "events",
    "histories",
    "interleavings",
    "large_scenarios",
    "missing_parents",
    "outages",
    "replans",
    "restarts",
    "restores",
    "scenarios",
    "switches",
    "tool_faults",
    "updates",
    "values",
]

_register_profiles()
st.register_type_strategy(Scenario, scenarios())
st.register_type_strategy(Interleaving, scenarios().flatmap(interleavings))
