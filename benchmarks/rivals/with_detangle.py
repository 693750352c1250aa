"""detangle: `explore` with its default portfolio, and `DFS`, which it documents as the proof within a bound of deviations from asyncio's order."""

from __future__ import annotations

from collections.abc import Callable

import detangle
from contest import LIMIT, PROOF_LIMIT, Found, Mode, Proven, tell
from workload import RACES, SAFE

DELAYS = 3
"""The bound in its README."""
UNBOUNDED = 1_000
"""More deviations than there can be in these races, so that every schedule is within the bound."""


def found(hunt: Callable[[], object]) -> Found | None:
    try:
        hunt()
    except detangle.BugFound as bug:
        return Found(bug.report.runs, bug.report.deviations)
    return None


def portfolio(rounds: int, seed: int) -> Found | None:
    return found(lambda: detangle.explore(RACES[rounds], seed=seed, runs=LIMIT, database=False))


def delays(most: int) -> Callable[[int, int], Found | None]:
    def hunt(rounds: int, seed: int) -> Found | None:
        strategy = detangle.DFS(max_delays=most)
        return found(lambda: detangle.explore(RACES[rounds], strategy=strategy, runs=LIMIT, database=False))

    return hunt


def proof(most: int) -> Callable[[int], Proven]:
    def prove(rounds: int) -> Proven:
        stats = detangle.explore(SAFE[rounds], strategy=detangle.DFS(max_delays=most), runs=PROOF_LIMIT, database=False)
        bound = f"at most {most} deviations" if most < UNBOUNDED else "any number of deviations"
        return Proven(bound if stats.exhausted else "", stats.runs)

    return prove


def by_portfolio(count: int) -> int:
    return detangle.explore(SAFE[1], seed=0, runs=count, database=False).runs


def by_delays(count: int) -> int:
    """One whole search: it has an end of its own."""
    return detangle.explore(SAFE[2], strategy=detangle.DFS(max_delays=DELAYS), runs=count, database=False).runs


tell(
    "detangle",
    [
        Mode("portfolio (default)", portfolio, by_portfolio, None, "deviations", True),
        Mode(f"DFS, {DELAYS} delays", delays(DELAYS), by_delays, proof(DELAYS), "deviations", False),
        Mode("DFS, no bound", delays(UNBOUNDED), by_delays, proof(UNBOUNDED), "deviations", False),
    ],
)
