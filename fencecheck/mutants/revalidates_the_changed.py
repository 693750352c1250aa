"""After replanning validates only the keys that had changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence


class RevalidatesTheChanged(PlainFence):
    """After replanning validates only the keys that had changed."""

    name = "revalidates-the-changed"

    def carry_out(self, plan: Record) -> None:
        self.due = self.declared()
        super().carry_out(plan)

    def remake(self, plan: Record, changed: Mapping[str, Record]) -> Record:
        self.due = tuple(changed)
        return super().remake(plan, changed)

    def ask(self, key: str) -> Any:
        return super().ask(key) if key in self.due else self.inputs[key].id
