"""Further ways in which a system's own store is updated: named by the scenario, carried out by the adapter, tried, stored and told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from fencecheck import codec
from fencecheck.errors import BadInput
from fencecheck.history import Landed
from fencecheck.interleaving import Event, Interleaving, ToolFault, Update, update_hows
from fencecheck.judge import judge
from fencecheck.model import Action, Scenario
from fencecheck.report.words import Names, event_in_words
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault
from fencecheck.run.kit import Kit
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check
from fencecheck.search.placing import every
from fencecheck.strategies import updates

ROW = "row"
HOWS = {"silent": "without a new stamp", "stamped": "with a new stamp", "emptied": "emptied", "taken": "taken away"}
WORLD = Scenario(
    owners={"table": [ROW]},
    actions=[Action("send", depends_on=[ROW])],
    values={ROW: ["one", "two", "three", "four"]},
    update_hows=HOWS,
)


class Stamps(AgentSystem):
    """Goes by a stamp, which not every update renews."""

    scenario = WORLD
    halt_exceptions = (Fault,)

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.row: tuple[int, Any] | None = None

    def publish(self, key: str, value: Any) -> Any:
        self.row = (self.row[0] + 1 if self.row else 1, value)
        return self.true_head(key)

    def true_head(self, key: str) -> Any:
        return self.row[1] if self.row else None

    def publish_how(self, key: str, how: str, value: Any) -> Any:
        if self.row is None or (how == "emptied" and self.row[1] == ""):
            return None
        stamp, now = self.row
        self.row = {"silent": (stamp, value), "stamped": (stamp + 1, now), "emptied": (stamp + 1, ""), "taken": None}[how]
        return self.row[1] if self.row else ""

    def run(self) -> None:
        row = self.kit.read(ROW, timeout=5.0, via=lambda: self.row)
        self.kit.point("thinking")
        now = self.kit.head(ROW, timeout=5.0, via=lambda: self.row)
        if not isinstance(row, tuple) or not isinstance(now, tuple) or row[0] != now[0]:
            self.kit.halted("the stamp is another")
            return
        self.kit.validated([ROW])
        self.kit.act("send", {"text": row[1]})


def landed(*events: Event) -> list[Landed]:
    with Runner(Stamps) as runner:
        return [entry for entry in runner.run((), events).entries if type(entry) is Landed]


@pytest.mark.parametrize(
    ("how", "version", "same", "words"),
    [
        ("silent", "row@2", False, "table commits row r2, without a new stamp"),
        ("stamped", "row@1", True, "table leaves row r1 as it is, with a new stamp"),
        ("emptied", "row@2", False, "table commits row r2, emptied"),
        ("taken", "row@2", False, "table removes row, taken away"),
    ],
)
def test_each_way_commits_a_version_or_leaves_it_or_takes_it_away(how: str, version: str, same: bool, words: str) -> None:
    with Runner(Stamps) as runner:
        history = runner.run((), (Event(2, Update(ROW, how)),))
    [entry] = [entry for entry in history.entries if type(entry) is Landed]
    assert (entry.fired, entry.version, entry.same) == (True, version, same)
    assert event_in_words(Names(history), entry) == words
    assert history.records[version].removed == (how == "taken")


def test_one_that_changes_nothing_has_not_fired() -> None:
    emptied = Event(2, Update(ROW, "emptied"))
    assert [entry.fired for entry in landed(emptied, emptied)] == [True, False]


def test_a_version_that_is_left_as_it_is_stays_the_true_one() -> None:
    with Runner(Stamps) as runner:
        judgement = judge(runner.run((), (Event(2, Update(ROW, "stamped")),)))
    assert (judgement.outcome, [finding.code for finding in judgement.findings]) == ("halted-needless", ["needless-halt"])


def test_the_search_tries_each_and_names_the_smallest() -> None:
    report = check(Stamps, fresh_process=False, max_events=1)
    assert [(failure.code, failure.events) for failure in report.failures] == [("stale-act", (Event(2, Update(ROW, "silent")),))]
    assert set(report.noticed) == {"needless-halt"}
    drawn = check(Stamps, fresh_process=False, engine="explore", examples=300)
    assert [failure.events for failure in drawn.failures] == [(Event(2, Update(ROW, "silent")),)]


def test_they_come_after_the_ways_of_every_scenario() -> None:
    assert update_hows(WORLD) == ("fresh", "earlier", "removed", *HOWS)
    assert every(WORLD, ["update"], 1) == [Update(ROW, how) for how in update_hows(WORLD)]


@given(updates(WORLD))
def test_each_of_them_can_be_drawn(update: Update) -> None:
    assert update.how in update_hows(WORLD)


def test_they_are_stored_with_the_scenario() -> None:
    interleaving = Interleaving(WORLD, events=[(2, Update(ROW, "taken"))])
    assert codec.decode_interleaving(codec.encode_interleaving(interleaving)) == interleaving
    with Runner(Stamps) as runner:
        history = runner.run((), interleaving.events)
    assert codec.decode_history(codec.encode_history(history)) == history


def test_what_the_scenario_does_not_name_is_refused() -> None:
    sentence = "Update: how must be one of fresh, earlier, removed, silent, stamped, emptied, taken, not 'moved'"
    with pytest.raises(BadInput, match=sentence):
        Interleaving(WORLD, events=[(0, Update(ROW, "moved"))])
    with pytest.raises(BadInput, match=sentence):
        landed(Event(0, Update(ROW, "moved")))
    with pytest.raises(BadInput, match="update_hows of a scenario maps names to what a report says"):
        Scenario(owners={"a": ["x"]}, actions=[Action("go")], update_hows={"": "nothing"})


def test_a_system_without_the_hook_is_refused() -> None:
    class NoHook(Stamps):
        publish_how = None  # type: ignore[assignment]

    with pytest.raises(BadInput, match=r"NoHook.*: publish_how must be a method|NoHook: its scenario has update_hows"):
        Runner(NoHook)

    class NoStore(AgentSystem):
        scenario = WORLD

        def run(self) -> None:
            self.kit.act("send")

    with pytest.raises(
        BadInput, match=r"NoStore.*: its scenario has update_hows \(silent, .*\): define publish\(\), true_head\(\) and publish_how"
    ):
        Runner(NoStore)


@pytest.mark.parametrize(("own", "outcome", "code"), [(True, "halted-needless", ["needless-halt"]), (False, "halted-unverified", [])])
def test_a_halt_inside_a_tool_that_is_part_of_the_system_is_judged_like_any_halt(own: bool, outcome: str, code: list[str]) -> None:
    class InTheTool(Stamps):
        tools_can_halt = own
        halt_exceptions = (Fault, ValueError)

        def run(self) -> None:
            stamp, text = self.kit.read(ROW, via=lambda: self.row)
            self.kit.act("send", {"text": text}, via=lambda: self.send(stamp))

        def send(self, stamp: int) -> None:
            if self.row is None or self.row[0] != stamp:
                raise ValueError("the stamp is another")

    with Runner(InTheTool) as runner:
        judgement = judge(runner.run((), (Event(1, Update(ROW, "stamped")),)))
        changed = judge(runner.run((), (Event(1, Update(ROW)),)))
        refused = judge(runner.run((), (Event(1, ToolFault("send")),)))
    assert (judgement.outcome, [finding.code for finding in judgement.findings], judgement.refused) == (outcome, code, 1)
    assert (changed.outcome, changed.findings) == ("halted-changed" if own else "halted-unverified", [])
    assert (refused.outcome, refused.findings) == ("halted-unverified", [])
