"""How many judged episodes a second of a race on asyncio: fencecheck, and a bare event loop that awaits as often, in one process.

    python benchmarks/race.py [--seconds S] [--rounds N]

An agent checks, then acts, in six awaited calls; beside it a task updates what the agent relies on, in two. Each contestant is run in turn,
several rounds, and the best round of each counts: on a shared machine noise only ever slows. What matters are the ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import statistics
import time
from collections.abc import Callable, Coroutine
from typing import Any

import fencecheck
from fencecheck import Action, AgentSystem, Scenario
from fencecheck.interleaving import Event, Switch
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner

RATE = "account/7/rate"


class Race(AgentSystem):
    """Check, then act, and an update that may come between the two. On its own the update comes first, and nothing is stale."""

    scenario = Scenario(
        owners={"bank": [RATE]},
        actions=[Action("transfer", depends_on=[RATE])],
        values={RATE: tuple(f"rate {number} of the day" for number in ("one", "two", "three", "four"))},
    )
    runtime = "asyncio"

    async def run(self) -> None:
        """Both at the same time."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.agent())
            group.create_task(self.updater())

    async def agent(self) -> None:
        """Six awaited ports."""
        port = self.kit.aio
        await port.pause("asked")
        await port.point("thinks")
        rate = await port.read(RATE)
        plan = await port.derive({"at": rate.value}, [rate])
        if await port.head(RATE) != rate.id:
            self.kit.halted("changed")
            return
        self.kit.validated([RATE])
        await port.act("transfer", plan.value, plan=plan)

    async def updater(self) -> None:
        """Two awaited ports."""
        port = self.kit.aio
        await port.point("quotes")
        await port.derive("rate of the updater", [], RATE)


async def bare() -> None:
    """As many awaits, of nothing."""

    async def turns(count: int) -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(turns(6))
        group.create_task(turns(2))


def alternatives(runner: Runner) -> list[tuple[Event, ...]]:
    """No event, and each single switch that changes the order."""
    waiting = runner.run().waiting
    return [(), *((Event(at, Switch(lane)),) for at, lanes in waiting.items() for lane in lanes[1:])]


def judged(runner: Runner, interleavings: list[tuple[Event, ...]]) -> Callable[[], int]:
    """Runs and judges one episode of each interleaving, ten times."""

    def once() -> int:
        for events in interleavings * 10:
            judge(runner.run((), events))
        return len(interleavings) * 10

    return once


def only_run(runner: Runner) -> Callable[[], int]:
    """Runs episodes without events, and judges none."""

    def once() -> int:
        for _ in range(50):
            runner.run()
        return 50

    return once


def on_one_loop(make: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], int]:
    """Awaits it a hundred times on one stock loop."""

    async def many() -> None:
        for _ in range(100):
            await make()

    def once() -> int:
        asyncio.run(many())
        return 100

    return once


def on_new_loops(make: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], int]:
    """Awaits it on a stock loop of its own each time."""

    def once() -> int:
        for _ in range(20):
            asyncio.run(make())
        return 20

    return once


def rate(once: Callable[[], int], seconds: float) -> float:
    """Episodes per second over about `seconds`."""
    done, started = 0, time.perf_counter()
    while True:
        done += once()
        spent = time.perf_counter() - started
        if spent >= seconds:
            return done / spent


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds for each measurement of each round")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    runner = Runner(Race)
    several = alternatives(runner)
    contestants = {
        "bare stock loop, one for all": on_one_loop(bare),
        "bare stock loop, a new one for each": on_new_loops(bare),
        "fencecheck, judged, no events": judged(runner, [()] * 5),
        f"fencecheck, judged, each of {len(several) - 1} switches": judged(runner, several),
        "fencecheck, not judged, no events": only_run(runner),
    }
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(options.rounds):
        for name, once in contestants.items():
            rates[name].append(rate(once, options.seconds))
    best = {name: max(measured) for name, measured in rates.items()}
    reference = best["bare stock loop, one for all"]
    print(f"fencecheck {fencecheck.__version__}, Python {platform.python_version()}, {platform.machine()}; one core")
    print(f"best and median of {options.rounds} rounds of {options.seconds:g} s:")
    print(f"  python benchmarks/race.py --seconds {options.seconds:g} --rounds {options.rounds}")
    for name, value in best.items():
        print(f"  {name:42} {value:9,.0f} /s  (median {statistics.median(rates[name]):9,.0f})   this / bare loop: {value / reference:5.2f}")


if __name__ == "__main__":
    main()
