"""An owner that refuses is taken to say what it said last."""

from __future__ import annotations

from typing import Any

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence
from fencecheck.run.faults import OwnerUnavailable


class LastAnswerHolds(PlainFence):
    """An owner that refuses is taken to say what it said last."""

    name = "last-answer-holds"

    def carry_out(self, plan: Record) -> None:
        self.answers: dict[str, Any] = {}
        super().carry_out(plan)

    def ask(self, key: str) -> Any:
        try:
            self.answers[key] = super().ask(key)
        except OwnerUnavailable:
            if key not in self.answers:
                raise
        return self.answers[key]
