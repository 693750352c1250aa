"""Systems each of which shows one way in which an event and a point depend on one another. A search that cuts a corner there loses it."""

from __future__ import annotations

from typing import Any

from fencecheck.model import Action, Record, Scenario
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault, PreconditionFailed
from fencecheck.run.kit import Kit

X, Y = "x", "y"
TWO = Scenario(owners={"a": [X], "b": [Y]}, actions=[Action("go", depends_on=[X])])


class Small(AgentSystem):
    """Acts on x, from what it holds of it."""

    scenario = TWO
    halt_exceptions = (Fault,)

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.saved: Any = None

    def go(self, record: Record, **how: Any) -> None:
        self.kit.act("go", {"to": record.value}, basis={X: record.id}, **how)


class ReadsOnceMore(Small):
    """After a restart its first call is another one than the call that the restart cut off."""

    def run(self) -> None:
        record = self.kit.read(X)
        self.kit.point("far from x")
        self.go(record)

    def restart(self) -> None: ...


class KeepsItsPlan(Small):
    """A replan right before a restart shows in what the next run carries out."""

    def run(self) -> None:
        if self.saved is None:
            self.saved = self.kit.read(X)
        record = self.saved
        self.kit.point("between")
        self.go(record)

    def replan(self, task: str) -> None:
        self.saved = self.kit.read(X)

    def restart(self) -> None: ...


class TakesAnyRecord(Small):
    """An owner that answers for another key shows that key's version."""

    def run(self) -> None:
        record = self.kit.read(X)
        other = self.kit.read(Y)
        if other.id != "y@1":
            other = self.kit.read(other.key)
        self.go(record if other.key == Y else other)


class ExpectsAnother(Small):
    """The tool checks a key on which the action does not depend."""

    def run(self) -> None:
        record, other = self.kit.read(X), self.kit.read(Y)
        try:
            self.go(record, expect={Y: other.id})
        except PreconditionFailed:
            self.kit.halted("y changed")


class WritesWhatItRemembers(Small):
    """A version that it derives itself comes after one that was delivered, and not before."""

    def run(self) -> None:
        record = self.kit.read(X)
        self.kit.derive("made", [record], key=X)
        remembered = self.kit.memory(X)
        self.go(remembered)


class PlansWhileItReads(Small):
    """A record that a replan rests on is read again by someone who has planned nothing yet."""

    def run(self) -> None:
        record = self.kit.read(X)
        again = self.kit.record(record.id)
        plan = self.kit.derive({"to": again.value}, again.parents or [again])
        self.kit.act("go", plan.value, plan=plan)

    def replan(self, task: str) -> None:
        self.kit.derive("another plan", ["x@1"])


class MarksOnOneBranch(Small):
    """Where y has changed, the mark comes right after the look at y, so that a change of x must come before that look to be seen there."""

    def run(self) -> None:
        record = self.kit.read(X)
        self.kit.point("far from x")
        if self.kit.head(Y) == "y@1":
            record = self.kit.read(X)
        self.kit.validated([X])
        self.go(record)


class ReplansWithoutIt(Small):
    """A replan copes with a record that cannot be read."""

    def run(self) -> None:
        self.kit.pause("approval")
        self.kit.act("go", {"to": "anywhere"})

    def replan(self, task: str) -> None:
        try:
            self.kit.read(X)
        except Fault:
            self.kit.derive("without it")


class ReadsItsCache(Small):
    """Deliveries reach it by a hook, and not through a port."""

    def run(self) -> None:
        first = self.saved = self.kit.read(X)
        self.kit.pause("approval")
        if self.saved.id != first.id:
            self.kit.point("it was delivered")
        self.go(self.saved)

    def deliver(self, key: str, record: Record) -> None:
        if key == X:
            self.saved = record


class LosesItsCache(Small):
    """That a record is lost reaches it by a hook."""

    def run(self) -> None:
        self.saved = self.kit.read(X)
        self.kit.pause("approval")
        if self.saved is None:
            self.kit.halted("lost")
        else:
            self.go(self.saved)

    def lose(self, id: str) -> None:
        if id.startswith(X):
            self.saved = None


class ActsFromMemory(Small):
    """Plans from what was delivered, and acts unvalidated if memory changed in between: shown by update, delivery, update."""

    def run(self) -> None:
        before = self.kit.memory(X)
        self.kit.point("between")
        after = self.kit.memory(X)
        if after.id == before.id and self.kit.head(X) != after.id:
            self.kit.halted("x changed")
            return
        self.go(after)


