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
        if any(parent.key is not None and parent.parents for parent in parents):
            raise Halt("malformed-answer", plan.id, "a fact that rests on another record")
        premises = {parent.key: parent.id for parent in parents if parent.key in declared}
        if len(premises) < len([parent for parent in parents if parent.key in declared]):
            raise Halt("changed-again", plan.id, "two versions of one key")
        missing = [key for key in declared if key not in premises]
        if missing and all(parent.key is not None for parent in parents):
            raise Halt("not-in-lineage", missing[0])  # behind a derived parent it may stand, one generation further up
        heads = {key: self.kit.head(key, timeout=TIMEOUT_S) for key in premises}
        return {key: head for key, head in heads.items() if head != premises[key]}
