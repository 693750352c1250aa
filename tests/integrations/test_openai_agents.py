"""Agents of the OpenAI Agents SDK on ports and behind the fence: its saved state, its approvals, its failures, its threads."""

from __future__ import annotations

import ast
import asyncio
import json
import threading
from typing import Any

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed: pip install 'fencecheck[openai-agents]'")

from agents import Agent, AgentHooks, FunctionTool, Model, ModelResponse, RunConfig, Runner, RunState, Usage, function_tool, handoff
from openai.types.responses import Response, ResponseCompletedEvent, ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from fencecheck import Action, Event, Interleaving, Kit, Outage, Restart, Scenario, ToolFault, Update, simulate
from fencecheck.errors import BadInput
from fencecheck.faults import Fault
from fencecheck.history import History, labelled
from fencecheck.integrations.openai_agents import Fence, FenceHalt, OpenAIAgentsSystem, on_ports
from fencecheck.integrations.tool_fence import ASK_AGAIN
from fencecheck.judge import judge

ADDRESS = "order/42/address"
QUIET = RunConfig(tracing_disabled=True)


class Script(Model):
    """A model that reads, ships to what it read, and ends with the tool's answer; it starts again where it is told to."""

    ships_to: str | None = None

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        said = input if isinstance(input, list) else []
        names = {item["call_id"]: item["name"] for item in said if item.get("type") == "function_call"}
        outputs = [(names[item["call_id"]], item["output"]) for item in said if item.get("type") == "function_call_output"]
        answers = [(tool, output) for tool, output in outputs if not tool.startswith("transfer")]
        return ModelResponse(output=[self.decide(answers)], usage=Usage(), response_id=None)

    def decide(self, answers: list[tuple[str, str]]) -> Any:
        if not answers or answers[-1][1].startswith(ASK_AGAIN):
            return call(f"read-{len(answers)}", "get_order", order=42)
        tool, output = answers[-1]
        if tool == "get_order" and output.startswith("{"):
            return call(f"act-{len(answers)}", "ship", to=self.ships_to or ast.literal_eval(output)["value"])
        content = [ResponseOutputText(text=output, type="output_text", annotations=[])]
        return ResponseOutputMessage(id="m", content=content, role="assistant", status="completed", type="message")

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def call(id: str, tool: str, **args: Any) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(call_id=id, name=tool, arguments=json.dumps(args), type="function_call")


class Shop(OpenAIAgentsSystem):
    """An agent with a store, a tool that reads it and one that acts, of which the tests change what they are about."""

    scenario = Scenario({"orders": [ADDRESS]}, [Action("ship", [ADDRESS])], values={ADDRESS: ["Tokyo", "Osaka", "Nagoya"]})
    reads = {"get_order": "order/{order}/address"}
    fenced = False
    approval: Any = True
    on_failure: dict[str, Any] = {}

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.rows: list[str] = []
        self.threads: set[threading.Thread] = set()
        self.shipped: list[str] = []

    def send(self, to: str) -> str:
        self.threads.add(threading.current_thread())
        self.shipped.append(to)
        return f"shipped to {to}"

    def tools(self) -> list[Any]:
        def get_order(order: int) -> dict[str, Any]:
            self.threads.add(threading.current_thread())
            return {"version": self.true_head(ADDRESS), "value": self.rows[-1]}

        def ship(to: str) -> str:
            return self.send(to)

        return [
            function_tool(get_order, **self.on_failure),
            function_tool(ship, needs_approval=self.approval, **self.on_failure),
        ]

    def agent(self) -> Agent[Any]:
        return Agent("shop", model=Script(), tools=self.tools())

    def build(self) -> Any:
        return self.fence().around(self.agent()) if self.fenced else self.agent()

    def fence(self, **settings: Any) -> Fence:
        return Fence(
            reads=self.reads,
            acts={"ship": [ADDRESS]},
            head=lambda key: self.kit.aio.head(key, via=lambda: self.true_head(key)),
            validated=self.kit.validated,
            **settings,
        )

    def publish(self, key: str, value: str) -> Any:
        self.rows.append(value)
        return self.true_head(key)

    def true_head(self, key: str) -> Any:
        return f"row {len(self.rows)}" if self.rows else None


