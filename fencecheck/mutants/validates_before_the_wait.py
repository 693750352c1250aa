"""Validates, waits for a person, and acts."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence


class ValidatesBeforeTheWait(PlainFence):
    """Validates, waits for a person, and acts."""

    name = "validates-before-the-wait"

    def send(self, plan: Record) -> None:
        self.kit.pause("approval")
        super().send(plan)
