"""OpenAI Agents SDK: an agent whose tools need approval on the ports of a kit, and PlanFence around its tools.

`OpenAIAgentsSystem` is the adapter of a team's own agent: its function tools become ports without an edit, an interruption is a pause, and
`RunState`, written down as JSON, is what survives a restart. `Fence` is for production: it guards the tools that act.
"""

from __future__ import annotations

import copy
import json
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from typing import Any, cast

from agents import Agent, AgentHooks, AgentsException, FunctionTool, Handoff, ModelResponse, RunConfig, Runner, RunState, UserError
from agents.items import ToolApprovalItem
from agents.tool import maybe_invoke_function_tool_failure_error_function
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall

from fencecheck.errors import BadInput, FencecheckError
from fencecheck.fence.values import Halt
from fencecheck.integrations.keys import KeysOf
from fencecheck.integrations.tool_fence import ReadAgain, ToolFence
from fencecheck.integrations.tool_ports import ApprovedToolSystem, Call, ToolPorts
from fencecheck.run.faults import Fault

__all__ = ["Fence", "FenceHalt", "OpenAIAgentsSystem", "on_ports"]

Invoke = Callable[[ToolContext[Any], str], Awaitable[Any]]
Ledger = MutableMapping[str, Any]


class FenceHalt(Halt, AgentsException):
    """A `Halt` that the SDK lets out of a run as it is."""


# -- an agent like another, with other tools -------------------------------------------------------------------------


class _AfterModel(AgentHooks[Any]):
    """The hooks that an agent had, if any, and a function that is given each answer of its model."""

    def __init__(self, own: AgentHooks[Any] | None, answered: Callable[[Any, list[Call]], Awaitable[None]]) -> None:
        self._own: AgentHooks[Any] = own or AgentHooks()
        self._answered = answered

    async def on_llm_end(self, context: Any, agent: Any, response: ModelResponse) -> None:
        calls = [item for item in response.output if isinstance(item, ResponseFunctionToolCall)]
        await self._answered(context.context, [Call(call.name, _arguments(call.arguments), call.call_id) for call in calls])
        await self._own.on_llm_end(context, agent, response)

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        await self._own.on_llm_start(context, agent, system_prompt, input_items)

    async def on_start(self, context: Any, agent: Any) -> None:
        await self._own.on_start(context, agent)

    async def on_end(self, context: Any, agent: Any, output: Any) -> None:
        await self._own.on_end(context, agent, output)

    async def on_handoff(self, context: Any, agent: Any, source: Any) -> None:
        await self._own.on_handoff(context, agent, source)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        await self._own.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        await self._own.on_tool_end(context, agent, tool, result)


Tool = Callable[[FunctionTool], FunctionTool]
Answered = Callable[[Any, list[Call]], Awaitable[None]]


def _rebuilt(agent: Agent[Any], tool: Tool, answered: Answered) -> Agent[Any]:
    """A copy of the agent, and of all that it can hand over to, with other function tools. The agent itself stays as it is."""
    made: dict[int, tuple[Agent[Any], Agent[Any]]] = {}  # beside the copy the agent, so that its id stays its own

    def copied(agent: Agent[Any]) -> Agent[Any]:
        if id(agent) not in made:
            tools = [tool(one) if isinstance(one, FunctionTool) else one for one in agent.tools]
            clone = agent.clone(tools=tools, hooks=_AfterModel(agent.hooks, answered))
            made[id(agent)] = agent, clone
            clone.handoffs = [copied(other) if isinstance(other, Agent) else over(other) for other in agent.handoffs]
        return made[id(agent)][1]

    def over(handoff: Handoff[Any, Any]) -> Handoff[Any, Any]:
        """The same handoff, to the copy of whichever agent it names once it is invoked."""

        async def invoke(context: Any, written: str) -> Agent[Any]:
            return copied(await handoff.on_invoke_handoff(context, written))

        other = copy.copy(handoff)
        other.on_invoke_handoff = invoke
        if handoff._agent_ref is not None and (named := handoff._agent_ref()) is not None:
            other._agent_ref = weakref.ref(copied(cast(Agent[Any], named)))  # by this a saved run finds its agent again
        return other

    return copied(agent)


