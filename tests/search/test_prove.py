"""Going on to any number of events: what closes, and what is not taken for complete."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck import systems
from fencecheck.history import Memory
from fencecheck.interleaving import Deliver
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.kit import Kit
from fencecheck.run.simulate import Runner
from fencecheck.search.prove import BASE, prove
from fencecheck.worlds import world

from .careful import ONE, Careful, X, checked, proof_of

# -- what closes --------------------------------------------------------------------------------------------------------------------


def test_planfence_is_complete_for_any_number_of_base_events() -> None:
    report = checked(systems.ALL["planfence"], per_kind=0)
    proof = proof_of(report)
    assert (report.verdict, report.bound.kind) == ("held", "complete")
    assert proof.base is not None
    assert (proof.base.complete, proof.base.events, proof.base.episodes, report.bound.value) == (True, 10, 494, 10)
    assert proof.kinds == BASE
    assert proof.further == []
    assert proof.compared == proof.base.episodes


def test_each_further_kind_says_whether_it_is_complete_or_up_to_how_many_events() -> None:
    with Runner(systems.ALL["planfence"], world(keys=2, declared=1, depth=1)) as runner:
        proof = prove(runner, lambda episode, judgement: False, known=2, in_time=lambda: True, per_kind=300)
    reached = {reach.kind: reach for reach in proof.further}
    assert {"update (removed)", "deliver", "outage (hang)", "corrupt-parent (cycle)", "tool-fault (lost-reply)"} <= {
        kind for kind, reach in reached.items() if reach.complete
    }
    assert "dropped-declaration" in reached
    unbounded = reached["update (earlier)"]
    assert not unbounded.complete
    assert 0 < unbounded.events <= 4
    assert unbounded.episodes <= 300


def test_how_many_interleavings_it_stands_for_is_counted_by_hand() -> None:
    """Three points; two updates, two outages, two restores and, of the records of three keys and one plan, none but those of the keys."""
    with Runner(Careful) as runner:
        proof = prove(runner, lambda episode, judgement: False, known=0, in_time=lambda: True, per_kind=0)
        points, kinds = runner.horizon, 2 + 2 + 2 + 2 + 1
    by_hand = [1]
    for size in range(1, proof.counted + 1):
        sequences = [(at,) for at in range(points)]
        for _ in range(size - 1):
            sequences = [(*some, at) for some in sequences for at in range(some[-1], points)]
        by_hand.append(len(sequences) * kinds**size)
    assert proof.stands_for == sum(by_hand)


def test_a_system_that_looks_into_memory_in_some_runs_only_is_searched_with_what_is_in_memory() -> None:
    class Looks(Careful):
        def same(self, record: Record) -> bool:
            if self.head() == record.id:
                return True
            return self.kit.memory(X).id == record.id

    with Runner(Looks) as runner:
        assert not any(type(entry) is Memory for entry in runner.run().entries)
        seen = []
        prove(runner, lambda episode, judgement: bool(seen.append(episode.events)), known=0, in_time=lambda: True, per_kind=100)
    assert any(type(event.what) is Deliver for events in seen for event in events)


# -- what is not taken for complete --------------------------------------------------------------------------------------------------


class OrdersVersions(Careful):
    """Takes a version with a number above its own for newer."""

    def same(self, record: Record) -> bool:
        return int(self.head().rpartition("@")[2]) <= int(record.id.rpartition("@")[2])


class ActsOnValues(Careful):
    """Goes by what the value says."""

    def same(self, record: Record) -> bool:
        return super().same(record) or self.now().value == "x version 3"


class SkipsWhatIsSmall(Careful):
    """Sends small amounts without a look, which takes an update before it has read anything."""

    scenario = Scenario(owners={"a": [X]}, actions=[Action("go", depends_on=[X])], values={X: (90, 80, 70, 60, 50, 40, 30)})

    def same(self, record: Record) -> bool:
        return bool(record.value <= 50) or super().same(record)


class MeasuresIds(Careful):
    """Takes a longer id for its own, which no version has before the tenth."""

    def same(self, record: Record) -> bool:
        return len(self.head()) > len(record.id) or super().same(record)


class KnowsTheLastValue(Careful):
    """Takes a value of the scenario for its own that three updates come to."""

    scenario = Scenario(ONE.owners, ONE.actions, values={X: ["tea", "coffee", "milk", "juice", "water"]})

    def same(self, record: Record) -> bool:
        return super().same(record) or self.now().value == "juice"


class FollowsLinks(Careful):
    """Looks for what it read among what the current version superseded."""

    def same(self, record: Record) -> bool:
        now = self.now()
        if now.supersedes and now.supersedes != record.id:
            self.kit.record(now.supersedes)
        return now.id == record.id


class MakesUpIds(Careful):
    """Asks for a version that nobody told it of."""

    def same(self, record: Record) -> bool:
        same = super().same(record)
        if not same:
            self.kit.record("x@1" if record.id != "x@1" else "x@2")
        return same


class KeepsAStore(Careful):
    """Its records are in a store of its own."""

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.rows: dict[str, list[Any]] = {}

    def publish(self, key: str, value: Any) -> str | None:
        self.rows.setdefault(key, []).append(value)
        return self.true_head(key)

    def true_head(self, key: str) -> str | None:
        return f"{key}/{len(self.rows[key])}" if key in self.rows else None

    def run(self) -> None:
        row = self.kit.read(X, timeout=1, via=lambda: (self.true_head(X), self.rows[X][-1]))
        self.kit.pause("approval")
        if row == self.kit.read(X, timeout=1, via=lambda: (self.true_head(X), self.rows[X][-1])):
            self.kit.validated([X])
            self.kit.act("go", {"to": row[1]}, basis={X: row[0]})


@pytest.mark.parametrize(
    ("system", "why"),
    [
        (OrdersVersions, "with other version ids and values it does otherwise: it goes by more than whether they are equal"),
        (ActsOnValues, "with other version ids and values it does otherwise: it goes by more than whether they are equal"),
        (SkipsWhatIsSmall, "with other version ids and values it does otherwise: it goes by more than whether they are equal"),
        (MeasuresIds, "with other version ids and values it does otherwise: it goes by more than whether they are equal"),
        (KnowsTheLastValue, "with other version ids and values it does otherwise: it goes by more than whether they are equal"),
        (FollowsLinks, "it fetched x@2, which no answer had named, or only as what another version supersedes"),
        (MakesUpIds, "with other version ids and values it does otherwise: it goes by more than whether they are equal"),
        (KeepsAStore, "it keeps its own store, whose state is not known"),
    ],
)
def test_where_renaming_would_be_unsound_only_the_bound_is_claimed(system: type[AgentSystem], why: str) -> None:
    with Runner(system) as runner:
        proof = prove(runner, lambda episode, judgement: False, known=2, in_time=lambda: True, per_kind=0)
    assert (proof.complete, proof.why) == (False, why)


def test_a_further_kind_under_which_renaming_would_be_unsound_is_held_up_to_what_was_judged_before() -> None:
    class FollowsARemoval(Careful):
        """Where x is removed, asks for the version that was."""

        def same(self, record: Record) -> bool:
            now = self.now()
            if now.removed and now.supersedes not in (None, record.id):
                self.kit.record(now.supersedes)
            return now.id == record.id and not now.removed

    with Runner(FollowsARemoval) as runner:
        proof = prove(runner, lambda episode, judgement: False, known=2, in_time=lambda: True)
    reached = {reach.kind: reach for reach in proof.further}
    assert proof.complete
    assert (reached["update (removed)"].complete, reached["update (removed)"].events) == (False, 2)
    assert reached["deliver"].complete


def test_a_refused_system_is_held_up_to_the_bound_alone() -> None:
    report = checked(KeepsAStore)
    assert (report.verdict, report.bound.kind, report.bound.value) == ("held", "events", 2)
    assert report.placements == "every point"


def test_equal_values_are_refused() -> None:
    class Same(Careful):
        scenario = Scenario(owners={"a": [X]}, actions=[Action("go", depends_on=[X])], values={X: ("tea", "coffee", "tea")})

    with Runner(Same) as runner:
        assert prove(runner, lambda episode, judgement: False, known=2, in_time=lambda: True).why == "the values of x are not all different"
