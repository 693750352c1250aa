"""The adapters: `fencecheck check examples/async_store/check_fulfilment.py:Naive`, and `:Fenced`."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar

import httpx
from approvals import Inbox
from database import Pool
from fulfilment import Fulfilment
from orders import Orders, Stored

from fencecheck import Action, AgentSystem, Kit, Record, Scenario, faults
from fencecheck.fence import Halt

ADDRESS, WINDOW = "order/42/address", "order/42/window"
TIMEOUT_S = 0.02  # real time, since aiosqlite works in threads


class Ports:
    """The repository on the ports of the kit: each call goes to the real one, by `via=`. Plans are derived records."""

    def __init__(self, orders: Orders, kit: Kit) -> None:
        self.orders, self.kit = orders, kit
        self.plans: dict[str, Record] = {}  # the kit's record of each plan, by its id in the database

    async def current(self, key: str) -> Stored:
        return answered(await self.kit.aio.read(key, timeout=TIMEOUT_S, via=lambda: self.orders.current(key)), key)

    async def head(self, key: str) -> str:
        return await self.kit.aio.head(key, timeout=TIMEOUT_S, via=lambda: self.orders.head(key))  # type: ignore[no-any-return]

    async def record(self, id: str) -> Stored:
        return await self.kit.aio.record(self.plans.get(id, id), via=lambda: self.orders.record(id))  # type: ignore[no-any-return]

    async def save_plan(self, arguments: dict[str, Any], parents: list[str], order: str | None = None) -> Stored:
        saved: list[Stored] = []

        async def save() -> None:
            saved.append(await self.orders.save_plan(arguments, parents, order))

        record = await self.kit.aio.derive(arguments, parents, via=save)
        self.plans[saved[0].id] = record
        return saved[0]

    async def progress(self, order: str) -> tuple[str | None, str]:
        await self.kit.aio.point("look up the order")
        return await self.orders.progress(order)

    async def sent(self, order: str) -> None:
        await self.kit.aio.point("note that it went out")
        await self.orders.sent(order)


def answered(answer: Any, key: str) -> Stored:
    """The answer, if it is one."""
    if not isinstance(answer, Stored):
        raise LookupError(f"no answer for {key}")
    return answer


class Delivery(AgentSystem):
    """What both share: one file, one pool and one client of the webhook for each worker, empty tables for each episode."""

    scenario = Scenario(
        owners={"addresses": [ADDRESS], "calendar": [WINDOW]},
        actions=[Action("send", depends_on=[ADDRESS, WINDOW])],
        values={
            ADDRESS: ["2-21 Shibuya, Tokyo", "3-1 Umeda, Osaka", "5-4 Sakae, Nagoya"],
            WINDOW: ["Monday morning", "Tuesday afternoon", "Friday evening"],
        },
    )
    runtime = "asyncio-native"
    halt_exceptions = (LookupError, faults.Fault, Halt)
    fault_exceptions = {faults.OwnerUnavailable: LookupError, faults.RecordMissing: LookupError}
    fenced: ClassVar[bool] = False

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.pool = await Pool.open(str(Path(folder) / "orders.sqlite"))
        self.stack.push_async_callback(self.pool.close)
        self.orders = Orders(self.pool)
        await self.orders.create()

    async def shutdown(self) -> None:
        await self.stack.aclose()

    async def setup(self, kit: Kit) -> None:
        self.kit, self.orders = kit, self.worker.orders
        await self.orders.clear()
        self.ports = Ports(self.orders, kit)
        self.inbox = Inbox(self.orders)

    async def run(self) -> None:
        agent = Fulfilment(self.ports, self.approval, self.send, lambda: self.kit.declared("send"), self.kit.validated)
        await (agent.fulfil_fenced("42") if self.fenced else agent.fulfil("42"))

    async def restart(self) -> None:
        """The process dies. What stands in the database is durable; who waited, and the plans held in memory, are forgotten."""
        self.inbox = Inbox(self.orders)

    async def approval(self, order: str, plan: str) -> None:
        """The agent waits; meanwhile the person sees the plan, and approves it by the webhook."""
        await self.kit.aio.pause("approval")
        async with asyncio.TaskGroup() as group:
            group.create_task(self.person(order, plan))
            await self.inbox.approval(order, plan)

    async def person(self, order: str, plan: str) -> None:
        transport = httpx.ASGITransport(self.inbox.app())
        async with httpx.AsyncClient(transport=transport, base_url="http://delivery") as client:
            (await client.post("/approvals", json={"order": order, "plan": plan})).raise_for_status()

    async def send(self, plan: Stored, key: str) -> Any:
        return await self.kit.aio.act("send", plan.value, plan=self.ports.plans[plan.id], idempotency_key=key)

    async def publish(self, key: str, value: str) -> str:
        return await self.orders.change(key, value)

    async def true_head(self, key: str) -> str | None:
        try:
            return await self.orders.head(key)
        except LookupError:
            return None


class Naive(Delivery):
    """Sends what was approved."""


class Fenced(Delivery):
    """Has what was approved cleared by PlanFence right before it is sent."""

    fenced = True
