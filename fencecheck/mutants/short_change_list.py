"""Looks for the plan's version among the last two that were superseded; what has dropped out of that list passes for unchanged."""

from __future__ import annotations

from fencecheck.mutants.plain import PlainFence

KEPT = 2
"""How many superseded versions the list holds."""


class ShortChangeList(PlainFence):
    """Looks for the plan's version among the last two that were superseded; what has dropped out of that list passes for unchanged."""

    name = "short-change-list"

    def current(self, key: str, ids: list[str], head: str) -> bool:
        if super().current(key, ids, head):
            return True
        record = self.fetch_changed({key: head})[key]
        for _ in range(KEPT):
            if record.supersedes is None or record.supersedes in ids:
                return False
            record = self.kit.record(record.supersedes)
        return True
