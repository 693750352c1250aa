"""Shapes of graphs that teams build: a prebuilt agent with its tools, tasks sent by `Send`, fences side by side, subgraphs with a memory."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph is not installed: pip install 'fencecheck[langgraph]'")

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict

from fencecheck import Action, Event, Scenario, Update, check
from fencecheck.errors import BadInput
from fencecheck.history import History, Pause, Read, label, points
from fencecheck.integrations.langgraph import FenceState, GraphSystem, fence_node
from fencecheck.integrations.langgraph_fence import merged
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner
from fencecheck.search.report import Report

from . import shop
from .shop import ADDRESS, ADDRESSES, WINDOW, WINDOWS, Shop, of

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")


def checked(system: Any, *kinds: str) -> Report:
    return check(system, fresh_process=False, max_events=1, kinds=kinds or ["update"])


def found(report: Report) -> list[tuple[str, list[Any]]]:
    return [(failure.code, [event.what for event in failure.events]) for failure in report.failures]


def labels(history: History) -> list[str]:
    return [label(entry, history.records) for _, entry in points(history)]


STALE = [("stale-act", [Update(ADDRESS)])]

# -- an agent of langgraph.prebuilt -----------------------------------------------------------------------------------


class Model(BaseChatModel):
    """A chat model that asks for the address, ships to it, and is done."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **how: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **how: Any) -> ChatResult:
        answers = [message.content for message in messages if isinstance(message, ToolMessage)]
        calls: Any = [
            {"name": "get_address", "args": {"order": "42"}, "id": "1"},
            {"name": "ship", "args": {"order": "42", "address": answers[0] if answers else ""}, "id": "2"},
        ]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=calls[len(answers) : len(answers) + 1]))])


class React(GraphSystem):
    scenario = Shop.scenario
    reads = Shop.reads
    node_points = False
    how: dict[str, Any] = {}

    def graph(self) -> Any:
        return create_react_agent(Model(), self.ports(shop.get_address, shop.ship), **self.how)

    def start(self) -> Any:
        return {"messages": [("user", "deliver order 42")]}


class AsksInTheTool(React):
    """The tool asks a person, and then calls what is the port."""

    def graph(self) -> Any:
        courier = self.port(shop.ship)

        @tool
        def ship(order: str, address: str) -> str:
            """Sends a courier once a person has agreed."""
            interrupt({"ship to": address})
            return str(courier.invoke({"order": order, "address": address}))

        return create_react_agent(Model(), [self.port(shop.get_address), ship], **self.how)


@pytest.mark.parametrize("runtime", ["sync", "asyncio"])
@pytest.mark.parametrize(
    ("base", "how", "pauses"),
    [
        (React, {}, []),
        (React, {"interrupt_before": ["tools"]}, ["before tools", "before tools"]),
        (AsksInTheTool, {"version": "v1"}, ["tools"]),
        (AsksInTheTool, {"version": "v2"}, ["tools"]),
    ],
)
def test_a_prebuilt_agent_with_ported_tools(runtime: str, base: type[GraphSystem], how: dict[str, Any], pauses: list[str]) -> None:
    system = of(base, runtime=runtime, how=how)
    with Runner(system) as runner:
        history = runner.run()
    assert [entry.label for entry in history.entries if isinstance(entry, Pause)] == pauses
    assert history.effects[0].args == {"order": "42", "address": ADDRESSES[0]}
    assert found(checked(system, "update", "restart")) == STALE


@pytest.mark.parametrize("runtime", ["sync", "asyncio"])
def test_a_tool_that_acts_past_the_ports_is_told_though_others_are_ports(runtime: str) -> None:
    @tool
    def notify(address: str) -> str:
        """Tells the customer."""
        return "told"

    class Forgets(React):
        scenario = Scenario(Shop.scenario.owners, [*Shop.scenario.actions, Action("notify", [ADDRESS])], Shop.scenario.values)

        def graph(self) -> Any:
            model = Model()
            tools = [*self.ports(shop.get_address, shop.ship), notify]
            return create_react_agent(model, tools, pre_model_hook=self.tells)

        def tells(self, state: Any) -> Any:
            return notify.invoke({"address": "any"}) and {}

    with (
        Runner(of(Forgets, runtime=runtime)) as runner,
        pytest.raises(BadInput, match="Forgets: the graph calls the tool 'notify'"),
    ):
        runner.run()


# -- Send -------------------------------------------------------------------------------------------------------------


