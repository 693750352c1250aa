"""The LangGraph example: the real graph, the real checkpointers, and what LangGraph does with threads, restarts and event loops."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph is not installed: pip install 'fencecheck[langgraph]'")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from fencecheck import Action, AgentSystem, Event, Kit, Outage, Restart, Scenario, ToolFault, Update, check
from fencecheck.fence import PlanFence
from fencecheck.fence.aio import PlanFence as AsyncPlanFence
from fencecheck.history import Act, Derive, History, Landed, Pause, Read, labelled, points
from fencecheck.judge import judge
from fencecheck.run.loading import load
from fencecheck.run.simulate import Runner

EXAMPLE = Path(__file__).parents[2] / "examples" / "langgraph_delivery" / "system.py"
NaiveDelivery, FencedDelivery = load(f"{EXAMPLE}:NaiveDelivery"), load(f"{EXAMPLE}:FencedDelivery")
app, system = sys.modules["app"], sys.modules[NaiveDelivery.__module__]
REQUIREMENT, WINDOW = "order/42/requirement", "order/42/window"


class WithoutADisk(FencedDelivery):  # type: ignore[misc,valid-type]
    """Its checkpoints are kept in memory only."""

    saver = "memory"


@pytest.fixture(scope="module")
def naive() -> Iterator[Runner]:
    with Runner(NaiveDelivery) as runner:
        yield runner


@pytest.fixture(scope="module")
def fenced() -> Iterator[Runner]:
    with Runner(FencedDelivery) as runner:
        yield runner


def last_point(runner: Runner) -> int:
    """The number of the act's point in the run without events."""
    return runner.horizon - 1


def codes(history: History) -> list[str]:
    return [finding.code for finding in judge(history).findings]


def kinds(history: History, kind: type) -> list[Any]:
    return [entry for entry in history.entries if type(entry) is kind]


# -- the two verdicts -------------------------------------------------------------------------------------------------


def test_naive_is_violated_by_one_update_during_the_approval() -> None:
    report = check(NaiveDelivery)
    assert report.verdict == "violated"
    assert [failure.code for failure in report.failures] == ["stale-act"]
    failure = report.failures[0]
    assert [event.what for event in failure.events] == [Update(REQUIREMENT)]
    entries = failure.history.entries
    landed = next(i for i, entry in enumerate(entries) if type(entry) is Landed)
    assert any(type(entry) is Pause for entry in entries[:landed])
    assert type(entries[landed + 1]) is Act
    assert labelled(failure.history)[failure.events[0].at] == ("act deliver", 1)
    assert failure.history.lines[landed - 1].startswith("system.py:")


def test_fenced_holds_over_any_number_of_events() -> None:
    report = check(FencedDelivery, per_kind=0)
    assert report.verdict == "held", report.failures
    assert (report.bound.kind, report.bound.value) == ("complete", 10)
    assert report.counts["recovered"] > 0
    assert report.counts["stuck"] == report.counts["crashed"] == report.counts["duplicates"] == report.counts["needless_replans"] == 0
    assert {"update", "outage", "missing-parent", "corrupt-parent", "tool-fault", "restart"} <= set(report.fired)
    assert report.strongest == "at-validation"
    assert {"torn-validation", "raced-act"} <= set(report.beyond)  # the window that the protocol does not close


def test_the_verdict_is_the_same_in_memory() -> None:
    on_disk, in_memory = [check(system, max_events=1, fresh_process=False) for system in (FencedDelivery, WithoutADisk)]
    assert on_disk.verdict == in_memory.verdict == "held"
    assert on_disk.counts == in_memory.counts


def test_fenced_recovers_by_one_replan(fenced: Runner) -> None:
    history = fenced.run((), (Event(4, Update(REQUIREMENT)),))
    judgement = judge(history)
    assert not judgement.findings
    assert judgement.outcome == "completed"
    assert judgement.recovered
    assert history.effects[0].args == {"order": "42", "address": "3-1 Umeda, Osaka", "window": "Monday 09:00 to 11:00"}


