"""Real LangGraph graphs, run as they are: pauses, checkpointers, restarts, parallel nodes, subgraphs, and nodes that run again."""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph is not installed: pip install 'fencecheck[langgraph]'")

from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from langsmith.utils import tracing_is_enabled

from fencecheck import Action, Event, Restart, Scenario, Switch, Update, check
from fencecheck.errors import BadInput
from fencecheck.history import Act, Derive, History, Pause, Read, Seam, label, labelled, points
from fencecheck.integrations.langgraph import FenceState, GraphSystem, fence_node
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner
from fencecheck.search.report import Report

from . import shop
from .shop import ADDRESS, ADDRESSES, WINDOW, WINDOWS, Shop, of


def checked(system: Any, **options: Any) -> Report:
    return check(system, fresh_process=False, **{"max_events": 1, **options})


def kinds(history: History, kind: type) -> list[Any]:
    return [entry for entry in history.entries if type(entry) is kind]


def labels(history: History) -> list[str]:
    return [label(entry, history.records) for _, entry in points(history)]


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(of(fenced=True, agents={"plan": "planner"}, scenario=two_agents())) as runner:
        yield runner


def two_agents() -> Scenario:
    return Scenario(Shop.scenario.owners, Shop.scenario.actions, Shop.scenario.values, agents=["executor", "planner"])


# -- each way to run, to pause and to save ----------------------------------------------------------------------------

WAYS = [
    (runtime, waits, saver) for runtime in ("sync", "asyncio") for waits in ("interrupt", "breakpoint") for saver in ("memory", "sqlite")
]


@pytest.mark.parametrize(("runtime", "waits", "saver"), WAYS)
def test_naive_is_violated_by_one_update_during_the_wait(runtime: str, waits: str, saver: str) -> None:
    report = checked(of(runtime=runtime, breakpoint=waits == "breakpoint", saver=saver), kinds=["update"])
    assert [(failure.code, [event.what for event in failure.events]) for failure in report.failures] == [("stale-act", [Update(ADDRESS)])]
    failure = report.failures[0]
    anchors = labelled(failure.history)
    assert anchors[failure.events[0].at] == ("act ship", 1)
    assert ("pause approval" if waits == "interrupt" else "pause before approval", 1) in anchors
    assert failure.history.effects[0].args == {"order": "42", "address": ADDRESSES[0]}


@pytest.mark.parametrize(("runtime", "waits", "saver"), WAYS)
def test_fenced_holds(runtime: str, waits: str, saver: str) -> None:
    report = checked(of(runtime=runtime, breakpoint=waits == "breakpoint", saver=saver, fenced=True), kinds=["update", "outage", "restart"])
    assert report.verdict == "held", report.failures
    assert report.counts["recovered"] > 0
    assert report.counts["stuck"] == report.counts["crashed"] == report.counts["needless_replans"] == 0
    assert {"update", "outage", "restart"} <= set(report.fired)


def test_fenced_holds_on_the_stock_loop_with_langgraphs_own_async_saver() -> None:
    report = checked(of(runtime="asyncio-native", saver="sqlite", fenced=True, owner_timeout_s=0.05), kinds=["update", "restart"])
    assert report.verdict == "held", report.failures
    assert report.counts["recovered"] > 0


def test_plain_nodes_of_an_awaited_graph() -> None:
    class Awaited(Shop):
        runtime = "asyncio"

        def graph(self) -> Any:
            return shop.build(self.checkpointer(), *self.ports(shop.get_address, shop.ship), self.head)

    report = checked(Awaited, kinds=["update", "restart"])
    assert report.verdict == "held", report.failures
    assert report.counts["recovered"] > 0


def test_fenced_halts_when_it_changes_again(runner: Runner) -> None:
    first = runner.run((), (Event(5, Update(ADDRESS)),))
    again = [number for number, (_, entry) in enumerate(points(first)) if type(entry) is Pause][1]
    history = runner.run((), (Event(5, Update(ADDRESS)), Event(again, Update(ADDRESS))))
    assert not history.effects
    assert history.ended.how == "halted"
    assert history.ended.detail.startswith("changed-again: ")
    assert judge(history).outcome == "halted-changed"


def test_declarations_that_the_fence_asks_for_are_dropped() -> None:
    report = checked(of(fenced=True), kinds=["update", "dropped-declaration"], max_events=2)
    assert report.verdict == "held"
    assert report.counts["omitted"] > 0


# -- points -----------------------------------------------------------------------------------------------------------


