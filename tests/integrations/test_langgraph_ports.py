"""LangChain tools and plain functions as ports: which reads, which acts, what goes out, and what is called where."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph is not installed: pip install 'fencecheck[langgraph]'")

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import InjectedState, ToolNode
from typing_extensions import TypedDict

from fencecheck import Action, Event, Outage, Scenario, ToolFault, Update, check
from fencecheck.errors import BadInput, FencecheckError
from fencecheck.history import Act, History, Read, Seam
from fencecheck.integrations.langgraph import GraphSystem, NoAnswer
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner

from . import shop
from .shop import ADDRESS, ADDRESSES, WINDOW, WINDOWS, of


def kinds(history: History, kind: type) -> list[Any]:
    return [entry for entry in history.entries if type(entry) is kind]


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@tool
def send(address: str, state: Annotated[Any, InjectedState], call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Sends a courier; it wants the state and the id of its call too."""
    raise AssertionError("nothing goes out")


@tool
def log(text: str) -> str:
    """Neither reads what counts nor acts."""
    return f"noted {text}"


class ModelAndTools(GraphSystem):
    """A scripted model that calls tools, and a ToolNode that runs them: the usual loop."""

    scenario = Scenario(
        owners={"orders": [ADDRESS], "calendar": [WINDOW]},
        actions=[Action("send", depends_on=[ADDRESS])],
        values={ADDRESS: ADDRESSES, WINDOW: WINDOWS},
    )
    reads = {"get_address": "order/{order}/address"}
    node_points = False
    handle: Any = False

    def graph(self) -> Any:
        tools = ToolNode(self.ports(shop.get_address, send, log), handle_tool_errors=self.handle)
        builder = StateGraph(Chat).add_node("model", self.model).add_node("tools", tools)
        builder.add_edge(START, "model").add_edge("tools", "model")
        builder.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else "__end__")
        return builder.compile()

    def model(self, state: Any) -> Any:
        """Stands in for the model: asks for the address, notes it, sends."""
        answers = [message for message in state["messages"] if isinstance(message, ToolMessage)]
        calls: list[Any] = [
            [{"name": "get_address", "args": {"order": "42"}, "id": "1"}],
            [{"name": "log", "args": {"text": "hello"}, "id": "2"}],
            [{"name": "send", "args": {"address": answers[0].content if answers else ""}, "id": "3"}],
            [],
        ]
        return {"messages": [AIMessage("", tool_calls=calls[len(answers)])]}

    def start(self) -> Any:
        return {"messages": [("user", "deliver order 42")]}


class Awaited(ModelAndTools):
    runtime = "asyncio"


@pytest.mark.parametrize("system", [ModelAndTools, Awaited])
def test_the_tools_of_a_tool_node_read_and_act(system: type[GraphSystem]) -> None:
    with Runner(system) as runner:
        history = runner.run()
    assert [type(entry) for entry in history.entries[:-1]] == [Read, Seam, Act]
    assert kinds(history, Seam)[0].label == "tool log"
    assert history.effects[0].args == {"address": ADDRESSES[0]}  # not what LangGraph injects


@pytest.mark.parametrize("system", [ModelAndTools, Awaited])
def test_the_model_that_acts_on_what_it_read_is_violated(system: type[GraphSystem]) -> None:
    report = check(system, fresh_process=False, max_events=1, kinds=["update"])
    assert [(failure.code, [event.what for event in failure.events]) for failure in report.failures] == [("stale-act", [Update(ADDRESS)])]


def test_faults_reach_what_handles_the_tools_errors() -> None:
    for handle, how in ((False, "halted"), (True, "returned")):
        with Runner(of(ModelAndTools, handle=handle)) as runner:
            history = runner.run((), (Event(2, ToolFault("send")),))
        assert history.ended.how == how
        assert not history.effects


