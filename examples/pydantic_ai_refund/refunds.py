"""The team's own application: an agent that refunds orders, and a person who approves each refund.

A PydanticAI agent with three tools. `get_order` and `get_account` read, `refund` pays and needs approval; they are plain functions, which
PydanticAI runs in threads. While it waits for the person, the conversation is what the application has saved of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic_ai import Agent, DeferredToolRequests, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from fencecheck.integrations.pydantic_ai import Fence


class Clients(Protocol):
    """The services behind the tools."""

    def get(self, key: str) -> dict[str, Any]:
        """The current version of a fact, as `{"version": ..., "value": ...}`."""

    async def head(self, key: str) -> str:
        """The id of the current version."""

    def depends_on(self) -> tuple[str, ...]:
        """The facts on which a refund is declared to depend."""

    def validated(self, basis: Mapping[str, str]) -> None:
        """Notes in the audit log which versions were current."""

    def pay(self, account: str, amount: str) -> str:
        """Sends the money; the number of the transfer."""


@dataclass
class Deps:
    """What the tools are given."""

    clients: Clients


READS = {"get_order": "order/{order}/amount", "get_account": "customer/{customer}/account"}
"""The tools that read, and the fact that each asks for."""


def get_order(ctx: RunContext[Deps], order: int) -> dict[str, Any]:
    """The amount of an order."""
    return ctx.deps.clients.get(READS["get_order"].format(order=order))


def get_account(ctx: RunContext[Deps], customer: int) -> dict[str, Any]:
    """The account of a customer, to which refunds go."""
    return ctx.deps.clients.get(READS["get_account"].format(customer=customer))


def refund(ctx: RunContext[Deps], account: str, amount: str) -> str:
    """Pays an amount to an account."""
    return ctx.deps.clients.pay(account, amount)


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The stand-in for the model: reads the order and the account, refunds, and starts again where it is told to."""
    answers = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    number = len(answers)
    if not answers or answers[-1].outcome == "retried":
        return ModelResponse(
            [
                ToolCallPart("get_order", {"order": 42}, tool_call_id=f"order-{number}"),
                ToolCallPart("get_account", {"customer": 7}, tool_call_id=f"account-{number}"),
            ]
        )
    if answers[-1].tool_name == "get_account":
        amount, account = (value(part.content) for part in answers[-2:])
        if amount is None or account is None:
            return ModelResponse([TextPart("The order or the account cannot be read.")])
        return ModelResponse([ToolCallPart("refund", {"account": account, "amount": amount}, tool_call_id=f"refund-{number}")])
    return ModelResponse([TextPart("The order was refunded.")])


def value(answer: Any) -> Any:
    """What a fact says, or None for what is no fact, such as an error."""
    return answer.get("value") if isinstance(answer, Mapping) else None


def build(fence: Fence | None = None) -> Agent[Deps, str | DeferredToolRequests]:
    """The agent, guarded by the fence if there is one."""
    agent = Agent(
        FunctionModel(model),
        deps_type=Deps,
        output_type=[str, DeferredToolRequests],
        tools=[get_order, get_account],
        capabilities=[fence] if fence is not None else [],
    )
    agent.tool(requires_approval=True)(refund)
    return agent


def build_fenced(clients: Clients) -> Agent[Deps, str | DeferredToolRequests]:
    """The agent whose refunds go out only if what they were decided from is current, right before the money is sent."""
    return build(
        Fence(
            reads=READS,
            acts={"refund": lambda args: clients.depends_on()},
            head=clients.head,
            validated=clients.validated,
            timeout_s=5.0,
        )
    )
