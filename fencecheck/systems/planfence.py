"""PlanFence: walk the lineage, ask the owners of the declared keys, replan once, halt on what cannot be verified."""

from __future__ import annotations

from fencecheck.fence import PlanFence
from fencecheck.model import Record
from fencecheck.systems.planner import TIMEOUT_S, Planner


class PlanFenceSystem(Planner):
    """The reference fence of `fencecheck.fence` between plan and act."""

    name = "planfence"

    def carry_out(self, plan: Record) -> None:
        kit = self.kit
        fence: PlanFence[Record] = PlanFence(kit.record, lambda key: kit.head(key, timeout=TIMEOUT_S), self.remake, kit.validated)
        self.send(fence.clear(plan, self.declared()).plan)