def test_nodes_tools_and_the_wait_are_points_of_the_agents_that_run_them(runner: Runner) -> None:
    history = runner.run()
    assert [(entry.agent, text) for (_, entry), text in zip(points(history), labels(history), strict=True)] == [
        ("planner", "point node plan"),
        ("planner", f"read {ADDRESS}"),
        ("planner", "derive derived"),
        ("planner", "point end of node plan"),
        ("executor", "point node approval"),
        ("executor", "pause approval"),
        ("executor", "point node approval"),  # resuming runs it again
        ("executor", "point end of node approval"),
        ("executor", "point node dispatch"),
        ("executor", f"head {ADDRESS}"),
        ("executor", "act ship"),
        ("executor", "point end of node dispatch"),
    ]


def test_node_points_can_be_left_out() -> None:
    with Runner(of(node_points=False)) as runner:
        assert labels(runner.run()) == [f"read {ADDRESS}", "derive derived", "pause approval", "act ship"]


def test_nothing_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    traced = []

    class Traced(Shop):
        def answer(self, tool: str, read: Any) -> Any:
            traced.append(tracing_is_enabled())
            return super().answer(tool, read)

    with Runner(Traced) as runner:
        runner.run()
    assert traced == [False]


# -- restarts ---------------------------------------------------------------------------------------------------------


def test_a_restart_anywhere_goes_on_from_the_checkpoint(runner: Runner) -> None:
    calls = [(entry.agent, text) for (_, entry), text in zip(points(runner.run()), labels(runner.run()), strict=True)]
    for at, (agent, text) in enumerate(calls):
        history = runner.run((), (Event(at, Restart(agent)),))
        assert history.fired, text
        assert history.ended.how == "returned", history.ended
        # at the end of the node the effect is out and the checkpoint is not saved: LangGraph runs the node again
        assert [finding.code for finding in judge(history).findings] == (["duplicate-act"] if text == "point end of node dispatch" else [])


def test_a_restart_during_the_wait_builds_the_graph_anew_and_asks_once() -> None:
    made: list[Shop] = []

    class Counted(Shop):
        def setup(self, kit: Any) -> None:
            super().setup(kit)
            made.append(self)

    with Runner(of(Counted, saver="sqlite")) as runner:
        at = labels(runner.run()).index("pause approval")
        history = runner.run((), (Event(at, Restart("agent")),))
    assert len(kinds(history, Pause)) == 1
    assert len(kinds(history, Read)) == 1
    assert len(history.effects) == 1
    assert [system.built for system in made] == [1, 2]


@pytest.mark.parametrize("saver", ["memory", "sqlite"])
def test_a_checkpointer_that_is_not_durable_forgets(saver: str) -> None:
    with Runner(of(saver=saver, durable=False)) as runner:
        at = labels(runner.run()).index("act ship")
        history = runner.run((), (Event(at, Restart("agent")),))
    assert len(kinds(history, Read)) == len(kinds(history, Pause)) == 2


def test_no_checkpoint_is_left_and_the_file_goes_with_the_worker() -> None:
    with Runner(of(saver="sqlite")) as runner:
        first = runner.run()
        assert runner.run().entries == first.entries
        worker: Any = runner._opened
        for table in ("checkpoints", "writes"):
            assert worker.opened.conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
        folder = Path(worker.folder.name)
        assert folder.exists()
    assert not folder.exists()


def test_a_graph_compiled_without_a_checkpointer_gets_one_and_can_be_kept() -> None:
    class Kept(Shop):
        """The graph is built once for the worker: ports belong to no episode."""

        def open(self) -> Any:
            self.kept = shop.build(None, *self.ports(shop.get_address, shop.ship), self.head)
            return super().open()

        def graph(self) -> Any:
            return self.worker.kept

    report = checked(Kept, kinds=["update", "outage", "restart"])
    assert report.verdict == "held", report.failures
    assert report.counts["recovered"] > 0


# -- the person -------------------------------------------------------------------------------------------------------


def test_what_the_person_answers_is_the_teams_to_say() -> None:
    class Refuses(GraphSystem):
        scenario = Shop.scenario

        def graph(self) -> Any:
            ship = self.port(shop.ship)

            def node(state: Any) -> Any:
                if interrupt("may I?") == "yes":
                    ship.invoke({"order": "42", "address": "any"})

            return StateGraph(TypedDict("S", {"order": str})).add_node("node", node).add_edge(START, "node").compile()

        def start(self) -> Any:
            return {"order": "42"}

        def resume(self, interrupt: Any) -> Any:
            assert interrupt.value == "may I?"
            return self.says

    for says, effects in (("yes", 1), (Command(resume="yes"), 1), ("no", 0)):
        with Runner(of(Refuses, says=says)) as runner:
            assert len(runner.run().effects) == effects


