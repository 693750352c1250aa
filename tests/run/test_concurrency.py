"""Tasks, threads and time: who calls, in which order, and what happens where nothing can go on."""

from __future__ import annotations

import asyncio
import concurrent.futures
import re
import threading
import time
from contextlib import asynccontextmanager
from contextvars import copy_context
from random import Random
from typing import Any

import pytest
import trio

from fencecheck.errors import CouldNotRun
from fencecheck.history import Ended, Head, Landed, Pause, Read, Seam
from fencecheck.interleaving import KINDS, Deliver, Event, Outage, Restart, Update
from fencecheck.judge import judge
from fencecheck.model import Action, Scenario
from fencecheck.run import faults
from fencecheck.run.simulate import Runner
from fencecheck.search.placing import every

from .faces import RUNTIMES, VIRTUAL, Face, X, Y, run, system

each_runtime = pytest.mark.parametrize("runtime", RUNTIMES)
virtual = pytest.mark.parametrize("runtime", VIRTUAL)
awaited = pytest.mark.parametrize("runtime", ["asyncio", "asyncio-native", "trio"])


@asynccontextmanager
async def tasks(runtime: str) -> Any:
    """`start(function, *args)` in a task group of the runtime."""
    if runtime == "trio":
        async with trio.open_nursery() as nursery:
            yield nursery.start_soon
    else:
        async with asyncio.TaskGroup() as group:
            yield lambda function, *args: group.create_task(function(*args))


async def sleep(runtime: str, seconds: float) -> None:
    await (trio.sleep(seconds) if runtime == "trio" else asyncio.sleep(seconds))


def now(runtime: str) -> float:
    return trio.current_time() if runtime == "trio" else asyncio.get_running_loop().time()


def agents(history: Any) -> list[str]:
    return [entry.agent for entry in history.entries if not isinstance(entry, Ended | Landed)]


# -- tasks and agents --------------------------------------------------------------------------------------------------------------


@awaited
def test_tasks_inherit_the_agent_in_which_they_were_started(runtime: str) -> None:
    async def body(io: Face) -> None:
        async def ask(label: str) -> None:
            await io.point(label)
            with io.agent(f"second of {label}"):
                await io.point(label)

        async with tasks(runtime) as start:
            for name in ("one", "two"):
                with io.agent(name):
                    start(ask, name)

    history = run(body, runtime)
    seams = sorted((entry.label, entry.agent) for entry in history.entries if type(entry) is Seam)
    assert seams == [("one", "one"), ("one", "second of one"), ("two", "second of two"), ("two", "two")]


def test_tasks_take_turns_at_each_port_on_asyncio() -> None:
    async def body(io: Face) -> None:
        async def ask(label: str) -> None:
            for _ in range(3):
                await io.point(label)

        async with tasks("asyncio") as start:
            start(ask, "one")
            start(ask, "two")

    history = run(body, "asyncio")
    assert [entry.label for entry in history.entries if type(entry) is Seam] == ["one", "two"] * 3


@virtual
def test_the_order_of_tasks_is_the_same_each_time(runtime: str) -> None:
    async def body(io: Face) -> None:
        async def ask(label: str) -> None:
            for _ in range(3):
                await io.point(label)
                await sleep(runtime, 1.0)

        async with tasks(runtime) as start:
            for name in "abcde":
                start(ask, name)

    with Runner(system(body, runtime)) as runner:
        orders = {tuple(entry.label for entry in runner.run().entries if type(entry) is Seam) for _ in range(20)}
    assert len(orders) == 1


@awaited
def test_an_update_lands_between_two_questions_that_are_asked_in_parallel(runtime: str) -> None:
    got: dict[str, str] = {}
    scenario = Scenario(owners={"a": [X], "b": [Y]}, actions=[Action("go", [X, Y])])

    async def body(io: Face) -> None:
        records = {key: await io.read(key) for key in (X, Y)}

        async def ask(key: str) -> None:
            got[key] = await io.head(key)

        async with tasks(runtime) as start:
            for key in (X, Y):
                start(ask, key)
        io.validated(got)
        await io.act("go", {key: record.value for key, record in records.items()})

    def first_asked(history: Any) -> str:
        return str(next(entry.key for entry in history.entries if type(entry) is Head))

    with Runner(system(body, runtime, scenario)) as runner:
        histories = {key: runner.run((), (Event(3, Update(key)),)) for key in (X, Y)}
    found = {key: {(f.code, f.key) for f in judge(history).findings} for key, history in histories.items()}
    for key, history in histories.items():
        first = first_asked(history)
        # an update of what was asked first comes too late for that answer; an update of the other is seen in its own
        assert found[key] == ({("torn-validation", key)} if key == first else {("stale-act", key)})


