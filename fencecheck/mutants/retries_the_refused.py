"""Waits for an owner that refused and asks it again, but not those that answered before the wait."""

from __future__ import annotations

from typing import Any

from fencecheck.mutants.plain import PlainFence
from fencecheck.run.faults import OwnerUnavailable


class RetriesTheRefused(PlainFence):
    """Waits for an owner that refused and asks it again, but not those that answered before the wait."""

    name = "retries-the-refused"

    def ask(self, key: str) -> Any:
        try:
            return super().ask(key)
        except OwnerUnavailable:
            self.kit.pause("until the owner is back")
            return super().ask(key)
