"""What is measured of each contestant, in the same way for all; a contestant is a file that calls `tell`, which prints one line of JSON."""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import NamedTuple

LIMIT = 5_000
"""Episodes after which a search that has not found the bug is given up."""
PROOF_LIMIT = 5_000
"""Episodes after which a search of the safe race that has not come to its end is given up."""


class Found(NamedTuple):
    """A bug that was found.

    Args:
        episodes: how many were run, the failing one included, what shrinking runs left out.
        size: of the case that the tool shows.
    """

    episodes: int
    size: int


class Proven(NamedTuple):
    """What the tool says of the safe race.

    Args:
        claim: in its own words, or nothing where it claims nothing.
        episodes: how many it ran for that.
    """

    claim: str
    episodes: int


class Mode(NamedTuple):
    """One way to use a tool.

    Args:
        name: as its documentation calls it.
        hunt: searches the race of so many rounds from a seed.
        episodes: runs the safe race of one round so many times at most, and says how many it ran.
        prove: searches the safe race of so many rounds, where the tool can claim anything of it.
        unit: what the size of a case counts.
        seeded: whether the seed matters.
        note: what a reader has to know.
    """

    name: str
    hunt: Callable[[int, int], Found | None]
    episodes: Callable[[int], int]
    prove: Callable[[int], Proven] | None
    unit: str
    seeded: bool
    note: str = ""


def per_second(episodes: Callable[[int], int], seconds: float, repeats: int) -> float:
    """The best of several measurements of `seconds` each, in time of the processor: noise only ever slows, and others share the machine."""
    count, spent = 4, 0.0
    while True:
        started = time.process_time()
        done = episodes(count)
        spent = time.process_time() - started
        if spent >= seconds or done < count:
            break
        count *= 2
    best = done / spent
    for _ in range(repeats - 1):
        calls, done, started = 0, 0, time.process_time()
        while (spent := time.process_time() - started) < seconds or not calls:
            done += episodes(count)
            calls += 1
        best = max(best, done / spent)
    return best


def measured(mode: Mode, seeds: dict[int, int], seconds: float, repeats: int) -> dict[str, object]:
    """The figures of one mode, from so many seeds for each number of rounds."""
    rounds: dict[int, dict[str, object]] = {}
    for number, of in seeds.items():
        hunts = [mode.hunt(number, seed) for seed in range(of if mode.seeded else 1)]
        proven = mode.prove(number) if mode.prove is not None else None
        rounds[number] = {
            "episodes": [found.episodes if found is not None else None for found in hunts],
            "sizes": [found.size for found in hunts if found is not None],
            "proven": proven._asdict() if proven is not None else None,
        }
    return {
        "name": mode.name,
        "seeded": mode.seeded,
        "unit": mode.unit,
        "note": mode.note,
        "per_second": per_second(mode.episodes, seconds, repeats),
        "rounds": rounds,
    }


def options(parser: argparse.ArgumentParser) -> None:
    """What can be chosen of a run."""
    parser.add_argument("--seeds", type=int, default=25, help="searches for the bug of one round, where the seed matters")
    parser.add_argument("--seeds-two", type=int, default=25, help="the same for two rounds")
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds for each measurement of episodes a second")
    parser.add_argument("--repeats", type=int, default=5, help="such measurements, of which the best counts")


def tell(tool: str, modes: list[Mode]) -> None:
    """Measures and prints all modes of a tool."""
    parser = argparse.ArgumentParser()
    options(parser)
    chosen = parser.parse_args()
    seeds = {1: chosen.seeds, 2: chosen.seeds_two}
    figures = [measured(mode, seeds, chosen.seconds, chosen.repeats) for mode in modes]
    print(json.dumps({"tool": tool, "version": version(tool), "python": platform.python_version(), "modes": figures}))
