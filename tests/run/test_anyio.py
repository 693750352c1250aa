"""The threads that anyio starts by itself, on a loop in virtual time: what they do is one step, in an order that follows from the run."""

from __future__ import annotations

import threading

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from fencecheck.errors import CouldNotRun
from fencecheck.history import Ended, Pause, Read
from fencecheck.interleaving import Event, Update

from .faces import Face, X, run


def test_what_the_thread_returns_comes_before_time_passes_and_before_another_call_is_answered() -> None:
    seen: list[str] = []

    async def works() -> None:
        seen.append(await anyio.to_thread.run_sync(lambda: "worked"))

    async def body(io: Face) -> None:
        async def calls() -> None:
            await io.pause("other")
            seen.append("answered")

        async with anyio.create_task_group() as group:
            group.start_soon(calls)
            group.start_soon(works)
            with anyio.move_on_after(3600.0):
                await anyio.sleep_forever()
            seen.append("an hour later")
        await io.act("go", {})

    assert run(body, "asyncio").ended == Ended("returned")
    assert seen == ["worked", "answered", "an hour later"]


def test_results_are_taken_up_in_the_order_in_which_the_threads_were_started() -> None:
    """The first ends last: it waits for the second."""
    order: list[str] = []
    ended = threading.Event()

    def first() -> str:
        assert ended.wait(10.0)
        return "first"

    def second() -> str:
        ended.set()
        return "second"

    async def body(io: Face) -> None:
        async def work(function: object) -> None:
            order.append(await anyio.to_thread.run_sync(function))

        async with anyio.create_task_group() as group:
            group.start_soon(work, first)
            group.start_soon(work, second)
        await io.act("go", {})

    assert run(body, "asyncio").ended == Ended("returned")
    assert order == ["first", "second"]


def test_a_function_in_the_thread_calls_the_plain_ports() -> None:
    async def body(io: Face) -> None:
        with io.agent("worker"):
            assert (await anyio.to_thread.run_sync(lambda: io.kit.read(X))).id == "x@2"
        await io.act("go", {})

    history = run(body, "asyncio", (Event(0, Update(X)),))
    assert history.ended == Ended("returned")
    assert Read("worker", X, "x@2") in history.entries


def test_a_function_in_the_thread_calls_back_into_the_loop() -> None:
    async def body(io: Face) -> None:
        threads: list[threading.Thread] = []

        def work() -> str:
            anyio.from_thread.run_sync(lambda: threads.append(threading.current_thread()))
            return "worked"

        assert await anyio.to_thread.run_sync(work) == "worked"
        assert threads == [threading.current_thread()]
        await io.pause("over")
        await io.act("go", {})

    history = run(body, "asyncio")
    assert history.ended == Ended("returned")
    assert Pause("agent", "over") in history.entries


def test_an_exception_crosses_the_thread() -> None:
    def fails() -> None:
        raise LookupError("nothing there")

    async def body(io: Face) -> None:
        await anyio.to_thread.run_sync(fails)

    assert run(body, "asyncio").ended == Ended("crashed", "LookupError: nothing there")


def test_a_thread_that_waits_for_the_loop_could_not_run() -> None:
    async def body(io: Face) -> None:
        await anyio.to_thread.run_sync(lambda: anyio.from_thread.run(anyio.sleep, 3600.0))

    with pytest.raises(CouldNotRun) as caught:
        run(body, "asyncio", timeout_s=0.05)
    assert str(caught.value).startswith("the work of AnyIO worker thread was given to a thread and did not return within 0.05 s: ")


def test_no_thread_is_left_when_the_episode_is_over() -> None:
    threads: list[threading.Thread] = []

    async def body(io: Face) -> None:
        await anyio.to_thread.run_sync(lambda: threads.append(threading.current_thread()))
        await io.act("go", {})

    for _ in range(3):
        run(body, "asyncio")
    assert len(threads) == 3
    for thread in threads:
        thread.join(10.0)
        assert not thread.is_alive()