def test_fenced_halts_when_it_changes_again(fenced: Runner) -> None:
    changed = fenced.run((), (Event(4, Update(REQUIREMENT)),))
    replanned = [number for number, (_, entry) in enumerate(points(changed)) if type(entry) is Derive][-1]
    history = fenced.run((), (Event(4, Update(REQUIREMENT)), Event(replanned + 1, Update(WINDOW))))
    assert not history.effects
    assert history.ended.detail.startswith("Halt: changed-again")
    assert judge(history).outcome == "halted-changed"


# -- restarts: what the checkpointer is for ---------------------------------------------------------------------------


@pytest.mark.parametrize("runner", ["naive", "fenced"])
def test_a_restart_anywhere_goes_on_from_the_checkpoint(runner: str, request: pytest.FixtureRequest) -> None:
    run: Runner = request.getfixturevalue(runner)
    agents = [entry.agent for _, entry in points(run.run())]
    for at, agent in enumerate(agents):
        history = run.run((), (Event(at, Restart(agent)),))
        assert history.fired, at
        assert history.ended.how == "returned", history.ended
        assert len(history.effects) == 1
        plans = [entry for entry in kinds(history, Derive) if entry.agent == "planner"]
        assert len(plans) == 1, "a node that had ended was run again"
        assert not codes(history)


def test_a_restart_between_approval_and_dispatch_asks_nobody_twice(fenced: Runner) -> None:
    history = fenced.run((), (Event(last_point(fenced), Restart("executor")),))
    assert len(kinds(history, Pause)) == 1
    assert len(kinds(history, Read)) == 2
    assert len(history.effects) == 1


def test_an_update_and_a_restart_after_the_approval(naive: Runner, fenced: Runner) -> None:
    for runner, found in ((naive, ["stale-act"]), (fenced, [])):
        history = runner.run((), (Event(5, Update(REQUIREMENT)), Event(5, Restart("executor"))))
        assert len(history.fired) == 2
        assert len(history.effects) == 1
        assert codes(history) == found


class FencedInANodeOfItsOwn(FencedDelivery):
    """The fence is one node and the tool call the next, so that a checkpoint lies between them."""

    def open(self) -> None:
        super().open()
        graph = StateGraph(app.State, context_schema=app.Services)

        def fence(state: Any, runtime: Any) -> Any:
            clients = runtime.context.executor
            fence: PlanFence[Any] = PlanFence(clients.record, clients.head, lambda plan, changed: None, clients.validated)
            cleared = fence.clear(app.Saved(**state["approval"]), clients.depends_on())
            return {"approval": app.saved(cleared.plan)}

        nodes = {"plan": app.plan, "approval": app.approval, "fence": fence, "dispatch": app.dispatch}
        graph.add_sequence(list(nodes.items()))
        graph.add_edge(START, "plan")
        self.built = graph.compile()


def test_a_checkpoint_between_fence_and_act_lets_a_restart_in() -> None:
    with Runner(FencedInANodeOfItsOwn) as runner:
        at = last_point(runner)
        assert not codes(runner.run((), (Event(at, Restart("executor")),)))
        assert codes(runner.run((), (Event(at, Restart("executor")), Event(at, Update(REQUIREMENT))))) == ["stale-act"]
    with Runner(FencedDelivery) as runner:
        at = last_point(runner)
        assert not codes(runner.run((), (Event(at, Restart("executor")), Event(at, Update(REQUIREMENT)))))


# -- the other ways to end --------------------------------------------------------------------------------------------


def test_a_refused_approval_sends_nothing() -> None:
    class Refused(NaiveDelivery):  # type: ignore[misc,valid-type]
        def resume(self, interrupt: Any) -> str:
            assert interrupt.value["address"] == "2-21 Shibuya, Tokyo"
            return "no"

    with Runner(Refused) as runner:
        history = runner.run()
    assert history.ended.how == "returned"
    assert not history.effects


def test_the_kits_faults_arrive_as_the_applications_own(fenced: Runner) -> None:
    history = fenced.run((), (Event(last_point(fenced), ToolFault("deliver")),))
    assert history.ended.how == "halted"
    assert history.ended.detail.startswith("ServiceError: ")


# -- state ------------------------------------------------------------------------------------------------------------


