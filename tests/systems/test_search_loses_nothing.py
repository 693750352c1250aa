"""The reduced search sees all that the plain one sees: the same answers with the same findings, and nothing besides."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from fencecheck import mutants, systems
from fencecheck.interleaving import KINDS, Replan, Restart, Update
from fencecheck.model import Action, Record, Scenario
from fencecheck.mutants.plain import PlainFence
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault, PreconditionFailed
from fencecheck.run.kit import Kit
from fencecheck.run.simulate import Runner
from fencecheck.worlds import world

from .programs import system as program
from .seen import difference, plain, reduced

BUILT_IN = {**systems.ALL, "plain-fence": PlainFence, **mutants.ALL}
ALL_KINDS = (*KINDS, "dropped-declaration")
GROUPS = (
    ("update", "deliver", "outage"),
    ("update", "missing-parent", "corrupt-parent"),
    ("update", "restart", "replan", "tool-fault"),
    ("outage", "restore", "replan", "dropped-declaration"),
    ("missing-parent", "deliver", "restart", "update"),
)
X, Y = "x", "y"
TWO = Scenario(owners={"a": [X], "b": [Y]}, actions=[Action("go", depends_on=[X])])


@pytest.mark.parametrize("name", BUILT_IN)
def test_one_event_of_any_kind(name: str) -> None:
    with Runner(BUILT_IN[name], world(keys=2, declared=2, depth=2)) as runner:
        assert difference(runner, 1, ALL_KINDS, broken={"honest-owners"}) == ""


@pytest.mark.parametrize(("name", "kinds"), [(name, GROUPS[i % len(GROUPS)]) for i, name in enumerate(BUILT_IN)])
def test_two_events_of_some_kinds(name: str, kinds: tuple[str, ...]) -> None:
    with Runner(BUILT_IN[name], world(keys=2, declared=1 + len(name) % 2, depth=1)) as runner:
        assert difference(runner, 2, kinds) == ""


@pytest.mark.parametrize("kinds", GROUPS)
def test_two_events_of_each_group_of_kinds_under_the_reference_fence(kinds: tuple[str, ...]) -> None:
    with Runner(systems.ALL["planfence"], world(keys=2, declared=1, depth=2)) as runner:
        assert difference(runner, 2, kinds) == ""


@pytest.mark.parametrize("name", ["planfence", "asks-memory"])
def test_three_updates_and_deliveries(name: str) -> None:
    with Runner(BUILT_IN[name], world(keys=1, declared=1, depth=1, owners=1)) as runner:
        assert difference(runner, 3, ("update", "deliver")) == ""


@pytest.mark.parametrize("seed", range(30))
def test_two_events_in_a_generated_system(seed: int) -> None:
    with Runner(program(seed, length=2 + seed % 3)) as runner:
        kinds = Random(seed).sample([kind for kind in ALL_KINDS if kind in runner.kinds], 2)
        assert difference(runner, 2, {*kinds, "update"} & set(runner.kinds), broken={"honest-owners"} if seed % 3 == 0 else ()) == ""


@pytest.mark.parametrize("seed", range(100, 108))
def test_three_events_in_a_short_generated_system(seed: int) -> None:
    with Runner(program(seed, length=1)) as runner:
        kinds = Random(seed).sample([kind for kind in ("deliver", "missing-parent", "restart", "replan") if kind in runner.kinds], 1)
        assert difference(runner, 3, ("update", *kinds)) == ""


def test_the_full_search_is_the_plain_one() -> None:
    with Runner(systems.ALL["planfence"], world(keys=2, declared=1, depth=1)) as runner:
        kinds = ("update", "replan", "restart", "missing-parent")
        assert set(reduced(runner, 2, kinds, full=True)) == set(plain(runner, 2, kinds))


# -- systems each of which shows one way in which an event and a point depend on one another -----------------------------------------


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


SHOWN_BY = [
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


@pytest.mark.parametrize(("system", "kinds"), SHOWN_BY)
def test_two_events_where_they_depend_in_one_particular_way(system: type[AgentSystem], kinds: tuple[str, ...]) -> None:
    with Runner(system) as runner:
        assert difference(runner, 2, kinds) == ""


def test_an_event_after_a_restart_lands_before_the_first_call_of_the_next_run() -> None:
    with Runner(ReadsOnceMore) as runner:
        found = reduced(runner, 2, ("restart", "update"))
    after_restart = [events for dropped, events in found.values() if [type(e.what) for e in events] == [Restart, Update]]
    assert (1, 1) in {(events[0].at, events[1].at) for events in after_restart}


def test_a_replan_comes_before_a_restart_and_after_it() -> None:
    with Runner(KeepsItsPlan) as runner:
        found = reduced(runner, 2, ("restart", "replan"))
    orders = {tuple(type(e.what) for e in events) for dropped, events in found.values() if len(events) == 2}
    assert {(Replan, Restart), (Restart, Replan)} <= orders
