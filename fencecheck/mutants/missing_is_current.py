"""A parent that cannot be read is taken to be current."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence
from fencecheck.run.faults import RecordMissing


class MissingIsCurrent(PlainFence):
    """A parent that cannot be read is taken to be current."""

    name = "missing-is-current"

    def premises(self, plan: Record) -> dict[str, list[str]]:
        found = super().premises(plan)
        return {key: found.get(key) or [self.inputs[key].id] for key in self.declared()}

    def fetch(self, id: str) -> Record | None:
        try:
            return super().fetch(id)
        except RecordMissing:
            return None
