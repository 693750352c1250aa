"""Validates the new plan and sends the arguments of the old one."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence


class SendsOldArguments(PlainFence):
    """Validates the new plan and sends the arguments of the old one."""

    name = "sends-old-arguments"

    def carry_out(self, plan: Record) -> None:
        self.old = plan.value
        super().carry_out(plan)

    def send(self, plan: Record) -> None:
        self.kit.act(self.action.name, self.old, plan=plan)
