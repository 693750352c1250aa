"""The adapters: `fencecheck check examples/mcp_tickets/check_tickets.py:Naive`, `:Fenced`, `:NaiveOverStdio` and `:FencedOverStdio`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar

from box_office import BoxOffice, build
from mcp import Client, MCPError, StdioServerParameters
from tickets import Agent, BoxOfficeError, Note

from fencecheck import Action, AgentSystem, Kit, Scenario
from fencecheck.fence import Halt
from fencecheck.integrations.mcp import Session, Tools

STARTS, PRICE = "show://42", "get_price/42"


class Tickets(AgentSystem):
    """What all four share. The box office keeps its own versions: `self.office` is its database."""

    scenario = Scenario(
        owners={"programme": [STARTS], "prices": [PRICE]},
        actions=[Action("book", depends_on=[STARTS, PRICE])],
        values={STARTS: ["Monday 19:30", "Tuesday 20:00", "Friday 18:00"], PRICE: ["4,500 yen", "5,200 yen", "3,900 yen"]},
    )
    halt_exceptions = (MCPError, BoxOfficeError, Halt)
    fenced: ClassVar[bool] = False
    session: Session
    office: BoxOffice

    async def run(self) -> None:
        agent = Agent(self.session, "42", self.approve, self)
        await (agent.book_fenced() if self.fenced else agent.book())

    async def approve(self, arguments: Any) -> bool:
        await self.kit.aio.pause("approval")
        return True

    async def planned(self, arguments: Mapping[str, str], facts: list[Note]) -> None:
        self.plan = await self.kit.aio.derive(arguments, [(fact.key, fact.version) for fact in facts])

    def depends_on(self) -> tuple[str, ...]:
        return self.kit.declared("book")

    def validated(self, basis: Mapping[str, str]) -> None:
        self.kit.validated(basis)

    def evidence(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"plan": self.plan}

    async def publish(self, key: str, value: str) -> int:
        return self.office.change(key, value)

    def true_head(self, key: str) -> int | None:
        try:
            return self.office.current(key)["version"]
        except LookupError:
            return None


class InMemory(Tickets):
    """The server in this process, on a loop in virtual time. A client of its own for each episode, as nothing can stay on such a loop."""

    runtime = "asyncio"

    async def open(self) -> None:
        self.office = BoxOffice(":memory:")
        self.server = build(self.office)

    async def shutdown(self) -> None:
        self.office.close()

    async def setup(self, kit: Kit) -> None:
        self.kit, self.office = kit, self.worker.office
        self.office.clear()
        self.stack = AsyncExitStack()
        client = await self.stack.enter_async_context(Client(self.worker.server, read_timeout_seconds=5.0))
        self.session = Session(client, await Tools.of(client), kit, evidence=self.evidence)

    async def teardown(self) -> None:
        await self.stack.aclose()


class Naive(InMemory):
    """Books what was approved."""


class Fenced(InMemory):
    """Has what was approved cleared by PlanFence right before it is booked."""

    fenced = True


class OverStdio(Tickets):
    """The server as a process of its own, begun once for each worker. What is published comes from the staff, through the same server."""

    runtime = "asyncio-native"

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        file = str(Path(self.stack.enter_context(tempfile.TemporaryDirectory())) / "box-office.sqlite")
        self.office = BoxOffice(file)
        self.stack.callback(self.office.close)
        server = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("box_office.py")), file])
        self.client = await self.stack.enter_async_context(Client(server))
        self.tools = await Tools.of(self.client)

    async def shutdown(self) -> None:
        await self.stack.aclose()

    async def setup(self, kit: Kit) -> None:
        self.kit, self.office = kit, self.worker.office
        self.office.clear()
        self.session = Session(self.worker.client, self.worker.tools, kit, evidence=self.evidence, read_timeout_seconds=0.02)

    async def publish(self, key: str, value: str) -> int:
        result = await self.worker.client.call_tool("change", {"key": key, "value": value})
        return int(result.structured_content["result"])


class NaiveOverStdio(OverStdio):
    """Books what was approved."""


class FencedOverStdio(OverStdio):
    """Has what was approved cleared by PlanFence right before it is booked."""

    fenced = True
