"""PydanticAI agents on ports and behind the fence: its own models, its approvals, its threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: pip install 'fencecheck[pydantic-ai]'")

from pydantic_ai import (
    Agent,
    ApprovalRequired,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolset,
    ModelRetry,
    RunContext,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset
from pydantic_core import to_jsonable_python

from fencecheck import Action, Event, Interleaving, Kit, Outage, Restart, Scenario, ToolFault, Update, simulate
from fencecheck.errors import BadInput
from fencecheck.faults import Fault
from fencecheck.fence import Halt
from fencecheck.history import Act, History, labelled
from fencecheck.integrations.pydantic_ai import Fence, PydanticAISystem
from fencecheck.integrations.tool_fence import ASK_AGAIN
from fencecheck.judge import judge

ADDRESS = "order/42/address"
BOTH = [str, DeferredToolRequests]


class Script:
    """A model that reads, ships to what it read, and ends; it says the same again wherever it is told to."""

    def __init__(self, read: str = "get_order", act: str = "ship") -> None:
        self.read, self.act = read, act

    def __call__(self, messages: list[ModelMessage], info: Any) -> ModelResponse:
        answers = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        last = answers[-1] if answers else None
        if last is None or last.outcome == "retried":
            return ModelResponse([ToolCallPart(self.read, {"order": 42}, tool_call_id=f"read-{len(answers)}")])
        said = to_jsonable_python(last.content)
        if last.tool_name == self.read and isinstance(said, Mapping):
            return ModelResponse([ToolCallPart(self.act, {"to": said["value"]}, tool_call_id=f"act-{len(answers)}")])
        return ModelResponse([TextPart(str(last.content))])


class Shop(PydanticAISystem):
    """An agent with a store, a tool that reads it and one that acts, of which the tests change what they are about."""

    scenario = Scenario({"orders": [ADDRESS]}, [Action("ship", [ADDRESS])], values={ADDRESS: ["Tokyo", "Osaka", "Nagoya"]})
    reads = {"get_order": "order/{order}/address"}
    fenced = False

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.rows: list[str] = []
        self.threads: set[threading.Thread] = set()
        self.shipped: list[str] = []

    def get_order(self, order: int) -> Any:
        self.threads.add(threading.current_thread())
        return {"version": self.true_head(ADDRESS), "value": self.rows[-1]}

    def ship(self, to: str) -> str:
        self.threads.add(threading.current_thread())
        self.shipped.append(to)
        return f"shipped to {to}"

    def fence(self) -> Fence:
        return Fence(
            reads=self.reads,
            acts={"ship": [ADDRESS]},
            head=lambda key: self.kit.aio.head(key, via=lambda: self.true_head(key)),
            validated=self.kit.validated,
        )

    def build(self) -> Any:
        agent = Agent(FunctionModel(Script()), output_type=BOTH, tools=[self.get_order], capabilities=[self.fence()] if self.fenced else [])
        agent.tool_plain(requires_approval=True)(self.ship)
        return agent

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
    history, shop = run(Shop)
    assert labels(history) == [f"read {ADDRESS}", "derive derived", "pause approval", "act ship"]
    assert history.effects[0].args == {"to": "Tokyo"}
    assert history.records[history.effects[0].plan].parents == (f"{ADDRESS}@1",)
    assert shop.shipped == ["Tokyo"]
    assert threading.main_thread() not in shop.threads
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
    assert history.ended.detail.startswith("Halt: changed-again")
    assert judge(history).outcome == "halted-changed"


def test_the_fence_halts_where_the_model_repeats_what_was_superseded() -> None:
    class Stubborn(Fenced):
        def build(self) -> Any:
            script = Script()

            def model(messages: list[ModelMessage], info: Any) -> ModelResponse:
                answer = script(messages, info)
                for part in answer.parts:
                    if isinstance(part, ToolCallPart) and part.tool_name == "ship":
                        part.args = {"to": "Tokyo"}
                return answer

            agent = super().build()
            agent.model = FunctionModel(model)
            return agent

    history, shop = run(Stubborn, Event(3, Update(ADDRESS)))
    assert not shop.shipped
    assert history.ended.detail.startswith("Halt: replan-failed")


def test_a_tool_that_is_not_named_is_a_point_and_one_with_several_keys_reads_each() -> None:
    class Two(Shop):
        scenario = Scenario({"orders": [ADDRESS, "note"]}, [Action("ship", [ADDRESS])])
        reads = {"get_order": [ADDRESS, "note"]}

        def setup(self, kit: Kit) -> None:
            super().setup(kit)
            self.store: dict[str, list[str]] = {}

        def get_order(self, order: int) -> Any:
            return {"value": self.store[ADDRESS][-1], "note": self.store["note"][-1]}

        def publish(self, key: str, value: str) -> Any:
            self.store.setdefault(key, []).append(value)
            return self.true_head(key)

        def true_head(self, key: str) -> Any:
            return len(self.store[key]) if key in self.store else None

        def build(self) -> Any:
            agent = super().build()
            agent.tool_plain(lambda: "sunny", name="weather")
            script = Script()

            def model(messages: list[ModelMessage], info: Any) -> ModelResponse:
                if len(messages) == 1:
                    return ModelResponse([ToolCallPart("weather", {}, tool_call_id="w")])
                return script(messages if len(messages) > 3 else messages[:1], info)

            agent.model = FunctionModel(model)
            return agent

    assert labels(run(Two)[0]) == ["point tool weather", f"read {ADDRESS}", "read note", "derive derived", "pause approval", "act ship"]


def test_what_a_tool_with_several_keys_reads_is_what_is_current_when_it_is_called() -> None:
    """Though its answer does not show each of them."""

    class Two(Shop):
        scenario = Scenario({"orders": [ADDRESS, "note"]}, [Action("ship", [ADDRESS, "note"])])
        reads = {"get_order": ["note", ADDRESS]}

        def setup(self, kit: Kit) -> None:
            super().setup(kit)
            self.store: dict[str, list[str]] = {}

        def get_order(self, order: int) -> Any:
            return {"value": self.store[ADDRESS][-1]}

        def publish(self, key: str, value: str) -> Any:
            self.store.setdefault(key, []).append(value)
            return self.true_head(key)

        def true_head(self, key: str) -> Any:
            return len(self.store[key]) if key in self.store else None

    history, _ = run(Two, Event(1, Update("note")))
    assert sorted(history.records[history.effects[0].plan].parents) == ["note@2", f"{ADDRESS}@1"]
    assert not codes(history)
    assert codes(run(Two, Event(4, Update("note")))[0]) == ["stale-act"]


def test_a_call_that_is_about_no_key_is_a_point() -> None:
    class About(Shop):
        reads = {"get_order": lambda args: None}

    assert labels(run(About)[0])[0] == "point tool get_order"


def test_an_agent_with_its_fence_can_be_kept_by_the_process() -> None:
    """What the fence remembers of an episode says nothing about the next."""
    now: list[Shop] = []

    def head(key: str) -> Any:
        return now[-1].kit.aio.head(key, via=lambda: now[-1].true_head(key))

    kept = Fence(reads=Shop.reads, acts={"ship": [ADDRESS]}, head=head)

    class Kept(Fenced):
        def fence(self) -> Fence:
            now.append(self)
            return kept

    assert run(Kept, Event(3, Update(ADDRESS)))[1].shipped == ["Osaka"]
    assert run(Kept)[1].shipped == ["Tokyo"]


def test_a_streamed_run_is_the_same() -> None:
    async def stream(messages: list[ModelMessage], info: Any) -> Any:
        for index, part in enumerate(Script()(messages, info).parts):
            if isinstance(part, ToolCallPart):
                yield {index: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}
            elif isinstance(part, TextPart):
                yield part.content

    class Streamed(Fenced):
        streamed = True

        def build(self) -> Any:
            agent = super().build()
            agent.model = FunctionModel(stream_function=stream)
            return agent

    for events in ((), (Event(3, Update(ADDRESS)),), (Event(3, Restart("agent")),), (Event(3, Update(ADDRESS)), Event(7, Update(ADDRESS)))):
        streamed, whole = run(Streamed, *events)[0], run(Fenced, *events)[0]
        assert streamed.entries == whole.entries


# -- external tools: called between two runs ---------------------------------------------------------------------------


class External(Shop):
    """`ship` is called by a service of the team's own, once the run has ended with a request for it."""

    def build(self) -> Any:
        schema = {"type": "object", "properties": {"to": {"type": "string"}}}
        tools = ExternalToolset([ToolDefinition(name="ship", parameters_json_schema=schema)])
        return Agent(FunctionModel(Script()), output_type=BOTH, tools=[self.get_order], toolsets=[tools])

    async def carry_out(self, call: ToolCallPart) -> str:
        return self.ship(**call.args_as_dict())


