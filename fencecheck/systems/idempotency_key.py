"""Retries with a stable key: a lost reply never becomes a second effect, and what goes out is as old as before."""

from __future__ import annotations

from fencecheck.model import Record
from fencecheck.run.faults import ReplyLost
from fencecheck.systems.planner import Planner

ATTEMPTS = 3


class IdempotencyKey(Planner):
    """Sends each plan under one key, and again under the same key where the reply was lost: once only, current or not."""

    name = "idempotency-key"

    def carry_out(self, plan: Record) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self.send(plan)
            except ReplyLost:
                if attempt == ATTEMPTS:
                    raise
        return None

    def send(self, plan: Record) -> None:
        """The act, under a key that is the same for each attempt, after a restart too: the plan is saved, and its id with it."""
        self.kit.act(self.action.name, plan.value, plan=plan, idempotency_key=plan.id)
