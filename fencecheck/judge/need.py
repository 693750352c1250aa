"""Was a replan or a halt needed? And how did the episode come out?"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from fencecheck.history import Act, Fetch, Halted, Head, History, Landed, Memory, Read, is_point
from fencecheck.interleaving import Replan, Restart
from fencecheck.judge.evidence import basis_of, lineage
from fencecheck.judge.timeline import Timeline


class Stake(NamedTuple):
    """What the actions that had no effect yet depend on.

    Args:
        declared: their declared keys that are known.
        true: the keys on which they really depend: without them nothing can be planned, declared or not.
        perhaps: keys that may be among both, since they depend on arguments that nobody knows.
    """

    declared: tuple[str, ...]
    true: frozenset[str]
    perhaps: tuple[str, ...]


def at_stake(history: History, done: Collection[str]) -> Stake:
    """What the actions that are not `done` depend on."""
    left = [action for action in history.scenario.actions if action.name not in done]
    keys: dict[bool, dict[str, None]] = {False: {}, True: {}}
    for action in left:
        keys[action.by_arguments].update(dict.fromkeys(history.scenario.declared(action, history.dropped)))
    return Stake(tuple(keys[False]), frozenset(key for action in left for key in action.depends_on), tuple(keys[True]))


def needed(history: History, line: Timeline, agent: str, plan: str | None, until: int, stake: Stake) -> bool:
    """Whether anything gave `agent`, which held `plan`, a reason to give it up before the entry `until`.

    Of the keys that are perhaps at stake a plan rests on some: those are.
    """
    records, keys = history.records, stake.declared
    true = stake.true.union(stake.perhaps)
    if plan is not None:
        ids = lineage(records, plan)[0]
        keys = (*keys, *(key for key in stake.perhaps if basis_of(records, ids, plan, key)))
        own = {key: basis_of(records, ids, plan, key) for key in keys}
        if any(len(versions) != 1 for versions in own.values()):
            return True
        since = line.derived.get(plan, -1)
        if history.own_store and any(line.truth(key, until) not in own[key] for key in keys):
            return True
    else:
        keys = (*keys, *stake.perhaps)
        ids, since, own = [], -1, _own(history, line, agent, until)
        if history.own_store and any(line.truth(key, until) not in own[key] for key in keys if key in own):
            return True
    for i in range(since + 1, until):
        entry = history.entries[i]
        if type(entry) is Landed:
            if entry.fired and (type(entry.what) is Replan or (type(entry.what) is Restart and entry.what.agent == agent)):
                return True
        elif (
            _counts(getattr(entry, "agent", None), agent, line)
            and not getattr(entry, "in_event", False)
            and _reason(entry, i, history, line, keys, true, own, ids)
        ):
            return True
    return False


def _counts(other: str | None, agent: str, line: Timeline) -> bool:
    """Whether what `other` met is a reason for `agent`: its own, and what an agent met that derives nothing and so goes by another's plan."""
    return other is not None and (other == agent or other not in line.planners)


def _own(history: History, line: Timeline, agent: str, until: int) -> dict[str, tuple[str, ...]]:
    """What an agent without a plan goes by, by key: the version that it was served first, and those that its own acts wrote."""
    own: dict[str, tuple[str, ...]] = {}
    for entry in history.entries[:until]:
        if isinstance(entry, Read | Head | Memory) and entry.agent == agent and not entry.in_event and entry.version is not None:
            own.setdefault(entry.key, (entry.version,))
    return {key: (*versions, *line.wrote.get((agent, key), ())) for key, versions in own.items()}


def _reason(
    entry: object,
    i: int,
    history: History,
    line: Timeline,
    keys: tuple[str, ...],
    true: frozenset[str],
    own: dict[str, tuple[str, ...]],
    ids: list[str],
) -> bool:
    if isinstance(entry, Read | Head):
        if entry.key in keys and entry.version not in own.get(entry.key, ()):
            return True
        return (entry.key in keys or entry.key in true) and (i in line.failed or _removed(history, entry.version))
    if type(entry) is Memory:
        return entry.key in keys and entry.version is not None and entry.version not in own.get(entry.key, ())
    if type(entry) is Fetch:
        return entry.answer != "ok" and entry.id in ids
    return type(entry) is Act and entry.outcome not in ("done", "halted")


def _removed(history: History, id: str | None) -> bool:
    record = history.records.get(id) if id is not None else None
    return record is not None and record.removed


def halting_agent(history: History) -> str:
    """Who halted: the agent of the last `halted()`, else of the last point."""
    for entry in reversed(history.entries):
        if type(entry) is Halted:
            return entry.agent
    for entry in reversed(history.entries):
        if is_point(entry):
            return str(entry.agent)  # type: ignore[union-attr]
    return history.scenario.agents[0]


def any_failure(history: History, line: Timeline) -> bool:
    """Whether any agent met a failure: an answer, a fetch or a call of a tool."""
    return bool(line.failed) or any(
        type(e) is Act and e.outcome not in ("done", "repeated", "precondition-failed", "halted") for e in history.entries
    )
