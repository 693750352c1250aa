"""A history in words for people: names of versions, values, calls, events. Small, pure, without colour or layout."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fencecheck.history import Act, History, Landed, labelled
from fencecheck.interleaving import (
    Advance,
    CorruptParent,
    Deliver,
    MissingParent,
    Outage,
    Replan,
    Restart,
    Restore,
    Switch,
    ToolFault,
    Update,
)
from fencecheck.judge.evidence import Evidence
from fencecheck.judge.timeline import Timeline

SHORT = 28
"""Most characters of a value that is shown."""


def clean(text: str) -> str:
    """`text` on one line, with whatever a terminal would obey or not show written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def cut(text: str, most: int) -> str:
    """`text` with at most `most` characters, the last of which says that more were cut off."""
    return text if len(text) <= most else text[: max(most - 1, 0)] + "…"


def shown(value: Any, most: int = SHORT) -> str:
    """A value, shortened: texts in double quotation marks, inside others too, everything else as Python writes it."""
    if isinstance(value, str):
        return f'"{cut(clean(value), most)}"'
    try:
        text = _written(value)
    except Exception as error:  # code of the system; also a whole number with more digits than Python prints
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    return cut(clean(text), most)


def _written(value: Any, depth: int = 8) -> str:
    """As Python writes it, but for the marks around texts."""
    kind = type(value)
    if kind is str:
        return f'"{clean(value)}"'
    if kind not in (dict, list, tuple) or not value or depth == 0:
        return repr(value)
    if kind is dict:
        return "{" + ", ".join(f"{_written(name, depth - 1)}: {_written(part, depth - 1)}" for name, part in value.items()) + "}"
    inside = ", ".join([_written(part, depth - 1) for part in value])
    return f"[{inside}]" if kind is list else f"({inside},)" if len(value) == 1 else f"({inside})"


def count_of(number: int, noun: str) -> str:
    """`1 event`, `2 events`, `no event`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}" if number else f"no {noun}"


def version_name(id: str, versions: Mapping[str, list[str]]) -> str:
    """How people call a version: `r2` for the second version of its key. Any other record keeps its id."""
    for ids in versions.values():
        if id in ids:
            return f"r{ids.index(id) + 1}"
    return clean(id)


class Names:
    """What the keys, versions and records of one history are called.

    Args:
        history: whose names they are.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self._key_of = {id: key for key, ids in history.versions.items() for id in ids}
        self._short = short_keys([*history.scenario.keys, *history.versions])

    def key(self, key: str) -> str:
        """The last part of a key, where no other key ends so; else the whole key."""
        return clean(self._short.get(key, key))

    def version(self, id: str | None) -> str:
        """`r2`, or the id of a record that is no version of a key."""
        return "nothing" if id is None else version_name(id, self.history.versions)

    def full(self, id: str) -> str:
        """A version with its whole key: `order/42/requirement r2`."""
        key = self._key_of.get(id)
        return clean(id) if key is None else f"{clean(key)} {self.version(id)}"

    def record(self, id: str) -> str:
        """A version with the short form of its key: `requirement r2`."""
        key = self._key_of.get(id)
        return clean(id) if key is None else f"{self.key(key)} {self.version(id)}"

    def records(self, ids: Iterable[str]) -> str:
        """Several records, in the order given."""
        return ", ".join(self.record(id) for id in dict.fromkeys(ids))

    def value(self, id: str | None) -> str:
        """The value of a version, in quotation marks, or `removed`."""
        record = self.history.records.get(id) if id is not None else None
        return "" if record is None else "removed" if record.removed else shown(record.value)

    def readable(self, text: str) -> str:
        """`text` with every version id written as people read it, the key only where it was not the one named last."""
        keys = dict.fromkeys([*self._key_of.values(), *self.history.scenario.keys])
        words = sorted({*self._key_of, *keys}, key=len, reverse=True)
        if not words:
            return clean(text)
        last: str | None = None

        def name(found: re.Match[str]) -> str:
            nonlocal last
            word = found[0]
            key = self._key_of.get(word)
            before, last = last, key or word
            return word if key is None else self.version(word) if key == before else f"{key} {self.version(word)}"

        return clean(re.sub(f"(?:{'|'.join(re.escape(word) for word in words)})(?!\\w)", name, text))


