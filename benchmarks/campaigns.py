"""A campaign against a bare loop of the same episodes, and with two workers against one: `python benchmarks/campaigns.py [EPISODES]`.

All in one run, alternating, and reported as ratios: the loop draws, runs and judges, and keeps nothing; the campaign stores each episode as a row.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fencecheck.judge import judge
from fencecheck.measure import Distribution, Options, omission
from fencecheck.measure.distribution import stream
from fencecheck.measure.planning import planning_of
from fencecheck.run.simulate import Runner
from fencecheck.systems import ALL
from fencecheck.worlds import world

GRID = (0.0, 0.25, 0.5, 0.75, 1.0)
ROUNDS = 3


def seconds(what: Callable[[], object]) -> float:
    """How long that takes."""
    begun = time.perf_counter()
    what()
    return time.perf_counter() - begun


def bare(episodes: int) -> None:
    """The same episodes in a plain loop."""
    with Runner(ALL["planfence"], world(declared=4)) as runner:
        keys = runner.scenario.keys
        planning = planning_of(runner.run())
        optional = tuple(("deliver", key) for key in keys[1:])
        for p in GRID:
            distribution = Distribution(keys, 1, drop=p, optional=optional)
            for number in range(episodes // len(GRID)):
                dropped, events = distribution.draw(stream(0, f"planfence p={p:g}", number), lambda dropped, act: planning)
                judge(runner.run(dropped, events))


def campaign(episodes: int, workers: int) -> None:
    """The campaign, into a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        options = Options(episodes=episodes // len(GRID), workers=workers, store=Path(folder) / "store")
        omission("planfence", grid=GRID, options=options)


def main() -> None:
    """Prints each best of several rounds, and the ratios."""
    episodes = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    campaign(1_000, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took = {name: float("inf") for name in ("bare loop", "one worker", "two workers")}
    for _ in range(ROUNDS):
        took["bare loop"] = min(took["bare loop"], seconds(lambda: bare(episodes)))
        took["one worker"] = min(took["one worker"], seconds(lambda: campaign(episodes, 1)))
        took["two workers"] = min(took["two workers"], seconds(lambda: campaign(episodes, 2)))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    for name, best in took.items():
        print(f"{name:<12} {best:6.2f} s  {episodes / best:8,.0f} episodes/s")
    print(f"one worker / bare loop    {took['bare loop'] / took['one worker']:.2f} of its rate")
    print(f"two workers / one worker  {took['one worker'] / took['two workers']:.2f} times its rate")
    print(f"memory over {2 * ROUNDS * episodes:,} stored episodes {grown:+.1f} MB")


if __name__ == "__main__":
    main()
