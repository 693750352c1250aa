"""A client of the real `mcp` package on the ports: what is a point, which tools act, and how each fault looks to the agent."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest

pytest.importorskip("mcp", reason="mcp is not installed: pip install 'fencecheck[mcp]'")

from mcp import Client, MCPError
from mcp.server import MCPServer
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_PARAMS, REQUEST_TIMEOUT, CallToolResult, TextContent, ToolAnnotations

from fencecheck.errors import BadInput
from fencecheck.history import Act, Ended, Head, History, Landed, Read, Seam
from fencecheck.integrations.mcp import GARBAGE, Session, Tools, key_of_tool, payload
from fencecheck.interleaving import Event, MissingParent, Outage, ToolFault, Update, What
from fencecheck.judge import judge
from fencecheck.model import Action, Scenario
from fencecheck.run import faults
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.kit import Kit
from fencecheck.run.simulate import Runner

READS = ToolAnnotations(read_only_hint=True)
WIND, TIDE = "wind://harbour", "tide/harbour"
Rows = dict[str, tuple[int, str]]


def harbour(rows: Rows, done: list[dict[str, str]]) -> MCPServer:
    """A server whose tools are annotated in each way that there is."""
    server = MCPServer("harbour", log_level="CRITICAL")

    @server.resource("wind://{place}")
    def wind(place: str) -> dict[str, Any]:
        version, value = rows[f"wind://{place}"]
        return {"version": version, "value": value}

    @server.tool(annotations=READS)
    def tide(place: str) -> dict[str, Any]:
        if f"tide/{place}" not in rows:
            raise LookupError("no such place")
        return {"version": rows[f"tide/{place}"][0], "value": rows[f"tide/{place}"][1]}

    @server.tool(annotations=READS, structured_output=False)
    def tide_text(place: str) -> str:
        return json.dumps({"value": rows[f"tide/{place}"][1]})

    @server.tool(annotations=READS)
    def places() -> list[str]:
        return ["harbour"]

    @server.tool(annotations=READS)
    def tide_version(place: str) -> int:
        return rows[f"tide/{place}"][0]

    @server.tool()
    def sail(at: str) -> str:
        if at == "never":
            raise ValueError("no ship sails then")
        done.append({"at": at})
        return "sailed"

    @server.tool(annotations=ToolAnnotations(idempotent_hint=True))
    def moor(at: str) -> str:
        done.append({"at": at})
        return "moored"

    @server.tool(annotations=ToolAnnotations(destructive_hint=False))
    def note(text: str) -> str:
        return "noted"

    return server


class Harbour(AgentSystem):
    """Runs `body(session)`, and acts if that did not."""

    scenario = Scenario(
        owners={"weather": [WIND], "sea": [TIDE]},
        actions=[Action("sail", depends_on=[WIND, TIDE]), Action("moor", depends_on=[TIDE])],
        values={WIND: ("calm", "gale", "storm"), TIDE: ("06:10", "07:25", "08:40")},
    )
    runtime = "asyncio"
    halt_exceptions = (MCPError,)
    body: Any = None
    options: Mapping[str, Any] = {}
    kinds: Mapping[str, Any] = {}
    raw = False

    async def setup(self, kit: Kit) -> None:
        self.kit = kit
        self.rows: Rows = {}
        self.done: list[dict[str, str]] = []
        self.stack = AsyncExitStack()
        client = await self.stack.enter_async_context(Client(harbour(self.rows, self.done)))
        reached = client.session if self.raw else client
        self.session = Session(reached, await Tools.of(reached, self.kinds), kit, **self.options)

    async def run(self) -> None:
        await self.body(self.session)

    async def teardown(self) -> None:
        await self.stack.aclose()

    def publish(self, key: str, value: str) -> int:
        self.rows[key] = (self.rows.get(key, (0, ""))[0] + 1, value)
        return self.rows[key][0]

    def true_head(self, key: str) -> int | None:
        return self.rows[key][0] if key in self.rows else None


def run(body: Any, *events: tuple[int, What], base: type[Harbour] = Harbour, **attributes: Any) -> History:
    made = type("Made", (base,), {"body": staticmethod(body), **attributes})
    with Runner(made) as runner:
        return runner.run((), tuple(Event(at, what) for at, what in events))


def caught(body: Any, *events: tuple[int, What], **attributes: Any) -> MCPError:
    """The error that the agent's own client raises."""
    errors: list[MCPError] = []

    async def wrapped(session: Session) -> None:
        with pytest.raises(MCPError) as raised:
            await body(session)
        errors.append(raised.value)

    run(wrapped, *events, **attributes)
    return errors[0]


