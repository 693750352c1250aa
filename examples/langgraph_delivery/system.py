"""The adapters: `fencecheck check examples/langgraph_delivery/system.py:NaiveDelivery`, and `:FencedDelivery`."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from app import CannotPlan, ServiceError, Services, build, fulfil
from langgraph.checkpoint.sqlite import SqliteSaver

from fencecheck import Action, AgentSystem, Kit, Record, Scenario, faults
from fencecheck.fence import Halt

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


class Delivery(AgentSystem):
    """What both variants share: one checkpoint database and one compiled graph for each worker, one thread for each episode."""

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
    fenced: ClassVar[bool] = False

    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.connection = sqlite3.connect(Path(self.folder.name) / "checkpoints.sqlite", check_same_thread=False)
        self.connection.execute("PRAGMA synchronous=OFF")  # power cuts are not what is tested
        self.saver = SqliteSaver(self.connection)
        self.graph = build(self.saver, fenced=self.fenced).with_config({"max_concurrency": 1})
        self.threads = itertools.count(1)

    def shutdown(self) -> None:
        self.connection.close()
        self.folder.cleanup()

    def setup(self, kit: Kit) -> None:
        self.kit = kit
        self.thread = f"order-42-{next(self.worker.threads)}"
        self.services = Services(Ports(kit, "planner"), Ports(kit, "executor"))

    def run(self) -> None:
        fulfil(self.worker.graph, "42", self.thread, self.services, self.approve)

    def approve(self, prompt: Any) -> str:
        with self.kit.agent("executor"):
            self.kit.pause("approval")
        return "approve"

    def restart(self) -> None:
        """The process dies. What the checkpointer holds is durable, and `run` goes on from there; nothing else is held."""

    def teardown(self) -> None:
        self.worker.saver.delete_thread(self.thread)


class NaiveDelivery(Delivery):
    """Sends the approved plan as the checkpoint brings it back."""


class FencedDelivery(Delivery):
    """Has the approved plan cleared by PlanFence right before the delivery tool is called."""

    fenced = True
