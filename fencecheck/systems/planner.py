"""The planner that the compared systems and the mutants share: it reads the inputs of its one action and derives a plan from them.

What differs between them is what happens between the plan and the act.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fencecheck.fence import Halt
from fencecheck.model import Action, Record
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault
from fencecheck.run.kit import Kit

TIMEOUT_S = 5.0


class Planner(AgentSystem):
    """Reads every key that the action depends on, derives a plan `scenario.depth` generations above them, and has it carried out.

    The plan is saved before it is carried out, as by an agent that survives a restart; what it was made from is kept with it.
    """

    halt_exceptions = (Fault, Halt)

    def setup(self, kit: Kit) -> None:
        self.kit = kit
        self.action: Action = kit.scenario.actions[0]
        self.saved: Record | None = None
        self.inputs: dict[str, Record] = {}

    def run(self) -> None:
        if self.saved is None:
            self.saved = self.plan(self.read(self.action.depends_on))
        self.carry_out(self.saved)

    def read(self, keys: Iterable[str]) -> dict[str, Record]:
        """The current records of these keys, as their owners answer."""
        return {key: self.kit.read(key, timeout=TIMEOUT_S) for key in keys}

    def carry_out(self, plan: Record) -> None:
        """What each system does between plan and act."""
        raise NotImplementedError

    def plan(self, inputs: dict[str, Record]) -> Record:
        """A plan from these versions. Raises `Halt` where one of them is no record, or was removed."""
        for key, record in inputs.items():
            if not isinstance(record, Record) or record.key != key or record.removed:
                raise Halt("malformed-answer", key, "there is nothing to plan from")
        self.inputs = inputs
        kit, parents = self.kit, [record.id for record in inputs.values()]
        for _ in range(kit.scenario.depth - 1):
            parents = [kit.derive("decision", parents).id]
        return kit.derive({key: record.value for key, record in inputs.items()}, parents)

    def remake(self, plan: Record, changed: Mapping[str, Record]) -> Record:
        """The plan again, from the changed versions and the others as they were."""
        return self.plan({**self.inputs, **changed})

    def replan(self, task: str) -> None:
        """A `Replan` event: a new plan is saved; whoever carries out the old one still holds it."""
        self.saved = self.plan(self.read(self.action.depends_on))

    def restart(self) -> None:
        """A `Restart` event: the saved plan and its inputs are durable; nothing else is held."""

    def fetch_changed(self, heads: Mapping[str, Any]) -> dict[str, Record]:
        """The records of these changed heads, each verified to be what its owner said. Raises `Halt` or a fault where one is not."""
        changed = {}
        for key, head in heads.items():
            record = self.kit.record(head) if isinstance(head, str) else None
            if record is None or record.id != head or record.key != key:
                raise Halt("malformed-answer", key, f"its owner answered {head!r}")
            changed[key] = record
        return changed

    def declared(self) -> tuple[str, ...]:
        """D(a)."""
        return self.kit.declared(self.action.name)

    def send(self, plan: Record) -> None:
        """The act."""
        self.kit.act(self.action.name, plan.value, plan=plan)


class Comparing(Planner):
    """A planner with a fence: compares, replans once, compares again, halts. What is compared is left to each system."""

    def carry_out(self, plan: Record) -> None:
        changed = self.changed(plan)
        if changed:
            plan = self.remake(plan, self.fetch_changed(changed))
            if self.changed(plan):
                raise Halt("changed-again", plan.id)
        self.kit.validated(self.declared())
        self.send(plan)

    def changed(self, plan: Record) -> dict[str, Any]:
        """The heads of the declared keys that are not what `plan` rests on; what cannot be verified raises."""
        raise NotImplementedError
