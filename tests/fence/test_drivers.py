"""What the drivers add to the protocol: timeouts, exceptions, the order of questions, the moment of clearance."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor

import pytest
import trio
import trio.testing

from fencecheck.fence import Halt, PlanFence
from fencecheck.fence import aio as fence_aio
from fencecheck.fence import trio_ as fence_trio

from .world import HANG, Rec, World

A, B = "a", "b"
a1, a2, b1 = Rec("a1", A), Rec("a2", A), Rec("b1", B)
PLAN = Rec("p", parents=("a1", "b1"))


@pytest.mark.parametrize("hanging", [[A], [B], [A, B]])
def test_an_owner_that_hangs_is_a_halt(halted, hanging: list[str]) -> None:
    world = World(a1, b1, heads={A: "a1", B: "b1"} | dict.fromkeys(hanging, HANG))
    assert halted(world, PLAN, [A, B], timeout_s=0.2) == ("owner-timeout", hanging[0])
    assert sorted(world.calls("head")) == [A, B]


def test_an_owner_that_hangs_after_the_replan_is_a_halt(halted) -> None:
    world = World(a1, a2, heads={A: "a2"})
    world.replan = lambda plan, changed: world.heads.update({A: HANG}) or Rec("p2", parents=("a2",))
    assert halted(world, Rec("p", parents=("a1",)), [A], timeout_s=0.02) == ("owner-timeout", A)


def test_no_answer_is_preferred_for_being_first(drive) -> None:
    world = World(a1, b1, heads={A: lambda: time.sleep(0.02) or "a1", B: OSError("down")})
    assert drive(world).outcome(PLAN, [A, B])[1:3] == ("owner-unavailable", B)
    world.heads[B] = "b1"
    assert drive(world, timeout_s=5).outcome(PLAN, [A, B])[0] == "cleared"


def test_questions_start_in_the_order_of_the_declared_keys(drive) -> None:
    keys = [f"k{i}" for i in range(9, -1, -1)]
    records = [Rec(f"r{key}", key) for key in keys]
    for _ in range(5):
        world = World(*records, heads={key: f"r{key}" for key in keys})
        driven = drive(world)
        driven.clear(Rec("p", parents=tuple(record.id for record in reversed(records))), keys)
        if driven.driver != "pool":  # threads are started in order, and run as the machine likes
            assert world.log == [("fetch", record.id) for record in reversed(records)] + [("head", key) for key in keys]


class Restarted(BaseException):
    pass


@pytest.mark.parametrize("error", [ValueError("mine"), Restarted("mine")])
@pytest.mark.parametrize("port", ["fetch", "head", "replan"])
def test_exceptions_of_passthrough_types_are_raised_unchanged(drive, port: str, error: BaseException) -> None:
    world = World(a1, a2, b1, heads={A: "a2", B: "b1"})
    if port == "fetch":
        world.records["a1"] = error
    elif port == "head":
        world.heads[B] = error
    else:

        def replan(plan: object, changed: object) -> None:
            raise error

        world.replan = replan
    with pytest.raises(type(error), match="mine") as caught:
        drive(world, passthrough=(ValueError, Restarted)).clear(PLAN, [A, B])
    assert caught.value is error
    assert not world.marks
    if isinstance(error, ValueError):
        with pytest.raises(Halt) as halt:
            drive(world).clear(PLAN, [A, B])
        assert halt.value.__cause__ is error


def test_what_is_no_exception_is_never_caught(drive) -> None:
    world = World(a1, heads={A: Restarted("gone")})
    with pytest.raises(Restarted):
        drive(world).clear(Rec("p", parents=("a1",)), [A])


def test_the_mark_is_set_right_after_the_last_answer_and_before_the_act(drive) -> None:
    world = World(a1, a2, heads={A: "a2"})
    driven = drive(world, validated=lambda basis: world.log.append(("validated", basis)))
    driven.act(Rec("p", parents=("a1",)), [A], lambda cleared: world.log.append(("act", cleared.plan.id)))
    assert world.log[-3:] == [("head", A), ("validated", {A: "a2"}), ("act", "p'")]
    assert [what for what, _ in world.log].count("validated") == 1


def test_a_mark_that_fails_lets_nothing_out(drive) -> None:
    acts: list[object] = []

    def full(basis: object) -> None:
        raise OSError("log is full")

    with pytest.raises(OSError, match="log is full"):
        drive(World(a1, heads={A: "a1"}), validated=full).act(Rec("p", parents=("a1",)), [A], acts.append)
    assert not acts


@pytest.mark.parametrize("settings", [{"timeout_s": 0}, {"timeout_s": -1.0}, {"max_records": 0}])
def test_settings_that_cannot_be_meant_are_refused(drive, settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        drive(World(), **settings)


def test_the_mark_cannot_be_a_coroutine_function(drive) -> None:
    async def validated(basis: object) -> None: ...

    with pytest.raises(TypeError, match="plain function"):
        drive(World(), validated=validated)


# Plain functions


def plain(head: object, **settings: object) -> PlanFence[Rec]:
    return PlanFence({"a1": a1, "b1": b1}.get, head, lambda plan, changed: plan, **settings)  # type: ignore[arg-type]


def test_the_timeout_is_passed_on_to_a_head_that_takes_it_by_name() -> None:
    got: list[object] = []

    def named(key: str, timeout: float = 0) -> str:
        got.append(timeout)
        return key + "1"

    def anything(key: str, **params: object) -> str:
        got.append(params)
        return key + "1"

    plain(named, timeout_s=2.5).clear(PLAN, [A])
    plain(named).clear(PLAN, [A])
    plain(anything, timeout_s=2.5).clear(PLAN, [A])
    plain({A: "a1"}.__getitem__, timeout_s=2.5).clear(PLAN, [A])
    assert got == [2.5, 0, {}]


def test_a_pool_asks_side_by_side_in_copies_of_the_callers_context() -> None:
    caller = contextvars.ContextVar("caller", default="nobody")
    meet = threading.Barrier(2, timeout=10)
    callers: list[str] = []

    def head(key: str) -> str:
        meet.wait()  # both are here at once, or this breaks
        callers.append(caller.get())
        return key + "1"

    caller.set("agent")
    with ThreadPoolExecutor(2) as pool:
        assert plain(head, executor=pool).clear(PLAN, [A, B]).basis == {A: "a1", B: "b1"}
    assert callers == ["agent", "agent"]


def test_a_question_that_never_began_for_want_of_a_thread_is_cancelled() -> None:
    free = threading.Event()
    asked: list[str] = []

    def head(key: str) -> str:
        asked.append(key)
        free.wait(10)
        return key + "1"

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(Halt, match="owner-timeout"):
            plain(head, executor=pool, timeout_s=0.02).clear(PLAN, [A, B])
        free.set()
    assert asked == [A]


def test_a_coroutine_function_as_a_plain_head_is_a_malformed_answer() -> None:
    async def head(key: str) -> str:
        return "a1"

    made: list[Coroutine[object, object, str]] = []
    with pytest.raises(Halt, match=r"malformed-answer.*a coroutine"):
        plain(lambda key: made.append(head(key)) or made[-1]).clear(PLAN, [A])
    made[0].close()


def test_one_fence_serves_many_threads() -> None:
    """Heads move on while four threads validate: each call clears on some version or halts for a change, and none halts for good."""
    records = {f"r{i}": Rec(f"r{i}", A) for i in range(60)}
    current = [0]

    def replan(plan: Rec, changed: dict[str, Rec]) -> Rec:
        return Rec("p", parents=(changed[A].id,))

    fence = PlanFence(records.__getitem__, lambda key: f"r{current[0]}", replan)
    reasons: list[str] = []

    def work() -> None:
        while current[0] < 59:
            try:
                fence.clear(Rec("p", parents=(f"r{current[0]}",)), [A])
            except Halt as halt:
                reasons.append(halt.reason)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for i in range(60):
        current[0] = i
        time.sleep(0.0002)
    for thread in threads:
        thread.join()
    assert set(reasons) <= {"changed-again", "older-head"}
    assert fence.clear(Rec("p", parents=("r59",)), [A]).basis == {A: "r59"}


# Event loops


def test_asyncio_asks_side_by_side_and_passes_a_cancellation_on() -> None:
    async def main() -> None:
        both = asyncio.Barrier(2)
        ended: list[str] = []

        async def fetch(id: str) -> Rec:
            return {"a1": a1, "b1": b1}[id]

        async def head(key: str) -> str:
            await both.wait()
            return key + "1"

        async def stuck(key: str) -> str:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(key)
            return ""

        async def replan(plan: Rec, changed: object) -> Rec:
            return plan

        cleared = await fence_aio.PlanFence(fetch, head, replan, timeout_s=10).clear(PLAN, [A, B])
        assert cleared.basis == {A: "a1", B: "b1"}
        task = asyncio.create_task(fence_aio.PlanFence(fetch, stuck, replan).clear(PLAN, [A, B]))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(ended) == [A, B]

    asyncio.run(main())


def test_trio_asks_side_by_side_times_each_question_and_passes_a_cancellation_on() -> None:
    async def main() -> None:
        async def fetch(id: str) -> Rec:
            return {"a1": a1, "b1": b1}[id]

        async def slow(key: str) -> str:
            await trio.sleep({A: 3, B: 4}[key])
            return key + "1"

        async def own_limit(key: str) -> str:
            with trio.fail_after(1):
                await trio.sleep_forever()
            return ""

        async def replan(plan: Rec, changed: object) -> Rec:
            return plan

        start = trio.current_time()
        await fence_trio.PlanFence(fetch, slow, replan, timeout_s=5).clear(PLAN, [A, B])
        assert trio.current_time() - start == pytest.approx(4)
        with pytest.raises(Halt, match="owner-timeout"):
            await fence_trio.PlanFence(fetch, own_limit, replan).clear(PLAN, [A, B])
        with trio.move_on_after(1) as scope:
            await fence_trio.PlanFence(fetch, slow, replan).clear(PLAN, [A, B])
        assert scope.cancelled_caught

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.parametrize("kind", [fence_aio.PlanFence, fence_trio.PlanFence])
def test_after_the_last_answer_nothing_else_runs_before_the_act(kind: type) -> None:
    async def main() -> None:
        beats = [0]
        at_answer: list[int] = []

        async def fetch(id: str) -> Rec:
            return a1

        async def head(key: str) -> str:
            await pause()
            at_answer.append(beats[0])
            return "a1"

        async def act(cleared: object) -> int:
            return beats[0]

        async def pause() -> None:
            await (asyncio.sleep(0) if kind is fence_aio.PlanFence else trio.lowlevel.checkpoint())
            beats[0] += 1

        fence = kind(fetch, head, None)
        assert await fence.guard(Rec("p", parents=("a1",)), [A], act) == at_answer[-1]

    asyncio.run(main()) if kind is fence_aio.PlanFence else trio.run(main)
