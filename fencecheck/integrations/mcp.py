"""MCP: a client of the official `mcp` package (2.x) on the ports of the kit, over any transport: in memory, stdio, HTTP.

An agent is given a `Session` in place of its client. Whatever it calls reaches the real server, unless a fault is injected in its place;
and each tool call and resource read is a point. Which tools read and which act is what their annotations say, by the defaults of the MCP
specification (2025-11-25, Schema Reference, `ToolAnnotations`): a tool without annotations acts, destructively, and not idempotently. They
are hints of the server, which may be wrong: a team can say better.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import Any, Literal, TypeVar

from mcp import Client, ClientSession, MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    REQUEST_TIMEOUT,
    CallToolResult,
    PaginatedRequestParams,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
    Tool,
)

from fencecheck.errors import BadInput, FencecheckError
from fencecheck.faults import MALFORMED, Fault, OwnerTimeout, RecordMissing, ReplyLost
from fencecheck.history import Act, Landed
from fencecheck.integrations.asking import kept
from fencecheck.interleaving import Update
from fencecheck.run import tools
from fencecheck.run.kit import Kit

Kind = Literal["read", "head", "act", "point"]
KINDS: tuple[Kind, ...] = ("read", "head", "act", "point")
EVIDENCE = ("plan", "basis", "expect", "idempotency_key")
Outage = Literal["error", "result"]
KeyOf = Callable[[str, Mapping[str, Any]], "str | None"]
R = TypeVar("R", CallToolResult, ReadResourceResult)

GARBAGE = str(MALFORMED)
"""What stands in a malformed answer where something useful should."""


class Tools:
    """What the tools of one server do: made once, by `await Tools.of(client)`.

    A tool is of one of these kinds:
        `read`: its answer is the current record of a key (`readOnlyHint: true`).
        `head`: its answer is the id of the current version of a key. No annotation says so; a team does.
        `act`: it has an effect (`readOnlyHint: false`, which is the default).
        `point`: it concerns no key and no action; the world may change before it, and that is all.

    Args:
        kinds: tool to what it does. A tool that is not among them acts.
        additive: the acting tools that only add (`destructiveHint: false`): they need not be actions of the scenario.
        idempotent: the acting tools whose call, repeated with the same arguments, has no further effect (`idempotentHint: true`).
    """

    def __init__(self, kinds: Mapping[str, Kind], *, additive: Collection[str] = (), idempotent: Collection[str] = ()) -> None:
        for tool, kind in kinds.items():
            if kind not in KINDS:
                raise BadInput(f"the kind of the MCP tool {tool!r} must be one of {', '.join(KINDS)}, not {kind!r}")
        self.kinds = dict(kinds)
        self.additive = frozenset(additive)
        self.idempotent = frozenset(idempotent)

    @classmethod
    async def of(cls, client: Client | ClientSession, kinds: Mapping[str, Kind] | None = None) -> Tools:
        """Asks the server for its tools.

        Args:
            client: the client, connected.
            kinds: what the team knows better than the annotations.

        Raises:
            BadInput: `kinds` names a tool that the server does not list, or no kind.
        """
        listed = {tool.name: tool async for tool in _listed(client)}
        for name in kinds or {}:
            if name not in listed:
                raise BadInput(f"the MCP server lists no tool {name!r} (its tools: {', '.join(listed) or 'none'}): correct its name")
        acting = {name: hints for name, tool in listed.items() if not (hints := _hints(tool))["read_only"]}
        return cls(
            {**{name: "act" if name in acting else "read" for name in listed}, **(kinds or {})},
            additive=[name for name, hints in acting.items() if not hints["destructive"]],
            idempotent=[name for name, hints in acting.items() if hints["idempotent"]],
        )

    def __repr__(self) -> str:
        return f"Tools({self.kinds!r}, additive={sorted(self.additive)}, idempotent={sorted(self.idempotent)})"


async def _listed(client: Client | ClientSession) -> Any:
    """The tools of all pages."""
    cursor: str | None = None
    while True:
        if isinstance(client, Client):
            page = await client.list_tools(cursor=cursor)
        else:
            page = await client.list_tools(params=PaginatedRequestParams(cursor=cursor))
        for tool in page.tools:
            yield tool
        cursor = page.next_cursor
        if cursor is None:
            return


def _hints(tool: Tool) -> dict[str, bool]:
    """The annotations of a tool, each with the default that the specification gives it."""
    said = tool.annotations
    return {
        "read_only": bool(said is not None and said.read_only_hint),
        "destructive": said is None or said.destructive_hint is None or said.destructive_hint,
        "idempotent": bool(said is not None and said.idempotent_hint),
    }


def key_of_tool(tool: str, arguments: Mapping[str, Any]) -> str:
    """The key that a reading tool is taken to read where nothing else is said: its name and its arguments' values, `get_price/42`."""
    return "/".join([tool, *(str(arguments[name]) for name in sorted(arguments))])


