"""Saves that the new plan is validated when it makes it: a restart in between skips the validation."""

from __future__ import annotations

from collections.abc import Mapping

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence
from fencecheck.run.kit import Kit


class SavesTooEarly(PlainFence):
    """Saves that the new plan is validated when it makes it: a restart in between skips the validation."""

    name = "saves-too-early"

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.validated = False

    def carry_out(self, plan: Record) -> None:
        if self.validated:
            self.send(plan)
        else:
            super().carry_out(plan)

    def remake(self, plan: Record, changed: Mapping[str, Record]) -> Record:
        self.saved = super().remake(plan, changed)
        self.validated = True
        return self.saved