class Fenced(Shop):
    fenced = True


def run(system: type[Shop], *events: Event) -> tuple[History, Shop]:
    made: list[Shop] = []

    def make() -> Shop:
        made.append(system())
        return made[-1]

    history = simulate(make, Interleaving(system.scenario, (), events))
    return history, made[-1]


def codes(history: History) -> list[str]:
    return [finding.code for finding in judge(history).findings]


def labels(history: History) -> list[str]:
    return [label for label, _ in labelled(history)]


# -- points -----------------------------------------------------------------------------------------------------------


def test_each_call_is_a_point_and_plain_tools_run_in_a_thread() -> None:
    before = set(threading.enumerate())
    history, shop = run(Shop)
    assert labels(history) == [f"read {ADDRESS}", "derive derived", "pause approval", "act ship"]
    assert history.effects[0].args == {"to": "Tokyo"}
    assert history.records[history.effects[0].plan].parents == (f"{ADDRESS}@1",)
    assert shop.shipped == ["Tokyo"]
    assert threading.main_thread() not in shop.threads
    assert set(threading.enumerate()) - before <= shop.threads, "something exports what happened"
    assert not codes(history)
    assert run(Shop)[0].entries == history.entries


def test_an_update_while_the_person_decides_is_found() -> None:
    assert codes(run(Shop, Event(3, Update(ADDRESS)))[0]) == ["stale-act"]


def test_the_fence_has_the_model_read_again_and_the_person_approve_again() -> None:
    history, shop = run(Fenced, Event(3, Update(ADDRESS)))
    assert shop.shipped == ["Osaka"]
    assert labels(history).count("pause approval") == 2
    assert judge(history).recovered
    assert not codes(history)


def test_the_fence_halts_where_it_changes_again() -> None:
    history, shop = run(Fenced, Event(3, Update(ADDRESS)), Event(7, Update(ADDRESS)))
    assert not shop.shipped
    assert history.ended.detail.startswith("FenceHalt: changed-again")
    assert judge(history).outcome == "halted-changed"


def test_the_fence_halts_where_the_model_repeats_what_was_superseded() -> None:
    class Stubborn(Fenced):
        def agent(self) -> Agent[Any]:
            agent = super().agent()
            agent.model.ships_to = "Tokyo"  # type: ignore[union-attr]
            return agent

    history, shop = run(Stubborn, Event(3, Update(ADDRESS)))
    assert not shop.shipped
    assert history.ended.detail.startswith("FenceHalt: replan-failed")


def test_a_call_proposed_beside_the_read_rests_on_nothing() -> None:
    class AtOnce(Script):
        async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
            done = isinstance(input, list) and any(item.get("type") == "function_call_output" for item in input)
            first = [call("1", "get_order", order=42), call("2", "ship", to="Tokyo")]
            output = [self.decide([("ship", "done")])] if done else first
            return ModelResponse(output=output, usage=Usage(), response_id=None)

    class Hasty(Shop):
        def agent(self) -> Agent[Any]:
            return Agent("shop", model=AtOnce(), tools=self.tools())

    class FencedHasty(Hasty):
        fenced = True

    assert codes(run(Hasty)[0]) == ["unverified-act"]
    history, shop = run(FencedHasty)
    assert history.ended.detail.startswith("FenceHalt: not-in-lineage")
    assert not shop.shipped


# -- approvals --------------------------------------------------------------------------------------------------------


def test_a_refused_call_sends_nothing() -> None:
    class Refused(Fenced):
        async def approve(self, interruption: Any) -> bool:
            assert interruption.tool_name == "ship"
            return False

    history, shop = run(Refused)
    assert not shop.shipped
    assert labels(history)[-1] == "pause approval"
    assert history.ended.how == "returned"