def payload(result: CallToolResult | ReadResourceResult) -> Any:
    """What a result says: its structured content, else its text, decoded where that is JSON; a list where it has several parts."""
    if isinstance(result, CallToolResult) and result.structured_content is not None:
        return result.structured_content
    parts = result.content if isinstance(result, CallToolResult) else result.contents
    said = [_decoded(part.text) if isinstance(part, TextContent | TextResourceContents) else part for part in parts]
    return said[0] if len(said) == 1 else said


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


class _Answer:
    """A result beside what it says, so that a version is recognised inside a text of JSON too."""

    def __init__(self, result: Any) -> None:
        self.result = result
        self.payload = payload(result)


class _Refused(Exception):
    """The server answered that the call failed (`isError`), so that nothing was read, or done."""

    def __init__(self, result: CallToolResult) -> None:
        super().__init__(str(payload(result)))
        self.result = result


class Session:
    """A client whose calls are points. Give it to the agent in place of its client: one for each episode, made in `setup`.

    It has `call_tool` and `read_resource`, can be entered as the client, and its `session` is on the ports too; all else is the client's own, and
    no point.

    Args:
        client: the client that reaches the server.
        tools: what the tools do.
        kit: the kit of the episode.
        key: from a reading tool and its arguments to the key that it reads, or None where it reads none (then it is a `point`). Default:
            `key_of_tool`, where the scenario has that key. A resource is read under its URI, where the scenario has that key.
        actions: acting tool to the action of the scenario, where that is not named as the tool.
        evidence: from an acting tool and its arguments to what else `kit.act` is told: `plan`, `basis`, `expect`, `idempotency_key`.
        outage: how an owner or a tool refuses: `error`, a JSON-RPC error, which the client raises as `MCPError`; or `result`, a result with
            `isError` (MCP specification 2025-11-25, Server Features, Tools, Error Handling). A resource has errors only.
        read_timeout_seconds: after how long an answer that never comes is given up, where the call does not say; by default what the client was
            made with, which is only known of a `Client`. It is real time on `asyncio-native`, so say a short one there; real answers of the
            server have what the client itself gives them.

    Where `fault_exceptions` of the adapter maps a fault, the adapter's exception is raised.
    """

    def __init__(
        self,
        client: Client | ClientSession,
        tools: Tools,
        kit: Kit,
        *,
        key: KeyOf | None = None,
        actions: Mapping[str, str] | None = None,
        evidence: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] | None = None,
        outage: Outage = "error",
        read_timeout_seconds: float | None = None,
    ) -> None:
        if outage not in ("error", "result"):
            raise BadInput(f"outage of an MCP session must be 'error' or 'result', not {outage!r}")
        self._client, self._tools, self._kit = client, tools, kit
        self._key, self._actions, self._evidence = key, dict(actions or {}), evidence
        self._outage = outage
        self._reads_as = "read"
        made_with = client.read_timeout_seconds if isinstance(client, Client) else None
        self._timeout = read_timeout_seconds if read_timeout_seconds is not None else made_with

    def heads(self) -> Session:
        """The same session for what validates: whatever it reads is asked of the owner as the current version, not as something to plan from."""
        return self._like(_reads_as="head")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def __aenter__(self) -> Session:
        """Connects the client, for an agent that does so itself, and again after a break: give it a new session around a new client."""
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._client.__aexit__(*raised)

    @property
    def session(self) -> Session:
        """The session inside a `Client`, on the ports as the client is."""
        return self._like(_client=self._client.session if isinstance(self._client, Client) else self._client)

    def _like(self, **other: Any) -> Session:
        session = object.__new__(Session)
        session.__dict__.update(self.__dict__, **other)
        return session

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None, read_timeout_seconds: float | None = None, *args: Any, **options: Any
    ) -> CallToolResult:
        """As `Client.call_tool`, with its arguments.

        Raises:
            MCPError: as the client, for a fault too.
            BadInput: the tool acts, may destroy, and the scenario has no such action; or `key` named a key that the scenario has not.
        """
        with kept(self._kit):
            return await self._called(name, arguments, read_timeout_seconds, *args, **options)

    async def _called(
        self, name: str, arguments: dict[str, Any] | None, read_timeout_seconds: float | None, *args: Any, **options: Any
    ) -> CallToolResult:
        timeout = read_timeout_seconds if read_timeout_seconds is not None else self._timeout
        sent = dict(arguments or {})

        async def send() -> CallToolResult:
            result: CallToolResult = await self._client.call_tool(name, arguments, read_timeout_seconds, *args, **options)
            if result.is_error:
                raise _Refused(result)
            return result

        kind, key = self._tools.kinds.get(name, "act"), None
        if kind in ("read", "head"):
            key = self._key_read(name, sent)
        try:
            if key is not None:
                return await self._ask("head" if kind == "head" else self._reads_as, key, timeout, send, lambda: self._garbage(name))
            if kind == "act" and self._is_action(name):
                return await self._act(name, sent, send)
            await self._kit.aio.point(key_of_tool(name, sent))
            return await send()
        except _Refused as refused:
            return refused.result
        except Fault as fault:
            if self._outage == "result" and not isinstance(fault, OwnerTimeout | ReplyLost):
                return CallToolResult(content=[TextContent(text=str(fault))], is_error=True)
            raise _error(fault, timeout) from fault

    async def read_resource(self, uri: str, **options: Any) -> ReadResourceResult:
        """As `Client.read_resource`, with its arguments.

        Raises:
            MCPError: as the client, for a fault too.
        """

        async def send() -> ReadResourceResult:
            return await self._client.read_resource(uri, **options)

        async def garbage() -> ReadResourceResult:
            return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=GARBAGE)])

        if uri not in self._kit.scenario.keys:
            await self._kit.aio.point(uri)
            return await send()
        try:
            with kept(self._kit):
                return await self._ask(self._reads_as, uri, self._timeout, send, garbage)
        except Fault as fault:
            raise _error(fault, self._timeout) from fault

    async def _ask(
        self, port: str, key: str, timeout: float | None, send: Callable[[], Awaitable[R]], garbage: Callable[[], Awaitable[R]]
    ) -> R:
        told_apart = hasattr(self._kit._system, "version_of")  # a hook of the team's is given the client's own result

        async def via() -> Any:
            result = await send()
            return result if told_apart else _Answer(result)

        answer = await getattr(self._kit.aio, port)(key, timeout=timeout, via=via)
        if answer is MALFORMED:
            return await garbage()
        return answer.result if isinstance(answer, _Answer) else answer  # type: ignore[no-any-return]

    async def _garbage(self, tool: str) -> CallToolResult:
        """A malformed answer, which the client refuses itself where the tool has an output schema."""
        result = CallToolResult(content=[TextContent(text=GARBAGE)])
        session = self._client.session if isinstance(self._client, Client) else self._client
        await session.validate_tool_result(tool, result)
        return result

    async def _act(self, tool: str, sent: Mapping[str, Any], send: Callable[[], Awaitable[CallToolResult]]) -> CallToolResult:
        kit, action = self._kit, self._actions.get(tool, tool)
        told = dict(_said("evidence", self._evidence, tool, sent)) if self._evidence is not None else {}
        agent = await kit.aio._enter("act", action)
        if tool in self._tools.idempotent:  # looked up only now, as an update may just have landed
            told.setdefault("idempotency_key", self._repeated(action, sent))
        plan, basis, expect, idempotency_key = (told.pop(name, None) for name in EVIDENCE)
        if told:
            raise BadInput(f"evidence= of the MCP session says {next(iter(told))!r}: it may say {', '.join(EVIDENCE)}")
        steps = tools.call(kit._landing, agent, action, sent, (plan, basis, expect, idempotency_key), send)
        return await kit.aio._drive(steps)  # type: ignore[no-any-return]

    def _repeated(self, action: str, sent: Mapping[str, Any]) -> str:
        """One idempotency key for a call and those that repeat it: the same act, with nothing done and nothing changed in between."""
        last = next(self._acts_since_update(), None)
        if last is not None and (last.action, last.args) == (action, sent) and last.idempotency_key is not None:
            return last.idempotency_key
        return f"{action} #{sum(isinstance(entry, Act) for entry in self._kit._log) + 1}"

    def _acts_since_update(self) -> Iterator[Act]:
        """The acts since the last update, latest first."""
        for entry in reversed(self._kit._log):
            if isinstance(entry, Landed) and isinstance(entry.what, Update) and entry.fired:
                return
            if isinstance(entry, Act):
                yield entry

    def _is_action(self, tool: str) -> bool:
        if self._kit.scenario.action(self._actions.get(tool, tool)) is not None:
            return True
        if tool not in self._tools.kinds:
            raise BadInput(
                f"the agent calls the MCP tool {tool!r}, which was not listed when Tools.of() asked: ask again once the server's list has "
                f"changed, or say what it does, as Tools({{{tool!r}: 'read', ...}})"
            )
        return tool not in self._tools.additive

    def _key_read(self, tool: str, sent: Mapping[str, Any]) -> str | None:
        keys = self._kit.scenario.keys
        if self._key is None:
            key: str | None = key_of_tool(tool, sent)
            return key if key in keys else None
        key = _said("key", self._key, tool, sent)
        if key is not None and key not in keys:
            raise BadInput(
                f"key= of the MCP session says that {tool} reads {key!r}, which no owner holds (keys: {', '.join(keys)}): "
                "add it to the scenario's owners, or return None"
            )
        return key


def _said(setting: str, function: Callable[[str, Mapping[str, Any]], Any], tool: str, sent: Mapping[str, Any]) -> Any:
    """What a function of the team's says of a call."""
    try:
        return function(tool, sent)
    except FencecheckError:
        raise
    except Exception as error:
        raise BadInput(f"{setting}= of the MCP session fails for {tool} with {dict(sent)!r}: {type(error).__name__}: {error}") from error


def _error(fault: Fault, timeout: float | None) -> MCPError:
    """The error that the client raises where the server, or the way to it, does what the fault says."""
    if isinstance(fault, OwnerTimeout) or (isinstance(fault, ReplyLost) and timeout is not None):
        return MCPError(REQUEST_TIMEOUT, str(fault))
    if isinstance(fault, ReplyLost):
        return MCPError(CONNECTION_CLOSED, str(fault))
    return MCPError(INVALID_PARAMS if isinstance(fault, RecordMissing) else INTERNAL_ERROR, str(fault))
