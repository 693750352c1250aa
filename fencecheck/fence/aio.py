"""PlanFence for asyncio: owners asked side by side, all answers awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fencecheck.fence.driver import AsyncDriver, Escaped, released
from fencecheck.fence.values import Failure, R


class PlanFence(AsyncDriver[R]):
    """`fencecheck.fence.sync.PlanFence` with async functions, for asyncio. Its arguments and calls are those of `AsyncDriver`."""

    async def _all(self, call: Callable[[str], Awaitable[Any]], names: tuple[str, ...]) -> dict[str, Any]:
        if len(names) == 1:
            return released({names[0]: await self._one(call, names[0])})
        async with asyncio.TaskGroup() as group:
            tasks = {name: group.create_task(self._one(call, name)) for name in names}
        return released({name: task.result() for name, task in tasks.items()})

    async def _one(self, call: Callable[[str], Awaitable[Any]], name: str) -> Any:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await call(name)
        except self._passthrough as error:
            return Escaped(error)
        except Exception as error:
            return Failure(error)