# -- threads -----------------------------------------------------------------------------------------------------------------------


def test_a_worker_thread_of_a_plain_system_calls_the_ports() -> None:
    threads: set[str] = set()

    async def body(io: Face) -> None:
        def work(key: str) -> str:
            threads.add(threading.current_thread().name)
            return str(io.kit.read(key).id)

        with concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="theirs") as pool, io.agent("worker"):
            assert [pool.submit(work, key).result() for key in (X, Y)] == ["x@2", "y@1"]

    history = run(body, "sync", (Event(0, Update(X)),))
    assert threads == {"theirs_0"}
    assert [entry for entry in history.entries if type(entry) is Read] == [Read("worker", X, "x@2"), Read("worker", Y, "y@1")]


def test_a_thread_that_copies_its_context_keeps_its_agent_when_another_is_named_since() -> None:
    async def body(io: Face) -> None:
        with io.agent("planner"):
            context = copy_context()
        with io.agent("executor"), concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(context.run, io.kit.read, X).result()
            pool.submit(io.kit.read, X).result()

    assert agents(run(body, "sync")) == ["planner", "executor"]


def test_a_fault_and_an_exception_cross_the_thread() -> None:
    async def body(io: Face) -> None:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(io.kit.read, X).result()

    assert run(body, "sync", (Event(0, Outage("a")),)).ended == Ended("crashed", "OwnerUnavailable: a refuses for x")


def test_a_restart_in_a_worker_thread_runs_again() -> None:
    calls: list[str] = []

    async def body(io: Face) -> None:
        calls.append("run")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(io.kit.read, X).result()

    history = run(body, "sync", (Event(0, Restart("agent")),), restart=lambda self: None)
    assert calls == ["run", "run"]
    assert history.ended == Ended("returned")


def test_a_hang_in_a_worker_thread_is_stuck() -> None:
    async def body(io: Face) -> None:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(io.kit.read, X).result()

    ended = run(body, "sync", (Event(0, Outage("a", "hang")),)).ended
    assert ended == Ended("stuck", "waits for the answer of a for x, with no timeout")


@awaited
def test_a_function_in_a_thread_calls_the_plain_ports_of_an_awaited_system(runtime: str) -> None:
    threads: list[int] = []

    async def body(io: Face) -> None:
        def work() -> str:
            threads.append(threading.get_ident())
            return str(io.kit.read(X).id)

        to_thread = trio.to_thread.run_sync if runtime == "trio" else asyncio.to_thread
        with io.agent("worker"):
            assert await to_thread(work) == "x@2"
        await io.act("go", {})

    history = run(body, runtime, (Event(0, Update(X)),))
    assert history.ended == Ended("returned")
    assert agents(history) == ["worker", "agent"]
    assert threads != [threading.get_ident()]


@awaited
def test_a_thread_that_takes_real_time_is_waited_for(runtime: str) -> None:
    async def body(io: Face) -> None:
        to_thread = trio.to_thread.run_sync if runtime == "trio" else asyncio.to_thread
        started = now(runtime)
        await to_thread(time.sleep, 0.05)
        if runtime in VIRTUAL:
            assert now(runtime) - started < 1.0
        await io.act("go", {})

    history = run(body, runtime)
    assert history.ended == Ended("returned")
    assert len(history.effects) == 1


@pytest.mark.parametrize("runtime", ["asyncio"])
def test_a_thread_that_waits_for_the_loop_could_not_run(runtime: str) -> None:
    async def body(io: Face) -> None:
        loop = asyncio.get_running_loop()

        def work() -> None:
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(5.0)

        await asyncio.to_thread(work)

    with pytest.raises(CouldNotRun) as caught:
        run(body, runtime, timeout_s=0.05)
    assert re.fullmatch(
        r"work, test_concurrency\.py:\d+ was given to a thread and did not return within 0\.05 s: in virtual time the event loop stands still "
        r"meanwhile, so that a call back into it never ends: await that in the loop, or on asyncio use runtime = 'asyncio-native'",
        str(caught.value),
    )


def test_a_thread_of_trio_that_does_not_return_is_told_by_its_place() -> None:
    async def body(io: Face) -> None:
        await trio.to_thread.run_sync(lambda: time.sleep(0.2))

    with pytest.raises(
        CouldNotRun, match=r"^the work of .*, test_concurrency\.py:\d+ was given to a thread and did not return within 0\.05 s: "
    ):
        run(body, "trio", timeout_s=0.05)


