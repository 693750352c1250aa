"""Asks all owners side by side and goes on with the first answer."""

from __future__ import annotations

import asyncio
from typing import Any

from fencecheck.mutants.concurrent import ConcurrentFence


class FirstAnswerWins(ConcurrentFence):
    """Asks all owners side by side and goes on with the first answer."""

    name = "first-answer-wins"

    async def heads(self) -> dict[str, Any]:
        asked = {asyncio.create_task(self.ask(key)): key for key in self.declared()}
        if not asked:
            return {}  # all declarations were dropped
        done, left = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        return {key: task.result() for task, key in asked.items() if task in done}
