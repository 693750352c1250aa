"""Generated scenarios."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fencecheck.model import Scenario
from fencecheck.strategies._arguments import BadArgument, check_strategy
from fencecheck.worlds import FAMILIES, MAX_DEPTH, MAX_EXECUTORS, MAX_KEYS, world

_DEPTHS = (1, 2, 4, 8)
"""The depths of parent chains that the paper tests (section 5)."""


def scenarios(
    *,
    keys: SearchStrategy[int] | None = None,
    declared: SearchStrategy[int] | None = None,
    depth: SearchStrategy[int] | None = None,
    owners: SearchStrategy[int] | None = None,
    family: SearchStrategy[str] | None = None,
    seed: SearchStrategy[int] | None = None,
    executors: SearchStrategy[int] | None = None,
) -> SearchStrategy[Scenario]:
    """Worlds with realistic names and values, as `fencecheck.world` makes them. The simplest has one key, one owner and depth 1.

    Args:
        keys: numbers of keys, 1 to 16; by default up to 8.
        declared: numbers of declared keys; by default up to 4. A number beyond that of the keys means all keys.
        depth: generations between a plan and its versions, 1 to 64; by default 1, 2, 4 or 8.
        owners: numbers of owners; by default up to 4. A number beyond that of the keys means one owner for each key.
        family: `delivery`, `booking`, `deployment`; by default any of them.
        seed: seeds of the values; by default 0 to 9.
        executors: numbers of agents and tasks, 1 to 16; by default 1.

    Raises:
        BadArgument: an argument is no strategy; when drawn, that it gave a number out of range.
    """
    chosen = {
        "keys": keys if keys is not None else st.integers(1, 8),
        "declared": declared if declared is not None else st.integers(1, 4),
        "depth": depth if depth is not None else st.sampled_from(_DEPTHS),
        "owners": owners if owners is not None else st.integers(1, 4),
        "family": family if family is not None else st.sampled_from(FAMILIES),
        "seed": seed if seed is not None else st.integers(0, 9),
        "executors": executors if executors is not None else st.just(1),
    }
    return st.builds(_world, **{name: check_strategy("scenarios", name, strategy) for name, strategy in chosen.items()})


def _world(keys: Any, declared: Any, depth: Any, owners: Any, family: Any, seed: Any, executors: Any) -> Scenario:
    """The world of these numbers, which were drawn side by side: each shrinks without the others."""
    for name, number, most in (
        ("keys", keys, MAX_KEYS),
        ("declared", declared, None),
        ("depth", depth, MAX_DEPTH),
        ("owners", owners, None),
        ("executors", executors, MAX_EXECUTORS),
    ):
        if not isinstance(number, int) or number < 1 or (most is not None and number > most):
            upto = "or more" if most is None else f"to {most}"
            raise BadArgument(f"scenarios(): {name} gave {number!r}, which is not a whole number of 1 {upto}")
    return world(
        keys=keys,
        declared=min(declared, keys),
        depth=depth,
        owners=min(owners, keys),
        family=family,
        seed=seed,
        executors=executors,
    )


def large_scenarios() -> SearchStrategy[Scenario]:
    """Worlds of up to 16 keys, all of which may be declared, 6 owners, depth 8 and 8 executors, of one family. The simplest is as small as can be."""
    return scenarios(
        keys=st.integers(1, MAX_KEYS),
        declared=st.integers(1, MAX_KEYS),
        depth=st.integers(1, 8),
        owners=st.integers(1, 6),
        family=st.just("delivery"),
        seed=st.just(0),
        executors=st.integers(1, 8),
    )
