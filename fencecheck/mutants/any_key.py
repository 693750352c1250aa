"""One unchanged key is enough, where all must be unchanged."""

from __future__ import annotations

from typing import Any

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence


class AnyKey(PlainFence):
    """One unchanged key is enough, where all must be unchanged."""

    name = "any-key"

    def changed(self, plan: Record) -> dict[str, Any]:
        changed = super().changed(plan)
        return changed if len(changed) == len(self.declared()) else {}
