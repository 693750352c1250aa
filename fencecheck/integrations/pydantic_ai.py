"""PydanticAI: an agent with deferred tools on the ports of a kit, and PlanFence as a capability of the agent.

`PydanticAISystem` is the adapter of a team's own agent: its tools become ports without an edit, `DeferredToolRequests` is a pause, and the
message history, written down as JSON, is what survives a restart. `Fence` is for production: it guards the tools that act.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool, WrapperToolset
from pydantic_core import to_jsonable_python

from fencecheck.errors import BadInput
from fencecheck.integrations.keys import KeysOf
from fencecheck.integrations.tool_fence import ASK_AGAIN, Facts, ReadAgain, ToolFence
from fencecheck.integrations.tool_ports import ApprovedToolSystem, Call, ToolPorts
from fencecheck.run.adapter import name_of

__all__ = ["Fence", "PydanticAISystem", "ToolsOnPorts"]

_Requests = TypeAdapter(DeferredToolRequests)


# -- the guard, for production ----------------------------------------------------------------------------------------


class Fence(AbstractCapability[Any]):
    """Guards the tools of an agent: `Agent(..., capabilities=[Fence(...)])`. What it goes by is in the message history, and so survives with it.

    A call of a tool that acts goes out only if each key that it depends on was read in this conversation before the model proposed the call,
    and its owner says that the version read last is current, right before the tool is called. If one has changed, the model is asked to read
    again (`ModelRetry`) and a new call needs a new approval; the second time, and for whatever cannot be verified, `fencecheck.fence.Halt`
    leaves the run.

    Args: those of `fencecheck.integrations.tool_fence.ToolFence`. `version` is given the answer as JSON values, as a saved history has it.
    """

    def __init__(
        self,
        *,
        reads: Mapping[str, KeysOf],
        acts: Mapping[str, KeysOf],
        head: Callable[[str], Any],
        version: Callable[[str, Any], Any] | None = None,
        validated: Callable[[Mapping[str, str]], object] | None = None,
        timeout_s: float | None = None,
        passthrough: tuple[type[BaseException], ...] = (),
    ) -> None:
        self.fence = ToolFence(
            reads=reads, acts=acts, head=head, version=version, validated=validated, timeout_s=timeout_s, passthrough=passthrough
        )

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """All tools of the agent, those that act guarded."""
        return _Guarded(toolset, self.fence)


@dataclass
class _Guarded(WrapperToolset[Any]):
    fence: ToolFence

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]) -> Any:
        if name in self.fence.acts:
            args, call_id = to_jsonable_python(tool_args, serialize_unknown=True), str(ctx.tool_call_id)
            facts, told = _history(self.fence, ctx.messages, call_id)
            try:
                await self.fence.clear(name, args, call_id, facts, told=told)
            except ReadAgain as changed:
                raise ModelRetry(str(changed)) from None
        return await super().call_tool(name, tool_args, ctx, tool)


def _history(fence: ToolFence, messages: Sequence[ModelMessage], call_id: str) -> tuple[Facts, bool]:
    """What the conversation had read when the model proposed the call, and whether it was asked to read again since the last act."""
    facts: Facts = {}
    told = False
    args: dict[str, dict[str, Any]] = {}
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
            if any(part.tool_call_id == call_id for part in calls):
                return facts, told
            args |= {part.tool_call_id: _arguments(part) for part in calls}
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                told = False
            elif not isinstance(part, ToolReturnPart):
                continue
            elif part.outcome == "success" and part.tool_name in fence.reads:
                # As it is once the history was written down: what holds now must hold after a restart.
                answer = to_jsonable_python(part.content, serialize_unknown=True)
                fence.note(facts, part.tool_name, args.get(part.tool_call_id, {}), answer)
            elif part.tool_name in fence.acts:
                told = part.outcome != "success" and (told or str(part.content).startswith(ASK_AGAIN))
    return {}, True  # a history that was cut short proves nothing


def _arguments(part: ToolCallPart) -> dict[str, Any]:
    try:
        return part.args_as_dict()
    except ValueError:  # what a model wrote need be no JSON; such a call reached no tool
        return {}


# -- the adapter, for checks -----------------------------------------------------------------------------------------


class ToolsOnPorts(AbstractCapability[Any]):
    """Puts the tools of an agent on the ports of a kit, for one run: `agent.run(..., capabilities=[ToolsOnPorts(ports)])`."""

    def __init__(self, ports: ToolPorts) -> None:
        self.ports = ports

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """The same tools; inside whatever wraps them, so that an event can land after an approval or a guard."""
        return toolset.visit_and_replace(lambda leaf: _OnPorts(leaf, self.ports))

    async def after_model_request(self, ctx: RunContext[Any], *, request_context: Any, response: ModelResponse) -> ModelResponse:
        """An answer of the model that proposes acts is a plan."""
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        await self.ports.propose([Call(part.tool_name, _arguments(part), part.tool_call_id) for part in calls])
        return response


@dataclass
class _OnPorts(WrapperToolset[Any]):
    ports: ToolPorts

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        self.ports.offered |= tools.keys()
        return tools

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]) -> Any:
        call = Call(name, to_jsonable_python(tool_args, serialize_unknown=True), str(ctx.tool_call_id))
        known = self.wrapped.tools.get(name) if isinstance(self.wrapped, FunctionToolset) else None
        function = known.function if known is not None else None
        return await self.ports.call(call, lambda: self.wrapped.call_tool(name, tool_args, ctx, tool), function)


class PydanticAISystem(ApprovedToolSystem):
    """The adapter of a PydanticAI agent. A team defines `scenario`, `prompt`, `reads`, `acts` and `build`.

    `build()` returns the agent, one whose `output_type` includes `DeferredToolRequests` where tools need approval. `deps()` returns what its
    tools are given, and `approve(requests)` what the person says, by default yes to all. Sync tools run in a thread, as they do in production.
    What each tool does and asks for itself is inside its point: where the check is in the tool's own body, put the clients that it calls
    on ports instead.
    """

    def deps(self) -> Any:
        """The agent's dependencies; none by default."""
        return None

    def approve(self, requests: DeferredToolRequests) -> DeferredToolResults | Awaitable[DeferredToolResults]:
        """What the person says of these calls; may be async."""
        return requests.build_results(approve_all=True)

    async def begin(self, agent: Any, prompt: Any) -> Any:
        """Runs the agent from its prompt."""
        return await self._run(agent, user_prompt=prompt)

    def carry_out(self, call: ToolCallPart) -> Any:
        """Does what a call of an external tool asks for, outside of the run (`CallDeferred`, `ExternalToolset`), and returns its result.

        May be async. Called where the system has a store of its own; else the kit answers in its place. Such a call is a port as any other; what
        is raised there leaves the run, but for a `ModelRetry`, which the model is told.
        """
        raise BadInput(
            f"{name_of(self)} has no carry_out(): the tool {call.tool_name!r} is external: define carry_out(self, call), which calls it"
        )

    async def decide(self, agent: Any, state: Any) -> Any:
        """What the approver says of the saved requests, and the results of the external calls among them."""
        requests = _Requests.validate_json(state[1])
        results: DeferredToolResults = await self.ask(self.approve, requests)
        for call in requests.calls:
            tool = call.tool_name
            if call.tool_call_id not in results.calls:
                results.calls[call.tool_call_id] = await self._external(call)
            elif tool in self.ports.reads or tool in self.ports.acts:
                raise BadInput(
                    f"{name_of(self)}: approve() gave the result of a call of {tool!r}, past the ports: leave it to carry_out(self, call)"
                )
        return results

    async def _external(self, call: ToolCallPart) -> Any:
        async def itself() -> Any:
            answer = self.carry_out(call)
            return await answer if inspect.isawaitable(answer) else answer

        try:
            return await self.ports.call(Call(call.tool_name, _arguments(call), call.tool_call_id), itself, self.carry_out)
        except ModelRetry as retry:
            return retry

    async def resume(self, agent: Any, state: Any, decision: Any) -> Any:
        """Goes on from the saved message history."""
        return await self._run(
            agent, message_history=ModelMessagesTypeAdapter.validate_json(state[0]), deferred_tool_results=replace(decision)
        )

    async def _run(self, agent: Agent[Any, Any], **how: Any) -> Any:
        # A pool, since AnyIO's own threads answer a loop in an order of chance.
        threads = ThreadPoolExecutor(1, thread_name_prefix="tools")
        try:
            with Agent.using_thread_executor(threads):
                output, messages = await self._result(agent, deps=self.deps(), capabilities=[ToolsOnPorts(self.ports)], **how)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
        if not isinstance(output, DeferredToolRequests):
            return None
        return messages, _Requests.dump_json(output)

    async def _result(self, agent: Agent[Any, Any], **how: Any) -> tuple[Any, bytes]:
        if not self.streamed:
            result = await agent.run(**how)
            return result.output, result.all_messages_json()
        async with agent.run_stream(**how) as stream:
            return await stream.get_output(), stream.all_messages_json()