def tools_of(**kinds: Any) -> Tools:
    async def of() -> Tools | BadInput:
        async with Client(harbour({}, [])) as client:
            try:
                return await Tools.of(client, kinds)
            except BadInput as error:  # which a task group would wrap
                return error

    tools = asyncio.run(of())
    if isinstance(tools, BadInput):
        raise tools
    return tools


# -- what a tool does ---------------------------------------------------------------------------------------------------------------


def test_annotations_say_which_tools_read_and_which_act() -> None:
    tools = tools_of()
    assert {name for name, kind in tools.kinds.items() if kind == "read"} == {"tide", "tide_text", "tide_version", "places"}
    assert {name for name, kind in tools.kinds.items() if kind == "act"} == {"sail", "moor", "note"}
    assert tools.idempotent == {"moor"}
    assert tools.additive == {"note"}


def test_a_tool_without_annotations_acts_may_destroy_and_is_not_idempotent() -> None:
    tools = tools_of()
    assert tools.kinds["sail"] == "act"
    assert "sail" not in tools.additive | tools.idempotent


def test_a_team_knows_better_than_the_annotations() -> None:
    assert tools_of(note="point", tide_version="head").kinds | {} == tools_of().kinds | {"note": "point", "tide_version": "head"}


def test_a_tool_that_is_not_listed_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^the MCP server lists no tool 'sale' \(its tools: tide, .*, note\): correct its name$"):
        tools_of(sale="act")


def test_a_kind_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^the kind of the MCP tool 'sail' must be one of read, head, act, point, not 'write'$"):
        tools_of(sail="write")


def test_the_tools_of_all_pages_are_asked_for() -> None:
    from mcp.server import Server
    from mcp_types import ListToolsResult, Tool

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        at = int(params.cursor or 0) if params is not None else 0
        return ListToolsResult(
            tools=[Tool(name=f"tool {at}", input_schema={"type": "object"})], next_cursor=str(at + 1) if at < 2 else None
        )

    async def of() -> list[Tools]:
        async with Client(Server("pages", on_list_tools=list_tools)) as client:
            return [await Tools.of(client), await Tools.of(client.session)]

    for tools in asyncio.run(of()):
        assert list(tools.kinds) == ["tool 0", "tool 1", "tool 2"]


# -- what is a point ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [False, True])
def test_each_call_is_a_point_and_reaches_the_server(raw: bool) -> None:
    async def body(session: Session) -> None:
        wind = payload(await session.read_resource(WIND))
        tide = payload(await session.call_tool("tide", {"place": "harbour"}))
        assert payload(await session.call_tool("places"))["result"] == ["harbour"]
        reply = await session.call_tool("sail", {"at": f"{tide['value']} {wind['value']}"})
        assert payload(reply) == {"result": "sailed"}

    history = run(body, (1, Update(TIDE)), raw=raw)
    asked = [entry for entry in history.entries if isinstance(entry, Read | Act | Seam)]
    assert asked[:3] == [Read("agent", WIND, f"{WIND}@1"), Read("agent", TIDE, f"{TIDE}@2"), Seam("agent", "places")]
    assert [effect.args for effect in history.effects] == [{"at": "07:25 calm"}]
    assert history.ended == Ended("returned")


def test_a_version_is_recognised_in_a_text_of_json() -> None:
    async def body(session: Session) -> None:
        assert isinstance(await session.call_tool("tide_text", {"place": "harbour"}), CallToolResult)

    history = run(body, (0, Update(TIDE)), options={"key": lambda tool, arguments: f"tide/{arguments['place']}"})
    assert Read("agent", TIDE, f"{TIDE}@2") in history.entries


def test_a_hook_of_the_teams_is_given_the_clients_own_result() -> None:
    given: list[Any] = []

    class Told(Harbour):
        def version_of(self, key: str, answer: Any) -> int:
            given.append(answer)
            return int(payload(answer)["version"])

    async def body(session: Session) -> None:
        await session.call_tool("tide", {"place": "harbour"})

    assert Read("agent", TIDE, f"{TIDE}@1") in run(body, base=Told).entries
    assert [type(answer) for answer in given] == [CallToolResult]


