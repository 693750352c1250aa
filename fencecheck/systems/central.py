"""Provenance validated in one central place: a ledger of what each plan was made from, kept when the plan is written."""

from __future__ import annotations

from fencecheck.fence import Halt
from fencecheck.model import Record
from fencecheck.run.kit import Kit
from fencecheck.systems.planner import TIMEOUT_S, Planner


class Central(Planner):
    """Needs no walk through the lineage, and so no record of it; in return each plan must be reported to the ledger."""

    name = "central"

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.ledger: dict[str, dict[str, str]] = {}

    def plan(self, inputs: dict[str, Record]) -> Record:
        plan = super().plan(inputs)
        self.ledger[plan.id] = {key: record.id for key, record in inputs.items()}
        return plan

    def carry_out(self, plan: Record) -> None:
        changed = self.changed(plan)
        if changed:
            plan = self.remake(plan, self.fetch_changed(changed))
            if self.changed(plan):
                raise Halt("changed-again", plan.id)
        self.kit.validated(self.kit.declared(self.action.name))
        self.send(plan)

    def changed(self, plan: Record) -> dict[str, str]:
        """The heads of the declared keys whose version in the ledger is not the head."""
        basis = self.ledger[plan.id]
        heads = {key: self.kit.head(key, timeout=TIMEOUT_S) for key in self.kit.declared(self.action.name)}
        return {key: head for key, head in heads.items() if head != basis.get(key)}
