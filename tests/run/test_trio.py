"""What is peculiar to trio: order by its public interface, words of a deadlock, what goes on after it was cancelled, real I/O."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from fencecheck.errors import CouldNotRun
from fencecheck.history import Ended, Seam
from fencecheck.interleaving import Event, Outage
from fencecheck.run import deadlock
from fencecheck.run.simulate import Runner

from .faces import Face, X, run, system

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).name


def order(body: Any) -> str:
    """The labels in the order in which they came, of 20 runs that must agree."""
    with Runner(system(body, "trio")) as runner:
        seen = {" ".join(entry.label for entry in runner.run().entries if type(entry) is Seam) for _ in range(20)}
    (one,) = seen
    return one


# -- order: trio itself reverses half of its batches, wakes the waiters of an event in the order of a set, and cancels in that of another ----


def test_tasks_start_in_the_order_in_which_they_were_spawned() -> None:
    async def body(io: Face) -> None:
        async with trio.open_nursery() as nursery:
            for name in "abcdefgh":
                nursery.start_soon(io.kit.aio.point, name)

    assert order(body) == "a b c d e f g h"


def test_waiters_of_an_event_are_woken_in_the_order_in_which_they_came() -> None:
    async def body(io: Face) -> None:
        event = trio.Event()

        async def waits(name: str, seconds: float) -> None:
            await trio.sleep(seconds)
            await event.wait()
            await io.point(name)

        async with trio.open_nursery() as nursery:
            for seconds, name in enumerate("hgfedcba"):
                nursery.start_soon(waits, name, 10 - seconds)
            await trio.sleep(20)
            event.set()

    assert order(body) == "a b c d e f g h"


def test_tasks_are_cancelled_in_the_order_in_which_they_fell_asleep() -> None:
    async def body(io: Face) -> None:
        async def waits(name: str) -> None:
            try:
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await io.point(name)

        async with trio.open_nursery() as nursery:
            for name in "abcdefgh":
                nursery.start_soon(waits, name)
            await trio.sleep(1)
            nursery.cancel_scope.cancel()

    assert order(body) == "a b c d e f g h"


def test_of_timers_for_one_instant_the_first_asleep_goes_first() -> None:
    async def body(io: Face) -> None:
        async def waits(name: str) -> None:
            await trio.sleep_until(10)
            await io.point(name)

        async with trio.open_nursery() as nursery:
            for name in "abcdefgh":
                nursery.start_soon(waits, name)

    assert order(body) == "a b c d e f g h"


def test_channels_and_locks_are_fair() -> None:
    async def body(io: Face) -> None:
        into, out = trio.open_memory_channel[str](0)
        lock = trio.Lock()

        async def takes(name: str) -> None:
            word = await out.receive()
            async with lock:
                await io.point(f"{name}{word}")

        async with trio.open_nursery() as nursery:
            for name in "abcd":
                nursery.start_soon(takes, name)
            for word in "1234":
                await into.send(word)

    assert order(body) == "a1 b2 c3 d4"


def test_a_thread_is_one_step_whatever_its_limiter() -> None:
    async def body(io: Face) -> None:
        async def works(name: str) -> None:
            await trio.to_thread.run_sync(io.kit.point, f"{name}1", limiter=trio.CapacityLimiter(1))
            await io.point(f"{name}2")

        async with trio.open_nursery() as nursery:
            for name in "abcd":
                nursery.start_soon(works, name)

    assert order(body) == "a1 b1 c1 d1 a2 b2 c2 d2"


def test_nothing_but_its_public_names_is_used() -> None:
    text = "".join((ROOT / "fencecheck" / "run" / name).read_text("utf-8") for name in ("trio_.py", "turns.py"))
    assert "trio._" not in text
    assert "from trio" not in text


# -- the end -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("waits", "said"),
    [
        (lambda: trio.Event().wait(), "Event.wait in body"),
        (trio.sleep_forever, "sleep_forever in body"),
        (lambda: trio.open_memory_channel[int](0)[0].send(1), "MemorySendChannel.send in body"),
        (lambda: trio.Semaphore(0).acquire(), "Semaphore.acquire in body"),
    ],
)
def test_a_deadlock_says_what_is_waited_for(waits: Callable[[], Awaitable[Any]], said: str) -> None:
    async def body(io: Face) -> None:
        await waits()

    ended = run(body, "trio").ended
    assert ended.how == "stuck"
    assert ended.detail.rpartition(":")[0] == f"waits for {said}, {HERE}"


def test_a_deadlock_names_each_task() -> None:
    async def body(io: Face) -> None:
        one, two = trio.Event(), trio.Event()

        async def first() -> None:
            await one.wait()
            two.set()

        async def second() -> None:
            await two.wait()
            one.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(first)
            nursery.start_soon(second)

    said = run(body, "trio").ended.detail.split("; ")
    assert [part.rpartition(" (")[2] for part in said] == ["main task)", "task 1, first)", "task 2, second)"]
    assert said[0].startswith("waits for the end of Nursery in body")
    assert said[1].startswith("Event.wait in first")


def test_an_owner_that_hangs_is_named() -> None:
    async def body(io: Face) -> None:
        await io.together(io.head(X), io.point("other"))

    ended = run(body, "trio", (Event(0, Outage("a", "hang")),)).ended
    assert "the answer of a for x, with no timeout (task 1, " in ended.detail


async def shielded(io: Face) -> None:
    with trio.CancelScope(shield=True):
        await trio.sleep_forever()


async def swallows(io: Face) -> None:
    try:
        await trio.sleep_forever()
    except BaseException:
        return


async def goes_on(io: Face) -> None:
    while True:
        try:
            await trio.sleep(1)
        except trio.Cancelled:
            continue


async def shielded_in_a_child(io: Face) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shielded, io)


@pytest.mark.parametrize("body", [shielded, swallows, goes_on, shielded_in_a_child])
def test_what_goes_on_though_it_was_cancelled_is_stuck(body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlock, "MOST_STEPS", 20_000)
    with Runner(system(body, "trio")) as runner:
        assert [runner.run().ended.how for _ in range(2)] == ["stuck", "stuck"]


async def socket(io: Face) -> None:
    one, other = trio.socket.socketpair()
    with one, other:
        await one.recv(1)


def test_real_io_is_refused_by_name() -> None:
    with pytest.raises(CouldNotRun, match=rf" in socket, {HERE}:\d+ is real I/O, which takes real time"):
        run(socket, "trio")


def test_what_a_run_raises_goes_on_as_it_is() -> None:
    async def interrupted(io: Face) -> None:
        raise KeyboardInterrupt

    async def broken(io: Face) -> None:
        raise LookupError("theirs")

    with pytest.raises(KeyboardInterrupt):
        run(interrupted, "trio")
    assert run(broken, "trio").ended == Ended("crashed", "LookupError: theirs")


def test_a_system_may_spawn_a_system_task() -> None:
    async def body(io: Face) -> None:
        done = trio.Event()

        async def beside() -> None:
            await io.point("beside")
            done.set()

        trio.lowlevel.spawn_system_task(beside)
        await done.wait()

    assert order(body) == "beside"
