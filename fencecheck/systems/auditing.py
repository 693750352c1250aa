"""A second agent audits what the first one did, and does it again since it sees no receipt."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.run.kit import Kit
from fencecheck.systems.planfence import PlanFenceSystem
from fencecheck.systems.planner import TIMEOUT_S

AUDITOR = "auditor"


class Auditing(PlanFenceSystem):
    """PlanFence, after whose act an auditing agent validates the plan once more and sends it again: current each time, and done twice.

    In the paper's runs an auditing agent repeated acts that were already valid, 4 times of 30 under the central system and 10 times under PlanFence:
    preventing a stale premise and preventing a duplicate are different problems. With a stable idempotency key the second call has no effect.
    """

    name = "auditing"
    idempotent = False
    """Whether both send the plan's id as idempotency key."""

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.made_from: dict[str, dict[str, str]] = {}

    def carry_out(self, plan: Record) -> None:
        super().carry_out(plan)
        with self.kit.agent(AUDITOR):
            self.audit()

    def audit(self) -> None:
        """Sends again what is still current: of what was done it has seen nothing."""
        declared = self.declared()
        basis = self.made_from[self.sent.id]
        if all(self.kit.head(key, timeout=TIMEOUT_S) == basis.get(key) for key in declared):
            self.kit.validated(declared)
            self.send(self.sent)

    def plan(self, inputs: dict[str, Record]) -> Record:
        plan = super().plan(inputs)
        self.made_from[plan.id] = {key: record.id for key, record in inputs.items()}
        return plan

    def send(self, plan: Record) -> None:
        """The act, of the executor and again of the auditor."""
        self.sent = plan
        self.kit.act(self.action.name, plan.value, plan=plan, idempotency_key=plan.id if self.idempotent else None)
