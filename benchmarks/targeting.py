"""Does `hypothesis.target` find a failing interleaving of a known-bad fence in fewer episodes?

    python benchmarks/targeting.py [SEEDS [LIMIT [NAME...]]]

Draws interleavings as `explore` does until one fails, from each of so many seeds (25), at most so many (1,000): without a target, and with
each of two, the number of events that fired, and how far the episode came from an undisturbed one (halted or replanned, one each). Prints
the median number of examples to the failure; a search that does not find it counts as its limit.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from statistics import median

from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import seed as seeded

from fencecheck.history import History
from fencecheck.interleaving import Interleaving
from fencecheck.judge import ALWAYS_FAIL, Judgement, counts_at, judge
from fencecheck.mutants import ALL
from fencecheck.run.simulate import Runner
from fencecheck.search.explore import REPLANNED
from fencecheck.strategies import interleavings

SEEDS, LIMIT, MAX_EVENTS = 25, 1_000, 8
ASKED = ALWAYS_FAIL | {"duplicate-act"}
Target = Callable[[History, Judgement], float]
TARGETS: dict[str, Target | None] = {
    "none": None,
    "fired": lambda history, judgement: len(history.fired),
    "outcome": lambda history, judgement: judgement.outcome.startswith("halted") + judgement.recovered + len(judgement.findings) / 10,
}


class Failed(Exception):
    """An example failed."""


def examples_to_failure(runner: Runner, aim: Target | None, seed: int, limit: int) -> int:
    """How many examples are drawn until one fails."""
    drawn = 0

    @seeded(seed)
    @settings(
        max_examples=limit,
        database=None,
        deadline=None,
        phases=[Phase.generate, *([Phase.target] if aim else [])],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        interleavings(
            runner.scenario,
            max_events=MAX_EVENTS,
            kinds=runner.kinds,
            horizon=REPLANNED * runner.horizon,
            tasks=runner.lanes,
            turns=runner.turns,
        )
    )
    def draws(interleaving: Interleaving) -> None:
        nonlocal drawn
        drawn += 1
        history = runner.run(interleaving.dropped, interleaving.events)
        judgement = judge(history)
        if any(finding.code in ASKED and counts_at(finding.code, "at-validation") for finding in judgement.findings):
            raise Failed
        if aim is not None:
            target(float(aim(history, judgement)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            draws()
        except Failed:
            return drawn
    return limit


def main(seeds: int, limit: int, names: list[str]) -> None:
    """Prints a line for each known-bad fence."""
    print(f"median examples to a failing interleaving, {seeds} seeds, at most {limit:,} (in brackets: seeds that did not find it)")
    print(f"  {'':<26}" + "".join(f"{name:>14}" for name in TARGETS))
    every: dict[str, list[int]] = {name: [] for name in TARGETS}
    for name in names:
        with Runner(ALL[name]) as runner:
            runs = {aim: [examples_to_failure(runner, TARGETS[aim], seed, limit) for seed in range(seeds)] for aim in TARGETS}
        for aim, numbers in runs.items():
            every[aim] += numbers
        print(f"  {name:<26}" + "".join(f"{median(numbers):>8.0f} ({numbers.count(limit):>2}) " for numbers in runs.values()), flush=True)
    print(f"  {'all':<26}" + "".join(f"{median(numbers):>8.0f} ({numbers.count(limit):>2}) " for numbers in every.values()))
    print(f"  {'mean':<26}" + "".join(f"{sum(numbers) / len(numbers):>8.0f}      " for numbers in every.values()))


if __name__ == "__main__":
    given_seeds, given_limit, *given_names = [*sys.argv[1:], *(str(SEEDS), str(LIMIT))[len(sys.argv[1:3]) :]]
    main(int(given_seeds), int(given_limit), given_names or list(ALL))