# -- time --------------------------------------------------------------------------------------------------------------------------


@virtual
def test_time_is_virtual(runtime: str) -> None:
    times: list[float] = []

    async def body(io: Face) -> None:
        start = now(runtime)
        await sleep(runtime, 3600.0)
        times.append(now(runtime) - start)
        await io.act("go", {})

    started = time.perf_counter()
    history = run(body, runtime)
    assert time.perf_counter() - started < 5.0
    assert times == [pytest.approx(3600.0)]
    assert history.ended == Ended("returned")


@virtual
def test_a_timeout_of_the_runtime_ends_a_wait_for_an_owner_that_never_answers(runtime: str) -> None:
    times: list[float] = []

    async def body(io: Face) -> None:
        start = now(runtime)
        try:
            if runtime == "trio":
                with trio.fail_after(60):
                    await io.read(X)
            else:
                async with asyncio.timeout(60):
                    await io.read(X)
        except (TimeoutError, trio.TooSlowError):
            times.append(now(runtime) - start)
            io.halted("too slow")

    history = run(body, runtime, (Event(0, Outage("a", "hang")),))
    assert times == [pytest.approx(60.0)]
    assert history.ended == Ended("halted", "too slow")


@virtual
def test_a_timeout_of_the_port_takes_its_virtual_time(runtime: str) -> None:
    times: list[float] = []

    async def body(io: Face) -> None:
        start = now(runtime)
        with pytest.raises(faults.OwnerTimeout):
            await io.head(X, timeout=90.0)
        times.append(now(runtime) - start)

    run(body, runtime, (Event(0, Outage("a", "hang")),))
    assert times == [pytest.approx(90.0)]


@virtual
def test_sleepers_wake_in_the_order_of_their_times(runtime: str) -> None:
    async def body(io: Face) -> None:
        async def later(seconds: float) -> None:
            await sleep(runtime, seconds)
            await io.pause(f"{seconds:g}")

        async with tasks(runtime) as start:
            for seconds in (30.0, 10.0, 20.0):
                start(later, seconds)

    assert [entry.label for entry in run(body, runtime).entries if type(entry) is Pause] == ["10", "20", "30"]


@virtual
def test_a_deadlock_is_stuck_and_takes_no_real_time(runtime: str) -> None:
    torn_down: list[bool] = []

    async def body(io: Face) -> None:
        await io.read(X)
        await (trio.Event() if runtime == "trio" else asyncio.Event()).wait()

    started = time.perf_counter()
    history = run(body, runtime, teardown=lambda self: torn_down.append(True))
    assert time.perf_counter() - started < 5.0
    assert history.ended.how == "stuck"
    assert re.fullmatch(r"waits for Event.wait in body, test_concurrency.py:\d+", history.ended.detail)
    assert torn_down == [True]


def test_on_the_stock_loop_a_wait_is_stuck_after_its_real_time() -> None:
    async def body(io: Face) -> None:
        await asyncio.Event().wait()

    assert run(body, "asyncio-native", timeout_s=0.05).ended.how == "stuck"


def test_a_timeout_error_of_the_system_itself_is_no_stuck_run() -> None:
    async def body(io: Face) -> None:
        raise TimeoutError("theirs")

    assert run(body, "asyncio-native").ended == Ended("crashed", "TimeoutError: theirs")


@awaited
def test_an_async_teardown_is_run_to_its_end_however_the_episode_ended(runtime: str) -> None:
    done: list[str] = []

    async def teardown(self: Any) -> None:
        await sleep(runtime, 0.01)
        done.append("closed")

    async def waits(io: Face) -> None:
        await (trio.Event() if runtime == "trio" else asyncio.Event()).wait()

    async def breaks(io: Face) -> None:
        raise RuntimeError

    async def returns(io: Face) -> None: ...

    for body, how in ((waits, "stuck"), (breaks, "crashed"), (returns, "returned")):
        assert run(body, runtime, teardown=teardown, timeout_s=0.5).ended.how == how
    assert done == ["closed"] * 3


# -- one episode does not reach into the next ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("runtime", ["asyncio", "asyncio-native"])
def test_tasks_that_an_episode_leaves_behind_do_not_reach_the_next(runtime: str) -> None:
    left: list[asyncio.Task[None]] = []
    woke: list[str] = []

    async def body(io: Face) -> None:
        async def later() -> None:
            await asyncio.sleep(0.0)
            await asyncio.sleep(0.01)
            woke.append("late")
            await io.act("go", {})

        left.append(asyncio.create_task(later()))
        await io.act("go", {})

    with Runner(system(body, runtime)) as runner:
        histories = [runner.run() for _ in range(3)]
    assert [len(history.effects) for history in histories] == [1, 1, 1]
    assert [task.cancelled() for task in left] == [True] * 3
    assert woke == []


