"""Runs a stored case again: does it still fail, has it been fixed, or does it no longer fit the system?"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from fencecheck import __version__
from fencecheck.codec import Case, anchored
from fencecheck.errors import BadInput
from fencecheck.history import History
from fencecheck.interleaving import Deliver, MissingParent, Outage, Replan, Restart, Restore, ToolFault, Update, What, kind_of
from fencecheck.judge import FINDINGS, LEVELS, Finding, judge
from fencecheck.model import Scenario
from fencecheck.run.landing import Anchored
from fencecheck.run.simulate import Runner, SystemLike
from fencecheck.search.report import Failure, Report

Status = Literal["fails", "no longer fails", "stale case"]
EXIT_STATUS: dict[Status, int] = {"fails": 1, "no longer fails": 0, "stale case": 3}


class Replay(Struct):
    """What came of it.

    Args:
        finding: the stored finding as it was seen again, if it was.
        message: one sentence for people.
    """

    status: Status
    history: History
    message: str
    finding: Finding | None = None

    @property
    def exit_status(self) -> int:
        """1 fails, 0 no longer fails, 3 stale case."""
        return EXIT_STATUS[self.status]


def case_of(report: Report, failure: Failure) -> Case:
    """What is stored of a failure: its events anchored on labels, so that an unrelated port call added later moves none of them."""
    return Case(
        __version__,
        report.reference or report.system,
        None if report.own_scenario else failure.interleaving.scenario,
        failure.interleaving.dropped,
        anchored(failure.history, failure.events),
        report.level,
        failure.code,
        failure.finding.key,
        failure.finding.message,
        report.seed,
    )


def replay(case: Case, system: SystemLike) -> Replay:
    """Runs a case on a system.

    Raises:
        BadInput: the case is of a system that brings its own scenario, and this one does not, or the other way round; or there is no
            such finding or level.
    """
    if case.code not in FINDINGS:
        raise BadInput(f"the case is of the finding {case.code!r}, which there is not: use {', '.join(FINDINGS)}")
    if case.level not in LEVELS:
        raise BadInput(f"the case is of the level {case.level!r}, which there is not: use {', '.join(LEVELS)}")
    with Runner(system, case.scenario if _takes_scenario(system) else None) as runner:
        if runner.takes_scenario != (case.scenario is not None):
            raise BadInput(f"the case is of the system {case.system!r}, whose scenario does not fit {runner.name}: name the right system")
        anchors = Anchored(tuple((event.label, event.occurrence, event.what) for event in case.events))
        history = runner.run(case.dropped, anchors=anchors, lines=True)
    gone = [f"{name}, which the case names" for name in _unknown(case, history)]
    gone = gone or [f"'{label} #{number}', before which an event of the case lands" for label, number, _ in anchors.left]
    if case.events and not gone and not history.fired:
        gone = ["anything that the events of the case would change"]
    findings = [finding for finding in judge(history).findings if finding.code == case.code]
    same = [finding for finding in findings if finding.key == case.key] or findings
    if gone and not same:
        message = f"stale case: {runner.name} no longer has {', '.join(gone)}: save the case anew"
        return Replay("stale case", history, message)
    if same:
        return Replay("fails", history, same[0].message, same[0])
    return Replay("no longer fails", history, f"no longer fails: {runner.name} does not show {case.code} in this interleaving any more")


def _takes_scenario(system: SystemLike) -> bool:
    return getattr(system, "scenario", None) is None


def _unknown(case: Case, history: History) -> list[str]:
    """What the events and dropped declarations of a case name that the system no longer has."""
    scenario = history.scenario
    agents = {*scenario.agents, *(getattr(entry, "agent", None) for entry in history.entries)}
    gone = [name for event in case.events if (name := _missing_name(event.what, scenario, agents)) is not None]
    for name, key in case.dropped:
        action = scenario.action(name)
        if action is None or (not action.by_arguments and key not in scenario.declared(action)):
            gone.append(f"the declared key {key!r} of {name!r}")
    return gone


def _missing_name(what: What, scenario: Scenario, agents: set[str | None]) -> str | None:
    if isinstance(what, Update | Deliver) and what.key not in scenario.keys:
        return f"the key {what.key!r} of the {kind_of(what)}"
    if isinstance(what, MissingParent) and isinstance(what.place, str) and what.place not in scenario.keys:
        return f"the key {what.place!r} of the {kind_of(what)}"
    if isinstance(what, Restart) and what.agent not in agents:
        return f"the agent {what.agent!r} of the {kind_of(what)}"
    if isinstance(what, Replan) and what.task not in scenario.tasks:
        return f"the task {what.task!r} of the {kind_of(what)}"
    if isinstance(what, Outage | Restore) and what.owner not in scenario.owners:
        return f"the owner {what.owner!r} of the {kind_of(what)}"
    if isinstance(what, ToolFault) and what.tool not in {action.tool for action in scenario.actions}:
        return f"the tool {what.tool!r} of the {kind_of(what)}"
    return None
