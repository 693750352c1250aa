"""What the small systems of the cases share: an agent that gives each wait a timeout and halts on what is no answer."""

from __future__ import annotations

from typing import Any

from fencecheck.interleaving import Event
from fencecheck.model import Record
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault
from fencecheck.run.simulate import SystemLike
from fencecheck.search.check import check
from fencecheck.search.report import Report


class Stop(Exception):
    """The agent halts."""


class Agent(AgentSystem):
    """Asks its owners; halts where they do not answer or answer something else."""

    halt_exceptions = (Fault, Stop)

    def look(self, key: str) -> Record:
        """The current record of `key`."""
        return self.sound(key, self.kit.read(key, timeout=5.0))

    def head(self, key: str) -> str:
        """The current version of `key`."""
        return self.known(key, self.kit.head(key, timeout=5.0))

    @staticmethod
    def sound(key: str, record: Any) -> Record:
        if not isinstance(record, Record) or record.key != key or record.removed:
            raise Stop(f"no {key}")
        return record

    @staticmethod
    def known(key: str, head: Any) -> str:
        if not isinstance(head, str):
            raise Stop(f"no version of {key}")
        return head


class AwaitingAgent(Agent):
    """The same, awaited."""

    async def look_later(self, key: str) -> Record:
        """As `look`."""
        return self.sound(key, await self.kit.aio.read(key, timeout=5.0))

    async def head_later(self, key: str) -> str:
        """As `head`."""
        return self.known(key, await self.kit.aio.head(key, timeout=5.0))


def checked(system: SystemLike, **options: Any) -> Report:
    """The report of a check in this process."""
    return check(system, fresh_process=False, **options)


def smallest(report: Report) -> list[tuple[str, str | None, tuple[Event, ...]]]:
    """Code, key and smallest interleaving of each failure."""
    return [(failure.code, failure.finding.key, failure.events) for failure in report.failures]


def of(base: type[AgentSystem], **attributes: Any) -> type[AgentSystem]:
    """A variant of a system."""
    return type(base.__name__, (base,), attributes)
