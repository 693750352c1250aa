"""Compares the numbers of the versions, and not whose versions they are."""

from __future__ import annotations

from fencecheck.mutants.newest_wins import version_number
from fencecheck.mutants.plain import PlainFence


class ComparesNumbers(PlainFence):
    """Compares the numbers of the versions, and not whose versions they are."""

    name = "compares-numbers"

    def current(self, key: str, ids: list[str], head: str) -> bool:
        return [version_number(id) for id in ids] == [version_number(head)]