def test_a_person_may_change_the_state_at_a_breakpoint() -> None:
    class Corrects(Shop):
        breakpoint = True

        def proceed(self, nodes: tuple[str, ...]) -> Any:
            assert nodes == ("approval",)
            return Command(update={"address": "the back door"})

    with Runner(Corrects) as runner:
        assert runner.run().effects[0].args["address"] == "the back door"


def test_a_breakpoint_after_a_node_is_one_before_the_next() -> None:
    class After(Shop):
        def graph(self) -> Any:
            builder = StateGraph(shop.State).add_node("plan", shop.plan(self.port(shop.get_address)))
            builder.add_node("dispatch", shop.dispatch(self.port(shop.ship))).add_edge(START, "plan").add_edge("plan", "dispatch")
            return builder.compile(interrupt_after=["plan"])

    with Runner(After) as runner:
        assert labels(runner.run())[4] == "pause before dispatch"


class Both(TypedDict, total=False):
    answers: Annotated[list[str], operator.add]


def test_two_nodes_of_one_step_wait_for_two_people() -> None:
    class TwoPeople(GraphSystem):
        scenario = Shop.scenario

        def graph(self) -> Any:
            ship = self.port(shop.ship)

            def ask(who: str) -> Any:
                return lambda state: {"answers": [f"{who} {interrupt(who)}"]}

            def act(state: Any) -> None:
                ship.invoke({"order": "42", "address": " and ".join(sorted(state["answers"]))})

            builder = StateGraph(Both)
            for who in ("desk", "boss"):
                builder.add_node(who, ask(who))
                builder.add_edge(START, who)
            builder.add_node("act", act)
            builder.add_edge(["desk", "boss"], "act")
            return builder.compile()

        def start(self) -> Any:
            return {}

        def resume(self, interrupt: Any) -> Any:
            return f"said yes to {interrupt.value}"

    with Runner(TwoPeople) as runner:
        history = runner.run()
    assert [entry.label for entry in kinds(history, Pause)] == ["desk", "boss"]
    assert history.effects[0].args["address"] == "boss said yes to boss and desk said yes to desk"


# -- parallel nodes ---------------------------------------------------------------------------------------------------


class Facts(FenceState, total=False):
    found: Annotated[dict[str, Any], operator.or_]
    versions: Annotated[dict[str, Any], operator.or_]


class Parallel(GraphSystem):
    """Two nodes of one step read, a third acts."""

    scenario = Scenario(
        owners={"orders": [ADDRESS], "calendar": [WINDOW]},
        actions=[Action("deliver", depends_on=[ADDRESS, WINDOW])],
        values={ADDRESS: ADDRESSES, WINDOW: WINDOWS},
        agents=["executor", "reader"],
    )
    agents = {"address": "reader", "window": "reader"}
    fenced = False
    threads: set[int] = set()

    def graph(self) -> Any:
        deliver = self.port(_deliver)
        builder = StateGraph(Facts)
        for name, key in (("address", ADDRESS), ("window", WINDOW)):
            builder.add_node(name, self.reader(name, key))
            builder.add_edge(START, name)

        def act(state: Any) -> Any:
            deliver(**state["found"])

        fence = fence_node(act, head=self.head, depends_on=[ADDRESS, WINDOW]) if self.fenced else act
        builder.add_node("act", fence)
        builder.add_edge(["address", "window"], "act")
        return builder.compile()

    def reader(self, name: str, key: str) -> Any:
        read = self.port(_read, reads="{key}")

        def node(state: Any) -> Any:
            self.threads.add(threading.get_ident())
            record = read(key)
            return {"found": {name: record.value}, "versions": {key: record.id}}

        return node

    def answer(self, tool: str, read: Any) -> Any:
        super().answer(tool, read)
        return read

    def start(self) -> Any:
        return {}


def _read(key: str) -> Any:
    raise AssertionError


def _deliver(address: str, window: str) -> Any:
    raise AssertionError


_deliver.__name__ = "deliver"


