"""The virtual loop does what asyncio's own does: one body on both, and what it saw must be the same."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from .faces import Face, run

Saw = Callable[[Any], None]
Body = Callable[[Saw], Awaitable[Any]]
BODIES: dict[str, Body] = {}


def body(function: Body) -> Body:
    BODIES[function.__name__] = function
    return function


@body
async def sleeps_end_in_the_order_of_their_lengths(saw: Saw) -> None:
    async def after(seconds: float) -> None:
        saw(await asyncio.sleep(seconds, seconds))

    await asyncio.gather(*(after(seconds) for seconds in (0.03, 0.01, 0.02, 0, -1)))


@body
async def a_timeout_cancels_and_can_be_moved(saw: Saw) -> None:
    try:
        async with asyncio.timeout(0.01) as bound:
            await asyncio.sleep(9)
    except TimeoutError:
        saw(bound.expired())
    async with asyncio.timeout(0.01) as bound:
        bound.reschedule(None)
        await asyncio.sleep(0.02)
    saw(bound.expired())
    try:
        async with asyncio.timeout(9), asyncio.timeout(0.01):
            await asyncio.sleep(9)
    except TimeoutError as error:
        saw(type(error.__cause__))
    async with asyncio.timeout_at(asyncio.get_running_loop().time() + 9):
        saw("in time")


@body
async def wait_for_gives_the_answer_or_cancels(saw: Saw) -> None:
    async def slow() -> str:
        try:
            return await asyncio.sleep(0.01, "answer")
        finally:
            saw("slow ends")

    saw(await asyncio.wait_for(slow(), 9))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(slow(), 0.001)
    saw(await asyncio.wait_for(slow(), None))


@body
async def locks_are_fair(saw: Saw) -> None:
    lock, semaphore = asyncio.Lock(), asyncio.BoundedSemaphore(2)

    async def holds(name: str) -> None:
        async with semaphore, lock:
            saw(f"{name} in")
            await asyncio.sleep(0)
            saw(f"{name} out")

    await asyncio.gather(*map(holds, "abcd"))
    with pytest.raises(ValueError, match="released too many times"):
        semaphore.release()


@body
async def conditions_and_events_wake_who_waits(saw: Saw) -> None:
    condition, event, ready = asyncio.Condition(), asyncio.Event(), list[str]()

    async def waits(name: str) -> None:
        await event.wait()
        async with condition:
            await condition.wait_for(lambda: name in ready)
            saw(name)

    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(waits(name))
        await asyncio.sleep(0)
        event.set()
        await asyncio.sleep(0)
        for name in "cab":
            async with condition:
                ready.append(name)
                condition.notify_all()


@body
async def a_barrier_lets_all_through_together(saw: Saw) -> None:
    barrier = asyncio.Barrier(3)

    async def arrives(name: str) -> None:
        saw((name, await barrier.wait()))

    await asyncio.gather(*map(arrives, "abc"))


@body
async def queues_keep_their_order_and_their_bound(saw: Saw) -> None:
    for queue in (asyncio.Queue[int](1), asyncio.LifoQueue[int](), asyncio.PriorityQueue[int]()):

        async def fills(queue: asyncio.Queue[int] = queue) -> None:
            for number in (3, 1, 2):
                await queue.put(number)
                saw(f"put {number}")

        async with asyncio.TaskGroup() as group:
            group.create_task(fills())
            await asyncio.sleep(0)
            for _ in range(3):
                saw(await queue.get())
                queue.task_done()
        await queue.join()


@body
async def a_task_group_cancels_the_others_and_raises_all(saw: Saw) -> None:
    async def fails(seconds: float) -> None:
        await asyncio.sleep(seconds)
        raise LookupError(str(seconds))

    async def is_cancelled(name: str) -> None:
        try:
            await asyncio.sleep(9)
        except asyncio.CancelledError:
            saw(f"{name} cancelled")
            raise

    try:
        async with asyncio.TaskGroup() as group:
            for name in "a":
                group.create_task(is_cancelled(name))
            group.create_task(fails(0))
            group.create_task(fails(0))
    except* LookupError as errors:
        saw([str(error) for error in errors.exceptions])


@body
async def gather_gives_answers_in_the_order_asked(saw: Saw) -> None:
    async def fails() -> None:
        raise LookupError("no")

    saw([str(answer) for answer in await asyncio.gather(asyncio.sleep(0.02, 1), fails(), asyncio.sleep(0.01, 2), return_exceptions=True)])
    with pytest.raises(LookupError):
        await asyncio.gather(fails(), asyncio.sleep(0))


@body
async def waiting_for_the_first(saw: Saw) -> None:
    gate = asyncio.Event()
    tasks = [
        asyncio.create_task(waits, name=name) for name, waits in zip("abc", (asyncio.sleep(0), gate.wait(), asyncio.sleep(9)), strict=True)
    ]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    saw((sorted(task.get_name() for task in done), len(pending)))
    gate.set()
    done, pending = await asyncio.wait(pending, timeout=0.01)
    saw((sorted(task.get_name() for task in done), len(pending)))
    tasks[2].cancel()
    with pytest.raises(asyncio.CancelledError):
        await tasks[2]
    for answer in asyncio.as_completed([asyncio.sleep(0.02, "b"), asyncio.sleep(0.01, "a")]):
        saw(await answer)


@body
async def cancellation_can_be_caught_counted_and_shielded(saw: Saw) -> None:
    async def stubborn() -> str:
        try:
            await asyncio.sleep(9)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            assert task is not None
            saw((error.args, task.cancelling(), task.uncancel()))
        return "done"

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    saw(task.cancel("why"))
    saw(await task)
    gate = asyncio.Event()
    kept = asyncio.create_task(gate.wait())
    outer = asyncio.ensure_future(asyncio.shield(kept))
    await asyncio.sleep(0)
    outer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outer
    gate.set()
    saw(await kept)


@body
async def threads_give_their_answer_or_their_error(saw: Saw) -> None:
    loop = asyncio.get_running_loop()

    def work(word: str) -> str:
        assert threading.current_thread() is not threading.main_thread()
        if word == "bad":
            raise LookupError(word)
        return word

    saw(await asyncio.to_thread(work, "good"))
    with ThreadPoolExecutor(1) as pool:
        saw(await loop.run_in_executor(pool, work, "pooled"))
    with pytest.raises(LookupError):
        await loop.run_in_executor(None, work, "bad")


@body
async def context_is_inherited_and_not_given_back(saw: Saw) -> None:
    name = contextvars.ContextVar("name", default="nobody")

    async def child() -> None:
        saw(name.get())
        name.set("child")

    name.set("parent")
    await asyncio.create_task(child())
    await asyncio.create_task(child(), context=contextvars.Context())
    await asyncio.to_thread(lambda: saw(name.get()))
    saw(name.get())


@body
async def callbacks_run_in_order_and_can_be_cancelled(saw: Saw) -> None:
    loop = asyncio.get_running_loop()
    loop.call_later(0.02, saw, "later")
    loop.call_later(0.001, saw, "never").cancel()
    loop.call_soon(saw, "soon").cancel()
    loop.call_soon(saw, "soon too")
    loop.call_soon_threadsafe(saw, "from a thread")
    handle = loop.call_at(loop.time() + 0.01, saw, "at")
    saw((handle.cancelled(), isinstance(handle.when(), float)))
    done = loop.create_future()
    done.add_done_callback(lambda future: saw(future.result()))
    loop.call_later(0.03, done.set_result, "done")
    await done


@body
async def asynchronous_generators_and_contexts(saw: Saw) -> None:
    async def counts() -> Any:
        try:
            for number in range(9):
                await asyncio.sleep(0)
                yield number
        finally:
            await asyncio.sleep(0)
            saw("closed")

    numbers = counts()
    async for number in numbers:
        saw(number)
        if number == 1:
            break
    await numbers.aclose()
    saw([number async for number in counts() if number > 6])


@body
async def tasks_know_their_names_and_one_another(saw: Saw) -> None:
    task = asyncio.create_task(asyncio.sleep(0), name="child")
    current = asyncio.current_task()
    saw((task.get_name(), task in asyncio.all_tasks(), current in asyncio.all_tasks(), task.done()))
    await task
    saw((task in asyncio.all_tasks(), asyncio.get_running_loop().is_running()))


@body
async def a_task_factory_is_asked(saw: Saw) -> None:
    loop = asyncio.get_running_loop()

    def factory(loop: Any, coro: Any, **options: Any) -> Any:
        saw(coro.__name__)
        return asyncio.Task(coro, loop=loop, **options)

    loop.set_task_factory(factory)
    await asyncio.create_task(asyncio.sleep(0))
    loop.set_task_factory(None)
    saw(loop.get_task_factory())


@body
async def an_exception_handler_is_told(saw: Saw) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: saw(sorted(context)))
    loop.call_exception_handler({"message": "told"})


@pytest.mark.parametrize("name", BODIES)
def test_the_virtual_loop_does_what_the_stock_loop_does(name: str) -> None:
    seen: dict[str, list[Any]] = {}

    def on(loop: str) -> Saw:
        return seen.setdefault(loop, []).append

    async def face(io: Face) -> None:
        await BODIES[name](on("ours"))

    asyncio.run(BODIES[name](on("stock")))  # type: ignore[arg-type]
    assert run(face, "asyncio").ended.how == "returned"
    assert seen["ours"] == seen["stock"] != []


def test_an_hour_takes_no_time() -> None:
    async def sleeps(io: Face) -> None:
        started = asyncio.get_running_loop().time()
        await asyncio.sleep(3_600)
        assert asyncio.get_running_loop().time() - started == 3_600

    started = time.perf_counter()
    assert run(sleeps, "asyncio").ended.how == "returned"
    assert time.perf_counter() - started < 60


# -- deadlock, in words --------------------------------------------------------------------------------------------------------------


def deadlocks() -> Iterator[tuple[str, Callable[[], Awaitable[Any]], str]]:
    yield "event", lambda: asyncio.Event().wait(), "Event.wait in body"
    yield "lock", lambda: twice(asyncio.Lock()), "Lock.acquire in twice"
    yield "queue", lambda: asyncio.Queue[int]().get(), "Queue.get in body"
    yield "semaphore", lambda: asyncio.Semaphore(0).acquire(), "Semaphore.acquire in body"
    yield "condition", lambda: notified(asyncio.Condition()), "Condition.wait in notified"
    yield "barrier", lambda: asyncio.Barrier(2).wait(), "Barrier.wait in body"
    yield "join", lambda: joined(asyncio.Queue[int]()), "Queue.join in joined"
    yield "future", lambda: asyncio.get_running_loop().create_future(), "body"


async def twice(lock: asyncio.Lock) -> None:
    async with lock, lock:
        pass


async def notified(condition: asyncio.Condition) -> None:
    async with condition:
        await condition.wait()


async def joined(queue: asyncio.Queue[int]) -> None:
    queue.put_nowait(1)
    await queue.join()


@pytest.mark.parametrize(("waits", "said"), [case[1:] for case in deadlocks()], ids=[case[0] for case in deadlocks()])
def test_a_deadlock_says_what_is_waited_for(waits: Callable[[], Awaitable[Any]], said: str) -> None:
    async def body(io: Face) -> None:
        await waits()

    ended = run(body, "asyncio").ended
    assert ended.how == "stuck"
    assert ended.detail.rpartition(":")[0] == f"waits for {said}, {__file__.rpartition('/')[2]}"
