"""What the drivers share: their settings, and the loop of the two async ones. No I/O, no event loop and no decisions."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from fencecheck.fence.core import MAX_RECORDS, protocol, step
from fencecheck.fence.seen import Seen
from fencecheck.fence.values import Ask, Cleared, Failure, Fetch, Halt, R, Request, Steps

Reply = TypeVar("Reply")
Validated = Callable[[Mapping[str, str]], object]


def _is_async(function: Callable[..., object]) -> bool:
    """As `inspect.iscoroutinefunction`, which takes as long as a question to an owner; only what has no code of its own is left to it."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return bool(code.co_flags & inspect.CO_COROUTINE) if code is not None else inspect.iscoroutinefunction(function)


class Driver(Generic[R]):
    """The settings of a fence. See `fencecheck.fence.sync.PlanFence`."""

    def __init__(
        self,
        fetch: Callable[[str], Any],
        head: Callable[[str], Any],
        replan: Callable[[R, Mapping[str, R]], Any],
        validated: Validated | None = None,
        *,
        timeout_s: float | None = None,
        max_records: int = MAX_RECORDS,
        passthrough: tuple[type[BaseException], ...] = (),
    ) -> None:
        if validated is not None and _is_async(validated):
            raise TypeError("validated must be a plain function: awaiting it would put time between the last answer and the mark")
        if timeout_s is not None and timeout_s <= 0:
            raise ValueError(f"timeout_s is seconds above 0, or None, not {timeout_s}")
        if max_records < 1:
            raise ValueError(f"max_records is 1 or more, not {max_records}")
        self._fetch = fetch
        self._head = head
        self._replan = replan
        self._validated = validated
        self._timeout_s = timeout_s
        self._max_records = max_records
        self._passthrough = passthrough
        self._seen = Seen()

    def _steps(self, plan: R, depends_on: Iterable[str]) -> Steps[R]:
        return protocol(plan, depends_on, memory=self._seen, max_records=self._max_records)

    def _mark(self, cleared: Cleared[R]) -> Cleared[R]:
        if self._validated is not None:
            self._validated(cleared.basis)
        return cleared


class AsyncDriver(Driver[R]):
    """A fence of async functions, for any event loop: a subclass says how questions are asked side by side.

    Questions start in the order of the declared keys. Between the last answer and the return of `clear` nothing is awaited.

    Args:
        fetch, head, replan: as for `fencecheck.fence.sync.PlanFence`, but async functions.
        validated: as there, and a plain function.
        timeout_s: seconds for each question; the call is cancelled then. Replanning is not limited.
        max_records, passthrough: as there.

    Raises:
        TypeError, ValueError: a setting cannot be meant.
    """

    def __init__(
        self,
        fetch: Callable[[str], Awaitable[R]],
        head: Callable[[str], Awaitable[str]],
        replan: Callable[[R, Mapping[str, R]], Awaitable[R]],
        validated: Validated | None = None,
        timeout_s: float | None = None,
        *,
        max_records: int = MAX_RECORDS,
        passthrough: tuple[type[BaseException], ...] = (),
    ) -> None:
        super().__init__(fetch, head, replan, validated, timeout_s=timeout_s, max_records=max_records, passthrough=passthrough)

    async def clear(self, plan: R, depends_on: Iterable[str]) -> Cleared[R]:
        """Validate `plan` for one action: the clearance, or a `Halt` raised. See `fencecheck.fence.sync.PlanFence.clear`."""
        steps = self._steps(plan, depends_on)
        request = step(steps, None)
        while not isinstance(request, Cleared):
            request = step(steps, await self._answer(request))
        return self._mark(request)

    async def guard(self, plan: R, depends_on: Iterable[str], act: Callable[[Cleared[R]], Awaitable[Reply]]) -> Reply:
        """Await `act` with the clearance as soon as there is one, and return its reply.

        Raises:
            Halt: the action must not go out, and `act` was not called. What `act` raises is raised unchanged.
        """
        return await act(await self.clear(plan, depends_on))

    async def guard_each(self, plan: R, actions: Iterable[tuple[Iterable[str], Callable[[Cleared[R]], Awaitable[Reply]]]]) -> list[Reply]:
        """Take several actions of one plan, each validated by itself. See `fencecheck.fence.sync.PlanFence.guard_each`."""
        replies: list[Reply] = []
        for depends_on, act in actions:
            try:
                cleared = await self.clear(plan, depends_on)
            except Halt as halt:
                halt.replies = tuple(replies)
                raise
            plan = cleared.plan
            replies.append(await act(cleared))
        return replies

    async def _answer(self, request: Request[R]) -> Any:
        if isinstance(request, Fetch):
            return await self._all(self._fetch, request.ids)
        if isinstance(request, Ask):
            return await self._all(self._head, request.keys)
        try:
            return await self._replan(request.plan, request.changed)
        except self._passthrough:
            raise
        except Exception as error:
            return Failure(error)

    async def _all(self, call: Callable[[str], Awaitable[Any]], names: tuple[str, ...]) -> dict[str, Any]:
        raise NotImplementedError


class Escaped:
    """An exception of a passthrough type, held back until the questions asked beside it have been answered."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


def released(answers: dict[str, Any]) -> dict[str, Any]:
    """`answers` as they are, unless one escaped: then the first, in the order of the questions, is raised unchanged."""
    for answer in answers.values():
        if type(answer) is Escaped:
            raise answer.error
    return answers
