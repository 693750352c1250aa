"""A second executor takes over a plan that has waited for long, and the first one is not dead but slow."""

from __future__ import annotations

import asyncio

from fencecheck.model import Record
from fencecheck.mutants.concurrent import ConcurrentFence

PATIENCE_S = 30.0


class TakesOver(ConcurrentFence):
    """A second executor takes over a plan that has waited for long, and the first one is not dead but slow."""

    name = "takes-over"

    async def carry_out(self, plan: Record) -> None:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(super().carry_out(plan))
            await asyncio.wait([first], timeout=PATIENCE_S)
            if not first.done():
                group.create_task(super().carry_out(plan))
