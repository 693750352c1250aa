"""`kit.replaying()`: what a deterministic-workflow engine repeats after a restart meets the world no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fencecheck import AgentSystem, Event, Outage, Restart, Update, check
from fencecheck.errors import CouldNotRun, Nondeterministic
from fencecheck.faults import Fault
from fencecheck.fence import Halt, PlanFence
from fencecheck.history import Derive, History, Pause, Read, Validated, points
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner

from .faces import WORLD, X


class Engine:
    """A small deterministic-workflow engine: what an activity came to is written to a history, which outlives the process.

    A workflow is run from its beginning each time. An activity that the history holds is not carried out again: it comes to what is written.
    """

    def __init__(self) -> None:
        self.history: list[Any] = []
        self.position = 0

    def begin(self) -> None:
        """The process has started: the workflow runs from its beginning."""
        self.position = 0

    @property
    def replaying(self) -> bool:
        """Whether the history still holds what the workflow comes to next."""
        return self.position < len(self.history)

    def activity(self, carry_out: Callable[[], Any]) -> Any:
        """What it comes to: as written, or carried out now."""
        if not self.replaying:
            self.history.append(carry_out())
        self.position += 1
        return self.history[self.position - 1]


class Workflow(AgentSystem):
    """Plans, waits for a person, ships: in the code of a workflow, where only activities meet the world."""

    scenario = WORLD
    replays = True
    halt_exceptions = (Halt, Fault, LookupError)

    def setup(self, kit: Any) -> None:
        super().setup(kit)
        self.engine = Engine()  # its history is durable: a restart is no new setup

    def restart(self) -> None:
        """The process dies, and what is in memory with it."""

    def run(self) -> None:
        self.engine.begin()
        with self.kit.replaying(lambda: self.engine.replaying):
            self.workflow()

    def read(self) -> Any:
        order = self.kit.read(X, timeout=5.0)
        if getattr(order, "key", None) != X or order.removed:
            raise LookupError("there is no such order")
        return order

    def workflow(self) -> None:
        kit, activity = self.kit, self.engine.activity
        order = activity(self.read)
        plan = kit.derive({"drink": order.value}, [order])  # no activity: the code of the workflow, which is run again
        activity(lambda: kit.pause("approval"))
        self.dispatch(plan)

    def dispatch(self, plan: Any) -> None:
        self.engine.activity(lambda: self.kit.act("go", plan.value, plan=plan, idempotency_key="order-42"))


class Fenced(Workflow):
    """Has the plan cleared in the activity that sends it."""

    def dispatch(self, plan: Any) -> None:
        def cleared() -> None:
            fence: PlanFence[Any] = PlanFence(self.kit.record, lambda key: self.kit.head(key, timeout=5.0), self.remake, self.kit.validated)
            made = fence.clear(plan, self.kit.declared("go")).plan
            self.kit.act("go", made.value, plan=made, idempotency_key="order-42")

        self.engine.activity(cleared)

    def remake(self, plan: Any, changed: Any) -> Any:
        return self.kit.derive({"drink": changed[X].value}, [changed[X]])


def ran(system: type[AgentSystem], *events: Event) -> History:
    with Runner(system) as runner:
        return runner.run((), events)


def kinds(history: History) -> list[str]:
    return [type(entry).__name__ for _, entry in points(history)]


RESTART = Restart("agent")


def test_a_replay_meets_the_world_no_more() -> None:
    """The read and the derive before the restart are not made again: the points after it go on where the history ends."""
    history = ran(Workflow, Event(3, RESTART))
    assert history.fired == (Event(3, RESTART),)
    assert kinds(history) == kinds(ran(Workflow)) == ["Read", "Derive", "Pause", "Act"]
    assert judge(history).outcome == "completed"


def test_nothing_lands_in_a_replay() -> None:
    """The update is due as soon as the process is back; it lands before the first call that is not repeated."""
    history = ran(Workflow, Event(3, RESTART), Event(3, Update(X)))
    assert [type(entry).__name__ for entry in history.entries] == ["Read", "Derive", "Pause", "Landed", "Landed", "Act", "Ended"]
    assert history.fired == (Event(3, RESTART), Event(3, Update(X)))


def test_a_workflow_that_keeps_its_plan_over_a_restart_is_stale() -> None:
    history = ran(Workflow, Event(3, RESTART), Event(3, Update(X)))
    assert [finding.code for finding in judge(history).violations("at-validation")] == ["stale-act"]
    assert history.effects[0].args == {"drink": "tea"}


def test_the_smallest_interleaving_of_such_a_workflow_and_the_fence_that_mends_it() -> None:
    report = check(Workflow, fresh_process=False, max_events=1)
    assert report.verdict == "violated"
    assert report.failures[0].interleaving.events == (Event(3, Update(X)),)
    held = check(Fenced, fresh_process=False, max_events=2)
    assert held.verdict == "held", held.failures
    assert held.fired["restart"] > 0
    assert not held.counts.get("duplicates")


def test_without_it_the_code_of_a_workflow_plans_twice() -> None:
    class Repeats(Workflow):
        def run(self) -> None:
            self.engine.begin()
            self.workflow()

    assert kinds(ran(Repeats, Event(3, RESTART))).count("Derive") == 2
    assert kinds(ran(Workflow, Event(3, RESTART))).count("Derive") == 1


def test_a_validation_that_is_repeated_is_no_mark() -> None:
    """It was made before the restart, and what was current then may not be now."""

    class Early(Workflow):
        def dispatch(self, plan: Any) -> None:
            head = self.engine.activity(lambda: self.kit.head(X))
            if head == plan.parents[0]:
                self.kit.validated([X])
            self.engine.activity(lambda: self.kit.point("a task queue"))
            super().dispatch(plan)

    history = ran(Early, Event(5, RESTART), Event(5, Update(X)))
    assert sum(type(entry) is Validated for entry in history.entries) == 1
    assert [finding.code for finding in judge(history).violations("at-validation")] == ["stale-act"]


def test_what_failed_fails_again_and_asks_nobody() -> None:
    class Stubborn(Workflow):
        def workflow(self) -> None:
            try:
                self.kit.read(X, timeout=1.0)
            except Fault:
                self.engine.activity(lambda: None)
                self.kit.pause("until it is back")
                self.kit.halted("no answer")

    history = ran(Stubborn, Event(0, Outage("a")), Event(1, RESTART))
    assert [type(entry).__name__ for entry in history.entries] == ["Landed", "Read", "Landed", "Pause", "Halted", "Ended"]
    assert history.ended.how == "halted"


def test_a_whole_block_is_a_replay_where_nobody_asks() -> None:
    def run(self: Any) -> None:
        first = [self.kit.read(X), self.kit.read(X), self.kit.act("go"), self.kit.declared("go")]
        self.kit.pause("approval")
        for _ in range(2):
            with self.kit.replaying():
                again = [self.kit.read(X), self.kit.read(X), self.kit.act("go"), self.kit.declared("go")]
                self.kit.pause("approval")
                self.kit.validated([X])
                self.kit.halted("not really")
            assert [one is other for one, other in zip(first, again, strict=True)] == [True] * 4

    history = ran(type("Mine", (Workflow,), {"run": run}), Event(1, Update(X)))
    assert kinds(history) == ["Read", "Read", "Act", "Pause"]
    assert [entry.version for entry in history.entries if type(entry) is Read] == [f"{X}@1", f"{X}@2"]
    assert history.ended.how == "returned"


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_the_awaited_ports_are_repeated_alike(runtime: str) -> None:
    async def ports(kit: Any) -> list[Any]:
        order = await kit.aio.read(X)
        found = [
            order,
            await kit.aio.head(X),
            await kit.aio.memory(X),
            await kit.aio.record(order.id),
            await kit.aio.derive("plan", [order]),
        ]
        await kit.aio.pause("approval")
        await kit.aio.point("a seam")
        return [*found, await kit.aio.act("go", {"drink": order.value})]

    async def run(self: Any) -> None:
        first = await ports(self.kit)
        with self.kit.replaying():
            assert await ports(self.kit) == first

    history = ran(type("Mine", (Workflow,), {"run": run, "runtime": runtime}))
    assert history.ended.how == "returned", history.ended
    assert kinds(history) == ["Read", "Head", "Memory", "Fetch", "Derive", "Pause", "Seam", "Act"]


def test_two_workflows_of_one_agent_keep_their_own_histories() -> None:
    async def workflow(kit: Any, name: str, replayed: bool) -> Any:
        with kit.replaying(lambda: replayed, of=name):
            plan = await kit.aio.derive(f"plan of {name}")
            await asyncio.sleep(0)
            return plan.value

    async def run(self: Any) -> None:
        for replayed in (False, True):
            names = ("one", "two") if not replayed else ("two", "one")
            found = await asyncio.gather(*(workflow(self.kit, name, replayed) for name in names))
            assert found == [f"plan of {name}" for name in names]

    history = ran(type("Mine", (Workflow,), {"run": run, "runtime": "asyncio"}))
    assert history.ended.how == "returned", history.ended
    assert sum(type(entry) is Derive for entry in history.entries) == 2


def test_what_was_not_done_before_is_told() -> None:
    def run(self: Any) -> None:
        self.kit.read(X)
        with self.kit.replaying():
            self.kit.read(X)
            self.kit.read(X)

    with pytest.raises(Nondeterministic) as raised:
        ran(type("Mine", (Workflow,), {"run": run}))
    assert str(raised.value) == (
        "Mine calls read x for the 2. time in a replay, and did not before: a workflow has to do the same again; "
        "let kit.replaying() end where the history of the workflow does"
    )


def test_a_class_has_to_say_that_its_calls_are_repeated() -> None:
    with pytest.raises(CouldNotRun, match=r"^Mine calls kit.replaying\(\): set replays = True on its class"):
        ran(type("Mine", (Workflow,), {"replays": False}))


def test_a_call_that_a_restart_unwound_was_never_made() -> None:
    history = ran(Workflow, Event(0, RESTART))
    assert kinds(history) == ["Read", "Derive", "Pause", "Act"]
    assert sum(type(entry) is Pause for entry in history.entries) == 1