@pytest.mark.parametrize(("needed", "pauses"), [(True, 1), (False, 0)])
def test_a_function_can_say_whether_approval_is_needed(needed: bool, pauses: int) -> None:
    asked = []

    async def policy(ctx: Any, args: dict[str, Any], id: str) -> bool:
        asked.append(args)
        return needed

    history, shop = run(type("Policy", (Fenced,), {"approval": staticmethod(policy)}))
    assert shop.shipped == ["Tokyo"]
    assert labels(history).count("pause approval") == pauses
    assert {"to": "Tokyo"} in asked


# -- other agents -----------------------------------------------------------------------------------------------------


class HandsOver(Fenced):
    """One agent hands over to the one that ships, which could hand back."""

    def agent(self) -> Agent[Any]:
        class Desk(Script):
            def decide(self, answers: Any) -> Any:
                return call("over", "transfer_to_shop")

        shop = super().agent()
        desk = Agent("desk", model=Desk(), handoffs=[shop])
        shop.handoffs = [desk]
        return desk


def test_agents_that_are_handed_over_to_are_guarded_and_on_ports() -> None:
    history, shop = run(HandsOver, Event(3, Update(ADDRESS)))
    assert shop.shipped == ["Osaka"]
    assert labels(history)[:3] == [f"read {ADDRESS}", "derive derived", "pause approval"]
    assert not codes(history)


def test_an_agent_used_as_a_tool_is_guarded_and_put_on_ports_before_it_is_one() -> None:
    class Desk(Script):
        def decide(self, answers: Any) -> Any:
            return super().decide([("ship", answers[-1][1])]) if answers else call("ask", "shop", input="ship order 42")

    class Nested(Shop):
        def build(self) -> Any:
            guarded = self.fence(ledger=lambda context: context.setdefault("of the shop", {})).around(self.agent())
            tool = on_ports(guarded, self.ports).as_tool("shop", "ships", run_config=QUIET)
            return Agent("desk", model=Desk(), tools=[tool])

    history, shop = run(Nested, Event(4, Update(ADDRESS)))
    assert labels(history)[:4] == ["point tool shop", f"read {ADDRESS}", "derive derived", "pause approval"]
    assert shop.shipped == ["Osaka"]
    assert not codes(history)


def test_an_agent_behind_a_handoff_object_is_guarded_and_on_ports_too() -> None:
    """Also once the run was saved and is found again after it was handed over."""
    heard = []

    class ByObject(HandsOver):
        def agent(self) -> Agent[Any]:
            desk = super().agent()
            desk.handoffs = [handoff(one, on_handoff=lambda context: heard.append("over")) for one in desk.handoffs]  # type: ignore[arg-type]
            return desk

    history, shop = run(ByObject, Event(3, Update(ADDRESS)))
    assert shop.shipped == ["Osaka"]
    assert labels(history)[:3] == [f"read {ADDRESS}", "derive derived", "pause approval"]
    assert not codes(history)
    assert heard == ["over"]


class DeskAndTool(Shop):
    """An agent with tools of its own and the shop as one more, which was neither guarded nor put on ports before."""

    reads = {"get_order": "order/{order}/address"}

    def build(self) -> Any:
        class Desk(Script):
            def decide(self, answers: Any) -> Any:
                return super().decide([("ship", answers[-1][1])]) if answers else call("ask", "shop", input="ship order 42")

        tool = self.inner().as_tool("shop", "ships", run_config=QUIET)
        desk = Agent("desk", model=Desk(), tools=[tool, *self.tools()])
        return self.fence().around(desk) if self.fenced else desk

    def inner(self) -> Agent[Any]:
        return self.agent()


def test_an_agent_used_as_a_tool_past_the_ports_or_the_fence_is_refused() -> None:
    with pytest.raises(BadInput, match="DeskAndTool: the tool 'get_order' of the agent 'shop', which is used as a tool, is no port"):
        run(DeskAndTool)
    with pytest.raises(BadInput, match="the tool 'ship' of the agent 'shop', which is used as a tool, is not guarded"):
        run(type("Fenced", (DeskAndTool,), {"fenced": True}))


