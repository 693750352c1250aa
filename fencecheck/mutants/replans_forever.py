"""Replans until nothing changes any more, however long that takes."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence


class ReplansForever(PlainFence):
    """Replans until nothing changes any more, however long that takes."""

    name = "replans-forever"

    def carry_out(self, plan: Record) -> None:
        while changed := self.changed(plan):
            plan = self.remake(plan, self.fetch_changed(changed))
        self.kit.validated(self.declared())
        self.send(plan)