def short_keys(keys: Iterable[str]) -> dict[str, str]:
    """Each key with its last part, where that part says something and belongs to no other key."""
    last = {key: key.rpartition("/")[2] for key in keys}
    parts = list(last.values())
    return {key: part if parts.count(part) == 1 and any(c.isalpha() for c in part) else key for key, part in last.items()}


# -- events --------------------------------------------------------------------------------------------------------------------------

_OUTAGES = {
    "refuse": "refuses to answer",
    "hang": "does not answer",
    "malformed": "answers garbage",
    "wrong-key": "answers for another key",
    "older-head": "answers with an earlier version",
}
_CORRUPTIONS = {
    "dangling": "with a parent that does not exist",
    "cycle": "as its own ancestor",
    "wrong-key": "under another key",
    "two-versions": "with a second version of a key that it rests on",
}
_TOOL_FAULTS = {
    "refuse": "is refused",
    "lost-reply": "loses its reply, after the effect",
    "precondition-failed": "fails its precondition",
}


def _update(names: Names, what: Update, entry: Landed) -> str:
    owner = clean(names.history.scenario.owner_of(what.key) or "someone")
    version = names.full(entry.version) if entry.version is not None else clean(what.key)
    further = names.history.scenario.update_hows.get(what.how)
    if further is not None:
        return _further(names, what, entry, owner, version, clean(further))
    if what.how == "removed":
        return f"{owner} removes {clean(what.key)}"
    return f"{owner} commits {version}{', an earlier value again' if what.how == 'earlier' else ''}"


def _further(names: Names, what: Update, entry: Landed, owner: str, version: str, how: str) -> str:
    """An update in a way of the scenario's own: it may also leave the version as it is, or take the key away."""
    record = names.history.records.get(entry.version) if entry.version is not None else None
    if record is not None and record.removed:
        return f"{owner} removes {clean(what.key)}, {how}"
    return f"{owner} {'leaves' if entry.same else 'commits'} {version}{' as it is' if entry.same else ''}, {how}"


def _deliver(names: Names, what: Deliver, entry: Landed) -> str:
    return f"{names.full(entry.version) if entry.version is not None else clean(what.key)} reaches the memory of the agents"


def _missing(names: Names, what: MissingParent, entry: Landed) -> str:
    return f"the record {_place(names, what.place, entry)} can no longer be read"


def _corrupt(names: Names, what: CorruptParent, entry: Landed) -> str:
    return f"the record {_place(names, what.place, entry)} is served {_CORRUPTIONS[what.how]}"


def _place(names: Names, place: int | str, entry: Landed) -> str:
    if entry.record is not None:
        return names.full(entry.record)
    return f"at place {place} of the lineage" if isinstance(place, int) else f"of {clean(place)}"


def _switch(names: Names, what: Switch, entry: Landed) -> str:
    runs = f" ({clean(entry.runs)})" if entry.runs else ""
    return f"{task_name(what.task)}{runs} goes first" + (f", ahead of {clean(entry.due)}" if entry.due else "")


def _advance(names: Names, what: Advance, entry: Landed) -> str:
    return "time passes to the next timer" + (f" while {clean(entry.due)} waits" if entry.due else "")


def task_name(lane: int) -> str:
    """What people call a task: those of a run are numbered in the order in which they were created."""
    return f"task {lane}" if lane else "the main task"


_EVENTS: dict[type, Callable[[Names, Any, Landed], str]] = {
    Update: _update,
    Deliver: _deliver,
    Switch: _switch,
    Advance: _advance,
    Replan: lambda names, what, entry: f"the planner makes a new plan for {clean(what.task)}",
    Outage: lambda names, what, entry: f"from now on {clean(what.owner)} {_OUTAGES[what.how]}",
    Restore: lambda names, what, entry: f"from now on {clean(what.owner)} answers well again",
    MissingParent: _missing,
    CorruptParent: _corrupt,
    ToolFault: lambda names, what, entry: f"the next call of {clean(what.tool)} {_TOOL_FAULTS[what.how]}",
    Restart: lambda names, what, entry: f"{clean(what.agent)} is restarted, what it held in memory is gone",
}


