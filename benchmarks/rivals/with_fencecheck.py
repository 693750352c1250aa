"""fencecheck: `check` with switches alone. What reaches the store is a port, what does not is a plain await; or each await is a port.

Whether an act was stale is for its judge to say, at the level at-act. That both were is no finding of its own, so there the system itself raises, and
the check fails on that. All interleavings of the size of the first failure are judged before it is reported, and counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from contest import Found, Mode, Proven, per_second, tell

from fencecheck import Action, AgentSystem, Scenario
from fencecheck.faults import PreconditionFailed
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check
from fencecheck.search.report import Report

RATE = "rate"


class BothStale(Exception):
    """The act of every round was stale."""


class Race(AgentSystem):
    """The race of `workload`, by ports."""

    scenario = Scenario(
        owners={"bank": [RATE]},
        actions=[Action("transfer", depends_on=[RATE], times=2)],
        values={RATE: ("rate one", "rate two", "rate three", "rate four")},
    )
    runtime = "asyncio"
    rounds, safe, all_ports = 1, False, False
    runs = 0

    async def run(self) -> None:
        """Both at the same time."""
        type(self).runs += 1
        self.stale = self.updates = 0
        async with asyncio.TaskGroup() as group:
            group.create_task(self.agent())
            group.create_task(self.updater())

    async def elsewhere(self, what: str) -> None:
        """An await that does not reach the store."""
        if self.all_ports:
            await self.kit.aio.point(what)
        else:
            await asyncio.sleep(0)

    async def agent(self) -> None:
        """Six awaits a round, of which the third, the fifth and the sixth reach the store."""
        for _ in range(self.rounds):
            await self.elsewhere("is asked")
            await self.elsewhere("thinks")
            rate = await self.kit.aio.read(RATE)
            seen = self.updates
            await self.elsewhere("plans")
            if await self.kit.aio.head(RATE) != rate.id:
                self.kit.halted("the rate changed")
                continue
            self.kit.validated([RATE])
            await self.act(rate.value, rate.id)
            self.stale += self.updates != seen and not self.safe
        if self.rounds > 1 and self.stale == self.rounds:
            raise BothStale

    async def act(self, value: object, id: str) -> None:
        """Where it is safe, the store checks in the act."""
        expect = {RATE: id} if self.safe else None
        try:
            await self.kit.aio.act("transfer", {"at": value}, basis={RATE: id}, expect=expect)
        except PreconditionFailed:
            self.kit.halted("the rate changed")

    async def updater(self) -> None:
        """Two awaits a round, of which the second reaches the store."""
        for _ in range(self.rounds):
            await self.elsewhere("quotes")
            await self.kit.aio.derive("a rate of the updater's", [], RATE)
            self.updates += 1


def system(rounds: int, safe: bool, all_ports: bool) -> type[Race]:
    return type("Race", (Race,), {"rounds": rounds, "safe": safe, "all_ports": all_ports, "runs": 0})


def checked(race: type[Race]) -> Report:
    if race.rounds == 1 or race.safe:
        return check(race, kinds=["switch"], level="at-act", fresh_process=False)
    return check(race, kinds=["switch"], fail_on=["crash"], fresh_process=False)


def hunt(all_ports: bool) -> Callable[[int, int], Found | None]:
    def once(rounds: int, seed: int) -> Found | None:
        report = checked(system(rounds, False, all_ports))
        return Found(report.episodes, len(report.failures[0].events)) if report.failures else None

    return once


def proof(all_ports: bool) -> Callable[[int], Proven]:
    def prove(rounds: int) -> Proven:
        report = checked(system(rounds, True, all_ports))
        complete = report.verdict == "held" and report.bound.kind == "complete"
        return Proven("every order of its port calls" if complete else "", report.episodes)

    return prove


def searched(all_ports: bool) -> Callable[[int], int]:
    """One whole search: it has an end of its own."""
    return lambda count: checked(system(2, True, all_ports)).episodes


def in_all(rounds: int, safe: bool) -> int:
    """How often the system is run in a check with ports at the store: preflight, runs with other names and replays included."""
    race = system(rounds, safe, False)
    checked(race)
    return race.runs


def alone(seconds: float = 0.3) -> float:
    """Episodes a second without any search: run and judged."""
    with Runner(system(1, True, True)) as runner:

        def judged(count: int) -> int:
            for _ in range(count):
                judge(runner.run())
            return count

        return per_second(judged, seconds, 3)


if __name__ == "__main__":
    bugs, proofs = ([in_all(rounds, safe) for rounds in (1, 2)] for safe in (False, True))
    whole = f"runs of the system in all, those that check the check included: {bugs} for the bug, {proofs} for the safe race"
    rate = f"{alone():,.0f} /s run and judged alone"
    tell(
        "fencecheck",
        [
            Mode("check, ports at the store", hunt(False), searched(False), proof(False), "switches", False, whole),
            Mode("check, each await a port", hunt(True), searched(True), proof(True), "switches", False, rate),
        ],
    )
