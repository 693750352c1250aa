"""Provenance validated in one central place: a ledger of what each plan was made from, kept when the plan is written."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.run.kit import Kit
from fencecheck.systems.planner import TIMEOUT_S, Comparing


class Central(Comparing):
    """Needs no walk through the lineage, and so no record of it; in return each plan must be reported to the ledger."""

    name = "central"

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.ledger: dict[str, dict[str, str]] = {}

    def plan(self, inputs: dict[str, Record]) -> Record:
        plan = super().plan(inputs)
        self.ledger[plan.id] = {key: record.id for key, record in inputs.items()}
        return plan

    def changed(self, plan: Record) -> dict[str, str]:
        """The heads of the declared keys whose version in the ledger is not the head."""
        basis = self.ledger[plan.id]
        heads = {key: self.kit.head(key, timeout=TIMEOUT_S) for key in self.declared()}
        return {key: head for key, head in heads.items() if head != basis.get(key)}
