"""simloom: `explore` over seeds by its default scheduler, and `explore_systematic`, which it documents as the proof within a bound of delays."""

from __future__ import annotations

from collections.abc import Callable

import simloom
from contest import LIMIT, PROOF_LIMIT, Found, Mode, Proven, tell
from workload import RACES, SAFE

DELAYS = 3
"""The bound in its README."""
UNBOUNDED = 1_000
"""More delays than there can be in these races, so that every schedule is within the bound."""


def hunt(rounds: int, seed: int) -> Found | None:
    done = simloom.explore(RACES[rounds], runs=LIMIT, start_seed=seed * LIMIT)
    if done.first_failure is None:
        return None
    assert isinstance(done.first_failure.error, AssertionError)
    return Found(done.runs, simloom.shrink(RACES[rounds], done.first_failure).deviations)


def episodes(count: int) -> int:
    done = simloom.explore(SAFE[1], runs=count)
    assert not done.failed
    return done.runs


def systematic(most: int) -> Callable[[int, int], Found | None]:
    def once(rounds: int, seed: int) -> Found | None:
        done = simloom.explore_systematic(RACES[rounds], max_delays=most, max_schedules=LIMIT)
        if done.first is None or done.first_failure_at is None:
            return None
        return Found(done.first_failure_at, simloom.shrink(RACES[rounds], done.first).deviations)

    return once


def proof(most: int) -> Callable[[int], Proven]:
    def prove(rounds: int) -> Proven:
        done = simloom.explore_systematic(SAFE[rounds], max_delays=most, max_schedules=PROOF_LIMIT)
        bound = f"at most {most} delays" if most < UNBOUNDED else "any number of delays"
        return Proven(bound if done.proven_correct else "", done.schedules)

    return prove


def systematically(count: int) -> int:
    """One whole search: it has an end of its own."""
    return simloom.explore_systematic(SAFE[2], max_delays=DELAYS, max_schedules=count).schedules


tell(
    "simloom",
    [
        Mode("random (default)", hunt, episodes, None, "deviations", True),
        Mode(f"systematic, {DELAYS} delays", systematic(DELAYS), systematically, proof(DELAYS), "deviations", False),
        Mode("systematic, no bound", systematic(UNBOUNDED), systematically, proof(UNBOUNDED), "deviations", False),
    ],
)
