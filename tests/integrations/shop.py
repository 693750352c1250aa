"""A small LangGraph application: plan a delivery from an order's address, wait for a person, send it. Plain and async, naive and fenced."""

from __future__ import annotations

from typing import Any, ClassVar

from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from fencecheck import Action, Scenario
from fencecheck.integrations.langgraph import FenceState, GraphSystem, fence_node

ADDRESS, WINDOW = "order/42/address", "order/42/window"
ADDRESSES = ["2-21 Shibuya, Tokyo", "3-1 Umeda, Osaka", "5-4 Sakae, Nagoya", "1-9 Tenjin, Fukuoka"]
WINDOWS = ["Monday 09:00 to 11:00", "Tuesday 14:00 to 16:00", "Thursday 10:00 to 12:00", "Friday 17:00 to 19:00"]


class State(FenceState, total=False):
    order: str
    address: str
    versions: dict[str, Any]
    tracking: str


@tool
def get_address(order: str) -> dict[str, str]:
    """The delivery address of an order, and its version."""
    raise AssertionError("the kit answers in its place")


@tool
def ship(order: str, address: str) -> str:
    """Sends a courier."""
    raise AssertionError("nothing goes out")


def plan(get_address: Any) -> Any:
    def plan(state: State) -> Any:
        found = get_address.invoke({"order": state["order"]})
        return {"address": found["address"], "versions": {ADDRESS: found["version"]}}

    return plan


def async_plan(get_address: Any) -> Any:
    async def plan(state: State) -> Any:
        found = await get_address.ainvoke({"order": state["order"]})
        return {"address": found["address"], "versions": {ADDRESS: found["version"]}}

    return plan


def dispatch(ship: Any) -> Any:
    def dispatch(state: State) -> Any:
        return {"tracking": str(ship.invoke({"order": state["order"], "address": state["address"]}))}

    return dispatch


def async_dispatch(ship: Any) -> Any:
    async def dispatch(state: State) -> Any:
        return {"tracking": str(await ship.ainvoke({"order": state["order"], "address": state["address"]}))}

    return dispatch


def asks(state: State) -> None:
    interrupt({"ship to": state["address"]})


def approved(state: State) -> None:
    """Does nothing: the person was asked before it, at a breakpoint."""


def build(checkpointer: Any, get_address: Any, ship: Any, head: Any = None, *, later: bool = False, breakpoint: bool = False) -> Any:
    """The compiled graph; with `head` its dispatch is fenced, with `breakpoint` the wait is `interrupt_before`."""
    act = async_dispatch(ship) if later else dispatch(ship)
    builder = StateGraph(State)
    builder.add_node("plan", async_plan(get_address) if later else plan(get_address))
    builder.add_node("approval", approved if breakpoint else asks)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "approval")
    builder.add_edge("approval", "dispatch")
    if head is None:
        builder.add_node("dispatch", act)
        builder.add_edge("dispatch", END)
    else:
        builder.add_node("dispatch", fence_node(act, head=head, depends_on=[ADDRESS], replan="plan", action="ship"))
    return builder.compile(checkpointer=checkpointer, interrupt_before=["approval"] if breakpoint else None)


class Shop(GraphSystem):
    """The adapter: what a team writes, and switches for the variants."""

    scenario = Scenario(owners={"orders": [ADDRESS]}, actions=[Action("ship", depends_on=[ADDRESS])], values={ADDRESS: ADDRESSES})
    plans = {"plan": "versions"}
    reads = {"get_address": "order/{order}/address"}
    fenced: ClassVar[bool] = False
    breakpoint: ClassVar[bool] = False
    built = 0

    def graph(self) -> Any:
        self.built += 1
        head = self.head if self.fenced else None
        tools = self.ports(get_address, ship)
        return build(self.checkpointer(), *tools, head, later=self.runtime != "sync", breakpoint=self.breakpoint)

    def start(self) -> Any:
        return {"order": "42"}

    def answer(self, tool: str, read: Any) -> Any:
        return {"address": super().answer(tool, read), "version": read.id}


def of(base: type[GraphSystem] = Shop, **attributes: Any) -> type[Any]:
    """A variant of an adapter."""
    return type(base.__name__, (base,), {"__module__": __name__, **attributes})
