"""Checks one generation only: a stale input behind a derived record is not seen."""

from __future__ import annotations

from fencecheck.fence import Halt
from fencecheck.model import Record
from fencecheck.systems.planner import TIMEOUT_S, Comparing


class DirectParents(Comparing):
    """Compares the plan's own parents with their owners' heads. Right where plans rest on facts directly, and only there."""

    name = "direct-parents"

    def changed(self, plan: Record) -> dict[str, str]:
        """The heads of the declared keys whose version among the plan's parents is not the head."""
        declared = self.declared()
        parents = [self.kit.record(id) for id in plan.parents]
        if any(parent.id != id for parent, id in zip(parents, plan.parents, strict=True)):
            raise Halt("malformed-answer", plan.id)
        premises = {parent.key: parent.id for parent in parents if parent.key in declared}
        if len(premises) < len([parent for parent in parents if parent.key in declared]):
            raise Halt("changed-again", plan.id, "two versions of one key")
        heads = {key: self.kit.head(key, timeout=TIMEOUT_S) for key in premises}
        return {key: head for key, head in heads.items() if head != premises[key]}