def test_parallel_nodes_run_in_langgraphs_threads_in_one_order() -> None:
    with Runner(Parallel) as runner:
        histories = [runner.run() for _ in range(10)]
    assert threading.get_ident() not in Parallel.threads
    assert all(history.entries == histories[0].entries for history in histories)
    read = [(entry.agent, entry.key) for entry in kinds(histories[0], Read)]
    assert read == [("reader", ADDRESS), ("reader", WINDOW)]
    assert [entry.agent for entry in kinds(histories[0], Act)] == ["executor"]


def test_parallel_nodes_naive_and_fenced() -> None:
    report = checked(Parallel, kinds=["update"])
    assert [(failure.code, len(failure.events)) for failure in report.failures] == [("stale-act", 1)]
    report = checked(of(Parallel, fenced=True), kinds=["update", "outage", "restart"])
    assert report.verdict == "held", report.failures
    assert report.counts["halted_changed"] > 0


class Claims(TypedDict, total=False):
    order: str


class TwoCarriers(GraphSystem):
    """Two async nodes of one step, one of which looks whether the other has sent the order already."""

    scenario = Shop.scenario
    runtime = "asyncio"
    atomic = False

    def graph(self) -> Any:
        look, ship = self.ports(shop.get_address, shop.ship)
        taken: set[str] = set()

        async def send(order: str) -> None:
            if self.atomic:
                taken.add(order)
            found = await look.ainvoke({"order": order})
            taken.add(order)
            await ship.ainvoke({"order": order, "address": found})

        async def courier(state: Any) -> None:
            await send(state["order"])

        async def locker(state: Any) -> None:
            await look.ainvoke({"order": state["order"]})
            if state["order"] not in taken:
                await send(state["order"])

        builder = StateGraph(Claims)
        for node in (courier, locker):
            builder.add_node(node.__name__, node)
            builder.add_edge(START, node.__name__)
            builder.add_edge(node.__name__, END)
        return builder.compile()

    reads = Shop.reads

    def start(self) -> Any:
        return {"order": "42"}


def test_another_order_of_the_answers_of_parallel_nodes_is_tried() -> None:
    options: Any = {"kinds": ["switch"], "fail_on": ["duplicate-act"]}
    report = checked(of(TwoCarriers, node_points=False), **options)
    assert [failure.code for failure in report.failures] == ["duplicate-act"]
    assert [type(event.what) for event in report.failures[0].events] == [Switch]
    assert checked(of(TwoCarriers, node_points=False, atomic=True), **options).verdict == "held"


# -- subgraphs --------------------------------------------------------------------------------------------------------


class Nested(Shop):
    """The wait and the act are a subgraph."""

    def graph(self) -> Any:
        get_address, ship = self.ports(shop.get_address, shop.ship)
        inner = StateGraph(shop.State).add_node("ask", shop.asks)
        act = shop.dispatch(ship)
        inner.add_node("send", fence_node(act, head=self.head, depends_on=[ADDRESS]) if self.fenced else act)
        inner.add_edge(START, "ask")
        inner.add_edge("ask", "send")
        builder = StateGraph(shop.State).add_node("plan", shop.plan(get_address)).add_node("review", inner.compile())
        builder.add_edge(START, "plan")
        builder.add_edge("plan", "review")
        return builder.compile()


def test_a_subgraph_naive_and_fenced() -> None:
    report = checked(Nested, kinds=["update"])
    assert [(failure.code, [event.what for event in failure.events]) for failure in report.failures] == [("stale-act", [Update(ADDRESS)])]
    seams = [entry.label for entry in kinds(report.failures[0].history, Seam)]
    assert [seam for seam in seams if "/" in seam] == [
        "node review/ask",
        "node review/ask",
        "end of node review/ask",
        "node review/send",
        "end of node review/send",
    ]
    report = checked(of(Nested, fenced=True), kinds=["update", "outage", "restart"])
    assert report.verdict == "held", report.failures
    assert report.counts["halted_changed"] > 0


def test_agents_of_a_subgraph_are_named_by_its_path_its_node_or_the_node_around_it() -> None:
    named = Scenario(Shop.scenario.owners, Shop.scenario.actions, Shop.scenario.values, agents=["first", "asker", "reviewer"])
    with Runner(of(Nested, scenario=named, agents={"review": "reviewer", "ask": "asker", "review/ask": "asker"})) as runner:
        history = runner.run()
    agents = {entry.label: entry.agent for entry in kinds(history, Seam)}
    assert agents["node review/ask"] == "asker"
    assert agents["node review/send"] == agents["node review"] == "reviewer"
    assert agents["node plan"] == "first"


