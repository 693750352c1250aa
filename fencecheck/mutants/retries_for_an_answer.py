"""Asks an owner that refused once more; that it answers is enough, and what it answers is not compared."""

from __future__ import annotations

from typing import Any

from fencecheck.mutants.plain import PlainFence
from fencecheck.run.faults import OwnerUnavailable


class RetriesForAnAnswer(PlainFence):
    """Asks an owner that refused once more; that it answers is enough, and what it answers is not compared."""

    name = "retries-for-an-answer"

    def ask(self, key: str) -> Any:
        try:
            return super().ask(key)
        except OwnerUnavailable:
            self.kit.point("back off")
            self.fetch_changed({key: super().ask(key)})
            return self.inputs[key].id