def test_no_state_is_left_and_the_database_does_not_grow() -> None:
    with Runner(FencedDelivery) as runner:
        first = runner.run()
        worker: Any = runner._opened
        file = Path(worker.folder.name) / "checkpoints.sqlite"
        threads = threading.active_count()

        def size() -> int:
            return sum(path.stat().st_size for path in file.parent.iterdir())

        sizes = []
        for number in range(120):
            events = ((), (Event(4, Update(REQUIREMENT)),), (Event(10, Restart("executor")),))[number % 3]
            runner.run((), events)
            for table in ("checkpoints", "writes"):
                assert worker.opened.conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
            sizes.append(size())
        assert max(sizes[60:]) <= max(sizes[:60])
        assert threading.active_count() <= threads
        assert runner.run().entries == first.entries
        folder = Path(worker.folder.name)
    assert not folder.exists()


# -- worker threads ---------------------------------------------------------------------------------------------------


class FanOut(AgentSystem):
    """Two nodes of one step, which LangGraph runs in worker threads, and which start nothing themselves."""

    scenario = Scenario(
        owners={"orders": [REQUIREMENT], "calendar": [WINDOW]},
        actions=[Action("deliver", [REQUIREMENT, WINDOW])],
        agents=["main", "reader"],
    )

    def setup(self, kit: Kit) -> None:
        self.kit = kit
        self.threads: set[int] = set()

        def read(key: str) -> Any:
            def node(state: dict[str, Any]) -> dict[str, Any]:
                self.threads.add(threading.get_ident())
                return {key: kit.read(key).id}

            return node

        state = {REQUIREMENT: str, WINDOW: str}
        graph = StateGraph(TypedDict("Facts", state))  # type: ignore[operator]
        for key in state:
            graph.add_node(f"read {key}", read(key))
            graph.add_edge(START, f"read {key}")
            graph.add_edge(f"read {key}", END)
        self.graph = graph.compile()

    def restart(self) -> None:
        pass

    def run(self) -> None:
        with self.kit.agent("reader"):
            facts = self.graph.invoke({}, {"max_concurrency": 1})
        assert threading.get_ident() not in self.threads
        plan = self.kit.derive("plan", list(facts.values()))
        self.kit.act("deliver", {}, plan=plan)


def test_worker_threads_inherit_the_agent() -> None:
    with Runner(FanOut) as runner:
        runs = [runner.run() for _ in range(20)]
        assert [entry.agent for _, entry in points(runs[0])] == ["reader", "reader", "main", "main"]
        assert all(history.entries == runs[0].entries for history in runs)
        assert codes(runner.run((), (Event(3, Update(WINDOW)),))) == ["stale-act"]


def test_what_ends_an_episode_leaves_a_worker_thread() -> None:
    with Runner(FanOut) as runner:
        restarted = runner.run((), (Event(1, Restart("reader")),))
        assert [type(entry) for _, entry in points(restarted)] == [Read, Read, Read, Derive, Act]
        refused = runner.run((), (Event(1, Outage("calendar")),))
        assert (refused.ended.how, refused.ended.detail.split(":")[0]) == ("crashed", "OwnerUnavailable")
        stuck = runner.run((), (Event(1, Outage("calendar", "hang")),))
        assert stuck.ended.how == "stuck"
        assert WINDOW in stuck.ended.detail


# -- asyncio ----------------------------------------------------------------------------------------------------------


