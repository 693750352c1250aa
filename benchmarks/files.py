"""Judged episodes per second of CPU time on real files: `python benchmarks/files.py`, with TMPDIR as the folder whose file system is measured."""

from __future__ import annotations

import tempfile
import time

from fencecheck.interleaving import Event, Update
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner
from fencecheck.systems import ON_FILES
from fencecheck.systems.editor import NOTES

EPISODES = 500
CASES: dict[str, tuple[Event, ...]] = {
    "no event": (),
    "a save": (Event(2, Update(NOTES)),),
    "touched": (Event(2, Update(NOTES, "touched")),),
    "renamed away": (Event(2, Update(NOTES, "renamed-away")),),
}


def main() -> None:
    """Prints a line for each system."""
    print(f"episodes per second of CPU time in {tempfile.gettempdir()}")
    print(f"{'':<12}" + "".join(f"{case:>14}" for case in CASES))
    for name, system in ON_FILES.items():
        with Runner(system) as runner:
            rates = [_rate(runner, events) for events in CASES.values()]
        print(f"{name:<12}" + "".join(f"{rate:>14,.0f}" for rate in rates))


def _rate(runner: Runner, events: tuple[Event, ...]) -> float:
    runner.run((), events)
    began = time.process_time()
    for _ in range(EPISODES):
        judge(runner.run((), events))
    return EPISODES / (time.process_time() - began)


if __name__ == "__main__":
    main()
