"""The team's own agent: it finds out when a show starts and what a seat costs, asks a person, and books, all through an MCP client.

Two ways to book: `book` sends what was approved; `book_fenced` has it cleared right before.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mcp_types import CallToolResult, ReadResourceResult, TextResourceContents

from fencecheck.fence import Record
from fencecheck.fence.aio import PlanFence


class BoxOfficeError(Exception):
    """The box office did not answer, or not with what was asked for."""


class Client(Protocol):
    """What the agent needs of an MCP client."""

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None) -> CallToolResult:
        """Calls a tool."""

    async def read_resource(self, uri: str) -> ReadResourceResult:
        """Reads a resource."""


@dataclass(frozen=True)
class Note:
    """What the agent has read or decided: a record, as the fence takes it."""

    id: str
    key: str | None
    value: Any
    parents: tuple[str, ...] = ()
    supersedes: str | None = None
    removed: bool = False
    version: int = 0


class Office(Protocol):
    """The team's own rules and audit log."""

    def depends_on(self) -> tuple[str, ...]:
        """The facts on which a booking is declared to depend."""

    async def planned(self, arguments: Mapping[str, str], facts: list[Note]) -> None:
        """What was decided, and from what."""

    def validated(self, basis: Mapping[str, str]) -> None:
        """Which facts were current."""


def decoded(part: Any) -> Any:
    """The JSON that a part of a resource holds, or None."""
    try:
        return json.loads(part.text) if isinstance(part, TextResourceContents) else None
    except ValueError:
        return None


class Agent:
    """Books a seat for one show.

    Args:
        client: the MCP client.
        show: the number of the show.
        approve: asks a person.
        office: the rules and the audit log.
    """

    def __init__(self, client: Client, show: str, approve: Callable[[Any], Awaitable[bool]], office: Office) -> None:
        self.client, self.show, self.approve, self.office = client, show, approve, office
        self.notes: dict[str, Note] = {}
        self.keys = (f"show://{show}", f"get_price/{show}")

    async def look(self, key: str) -> Note:
        """What the box office says now, by the resource or the tool that the key names."""
        if "://" in key:
            said = decoded((await self.client.read_resource(key)).contents[0])
        else:
            try:
                result = await self.client.call_tool("get_price", {"show": self.show})
            except RuntimeError as error:  # the client refuses what is not as the tool's output schema says
                raise BoxOfficeError(key) from error
            said = None if result.is_error else result.structured_content
        if not isinstance(said, dict) or "version" not in said:
            raise BoxOfficeError(key)
        return self.noted(Note(f"{key}#{said['version']}", key, said["value"], version=said["version"]))

    def noted(self, note: Note) -> Note:
        """Keeps it, so that it can be found again as the parent of another."""
        self.notes[note.id] = note
        return note

    async def decide(self, facts: list[Note]) -> Note:
        """The stand-in for the model: the arguments of the booking, from the start and the price, in this order."""
        starts, price = facts
        arguments = {"show": self.show, "starts": starts.value, "price": price.value}
        await self.office.planned(arguments, facts)
        return self.noted(Note(f"plan {len(self.notes)}", None, arguments, (starts.id, price.id)))

    async def book(self) -> str:
        """Books what was approved."""
        plan = await self.decide([await self.look(key) for key in self.keys])
        return await self.send(plan) if await self.approve(plan.value) else "not approved"

    async def book_fenced(self) -> str:
        """Books what was approved if it is current, else what it comes to when planned once more, else nothing (`Halt`)."""
        plan = await self.decide([await self.look(key) for key in self.keys])
        if not await self.approve(plan.value):
            return "not approved"
        fence: PlanFence[Record] = PlanFence(self.recall, self.head, self.replan, self.office.validated)
        return await fence.guard(plan, self.office.depends_on(), lambda cleared: self.send(cleared.plan))

    async def send(self, plan: Record) -> str:
        """Calls the tool that books."""
        result = await self.client.call_tool("book", plan.value)
        if result.is_error:
            raise BoxOfficeError("book")
        return "booked"

    async def recall(self, id: str) -> Record:
        """The note of that id."""
        return self.notes[id]

    async def head(self, key: str) -> str:
        """The id of the current version."""
        return (await self.look(key)).id

    async def replan(self, plan: Record, changed: Mapping[str, Record]) -> Record:
        """The plan once more, from the facts that changed and those that did not."""
        facts = {note.key: note for note in (self.notes[id] for id in plan.parents)}
        return await self.decide([self.notes[changed[key].id] if key in changed else facts[key] for key in self.keys])