class AsyncDelivery(AgentSystem):
    """A graph of async nodes, awaited."""

    scenario = FencedDelivery.scenario
    halt_exceptions = FencedDelivery.halt_exceptions
    fault_exceptions = FencedDelivery.fault_exceptions
    fenced: ClassVar[bool] = False
    patience_s: ClassVar[float] = 5.0

    async def setup(self, kit: Kit) -> None:
        self.kit = kit
        self.saver = await self.checkpointer()
        graph = StateGraph(app.State)
        graph.add_sequence([("plan", self.plan), ("approval", self.approval), ("dispatch", self.dispatch)])
        graph.add_edge(START, "plan")
        self.graph = graph.compile(checkpointer=self.saver)

    async def plan(self, state: Any) -> Any:
        aio = self.kit.aio
        with self.kit.agent("planner"):
            facts = {}
            for key in (REQUIREMENT, WINDOW):
                record = await aio.read(key, timeout=self.patience_s)
                if getattr(record, "key", None) != key or record.removed:
                    raise app.CannotPlan(key)
                facts[key] = [record.id, record.value]
            return {"facts": facts, "plan": app.saved(await self.remake(facts))}

    async def remake(self, facts: Any) -> Any:
        return await self.kit.aio.derive(app.model("42", facts), [id for id, _ in facts.values()])

    async def approval(self, state: Any) -> Any:
        interrupt(state["plan"]["value"])
        return {"approval": state["plan"]}

    async def dispatch(self, state: Any) -> Any:
        kit, aio, plan = self.kit, self.kit.aio, app.Saved(**state["plan"])
        with kit.agent("executor"):
            if self.fenced:

                async def replan(_: Any, changed: Any) -> Any:
                    return await self.remake(state["facts"] | {key: [record.id, record.value] for key, record in changed.items()})

                fence: AsyncPlanFence[Any] = AsyncPlanFence(aio.record, aio.head, replan, kit.validated, timeout_s=self.patience_s)
                plan = (await fence.clear(plan, [REQUIREMENT, WINDOW])).plan
            await aio.act("deliver", plan.value, plan=plan.id)
        return {"tracking": plan.id}

    async def run(self) -> None:
        config: Any = {"configurable": {"thread_id": "42"}}
        begun = (await self.graph.aget_state(config)).next
        state = await self.graph.ainvoke(None if begun else {"order": "42"}, config, durability="sync")
        while "__interrupt__" in state:
            with self.kit.agent("executor"):
                await self.kit.aio.pause("approval")
            state = await self.graph.ainvoke(Command(resume="approve"), config, durability="sync")

    def restart(self) -> None:
        pass


class InMemory(AsyncDelivery):
    """On our loop, in virtual time."""

    runtime = "asyncio"

    async def checkpointer(self) -> Any:
        return InMemorySaver()


class Sqlite(AsyncDelivery):
    """On the stock loop, with a connection that lives as long as the worker and is bound to that loop."""

    runtime = "asyncio-native"
    patience_s = 0.1  # an owner that never answers takes this long in real time

    async def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.saving = AsyncSqliteSaver.from_conn_string(str(Path(self.folder.name) / "checkpoints.sqlite"))
        self.opened = await self.saving.__aenter__()
        await self.opened.conn.execute("PRAGMA synchronous=OFF")

    async def checkpointer(self) -> Any:
        return self.worker.opened

    async def teardown(self) -> None:
        await self.saver.adelete_thread("42")

    async def shutdown(self) -> None:
        await self.saving.__aexit__(None, None, None)
        self.folder.cleanup()


class FencedInMemory(InMemory):
    fenced = True


class FencedSqlite(Sqlite):
    fenced = True


@pytest.mark.parametrize("adapter", [InMemory, Sqlite])
def test_async_naive_is_violated_by_one_update(adapter: type[AgentSystem]) -> None:
    report = check(adapter)
    assert [failure.code for failure in report.failures] == ["stale-act"]
    assert [event.what for event in report.failures[0].events] == [Update(REQUIREMENT)]
    assert {entry.agent for entry in kinds(report.failures[0].history, Read)} == {"planner"}
    assert {entry.agent for entry in kinds(report.failures[0].history, Act)} == {"executor"}


@pytest.mark.parametrize("adapter", [FencedInMemory, FencedSqlite])
def test_async_fenced_holds(adapter: type[AgentSystem]) -> None:
    report = check(adapter, max_events=1)
    assert report.verdict == "held", report.failures
    assert report.counts["stuck"] == report.counts["crashed"] == 0
    assert "restart" in report.fired


class SyncNodesAwaited(FencedDelivery):
    """The application's own plain nodes, which `ainvoke` runs in threads of the loop's pool: plain ports, called from there."""

    runtime = "asyncio"


def test_plain_nodes_in_the_loops_threads() -> None:
    report = check(SyncNodesAwaited, max_events=1)
    assert report.verdict == "held", report.failures
    assert report.counts["recovered"] > 0
    assert report.counts["stuck"] == report.counts["crashed"] == 0