class Found(TypedDict, total=False):
    found: Annotated[dict[str, Any], operator.or_]


def _read(key: str) -> Any:
    raise AssertionError


class FansOut(GraphSystem):
    """One node is sent each key, and reads it; another acts on all."""

    scenario = Scenario(
        owners={"orders": [ADDRESS], "calendar": [WINDOW]},
        actions=[Action("ship", depends_on=[ADDRESS, WINDOW])],
        values={ADDRESS: ADDRESSES, WINDOW: WINDOWS},
    )
    asks = False

    def graph(self) -> Any:
        read, ship = self.port(_read, reads="{key}"), self.port(shop.ship)

        def reader(state: Any) -> Any:
            if self.asks:
                interrupt(state["key"])
            return {"found": {state["key"]: read(state["key"])}}

        def act(state: Any) -> None:
            ship.invoke({"order": state["found"][WINDOW], "address": state["found"][ADDRESS]})

        builder = StateGraph(Found).add_node("reader", reader).add_node("act", act).add_edge("reader", "act")
        builder.add_conditional_edges(START, lambda state: [Send("reader", {"key": key}) for key in (ADDRESS, WINDOW)], ["reader"])
        return builder.compile()

    def start(self) -> Any:
        return {}


@pytest.mark.parametrize("runtime", ["sync", "asyncio"])
@pytest.mark.parametrize("asks", [False, True])
def test_tasks_that_are_sent_are_nodes_each_with_its_own_wait(runtime: str, asks: bool) -> None:
    system = of(FansOut, runtime=runtime, asks=asks)
    with Runner(system) as runner:
        history = runner.run()
    assert [entry.key for entry in history.entries if isinstance(entry, Read)] == [ADDRESS, WINDOW]
    assert [entry.label for entry in history.entries if isinstance(entry, Pause)] == ["reader", "reader"] * asks
    assert labels(history).count("point end of node reader") == 2
    assert found(checked(system, "update", "restart")) == STALE


def test_several_waits_cannot_be_answered_by_commands_that_say_more() -> None:
    class SaysMore(FansOut):
        asks = True

        def resume(self, interrupt: Any) -> Any:
            return Command(resume=True, update={"found": {}})

    with (
        Runner(SaysMore) as runner,
        pytest.raises(BadInput, match=r"SaysMore: resume\(\) returned a Command with more than resume= where 2"),
    ):
        runner.run()


# -- fences side by side ----------------------------------------------------------------------------------------------

ORDERS = {"first": "order/1/address", "second": "order/2/address"}


class Sending(FenceState, total=False):
    versions: Annotated[dict[str, Any], operator.or_]
    found: Annotated[dict[str, Any], operator.or_]
    sent: Annotated[list[str], operator.add]


class SendsAll(GraphSystem):
    """A plan for several orders, each of which is sent to the fenced node."""

    scenario = Scenario(
        owners={"orders": list(ORDERS.values())},
        actions=[Action(name, depends_on=[key]) for name, key in ORDERS.items()],
        values={key: [f"{value} of {name}" for value in ADDRESSES] for name, key in ORDERS.items()},
    )
    node_points = False
    back: str | None = None
    with_note = True
    states: list[Any] = []

    def graph(self) -> Any:
        read = self.port(_read, reads="{key}")
        acts = {name: self.port(_named(name)) for name in ORDERS}

        def plan(state: Any) -> Any:
            records = {key: read(key) for name, key in ORDERS.items() if name not in state.get("sent", [])}
            return {"versions": {key: one.id for key, one in records.items()}, "found": {key: one.value for key, one in records.items()}}

        def send(state: Any) -> Any:
            acts[state["name"]](state["address"])
            return {"sent": [state["name"]]}

        def each(state: Any) -> list[Send]:
            left = {name: key for name, key in ORDERS.items() if name not in state.get("sent", [])}
            shared = {"versions": state["versions"]} | ({"fence": state.get("fence", {})} if self.with_note else {})
            return [Send("send", {"name": name, "address": state["found"][key], **shared}) for name, key in left.items()]

        builder = StateGraph(Sending).add_node("plan", plan).add_edge(START, "plan")
        fenced = fence_node(
            send, head=self.head, depends_on=lambda state: [ORDERS[state["name"]]], replan=self.back, then="end", halt="end"
        )
        builder.add_node("send", fenced).add_node("end", self.states.append)
        return builder.add_conditional_edges("plan", each, ["send"]).compile()

    def answer(self, tool: str, read: Any) -> Any:
        super().answer(tool, read)
        return read

    def start(self) -> Any:
        return {}


