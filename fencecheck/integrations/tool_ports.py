"""An agent's tools as the ports of a kit, whatever framework calls them, and a run with approvals that survives a restart.

Approval frameworks carry only a call's name, arguments and id from the model to the approval and on to the tool. So each call of a tool that
reads is `kit.read`, each of one that acts is `kit.act`, and a model's answer that proposes acts is a `derive`, whose parents are the versions
that the conversation had read by then: what went out is judged by that lineage and by the values found in its arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from fencecheck.errors import BadInput
from fencecheck.fence.values import Halt
from fencecheck.integrations.asking import kept, read_all_later
from fencecheck.integrations.keys import KeysOf, keys_of
from fencecheck.model import Record, Scenario
from fencecheck.run.adapter import AgentSystem, has_own_store, name_of
from fencecheck.run.faults import MALFORMED, Fault
from fencecheck.run.kit import Kit
from fencecheck.run.lines import ELSEWHERE

GARBAGE = str(MALFORMED)
"""What a model is told of an answer that is none: faults have to be written down like all that it is given."""
NOTHING = "There is nothing."
"""What a model is told of a fact that was removed."""


@dataclass(frozen=True)
class Call:
    """One call of a tool, as a model proposes it.

    Args:
        tool: name of the tool.
        args: the arguments, as JSON values.
        id: names this call and no other of the conversation.
    """

    tool: str
    args: Mapping[str, Any]
    id: str


@dataclass
class Notes:
    """What a conversation holds: the versions read last, by key, and the plans of its calls, by call id."""

    read: dict[str, str] = field(default_factory=dict)
    plans: dict[str, Record] = field(default_factory=dict)

    def copy(self) -> Notes:
        """As they are now, to be saved with the conversation."""
        return Notes(dict(self.read), dict(self.plans))


class ToolPorts:
    """The tools of one agent on the ports of a kit.

    Args:
        kit: the episode's.
        reads: tools that read, each with the keys that it asks for. Of several keys each is a read of its own, in their order.
        acts: tools that act, each with the action of the scenario that it carries out; or their names, where that is the action's.
        timeout_s: virtual seconds after which a reading tool gives up on an owner that never answers; None if it waits for ever.
        name: what messages call the system.
        answer: what a reading tool answers where the kit is the store: from its name and the record, or key to record where it reads several
            keys. The tools that read and act are then not called. None where the tools reach a store of the system's own.

    Any other tool is a `point`.

    Attributes:
        notes: what the conversation holds.
        offered: names of the tools that the agent was seen to have.

    Raises:
        BadInput: a tool is both, or the scenario has no such action.
    """

    def __init__(
        self,
        kit: Kit,
        *,
        reads: Mapping[str, KeysOf],
        acts: Mapping[str, str] | Iterable[str],
        timeout_s: float | None,
        name: str,
        answer: Callable[[str, Any], Any] | None = None,
    ) -> None:
        self.kit, self.timeout_s, self.name, self._answer = kit, timeout_s, name, answer
        self.reads = dict(reads)
        self.acts = dict(acts) if isinstance(acts, Mapping) else {tool: tool for tool in acts}
        self.notes = Notes()
        self.offered: set[str] = set()
        self._refuse(kit.scenario)

    def _refuse(self, scenario: Scenario) -> None:
        for tool, action in self.acts.items():
            if tool in self.reads:
                raise BadInput(f"{self.name}: the tool {tool!r} is in reads and in acts: a tool that reads and acts is one that acts")
            if scenario.action(action) is None:
                known = ", ".join(repr(action.name) for action in scenario.actions)
                raise BadInput(
                    f"{self.name}: the tool {tool!r} carries out {action!r}, which the scenario does not list (actions: {known})"
                )

    def refuse_unknown(self) -> None:
        """Says which of the tools named the agent does not have; to be called once the agent was seen.

        Raises:
            BadInput: there is one.
        """
        for tool in (*self.reads, *self.acts):
            if tool not in self.offered:
                known = ", ".join(sorted(self.offered)) or "none"
                raise BadInput(f"{self.name}: the agent has no tool {tool!r} (tools: {known}): correct the name in reads or acts")

    async def call(self, call: Call, via: Callable[[], Awaitable[Any]], function: Any = None) -> Any:
        """One call of a tool: the events land, then `via`, the tool itself, is called, unless a fault takes its place.

        Args:
            function: the function that the tool is, where that is known: reports name its line.
        """
        token = ELSEWHERE.set(_line_of(function) or None)

        async def itself() -> Any:
            ELSEWHERE.set(None)  # what the tool calls stands where it stands
            return await via()

        try:
            with kept(self.kit):
                return await self._as_port(call, itself)
        finally:
            ELSEWHERE.reset(token)

    async def _as_port(self, call: Call, via: Callable[[], Awaitable[Any]]) -> Any:
        action = self.acts.get(call.tool)
        if action is not None:
            own = via if self._answer is None else None
            return await self.kit.aio.act(action, call.args, plan=self.notes.plans.get(call.id), via=own)
        keys = keys_of(self.reads.get(call.tool), call.args, f"{self.name}: reads[{call.tool!r}]")
        if not keys:
            await self.kit.aio.point(f"tool {call.tool}")
            return await via()
        if self._answer is None:
            answer = await self._read(keys, via)
            return GARBAGE if answer is MALFORMED else answer
        return await self._answered(call.tool, keys, self._answer)

    async def _read(self, keys: tuple[str, ...], via: Callable[[], Any]) -> Any:
        """The tool's own answer about all the keys."""
        answer, versions = await read_all_later(self.kit, keys, self.timeout_s, via)
        self.notes.read |= versions
        return answer

    async def _answered(self, tool: str, keys: tuple[str, ...], answer: Callable[[str, Any], Any]) -> Any:
        """The kit's answer in place of the tool's."""
        _, records = await read_all_later(self.kit, keys, self.timeout_s, None)
        for key, record in records.items():  # as a client would that knows what it asked for
            if getattr(record, "key", None) != key:
                return GARBAGE
        self.notes.read |= {key: record.id for key, record in records.items()}
        if any(record.removed for record in records.values()):
            return NOTHING
        return answer(tool, records if len(records) > 1 else records[keys[0]])

    async def read(self, key: str, via: Callable[[], Any] | None = None) -> Any:
        """`kit.aio.read` for what the conversation is told without a tool, such as facts that the prompt holds."""
        if via is not None:
            return await self._read((key,), via)
        record = await self.kit.aio.read(key, timeout=self.timeout_s)
        if getattr(record, "key", None) == key:
            self.notes.read[key] = self.kit._version(record)
        return record

    async def propose(self, calls: Iterable[Call]) -> None:
        """The calls of one answer of the model: those that act are a plan, made from all that the conversation has read."""
        acting = [call for call in calls if call.tool in self.acts]
        if not acting:
            return
        with kept(self.kit):
            plan = await self.kit.aio.derive([{call.tool: call.args} for call in acting], list(self.notes.read.values()))
            self.notes.plans |= {call.id: plan for call in acting}


