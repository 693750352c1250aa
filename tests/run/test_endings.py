"""How an episode begins and ends: halts, crashes, restarts, replans, caps, and what is torn down."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fencecheck.errors import CouldNotRun
from fencecheck.history import Act, Ended, Halted, Landed, Memory, Read, Seam, points
from fencecheck.interleaving import Event, Outage, Replan, Restart, Update
from fencecheck.judge import judge
from fencecheck.model import Action, Scenario
from fencecheck.run import faults
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.kit import Kit
from fencecheck.run.simulate import MOST_RESTARTS, Runner

from .faces import RUNTIMES, VIRTUAL, WORLD, Face, X, run, system

each_runtime = pytest.mark.parametrize("runtime", RUNTIMES)


class Stop(Exception):
    pass


class Boom(Exception):
    pass


@each_runtime
def test_three_ways_to_halt_and_one_to_crash(runtime: str) -> None:
    async def returns(io: Face) -> None:
        await io.read(X)

    async def says(io: Face) -> None:
        await io.read(X)
        io.halted("changed again")

    async def raises(io: Face) -> None:
        await io.read(X)
        raise Stop("changed again")

    async def breaks(io: Face) -> None:
        await io.read(X)
        raise Boom("division by tea")

    ended = [run(body, runtime, halt_exceptions=(Stop,)).ended for body in (returns, says, raises, breaks)]
    assert ended == [
        Ended("returned"),
        Ended("halted", "changed again"),
        Ended("halted", "Stop: changed again"),
        Ended("crashed", "Boom: division by tea"),
    ]


@each_runtime
def test_a_fault_that_leaves_run_crashes_it_unless_it_is_a_halt(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    down = (Event(0, Outage("a")),)
    assert run(body, runtime, down).ended == Ended("crashed", "OwnerUnavailable: a refuses for x")
    assert run(body, runtime, down, halt_exceptions=(faults.Fault,)).ended == Ended("halted", "OwnerUnavailable: a refuses for x")


def test_halted_is_a_halt_only_where_it_is_the_last_word() -> None:
    async def body(io: Face) -> None:
        io.halted("not sure")
        await io.act("go", {})

    assert run(body, "sync").ended == Ended("returned")


@each_runtime
def test_the_effect_before_a_crash_is_judged(runtime: str) -> None:
    async def body(io: Face) -> None:
        record = await io.read(X)
        await io.pause()
        await io.act("go", {"to": record.value})
        raise Boom

    judgement = judge(run(body, runtime, (Event(1, Update(X)),)))
    assert sorted(finding.code for finding in judgement.findings) == ["crash", "stale-act"]


@each_runtime
@pytest.mark.parametrize("how", ["return", "halt", "crash", "stuck", "points", "restart"])
def test_setup_and_teardown_are_called_once_each_however_it_ends(runtime: str, how: str) -> None:
    called: list[str] = []

    async def body(io: Face) -> None:
        called.append("run")
        await io.point()
        if how == "halt":
            raise Stop
        if how == "crash":
            raise Boom
        if how == "stuck":
            await io.read(X)
        while how == "points":
            await io.point()

    def setup(self: Any, kit: Kit) -> None:
        called.append("setup")
        self.kit = kit

    what = {"stuck": Outage("a", "hang"), "restart": Restart("agent")}.get(how)
    events = (Event(0, what),) if what else ()
    hooks = {"setup": setup, "teardown": lambda self: called.append("teardown"), "restart": lambda self: called.append("restart")}
    history = run(body, runtime, events, halt_exceptions=(Stop,), max_points=10, timeout_s=0.05 if how == "stuck" else 30.0, **hooks)
    assert called == ["setup", *(["run"] if how != "restart" else ["run", "restart", "run"]), "teardown"]
    assert history.ended.how == {"halt": "halted", "crash": "crashed", "stuck": "stuck", "points": "stuck"}.get(how, "returned")


@each_runtime
def test_more_points_than_the_cap_is_stuck(runtime: str) -> None:
    async def body(io: Face) -> None:
        while True:
            await io.point("round")

    history = run(body, runtime, max_points=7)
    assert [type(entry) for entry in history.entries] == [Seam] * 7 + [Ended]
    assert history.ended == Ended("stuck", "waits for nothing: 7 points, the most that an episode may have (max_points)")
    assert [finding.code for finding in judge(history).findings] == ["stuck"]


@each_runtime
def test_exactly_as_many_points_as_the_cap_is_not(runtime: str) -> None:
    async def body(io: Face) -> None:
        for _ in range(7):
            await io.point("round")

    assert run(body, runtime, max_points=7).ended == Ended("returned")


def test_a_stuck_wait_that_is_swallowed_is_stuck_all_the_same() -> None:
    async def body(io: Face) -> None:
        try:
            await io.read(X)
        except BaseException:
            io.halted("I caught it")

    history = run(body, "sync", (Event(0, Outage("a", "hang")),))
    assert history.ended == Ended("stuck", "waits for the answer of a for x, with no timeout")


@each_runtime
def test_keyboard_interrupts_are_not_part_of_an_episode(runtime: str) -> None:
    async def body(io: Face) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(body, runtime)


# -- restart ----------------------------------------------------------------------------------------------------------------------


class Durable(AgentSystem):
    """Keeps its plan on disk and its notes in memory."""

    scenario = WORLD

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.disk: dict[str, Any] = {}
        self.notes: list[str] = []
        self.calls: list[str] = ["setup"]

    def run(self) -> None:
        self.calls.append("run")
        self.notes.append("started")
        if "plan" not in self.disk:
            self.disk["plan"] = self.kit.read(X)
        self.kit.pause("approval")
        self.kit.act("go", {"to": self.disk["plan"].value}, idempotency_key="one")

    def restart(self) -> None:
        self.calls.append("restart")
        self.notes.clear()

    def teardown(self) -> None:
        Durable.last = self  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("at", "ports"),
    [
        (0, ["read", "pause", "act"]),
        (1, ["read", "pause", "act"]),  # the plan is on disk: run goes on at the pause
        (2, ["read", "pause", "pause", "act"]),
    ],
)
def test_run_is_called_again_and_the_point_keeps_its_number(at: int, ports: list[str]) -> None:
    with Runner(Durable) as runner:
        history = runner.run((), (Event(at, Restart("agent")),))
    last: Durable = Durable.last  # type: ignore[attr-defined]
    assert last.calls == ["setup", "run", "restart", "run"]
    assert last.notes == ["started"]
    assert [entry.__struct_config__.tag for _, entry in points(history)] == ports
    assert history.fired == (Event(at, Restart("agent")),)
    landed = next(i for i, entry in enumerate(history.entries) if type(entry) is Landed)
    assert sum(1 for i, _ in points(history) if i < landed) == at


def test_events_after_a_restart_land_by_the_numbers_of_the_points_that_happened() -> None:
    with Runner(Durable) as runner:
        history = runner.run((), (Event(2, Restart("agent")), Event(3, Update(X))))
    assert [entry.__struct_config__.tag for entry in history.entries] == ["read", "pause", "landed", "pause", "landed", "act", "ended"]
    assert [finding.code for finding in judge(history).findings] == ["stale-act"]


def test_events_of_the_point_of_a_restart_land_before_the_first_call_after_it() -> None:
    with Runner(Durable) as runner:
        history = runner.run((), (Event(0, Restart("agent")), Event(0, Update(X)), Event(1, Restart("agent")), Event(1, Update(X))))
    kinds = [entry.__struct_config__.tag for entry in history.entries]
    assert kinds == ["landed", "landed", "read", "landed", "landed", "pause", "act", "ended"]
    assert history.entries[2] == Read("agent", X, "x@2")


def test_durable_tools_and_owners_remember_across_a_restart() -> None:
    async def body(io: Face) -> None:
        await io.act("go", {}, idempotency_key="one")
        await io.point()

    history = run(body, "sync", (Event(1, Restart("agent")),), restart=lambda self: None)
    assert [(entry.outcome, entry.effect) for entry in history.entries if type(entry) is Act] == [("done", True), ("repeated", False)]


@each_runtime
def test_a_restart_empties_the_memory_of_its_agent_alone(runtime: str) -> None:
    scenario = Scenario(owners={"a": [X]}, actions=[Action("go", [X])], agents=["one", "two"])
    got: list[Any] = []

    async def body(io: Face) -> None:
        for name in ("one", "two"):
            with io.agent(name):
                try:
                    got.append((await io.memory(X)).id)
                except faults.NotRemembered:
                    got.append(None)

    history = run(body, runtime, (Event(1, Restart("two")),), scenario=scenario, restart=lambda self: None)
    assert got == ["x@1", "x@1", None]
    assert [entry.version for entry in history.entries if type(entry) is Memory] == ["x@1", "x@1", None]


def test_a_restart_of_an_agent_that_does_not_call_has_not_fired() -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    history = run(body, "sync", (Event(0, Restart("someone else")),), restart=lambda self: None)
    assert history.fired == ()
    assert history.ended == Ended("returned")


@each_runtime
def test_a_handler_of_exceptions_does_not_swallow_a_restart(runtime: str) -> None:
    calls: list[str] = []

    async def body(io: Face) -> None:
        calls.append("run")
        try:
            await io.read(X)
        except Exception:
            calls.append("swallowed")

    run(body, runtime, (Event(0, Restart("agent")),), restart=lambda self: None)
    assert calls == ["run", "run"]


@each_runtime
def test_endless_restarts_are_stuck(runtime: str) -> None:
    async def body(io: Face) -> None:
        raise faults.Restarted("agent")

    assert run(body, runtime).ended == Ended("stuck", f"restarted {MOST_RESTARTS} times")


@pytest.mark.parametrize("number", [1, MOST_RESTARTS - 1, MOST_RESTARTS])
def test_up_to_the_cap_restarts_run_again(number: int) -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    history = run(body, "sync", tuple(Event(0, Restart("agent")) for _ in range(number)), restart=lambda self: None)
    assert history.ended.how == ("returned" if number < MOST_RESTARTS else "stuck")


@each_runtime
def test_a_generator_exit_of_the_system_itself_is_a_crash(runtime: str) -> None:
    async def body(io: Face) -> None:
        raise GeneratorExit("theirs")

    assert run(body, runtime).ended == Ended("crashed", "GeneratorExit: theirs")


@pytest.mark.parametrize("runtime", ["asyncio", "asyncio-native"])
def test_a_system_that_stops_its_loop_could_not_run(runtime: str) -> None:
    import asyncio

    async def body(io: Face) -> None:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)

    with Runner(system(body, runtime)) as runner:
        for _ in range(2):
            with pytest.raises(CouldNotRun, match=r"^the system calls stop\(\) of the event loop"):
                runner.run()


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_a_restart_out_of_a_task_group_runs_again(runtime: str) -> None:
    import asyncio

    import trio

    calls: list[str] = []

    async def body(io: Face) -> None:
        calls.append("run")

        async def child() -> None:
            await io.read(X)

        if runtime == "asyncio":
            async with asyncio.TaskGroup() as group:
                group.create_task(child())
        else:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(child)

    history = run(body, runtime, (Event(0, Restart("agent")),), restart=lambda self: None)
    assert calls == ["run", "run"]
    assert history.ended == Ended("returned")


# -- replan -----------------------------------------------------------------------------------------------------------------------


class Planning(AgentSystem):
    scenario = WORLD

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.plan: Any = None

    def run(self) -> None:
        record = self.kit.read(X)
        self.plan = self.kit.derive({"to": record.value}, [record])
        self.kit.pause()
        self.kit.act("go", self.plan.value, plan=self.plan)

    def replan(self, task: str) -> None:
        record = self.kit.read(X)
        self.plan = self.kit.derive({"to": record.value, "task": task}, [record])


def test_what_a_replan_does_through_ports_is_part_of_the_event_and_no_point() -> None:
    with Runner(Planning) as runner:
        history = runner.run((), (Event(2, Update(X)), Event(2, Replan("task")), Event(3, Update(X))))
    kinds = [(entry.__struct_config__.tag, getattr(entry, "in_event", False)) for entry in history.entries]
    assert kinds == [
        ("read", False),
        ("derive", False),
        ("landed", False),
        ("landed", False),
        ("read", True),
        ("derive", True),
        ("pause", False),
        ("landed", False),
        ("act", False),
        ("ended", False),
    ]
    assert [entry.at for entry in history.entries if type(entry) is Landed] == [2, 2, 3]
    assert history.effects[0].plan == "p2"
    assert [finding.code for finding in judge(history).findings] == ["stale-act"]  # r3 came after the replan


def test_a_replan_that_meets_a_fault_has_not_fired() -> None:
    with Runner(Planning) as runner:
        history = runner.run((), (Event(2, Outage("a")), Event(2, Replan("task"))))
    assert history.fired == (Event(2, Outage("a")),)
    assert history.effects[0].plan == "p1"


@pytest.mark.parametrize("runtime", VIRTUAL)
def test_a_replan_may_be_async(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    async def replan(self: Any, task: str) -> None:
        await self.kit.aio.read(X)

    history = run(body, runtime, (Event(0, Replan("task")),), replan=replan)
    assert history.entries[1:] == [Read("agent", X, "x@1", "ok", True), Read("agent", X, "x@1"), Ended("returned")]


def test_an_async_hook_reached_from_a_plain_port_says_what_to_use() -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    async def replan(self: Any, task: str) -> None: ...

    with pytest.raises(CouldNotRun, match=r"^Made: kit\.read at faces\.py:\d+ is not awaited, and comes to an async hook"):
        run(body, "sync", (Event(0, Replan("task")),), replan=replan)


def test_a_hook_that_breaks_is_not_the_systems_fault() -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    def replan(self: Any, task: str) -> None:
        raise Boom("no planner")

    with pytest.raises(CouldNotRun) as caught:
        run(body, "sync", (Event(0, Replan("task")),), replan=replan)
    assert re.fullmatch(r"Made: replan\(\) failed: Boom: no planner \(test_endings\.py:\d+\)", str(caught.value))


@each_runtime
@pytest.mark.parametrize("method", ["setup", "teardown"])
def test_a_broken_setup_or_teardown_could_not_run(runtime: str, method: str) -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    def broken(self: Any, *_: Any) -> None:
        raise Boom("no database")

    with pytest.raises(CouldNotRun) as caught:
        run(body, runtime, **{method: broken})
    assert re.fullmatch(rf"Made: {method}\(\) failed: Boom: no database \(test_endings\.py:\d+\)", str(caught.value))


def test_halted_is_logged_with_its_agent() -> None:
    async def body(io: Face) -> None:
        with io.agent("executor"):
            io.halted("why")

    assert run(body, "sync").entries[0] == Halted("executor", "why")


@each_runtime
def test_open_and_shutdown_are_called_once_for_many_episodes(runtime: str) -> None:
    calls: list[str] = []

    async def body(io: Face) -> None:
        await io.read(X)

    def opened(self: Any) -> None:
        calls.append("open")
        self.pool = "a pool"

    def setup(self: Any, kit: Kit) -> None:
        self.kit = kit
        calls.append(self.worker.pool)

    hooks = {"open": opened, "shutdown": lambda self: calls.append("shutdown"), "setup": setup}
    with Runner(system(body, runtime, **hooks)) as runner:
        runner.run()
        runner.run()
    assert calls == ["open", "a pool", "a pool", "shutdown"]
