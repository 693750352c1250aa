"""The tool checks: each call carries the versions that the plan was made from (If-Match, RFC 9110, section 13.1.1)."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.run.faults import PreconditionFailed
from fencecheck.run.kit import Kit
from fencecheck.systems.planner import Planner


class IfMatch(Planner):
    """Sends what was read along with each call, for a tool that compares it with its own update; replans once where they differ.

    The tool ties the check to the effect, so nothing can land between them: no other system here holds at the act itself.
    """

    name = "if-match"

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.made_from: dict[str, dict[str, str]] = {}

    def plan(self, inputs: dict[str, Record]) -> Record:
        plan = super().plan(inputs)
        self.made_from[plan.id] = {key: record.id for key, record in inputs.items()}
        return plan

    def carry_out(self, plan: Record) -> None:
        try:
            self.send(plan)
        except PreconditionFailed:
            self.send(self.plan(self.read(self.action.depends_on)))

    def send(self, plan: Record) -> None:
        """The act, on condition that the declared keys are as the plan has them."""
        expect = {key: id for key, id in self.made_from[plan.id].items() if key in self.declared()}
        self.kit.act(self.action.name, plan.value, plan=plan, expect=expect)
