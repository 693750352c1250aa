"""A key that was removed has no value to compare, and is taken to be unchanged."""

from __future__ import annotations

from fencecheck.mutants.plain import PlainFence


class RemovedIsUnchanged(PlainFence):
    """A key that was removed has no value to compare, and is taken to be unchanged."""

    name = "removed-is-unchanged"

    def current(self, key: str, ids: list[str], head: str) -> bool:
        return super().current(key, ids, head) or self.kit.record(head).removed