class LosesAParentOfItsReplan(Small):
    """Halts if the record under its plan cannot be read, but takes it as current if it planned again meanwhile."""

    def run(self) -> None:
        self.plan(self.kit.read(X))
        self.kit.pause("approval")
        plan = self.saved
        if self.kit.head(X) != plan.parents[0]:
            try:
                self.kit.record(plan.parents[0])
                self.kit.halted("x changed")
                return
            except Fault:
                if plan.id == "p1":
                    raise
        self.kit.act("go", plan.value, plan=plan)

    def plan(self, record: Record) -> None:
        self.saved = self.kit.derive({"to": record.value}, [record])

    def replan(self, task: str) -> None:
        self.plan(self.kit.read(X))


class LooksAtItsPlanAgain(Small):
    """A replan reads the record of the plan that it replaces."""

    def run(self) -> None:
        record = self.kit.read(X)
        self.saved = self.kit.derive({"to": record.value}, [record])
        self.kit.pause("approval")
        self.kit.act("go", self.saved.value, plan=self.saved)

    def replan(self, task: str) -> None:
        try:
            record = self.kit.record(self.saved.parents[0]) if self.saved else self.kit.read(X)
        except Fault:
            record = self.kit.read(Y)
        self.saved = self.kit.derive({"to": record.value}, [record])


class ComparesTexts(Small):
    """Validates by value: x as it was, then otherwise, then as it was again goes through."""

    def run(self) -> None:
        record = self.kit.read(X)
        self.kit.pause("approval")
        now = self.kit.read(X)
        if now.value != record.value:
            self.kit.halted("x changed")
            return
        self.kit.validated([X])
        self.kit.act("go", {"to": record.value}, basis={X: record.id})


class LooksTwoBack(Small):
    """Acts on x unless the version before the current one is the one that it holds."""

    def run(self) -> None:
        record = self.kit.read(X)
        self.kit.pause("approval")
        now = self.kit.read(X)
        if now.id != record.id and now.supersedes == record.id:
            self.kit.halted("x changed")
            return
        self.go(record)


class ActsTwice(Small):
    """The second act writes what the first one rests on."""

    scenario = Scenario(owners={"a": [X], "b": [Y]}, actions=[Action("go", depends_on=[X], times=2), Action("keep", [Y], writes=[X])])

    def run(self) -> None:
        record = self.kit.read(X)
        self.go(record)
        other = self.kit.read(Y)
        self.kit.act("keep", {"as": other.value}, basis={Y: other.id})
        if self.kit.head(X) == record.id:
            self.go(record)


class ComparesMemories(Small):
    """Halts if the version before the current one is what another agent remembers, and otherwise acts on what that one remembers."""

    scenario = Scenario(TWO.owners, TWO.actions, agents=("agent", "other"))

    def run(self) -> None:
        now = self.kit.read(X)
        with self.kit.agent("other"):
            held = self.kit.memory(X)
        if held.id in (now.id, now.supersedes):
            self.kit.halted("what to do is clear")
            return
        self.go(held)


class FollowsWhatIsDelivered(Small):
    """Takes a delivered version for harmless if there is one between it and the version that it holds."""

    def run(self) -> None:
        record = self.saved = self.kit.read(X)
        self.kit.pause("approval")
        if record.id in (self.saved.id, self.saved.supersedes):
            self.kit.halted("x changed")
            return
        self.kit.point("skipped one")
        self.go(record)

    def deliver(self, key: str, record: Record) -> None:
        if key == X:
            self.saved = record


class AsksWhenItIsDelivered(Small):
    """A delivery of one key makes it ask for another one."""

    def run(self) -> None:
        record = self.kit.read(X)
        self.kit.pause("approval")
        if self.saved is not None and self.saved.id != "y@1":
            self.kit.halted("y changed")
            return
        self.go(record)

    def deliver(self, key: str, record: Record) -> None:
        if key == X:
            self.saved = self.kit.read(Y)


class ReadsWhenItStartsAgain(Small):
    """What it goes by after a restart is what its hook read."""

    def run(self) -> None:
        record = self.saved or self.kit.read(X)
        self.kit.pause("approval")
        self.go(record)

    def restart(self) -> None:
        self.saved = self.kit.read(X)


class ActsWhenItReplans(Small):
    """A replan calls the tool itself."""

    def run(self) -> None:
        record = self.kit.read(X)
        self.kit.pause("approval")
        if self.kit.head(X) != record.id:
            self.kit.halted("x changed")
        elif self.saved is None:
            self.go(record)

    def replan(self, task: str) -> None:
        record = self.kit.read(X)
        try:
            self.go(record)
            self.saved = "sent"
        except Fault:
            self.saved = None


class ReadsItsNote(Small):
    """Reads a key that no owner holds, whose only versions it derived itself."""

    def run(self) -> None:
        record = self.kit.read(X)
        self.kit.derive("a note", [record], key="note")
        self.kit.point("between")
        try:
            self.kit.read("note")
        except Fault:
            self.kit.halted("the note is lost")
            return
        self.go(record)


