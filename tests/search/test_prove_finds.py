"""Going on to any number of events: what is found on the way."""

from __future__ import annotations

import pytest

from fencecheck.interleaving import Deliver, Event, MissingParent, Update
from fencecheck.model import Action, Record, Scenario
from fencecheck.mutants import ALL as MUTANTS
from fencecheck.run.faults import Fault
from fencecheck.run.simulate import Runner
from fencecheck.search.check import MAX_EVENTS
from fencecheck.search.prove import prove

from .careful import ONE, Careful, X, checked


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
