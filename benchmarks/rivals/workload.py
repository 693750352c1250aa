"""The race that every contestant runs: check, then act, in plain asyncio with nothing of any tool in it.

An agent awaits six times a round. Three of these awaits reach the store: it reads, checks, acts. An updater awaits twice a round, and one of the two
reaches the store. What reaches the store happens at once after its await, so that only the order of the awaits decides.
"""

from __future__ import annotations

import asyncio


class Race:
    """One episode.

    Args:
        rounds: how often it is raced; the bug is that the act of every round was stale.
        safe: whether the store itself checks, in the act, that nothing has changed.
    """

    def __init__(self, rounds: int = 1, safe: bool = False) -> None:
        self.rounds, self.safe = rounds, safe
        self.version = 0
        self.stale = 0

    async def agent(self) -> None:
        """Six awaits a round, of which the third, the fifth and the sixth reach the store."""
        for _ in range(self.rounds):
            await asyncio.sleep(0)  # is asked
            await asyncio.sleep(0)  # thinks
            await asyncio.sleep(0)
            seen = self.version
            await asyncio.sleep(0)  # plans
            await asyncio.sleep(0)
            if self.version != seen:
                continue
            await asyncio.sleep(0)
            self.act(seen)

    def act(self, seen: int) -> None:
        """What the store does: refuses what is out of date where it is safe, and takes anything where it is not."""
        if self.version != seen and not self.safe:
            self.stale += 1

    async def updater(self) -> None:
        """Two awaits a round, of which the second reaches the store."""
        for _ in range(self.rounds):
            await asyncio.sleep(0)  # quotes
            await asyncio.sleep(0)
            self.version += 1

    @property
    def holds(self) -> bool:
        """Whether the act of some round was not stale."""
        return self.stale < self.rounds


async def both(rounds: int, safe: bool) -> None:
    """The whole episode as a test: both tasks, then the assertion."""
    race = Race(rounds, safe)
    await asyncio.gather(race.agent(), race.updater())
    assert race.holds, "the act of every round was stale"


async def one_round() -> None:
    await both(1, False)


async def two_rounds() -> None:
    await both(2, False)


async def one_safe_round() -> None:
    await both(1, True)


async def two_safe_rounds() -> None:
    await both(2, True)


RACES = {1: one_round, 2: two_rounds}
SAFE = {1: one_safe_round, 2: two_safe_rounds}
