"""A run is started, or retried, from a plan on disk after what the plan came from has changed; the file has no provenance."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from fencecheck.fence import Halt, PlanFence, Reason
from fencecheck.interleaving import Event, Restart, Update
from fencecheck.judge import judge
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.kit import Kit
from fencecheck.run.simulate import Runner

from .agents import Agent, Stop, checked, of, smallest

GRAPH = "graph/build"
WORLD = Scenario(owners={"repository": [GRAPH]}, actions=[Action("deploy", depends_on=[GRAPH])])


class Retries(Agent):
    """Makes a plan, saves it in a file, and later starts the run from the file. `keeps` is what the file says of its origin."""

    scenario = WORLD
    keeps: tuple[str, ...] = ()
    fence = "none"
    halt_exceptions = (*Agent.halt_exceptions, Halt)

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "plan.json"

    def teardown(self) -> None:
        self.folder.cleanup()

    def restart(self) -> None: ...

    def run(self) -> None:
        if not self.file.exists():
            graph = self.look(GRAPH)
            saved = {"steps": graph.value, "parents": [graph.id]}
            self.file.write_text(json.dumps({key: saved[key] for key in ("steps", *self.keeps)}))
            self.kit.pause("until it is retried")
        self.start(json.loads(self.file.read_text()))

    def start(self, saved: dict[str, Any]) -> None:
        if self.fence == "none":
            self.kit.act("deploy", {"steps": saved["steps"]})
            return
        plan = self.kit.derive({"steps": saved["steps"]}, saved.get("parents", []))
        self.clear(plan)
        self.kit.act("deploy", plan.value, plan=plan)

    def clear(self, plan: Record) -> None:
        """The reference fence, without a replan."""
        fence: PlanFence[Record] = PlanFence(self.kit.record, lambda key: self.kit.head(key, timeout=5.0), None, self.kit.validated)
        fence.clear(plan, [GRAPH])


class PassesWhatItCannotSee(Retries):
    """Compares the versions that it finds in the lineage, and finds none."""

    def clear(self, plan: Record) -> None:
        for id in plan.parents:
            record = self.kit.record(id)
            if record.key != GRAPH or record.parents or record.id != self.head(GRAPH):
                raise Stop("changed")
        self.kit.validated([GRAPH])


def test_the_saved_plan_is_stale_after_one_change_of_the_graph() -> None:
    report = checked(Retries, max_events=1)
    assert smallest(report) == [("stale-act", GRAPH, (Event(2, Update(GRAPH)),))]


def test_a_plan_whose_file_shows_nothing_at_all_is_inconclusive() -> None:
    class Hides(Retries):
        def start(self, saved: dict[str, Any]) -> None:
            self.kit.act("deploy", {"file": "plan.json"})

    report = checked(Hides, max_events=1)
    assert (report.verdict, report.exit_status, report.failures) == ("inconclusive", 3, [])
    assert report.why == (
        f"nothing shows which version of {GRAPH} deploy was made from. Pass plan= or basis= to kit.act, or arguments that carry the values."
    )


def test_where_the_fence_sees_no_lineage_it_halts() -> None:
    with Runner(of(Retries, fence="reference")) as runner:
        for events in ((), (Event(1, Update(GRAPH)),)):
            history = runner.run((), events)
            assert history.effects == ()
            assert history.ended.how == "halted"
            assert Reason.NOT_IN_LINEAGE.value in history.ended.detail
            assert judge(history).findings == []


def test_a_fence_that_passes_what_it_cannot_see_needs_no_event_to_be_wrong() -> None:
    report = checked(of(PassesWhatItCannotSee, fence="passes"))
    assert smallest(report) == [("unverified-act", GRAPH, ())]
    assert report.failures[0].finding.message == f"deploy went out though its plan's lineage holds no version of {GRAPH}."


def test_a_file_that_keeps_its_parents_holds_behind_the_fence() -> None:
    report = checked(of(Retries, fence="reference", keeps=("parents",)), max_events=1)
    assert (report.verdict, report.noticed) == ("held", {})
    assert report.counts["halted_changed"] == 4  # changed, removed, removed before it was read, and found changed by the tool


class LosesItInARestart(Retries):
    """The plan in memory knows its parents; the one in the file does not."""

    fence = "passes"

    def run(self) -> None:
        if self.file.exists():
            self.start(json.loads(self.file.read_text()))
            return
        graph = self.look(GRAPH)
        self.file.write_text(json.dumps({"steps": graph.value}))
        self.start({"steps": graph.value, "parents": [graph.id]})


def test_lineage_that_only_a_restart_loses() -> None:
    bad = of(PassesWhatItCannotSee, run=LosesItInARestart.run, fence="passes")
    report = checked(bad, max_events=1)
    assert smallest(report) == [("unverified-act", GRAPH, (Event(1, Restart("agent")),))]
    fixed = of(LosesItInARestart, fence="reference")
    report = checked(fixed, max_events=1)
    assert (report.verdict, report.noticed) == ("held", {})
    assert report.fired["restart"] > 0
