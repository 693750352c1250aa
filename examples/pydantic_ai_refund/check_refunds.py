"""The adapters: `fencecheck check examples/pydantic_ai_refund/check_refunds.py:NaiveRefund`, and `:FencedRefund`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refunds import READS, Deps, build, build_fenced

from fencecheck import Action, Kit, Scenario
from fencecheck.integrations.pydantic_ai import PydanticAISystem

AMOUNT, ACCOUNT = "order/42/amount", "customer/7/account"


class Services:
    """The application's services: each fact with its versions, and the money that was sent."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.facts: dict[str, list[str]] = {}
        self.sent: list[tuple[str, str]] = []

    def get(self, key: str) -> dict[str, Any]:
        return {"version": self.current(key), "value": self.facts[key][-1]}

    def current(self, key: str) -> str | None:
        return f"{key}#{len(self.facts[key])}" if key in self.facts else None

    async def head(self, key: str) -> str:
        return await self.kit.aio.head(key, via=lambda: self.current(key))  # type: ignore[no-any-return]

    def depends_on(self) -> tuple[str, ...]:
        return self.kit.declared("refund")

    def validated(self, basis: Mapping[str, str]) -> None:
        self.kit.validated(basis)

    def pay(self, account: str, amount: str) -> str:
        self.sent.append((account, amount))
        return f"transfer {len(self.sent)}"


class NaiveRefund(PydanticAISystem):
    """Pays what was approved."""

    scenario = Scenario(
        owners={"orders": [AMOUNT], "customers": [ACCOUNT]},
        actions=[Action("refund", depends_on=[AMOUNT, ACCOUNT])],
        values={
            AMOUNT: ["EUR 80.00", "EUR 65.50", "EUR 71.20", "EUR 12.00"],
            ACCOUNT: ["DE02 1203 0000", "FR14 2004 1010", "NL91 0417 1643", "AT61 1904 3002"],
        },
    )
    prompt = "Refund order 42 to customer 7."
    reads = READS

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.services = Services(kit)

    def build(self) -> Any:
        return build()

    def deps(self) -> Deps:
        return Deps(self.services)

    def publish(self, key: str, value: str) -> str | None:
        self.services.facts.setdefault(key, []).append(value)
        return self.services.current(key)

    def true_head(self, key: str) -> str | None:
        return self.services.current(key)


class FencedRefund(NaiveRefund):
    """Has each refund cleared by PlanFence right before the money is sent."""

    def build(self) -> Any:
        return build_fenced(self.services)
