"""Calls that a deterministic-workflow engine repeats: after a restart it runs the workflow again from its beginning, up to where it was.

What such an engine repeats meets the world no more: it is answered from what the call came to the first time. So inside `kit.replaying()` a
port call is no point, no answer and no effect; nothing lands before it, and it returns, or raises, what it did before. Calls are matched as
engines match commands with their history: the n-th call of that port, by that agent, about that key, record, action or label. A call that was
never made before has no answer, and says so: a workflow that does otherwise when it is replayed is not deterministic.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

from fencecheck.errors import FencecheckError, Nondeterministic
from fencecheck.model import Record
from fencecheck.run.aio import AioPorts
from fencecheck.run.kit import _AGENT, _HOOK, Kit


class Call(NamedTuple):
    """What a repeated call is known by, besides how many of its like came before."""

    workflow: str
    agent: str
    port: str
    about: str


class _Outcome:
    """What a call came to."""

    __slots__ = ("error", "value")

    def __init__(self) -> None:
        self.error: Exception | None = None
        self.value: Any = None


class _Block:
    """One replay: how far it is, and whether it still is one."""

    __slots__ = ("made", "of", "still")

    def __init__(self, of: str, still: Callable[[], bool] | None) -> None:
        self.of, self.still = of, still
        self.made: dict[Call, int] = {}


_BLOCK: ContextVar[_Block | None] = ContextVar("fencecheck_replay", default=None)


class ReplayingKit(Kit):
    """The kit of a system that says `replays = True`: it keeps what each call came to."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._kept: dict[Call, list[_Outcome]] = {}

    @contextmanager
    def replaying(self, still: Callable[[], bool] | None = None, *, of: str = "") -> Iterator[None]:
        """As `Kit.replaying`."""
        token = _BLOCK.set(_Block(of, still))
        try:
            yield
        finally:
            _BLOCK.reset(token)

    # -- the ports ---------------------------------------------------------------------------------------------------

    def read(self, key: str, *, timeout: float | None = None, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.read`."""
        return self._once("read", key, partial(super().read, key, timeout=timeout, via=via))

    def head(self, key: str, *, timeout: float | None = None, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.head`."""
        return self._once("head", key, partial(super().head, key, timeout=timeout, via=via))

    def memory(self, key: str, *, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.memory`."""
        return self._once("memory", key, partial(super().memory, key, via=via))

    def record(self, id: str | Record, *, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.record`."""
        return self._once("record", self._version(id), partial(super().record, id, via=via))

    def derive(
        self, value: Any, parents: Iterable[str | Record] = (), key: str | None = None, *, via: Callable[[], Any] | None = None
    ) -> Record:
        """As `Kit.derive`."""
        return self._once("derive", key or "derived", partial(super().derive, value, parents, key, via=via))  # type: ignore[no-any-return]

    def act(self, action: str, args: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """As `Kit.act`."""
        return self._once("act", action, partial(super().act, action, args, **options))

    def pause(self, label: str = "") -> None:
        """As `Kit.pause`."""
        if not self._repeats():
            super().pause(label)

    def point(self, label: str = "") -> None:
        """As `Kit.point`."""
        if not self._repeats():
            super().point(label)

    def declared(self, action: str, args: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """As `Kit.declared`."""
        return self._landing.declared(action, args) if self._repeats() else super().declared(action, args)

    def validated(self, basis: Mapping[str, str] | Iterable[str]) -> None:
        """As `Kit.validated`."""
        if not self._repeats():
            super().validated(basis)

    def halted(self, reason: str = "") -> None:
        """As `Kit.halted`."""
        if not self._repeats():
            super().halted(reason)

    @property
    def aio(self) -> AioPorts:
        """The same ports, to await."""
        if self._aio is None:
            self._aio = ReplayingPorts(self)
        return self._aio

    # -- once, and again ---------------------------------------------------------------------------------------------

    def _repeats(self) -> bool:
        """Whether the caller is in a replay; what a hook calls is part of its event, and never is."""
        block = _BLOCK.get()
        return block is not None and (block.still is None or block.still()) and not (self._in_event and _HOOK.get())

    def _call_of(self, port: str, about: str) -> Call:
        block = _BLOCK.get()
        return Call(block.of if block is not None else "", _AGENT.get(self._fallback), port, about)

    def _again(self, call: Call) -> Any:
        """What the call came to before.

        Raises:
            Nondeterministic: it was not made before.
        """
        block, kept = _BLOCK.get(), self._kept.get(call, ())
        assert block is not None
        number = block.made[call] = block.made.get(call, 0) + 1
        if number > len(kept):
            times = f"for the {number}. time " if number > 1 else ""
            raise Nondeterministic(
                f"{self._name()} calls {call.port} {call.about} {times}in a replay, and did not before: a workflow has to do the same again; "
                "let kit.replaying() end where the history of the workflow does"
            )
        outcome = kept[number - 1]
        if outcome.error is not None:
            raise outcome.error.with_traceback(None)
        return outcome.value

    def _made(self, call: Call) -> tuple[list[_Outcome], _Outcome]:
        """Makes room for what a call comes to, in the order in which calls are begun."""
        outcome, kept = _Outcome(), self._kept.setdefault(call, [])
        kept.append(outcome)
        block = _BLOCK.get()
        if block is not None:
            block.made[call] = block.made.get(call, 0) + 1
        return kept, outcome

    def _once(self, port: str, about: str, make: Callable[[], Any]) -> Any:
        if self._in_event and _HOOK.get():
            return make()
        call = self._call_of(port, about)
        if self._repeats():
            return self._again(call)
        kept, outcome = self._made(call)
        try:
            outcome.value = make()
        except BaseException as error:
            _ended_by(error, kept, outcome)
            raise
        return outcome.value


class ReplayingPorts(AioPorts):
    """`kit.aio` of a system that says `replays = True`."""

    __slots__ = ()
    _kit: ReplayingKit

    async def read(self, key: str, *, timeout: float | None = None, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.read`."""
        return await self._once("read", key, partial(super().read, key, timeout=timeout, via=via))

    async def head(self, key: str, *, timeout: float | None = None, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.head`."""
        return await self._once("head", key, partial(super().head, key, timeout=timeout, via=via))

    async def memory(self, key: str, *, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.memory`."""
        return await self._once("memory", key, partial(super().memory, key, via=via))

    async def record(self, id: str | Record, *, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.record`."""
        return await self._once("record", self._kit._version(id), partial(super().record, id, via=via))

    async def derive(
        self, value: Any, parents: Iterable[str | Record] = (), key: str | None = None, *, via: Callable[[], Any] | None = None
    ) -> Record:
        """As `Kit.derive`."""
        make = partial(super().derive, value, parents, key, via=via)
        return await self._once("derive", key or "derived", make)  # type: ignore[no-any-return]

    async def act(self, action: str, args: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """As `Kit.act`."""
        return await self._once("act", action, partial(super().act, action, args, **options))

    async def pause(self, label: str = "") -> None:
        """As `Kit.pause`."""
        if not self._kit._repeats():
            await super().pause(label)

    async def point(self, label: str = "") -> None:
        """As `Kit.point`."""
        if not self._kit._repeats():
            await super().point(label)

    async def _once(self, port: str, about: str, make: Callable[[], Awaitable[Any]]) -> Any:
        kit = self._kit
        if kit._in_event and _HOOK.get():
            return await make()
        call = kit._call_of(port, about)
        if kit._repeats():
            return kit._again(call)
        kept, outcome = kit._made(call)
        try:
            outcome.value = await make()
        except BaseException as error:
            _ended_by(error, kept, outcome)
            raise
        return outcome.value


def _ended_by(error: BaseException, kept: list[_Outcome], outcome: _Outcome) -> None:
    """A call that raised came to that; one that was unwound by a restart, or refused as bad input, never happened."""
    if isinstance(error, Exception) and not isinstance(error, FencecheckError):
        outcome.error = error
    else:
        kept[:] = [other for other in kept if other is not outcome]
