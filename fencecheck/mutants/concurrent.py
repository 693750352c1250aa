"""A plain, correct fence on asyncio that asks all owners side by side; each step is a method, so that a mutant gets exactly one of them wrong."""

from __future__ import annotations

import asyncio
from typing import Any

from fencecheck.fence import Halt
from fencecheck.model import Action, Record
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault
from fencecheck.run.kit import Kit

TIMEOUT_S = 5.0


class ConcurrentFence(AgentSystem):
    """Plans, asks the owners side by side, waits for all answers, compares, replans once, asks again."""

    name = "concurrent-fence"
    runtime = "asyncio"
    halt_exceptions = (Fault, Halt)

    def setup(self, kit: Kit) -> None:
        self.kit = kit
        self.action: Action = kit.scenario.actions[0]
        self.inputs: dict[str, Record] = {}

    async def run(self) -> None:
        plan = await self.plan({key: await self.kit.aio.read(key, timeout=TIMEOUT_S) for key in self.action.depends_on})
        await self.carry_out(plan)

    async def plan(self, inputs: dict[str, Record]) -> Record:
        """A plan from these versions."""
        for key, record in inputs.items():
            if not isinstance(record, Record) or record.key != key or record.removed:
                raise Halt("malformed-answer", key, "there is nothing to plan from")
        self.inputs = inputs
        return await self.kit.aio.derive({key: record.value for key, record in inputs.items()}, list(inputs.values()))

    async def carry_out(self, plan: Record) -> None:
        """What comes between plan and act."""
        changed = await self.changed()
        if changed:
            plan = await self.plan({**self.inputs, **{key: await self.kit.aio.read(key, timeout=TIMEOUT_S) for key in changed}})
            if await self.changed():
                raise Halt("changed-again", plan.id)
        self.kit.validated(self.declared())
        await self.kit.aio.act(self.action.name, plan.value, plan=plan)

    async def changed(self) -> list[str]:
        """The declared keys whose head is not the version that the plan was made from."""
        return [key for key, head in (await self.heads()).items() if self.inputs[key].id != head]

    async def heads(self) -> dict[str, Any]:
        """The heads of the declared keys, each as its owner answers; one that fails raises."""
        async with asyncio.TaskGroup() as group:
            asked = {key: group.create_task(self.ask(key)) for key in self.declared()}
        return {key: task.result() for key, task in asked.items()}

    async def ask(self, key: str) -> Any:
        """The head of `key`, as its owner answers; an outage or garbage raises."""
        head = await self.kit.aio.head(key, timeout=TIMEOUT_S)
        if not isinstance(head, str):
            raise Halt("malformed-answer", key)
        return head

    def declared(self) -> tuple[str, ...]:
        """D(a)."""
        return self.kit.declared(self.action.name)