def test_what_validates_asks_for_heads() -> None:
    async def body(session: Session) -> None:
        await session.heads().call_tool("tide", {"place": "harbour"})
        await session.heads().read_resource(WIND)
        await session.call_tool("tide_version", {"place": "harbour"})

    def key(tool: str, arguments: Mapping[str, Any]) -> str:
        return f"tide/{arguments['place']}"

    history = run(body, kinds={"tide_version": "head"}, options={"key": key})
    assert [(type(e), e.key) for e in history.entries if isinstance(e, Head | Read)] == [(Head, TIDE), (Head, WIND), (Head, TIDE)]


def test_keys_are_named_after_the_tool_and_its_arguments() -> None:
    assert key_of_tool("tide", {"place": "harbour", "day": 3}) == "tide/3/harbour"
    assert key_of_tool("places", {}) == "places"


def test_a_key_that_nobody_owns_is_refused_where_the_team_names_it() -> None:
    async def body(session: Session) -> None:
        await session.call_tool("places")

    with pytest.raises(BadInput, match=r"^key= of the MCP session says that places reads 'ports', which no owner holds"):
        run(body, options={"key": lambda tool, arguments: "ports"})


def test_a_destructive_tool_must_be_an_action_of_the_scenario_an_additive_one_need_not() -> None:
    async def notes(session: Session) -> None:
        assert payload(await session.call_tool("note", {"text": "fog"})) == {"result": "noted"}

    async def sails(session: Session) -> None:
        await session.call_tool("sail", {"at": "06:10"})

    moors = Scenario(owners={"weather": [WIND], "sea": [TIDE]}, actions=[Action("moor", depends_on=[TIDE])])
    assert Seam("agent", "note/fog") in run(notes, scenario=moors).entries
    with pytest.raises(BadInput, match=r"acts 'sail', which its scenario does not list"):
        run(sails, scenario=moors)
    assert [effect.action for effect in run(sails, scenario=moors, options={"actions": {"sail": "moor"}}).effects] == ["moor"]


def test_what_the_evidence_says_is_what_the_judge_is_told() -> None:
    async def body(session: Session) -> None:
        await session.call_tool("sail", {"at": "high water"})

    def evidence(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        assert (tool, arguments) == ("sail", {"at": "high water"})
        return {"basis": {TIDE: 1, WIND: 1}}

    history = run(body, (0, Update(TIDE)), options={"evidence": evidence})
    assert [(found.code, found.key) for found in judge(history).violations("at-validation")] == [("stale-act", TIDE)]


def test_all_else_is_the_clients_own() -> None:
    async def body(session: Session) -> None:
        assert session.server_info.name == "harbour"
        assert (await session.list_resource_templates()).resource_templates[0].uri_template == "wind://{place}"

    assert [entry for entry in run(body).entries if not isinstance(entry, Ended)] == []


def test_what_is_inside_the_client_is_on_the_ports_too() -> None:
    async def body(session: Session) -> None:
        tide = payload(await session.session.call_tool("tide", {"place": "harbour"}))
        await session.session.session.heads().read_resource(WIND)
        await session.session.call_tool("sail", {"at": tide["value"]})

    history = run(body, (1, Update(TIDE)))
    assert [type(entry) for entry in history.entries[:2]] == [Read, Landed]
    assert Head("agent", WIND, f"{WIND}@1") in history.entries
    assert [effect.args for effect in history.effects] == [{"at": "06:10"}]


class Connects(Harbour):
    """The agent connects by itself, each time that it wants something."""

    async def setup(self, kit: Kit) -> None:
        self.kit, self.rows, self.done = kit, {}, []
        self.server = harbour(self.rows, self.done)
        async with Client(self.server) as client:
            self.tools = await Tools.of(client)

    async def run(self) -> None:
        await self.body(lambda: Session(Client(self.server), self.tools, self.kit))

    async def teardown(self) -> None:
        pass


def test_an_agent_may_connect_again() -> None:
    async def body(connect: Any) -> None:
        async with connect() as session:
            assert isinstance(session, Session)
            tide = payload(await session.call_tool("tide", {"place": "harbour"}))
            await session.call_tool("moor", {"at": tide["value"]})
        async with connect() as session:
            await session.call_tool("moor", {"at": tide["value"]})  # it does not know whether that was done

    history = run(body, (1, Update(TIDE)), base=Connects)
    assert [entry.outcome for entry in history.entries if isinstance(entry, Act)] == ["done", "repeated"]
    assert "stale-act" in [finding.code for finding in judge(history).findings]


def test_a_tool_that_the_server_lists_only_later_is_told() -> None:
    class Grows(Connects):
        async def run(self) -> None:
            self.server.tool(annotations=READS)(self.depth)
            self.server.tool()(self.anchor)
            async with Session(Client(self.server), self.tools, self.kit) as session:
                await self.body(session)

        def depth(self) -> str:
            return "deep"

        def anchor(self, at: str) -> str:
            return "anchored"

    async def asks(session: Session) -> None:
        await session.call_tool("depth")

    async def acts(session: Session) -> None:
        await session.call_tool("anchor", {"at": "06:10"})

    with pytest.raises(BadInput, match=r"^the agent calls the MCP tool 'depth', which was not listed when Tools.of\(\) asked"):
        run(asks, base=Grows)
    anchors = Scenario(Harbour.scenario.owners, [Action("anchor", depends_on=[TIDE])], values=Harbour.scenario.values)
    assert [effect.action for effect in run(acts, base=Grows, scenario=anchors).effects] == ["anchor"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"key": lambda tool, arguments: "ports"}, r"^key= of the MCP session says that tide reads 'ports', which no owner holds"),
        ({"key": lambda tool, arguments: arguments["port"]}, r"^key= of the MCP session fails for tide with .*: KeyError: 'port'"),
        (
            {"evidence": lambda tool, arguments: arguments["plan"]},
            r"^evidence= of the MCP session fails for sail with .*: KeyError: 'plan'",
        ),
        ({"actions": {"sail": "sale"}}, "acts 'sale', which its scenario does not list"),
    ],
)
def test_what_is_wrong_with_the_adapter_is_told_though_the_agent_goes_on_after_each_exception(options: Any, said: str) -> None:
    async def body(session: Session) -> None:
        for tool, arguments in (("tide", {"place": "harbour"}), ("sail", {"at": "06:10"}), ("moor", {"at": "06:10"})):
            with contextlib.suppress(Exception):
                await session.call_tool(tool, arguments)

    with pytest.raises(BadInput, match=said):
        run(body, options=options)


