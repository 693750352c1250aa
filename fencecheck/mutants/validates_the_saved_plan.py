"""After an approval validates the plan that is saved by then, and sends the one that was approved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence


class ValidatesTheSavedPlan(PlainFence):
    """After an approval validates the plan that is saved by then, and sends the one that was approved."""

    name = "validates-the-saved-plan"

    def carry_out(self, plan: Record) -> None:
        self.kit.pause("approval")
        super().carry_out(plan)

    def changed(self, plan: Record) -> dict[str, Any]:
        return super().changed(self.saved or plan)

    def remake(self, plan: Record, changed: Mapping[str, Record]) -> Record:
        self.saved = super().remake(plan, changed)
        return self.saved
