"""A world for the fence to run in, and the four ways of driving it, so that each test states its rule once for all of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import trio

from fencecheck.fence import Cleared, Halt, PlanFence
from fencecheck.fence import aio as fence_aio
from fencecheck.fence import trio_ as fence_trio

DRIVERS = ("sync", "pool", "asyncio", "trio")


@dataclass(frozen=True)
class Rec:
    id: Any
    key: Any = None
    parents: Any = ()
    supersedes: str | None = None
    removed: bool = False
    value: Any = None


class Hang:
    """An answer that never comes."""


HANG = Hang()


class World:
    """Records by id, heads by key; an exception in the place of an answer is raised, `HANG` never answers. `log` holds every call."""

    def __init__(self, *records: Rec, heads: Mapping[str, Any] | None = None) -> None:
        self.records: dict[str, Any] = {record.id: record for record in records}
        self.heads: dict[str, Any] = dict(heads or {})
        self.log: list[tuple[str, Any]] = []
        self.marks: list[dict[str, str]] = []
        self.replan: Callable[[Rec, Mapping[str, Rec]], Any] = lambda plan, changed: self.derive(plan.id + "'", changed)

    def derive(self, id: str, changed: Mapping[str, Rec]) -> Rec:
        """A new plan: made from the changed records, and for the other keys from what is current."""
        others = [head for key, head in self.heads.items() if key not in changed and isinstance(head, str)]
        return Rec(id, parents=tuple(record.id for record in changed.values()) + tuple(others))

    def commit(self, record: Rec) -> None:
        self.records[record.id] = record
        self.heads[record.key] = record.id

    def answer(self, port: str, name: Any) -> Any:
        self.log.append((port, name))
        found = (self.records if port == "fetch" else self.heads).get(name)
        found = found() if callable(found) else found
        if isinstance(found, BaseException):
            raise found
        return found

    def new_plan(self, plan: Rec, changed: Mapping[str, Rec]) -> Any:
        self.log.append(("replan", dict(changed)))
        return self.replan(plan, changed)

    def calls(self, port: str) -> list[Any]:
        return [name for which, name in list(self.log) if which == port]


class Driven:
    """One fence over a world, called as a plain function whatever drives it."""

    def __init__(self, driver: str, world: World, **settings: Any) -> None:
        self.driver, self.world = driver, world
        self.freed = threading.Event()
        self.pool: ThreadPoolExecutor | None = None
        settings.setdefault("validated", lambda basis: world.marks.append(dict(basis)))
        if driver in ("sync", "pool"):
            self.pool = ThreadPoolExecutor(4) if driver == "pool" else None
            fetch, head = self._plain("fetch"), self._plain("head")
            self.fence: Any = PlanFence(fetch, head, world.new_plan, executor=self.pool, **settings)
        else:
            kind = fence_aio.PlanFence if driver == "asyncio" else fence_trio.PlanFence
            self.fence = kind(self._awaited("fetch"), self._awaited("head"), self._replan, **settings)

    def _plain(self, port: str) -> Callable[..., Any]:
        def call(name: str, *, timeout: float | None = None) -> Any:
            found = self.world.answer(port, name)
            if found is HANG:
                if self.driver == "sync":
                    assert timeout is not None, "a hang without a timeout would never end"
                    raise TimeoutError(f"no answer in {timeout} s")
                self.freed.wait(10)
            return found

        return call if port == "head" else lambda name: call(name)

    def _awaited(self, port: str) -> Callable[[str], Any]:
        async def call(name: str) -> Any:
            found = self.world.answer(port, name)
            if found is HANG:
                await (asyncio.Event().wait() if self.driver == "asyncio" else trio.sleep_forever())
            await (asyncio.sleep(0) if self.driver == "asyncio" else trio.lowlevel.checkpoint())
            return found

        return call

    async def _replan(self, plan: Rec, changed: Mapping[str, Rec]) -> Any:
        await (asyncio.sleep(0) if self.driver == "asyncio" else trio.lowlevel.checkpoint())
        return self.world.new_plan(plan, changed)

    def run(self, name: str, *args: Any) -> Any:
        call = getattr(self.fence, name)
        if self.driver in ("sync", "pool"):
            return call(*args)
        if self.driver == "asyncio":
            return asyncio.run(call(*args))
        return trio.run(call, *args)

    def clear(self, plan: Rec, keys: Iterable[str]) -> Cleared[Rec]:
        return self.run("clear", plan, keys)

    def act(self, plan: Rec, keys: Iterable[str], act: Callable[[Cleared[Rec]], Any]) -> Any:
        return self.run("guard", plan, keys, self.as_act(act))

    def as_act(self, act: Callable[[Cleared[Rec]], Any]) -> Callable[[Cleared[Rec]], Any]:
        async def awaited(cleared: Cleared[Rec]) -> Any:
            return act(cleared)

        return act if self.driver in ("sync", "pool") else awaited

    def outcome(self, plan: Rec, keys: Iterable[str]) -> tuple[Any, ...]:
        """What came of it, as a value that drivers can be compared by."""
        try:
            cleared = self.clear(plan, keys)
        except Halt as halt:
            return "halt", halt.reason.value, halt.about, str(halt)
        return "cleared", cleared.plan, cleared.basis, cleared.replanned

    def close(self) -> None:
        self.freed.set()
        if self.pool is not None:
            self.pool.shutdown()