def test_what_is_wrong_with_the_adapter_is_told_though_the_other_agent_is_given_an_answer() -> None:
    class Wrong(DeskAndTool):
        reads = {"get_order": lambda args: args["id"]}

        def inner(self) -> Agent[Any]:
            return on_ports(self.agent(), self.ports)

    with pytest.raises(BadInput, match=r"reads\['get_order'\] fails"):
        run(Wrong)


def test_a_tool_to_be_guarded_that_the_agent_does_not_have_is_refused() -> None:
    with pytest.raises(
        BadInput, match=r"^the agent 'shop' has no function tool 'shipp' to be guarded \(its tools: none\): correct the name"
    ):
        Fence(reads={}, acts={"shipp": ADDRESS}, head=lambda key: "r1").around(Agent("shop", model=Script()))


def test_two_calls_of_one_answer_are_told_alike_to_read_again() -> None:
    class Twice(Script):
        async def get_response(self, *given: Any, **more: Any) -> ModelResponse:
            answer = await super().get_response(*given, **more)
            first = answer.output[0]
            if isinstance(first, ResponseFunctionToolCall) and first.name == "ship":
                answer.output.append(first.model_copy(update={"call_id": f"again-{first.call_id}"}))
            return answer

    class Both(Fenced):
        scenario = Scenario(Shop.scenario.owners, [Action("ship", [ADDRESS], times=2)], values=Shop.scenario.values)

        def agent(self) -> Agent[Any]:
            return Agent("shop", model=Twice(), tools=self.tools())

    history, shop = run(Both, Event(3, Update(ADDRESS)))
    assert shop.shipped == ["Osaka", "Osaka"]
    assert not codes(history)


class Streams(Script):
    """The same answers, streamed."""

    async def stream_response(self, system_instructions: Any, input: Any, *given: Any, **more: Any) -> Any:
        answer = await self.get_response(system_instructions, input)
        whole = Response(
            id="r",
            created_at=0,
            model="m",
            object="response",
            output=answer.output,
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=False,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=0, response=whole)


def test_a_streamed_run_is_the_same() -> None:
    class Streamed(Fenced):
        streamed = True

        def agent(self) -> Agent[Any]:
            return Agent("shop", model=Streams(), tools=self.tools())

    for events in ((), (Event(3, Update(ADDRESS)),), (Event(3, Restart("agent")),), (Event(3, Update(ADDRESS)), Event(7, Update(ADDRESS)))):
        streamed, whole = run(Streamed, *events)[0], run(Fenced, *events)[0]
        assert streamed.entries == whole.entries


def test_the_agents_own_hooks_are_still_called_and_it_stays_as_it_is() -> None:
    heard = []

    class Hooks(AgentHooks[Any]):
        async def on_start(self, context: Any, agent: Any) -> None:
            heard.append("start")

        async def on_end(self, context: Any, agent: Any, output: Any) -> None:
            heard.append("end")

        async def on_llm_start(self, *args: Any) -> None:
            heard.append("ask")

        async def on_llm_end(self, *args: Any) -> None:
            heard.append("answer")

        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            heard.append(f"call {tool.name}")

        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
            heard.append(f"{tool.name} done")

    hooks = Hooks()
    agents = []

    class Hooked(Fenced):
        approval = False

        def agent(self) -> Agent[Any]:
            agent = super().agent()
            agent.hooks = hooks
            agents.append((agent, list(agent.tools)))
            return agent

    run(Hooked)
    tool_calls = ["call get_order", "get_order done", "ask", "answer", "call ship", "ship done"]
    assert heard == ["start", "ask", "answer", *tool_calls, "ask", "answer", "end"]
    agent, tools = agents[0]
    assert (agent.hooks, agent.tools) == (hooks, tools)


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_a_fault_is_handled_as_the_tool_handles_failures() -> None:
    told, _ = run(Shop, Event(3, ToolFault("ship")))
    assert told.ended.how == "returned"
    assert not told.effects

    class Raises(Shop):
        on_failure = {"failure_error_function": None}

    raised, _ = run(Raises, Event(3, ToolFault("ship")))
    assert raised.ended.detail.startswith("ToolRefused")

    class Own(Raises):
        fault_exceptions = {Fault: ConnectionError}
        halt_exceptions = (ConnectionError,)

    own, _ = run(Own, Event(0, Outage("orders")))
    assert own.ended.how == "halted"
    assert own.ended.detail.startswith("ConnectionError")


