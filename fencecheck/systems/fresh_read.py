"""Reads the latest authoritative record right before the act, and keeps the plan: fresh memory, stale plan."""

from __future__ import annotations

from fencecheck.fence import Halt
from fencecheck.model import Record
from fencecheck.systems.planner import TIMEOUT_S, Planner


class FreshRead(Planner):
    """Synchronisation alone: what is read last changes nothing in what goes out."""

    name = "fresh-read"

    def carry_out(self, plan: Record) -> None:
        for key in self.declared():
            latest = self.kit.read(key, timeout=TIMEOUT_S)
            if not isinstance(latest, Record) or latest.key != key:
                raise Halt("malformed-answer", key)
        self.send(plan)
