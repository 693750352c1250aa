"""A call that the system itself gives up while it waits: it was no answer, and it had no effect."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import trio

from fencecheck.history import Act, Ended, Fetch, Head, History, Memory, Read, points
from fencecheck.interleaving import Event, Update
from fencecheck.judge import judge

from .faces import VIRTUAL, Face, X, run

virtual = pytest.mark.parametrize("runtime", VIRTUAL)


async def given_up(runtime: str, call: Any) -> None:
    """Waits for it for a second."""
    if runtime == "trio":
        with trio.move_on_after(1):
            await call
    else:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await call


def slow(runtime: str) -> Any:
    """A function of the system's own that takes longer."""
    return lambda: (trio if runtime == "trio" else asyncio).sleep(100)


CALLS = {
    "read": (lambda io, via: io.read(X, via=via), Read("agent", X, None, "refused")),
    "head": (lambda io, via: io.head(X, via=via), Head("agent", X, None, "refused")),
    "memory": (lambda io, via: io.memory(X, via=via), Memory("agent", X)),
    "record": (lambda io, via: io.record("x@1", via=via), Fetch("agent", "x@1", "missing")),
    "act": (lambda io, via: io.act("go", {}, via=via), Act("agent", "go", {}, outcome="refused", effect=False)),
}


@virtual
@pytest.mark.parametrize("port", CALLS)
def test_it_is_logged_as_one_that_failed(runtime: str, port: str) -> None:
    call, entry = CALLS[port]

    async def body(io: Face) -> None:
        await given_up(runtime, call(io, slow(runtime)))
        await io.pause()

    history = run(body, runtime, (Event(1, Update(X)),))
    assert history.entries[0] == entry
    assert [at for at, _ in points(history)] == [0, 2]  # so the update landed between them
    assert history.ended == Ended("returned")


@virtual
def test_acting_on_an_answer_that_was_given_up_is_unverified(runtime: str) -> None:
    async def body(io: Face) -> None:
        order = await io.read(X)
        await given_up(runtime, io.head(X, via=slow(runtime)))
        io.validated([X])
        await io.act("go", {"drink": order.value})

    assert [(found.code, found.key) for found in judge(run(body, runtime)).findings] == [("unverified-act", X)]


@virtual
def test_a_halt_since_the_tool_did_not_come_back_is_not_needless(runtime: str) -> None:
    async def body(io: Face) -> None:
        order = await io.read(X)
        plan = await io.derive(order.value, [order])
        await given_up(runtime, io.act("go", {"drink": order.value}, plan=plan, via=slow(runtime)))
        io.halted("no reply")

    judgement = judge(run(body, runtime))
    assert (judgement.outcome, judgement.effects, judgement.findings) == ("halted-unverified", 0, [])


def test_what_is_left_running_when_the_run_is_over_did_not_fail() -> None:
    left: list[Any] = []

    async def body(io: Face) -> None:
        left.append(asyncio.create_task(io.head(X, via=slow("asyncio"))))
        await io.pause()
        await io.pause()

    history: History = run(body, "asyncio")
    assert [type(entry).__name__ for entry in history.entries] == ["Pause", "Pause", "Ended"]
