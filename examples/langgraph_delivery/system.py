"""The adapters: `fencecheck check examples/langgraph_delivery/system.py:NaiveDelivery`, and `:FencedDelivery`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from app import CannotPlan, ServiceError, Services, build
from langgraph.types import Interrupt

from fencecheck import Action, Kit, Record, Scenario, faults
from fencecheck.fence import Halt
from fencecheck.integrations.langgraph import GraphSystem

REQUIREMENT, WINDOW = "order/42/requirement", "order/42/window"


class Ports:
    """The application's clients for one agent, on the ports of the kit."""

    def __init__(self, kit: Kit, agent: str) -> None:
        self.kit, self.agent = kit, agent

    def read(self, key: str) -> Record:
        with self.kit.agent(self.agent):
            return self.kit.read(key, timeout=5.0)  # type: ignore[no-any-return]

    def head(self, key: str) -> str:
        with self.kit.agent(self.agent):
            return self.kit.head(key, timeout=5.0)  # type: ignore[no-any-return]

    def record(self, id: str) -> Record:
        with self.kit.agent(self.agent):
            return self.kit.record(id)  # type: ignore[no-any-return]

    def derive(self, value: dict[str, str], parents: list[str]) -> Record:
        with self.kit.agent(self.agent):
            return self.kit.derive(value, parents)

    def deliver(self, arguments: Mapping[str, str], plan: str) -> str:
        with self.kit.agent(self.agent):
            self.kit.act("deliver", arguments, plan=plan)
        return f"tracking {plan}"

    def depends_on(self) -> tuple[str, ...]:
        with self.kit.agent(self.agent):
            return self.kit.declared("deliver")

    def validated(self, basis: Mapping[str, str]) -> None:
        with self.kit.agent(self.agent):
            self.kit.validated(basis)


class Delivery(GraphSystem):
    """What both variants share: one compiled graph for each worker, and an empty checkpointer for each episode."""

    scenario = Scenario(
        owners={"orders": [REQUIREMENT], "calendar": [WINDOW]},
        actions=[Action("deliver", depends_on=[REQUIREMENT, WINDOW])],
        values={
            REQUIREMENT: ["2-21 Shibuya, Tokyo", "3-1 Umeda, Osaka", "5-4 Sakae, Nagoya", "1-8 Hakata, Fukuoka"],
            WINDOW: ["Monday 09:00 to 11:00", "Tuesday 14:00 to 16:00", "Thursday 10:00 to 12:00", "Friday 17:00 to 19:00"],
        },
        agents=["planner", "executor"],
    )
    halt_exceptions = (ServiceError, CannotPlan, Halt)
    fault_exceptions = {faults.Fault: ServiceError}
    agents = {"approval": "executor", "dispatch": "executor"}
    saver = "sqlite"  # LangGraph's SqliteSaver on a file; "memory" comes to the same verdicts in three quarters of the time
    node_points = False  # the clients are the ports
    fenced: ClassVar[bool] = False

    def open(self) -> None:
        super().open()
        self.built = build(None, fenced=self.fenced)  # keeps nothing between two calls, so once is enough

    def graph(self) -> Any:
        return self.worker.built

    def start(self) -> Any:
        return {"order": "42"}

    def context(self) -> Services:
        return Services(Ports(self.kit, "planner"), Ports(self.kit, "executor"))

    def resume(self, interrupt: Interrupt) -> str:
        return "approve"


class NaiveDelivery(Delivery):
    """Sends the approved plan as the checkpoint brings it back."""


class FencedDelivery(Delivery):
    """Has the approved plan cleared by PlanFence right before the delivery tool is called."""

    fenced = True
