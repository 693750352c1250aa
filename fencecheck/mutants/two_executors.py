"""Two executors may carry out one plan, and the one that made it does not look whether the other has claimed it."""

from __future__ import annotations

import asyncio

from fencecheck.model import Record
from fencecheck.mutants.concurrent import ConcurrentFence


class TwoExecutors(ConcurrentFence):
    """Two executors may carry out one plan, and the one that made it does not look whether the other has claimed it."""

    name = "two-executors"

    async def carry_out(self, plan: Record) -> None:
        self.claimed = False
        async with asyncio.TaskGroup() as group:
            group.create_task(self.carry_out_own(plan))
            group.create_task(self.help_out(plan))

    async def carry_out_own(self, plan: Record) -> None:
        """By the one that made it."""
        await self.kit.aio.point("claim")
        self.claimed = True
        await super().carry_out(plan)

    async def help_out(self, plan: Record) -> None:
        """By the other, which looks."""
        await self.kit.aio.point("claim")
        if not self.claimed:
            self.claimed = True
            await super().carry_out(plan)