# -- what the server itself refuses -------------------------------------------------------------------------------------------------


def test_a_call_that_failed_at_the_server_was_no_answer_and_no_effect() -> None:
    async def body(session: Session) -> None:
        assert (await session.call_tool("sail", {"at": "never"})).is_error
        assert (await session.call_tool("tide", {"place": "nowhere"})).is_error

    history = run(body, options={"key": lambda tool, arguments: TIDE})
    assert [entry.outcome for entry in history.entries if isinstance(entry, Act)] == ["refused"]
    assert not history.effects
    assert Read("agent", TIDE, None, "refused") in history.entries


# -- faults -------------------------------------------------------------------------------------------------------------------------


async def asks_tide(session: Session) -> CallToolResult:
    return await session.call_tool("tide", {"place": "harbour"})


async def sails(session: Session) -> CallToolResult:
    return await session.call_tool("sail", {"at": "06:10"})


@pytest.mark.parametrize(
    ("body", "event"), [(asks_tide, Outage("sea", "refuse")), (sails, ToolFault("sail", "refuse"))], ids=["owner", "tool"]
)
def test_an_outage_is_an_error_or_a_result_as_the_team_says(body: Any, event: What) -> None:
    error = caught(body, (0, event))
    assert error.code == INTERNAL_ERROR
    assert isinstance(error.__cause__, faults.Fault)

    async def returns(session: Session) -> None:
        result = await body(session)
        assert result.is_error
        assert isinstance(result.content[0], TextContent)
        assert result.content[0].text == error.message

    assert run(returns, (0, event), options={"outage": "result"}).ended == Ended("returned")


def test_an_outage_of_a_resource_is_always_an_error() -> None:
    for outage in ("error", "result"):
        error = caught(lambda session: session.read_resource(WIND), (0, Outage("weather", "refuse")), options={"outage": outage})
        assert error.code == INTERNAL_ERROR


def test_an_owner_that_hangs_runs_into_the_clients_timeout() -> None:
    async def body(session: Session) -> None:
        loop = asyncio.get_running_loop()
        for given, waited in ((None, 60.0), (7.5, 7.5)):
            before = loop.time()
            with pytest.raises(MCPError) as raised:
                await session.call_tool("tide", {"place": "harbour"}, given)
            assert raised.value.code == REQUEST_TIMEOUT
            assert loop.time() - before == waited

    history = run(body, (0, Outage("sea", "hang")), options={"read_timeout_seconds": 60.0})
    assert history.ended == Ended("returned")


