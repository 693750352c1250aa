"""Compares one number for the whole plan, the highest of its versions, as if all keys were counted together."""

from __future__ import annotations

from typing import Any

from fencecheck.model import Record
from fencecheck.mutants.newest_wins import version_number
from fencecheck.mutants.plain import PlainFence


class ComparesTheHighest(PlainFence):
    """Compares one number for the whole plan, the highest of its versions, as if all keys were counted together."""

    name = "compares-the-highest"

    def changed(self, plan: Record) -> dict[str, Any]:
        changed = super().changed(plan)
        now = {**self.inputs, **self.fetch_changed(changed)}
        return changed if highest(now) != highest(self.inputs) else {}


def highest(records: dict[str, Record]) -> int:
    """The highest version number of these records."""
    return max(version_number(record.id) for record in records.values())
