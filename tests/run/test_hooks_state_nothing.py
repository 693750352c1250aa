"""A hook is part of an event: what it waits for or states there is no pause, mark or halt of the run, and no point."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fencecheck.history import Halted, Landed, Pause, Read, Seam, Validated, points
from fencecheck.interleaving import Deliver, Event, Replan, Update
from fencecheck.judge import judge

from .faces import RUNTIMES, VIRTUAL, Face, X, run, to_its_end


async def states(kit: Face) -> None:
    await kit.pause("a person")
    await kit.point("a model")
    kit.validated([X])
    kit.halted("nothing to plan")


async def fenced(kit: Face) -> None:
    read = await kit.read(X)
    plan = await kit.derive(read.value, [read])
    if await kit.head(X) == read.id:
        kit.validated([X])
        await kit.act("go", {"with": plan.value}, plan=plan)


def hook(runtime: str) -> Any:
    async def called(self: Any, *_: Any) -> None:
        await states(Face(self.kit, runtime))

    return called if runtime != "sync" else lambda self, *_: to_its_end(states(Face(self.kit, runtime)))


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize(("name", "what"), [("replan", Replan()), ("deliver", Deliver(X))])
def test_what_a_hook_states_is_not_stated_by_the_run(name: str, what: Any, runtime: str) -> None:
    history = run(fenced, runtime, (Event(3, Update(X)), Event(3, what)), **{name: hook(runtime)})
    kinds = [type(entry) for entry in history.entries]
    assert [kind for kind in kinds if kind in (Pause, Seam, Halted)] == []
    assert kinds.count(Validated) == 1
    assert kinds.index(Validated) < kinds.index(Landed)
    assert sum(1 for _ in points(history)) == 4
    assert judge(history).violations("at-validation") == []  # the fence is right: only the tool could have noticed


@pytest.mark.parametrize("runtime", VIRTUAL)
def test_what_others_state_while_a_hook_waits_counts(runtime: str) -> None:
    async def wait() -> None:
        if runtime == "trio":
            import trio

            await trio.sleep(1)
        else:
            await asyncio.sleep(1)

    async def replan(self: Any, task: str) -> None:
        await wait()

    async def body(kit: Face) -> None:
        async def other() -> None:
            kit.validated([X])

        if runtime == "trio":
            import trio

            async with trio.open_nursery() as nursery:
                nursery.start_soon(kit.read, X)
                await trio.sleep(0.5)
                nursery.start_soon(other)
        else:
            read = asyncio.create_task(kit.read(X))
            await asyncio.sleep(0.5)
            await asyncio.gather(read, other())

    history = run(body, runtime, (Event(0, Replan()),), replan=replan)
    assert [type(entry) for entry in history.entries[:3]] == [Landed, Validated, Read]
