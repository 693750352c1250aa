"""Remembers in one place which key it asks for, and all its questions share that place."""

from __future__ import annotations

import asyncio
from typing import Any

from fencecheck.mutants.concurrent import ConcurrentFence


class WrongKey(ConcurrentFence):
    """Remembers in one place which key it asks for, and all its questions share that place."""

    name = "wrong-key"

    async def heads(self) -> dict[str, Any]:
        self.answers: dict[str, Any] = {}
        await asyncio.gather(*map(self.note, self.declared()))
        return self.answers

    async def note(self, key: str) -> None:
        """Asks, and notes the answer under the key that is asked for now."""
        self.asking = key
        head = await self.ask(key)
        self.answers[self.asking] = head
