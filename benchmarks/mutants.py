"""How many episodes, and how long, until each engine reports each known-bad fence, as a table in Markdown.

    python benchmarks/mutants.py [--seeds N] [--examples N] [--processes N] [MUTANT ...]

`exhaust` is the default `check`: it is deterministic, runs once, and goes on to the end of the size of the first failure. `explore` runs
once for each seed; its episodes are those until the first failure, and its seconds those until that was shrunk. A seed that finds nothing
counts as more than `--examples`. Episodes are exact and can be repeated; seconds are of processor time, since others may share the machine.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import hypothesis

import fencecheck
from fencecheck.mutants import ALL
from fencecheck.search.check import EXAMPLES, check
from fencecheck.search.report import Report

NEVER = float("inf")
HEADER = (
    "mutant",
    "events",
    "exhaust: episodes",
    "s",
    "explore: found",
    "episodes, median",
    "worst",
    "s, median",
    "worst",
    "as exhaust",
)


class Run(NamedTuple):
    """One check, and the processor time that it took."""

    report: Report
    seconds: float


class Measured(NamedTuple):
    """One mutant under both engines.

    Args:
        same: how many of the explorations that found something shrank to an interleaving that exhaust names too.
    """

    name: str
    exhaust: Run
    explored: list[Run]
    same: int


def run(name: str, **options: Any) -> Run:
    """Checks one mutant."""
    started = time.process_time()
    report = check(ALL[name], fresh_process=False, **options)
    return Run(report, time.process_time() - started)


def measure(name: str, seeds: int, examples: int) -> Measured:
    """Runs both engines on one mutant."""
    exhaust = run(name)
    explored = [run(name, engine="explore", examples=examples, seed=seed) for seed in range(seeds)]
    named = {(failure.code, failure.events) for failure in exhaust.report.failures}
    shrunk = [{(failure.code, failure.events) for failure in one.report.failures} for one in explored]
    return Measured(name, exhaust, explored, sum(bool(some) and some <= named for some in shrunk))


def row(measured: Measured, examples: int) -> list[str]:
    """The cells of one mutant."""
    exhaust, explored = measured.exhaust, measured.explored
    found = sum(bool(one.report.failures) for one in explored)
    episodes = [one.report.episodes if one.report.failures else NEVER for one in explored]
    seconds = [one.seconds if one.report.failures else NEVER for one in explored]
    return [
        measured.name,
        str(exhaust.report.failures[0].interleaving.size),
        f"{exhaust.report.episodes:,}",
        f"{exhaust.seconds:.1f}",
        f"{found} of {len(explored)}",
        *(f"{number:,.0f}" if number < NEVER else f"> {examples:,}" for number in (statistics.median_high(episodes), max(episodes))),
        *(f"{number:.1f}" if number < NEVER else "–" for number in (statistics.median_high(seconds), max(seconds))),
        f"{measured.same} of {found}",
    ]


def line(cells: list[str]) -> str:
    """One line of the table."""
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mutants", nargs="*", metavar="MUTANT", help="by default all")
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="the most examples of one exploration")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    print(
        f"fencecheck {fencecheck.__version__}, Hypothesis {hypothesis.__version__}, Python {platform.python_version()}, {platform.machine()}; "
        f"default world; explore with {options.seeds} seeds of up to {options.examples:,} examples\n"
    )
    print(line(list(HEADER)))
    print(line(["---", *["---:"] * (len(HEADER) - 1)]))
    with ProcessPoolExecutor(options.processes) as pool:
        for measured in pool.map(partial(measure, seeds=options.seeds, examples=options.examples), options.mutants or ALL):
            print(line(row(measured, options.examples)), flush=True)


if __name__ == "__main__":
    main()