def _named(name: str) -> Any:
    def act(address: str) -> Any:
        raise AssertionError

    act.__name__ = name
    return act


def sent_all(*events: Event, **attributes: Any) -> tuple[History, Any]:
    states: list[Any] = []
    with Runner(of(SendsAll, states=states, **attributes)) as runner:
        history = runner.run((), events)
    return history, states[-1]["fence"]


SECOND = Event(2, Update(ORDERS["second"]))


def test_of_the_fences_of_one_step_one_halts_and_the_other_acts() -> None:
    for key, other in (("first", "second"), ("second", "first")):
        history, note = sent_all(Event(2, Update(ORDERS[key])))
        assert [act.action for act in history.effects] == [other]
        assert history.ended.how == "halted"
        assert note["halted"] == f"changed: {ORDERS[key]} changed since the plan was made"
        assert judge(history).outcome == "halted-changed"
    assert checked(SendsAll, "update", "outage").verdict == "held"


def test_of_the_fences_of_one_step_one_plans_again_and_the_other_acts() -> None:
    history, note = sent_all(SECOND, back="plan")
    assert [act.action for act in history.effects] == ["first", "second"]
    assert note["replans"] == 0
    assert not judge(history).findings


def test_a_fence_that_was_sent_no_note_does_not_plan_again() -> None:
    history, note = sent_all(SECOND, back="plan", with_note=False)
    assert [act.action for act in history.effects] == ["first"]
    assert note["halted"].endswith("; it was sent here without the state's entry 'fence', and so is not planned again")


def test_notes_of_one_step_are_merged_and_a_later_one_stands_alone() -> None:
    changed: Any = {"replans": 1, "changed": ["a"], "step": "#3"}
    halted: Any = {"replans": 0, "halted": "b", "step": "#3"}
    assert merged(changed, halted) == merged(halted, changed) == {"replans": 1, "changed": ["a"], "halted": "b", "step": "#3"}
    assert merged(halted, {**halted, "halted": "c"})["halted"] == "b; c"
    assert merged(changed, {"replans": 0, "step": "#4"}) == {"replans": 0, "step": "#4"}
    assert merged({}, changed) == changed


# -- memory -----------------------------------------------------------------------------------------------------------


class Remembers(Shop):
    """A subgraph, which has the wait and the act, with a memory of its own."""

    memory: Any = True

    def graph(self) -> Any:
        get_address, ship = self.ports(shop.get_address, shop.ship)
        inner = StateGraph(shop.State).add_node("ask", shop.asks).add_edge(START, "ask").add_edge("ask", "send")
        inner.add_node(
            "send", fence_node(shop.dispatch(ship), head=self.head, depends_on=[ADDRESS]) if self.fenced else shop.dispatch(ship)
        )
        builder = StateGraph(shop.State).add_node("plan", shop.plan(get_address)).add_edge(START, "plan").add_edge("plan", "review")
        return builder.add_node("review", inner.compile(checkpointer=self.memory)).compile()


def test_a_subgraph_with_a_memory_naive_and_fenced() -> None:
    assert found(checked(Remembers, "update", "restart")) == STALE
    report = checked(of(Remembers, fenced=True), "update", "restart")
    assert report.verdict == "held", report.failures
    assert report.counts["halted_changed"] > 0


class Held(Shop):
    """A graph of a module, with its tools and its memory."""

    tools_in_place = (shop.get_address, shop.ship)
    kept: Any = None

    def graph(self) -> Any:
        return self.kept


def test_a_memory_that_holds_an_earlier_episode_is_refused() -> None:
    class Emptied(Held):
        kept = shop.build(InMemorySaver(), shop.get_address, shop.ship)

        def teardown(self) -> Any:
            self.kept.checkpointer.delete_thread(self.thread_id)

    assert found(checked(Emptied)) == STALE
    with Runner(of(Held, kept=shop.build(InMemorySaver(), shop.get_address, shop.ship))) as runner:
        runner.run()
        with pytest.raises(BadInput, match=r"^Held: the checkpointer of the graph still holds an earlier episode"):
            runner.run()


def test_tools_are_put_back_where_one_of_them_cannot_be_a_port() -> None:
    before = shop.ship.func
    system = of(Shop, tools_in_place=[shop.ship, "get_address"])
    with pytest.raises(BadInput, match="takes tools made by @tool"), Runner(system) as runner:
        runner.run()
    assert shop.ship.func is before
