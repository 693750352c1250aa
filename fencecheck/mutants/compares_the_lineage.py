"""Compares what it finds in the lineage; a declared key that is not found there is not asked for."""

from __future__ import annotations

from typing import Any

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence


class ComparesTheLineage(PlainFence):
    """Compares what it finds in the lineage; a declared key that is not found there is not asked for."""

    name = "compares-the-lineage"

    def changed(self, plan: Record) -> dict[str, Any]:
        premises = self.premises(plan)
        heads = {key: self.ask(key) for key in self.declared() if key in premises}
        return {key: head for key, head in heads.items() if not self.current(key, premises[key], head)}