def _line_of(function: Any) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code is not None else ""


@dataclass
class Saved:
    """What is durable of a run that waits for approval.

    Args:
        state: the framework's own state, as it was written down.
        notes: what the conversation held by then.
        decision: what the approver said, once it is known; durable too, so that nobody is asked twice.
    """

    state: Any
    notes: Notes
    decision: Any = None


class ApprovedToolSystem(AgentSystem):
    """An adapter for an agent whose tools are called by a framework, some of them once a person has approved. See the frameworks' own.

    Class attributes, besides those of `AgentSystem`:
        reads: names of tools that read to the key that each reads: `"order/{order}/address"`, in which `{order}` is the argument of that name;
            a list of such keys; or a function of the arguments.
        acts: names of the tools that act, or tool to action where they differ; by default the actions of the scenario.
        owner_timeout_s: seconds that a reading tool waits for an owner that never answers; None if it waits for ever.
        streamed: whether the agent is run as one whose answers are streamed.
        prompt: what the agent is asked, or a method, async or not, that returns it.

    The tools themselves are called where the system has a store of its own (`publish` and `true_head`); else the kit is the store, and answers
    in place of those that read (`answer`) and act. Other tools are always called.
    """

    runtime = "asyncio"
    halt_exceptions: ClassVar[tuple[type[BaseException], ...]] = (Halt, Fault)
    reads: ClassVar[Mapping[str, KeysOf]] = {}
    acts: ClassVar[Mapping[str, str] | Iterable[str] | None] = None
    owner_timeout_s: ClassVar[float | None] = 5.0
    streamed: ClassVar[bool] = False
    prompt: Any = ""

    def setup(self, kit: Kit) -> Any:
        """As in `AgentSystem`; makes `self.ports`. Override to build fresh state, and call `super()`."""
        self.kit = kit
        self.ports = ToolPorts(
            kit,
            reads=self.reads,
            acts=self.acts if self.acts is not None else [action.name for action in kit.scenario.actions],
            timeout_s=self.owner_timeout_s,
            name=name_of(self),
            answer=None if has_own_store(self) else self.answer,
        )
        self.saved: Saved | None = None

    def answer(self, tool: str, read: Any) -> Any:
        """What a tool that reads answers, where the kit is the store: by default the value and the version, which a fence goes by.

        Args:
            tool: its name.
            read: the record, or key to record where it reads several keys.
        """
        if isinstance(read, dict):
            return {key: self.answer(tool, record) for key, record in read.items()}
        return {"value": read.value, "version": read.id}

    def restart(self) -> None:
        """The process dies. What was saved with the last request for approval is durable, and `run` goes on from there."""

    def build(self) -> Any:
        """The agent; made anew after each restart. Must be overridden."""
        raise BadInput(f"{name_of(self)} has no build(): define build(self), which returns the agent")

    def bind(self, agent: Any) -> Any:
        """The agent as it is run."""
        return agent

    async def run(self) -> None:
        """From wherever it was left to the end: asks the agent, and whenever it waits for approval saves it, waits, and resumes it."""
        agent = self.bind(self.build())
        if self.saved is None:
            self.ports.notes = Notes()
            prompt = self.prompt() if callable(self.prompt) else self.prompt
            state = await self.begin(agent, await prompt if inspect.isawaitable(prompt) else prompt)
        else:
            self.ports.notes = self.saved.notes.copy()
            state = await self._go_on(agent, self.saved)
        while state is not None:
            self.saved = Saved(state, self.ports.notes.copy())
            state = await self._go_on(agent, self.saved)
        self.ports.refuse_unknown()

    async def _go_on(self, agent: Any, saved: Saved) -> Any:
        if saved.decision is None:
            await self.kit.aio.pause("approval")
            saved.decision = await self.decide(agent, saved.state)
        return await self.resume(agent, saved.state, saved.decision)

    async def ask(self, approve: Callable[[Any], Any], request: Any) -> Any:
        """What `approve`, async or not, says of a request."""
        answer = approve(request)
        return await answer if inspect.isawaitable(answer) else answer

    async def begin(self, agent: Any, prompt: Any) -> Any:
        """Runs the agent until it ends (None) or waits for approval: its state, written down."""
        raise NotImplementedError

    async def decide(self, agent: Any, state: Any) -> Any:
        """What the approver says of that state."""
        raise NotImplementedError

    async def resume(self, agent: Any, state: Any, decision: Any) -> Any:
        """Goes on from that state with that decision; as `begin`."""
        raise NotImplementedError
