"""How many judged episodes a second: fencecheck, a bare loop, and a Hypothesis state machine of the same scenario, in one run.

    python benchmarks/episodes.py [--seconds S] [--memory-episodes N]

Each is run in turn, several rounds, and the best round of each counts: on a shared machine noise only ever slows. What matters are the ratios.
"""

from __future__ import annotations

import argparse
import platform
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from hypothesis.strategies import sampled_from

import fencecheck
from fencecheck.fence import Halt, PlanFence
from fencecheck.interleaving import Event, Update
from fencecheck.judge import judge
from fencecheck.model import Record
from fencecheck.run.simulate import Runner
from fencecheck.search.exhaust import episodes
from fencecheck.systems.planfence import PlanFenceSystem
from fencecheck.worlds import world


def judged(runner: Runner, interleavings: list[tuple[Any, Any]]) -> Callable[[], int]:
    """Runs and judges one episode of each interleaving."""

    def once() -> int:
        for dropped, events in interleavings:
            judge(runner.run(dropped, events))
        return len(interleavings)

    return once


def bare(calls: int, rounds: int) -> Callable[[], int]:
    """Steps a generator as often as an episode has points, and does nothing else."""

    def steps() -> Iterator[int]:
        yield from range(calls)

    def once() -> int:
        for _ in range(rounds):
            generator = steps()
            for _ in range(calls):
                next(generator)
        return rounds

    return once


class Deliveries(RuleBasedStateMachine):
    """The default world as a state machine: facts change, and what is fenced is never delivered stale."""

    def __init__(self) -> None:
        super().__init__()
        self.scenario = world()
        self.heads = {key: Record(f"{key}@1", key, self.scenario.value_of(key, 1)) for key in self.scenario.keys}
        self.records = {record.id: record for record in self.heads.values()}
        self.plan: Record | None = None
        self.stale = False

    @rule(key=sampled_from(world().keys))
    def update(self, key: str) -> None:
        number = int(self.heads[key].id.rpartition("@")[2]) + 1
        self.heads[key] = Record(f"{key}@{number}", key, self.scenario.value_of(key, number), (), self.heads[key].id)
        self.records[self.heads[key].id] = self.heads[key]

    def derived(self, inputs: dict[str, Record]) -> Record:
        decision = Record(f"d{len(self.records)}", None, "decision", tuple(record.id for record in inputs.values()))
        plan = Record(f"p{len(self.records)}", None, inputs, (decision.id,))
        self.records |= {decision.id: decision, plan.id: plan}
        return plan

    @rule()
    def make_plan(self) -> None:
        self.plan = self.derived({key: self.heads[key] for key in self.scenario.actions[0].depends_on})

    @precondition(lambda self: self.plan is not None)
    @rule()
    def deliver(self) -> None:
        fence: PlanFence[Record] = PlanFence(
            self.records.__getitem__, lambda key: self.heads[key].id, lambda plan, changed: self.derived({**plan.value, **changed})
        )
        assert self.plan is not None
        try:
            plan = fence.clear(self.plan, self.scenario.actions[0].depends_on).plan
        except Halt:
            return
        self.stale = any(self.heads[key] != record for key, record in plan.value.items())

    @invariant()
    def never_stale(self) -> None:
        assert not self.stale


def state_machine(examples: int, steps: int) -> Callable[[], int]:
    """Runs Hypothesis over the state machine, with as many steps as an episode has points."""
    chosen = settings(
        max_examples=examples, stateful_step_count=steps, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )  # fmt: skip

    def once() -> int:
        run_state_machine_as_test(Deliveries, settings=chosen)
        return examples

    return once


def rate(once: Callable[[], int], seconds: float) -> float:
    """Episodes per second over about `seconds`."""
    done, started = 0, time.perf_counter()
    while True:
        done += once()
        spent = time.perf_counter() - started
        if spent >= seconds:
            return done / spent


def megabytes() -> float:
    """Peak resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def growth(runner: Runner, count: int) -> float:
    """By how many MB the peak grew over `count` judged episodes with an update each, after a first thousand."""
    events = tuple(Event(7, Update(key)) for key in runner.scenario.keys[:1])
    for _ in range(1_000):
        judge(runner.run((), events))
    before = megabytes()
    for _ in range(count):
        judge(runner.run((), events))
    return megabytes() - before


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds for each measurement of each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory-episodes", type=int, default=100_000)
    options = parser.parse_args()
    runner = Runner(PlanFenceSystem)
    points = runner.horizon
    space = [(episode.dropped, episode.events) for episode in episodes(runner, 2) if episode.new]
    empty: list[tuple[Any, Any]] = [((), ())] * 200
    contestants = {
        "fencecheck, no events": judged(runner, empty),
        f"fencecheck, all {len(space):,} interleavings of up to 2 events": judged(runner, space),
        f"bare loop, {points} generator calls": bare(points, 1_000),
        f"Hypothesis state machine, {points} steps": state_machine(100, points),
    }
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(options.rounds):
        for name, once in contestants.items():
            rates[name].append(rate(once, options.seconds))
    best = {name: max(measured) for name, measured in rates.items()}
    reference = best["fencecheck, no events"]
    print(
        f"fencecheck {fencecheck.__version__}, Hypothesis {hypothesis.__version__}, Python {platform.python_version()}, {platform.machine()}"
    )
    print(
        f"planfence in the default world, {points} points without events; one core; "
        f"best and median of {options.rounds} rounds of {options.seconds:g} s"
    )
    for name, value in best.items():
        print(
            f"  {name:58} {value:10,.0f} /s  (median {statistics.median(rates[name]):,.0f})   fencecheck / this: {reference / value:8.2f}"
        )
    print(f"  peak memory over {options.memory_episodes:,} further episodes: +{growth(runner, options.memory_episodes):.1f} MB")


if __name__ == "__main__":
    main()