def test_the_schema_is_that_of_the_tool() -> None:
    ported = Awaited().port(send)
    assert ported is not send
    assert ported.name == send.name
    assert ported.description == send.description
    assert ported.args == send.args
    assert ported.tool_call_schema.model_json_schema() == send.tool_call_schema.model_json_schema()


def test_without_an_episode_it_is_the_tool_itself() -> None:
    system = ModelAndTools()
    assert system.port(log).invoke({"text": "x"}) == "noted x"
    with pytest.raises(AssertionError, match="the kit answers"):
        system.port(shop.get_address).invoke({"order": "42"})


# -- tools that the graph holds already --------------------------------------------------------------------------------

HELD = shop.build(None, shop.get_address, shop.ship)
"""A graph as a module holds it, compiled with its own tools."""


def test_tools_are_ports_where_they_stand_as_long_as_the_check_runs() -> None:
    before = shop.ship.func

    class Held(shop.Shop):
        tools_in_place = (shop.get_address, shop.ship)

        def graph(self) -> Any:
            return HELD

    report = check(Held, fresh_process=False, max_events=1, kinds=["update", "restart"])
    assert [failure.code for failure in report.failures] == ["stale-act"]
    assert shop.ship.func is before
    with pytest.raises(AssertionError, match="the kit answers"):
        shop.get_address.invoke({"order": "42"})


def test_a_tool_of_a_class_cannot_be_made_a_port_where_it_stands() -> None:
    with Runner(of(ModelAndTools, tools_in_place=[Courier()])) as runner, pytest.raises(BadInput, match="takes tools made by @tool"):
        runner.run()


# -- one tool in one node ---------------------------------------------------------------------------------------------


class One(GraphSystem):
    """A graph of one node, `use`, with the port of `given`."""

    scenario = ModelAndTools.scenario
    node_points = False
    given: Any = None
    options: dict[str, Any] = {}
    arguments: dict[str, Any] = {"order": "42"}

    def graph(self) -> Any:
        ported = self.port(self.given, **self.options)

        def use(state: Any) -> None:
            self.answered = ported.invoke(self.arguments) if isinstance(ported, BaseTool) else ported(**self.arguments)
            self.worker.answers.append(self.answered)

        return StateGraph(Chat).add_node("use", use).add_edge(START, "use").compile()

    def start(self) -> Any:
        return {"messages": []}

    def open(self) -> Any:
        self.answers: list[Any] = []
        return super().open()


def ran(given: Any, *events: Event, **attributes: Any) -> tuple[History, list[Any]]:
    with Runner(of(One, given=staticmethod(given) if not isinstance(given, BaseTool) else given, **attributes)) as runner:
        history = runner.run((), events)
        worker: Any = runner._opened
        return history, worker.answers


def facts(order: str, *, about: str = "all") -> Any:
    """A function of the team's own."""
    raise AssertionError


@pytest.mark.parametrize(
    ("reads", "keys", "answer"),
    [
        ("order/{order}/address", [ADDRESS], ADDRESSES[0]),
        (["order/{order}/address", "order/{order}/window"], [ADDRESS, WINDOW], {ADDRESS: ADDRESSES[0], WINDOW: WINDOWS[0]}),
        (lambda args: f"order/{args['order']}/window", [WINDOW], WINDOWS[0]),
    ],
)
def test_what_a_tool_reads(reads: Any, keys: list[str], answer: Any) -> None:
    history, answers = ran(facts, options={"reads": reads})
    assert [entry.key for entry in kinds(history, Read)] == keys
    assert answers == [answer]