class DeclaresOnceItChanged(Small):
    """What it declares for its way out it asks only where x has changed."""

    scenario = Scenario(TWO.owners, [*TWO.actions, Action("fall back", depends_on=[Y, X], declared=[Y])])

    def run(self) -> None:
        record = self.kit.read(X)
        self.kit.pause("approval")
        if self.kit.head(X) == record.id:
            self.go(record)
            return
        other = self.kit.read(Y)
        self.kit.point("between")
        if all(self.kit.head(key) == other.id for key in self.kit.declared("fall back")):
            self.kit.act("fall back", {"to": other.value}, basis={Y: other.id})


class DeclaresAnotherWayOut(Small):
    """What the second action declares it asks only where the first one no longer declares x."""

    scenario = Scenario(TWO.owners, [*TWO.actions, Action("fall back", depends_on=[Y])])

    def run(self) -> None:
        record = self.kit.read(X)
        other = self.kit.read(Y)
        if X in self.kit.declared("go"):
            self.go(record)
        elif Y not in self.kit.declared("fall back") or self.kit.head(Y) == other.id:
            self.kit.act("fall back", {"to": other.value}, basis={Y: other.id})


class MarksWhereNothingIsDeclared(Small):
    """Where x is not declared, the mark comes right after the look at y, so that a change of x before that look is seen there."""

    def run(self) -> None:
        record = self.kit.read(X)
        self.kit.head(Y)
        if X in self.kit.declared("go"):
            self.kit.point("far from x")
        self.kit.validated([X])
        self.go(record)


class ExplainsItselfOnceItChanged(Small):
    """Its lineage grows where x has changed, and a record deep in it may be lost between two looks at it."""

    def run(self) -> None:
        record = self.kit.read(X)
        self.kit.pause("approval")
        if self.kit.head(X) == record.id:
            self.go(record)
            return
        first = plan = self.kit.derive("0", [record])
        for number in range(1, 4):
            plan = self.kit.derive(str(number), [plan])
        self.kit.record(first.id)
        self.kit.point("explained")
        self.kit.record(first.id)
        self.kit.halted("x changed")


class AsksOnceItWasTold(Small):
    """A delivery makes it ask for another key only once it has noticed that x had changed."""

    def run(self) -> None:
        record = self.kit.read(X)
        noticed = self.noticed = self.kit.head(X) != record.id
        self.kit.pause("approval")
        if self.saved is not None and self.saved.id != "y@1":
            self.kit.halted("y changed")
        elif not noticed:
            self.go(record)

    def deliver(self, key: str, record: Record) -> None:
        if key == X and getattr(self, "noticed", False):
            self.saved = self.kit.read(Y)


SHOWN_BY_THREE = [
    (AsksOnceItWasTold, ("update", "deliver")),
    (DeclaresOnceItChanged, ("update", "dropped-declaration")),
]
SHOWN_BY = [
    (DeclaresOnceItChanged, ("update", "outage", "dropped-declaration")),
    (DeclaresAnotherWayOut, ("update", "dropped-declaration")),
    (MarksWhereNothingIsDeclared, ("update", "dropped-declaration")),
    (ExplainsItselfOnceItChanged, ("update", "missing-parent")),
    (ComparesMemories, ("update",)),
    (FollowsWhatIsDelivered, ("update", "deliver")),
    (AsksWhenItIsDelivered, ("update", "deliver")),
    (ReadsWhenItStartsAgain, ("restart", "update", "outage")),
    (ActsWhenItReplans, ("replan", "tool-fault", "update")),
    (ReadsItsNote, ("update", "missing-parent")),
    (ActsFromMemory, ("update", "deliver")),
    (LosesAParentOfItsReplan, ("update", "replan", "missing-parent")),
    (LooksAtItsPlanAgain, ("replan", "missing-parent")),
    (ComparesTexts, ("update",)),
    (LooksTwoBack, ("update", "deliver")),
    (ActsTwice, ("update", "outage")),
    (ReadsOnceMore, ("restart", "update", "outage")),
    (KeepsItsPlan, ("replan", "restart", "update")),
    (TakesAnyRecord, ("outage", "update")),
    (ExpectsAnother, ("update",)),
    (WritesWhatItRemembers, ("update", "deliver")),
    (PlansWhileItReads, ("replan", "corrupt-parent", "missing-parent")),
    (MarksOnOneBranch, ("update",)),
    (ReplansWithoutIt, ("replan", "missing-parent")),
    (ReadsItsCache, ("update", "deliver")),
    (LosesItsCache, ("update", "missing-parent")),
]