def test_an_external_tool_is_a_port_where_it_is_called() -> None:
    history, shop = run(External, Event(3, Update(ADDRESS)))
    assert labels(history) == [f"read {ADDRESS}", "derive derived", "pause approval", "act ship"]
    assert shop.shipped == ["Tokyo"]
    assert history.records[history.effects[0].plan].parents == (f"{ADDRESS}@1",)
    assert codes(history) == ["stale-act"]


def test_an_external_tool_that_fails_can_be_told_to_the_model() -> None:
    class Retries(External):
        fault_exceptions = {Fault: ModelRetry}

    history, shop = run(Retries, Event(3, ToolFault("ship")))
    assert [act.outcome for act in history.entries if isinstance(act, Act)] == ["refused", "done"]
    assert shop.shipped == ["Tokyo"]


def test_an_external_tool_that_nobody_calls_or_that_is_called_past_the_ports_is_told() -> None:
    def past(self: External, requests: DeferredToolRequests) -> DeferredToolResults:
        return DeferredToolResults(calls={call.tool_call_id: self.ship(**call.args_as_dict()) for call in requests.calls})

    with pytest.raises(BadInput, match=r"^Past: approve\(\) gave the result of a call of 'ship', past the ports: leave it to carry_out"):
        run(type("Past", (External,), {"approve": past}))
    with pytest.raises(BadInput, match=r"^Nobody has no carry_out\(\): the tool 'ship' is external: define carry_out\(self, call\)"):
        run(type("Nobody", (External,), {"carry_out": PydanticAISystem.carry_out}))