def test_a_task_that_starts_another_while_it_is_cancelled_leaves_nothing() -> None:
    left: list[asyncio.Task[None]] = []

    async def body(io: Face) -> None:
        async def stubborn(times: int) -> None:
            try:
                await asyncio.sleep(3600.0)
            finally:
                if times:
                    left.append(asyncio.create_task(stubborn(times - 1)))

        left.append(asyncio.create_task(stubborn(3)))
        await asyncio.sleep(0)

    run(body, "asyncio")
    assert len(left) == 4
    assert all(task.done() for task in left)


def test_a_call_from_a_thread_that_outlived_its_episode_reaches_nothing() -> None:
    go, caught = threading.Event(), []
    threads: list[threading.Thread] = []

    async def body(io: Face) -> None:
        def late() -> None:
            go.wait(5.0)
            try:
                io.kit.act("go", {})
            except BaseException as error:
                caught.append(type(error))

        if not threads:
            threads.append(threading.Thread(target=late))
            threads[0].start()
        io.kit.act("go", {})

    with Runner(system(body, "sync")) as runner:
        first = runner.run()
        second = runner.run()
        go.set()
        threads[0].join(5.0)
    assert caught == [SystemExit]  # of which Python says nothing where it ends a thread
    assert [len(history.entries) for history in (first, second)] == [2, 2]


# -- the runtimes agree --------------------------------------------------------------------------------------------------------------


async def fenced(io: Face) -> None:
    """Plans from two keys, asks, replans once, acts with an idempotency key."""
    records = {key: await io.read(key, timeout=0.001) for key in (X, Y)}
    for _ in range(2):
        if not all(hasattr(record, "value") and record.key == key and not record.removed for key, record in records.items()):
            raise LookupError("nothing to plan from")
        decision = await io.derive("decision", records.values())
        plan = await io.derive({key: record.value for key, record in records.items()}, [decision])
        await io.pause("approval")
        parents = [parent for id in (await io.record(plan.parents[0])).parents for parent in [await io.record(id)]]
        heads = {key: await io.head(key, timeout=0.001) for key in io.declared("go")}
        changed = {key: head for key, head in heads.items() if head not in [parent.id for parent in parents]}
        if not changed:
            io.validated(heads)
            try:
                await io.act("go", plan.value, plan=plan, basis=heads, expect={X: heads[X]} if X in heads else None, idempotency_key="one")
            except faults.ReplyLost:
                await io.act("go", plan.value, plan=plan, idempotency_key="one")
            return
        for key in changed:
            records[key] = await io.read(key, timeout=0.001)
    io.halted("changed again")


def test_all_runtimes_give_one_history_for_one_interleaving() -> None:
    scenario = Scenario(owners={"a": [X], "b": [Y]}, actions=[Action("go", [X, Y])])
    everything = every(scenario, KINDS, 4, frozenset({"honest-owners"}))
    often = [Update(X), Deliver(X)] * 4
    rng = Random(20260916)

    def replan_plain(self: Any, task: str) -> None:
        self.kit.derive("another", [self.kit.read(X, timeout=0.001)])

    async def replan_awaited(self: Any, task: str) -> None:
        await self.kit.aio.derive("another", [await self.kit.aio.read(X, timeout=0.001)])

    def runner(runtime: str) -> Runner:
        replan = replan_plain if runtime == "sync" else replan_awaited
        halts = (faults.Fault, LookupError, TypeError)
        return Runner(system(fenced, runtime, scenario, replan=replan, restart=lambda self: None, halt_exceptions=halts))

    runners = [runner(runtime) for runtime in RUNTIMES]
    endings: set[str] = set()
    fired: set[str] = set()
    for _ in range(250):
        events = tuple(
            sorted((Event(rng.randrange(16), rng.choice(everything + often)) for _ in range(rng.randrange(5))), key=lambda e: e.at)
        )
        dropped = (("go", Y),) if rng.random() < 0.2 else ()
        histories = [runner.run(dropped, events) for runner in runners]
        for history, runtime in zip(histories, RUNTIMES, strict=True):
            assert history == histories[0], (runtime, events)
        endings.add(judge(histories[0]).outcome)
        fired |= {event.what.__struct_config__.tag for event in histories[0].fired}
    for one in runners:
        one.close()
    assert endings >= {"completed", "halted-changed", "halted-unverified"}
    assert fired == {what.__struct_config__.tag for what in everything}
