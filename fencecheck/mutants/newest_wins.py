"""Of two versions of one key in the lineage, takes the newest and forgets the other."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence


class NewestWins(PlainFence):
    """Of two versions of one key in the lineage, takes the newest and forgets the other."""

    name = "newest-wins"

    def premises(self, plan: Record) -> dict[str, list[str]]:
        return {key: [max(ids, key=version_number)] for key, ids in super().premises(plan).items()}


def version_number(id: str) -> int:
    """The commit number at the end of a version id of the default world."""
    return int(id.rpartition("@")[2])
