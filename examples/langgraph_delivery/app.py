"""The team's own application: an agent plans a delivery, a person approves it, and the delivery tool is called.

A LangGraph graph of three nodes, `plan`, `approval` and `dispatch`, with a checkpointer, so that an order waits for its approval on disk
and survives a restart of the process. The world is reached through the clients that a run is given, and through nothing else.

Two ways to dispatch: `dispatch` sends the plan as the checkpoint brings it back; `dispatch_fenced` has it cleared right before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from fencecheck.fence import PlanFence, Record


class ServiceError(Exception):
    """A service did not answer, or refused."""


class CannotPlan(Exception):
    """There is nothing to plan from."""


class Clients(Protocol):
    """What one agent reaches the outside with. Failures are `ServiceError`."""

    def read(self, key: str) -> Record:
        """The current record of `key`, from the service that owns it."""

    def head(self, key: str) -> str:
        """The id of the current record of `key`, from the service that owns it."""

    def record(self, id: str) -> Record:
        """The record of that id, from the record store."""

    def derive(self, value: dict[str, str], parents: list[str]) -> Record:
        """Writes a record that was derived from `parents` to the record store."""

    def deliver(self, arguments: Mapping[str, str], plan: str) -> str:
        """The delivery tool: sends a courier, and returns the tracking number."""

    def depends_on(self) -> tuple[str, ...]:
        """The facts on which the delivery tool is declared to depend."""

    def validated(self, basis: Mapping[str, str]) -> None:
        """Notes in the audit log which versions were current."""


@dataclass(frozen=True)
class Services:
    """The clients of the two agents, given to each run."""

    planner: Clients
    executor: Clients


@dataclass(frozen=True)
class Saved:
    """A derived record as the checkpoint keeps it: a plan, or its approval. The fence takes it for the record that it is."""

    id: str
    value: dict[str, str]
    parents: tuple[str, ...]
    key: None = None
    supersedes: None = None
    removed: bool = False


class State(TypedDict, total=False):
    """What the checkpointer keeps of an order: plain data, so that a checkpoint of last week can still be read."""

    order: str
    facts: dict[str, list[str]]  # key to the record id and the value that the plan was made from
    plan: dict[str, Any]
    approval: dict[str, Any] | None
    tracking: str


Graph = CompiledStateGraph[State, Services, State, State]


def model(order: str, facts: Mapping[str, list[str]]) -> dict[str, str]:
    """The stand-in for the model: writes the arguments of the delivery tool."""
    return {"order": order, "address": facts[f"order/{order}/requirement"][1], "window": facts[f"order/{order}/window"][1]}


def make_plan(clients: Clients, order: str, facts: Mapping[str, list[str]]) -> Record:
    """A new plan, written to the record store with the records that it was made from."""
    return clients.derive(model(order, facts), [id for id, _ in facts.values()])


def plan(state: State, runtime: Runtime[Services]) -> State:
    """Reads the requirement and the delivery window from their services, and plans."""
    clients, order = runtime.context.planner, state["order"]
    facts = {}
    for key in (f"order/{order}/requirement", f"order/{order}/window"):
        record = clients.read(key)
        if getattr(record, "key", None) != key or record.removed:
            raise CannotPlan(key)
        facts[key] = [record.id, record.value]
    return {"facts": facts, "plan": saved(make_plan(clients, order, facts))}


def approval(state: State, runtime: Runtime[Services]) -> State:
    """Waits for a person; the approval is a record too, made from the plan."""
    arguments = state["plan"]["value"]
    # Resuming runs this node again from its start: nothing before the interrupt may have an effect.
    if interrupt(arguments) != "approve":
        return {"approval": None}
    return {"approval": saved(runtime.context.executor.derive(arguments, [state["plan"]["id"]]))}


def dispatch(state: State, runtime: Runtime[Services]) -> State:
    """Sends what was approved."""
    approved = Saved(**(state["approval"] or {}))
    return {"tracking": runtime.context.executor.deliver(approved.value, approved.id)}


def dispatch_fenced(state: State, runtime: Runtime[Services]) -> State:
    """Sends what was approved if its premises are current, else what it comes to when planned once more from those that are, else nothing.

    The fence and the tool call are one node: with a checkpoint between them, a restart could come between them too.
    """
    clients = runtime.context.executor

    def replan(_: Record, changed: Mapping[str, Record]) -> Record:
        return make_plan(clients, state["order"], state["facts"] | {key: [record.id, record.value] for key, record in changed.items()})

    fence: PlanFence[Record] = PlanFence(clients.record, clients.head, replan, clients.validated)
    cleared = fence.clear(Saved(**(state["approval"] or {})), clients.depends_on())
    return {"tracking": clients.deliver(cleared.plan.value, cleared.plan.id)}


def saved(record: Record) -> dict[str, Any]:
    """The record as plain data."""
    return {"id": record.id, "value": record.value, "parents": record.parents}


def build(checkpointer: BaseCheckpointSaver[Any] | None, *, fenced: bool) -> Graph:
    """The compiled graph. It takes the thread of an order up where that was left, after a restart of the process too."""
    graph = StateGraph(State, context_schema=Services)
    graph.add_node("plan", plan)
    graph.add_node("approval", approval)
    graph.add_node("dispatch", dispatch_fenced if fenced else dispatch)
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "approval")
    graph.add_conditional_edges("approval", lambda state: "dispatch" if state["approval"] else END, ["dispatch", END])
    return graph.compile(checkpointer=checkpointer)
