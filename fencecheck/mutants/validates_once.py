"""Acts after replanning without validating the new plan."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.mutants.plain import PlainFence


class ValidatesOnce(PlainFence):
    """Acts after replanning without validating the new plan."""

    name = "validates-once"

    def carry_out(self, plan: Record) -> None:
        changed = self.changed(plan)
        if changed:
            plan = self.remake(plan, self.fetch_changed(changed))
        else:
            self.kit.validated(self.declared())
        self.send(plan)
