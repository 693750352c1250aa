"""PlanFence for trio: owners asked side by side, all answers awaited. The only module that needs trio installed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from fencecheck.fence.driver import AsyncDriver, Escaped, released
from fencecheck.fence.values import Failure, R


class PlanFence(AsyncDriver[R]):
    """`fencecheck.fence.sync.PlanFence` with async functions, for trio. Its arguments and calls are those of `AsyncDriver`."""

    async def _all(self, call: Callable[[str], Awaitable[Any]], names: tuple[str, ...]) -> dict[str, Any]:
        answers: dict[str, Any] = dict.fromkeys(names)
        if len(names) == 1:
            answers[names[0]] = await self._one(call, names[0])
            return released(answers)

        async def ask(place: int) -> None:
            # trio runs the tasks of a nursery in an order of its own. Each starts the next one, so that questions start in theirs.
            if place + 1 < len(names):
                nursery.start_soon(ask, place + 1)
            answers[names[place]] = await self._one(call, names[place])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, 0)
        return released(answers)

    async def _one(self, call: Callable[[str], Awaitable[Any]], name: str) -> Any:
        try:
            with trio.move_on_after(float("inf") if self._timeout_s is None else self._timeout_s):
                return await call(name)
            return Failure(timed_out=True)
        except self._passthrough as error:
            return Escaped(error)
        except trio.TooSlowError as error:
            return Failure(error, timed_out=True)
        except Exception as error:
            return Failure(error)
