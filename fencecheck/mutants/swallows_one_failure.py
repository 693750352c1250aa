"""Gathers the answers with the failures among them, and takes one failure to be no answer that matters."""

from __future__ import annotations

import asyncio
from typing import Any

from fencecheck.mutants.concurrent import ConcurrentFence


class SwallowsOneFailure(ConcurrentFence):
    """Gathers the answers with the failures among them, and takes one failure to be no answer that matters."""

    name = "swallows-one-failure"

    async def heads(self) -> dict[str, Any]:
        keys = self.declared()
        answers = await asyncio.gather(*map(self.ask, keys), return_exceptions=True)
        failures = [answer for answer in answers if isinstance(answer, BaseException)]
        if len(failures) > 1:
            raise failures[0]
        return {key: answer for key, answer in zip(keys, answers, strict=True) if answer not in failures}
