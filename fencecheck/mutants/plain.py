"""A plain, correct fence in which each step is a method of its own, so that a mutant gets exactly one of them wrong."""

from __future__ import annotations

from typing import Any

from fencecheck.fence import Halt
from fencecheck.model import Record
from fencecheck.systems.planner import TIMEOUT_S, Comparing


class PlainFence(Comparing):
    """Walks, asks, compares, replans once, validates again."""

    name = "plain-fence"

    def changed(self, plan: Record) -> dict[str, Any]:
        """The heads of the declared keys that are not the one version in the plan's lineage."""
        premises = self.premises(plan)
        for key in self.declared():
            if key not in premises:
                raise Halt("not-in-lineage", key)
        heads = {key: self.ask(key) for key in self.declared()}
        return {key: head for key, head in heads.items() if not self.current(key, premises[key], head)}

    def current(self, key: str, ids: list[str], head: str) -> bool:
        """Whether the versions of `key` in the lineage are its head alone."""
        return ids == [head]

    def premises(self, plan: Record) -> dict[str, list[str]]:
        """By key the versions that the plan rests on, as its lineage is served."""
        found: dict[str, list[str]] = {}
        seen, todo = {plan.id}, list(plan.parents)
        while todo:
            id = todo.pop(0)
            if id in seen:
                raise Halt("cycle", id)
            record = self.fetch(id)
            if record is None:
                continue
            seen.add(id)
            if record.key is not None:
                found.setdefault(record.key, []).append(record.id)
            todo += record.parents
        return found

    def fetch(self, id: str) -> Record | None:
        """One record of the lineage; a missing one raises."""
        record: Record = self.kit.record(id)
        return record

    def ask(self, key: str) -> Any:
        """The head of `key`, as its owner answers; an outage or garbage raises."""
        head = self.kit.head(key, timeout=TIMEOUT_S)
        if not isinstance(head, str):
            raise Halt("malformed-answer", key)
        return head