def event_in_words(names: Names, entry: Landed) -> str:
    """What an event did: `orders commits order/42/requirement r2`."""
    return _EVENTS[type(entry.what)](names, entry.what, entry)


def interleaving_in_words(names: Names) -> list[tuple[str, str]]:
    """What was done to the system, as pairs of where and what: dropped declarations first, then the events that fired."""
    history = names.history
    anchors = labelled(history)
    said = [("from the start", f"{clean(action)} no longer declares {clean(key)}") for action, key in history.dropped]
    for entry in history.entries:
        if type(entry) is Landed and entry.fired:
            said.append((f"before point {entry.at}, {_anchor(anchors, entry.at)}", event_in_words(names, entry)))
    return said


def _anchor(anchors: list[tuple[str, int]], at: int) -> str:
    if at >= len(anchors):
        return "the end"
    label, occurrence = anchors[at]
    return clean(label) + (f" #{occurrence}" if occurrence > 1 else "")


def size_in_words(history: History) -> str:
    """How large the interleaving is: `1 event and 1 dropped declaration`."""
    events, dropped = len(history.fired), len(history.dropped)
    if not events and not dropped:
        return "no event, the system does it alone"
    said = [count_of(events, "event")] if events else []
    return " and ".join([*said, *([count_of(dropped, "dropped declaration")] if dropped else [])])


# -- acts ----------------------------------------------------------------------------------------------------------------------------

_OUTCOMES = {
    "done": "",
    "refused": "refused by the tool, no effect",
    "lost-reply": "done, and the reply was lost",
    "precondition-failed": "precondition failed, no effect",
    "repeated": "idempotency key used before, no second effect",
    "key-reused": "idempotency key used before with other arguments, no effect",
    "halted": "halted inside its tool, no effect",
}


def call_in_words(names: Names, act: Act, most: int = SHORT) -> str:
    """What went out: `ship(to="2-21 Shibuya, Tokyo")`."""
    args = act.args if isinstance(act.args, dict) else {} if act.args is None else {"args": act.args}
    return f"{clean(act.action)}({', '.join(f'{names.key(str(name))}={shown(value, most)}' for name, value in args.items())})"


def made_from(names: Names, at: int, act: Act) -> str:
    """Which versions went out and which were current: `made from requirement r1, current r2`.

    Args:
        at: index of the act into the entries of the history.
    """
    history = names.history
    action = history.scenario.action(act.action)
    if action is None:
        return ""
    true_keys = act.depends_on if act.depends_on is not None else action.depends_on
    declared = act.declared if act.declared is not None else action.declared if action.declared is not None else true_keys
    line = Timeline(history)
    walked: tuple[list[str], bool] = line.lineage(act.plan) if act.plan is not None else ([], False)
    evidence = Evidence(history, act, dict.fromkeys((*true_keys, *declared)), walked)
    changed, current, unknown = [], [], []
    for key in evidence.kinds:
        ids, now = evidence.shown(key), line.truth(key, at)
        if not ids:
            unknown.append(names.key(key))
        elif all(id == now for id in ids):
            current.append(f"{names.key(key)} {names.version(now)}")
        else:
            old = " and ".join(dict.fromkeys(names.version(id) for id in ids))
            changed.append(f"made from {names.key(key)} {old}, current {names.version(now)}")
    said = changed or ([f"made from {', '.join(current)}, current"] if current else [])
    if unknown:
        said = [*said, f"nothing shows which {', '.join(unknown)} it was made from"]
    return "; ".join(said)


def act_in_words(names: Names, at: int, act: Act) -> str:
    """What is to be said of an act besides the call: how it ended, and what it was made from."""
    expects = ", ".join(names.record(id) if isinstance(id, str) else shown(id) for id in (act.expect or {}).values())
    said = [_OUTCOMES[act.outcome], f"expects {expects}" if expects else "", made_from(names, at, act)]
    return "; ".join(part for part in said if part)
