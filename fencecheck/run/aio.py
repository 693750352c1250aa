"""The ports to await, on asyncio and on trio: the same steps as the plain ports, driven by awaiting what those cannot."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fencecheck.history import Derive, Head, Pause, Read, Seam
from fencecheck.model import Record
from fencecheck.run import tools
from fencecheck.run.kit import _AGENT, _HOOK
from fencecheck.run.native import Alone
from fencecheck.run.world import handed_out

if TYPE_CHECKING:
    from fencecheck.run.kit import Kit


class AioPorts:
    """`kit.aio`: each port as in `Kit`, to await. `via` may be async."""

    __slots__ = ("_alone", "_kit")

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._alone = Alone() if kit._system.runtime == "asyncio-native" else None

    async def read(self, key: str, *, timeout: float | None = None, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.read`."""
        agent = await self._enter("read", key)
        kit, world = self._kit, self._kit._world
        if via is None and not world.modes and not world.lost and not kit._own_store and key in world.heads:
            id = world.memory[agent, key] = world.heads[key]
            kit._log.append(Read(agent, key, id, "ok", kit._in_event))
            return handed_out(world.records[id])
        return await self._drive(self._kit._ask(Read, agent, key, timeout, via))

    async def head(self, key: str, *, timeout: float | None = None, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.head`."""
        agent = await self._enter("head", key)
        kit, world = self._kit, self._kit._world
        if via is None and not world.modes and not kit._own_store and key in world.heads:
            kit._log.append(Head(agent, key, world.heads[key], "ok", kit._in_event))
            return world.heads[key]
        return await self._drive(self._kit._ask(Head, agent, key, timeout, via))

    async def memory(self, key: str, *, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.memory`."""
        agent = await self._enter("memory", key)
        return await self._drive(self._kit._remember(agent, key, via))

    async def record(self, id: str | Record, *, via: Callable[[], Any] | None = None) -> Any:
        """As `Kit.record`."""
        about = self._kit._version(id)
        agent = await self._enter("record", about)
        return await self._drive(self._kit._fetch(agent, about, via))

    async def derive(
        self, value: Any, parents: Iterable[Any] = (), key: str | None = None, *, via: Callable[[], Any] | None = None
    ) -> Record:
        """As `Kit.derive`."""
        kit = self._kit
        agent = await self._enter("derive", key or "derived")
        record = kit._world.derive(value, kit._parents(parents), key)
        kit._log.append(Derive(agent, record.id, kit._in_event))
        if via is not None:
            await self._drive(kit._call(via, lambda: None))
        return kit._landing.handed_out(record)

    async def act(
        self,
        action: str,
        args: Mapping[str, Any] | None = None,
        *,
        plan: str | Record | None = None,
        basis: Mapping[str, str] | None = None,
        expect: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        via: Callable[[], Any] | None = None,
    ) -> Any:
        """As `Kit.act`."""
        agent = await self._enter("act", action)
        return await self._drive(tools.call(self._kit._landing, agent, action, args, (plan, basis, expect, idempotency_key), via))

    async def pause(self, label: str = "") -> None:
        """As `Kit.pause`."""
        label = str(label)
        self._kit._state(Pause(await self._enter("pause", label), label))

    async def point(self, label: str = "") -> None:
        """As `Kit.point`."""
        label = str(label)
        self._kit._state(Seam(await self._enter("point", label), label))

    async def _enter(self, port: str, about: str) -> str:
        kit = self._kit
        line = kit._line
        if kit._in_event and _HOOK.get():
            pass  # what a hook calls is part of its event, and takes no turn
        elif line is not None:
            point = await line.wait(port, about)
            if point >= kit._next:
                await self._drive(kit._landing.arriving(point, port, about, _AGENT.get(kit._fallback)))
        else:
            await _turn()
            arriving = self._arrive(port, about)
            await (arriving if self._alone is None else self._alone(arriving))
        return _AGENT.get(kit._fallback)

    async def _arrive(self, port: str, about: str) -> None:
        kit = self._kit
        if not kit._in_event:
            point = next(kit._points)
            if point >= kit._next:
                await self._drive(kit._landing.arriving(point, port, about, _AGENT.get(kit._fallback)))

    async def _drive(self, steps: Generator[Any, Any, Any]) -> Any:
        try:
            what, about = next(steps)
            while True:
                if what == "await":
                    try:
                        answer = await (about if self._alone is None else self._alone(about))
                    except BaseException as error:
                        what, about = steps.throw(error)
                        continue
                    what, about = steps.send(answer)
                elif what == "sleep":
                    await _sleep(max(about, 0.0))
                    what, about = next(steps)
                else:
                    await self._hang(about)
        except StopIteration as end:
            return end.value

    async def _hang(self, waited_for: str) -> None:
        """Waits for ever."""
        kit = self._kit
        if kit._line is not None:
            await kit._line.hang(waited_for)
        if kit._system.runtime == "sync":  # a loop of the system's own, on which nothing else would end this
            await _sleep(kit._system.timeout_s)
            raise kit._stuck(waited_for)
        kit._landing.waits.append(waited_for)
        await _never()


def on_trio() -> bool:
    """Whether the caller runs in trio."""
    if "trio" not in sys.modules:
        return False
    import trio

    return trio.lowlevel.in_trio_run()


def _turn() -> Awaitable[None]:
    """Lets other tasks run; who called first goes on first."""
    if on_trio():
        import trio

        return trio.lowlevel.checkpoint()
    import asyncio

    return asyncio.sleep(0)


def _sleep(seconds: float) -> Awaitable[None]:
    if on_trio():
        import trio

        return trio.sleep(seconds)
    import asyncio

    return asyncio.sleep(seconds)


async def _never() -> None:
    if on_trio():
        import trio

        await trio.sleep_forever()
    import asyncio

    await asyncio.get_running_loop().create_future()
