"""Validates, and then reads everything again and makes the plan anew, to be on the safe side."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence
from fencecheck.systems.planner import TIMEOUT_S


class PlansAgainAfterValidating(PlainFence):
    """Validates, and then reads everything again and makes the plan anew, to be on the safe side."""

    name = "plans-again-after-validating"

    def send(self, plan: Record) -> None:
        super().send(self.plan({key: self.kit.read(key, timeout=TIMEOUT_S) for key in self.action.depends_on}))