def test_a_tool_that_fails_has_no_effect_whatever_the_model_is_told() -> None:
    class Fails(Shop):
        def send(self, to: str) -> str:
            raise ConnectionError("no courier")

    history, _ = run(Fails)
    assert not history.effects
    assert history.ended.how == "returned"


def test_an_owner_that_answers_garbage_gives_the_model_a_text() -> None:
    history, shop = run(Fenced, Event(0, Outage("orders", "malformed")))
    assert history.ended.how == "returned"
    assert not shop.shipped


def test_a_tool_made_by_hand_is_a_port_too() -> None:
    class ByHand(Shop):
        def tools(self) -> list[Any]:
            async def invoke(ctx: Any, written: str) -> str:
                return self.send(json.loads(written)["to"])

            schema = {"type": "object", "properties": {"to": {"type": "string"}}}
            return [super().tools()[0], FunctionTool("ship", "", schema, invoke, strict_json_schema=False)]

    history, shop = run(ByHand, Event(2, Update(ADDRESS)))
    assert shop.shipped == ["Tokyo"]
    assert codes(history) == ["stale-act"]
    assert run(ByHand, Event(2, ToolFault("ship")))[0].ended.detail.startswith("ToolRefused")


def test_a_name_that_is_wrong_is_told() -> None:
    with pytest.raises(BadInput, match="the agent has no tool 'get_orders'"):
        run(type("Wrong", (Shop,), {"reads": {"get_orders": ADDRESS}}))
    with pytest.raises(BadInput, match=r"reads\['get_order'\] fails for {'order': 42}: KeyError: 'id'"):
        run(type("Wrong", (Shop,), {"reads": {"get_order": lambda args: args["id"]}}))


# -- in production, without a kit -------------------------------------------------------------------------------------


def test_the_ledger_is_kept_where_the_team_says() -> None:
    class Context:
        def __init__(self, notes: dict[str, Any]) -> None:
            self.notes = notes

    shipped = []
    tools = [
        function_tool(lambda order: {"version": "r1", "value": "Tokyo"}, name_override="get_order", strict_mode=False),
        function_tool(lambda to: shipped.append(to), name_override="ship", strict_mode=False, needs_approval=True),
    ]
    agent = Agent("shop", model=Script(), tools=tools)
    settings: Any = {"reads": {"get_order": ADDRESS}, "acts": {"ship": ADDRESS}, "head": lambda key: "r1"}
    fenced = Fence(**settings, ledger=lambda context: context.notes).around(agent)

    async def whole(forgets: bool) -> None:
        first = await Runner.run(fenced, "ship order 42", run_config=QUIET, context=Context({}))
        saved = first.to_state().to_json(context_serializer=lambda context: {} if forgets else context.notes)
        state = await RunState.from_json(fenced, json.loads(json.dumps(saved)), context_deserializer=Context)
        state.approve(state.get_interruptions()[0])
        await Runner.run(fenced, state, run_config=QUIET)

    asyncio.run(whole(forgets=False))
    assert shipped == ["Tokyo"]
    with pytest.raises(FenceHalt, match="not-in-lineage"):
        asyncio.run(whole(forgets=True))
    assert shipped == ["Tokyo"]
    with pytest.raises(Exception, match="the fence keeps what was read in the run's context, a dict"):
        asyncio.run(Runner.run(Fence(**settings).around(agent), "ship order 42", run_config=QUIET, context=Context({})))
