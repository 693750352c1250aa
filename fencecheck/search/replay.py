"""Runs a stored case again: does it still fail, has it been fixed, or does it no longer fit the system?"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from fencecheck import __version__
from fencecheck.codec import Case, anchored
from fencecheck.errors import BadInput, Nondeterministic
from fencecheck.history import History, Landed, first_difference
from fencecheck.interleaving import Deliver, MissingParent, Outage, Replan, Restart, Restore, ToolFault, Update, What, kind_of
from fencecheck.judge import FINDINGS, LEVELS, Finding, judge
from fencecheck.model import Scenario
from fencecheck.run.landing import Anchored
from fencecheck.run.simulate import Runner, SystemLike
from fencecheck.search.preflight import difference, refuse_inaction
from fencecheck.search.report import Failure, Report

Status = Literal["fails", "no longer fails", "stuck", "crashed", "stale case"]
EXIT_STATUS: dict[Status, int] = {"fails": 1, "no longer fails": 0, "stuck": 1, "crashed": 3, "stale case": 3}


class Replay(Struct):
    """What came of it.

    Args:
        finding: the stored finding as it was seen again, if it was.
        message: one sentence for people.
        smallest: as in the case.
    """

    status: Status
    history: History
    message: str
    finding: Finding | None = None
    smallest: bool | None = None

    @property
    def exit_status(self) -> int:
        """1 fails, or is stuck; 0 no longer fails; 3 stale case, or a crash before anything could be seen."""
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
        failure.smallest,
    )


def replay(case: Case, system: SystemLike) -> Replay:
    """Runs a case on a system, twice.

    Raises:
        BadInput: the case is of a system that brings its own scenario, and this one does not, or the other way round; or there is no
            such finding or level.
        CouldNotRun: the finding is gone since the system never acts, even without any event.
        Nondeterministic: the two runs differ.
    """
    if case.code not in FINDINGS:
        raise BadInput(f"the case is of the finding {case.code!r}, which there is not: use {', '.join(FINDINGS)}")
    if case.level not in LEVELS:
        raise BadInput(f"the case is of the level {case.level!r}, which there is not: use {', '.join(LEVELS)}")
    with Runner(system, case.scenario, of_interleaving=True) as runner:
        if runner.takes_scenario != (case.scenario is not None):
            raise BadInput(f"the case is of the system {case.system!r}, whose scenario does not fit {runner.name}: name the right system")
        history, left = _run(runner, case)
        again, _ = _run(runner, case)
        at = first_difference(history, again)
        if at is not None:
            what = difference(history, again, at)
            raise Nondeterministic(f"{runner.name} is not deterministic: two runs of the case differ: {what}")
        findings = [finding for finding in judge(history).findings if finding.code == case.code]
        if findings:
            finding = next((finding for finding in findings if finding.key == case.key), findings[0])
            return Replay("fails", history, finding.message, finding, case.smallest)
        refuse_inaction(runner, runner.run())
    return _without_finding(case, runner, history, left)


def _run(runner: Runner, case: Case) -> tuple[History, list[tuple[str, int, What]]]:
    """The history of the case, and the events whose point was never reached."""
    anchors = Anchored(tuple((event.label, event.occurrence, event.what) for event in case.events))
    return runner.run(case.dropped, anchors=anchors, lines=True), anchors.left


def _without_finding(case: Case, runner: Runner, history: History, left: list[tuple[str, int, What]]) -> Replay:
    """The finding is gone. That says something only where all that the case is made of was there, and the run came to an end."""
    gone = [*_unreceived(case, runner, history, left), *_undeclared(case, history.scenario)]
    if gone:
        return Replay("stale case", history, f"stale case: {runner.name} no longer has {', '.join(gone)}: save the case anew")
    ended, here = history.ended, f"in this interleaving, and does not show {case.code}"
    if ended.how == "stuck":
        return Replay("stuck", history, f"stuck: {runner.name} neither acts nor halts {here}: {ended.detail}")
    if ended.how == "crashed":
        halt = "If this exception means to halt, name it in halt_exceptions"
        return Replay("crashed", history, f"crashed: {runner.name} crashes {here}: {ended.detail}. {halt}")
    return Replay("no longer fails", history, f"no longer fails: {runner.name} does not show {case.code} in this interleaving any more")


def _unreceived(case: Case, runner: Runner, history: History, left: list[tuple[str, int, What]]) -> list[str]:
    """What the system would have to have for each event of the case that did not fire."""
    scenario = history.scenario
    agents = {*scenario.agents, *(getattr(entry, "agent", None) for entry in history.entries)}
    unfired = [entry.what for entry in history.entries if type(entry) is Landed and not entry.fired]
    gone = []
    for event in case.events:
        kind, call = kind_of(event.what), f"'{event.label} #{event.occurrence}'"
        if (name := _missing_name(event.what, scenario, agents)) is not None:
            gone.append(f"{name}, which the case names")
        elif kind in runner.missing:
            gone.append(f"{runner.missing[kind]}, which the {kind} of the case needs")
        elif (event.label, event.occurrence, event.what) in left:
            gone.append(f"{call}, before which an event of the case lands")
        elif event.what in unfired:
            unfired.remove(event.what)
            gone.append(f"anything that the {kind} before {call} would change")
    return gone


def _undeclared(case: Case, scenario: Scenario) -> list[str]:
    """The dropped declarations of a case that the system does not make any more."""
    gone = []
    for name, key in case.dropped:
        action = scenario.action(name)
        if action is None or (not action.by_arguments and key not in scenario.declared(action)):
            gone.append(f"the declared key {key!r} of {name!r}, which the case names")
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