class KitStore(PydanticAISystem):
    """Without a store of its own: the kit answers in place of the tools that read and act."""

    scenario = Scenario({"orders": [ADDRESS, "note"]}, [Action("send", [ADDRESS])], values={ADDRESS: ["Tokyo", "Osaka", "Nagoya"]})
    reads = {"get_order": "order/{order}/address"}
    acts = {"ship": "send"}

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.told: list[Any] = []

    def build(self) -> Any:
        script = Script()

        def model(messages: list[ModelMessage], info: Any) -> ModelResponse:
            self.told += [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
            return script(messages, info)

        def never(**_: Any) -> None:
            raise AssertionError("the tool itself was called")

        agent = Agent(FunctionModel(model), output_type=BOTH)
        agent.tool_plain(lambda order: never(), name="get_order")
        agent.tool_plain(lambda to: never(), name="ship", requires_approval=True)
        return agent


def in_kit(system: type[KitStore], *events: Event) -> tuple[History, list[Any]]:
    made: list[KitStore] = []

    def make() -> KitStore:
        made.append(system())
        return made[-1]

    history = simulate(make, Interleaving(system.scenario, (), events))
    return history, made[-1].told


def test_without_a_store_of_its_own_the_kit_answers_for_the_tools() -> None:
    history, told = in_kit(KitStore)
    assert told == [{"value": "Tokyo", "version": f"{ADDRESS}@1"}, {"status": "done"}]
    assert [(act.action, act.args) for act in history.effects] == [("send", {"to": "Tokyo"})]
    assert codes(in_kit(KitStore, Event(3, Update(ADDRESS)))[0]) == ["stale-act"]


def test_what_is_no_answer_is_told_in_words() -> None:
    assert in_kit(KitStore, Event(0, Update(ADDRESS, "removed")))[1] == ["There is nothing."]
    for how in ("malformed", "wrong-key"):
        assert in_kit(KitStore, Event(0, Outage("orders", how)))[1] == ["<malformed answer>"]


def test_several_facts_are_answered_by_key() -> None:
    class Several(KitStore):
        reads = {"get_order": ["order/{order}/address", "note"]}

        def answer(self, tool: str, read: Any) -> Any:
            return {"value": read[ADDRESS].value, "note": read["note"].id} if isinstance(read, dict) else super().answer(tool, read)

    history, told = in_kit(Several)
    assert told[0] == {"value": "Tokyo", "note": "note@1"}
    assert labels(history)[:2] == [f"read {ADDRESS}", "read note"]
    assert history.records[history.effects[0].plan].parents == (f"{ADDRESS}@1", "note@1")


# -- approvals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [False, ToolDenied("no")])
def test_a_refused_call_sends_nothing(answer: Any) -> None:
    class Refused(Fenced):
        def approve(self, requests: DeferredToolRequests) -> DeferredToolResults:
            return requests.build_results(approvals={call.tool_call_id: answer for call in requests.approvals})

    history, shop = run(Refused)
    assert not shop.shipped
    assert labels(history)[-1] == "pause approval"
    assert history.ended.how == "returned"


def test_arguments_that_the_person_changed_are_what_goes_out() -> None:
    class Corrected(Fenced):
        async def approve(self, requests: DeferredToolRequests) -> DeferredToolResults:
            return requests.build_results(approvals={requests.approvals[0].tool_call_id: ToolApproved(override_args={"to": "Kobe"})})

    history, shop = run(Corrected)
    assert shop.shipped == ["Kobe"]
    assert history.effects[0].args == {"to": "Kobe"}


def test_an_approval_that_the_toolset_asks_for_is_a_pause_before_the_act() -> None:
    class Wrapped(Fenced):
        def build(self) -> Any:
            tools = FunctionToolset([self.get_order, self.ship]).approval_required(lambda ctx, tool, args: tool.name == "ship")
            return Agent(FunctionModel(Script()), output_type=BOTH, toolsets=[tools], capabilities=[self.fence()])

    history, shop = run(Wrapped)
    assert [label for label in labels(history) if not label.startswith("head")] == labels(run(Shop)[0])
    assert shop.shipped == ["Tokyo"]
    assert not codes(history)


def test_an_approval_that_the_tool_itself_asks_for_shows_as_a_call_that_did_nothing() -> None:
    class Asks(Shop):
        def build(self) -> Any:
            def ship(ctx: RunContext[Any], to: str) -> str:
                if not ctx.tool_call_approved:
                    raise ApprovalRequired
                return self.ship(to)

            return Agent(FunctionModel(Script()), output_type=BOTH, tools=[self.get_order, ship])

    history, shop = run(Asks)
    assert labels(history)[-3:] == ["act ship", "pause approval", "act ship"]
    assert len(history.effects) == 1
    assert shop.shipped == ["Tokyo"]


def test_an_approval_inside_the_run_is_one_too() -> None:
    class Inline(Fenced):
        def build(self) -> Any:
            async def person(ctx: RunContext[Any], requests: DeferredToolRequests) -> DeferredToolResults:
                await self.kit.aio.pause("approval")
                return requests.build_results(approve_all=True)

            agent = Agent(FunctionModel(Script()), tools=[self.get_order], capabilities=[HandleDeferredToolCalls(person), self.fence()])
            agent.tool_plain(requires_approval=True)(self.ship)
            return agent

    history, shop = run(Inline, Event(3, Update(ADDRESS)))
    assert shop.shipped == ["Osaka"]
    assert labels(history).count("pause approval") == 2
    assert not codes(history)


# -- what was read ----------------------------------------------------------------------------------------------------


@dataclass
class Row:
    version: str
    value: str


def test_an_answer_that_is_an_object_shows_the_same_before_and_after_it_was_saved() -> None:
    class Objects(Fenced):
        def get_order(self, order: int) -> Any:
            return Row(**super().get_order(order))

    assert run(Objects)[1].shipped == ["Tokyo"]
    assert run(Objects, Event(3, Update(ADDRESS)))[1].shipped == ["Osaka"]


class Hasty(Shop):
    """PydanticAI's own test model, which calls all tools at once: it acts on what it has not read yet."""

    def build(self) -> Any:
        agent = super().build()
        agent.model = TestModel()
        return agent

    def get_order(self, order: int) -> Any:
        return super().get_order(order)

    reads = {"get_order": ADDRESS}


def test_a_call_proposed_beside_the_read_rests_on_nothing() -> None:
    assert codes(run(Hasty)[0]) == ["unverified-act"]


def test_the_fence_halts_a_call_proposed_beside_the_read() -> None:
    class FencedHasty(Hasty):
        fenced = True

    history, shop = run(FencedHasty)
    assert history.ended.detail.startswith("Halt: not-in-lineage")
    assert not shop.shipped


def test_what_the_prompt_holds_is_read_there() -> None:
    class Told(Shop):
        reads = {}

        def build(self) -> Any:
            def model(messages: list[ModelMessage], info: Any) -> ModelResponse:
                if len(messages) > 1:
                    return ModelResponse([TextPart("done")])
                return ModelResponse([ToolCallPart("ship", {"to": str(messages[0].parts[0].content)}, tool_call_id="1")])

            agent = super().build()
            agent.model = FunctionModel(model)
            return agent

        async def prompt(self) -> str:
            return str((await self.ports.read(ADDRESS, via=lambda: self.get_order(42)))["value"])

    history, _ = run(Told)
    assert not codes(history)
    assert history.records[history.effects[0].plan].parents == (f"{ADDRESS}@1",)


def test_a_history_that_was_cut_short_proves_nothing() -> None:
    """In production, without a kit: the saved conversation comes back without what was read."""
    shipped: list[str] = []
    fence = Fence(reads={"get_order": ADDRESS}, acts={"ship": ADDRESS}, head=lambda key: "r1")
    agent = Agent(FunctionModel(Script()), output_type=BOTH, capabilities=[fence])
    agent.tool_plain(lambda order: {"version": "r1", "value": "Tokyo"}, name="get_order")
    agent.tool_plain(lambda to: shipped.append(to), name="ship", requires_approval=True)
    asked = agent.run_sync("ship order 42")
    answers = asked.output.build_results(approve_all=True)
    messages = ModelMessagesTypeAdapter.validate_json(asked.all_messages_json())
    with pytest.raises(Halt, match="not-in-lineage"):
        agent.run_sync(message_history=messages[-1:], deferred_tool_results=answers)
    assert not shipped
    agent.run_sync(message_history=messages, deferred_tool_results=answers)
    assert shipped == ["Tokyo"]


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_a_fault_can_be_the_frameworks_own_way_to_ask_again() -> None:
    class Retries(Shop):
        fault_exceptions = {Fault: ModelRetry}

    history, shop = run(Retries, Event(3, ToolFault("ship")))
    assert shop.shipped == ["Tokyo"]
    assert labels(history).count("act ship") == 2
    assert run(Shop, Event(3, ToolFault("ship")))[0].ended.detail.startswith("ToolRefused")


def test_an_owner_that_answers_garbage_gives_the_model_a_text() -> None:
    history, shop = run(Fenced, Event(0, Outage("orders", "malformed")))
    assert history.ended.how == "returned"
    assert not shop.shipped


def test_an_owner_that_never_answers_is_given_up_on() -> None:
    history, _ = run(Shop, Event(0, Outage("orders", "hang")))
    assert history.ended.detail.startswith("OwnerTimeout")


def test_a_tool_that_fails_has_no_effect() -> None:
    class Fails(Shop):
        def ship(self, to: str) -> str:
            raise ConnectionError("no courier")

    history, _ = run(Fails)
    assert not history.effects
    assert history.ended.detail == "ConnectionError: no courier"


def test_clients_can_be_the_ports_where_the_check_is_in_the_tool() -> None:
    class InTheTool(Shop):
        reads = {}
        acts = []

        def get_order(self, order: int) -> Any:
            return {"value": self.kit.read(ADDRESS).value, "version": "any"}

        def ship(self, to: str) -> str:
            if self.kit.read(ADDRESS).value != to:
                return "changed"
            self.kit.validated([ADDRESS])
            return str(self.kit.act("ship", {"to": to}))

    history, _ = run(InTheTool)
    read = f"read {ADDRESS}"
    assert labels(history) == ["point tool get_order", read, "pause approval", "point tool ship", read, "act ship"]
    assert not codes(history)
    assert not run(InTheTool, Event(4, Update(ADDRESS)))[0].effects
    raced, _ = run(InTheTool, Event(5, Update(ADDRESS)))
    assert not judge(raced).violations("at-validation")
    assert [finding.code for finding in judge(raced).violations("at-act")] == ["raced-act"]


def test_the_stock_loop_does_as_well() -> None:
    class Native(Fenced):
        runtime = "asyncio-native"

    history, shop = run(Native, Event(3, Update(ADDRESS)))
    assert shop.shipped == ["Osaka"]
    assert not codes(history)


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        ({"acts": ["ship", "get_order"]}, "the tool 'get_order' is in reads and in acts"),
        ({"acts": {"ship": "send"}}, "the tool 'ship' carries out 'send', which the scenario does not list \\(actions: 'ship'\\)"),
        ({"reads": {"get_order": lambda args: args["id"]}}, "reads\\['get_order'\\] fails for {'order': 42}: KeyError: 'id'"),
        ({"reads": {"get_orders": ADDRESS}}, "the agent has no tool 'get_orders' \\(tools: get_order, ship\\)"),
    ],
)
def test_a_name_that_is_wrong_is_told(attributes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        run(type("Wrong", (Shop,), attributes))


def test_the_model_is_told_in_words_that_a_saved_history_is_known_by() -> None:
    seen: list[Any] = []

    class Listens(Fenced):
        def build(self) -> Any:
            script: Callable[..., ModelResponse] = Script()

            def model(messages: list[ModelMessage], info: Any) -> ModelResponse:
                seen.extend(part for part in messages[-1].parts if isinstance(part, ToolReturnPart))
                return script(messages, info)

            agent = super().build()
            agent.model = FunctionModel(model)
            return agent

    run(Listens, Event(3, Update(ADDRESS)))
    told = next(part for part in seen if part.outcome == "retried")
    assert told.content == f"{ASK_AGAIN}{ADDRESS}. Read it again and decide anew."
