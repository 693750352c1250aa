"""A careful system that others here are made from, and how they are checked."""

from __future__ import annotations

from typing import Any

from fencecheck.fence import Halt
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault
from fencecheck.search.check import check
from fencecheck.search.prove import Proof
from fencecheck.search.report import Report

X = "x"
ONE = Scenario(owners={"a": [X], "b": ["y"]}, actions=[Action("go", depends_on=[X])])


def checked(system: Any, **options: Any) -> Report:
    return check(system, fresh_process=False, **options)


def proof_of(report: Report) -> Proof:
    assert report.proof is not None
    return report.proof


class Careful(AgentSystem):
    """Reads, and acts only if x is still what it read."""

    scenario = ONE
    halt_exceptions = (Fault, Halt)

    def now(self) -> Record:
        record = self.kit.read(X, timeout=1)
        if not isinstance(record, Record) or record.key != X:
            raise Halt("malformed-answer", X)
        return record

    def head(self) -> str:
        head = self.kit.head(X, timeout=1)
        if not isinstance(head, str) or not head.startswith("x@"):
            raise Halt("malformed-answer", X)
        return head

    def run(self) -> None:
        record = self.now()
        self.kit.pause("approval")
        if self.same(record):
            self.kit.validated([X])
            self.kit.act("go", {"to": record.value}, basis={X: record.id})
        else:
            self.kit.halted("x changed")

    def same(self, record: Record) -> bool:
        return self.head() == record.id
