"""Provenance validated against all keys: before an act each owner is asked for the heads of everything that it owns."""

from __future__ import annotations

from fencecheck.fence import Halt
from fencecheck.model import Record
from fencecheck.systems.central import Central
from fencecheck.systems.planner import TIMEOUT_S


class BatchedAllKeys(Central):
    """Asks each owner for all its keys, and compares those that the action declares: what is asked does not depend on the act.

    It pays for what the act does not need: more is asked (the paper's Table 1), and an owner that does not answer halts acts that do not depend
    on it. A batch is modelled as one question after another, so that an update can land inside it, as it can where an owner does not read its
    keys at one instant.
    """

    name = "batched-all-keys"

    def changed(self, plan: Record) -> dict[str, str]:
        """The heads of the declared keys whose version in the ledger is not the head."""
        basis, heads = self.ledger[plan.id], self.heads()
        return {key: heads[key] for key in self.declared() if heads[key] != basis.get(key)}

    def heads(self) -> dict[str, str]:
        """The heads of all keys, owner by owner. Raises `Halt` where one is none."""
        heads = {key: self.kit.head(key, timeout=TIMEOUT_S) for keys in self.kit.scenario.owners.values() for key in keys}
        for key, head in heads.items():
            if not isinstance(head, str):
                raise Halt("malformed-answer", key)
        return heads
