"""Going on to any number of events: what closes, what is refused, and what is said of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fencecheck import systems
from fencecheck.errors import BadInput
from fencecheck.fence import Halt
from fencecheck.history import Memory
from fencecheck.interleaving import Deliver, Event, MissingParent, Switch, Update
from fencecheck.model import Action, Record, Scenario
from fencecheck.mutants import ALL as MUTANTS
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault, PreconditionFailed
from fencecheck.run.kit import Kit
from fencecheck.run.simulate import Runner
from fencecheck.search.budget import Shard, shard
from fencecheck.search.check import MAX_EVENTS, check
from fencecheck.search.exhaust import episodes
from fencecheck.search.prove import BASE, Proof, prove
from fencecheck.search.report import Report
from fencecheck.worlds import world

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


# -- what is not taken for complete ------------------------------------------------------------------------------------------------------


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


# -- what is found on the way ------------------------------------------------------------------------------------------------------------


class ThirdTime(Careful):
    """Asks three times at most: acts if the third change comes after the last look."""

    def run(self) -> None:
        for _ in range(3):
            record = self.now()
            self.kit.pause("approval")
            if self.same(record):
                break
        self.kit.validated([X])
        self.kit.act("go", {"to": record.value}, basis={X: record.id})


def test_a_violation_that_needs_three_events_is_found_by_the_default_check() -> None:
    report = checked(ThirdTime, level="at-validation")
    assert report.verdict == "violated"
    failure = report.failures[0]
    assert (failure.code, [type(event.what) for event in failure.events]) == ("stale-act", [Update] * 3)
    assert report.bound.kind == "events"


def test_an_agent_that_the_scenario_does_not_list_remembers_as_the_others_do() -> None:
    class Whispers(Careful):
        """A helper remembers what was delivered while the other agent knew it already, and is believed once y has changed."""

        def run(self) -> None:
            first, other = self.now(), self.kit.head("y", timeout=1)
            self.kit.pause("approval")
            now = self.now()
            with self.kit.agent("helper"):
                self.kit.point("awake")
                held = self.kit.memory(X)
            if first.id != now.id and (held.id != now.id or self.kit.head("y", timeout=1) == other):
                self.kit.halted("x changed")
                return
            self.kit.validated([X])
            self.kit.act("go", {"to": first.value}, basis={X: first.id})

    assert "helper" not in ONE.agents
    report = checked(Whispers)
    assert [(failure.code, [type(event.what) for event in failure.events]) for failure in report.failures] == [
        ("stale-act", [Update, Deliver, Update])
    ]


def test_a_declaration_is_dropped_that_only_some_runs_ask_for() -> None:
    class HasAFallback(Careful):
        """Once x has changed, does something else that depends on y, whose declared keys it asks for only then."""

        scenario = Scenario(ONE.owners, actions=[*ONE.actions, Action("fall back", depends_on=["y"])])

        def run(self) -> None:
            first, other = self.now(), self.kit.read("y", timeout=1)
            self.kit.pause("approval")
            if self.same(first):
                self.kit.validated([X])
                self.kit.act("go", {"to": first.value}, basis={X: first.id})
                return
            for key in self.kit.declared("fall back"):
                if self.kit.head(key, timeout=1) != other.id:
                    self.kit.halted("y changed")
                    return
            self.kit.act("fall back", {"to": other.value}, basis={"y": other.id})

    seen = []
    with Runner(HasAFallback) as runner:
        prove(runner, lambda episode, judgement: bool(seen.append(episode.dropped)), known=0, in_time=lambda: True, per_kind=100)
    assert (("fall back", "y"),) in seen


def test_a_record_deep_in_a_lineage_that_only_some_runs_have_is_lost_too() -> None:
    class ExplainsAtLength(Careful):
        """Where x and y have changed, derives a long chain and takes a hole deep in it for an approval."""

        def run(self) -> None:
            first, other = self.now(), self.kit.head("y", timeout=1)
            self.kit.pause("approval")
            now = self.now()
            if first.id == now.id:
                self.kit.validated([X])
                self.kit.act("go", {"to": now.value}, basis={X: now.id})
                return
            if self.kit.head("y", timeout=1) == other:
                self.kit.halted("x changed")
                return
            plan = bottom = self.kit.derive("0", [first])
            for number in range(1, 13):
                plan = self.kit.derive(str(number), [plan])
            self.kit.point("explained")
            try:
                self.kit.record(bottom)
                self.kit.halted("it is all there")
            except Fault:
                self.kit.act("go", {"to": first.value}, basis={X: first.id})

    report = checked(ExplainsAtLength, per_kind=0)
    assert report.failures
    assert [type(event.what) for event in report.failures[0].events] == [Update, Update, MissingParent]


def test_one_that_needs_a_further_kind_is_found_too() -> None:
    class ThinksItRemembers(Careful):
        """Acts if memory changed after it looked there twice."""

        def run(self) -> None:
            looks = []
            for _ in range(3):
                looks.append(self.kit.memory(X))
                self.kit.point("between")
            now = self.head()
            if now != looks[2].id and len({look.id for look in looks}) < 3:
                self.kit.halted("x changed")
                return
            self.kit.validated([X])
            self.kit.act("go", {"to": looks[2].value}, basis={X: looks[2].id})

    report = checked(ThinksItRemembers)
    assert report.verdict == "violated"
    assert [type(event.what) for event in report.failures[0].events] == [Update, Deliver, Update, Deliver, Update]


@pytest.mark.parametrize("name", MUTANTS)
def test_what_few_events_show_is_reported_before_any_more_are_tried(name: str) -> None:
    report = checked(MUTANTS[name])
    assert report.verdict == "violated"
    assert (report.proof is None) == (report.failures[0].interleaving.size <= MAX_EVENTS)


# -- several tasks, and chosen kinds -------------------------------------------------------------------------------------------------------


class Race(AgentSystem):
    """Checks, then acts, while another task may update what it rests on in between; looks again right before it acts, or not."""

    scenario = ONE
    runtime = "asyncio"
    halt_exceptions = (Fault, Halt)
    looks_again = False

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.updater())
            group.create_task(self.agent())

    async def agent(self) -> None:
        record = await self.kit.aio.read(X)
        await asyncio.sleep(0)
        if await self.kit.aio.head(X) != record.id:
            self.kit.halted("x changed")
            return
        self.kit.validated([X])
        if self.looks_again:
            await self.kit.aio.act("go", {"to": record.value}, basis={X: record.id}, expect={X: record.id})
        else:
            await self.kit.aio.act("go", {"to": record.value}, basis={X: record.id})

    async def updater(self) -> None:
        await self.kit.aio.derive("another", [], X)


class SafeRace(Race):
    """The tool checks with its own update."""

    halt_exceptions = (Fault, Halt, PreconditionFailed)
    looks_again = True


def test_every_order_of_answers_is_tried_once() -> None:
    """Three calls of one task and one of another: C(4, 1) orders, the first of which is the episode without events."""
    report = checked(SafeRace, kinds=["switch"], level="at-act")
    proof = proof_of(report)
    assert (report.verdict, report.bound.kind, proof.kinds) == ("held", "complete", ("switch",))
    assert proof.base is not None
    assert proof.base.episodes == 4


def test_a_race_is_found_by_the_first_order_that_shows_it() -> None:
    report = checked(Race, kinds=["switch"], level="at-act")
    assert report.verdict == "violated"
    assert [(event.at, type(event.what)) for event in report.failures[0].events] == [(0, Switch), (1, Switch)]
    assert report.failures[0].code == "raced-act"


def test_a_concurrent_system_is_complete_in_the_order_in_which_calls_come_and_with_switches() -> None:
    report = checked(SafeRace, kinds=["update", "switch", "restore"], level="at-act")
    proof = proof_of(report)
    assert proof.complete
    assert [(reach.kind, reach.complete) for reach in proof.further if reach.kind == "switch"] == [("switch", True)]


def test_real_time_is_refused() -> None:
    class Native(SafeRace):
        runtime = "asyncio-native"

    with Runner(Native) as runner:
        why = prove(runner, lambda episode, judgement: False, known=2, in_time=lambda: True).why
    assert why == "real time and real I/O decide in which order its calls are answered"


def test_chosen_kinds_alone_are_tried() -> None:
    report = checked(systems.ALL["planfence"], kinds=["update", "dropped-declaration"], max_events=2)
    assert set(report.fired) == {"update", "dropped-declaration"}
    assert report.missing == {}
    explored = checked(systems.ALL["planfence"], kinds=["deliver"], engine="explore", examples=30)
    assert set(explored.fired) <= {"deliver"}


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (["updates"], r"there is no kind of event 'updates': did you mean update\? Else use update, deliver,"),
        (["update", "switch"], "cannot receive switch: its runtime is sync"),
    ],
)
def test_kinds_that_there_are_not_are_refused(kinds: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        checked(systems.ALL["planfence"], kinds=kinds)


# -- budgets and shares --------------------------------------------------------------------------------------------------------------------


def test_no_time_at_all_is_inconclusive_and_names_the_bound() -> None:
    report = checked(systems.ALL["planfence"], max_time=1e-9)
    assert (report.verdict, report.exit_status, report.bound.value) == ("inconclusive", 3, 0)
    assert report.why == "the time was up: allow more, or fewer events"


def test_time_that_is_up_while_it_goes_on_leaves_the_bound_that_was_reached() -> None:
    left = iter([*[True] * 30, *[False] * 10])
    with Runner(systems.ALL["planfence"]) as runner:
        proof = prove(runner, lambda episode, judgement: False, known=2, in_time=lambda: next(left))
    assert (proof.complete, proof.why) == (False, "the time was up")


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_shares_make_up_the_whole_with_no_overlap_and_evenly(of: int) -> None:
    with Runner(systems.ALL["planfence"], world(keys=2, declared=1, depth=1)) as runner:
        whole = [(e.dropped, e.events) for e in episodes(runner, 2)]
        shares = [[(e.dropped, e.events) for e in episodes(runner, 2, shard=Shard(i, of))] for i in range(1, of + 1)]
    assert sorted(map(repr, whole)) == sorted(repr(one) for share in shares for one in share)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "a/b", "-1/4", "1/4/2", "²/4"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="a shard is i/n with 1 <= i <= n, such as 2/4, not"):
        shard(text)


@pytest.mark.parametrize("options", [{}, {"engine": "explore", "max_events": 2}])
def test_a_share_needs_a_number_of_events(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="use the engine exhaust and give max_events"):
        checked(systems.ALL["planfence"], shard=Shard(1, 2), **options)


@pytest.mark.parametrize(("options", "said"), [({"per_kind": -1}, "0 or more, not -1"), ({"max_time": 0}, "above 0, not 0")])
def test_budgets_out_of_range_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        checked(systems.ALL["planfence"], **options)


def test_an_event_that_is_told_of_by_a_hook_lands_where_it_fits() -> None:
    class Hears(Careful):
        heard = False

        def deliver(self, key: str, record: Record) -> None:
            self.heard = True

        def same(self, record: Record) -> bool:
            return self.heard or super().same(record)

    report = checked(Hears)
    assert report.verdict == "violated"
    assert [type(event.what) for event in report.failures[0].events] == [Update, Deliver]
    assert isinstance(report.failures[0].events[0], Event)
