"""Was a replan or a halt needed? And how did the episode come out?"""

from __future__ import annotations

from collections.abc import Collection

from fencecheck.history import Act, Fetch, Halted, Head, History, Landed, Memory, Read, is_point
from fencecheck.interleaving import Replan, Restart
from fencecheck.judge.evidence import basis_of, lineage
from fencecheck.judge.timeline import Timeline


def open_keys(history: History, done: Collection[str]) -> tuple[str, ...] | None:
    """The declared keys of the actions that had no effect yet; None where they depend on arguments, so that need cannot be judged."""
    keys: dict[str, None] = {}
    for action in history.scenario.actions:
        if action.name in done:
            continue
        if action.by_arguments:
            return None
        keys.update(dict.fromkeys(history.scenario.declared(action, history.dropped)))
    return tuple(keys)


def true_keys(history: History, done: Collection[str]) -> frozenset[str]:
    """The keys on which the actions that had no effect yet really depend: without them nothing can be planned, declared or not."""
    return frozenset(key for action in history.scenario.actions if action.name not in done for key in action.depends_on)


def needed(history: History, line: Timeline, agent: str, plan: str | None, until: int, keys: tuple[str, ...], true: frozenset[str]) -> bool:
    """Whether anything gave `agent`, which held `plan`, a reason to give it up before the entry `until`.

    Args:
        keys: the declared keys at stake.
        true: the true dependencies at stake.
    """
    records = history.records
    if plan is not None:
        ids = lineage(records, plan)[0]
        own = {key: basis_of(records, ids, plan, key) for key in keys}
        if any(len(versions) != 1 for versions in own.values()):
            return True
        since = line.derived.get(plan, -1)
        if history.own_store and any(line.truth(key, until) not in own[key] for key in keys):
            return True
    else:
        ids, since, own = [], -1, _first_served(history, agent, until)
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


def _first_served(history: History, agent: str, until: int) -> dict[str, tuple[str, ...]]:
    own: dict[str, tuple[str, ...]] = {}
    for entry in history.entries[:until]:
        if isinstance(entry, Read | Head | Memory) and entry.agent == agent and not entry.in_event and entry.version is not None:
            own.setdefault(entry.key, (entry.version,))
    return own


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
    return type(entry) is Act and entry.outcome != "done"


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
        type(e) is Act and e.outcome not in ("done", "repeated", "precondition-failed") for e in history.entries
    )
