"""PlanFence for plain functions: owners asked in turn, or side by side on a thread pool."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from fencecheck.fence.core import MAX_RECORDS, step
from fencecheck.fence.driver import Driver, Validated
from fencecheck.fence.values import Ask, Cleared, Failure, Fetch, Halt, R, Request

if TYPE_CHECKING:
    from concurrent.futures import Executor

Reply = TypeVar("Reply")


class PlanFence(Driver[R]):
    """Lets an action out only if every declared premise of its plan is current, replanning once where one is not.

    "Fresh Memory, Stale Plans" (arXiv, 2026-09-03). One fence can serve many threads, and should live as long as the agent: it remembers
    the heads it was answered, and so notices an owner that goes back to an older one.

    Args:
        fetch: record id to the record. Raising, or None, means that the record cannot be read.
        head: key to the id of the version that the key's owner says is current.
        replan: the plan and the changed records by key, to a new plan derived from them.
        validated: called with the basis at the moment of clearance, before anything else happens.
        executor: a thread pool on which records are read and owners asked side by side; all answers are awaited. Each call runs in a
            copy of the caller's context. Never the pool on which the fence itself runs: once full, it would wait for itself.
        timeout_s: seconds for each question. With an executor an answer that takes longer is a halt, and its thread is left to end by
            itself. It is passed on to `head` if that has a parameter named `timeout`; a `head` that is asked in turn and has none cannot
            be interrupted.
        max_records: ancestors read before a lineage counts as too large.
        passthrough: exception types that are raised unchanged. Any other `Exception` from `fetch`, `head` or `replan` is a `Halt` with
            that exception as its cause; what is no `Exception` is never caught.

    Raises:
        TypeError, ValueError: a setting cannot be meant.
    """

    def __init__(
        self,
        fetch: Callable[[str], R],
        head: Callable[..., str],
        replan: Callable[[R, Mapping[str, R]], R],
        validated: Validated | None = None,
        executor: Executor | None = None,
        timeout_s: float | None = None,
        *,
        max_records: int = MAX_RECORDS,
        passthrough: tuple[type[BaseException], ...] = (),
    ) -> None:
        super().__init__(fetch, head, replan, validated, timeout_s=timeout_s, max_records=max_records, passthrough=passthrough)
        self._executor = executor
        if timeout_s is not None and _takes_timeout(head):
            self._head = lambda key: head(key, timeout=timeout_s)

    def clear(self, plan: R, depends_on: Iterable[str]) -> Cleared[R]:
        """Validate `plan` for one action.

        Args:
            plan: the plan, its parents as the application wrote them.
            depends_on: D(a), the keys that the action depends on.

        Returns: the plan that may be acted on, which is a new one if `replanned`, and its basis.

        Raises:
            Halt: the action must not go out.
        """
        steps = self._steps(plan, depends_on)
        request = step(steps, None)
        while not isinstance(request, Cleared):
            request = step(steps, self._answer(request))
        return self._mark(request)

    def guard(self, plan: R, depends_on: Iterable[str], act: Callable[[Cleared[R]], Reply]) -> Reply:
        """Call `act` with the clearance as soon as there is one, and return its reply.

        Args:
            plan, depends_on: as for `clear`.
            act: what lets the action out.

        Raises:
            Halt: the action must not go out, and `act` was not called. What `act` raises is raised unchanged.
        """
        return act(self.clear(plan, depends_on))

    def guard_each(self, plan: R, actions: Iterable[tuple[Iterable[str], Callable[[Cleared[R]], Reply]]]) -> list[Reply]:
        """Take several actions of one plan, each validated by itself right before it goes out; a remade plan is the plan of those after it.

        Args:
            plan: the plan of them all.
            actions: pairs of the keys that the action depends on and `act`.

        Raises:
            Halt: an action must not go out, nor do those after it. `replies` holds the replies of those before.
        """
        replies: list[Reply] = []
        for depends_on, act in actions:
            try:
                cleared = self.clear(plan, depends_on)
            except Halt as halt:
                halt.replies = tuple(replies)
                raise
            plan = cleared.plan
            replies.append(act(cleared))
        return replies

    def _answer(self, request: Request[R]) -> Any:
        if isinstance(request, Fetch):
            return self._all(self._fetch, request.ids)
        if isinstance(request, Ask):
            return self._all(self._head, request.keys)
        try:
            return self._replan(request.plan, request.changed)
        except self._passthrough:
            raise
        except Exception as error:
            return Failure(error)

    def _all(self, call: Callable[[str], Any], names: tuple[str, ...]) -> dict[str, Any]:
        if self._executor is not None:
            return self._side_by_side(self._executor, call, names)
        answers = {}
        for name in names:
            try:
                answers[name] = call(name)
            except self._passthrough:
                raise
            except Exception as error:
                answers[name] = Failure(error)
        return answers

    def _side_by_side(self, executor: Executor, call: Callable[[str], Any], names: tuple[str, ...]) -> dict[str, Any]:
        # Imported here: it brings logging with it, which a fence without a pool need not pay for.
        from concurrent.futures import wait

        futures = {name: executor.submit(copy_context().run, call, name) for name in names}
        try:
            answered = wait(futures.values(), self._timeout_s).done
        finally:
            for future in futures.values():
                future.cancel()  # what has not begun need not; no effect on the others
        answers: dict[str, Any] = {}
        for name, future in futures.items():
            if future not in answered:
                answers[name] = Failure(timed_out=True)
                continue
            try:
                answers[name] = future.result()
            except self._passthrough:
                raise
            except Exception as error:
                answers[name] = Failure(error)
        return answers


def _takes_timeout(head: Callable[..., str]) -> bool:
    try:
        parameter = inspect.signature(head).parameters.get("timeout")
    except (TypeError, ValueError):  # a callable without a readable signature
        return False
    return parameter is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
