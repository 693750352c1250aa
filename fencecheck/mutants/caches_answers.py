"""Keeps what the owners answered for the rest of the run, and validates the new plan by it."""

from __future__ import annotations

from typing import Any

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence


class CachesAnswers(PlainFence):
    """Keeps what the owners answered for the rest of the run, and validates the new plan by it."""

    name = "caches-answers"

    def carry_out(self, plan: Record) -> None:
        self.answers: dict[str, Any] = {}
        super().carry_out(plan)

    def ask(self, key: str) -> Any:
        if key not in self.answers:
            self.answers[key] = super().ask(key)
        return self.answers[key]
