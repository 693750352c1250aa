"""The judge: from a history to what is wrong in it. A pure function, which keeps no state and shares no code with any fence.

The rules are stated in ARCHITECTURE.md, "The judge, exactly"; a slow second judge, written from the same text, is its oracle in the tests.
"""

from __future__ import annotations

from collections.abc import Collection

from fencecheck.history import Act, Ended, History
from fencecheck.judge.effects import judge_effect
from fencecheck.judge.levels import ALWAYS_FAIL, FINDINGS, LEVELS, Level, counts_at
from fencecheck.judge.need import any_failure, at_stake, halting_agent, needed
from fencecheck.judge.timeline import Timeline
from fencecheck.judge.verdict import EpisodeOutcome, Finding, Judgement

__all__ = ["ALWAYS_FAIL", "FINDINGS", "LEVELS", "Finding", "Judgement", "Level", "counts_at", "judge"]


def judge(history: History) -> Judgement:
    """Judges one episode at every level at once; `Judgement.violations(level)` picks.

    Args:
        history: what happened.

    Returns:
        All findings, in the order of the entries that they are about, and what is counted beside them.
    """
    line = Timeline(history)
    into = Judgement("completed", [])
    effects = _effects(history, line, into)
    _replans(history, line, into)
    _end(history, line, effects.keys(), into)
    if len(into.findings) > 1:
        into.findings.sort(key=lambda finding: finding.at)
    into.recovered = into.outcome == "completed" and into.replans > 0
    return into


def _effects(history: History, line: Timeline, into: Judgement) -> dict[str, int]:
    """Judges each effect; returns how many each action had."""
    counts: dict[str, int] = {}
    for i in line.acts:
        entry: Act = history.entries[i]  # type: ignore[assignment]
        if entry.outcome in ("refused", "precondition-failed", "key-reused", "halted"):
            into.refused += 1
        action = history.scenario.action(entry.action)
        if not entry.effect or action is None:
            continue
        into.effects += 1
        number = counts[action.name] = counts.get(action.name, 0) + 1
        judge_effect(history, line, i, entry, action, into)
        if number > action.times:
            into.duplicates += 1
            message = f"{action.name} had {number} effects and was meant to have {action.times}."
            into.findings.append(Finding("duplicate-act", i, None, (i,), message))
    return counts


def _replans(history: History, line: Timeline, into: Judgement) -> None:
    into.replans = len(line.replans)
    for agent, at in line.unbounded:
        message = f"{agent} replanned {line.most + 1} times for one action; allowed is {line.most}."
        into.findings.append(Finding("unbounded-replan", at[-1], None, at, message))
    if not line.replans or any(action.by_arguments for action in history.scenario.actions):
        return  # there the keys of the new plan are not known
    stake = at_stake(history, ())
    for replan in line.replans:
        if not needed(history, line, replan.agent, replan.left, replan.at, stake):
            into.needless_replans += 1
            message = f"{replan.agent} replanned though nothing that it depends on had changed or failed."
            into.findings.append(Finding("needless-replan", replan.at, None, (replan.at,), message))


def _end(history: History, line: Timeline, done: Collection[str], into: Judgement) -> None:
    ended, last = history.ended, len(history.entries) - 1
    into.outcome = _outcome(history, line, done, ended, into, last)
    if ended.how == "stuck":
        into.findings.append(Finding("stuck", last, None, (last,), f"it neither acted nor halted: {ended.detail}."))
    elif ended.how == "crashed":
        so_far = "after an effect" if into.effects else "before any effect, so nothing unsafe went out"
        message = f"it crashed {so_far}: {ended.detail}. If this exception means to halt, name it in halt_exceptions."
        into.findings.append(Finding("crash", last, None, (last,), message))


def _outcome(history: History, line: Timeline, done: Collection[str], ended: Ended, into: Judgement, last: int) -> EpisodeOutcome:
    if ended.how == "stuck":
        return "stuck"
    if ended.how == "crashed":
        return "crashed"
    if all(action.name in done for action in history.scenario.actions):
        return "completed"
    agent = halting_agent(history)
    need = needed(history, line, agent, line.plan_of(agent), last, at_stake(history, done))
    if not need:
        message = f"{agent} halted though nothing that it depends on had changed or failed."
        into.findings.append(Finding("needless-halt", last, None, (last,), message))
        return "halted-needless"
    return "halted-unverified" if any_failure(history, line) else "halted-changed"