def test_an_unknown_argument_in_a_key() -> None:
    said = r"^reads\['facts'\] is 'order/\{id\}', but the call has no argument 'id' \(its arguments: order, about\)"
    with pytest.raises(BadInput, match=said):
        ran(facts, options={"reads": "order/{id}"})


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"reads": {"get_address": "order/{id}"}}, r"reads\['get_address'\] is 'order/\{id\}', but the call has no argument 'id'"),
        ({"reads": {"get_address": lambda args: args["id"]}}, r"reads\['get_address'\] fails for \{'order': '42'\}: KeyError: 'id'"),
        ({"basis": lambda args: args["id"]}, r"ModelAndTools: basis= of the port of 'send' fails for \{'address': .*\}: KeyError: 'id'"),
    ],
)
def test_what_is_wrong_with_the_adapter_is_told_even_where_the_graph_makes_an_answer_of_each_exception(attributes: Any, said: str) -> None:
    class Swallows(ModelAndTools):
        handle = True
        basis: Any = None

        def ports(self, *tools: Any) -> list[Any]:
            return [self.port(tool, basis=type(self).__dict__.get("basis")) for tool in tools]

    with Runner(of(Swallows, **attributes)) as runner, pytest.raises(FencecheckError, match=said.replace("ModelAndTools", "Swallows")):
        runner.run()


@pytest.mark.parametrize("what", [Update(ADDRESS, "removed"), Outage("orders", "malformed"), Outage("orders", "wrong-key")])
def test_no_answer_is_an_exception_and_a_halt(what: Any) -> None:
    history, answers = ran(facts, Event(0, what), options={"reads": ADDRESS})
    assert not answers
    assert history.ended.how == "halted"
    assert history.ended.detail.startswith(f"{NoAnswer.__name__}: facts")


def test_a_tool_that_reads_several_facts_is_called_once() -> None:
    """Whatever changed before it was called is what it read."""

    class Both(OwnStore):
        plans = {}
        rows: dict[str, list[str]]

        def setup(self, kit: Any) -> Any:
            self.rows, self.calls = {ADDRESS: [], WINDOW: []}, 0
            return super().setup(kit)

        scenario = ModelAndTools.scenario
        reads = {"get_both": [ADDRESS, WINDOW]}

        def publish(self, key: str, value: Any) -> int:
            self.rows[key].append(value)
            return len(self.rows[key])

        def true_head(self, key: str) -> int | None:
            return len(self.rows[key]) or None

        def get_both(self) -> dict[str, str]:
            self.calls += 1
            return {key: rows[-1] for key, rows in self.rows.items()}

        def graph(self) -> Any:
            get_both, send_it = self.port(self.get_both), self.port(send, call=False)

            def use(state: Any) -> None:
                send_it.func(address=get_both()[ADDRESS], state=None, call_id="1")

            return StateGraph(shop.State).add_node("use", use).add_edge(START, "use").compile()

        def teardown(self) -> Any:
            assert self.calls == 1

    with Runner(Both) as runner:
        history = runner.run((), (Event(1, Update(ADDRESS)),))
    assert [(entry.key, entry.version) for entry in kinds(history, Read)] == [
        (ADDRESS, f"{ADDRESS}@1"),
        (WINDOW, f"{WINDOW}@1"),
        (ADDRESS, f"{ADDRESS}@2"),
    ]
    assert not judge(history).violations("at-validation")


def test_the_options_of_an_act_are_values_or_functions_of_the_arguments() -> None:
    def send(order: str) -> Any:
        raise AssertionError

    options = {"basis": {ADDRESS: f"{ADDRESS}@1"}, "idempotency_key": lambda args: f"send {args['order']}"}
    history, answers = ran(send, options=options)
    (act,) = kinds(history, Act)
    assert (act.args, act.basis, act.idempotency_key) == ({"order": "42"}, {ADDRESS: f"{ADDRESS}@1"}, "send 42")
    assert answers == [{"status": "done"}]


def test_a_tool_can_be_called_all_the_same() -> None:
    sent = []

    def send(order: str) -> str:
        sent.append(order)
        return f"tracking {order}"

    history, answers = ran(send, options={"call": True})
    assert (len(history.effects), sent, answers) == (1, ["42"], ["tracking 42"])