def _tools(agent: Agent[Any]) -> Iterator[tuple[Agent[Any], FunctionTool]]:
    """The function tools of the agent, of all that it can hand over to, and of those that these use as tools, each with its agent."""
    ahead, met = [agent], {id(agent)}
    for one in ahead:
        found = [other if isinstance(other, Agent) else other._agent_ref and other._agent_ref() for other in one.handoffs]
        for tool in one.tools:
            if isinstance(tool, FunctionTool):
                found.append(tool._agent_instance)
                yield one, tool
        for other in found:
            if isinstance(other, Agent) and id(other) not in met:
                met.add(id(other))
                ahead.append(other)


def _arguments(written: str) -> dict[str, Any]:
    try:
        args = json.loads(written or "{}")
    except ValueError:  # what a model wrote need be no JSON; the tool will say so
        return {}
    return args if isinstance(args, dict) else {}


# -- the guard, for production ----------------------------------------------------------------------------------------


class Fence:
    """Guards the tools of an agent: `agent = Fence(...).around(agent)`. What it goes by is saved with the run's state.

    A call of a tool that acts goes out only if each key that it depends on was read in this conversation before the model proposed the call,
    and its owner says that the version read last is current, right before the tool is called. If one has changed, the tool's answer asks the
    model to read again, and a new call needs a new approval; the second time, and for whatever cannot be verified, `FenceHalt` leaves the run.

    Args:
        ledger: from the run's context to the mapping in which the fence keeps what was read, under the name `fencecheck`: by default the
            context itself, which is then to be a dict. It must be saved with the run, as `RunState.to_json` saves a context that is a dict.
            One for each conversation: an agent that another one uses as a tool (`as_tool`) is given a fence of its own before it is made a
            tool, and a ledger of its own.

    The other arguments are those of `fencecheck.integrations.tool_fence.ToolFence`.
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
        ledger: Callable[[Any], Ledger] | None = None,
    ) -> None:
        self.fence = ToolFence(
            reads=reads, acts=acts, head=head, version=version, validated=validated, timeout_s=timeout_s, passthrough=passthrough
        )
        self._kept_in = ledger

    def around(self, agent: Agent[Any]) -> Agent[Any]:
        """A copy of the agent, and of all that it can hand over to, whose tools are guarded.

        Raises:
            BadInput: a tool that acts would stay unguarded: the agent has none of that name, or an agent that it uses as a tool has it.
        """
        guarded = _rebuilt(agent, self._tool, self._answered)
        names = set()
        for owner, tool in _tools(guarded):
            names.add(tool.name)
            if tool.name in self.fence.acts and not isinstance(tool.on_invoke_tool, _Guarded):
                raise BadInput(
                    f"the tool {tool.name!r} of the agent {owner.name!r}, which is used as a tool, is not guarded: "
                    "put a fence around that agent before as_tool() is called"
                )
        for act in self.fence.acts:
            if act not in names:
                raise BadInput(
                    f"the agent {agent.name!r} has no function tool {act!r} to be guarded (its tools: {', '.join(sorted(names)) or 'none'}): "
                    "correct the name in acts; tools of MCP servers and hosted ones cannot be guarded"
                )
        return guarded

    def _tool(self, tool: FunctionTool) -> FunctionTool:
        named = tool.name in self.fence.reads or tool.name in self.fence.acts
        return replace(tool, on_invoke_tool=_Guarded(self, tool)) if named else tool

    def _ledger(self, context: Any) -> Ledger:
        kept: Any = context if self._kept_in is None else self._kept_in(context)
        if not isinstance(kept, MutableMapping):
            raise TypeError(f"the fence keeps what was read in the run's context, a dict, not {kept!r}: pass context={{}}, or give ledger=")
        ledger: Ledger = kept.setdefault("fencecheck", {"read": {}, "calls": {}, "told": False})
        return ledger

    async def _answered(self, context: Any, calls: list[Call]) -> None:
        """Notes what the conversation had read when the model proposed these calls."""
        acting = [call.id for call in calls if call.tool in self.fence.acts]
        if acting:
            ledger = self._ledger(context)
            ledger["calls"].update({id: {"read": dict(ledger["read"]), "told": ledger["told"]} for id in acting})


class _Guarded:
    """Invokes a tool once the fence has cleared the call, or notes the facts that its answer shows."""

    def __init__(self, guard: Fence, tool: FunctionTool, invoke: Invoke | None = None) -> None:
        self._guard, self.tool = guard, tool
        self._invoke = invoke or tool.on_invoke_tool

    def around(self, invoke: Invoke) -> _Guarded:
        """The same guard around another way to invoke the tool."""
        return _Guarded(self._guard, self.tool, invoke)

    async def __call__(self, ctx: ToolContext[Any], written: str) -> Any:
        fence, tool, args = self._guard.fence, self.tool.name, _arguments(written)
        ledger = self._guard._ledger(ctx.context)
        if tool not in fence.acts:
            answer = await self._invoke(ctx, written)
            fence.note(ledger["read"], tool, args, answer)
            return answer
        try:
            # as it was when the call was proposed: what another call of the same answer was told says nothing about this one
            noted = ledger["calls"].get(ctx.tool_call_id, {"read": {}, "told": True})
            await fence.clear(tool, args, ctx.tool_call_id, noted["read"], told=noted["told"])
        except ReadAgain as changed:
            ledger["told"] = True
            return str(changed)
        except Halt as halt:
            raise FenceHalt(halt.reason, halt.about, halt.detail) from halt
        answer = await self._invoke(ctx, written)
        ledger["told"] = False
        return answer


# -- the adapter, for checks -----------------------------------------------------------------------------------------


def on_ports(agent: Agent[Any], ports: ToolPorts) -> Agent[Any]:
    """A copy of the agent, and of all that it can hand over to, whose function tools are ports; inside the guard of a `Fence`.

    Raises:
        BadInput: an agent that it uses as a tool has a tool that reads or acts and is no port.
    """

    def ported(tool: FunctionTool) -> FunctionTool:
        ports.offered.add(tool.name)
        guard = tool.on_invoke_tool
        if isinstance(guard, _Guarded):
            return replace(tool, on_invoke_tool=guard.around(_OnPorts(ports, guard.tool)))
        return replace(tool, on_invoke_tool=_OnPorts(ports, tool))

    async def answered(context: Any, calls: list[Call]) -> None:
        await ports.propose(calls)

    made = _rebuilt(agent, ported, answered)
    for owner, tool in _tools(made):
        if (tool.name in ports.reads or tool.name in ports.acts) and not _is_port(tool):
            raise BadInput(
                f"{ports.name}: the tool {tool.name!r} of the agent {owner.name!r}, which is used as a tool, is no port: "
                "write on_ports(that agent, self.ports).as_tool(...)"
            )
    return made


def _is_port(tool: FunctionTool) -> bool:
    invoke = tool.on_invoke_tool
    return isinstance(invoke._invoke if isinstance(invoke, _Guarded) else invoke, _OnPorts)


class _OnPorts:
    """Invokes a tool as a port. What it raises is handled as the tool would have it, once the port knows that it failed."""

    def __init__(self, ports: ToolPorts, tool: FunctionTool) -> None:
        self._ports, self._tool = ports, tool
        self._handled = hasattr(tool, "__wrapped__")  # a tool that was made otherwise handles what its function raises itself
        self._bare = _without_handler(tool) if self._handled else tool

    async def __call__(self, ctx: ToolContext[Any], written: str) -> Any:
        call = Call(self._tool.name, _arguments(written), ctx.tool_call_id)
        try:
            function = getattr(self._tool, "__wrapped__", None)
            return await self._ports.call(call, lambda: self._bare.on_invoke_tool(ctx, written), function)
        except Exception as error:
            if isinstance(error, FencecheckError) or not self._handled:
                raise
            told = await maybe_invoke_function_tool_failure_error_function(function_tool=self._tool, context=ctx, error=error)
            if told is None:
                raise
            return told


def _without_handler(tool: FunctionTool) -> FunctionTool:
    """The tool, raising what its function raises: else a failure would be an answer like any other, and an act that failed an effect."""
    bare = copy.copy(tool)
    bare._failure_error_function, bare._use_default_failure_error_function = None, False
    return bare


class OpenAIAgentsSystem(ApprovedToolSystem):
    """The adapter of an agent of the OpenAI Agents SDK. A team defines `scenario`, `prompt`, `reads`, `acts` and `build`.

    `build()` returns the agent, with a model that asks nobody. `context()` returns the run's context, and `approve(interruption)` what the
    person says of one call, by default yes. Sync tools run in a thread, as they do in production. What each tool does and asks for itself is
    inside its point: where the check is in the tool's own body, put the clients that it calls on ports instead.
    """

    def context(self) -> Any:
        """The run's context, a new one for each conversation; a dict is saved with the run's state."""
        return {}

    def approve(self, interruption: ToolApprovalItem) -> bool | Awaitable[bool]:
        """What the person says of this call; may be async."""
        return True

    def run_config(self) -> RunConfig:
        """How it is run. Tracing is off: an exporter would send what happened in a check to a server."""
        return RunConfig(tracing_disabled=True)

    def save(self, state: RunState[Any, Any]) -> str:
        """The state, written down. Override where the context is no dict, to give a serializer."""
        return json.dumps(state.to_json())

    async def restore(self, agent: Agent[Any], written: str) -> RunState[Any, Any]:
        """The state that was written down. Override where the context is no dict, to give a deserializer or the context itself."""
        return await RunState.from_json(agent, json.loads(written))

    def bind(self, agent: Agent[Any]) -> Agent[Any]:
        """The agent on the ports."""
        return on_ports(agent, self.ports)

    async def begin(self, agent: Agent[Any], prompt: Any) -> str | None:
        """Runs the agent from its prompt."""
        return await self._run(agent, prompt, context=self.context())

    async def decide(self, agent: Agent[Any], state: str) -> str:
        """The saved state with what the approver says of each call, written down again."""
        restored = await self.restore(agent, state)
        for item in restored.get_interruptions():
            if await self.ask(self.approve, item):
                restored.approve(item)
            else:
                restored.reject(item)
        return self.save(restored)

    async def resume(self, agent: Agent[Any], state: str, decision: str) -> str | None:
        """Goes on from the saved state."""
        return await self._run(agent, await self.restore(agent, decision))

    async def _run(self, agent: Agent[Any], given: Any, **how: Any) -> str | None:
        try:
            if self.streamed:
                result: Any = Runner.run_streamed(agent, given, run_config=self.run_config(), **how)
                async for _ in result.stream_events():
                    pass
            else:
                result = await Runner.run(agent, given, run_config=self.run_config(), **how)
        except UserError as error:
            # The SDK wraps whatever a tool raises; a halt, a fault or an error of the kit is to be seen as what it is.
            inside = error.__cause__
            if isinstance(inside, (FencecheckError, Fault, *self.halt_exceptions)) or isinstance(getattr(inside, "__cause__", None), Fault):
                raise inside from None  # type: ignore[misc]
            raise
        return self.save(result.to_state()) if result.interruptions else None
