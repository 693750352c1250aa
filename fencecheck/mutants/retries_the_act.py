"""A tool that refused is called again at once, without another validation."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence
from fencecheck.run.faults import ToolRefused


class RetriesTheAct(PlainFence):
    """A tool that refused is called again at once, without another validation."""

    name = "retries-the-act"

    def send(self, plan: Record) -> None:
        try:
            super().send(plan)
        except ToolRefused:
            super().send(plan)