class Courier(BaseTool):
    """A tool of a class of its own."""

    name: str = "send"
    description: str = "Sends a courier."

    def _run(self, order: str) -> str:
        return f"tracking {order}"


def test_a_tool_of_a_class() -> None:
    history, answers = ran(Courier())
    assert history.effects[0].args == {"order": "42"}
    history, answers = ran(Courier(), options={"call": True})
    assert answers == ["tracking 42"]


def test_a_tool_with_an_artifact() -> None:
    @tool(response_format="content_and_artifact")
    def facts(order: str) -> tuple[str, Any]:
        """Content and artifact."""
        raise AssertionError

    _, answers = ran(facts, options={"reads": ADDRESS})
    assert answers == [ADDRESSES[0]]


def test_what_is_no_tool() -> None:
    with pytest.raises(BadInput, match=r"One: port\(\) takes a LangChain tool or a function, not 3"):
        One().port(3)


# -- a store of its own -----------------------------------------------------------------------------------------------


class Orders:
    """The team's own repository."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str]] = []

    def get(self, order: str) -> dict[str, Any]:
        """The order as it is now."""
        version, address = self.rows[-1]
        return {"address": address, "version": version}

    async def later(self, order: str) -> dict[str, Any]:
        """The same, to await."""
        return self.get(order)


class OwnStore(GraphSystem):
    """The tools themselves are called, and updates reach the team's own repository."""

    scenario = shop.Shop.scenario
    reads = {"get": "order/{order}/address"}
    plans = {"plan": "versions"}
    node_points = False
    fenced = False

    def setup(self, kit: Any) -> Any:
        self.orders, self.sent = Orders(), []
        return super().setup(kit)

    def publish(self, key: str, value: Any) -> int:
        self.orders.rows.append((len(self.orders.rows) + 1, value))
        return len(self.orders.rows)

    def true_head(self, key: str) -> int | None:
        return self.orders.rows[-1][0] if self.orders.rows else None

    def graph(self) -> Any:
        @tool
        def get_address(order: str) -> Any:
            """Asks the repository."""
            return get(order)

        @tool
        def ship(order: str, address: str) -> str:
            """Sends."""
            self.sent.append(address)
            return "sent"

        get = self.port(self.orders.get)
        head = self.current if self.fenced else None
        return shop.build(self.checkpointer(), get_address, self.port(ship), head)

    def current(self, key: str) -> Any:
        return self.kit.head(key, timeout=5.0, via=lambda: self.orders.rows[-1][0])

    def start(self) -> Any:
        return {"order": "42"}

    def teardown(self) -> Any:
        assert self.sent == [act.args["address"] for act in self.kit._log if type(act) is Act and act.effect]
        return super().teardown()


def test_a_store_of_its_own() -> None:
    report = check(OwnStore, fresh_process=False, max_events=1, kinds=["update"])
    assert [failure.code for failure in report.failures] == ["stale-act"]
    report = check(of(OwnStore, fenced=True), fresh_process=False, max_events=1, kinds=["update", "outage"])
    assert report.verdict == "held", report.failures
    assert report.counts["recovered"] > 0


def test_an_async_function_as_a_port() -> None:
    class Later(OwnStore):
        runtime = "asyncio"
        reads = {"later": "order/{order}/address"}
        plans = {}

        def graph(self) -> Any:
            get, ship = self.port(self.orders.later), self.port(shop.ship, call=False)

            async def node(state: Any) -> None:
                found = await get("42")
                await ship.ainvoke({"order": "42", "address": found["address"]})

            return StateGraph(shop.State).add_node("node", node).add_edge(START, "node").compile()

        def teardown(self) -> Any:
            pass

    with Runner(Later) as runner:
        history = runner.run((), (Event(0, Update(ADDRESS)),))
    assert [entry.key for entry in kinds(history, Read)] == [ADDRESS]
    assert history.effects[0].args["address"] == ADDRESSES[1]
