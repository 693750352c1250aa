"""What a restart, an end or a loop without an end must not leave behind: no caller of before, no wrong name, no hang of the tool itself."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from typing import Any

import pytest
import trio

from fencecheck.errors import CouldNotRun
from fencecheck.history import Ended, Head, Landed, Read, Seam
from fencecheck.interleaving import Event, Outage, Restart
from fencecheck.run import deadlock, faults
from fencecheck.run.kit import Kit
from fencecheck.run.simulate import Runner

from .faces import RUNTIMES, VIRTUAL, WORLD, Face, X, run, system

each_runtime = pytest.mark.parametrize("runtime", RUNTIMES)
awaited = pytest.mark.parametrize("runtime", RUNTIMES[1:])
virtual = pytest.mark.parametrize("runtime", VIRTUAL)
on_asyncio = pytest.mark.parametrize("runtime", ["asyncio", "asyncio-native"])
RESTART = (Event(1, Restart("agent")),)


def seams(history: Any) -> list[tuple[str, str]]:
    return [(entry.agent, entry.label) for entry in history.entries if type(entry) is Seam]


def restart(self: Any) -> None:
    """Enables the event."""


# -- after a restart ---------------------------------------------------------------------------------------------------------------


@on_asyncio
def test_tasks_of_before_a_restart_call_no_port_after_it(runtime: str) -> None:
    calls: list[str] = []

    async def body(io: Face) -> None:
        calls.append("run")

        async def child(name: str) -> None:
            with io.agent(name):
                for i in range(3):
                    await io.point(f"{len(calls)}.{i}")

        await asyncio.gather(child("agent"), child("other"))

    history = run(body, runtime, (Event(2, Restart("agent")),), restart=restart)
    again = [(agent, f"2.{i}") for i in range(3) for agent in ("agent", "other")]
    assert seams(history) == [("agent", "1.0"), ("other", "1.0"), *again]


@on_asyncio
def test_gather_that_returns_exceptions_does_not_swallow_a_restart(runtime: str) -> None:
    calls: list[str] = []

    async def body(io: Face) -> None:
        calls.append("run")
        await io.point("first")
        await asyncio.gather(io.point("left"), io.point("right"), return_exceptions=True)
        await io.point(f"last of {len(calls)}")

    history = run(body, runtime, RESTART, restart=restart)
    assert [label for _, label in seams(history)] == ["first", "first", "left", "right", "last of 2"]
    assert history.ended == Ended("returned")


@each_runtime
def test_a_restart_that_is_swallowed_comes_again_at_the_next_port(runtime: str) -> None:
    swallowed: list[str] = []

    async def body(io: Face) -> None:
        await io.point("first")
        for label in ("second", "third"):
            try:
                await io.point(label)
            except faults.Restarted:
                swallowed.append(label)

    history = run(body, runtime, RESTART, restart=restart)
    assert swallowed == ["second", "third"]
    assert [label for _, label in seams(history)] == ["first", "first", "second", "third"]
    assert history.fired == RESTART


@each_runtime
def test_what_becomes_of_a_restart_in_the_hands_of_the_system_is_no_crash_and_no_halt(runtime: str) -> None:
    calls: list[str] = []

    class Stop(Exception):
        pass

    async def body(io: Face) -> None:
        calls.append("run")
        await io.point("first")
        try:
            await io.point("second")
        except BaseException as error:
            raise Stop from error

    history = run(body, runtime, RESTART, restart=restart, halt_exceptions=(Stop,))
    assert calls == ["run", "run"]
    assert history.ended == Ended("returned")


def test_a_restart_in_a_thread_that_nobody_joins_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", said.append)
    calls: list[str] = []

    async def body(io: Face) -> None:
        calls.append("run")
        await io.point("first")
        thread = threading.Thread(target=lambda: io.kit.point("in the thread"))
        thread.start()
        thread.join()

    with Runner(system(body, "sync", restart=restart)) as runner:
        history = runner.run((), RESTART)
    assert calls == ["run", "run"]
    assert [label for _, label in seams(history)] == ["first", "first", "in the thread"]
    assert said == []  # the thread was ended in silence
    assert threading.excepthook == said.append


def test_a_restart_in_to_thread_runs_again() -> None:
    async def body(io: Face) -> None:
        await io.point("first")
        await asyncio.to_thread(io.kit.read, X)

    history = run(body, "asyncio", RESTART, restart=restart)
    assert [type(entry) for entry in history.entries] == [Seam, Landed, Seam, Read, Ended]


@each_runtime
def test_several_restarts_keep_the_numbers_of_the_points(runtime: str) -> None:
    async def body(io: Face) -> None:
        for label in ("a", "b", "c"):
            await io.point(label)

    events = (Event(1, Restart("agent")), Event(1, Restart("agent")), Event(3, Restart("agent")))
    history = run(body, runtime, events, restart=restart)
    assert [label for _, label in seams(history)] == ["a", "a", "b", "a", "b", "c"]
    assert history.fired == events


# -- who calls ---------------------------------------------------------------------------------------------------------------------


@on_asyncio
def test_tasks_that_overlap_leave_the_agent_of_the_others_alone(runtime: str) -> None:
    async def body(io: Face) -> None:
        async def as_agent(name: str, times: int) -> None:
            with io.agent(name):
                for _ in range(times):
                    await io.point("")

        async def nameless() -> None:
            for _ in range(2):
                await io.point("nameless")

        await asyncio.gather(as_agent("a", 1), as_agent("b", 3), nameless())
        await io.point("after")

    history = run(body, runtime)
    assert [agent for agent, label in seams(history) if label] == ["agent", "agent", "agent"]


def test_agents_can_be_nested_and_the_outer_one_comes_back() -> None:
    async def body(io: Face) -> None:
        with io.agent("outer"):
            with io.agent("inner"), io.agent("outer"):
                io.kit.point("innermost")
            io.kit.point("outer")
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                pool.submit(io.kit.point, "thread").result()
        io.kit.point("none")
        with pytest.raises(ZeroDivisionError), io.agent("broken"):
            raise ZeroDivisionError
        io.kit.point("none")

    agents = ["outer", "outer", "outer", "agent", "agent"]
    assert [agent for agent, _ in seams(run(body, "sync"))] == agents


def test_an_episode_inside_an_episode_has_agents_of_its_own() -> None:
    async def inner(io: Face) -> None:
        await io.point("inner")

    async def body(io: Face) -> None:
        with io.agent("planner"):
            assert seams(run(inner, "sync")) == [("agent", "inner")]
            await io.point("outer")

    assert seams(run(body, "sync")) == [("planner", "outer")]


# -- after the end -----------------------------------------------------------------------------------------------------------------


def kept(runtime: str) -> tuple[Any, Kit]:
    kits: list[Kit] = []

    async def body(io: Face) -> None:
        kits.append(io.kit)
        await io.point("only")

    return run(body, runtime), kits[0]


@each_runtime
def test_what_is_stated_after_the_end_is_not_in_the_history(runtime: str) -> None:
    history, kit = kept(runtime)
    kit.validated([X])
    kit.halted("late")
    assert history.entries == [Seam("agent", "only"), Ended("returned")]
    assert history.ended == Ended("returned")


@pytest.mark.parametrize("port", ["read", "head", "memory", "record", "derive", "act", "pause", "point", "declared"])
def test_every_port_is_closed_after_the_end(port: str) -> None:
    history, kit = kept("sync")
    with pytest.raises(faults.EpisodeOver, match=r"^the episode is over$"):
        getattr(kit, port)(X)
    assert len(history.entries) == 2


def test_a_tool_that_answers_after_the_end_has_had_no_effect_in_the_episode() -> None:
    go, done = threading.Event(), threading.Event()
    ended: list[BaseException] = []

    async def body(io: Face) -> None:
        started = threading.Event()

        def tool() -> str:
            started.set()
            go.wait(5.0)
            return "sent"

        def late() -> None:
            try:
                io.kit.act("go", {}, via=tool)
            except BaseException as error:
                ended.append(error)
            done.set()

        threading.Thread(target=late, daemon=True).start()
        started.wait(5.0)

    history = run(body, "sync")
    go.set()
    assert done.wait(5.0)
    assert [type(error) for error in ended] == [SystemExit]  # of which Python says nothing where it ends a thread
    assert history.effects == ()


@pytest.mark.parametrize("port", ["read", "head", "memory", "record", "pause", "point", "declared"])
def test_a_thread_that_is_late_is_ended_in_silence(port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    go = threading.Event()
    left: list[threading.Thread] = []
    went_on: list[str] = []

    async def body(io: Face) -> None:
        def late() -> None:
            go.wait(5.0)
            getattr(io.kit, port)(X)
            went_on.append(port)

        left.append(threading.Thread(target=late))
        left[0].start()

    history = run(body, "sync")
    go.set()
    left[0].join(5.0)
    assert (capsys.readouterr().err, went_on) == ("", [])
    assert history.ended == Ended("returned")


def test_what_else_a_thread_raises_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: said.append(args.exc_type))

    async def body(io: Face) -> None:
        def fails() -> None:
            raise KeyError

        thread = threading.Thread(target=fails)
        thread.start()
        thread.join()

    with Runner(system(body, "sync")) as runner:
        runner.run()
    assert said == [KeyError]


@each_runtime
def test_a_teardown_that_calls_a_port_of_an_episode_that_is_over_is_let_be(runtime: str) -> None:
    async def body(io: Face) -> None:
        io.kit.read(X)

    def teardown(self: Any) -> None:
        self.kit.point("closing")

    history = run(body, runtime, (Event(0, Outage("a", "hang")),), teardown=teardown)
    assert history.ended == Ended("stuck", "waits for the answer of a for x, with no timeout")


@awaited
def test_an_async_teardown_that_breaks_could_not_run(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.point()

    async def teardown(self: Any) -> None:
        raise RuntimeError("the pool is closed")

    with pytest.raises(
        CouldNotRun, match=r"^Made: teardown\(\) failed: RuntimeError: the pool is closed \(test_nothing_survives\.py:\d+\)$"
    ):
        run(body, runtime, teardown=teardown)


@each_runtime
@pytest.mark.parametrize("what", [Restart("agent"), Outage("a", "hang")])
def test_an_event_that_reaches_setup_says_where_ports_belong(runtime: str, what: Any) -> None:
    async def body(io: Face) -> None:
        await io.point()

    def setup(self: Any, kit: Kit) -> None:
        self.kit = kit
        kit.read(X)

    with pytest.raises(CouldNotRun) as caught:
        run(body, runtime, (Event(0, what),), setup=setup, restart=restart)
    assert str(caught.value) == "Made: an event reached setup(), which is no part of an episode: call ports in run()"


# -- cancelled, endless ------------------------------------------------------------------------------------------------------------


@on_asyncio
def test_a_run_that_is_cancelled_by_itself_has_crashed(runtime: str) -> None:
    async def body(io: Face) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    assert run(body, runtime).ended == Ended("crashed", "CancelledError")


@on_asyncio
def test_a_cancelled_task_that_is_awaited_is_an_exception_like_any_other(runtime: str) -> None:
    async def body(io: Face) -> None:
        task = asyncio.create_task(asyncio.sleep(1.0))
        task.cancel()
        await task

    assert run(body, runtime).ended.how == "crashed"
    assert run(body, runtime, halt_exceptions=(asyncio.CancelledError,)).ended.how == "halted"


@virtual
@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_polling_for_what_never_comes_is_stuck(runtime: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlock, "MOST_STEPS", 3_000)
    torn_down: list[bool] = []

    async def body(io: Face) -> None:
        while True:
            await (trio.sleep(seconds) if runtime == "trio" else asyncio.sleep(seconds))

    history = run(body, runtime, teardown=lambda self: torn_down.append(True))
    assert history.ended == Ended("stuck", "waits for what an endless loop looks for (3,000 turns of the event loop)")
    assert torn_down == [True]


@each_runtime
def test_a_loop_that_swallows_everything_meets_the_end_at_every_port(runtime: str) -> None:
    met: list[type[BaseException]] = []

    async def body(io: Face) -> None:
        for _ in range(20):
            try:
                await io.point("round")
            except BaseException as error:
                met.append(type(error))

    history = run(body, runtime, max_points=5)
    assert met == [faults.EpisodeOver] * 15
    assert history.ended == Ended("stuck", "waits for nothing: 5 points, the most that an episode may have (max_points)")


def test_a_plain_system_with_a_loop_of_its_own_does_not_hang_the_tool() -> None:
    async def ask(kit: Kit) -> None:
        await kit.aio.head(X)

    async def body(io: Face) -> None:
        asyncio.run(ask(io.kit))

    started = time.perf_counter()
    history = run(body, "sync", (Event(0, Outage("a", "hang")),), timeout_s=0.05)
    assert time.perf_counter() - started < 5.0
    assert history.entries[1:] == [Head("agent", X, None, "hang"), Ended("stuck", "waits for the answer of a for x, with no timeout")]


@each_runtime
def test_a_negative_timeout_waits_no_time(runtime: str) -> None:
    async def body(io: Face) -> None:
        for timeout in (0, -1.0):
            with pytest.raises(faults.OwnerTimeout):
                await io.head(X, timeout=timeout)

    assert run(body, runtime, (Event(0, Outage("a", "hang")),)).ended == Ended("returned")


# -- threads of a loop -------------------------------------------------------------------------------------------------------------


@awaited
def test_an_owner_that_does_not_answer_a_thread_times_out_there(runtime: str) -> None:
    async def body(io: Face) -> None:
        to_thread = trio.to_thread.run_sync if runtime == "trio" else asyncio.to_thread
        with pytest.raises(faults.OwnerTimeout):
            await to_thread(lambda: io.kit.head(X, timeout=1.0))

    assert run(body, runtime, (Event(0, Outage("a", "hang")),)).ended == Ended("returned")


def test_a_thread_may_come_back_to_the_trio_loop() -> None:
    async def body(io: Face) -> None:
        asked = await trio.to_thread.run_sync(lambda: trio.from_thread.run_sync(trio.current_time))
        again = await trio.to_thread.run_sync(lambda: trio.from_thread.run(pausing))
        assert 0 < asked < again

    async def pausing() -> float:
        await trio.lowlevel.checkpoint()
        return trio.current_time()

    assert run(body, "trio").ended == Ended("returned")


def test_a_thread_of_trio_that_waits_for_another_task_could_not_run() -> None:
    async def body(io: Face) -> None:
        done = threading.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, lambda: done.wait(0.2))
            await trio.sleep(1)
            done.set()

    with pytest.raises(CouldNotRun, match=r"^the work of .* was given to a thread and did not return within 0\.05 s"):
        run(body, "trio", timeout_s=0.05)


def test_trio_tasks_take_turns_as_those_of_asyncio_do() -> None:
    async def body(io: Face) -> None:
        async def ask(label: str) -> None:
            for _ in range(3):
                await io.point(label)
                await trio.sleep(1.0)

        async with trio.open_nursery() as nursery:
            for name in "abc":
                nursery.start_soon(ask, name)

    with Runner(system(body, "trio", WORLD)) as runner:
        for _ in range(20):
            assert "".join(label for _, label in seams(runner.run())) == "abcabcabc"