def test_without_a_timeout_the_agent_is_stuck() -> None:
    """And the client is closed for all that: contextlib can be made to go round in a circle there, for ever."""
    raised: list[type[BaseException]] = []

    class Watched(Harbour):
        timeout_s = 3.0

        async def teardown(self) -> None:
            try:
                await super().teardown()
            except BaseException as error:
                raised.append(type(error))
                raise

    ended = run(asks_tide, (0, Outage("sea", "hang")), base=Watched).ended
    assert ended.how == "stuck"
    assert ended.detail.startswith(f"waits for the answer of sea for {TIDE}, with no timeout")
    assert raised == [asyncio.CancelledError]


def test_a_reply_that_is_lost_is_an_effect_and_an_error() -> None:
    for options, code in (
        ({}, CONNECTION_CLOSED),
        ({"read_timeout_seconds": 5.0}, REQUEST_TIMEOUT),
        ({"outage": "result"}, CONNECTION_CLOSED),
    ):
        error = caught(sails, (0, ToolFault("sail", "lost-reply")), options=options)
        assert error.code == code
    history = run(sails, (0, ToolFault("sail", "lost-reply")))
    assert [effect.outcome for effect in history.effects] == ["lost-reply"]
    assert history.ended.how == "halted"


def test_a_malformed_answer_is_refused_by_the_client_where_the_tool_has_an_output_schema() -> None:
    async def body(session: Session) -> None:
        with pytest.raises(RuntimeError, match="has an output schema but did not return structured content"):
            await session.call_tool("tide", {"place": "harbour"})
        assert payload(await session.call_tool("tide_text", {"place": "harbour"})) == GARBAGE

    def key(tool: str, arguments: Mapping[str, Any]) -> str:
        return f"tide/{arguments['place']}"

    assert run(body, (0, Outage("sea", "malformed")), options={"key": key}).ended == Ended("returned")


def test_a_malformed_resource_is_a_text_that_means_nothing() -> None:
    async def body(session: Session) -> None:
        assert payload(await session.read_resource(WIND)) == GARBAGE

    assert run(body, (0, Outage("weather", "malformed"))).ended == Ended("returned")


def test_a_record_that_is_missing_is_an_unknown_resource() -> None:
    assert caught(lambda session: session.read_resource(WIND), (0, MissingParent(WIND))).code == INVALID_PARAMS


def test_the_adapters_own_exception_for_a_fault_comes_first() -> None:
    class SeaError(Exception):
        pass

    async def body(session: Session) -> None:
        with pytest.raises(SeaError):
            await asks_tide(session)

    assert run(body, (0, Outage("sea", "refuse")), fault_exceptions={faults.Fault: SeaError}).ended == Ended("returned")


def test_an_outage_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^outage of an MCP session must be 'error' or 'result', not 'raise'$"):
        run(asks_tide, options={"outage": "raise"})


def test_evidence_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^evidence= of the MCP session says 'base': it may say plan, basis, expect, idempotency_key$"):
        run(sails, options={"evidence": lambda tool, arguments: {"base": {}}})


# -- idempotent tools ---------------------------------------------------------------------------------------------------------------


async def retries(session: Session, tool: str) -> None:
    try:
        await session.call_tool(tool, {"at": "06:10"})
    except MCPError:
        await session.call_tool(tool, {"at": "06:10"})


@pytest.mark.parametrize(("tool", "found"), [("moor", []), ("sail", ["duplicate-act"])])
def test_an_idempotent_tool_called_again_has_no_further_effect(tool: str, found: list[str]) -> None:
    history = run(lambda session: retries(session, tool), (0, ToolFault(tool, "lost-reply")))
    assert [finding.code for finding in judge(history).findings if finding.code == "duplicate-act"] == found
    assert len(history.effects) == 1 + len(found)


def test_the_same_call_after_another_or_after_an_update_is_another() -> None:
    async def body(session: Session) -> None:
        for at in ("06:10", "07:25", "06:10", "06:10"):
            await session.call_tool("moor", {"at": at})

    assert len(run(body).effects) == 3
    assert len(run(body, (3, Update(TIDE))).effects) == 4