# -- the functional API -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("runtime", ["sync", "asyncio"])
def test_an_entrypoint_and_its_tasks(runtime: str) -> None:
    class Flow(Shop):
        plans = {}

        def graph(self) -> Any:
            get_address, ship = self.ports(shop.get_address, shop.ship)

            @task
            def plan(order: str) -> Any:
                return get_address.invoke({"order": order})["address"]

            @task
            def send(order: str, address: str) -> str:
                return str(ship.invoke({"order": order, "address": address}))

            if self.runtime == "asyncio":

                @entrypoint()
                async def later(state: Any) -> str:
                    address = await plan(state["order"])
                    interrupt(address)
                    return await send(state["order"], address)

                return later

            @entrypoint()
            def flow(state: Any) -> str:
                address = plan(state["order"]).result()
                interrupt(address)
                return send(state["order"], address).result()

            return flow

    report = checked(of(Flow, runtime=runtime), kinds=["update", "restart"])
    assert [(failure.code, [event.what for event in failure.events]) for failure in report.failures] == [("stale-act", [Update(ADDRESS)])]
    calls = labels(report.failures[0].history)
    assert calls.count(f"read {ADDRESS}") == 1  # the task's result is kept over the wait
    assert (
        calls.count("point node Flow" if "point node Flow" in calls else f"point node {'later' if runtime == 'asyncio' else 'flow'}") == 2
    )


# -- the resume runs the node again -----------------------------------------------------------------------------------


class NotifiesFirst(GraphSystem):
    """A node has an effect, then waits for a person: resuming runs it from its start."""

    scenario = Shop.scenario
    options: dict[str, Any] = {}

    def graph(self) -> Any:
        ship = self.port(shop.ship, **self.options)

        def node(state: Any) -> None:
            ship.invoke({"order": state["order"], "address": "any"})
            interrupt("was that right?")

        return StateGraph(Claims).add_node("node", node).add_edge(START, "node").compile()

    def start(self) -> Any:
        return {"order": "42"}


def test_an_effect_before_the_wait_goes_out_twice_without_any_event() -> None:
    report = checked(NotifiesFirst, fail_on=["duplicate-act"], max_events=0)
    assert [(failure.code, failure.events) for failure in report.failures] == [("duplicate-act", ())]


def test_an_idempotency_key_makes_it_one() -> None:
    def key(args: Any) -> str:
        return f"ship/{args['order']}"

    with Runner(of(NotifiesFirst, options={"idempotency_key": key})) as runner:
        history = runner.run()
    assert [entry.outcome for entry in kinds(history, Act)] == ["done", "repeated"]
    assert judge(history).duplicates == 0


# -- what cannot be meant ---------------------------------------------------------------------------------------------


def test_a_graph_that_is_not_compiled() -> None:
    class Builder(Shop):
        def graph(self) -> Any:
            return StateGraph(shop.State)

    with Runner(Builder) as runner, pytest.raises(BadInput, match=r"Builder: graph\(\) must return a compiled graph"):
        runner.run()


def test_what_is_forgotten_is_said() -> None:
    class Empty(GraphSystem):
        scenario = Shop.scenario

    class NoStart(Empty):
        graph = Shop.graph
        breakpoint = fenced = False
        built = 0

    for system, said in (
        (Empty, r"Empty has no graph\(\): define graph\(self\)"),
        (NoStart, r"NoStart has no start\(\): define start\(self\)"),
        (of(resume=lambda self, interrupt: None), r"Shop: resume\(\) returned None"),
        (of(saver="sqlite", open=lambda self: None), r"Shop: open\(\) opens the checkpoint file: let yours call super\(\).open\(\)"),
        (of(reads={"get_adress": ADDRESS}), r"Shop: reads names 'get_adress', but the tools that were made ports are get_address, ship"),
    ):
        with Runner(system) as runner, pytest.raises(BadInput, match=said):
            runner.run()


def test_a_node_that_plans_from_nothing() -> None:
    with Runner(of(plans={"plan": "facts"})) as runner, pytest.raises(BadInput, match="returned no mapping of key to version there"):
        runner.run()


def test_plans_are_derived_from_the_versions_that_were_read() -> None:
    with Runner(Shop) as runner:
        history = runner.run()
    (plan,) = kinds(history, Derive)
    assert history.records[plan.id].parents == (history.versions[ADDRESS][0],)
    assert history.records[plan.id].value == {"address": ADDRESSES[0]}
    assert history.effects[0].plan == plan.id
