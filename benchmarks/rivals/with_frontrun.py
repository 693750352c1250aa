"""frontrun: `explore` with async workers, by dynamic partial-order reduction and at random. The race is put in workers and an invariant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import frontrun
from contest import LIMIT, Found, Mode, Proven, tell
from workload import Race


def explored(rounds: int, safe: bool, **options: Any) -> Any:
    return asyncio.run(
        frontrun.explore(setup=lambda: Race(rounds, safe), workers=[Race.agent, Race.updater], invariant=lambda race: race.holds, **options)
    )


def found(result: Any) -> Found | None:
    if result.property_holds is not False:
        return None
    return Found(result.num_explored, len(getattr(result.counterexample, "steps", result.counterexample)))


def dpor(bound: int | None) -> Callable[[int, int], Found | None]:
    return lambda rounds, seed: found(explored(rounds, False, preemption_bound=bound, reproduce_on_failure=0))


def at_random(rounds: int, seed: int) -> Found | None:
    return found(explored(rounds, False, strategy="random", max_attempts=LIMIT, seed=seed))


def proof(bound: int | None) -> Callable[[int], Proven]:
    def prove(rounds: int) -> Proven:
        result = explored(rounds, True, preemption_bound=bound)
        claim = "every order that differs" if bound is None else f"at most {bound} preemptions"
        return Proven(claim if result.property_holds else "", result.num_explored)

    return prove


def reduced(count: int) -> int:
    """One whole search: it has an end of its own."""
    return int(explored(2, True, preemption_bound=None, max_executions=count).num_explored)


def randomly(count: int) -> int:
    return int(explored(1, True, strategy="random", max_attempts=count, seed=0).num_explored)


NOTE = "it does not shrink: the size is that of the schedule that it shows"
tell(
    "frontrun",
    [
        Mode("dpor (default: 2 preemptions)", dpor(2), reduced, proof(2), "steps", False, NOTE),
        Mode("dpor, no bound", dpor(None), reduced, proof(None), "steps", False, NOTE),
        Mode("random", at_random, randomly, None, "steps", True, NOTE),
    ],
)
