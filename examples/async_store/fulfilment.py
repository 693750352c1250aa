"""The team's own agent: it plans a parcel from an order's facts, waits for a person's approval, and sends it.

Each step is in the database before the next begins, so that a process which was restarted goes on where the last one was. Two ways to send:
`fulfil` sends what was approved; `fulfil_fenced` has it cleared right before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from orders import Stored

from fencecheck.fence.aio import PlanFence


class Store(Protocol):
    """What the agent needs of the repository. Each method raises LookupError for what is not there."""

    async def current(self, key: str) -> Stored: ...
    async def head(self, key: str) -> str: ...
    async def record(self, id: str) -> Stored: ...
    async def save_plan(self, arguments: dict[str, Any], parents: list[str], order: str | None = None) -> Stored: ...
    async def progress(self, order: str) -> tuple[str | None, str]: ...
    async def sent(self, order: str) -> None: ...


@dataclass(frozen=True)
class Fulfilment:
    """The agent.

    Args:
        store: the repository.
        approval: returns when the plan of that order, by its id, was approved.
        send: the courier's tool, with an idempotency key.
        depends_on: the facts on which that tool is declared to depend.
        validated: notes in the audit log which versions were current.
    """

    store: Store
    approval: Callable[[str, str], Awaitable[None]]
    send: Callable[[Stored, str], Awaitable[Any]]
    depends_on: Callable[[], Iterable[str]]
    validated: Callable[[Mapping[str, str]], object]

    async def fulfil(self, order: str) -> None:
        """Sends what was approved."""
        plan = await self.approved(order)
        if plan is not None:
            await self.send_once(order, plan)

    async def fulfil_fenced(self, order: str) -> None:
        """Sends what was approved if it is current, else what it comes to when planned once more, else nothing (`Halt`)."""
        plan = await self.approved(order)
        if plan is None:
            return
        fence: PlanFence[Stored] = PlanFence(
            self.store.record, self.store.head, lambda plan, changed: self.replan(order, plan, changed), self.validated
        )
        await fence.guard(plan, self.depends_on(), lambda cleared: self.send_once(order, cleared.plan))

    async def approved(self, order: str) -> Stored | None:
        """The plan of the order as soon as it is approved; None where the parcel went out before."""
        id, status = await self.store.progress(order)
        if status == "sent":
            return None
        if id is not None:
            plan = await self.store.record(id)
        else:
            facts = [await self.store.current(key) for key in keys_of(order)]
            plan = await self.store.save_plan(decided(order, facts), [fact.id for fact in facts], order)
        if status != "approved":
            await self.approval(order, plan.id)
        return plan

    async def replan(self, order: str, plan: Stored, changed: Mapping[str, Stored]) -> Stored:
        """The plan once more, from the facts that changed and those that did not."""
        facts = {fact.key: fact for fact in [await self.store.record(id) for id in plan.parents]} | dict(changed)
        return await self.store.save_plan(decided(order, [facts[key] for key in keys_of(order)]), [fact.id for fact in facts.values()])

    async def send_once(self, order: str, plan: Stored) -> None:
        """Sends, and notes it. A second attempt has the same key, so that the courier sends no second parcel."""
        await self.send(plan, f"order {order}")
        await self.store.sent(order)


def keys_of(order: str) -> tuple[str, str]:
    """The facts that decide about a parcel."""
    return f"order/{order}/address", f"order/{order}/window"


def decided(order: str, facts: list[Stored]) -> dict[str, Any]:
    """The stand-in for the model: the courier's arguments, from the address and the window, in this order."""
    address, window = facts
    return {"order": order, "to": address.value, "window": window.value}
