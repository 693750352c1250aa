"""The world of one episode: who holds which version, who answers how, what can be read. It makes no entry in the history itself."""

from __future__ import annotations

from copy import deepcopy
from operator import is_
from typing import Any

from fencecheck.interleaving import CorruptHow, Deliver, Update
from fencecheck.model import Action, Record, Scenario, lineage_of

ANYONE = ""
"""Stands in a memory for each agent that was not heard of when something was delivered."""
DANGLING = "/dangling"
"""What is added to the id of a record for the parent that does not exist."""
_ATOMS = frozenset({str, int, float, bool, type(None), bytes})


def snapshot(value: Any) -> Any:
    """`value` as it is now: whoever holds the original may go on to change it. What cannot change is not copied."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: part if type(part) in _ATOMS else snapshot(part) for key, part in value.items()}
    if kind is list:
        return [snapshot(part) for part in value]
    if kind is tuple:
        parts = tuple([snapshot(part) for part in value])
        return value if all(map(is_, parts, value)) else parts
    if kind is set:
        return set(value)
    return value if kind is frozenset else _copied(value)


def _copied(value: Any) -> Any:
    """A copy of an object; itself where it has none, or none that is equal, which would stand for another value than the one published."""
    try:
        copy = deepcopy(value)
    except Exception:
        return value
    try:
        return copy if copy == value else value
    except Exception:  # an array and the like, which is equal to nothing
        return copy


def handed_out(record: Record) -> Record:
    """What a system is given of a record: nothing that it does to the value reaches the record."""
    value = record.value
    if type(value) in _ATOMS:
        return record
    copy = snapshot(value)
    return record if copy is value else Record(record.id, record.key, copy, record.parents, record.supersedes, record.removed)


class Prepared:
    """What all episodes of one scenario share. An episode copies only the small maps that it changes.

    Args:
        scenario: the world.
        before: what changes in a system's own store before the run begins.
    """

    __slots__ = ("actions", "before", "begun_empty", "heads", "keys", "owner_of", "records", "scenario")

    def __init__(self, scenario: Scenario, before: tuple[Update | Deliver, ...] = ()) -> None:
        self.scenario, self.before = scenario, before
        self.owner_of: dict[str, str] = {key: owner for owner, keys in scenario.owners.items() for key in keys}
        self.keys = frozenset(self.owner_of)
        self.begun_empty: set[str] = set()  # keys that a system's own store did not hold when an episode began
        self.actions: dict[str, Action] = {action.name: action for action in scenario.actions}
        self.records: dict[str, Record] = {}
        self.heads: dict[str, str] = {}
        for key in scenario.keys:
            record = Record(self.version_id(key, 1), key, scenario.value_of(key, 1))
            self.records[record.id] = record
            self.heads[key] = record.id

    def version_id(self, key: str, number: int) -> str:
        """The id of the version `number` (from 1) of `key`: the same however the versions of other keys are interleaved."""
        return f"{key}@{number}"


class World:
    """The state of one episode.

    `modes` holds the owners that answer badly, `lost` the ids that cannot be read, `corrupted` the records that are served otherwise
    than they were written, `tool_faults` what the next call of a tool meets.
    """

    __slots__ = (
        "corrupted", "derived", "heads", "latest", "lost", "memory", "modes", "owner_of", "prepared", "records", "replies", "tool_faults",
        "versions",
    )  # fmt: skip

    def __init__(self, prepared: Prepared, own_store: bool) -> None:
        self.prepared = prepared
        self.owner_of = prepared.owner_of
        self.records: dict[str, Record] = {} if own_store else prepared.records.copy()
        self.heads: dict[str, str] = {} if own_store else prepared.heads.copy()
        self.versions: dict[str, list[str]] = {key: [id] for key, id in self.heads.items()}
        self.modes: dict[str, str] = {}
        self.lost: set[str] = set()
        self.corrupted: dict[str, Record] = {}
        self.tool_faults: dict[str, str] = {}
        self.memory: dict[tuple[str, str], str | None] = {}
        self.replies: dict[tuple[str, str], tuple[Any, Any]] = {}
        self.latest: str | None = None
        self.derived = 0

    def commit(self, key: str, value: Any, *, removed: bool = False, parents: tuple[str, ...] = ()) -> Record:
        """A new version of `key` becomes its head."""
        ids = self.versions.setdefault(key, [])
        record = Record(self.prepared.version_id(key, len(ids) + 1), key, value, parents, ids[-1] if ids else None, removed)
        self.records[record.id] = record
        ids.append(record.id)
        self.heads[key] = record.id
        return record

    def derive(self, value: Any, parents: tuple[str, ...], key: str | None) -> Record:
        """A derived record is written; with a key it is that key's new version."""
        value = snapshot(value)
        if key is not None:
            record = self.commit(key, value, parents=parents)
        else:
            self.derived += 1
            record = Record(f"p{self.derived}", None, value, parents)
            self.records[record.id] = record
        self.latest = record.id
        return record

    def stranger(self, key: str) -> Record:
        """A record of another key, for an owner that has only one key to answer for."""
        other = f"{key}/other"
        id = self.prepared.version_id(other, 1)
        return self.records.setdefault(id, Record(id, other, f"{other} version 1"))

    def remembered(self, agent: str, key: str) -> str | None:
        """The version of `key` that `agent` remembers: what it read or what was delivered, at first the first one; None after a restart."""
        first = self.versions[key][0] if key in self.versions else None
        return self.memory.get((agent, key), self.memory.get((ANYONE, key), first))

    def fresh_value(self, key: str) -> Any:
        """The value of the version that comes next."""
        return self.prepared.scenario.value_of(key, len(self.versions.get(key, ())) + 1)

    def earlier_value(self, key: str) -> Any:
        """The value that `key` had last before the one it has now, or None if it never had another."""
        head = self.records[self.heads[key]]
        for id in reversed(self.versions[key]):
            record = self.records[id]
            if not record.removed and (head.removed or record.value != head.value):
                return record.value
        return None

    def place(self, place: int | str) -> str | None:
        """The record id that a place comes to now: a number in the lineage of the plan derived last, or the head of a key."""
        if isinstance(place, str):
            return self.heads.get(place)
        ids = lineage_of(self.records, self.latest)
        return ids[place] if place < len(ids) else None

    def corruption(self, id: str, how: CorruptHow, keys: tuple[str, ...]) -> Record | None:
        """How the record `id` is served once corrupted, or None where it cannot be corrupted so.

        Args:
            keys: the declared keys. Of other keys no fence could notice a wrong key or a second version; nor a wrong key, where the lineage of the
                plan holds another version of the right one.
        """
        record = self.records[id]
        if how == "dangling":
            return _with(record, parents=(*record.parents, id + DANGLING))
        if how == "cycle":
            return _with(record, parents=(*record.parents, id))
        if how == "wrong-key":
            hidden = record.key not in keys or self._stands_beside_another(id)
            return None if hidden else _with(record, key=f"{record.key}/other")
        for below in lineage_of(self.records, id):
            key = self.records[below].key if below in self.records else None
            others = [v for v in self.versions[key] if v != below] if key in keys and key in self.versions and below != id else []
            if others:
                return _with(record, parents=(*record.parents, others[-1]))
        return None

    def _stands_beside_another(self, id: str) -> bool:
        """Whether the lineage of the plan derived last holds this version and another one of the same key."""
        ids, key = lineage_of(self.records, self.latest), self.records[id].key
        return id in ids and any(other != id and other in self.records and self.records[other].key == key for other in ids)


def _with(record: Record, *, parents: tuple[str, ...] | None = None, key: str | None = None) -> Record:
    return Record(
        record.id,
        key if key is not None else record.key,
        record.value,
        parents if parents is not None else record.parents,
        record.supersedes,
        record.removed,
    )
