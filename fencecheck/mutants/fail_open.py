"""An owner that does not answer is taken to say that nothing changed."""

from __future__ import annotations

from typing import Any

from fencecheck.mutants.plain import PlainFence
from fencecheck.run.faults import OwnerTimeout, OwnerUnavailable


class FailOpen(PlainFence):
    """An owner that does not answer is taken to say that nothing changed."""

    name = "fail-open"

    def ask(self, key: str) -> Any:
        try:
            return super().ask(key)
        except (OwnerUnavailable, OwnerTimeout):
            return self.inputs[key].id
