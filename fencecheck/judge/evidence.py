"""What shows from which versions an effect was made: lineage, basis, and values recognised in the arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from fencecheck.history import Act, History
from fencecheck.model import Record

_WEAK = {int, float, bool, type(None)}
"""Types whose values can be among the arguments by chance."""
_PLAIN = {str, int, float, bool, type(None)}
Kinds = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""For one key the versions shown by the lineage L, the basis B and the arguments V; each empty where that kind is not present."""


def equal(history: History, one: str, other: str) -> bool:
    """Whether two versions of one key are the same, or say the same."""
    if one == other:
        return True
    a, b = history.records.get(one), history.records.get(other)
    return a is not None and b is not None and a.key == b.key and not a.removed and not b.removed and _is_among(b.value, [a.value], ())


def lineage(records: Mapping[str, Record], root: str) -> tuple[list[str], bool]:
    """Every id reached from `root` through parents, itself first, and whether each of them is known."""
    seen = {root: None}
    complete = True
    todo = [root]
    while todo:
        record = records.get(todo.pop())
        if record is None:
            complete = False
            continue
        for parent in record.parents:
            if parent not in seen:
                seen[parent] = None
                todo.append(parent)
    return list(seen), complete


def basis_of(records: Mapping[str, Record], ids: Iterable[str], root: str, key: str) -> tuple[str, ...]:
    """L(x): the versions of `key` in the lineage `ids` of `root` that a path reaches before any other version of `key`."""
    found = [id for id in ids if (record := records.get(id)) is not None and record.key == key]
    if len(found) < 2:
        return tuple(found)
    first: dict[str, None] = {}
    seen = {root}
    todo = [root]
    while todo:
        id = todo.pop()
        record = records.get(id)
        if record is None:
            continue
        if record.key == key:
            first[id] = None
            continue
        for parent in record.parents:
            if parent not in seen:
                seen.add(parent)
                todo.append(parent)
    return tuple(first)


def parts(value: Any) -> list[Any]:
    """`value` itself and all that is in it: the values of mappings, the items of lists, tuples and sets."""
    out: list[Any] = []
    if type(value) is dict:
        todo = list(value.values())
        if set(map(type, todo)) <= _PLAIN:
            return [*todo, value]  # the usual arguments
    todo = [value]
    while todo:
        part = todo.pop()
        out.append(part)
        if isinstance(part, Mapping):
            todo.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            todo.extend(part)
    return out


def _is_among(value: Any, sent: list[Any], weak: Collection[type] = _WEAK) -> bool:
    """Whether `value` was sent, a number as that kind of number: 1 is not True.

    An array compares to an array, which is neither true nor false, and what a system sends may not compare at all: that is not equal.
    """
    try:
        return value in sent if type(value) not in weak else any(type(part) is type(value) and part == value for part in sent)
    except Exception:
        return len(sent) > 1 and any(_is_among(value, [part], weak) for part in sent)


class Evidence:
    """The evidence of one effect, by key.

    Args:
        walked: the lineage of the effect's plan and whether it is complete; nothing and False without a plan.

    Attributes:
        ids: the effect's lineage, if it names a plan.
        complete: whether a plan is named and each record of its lineage is known.
    """

    __slots__ = ("_basis", "_history", "_parts", "_plan", "_versions", "complete", "ids", "kinds")

    def __init__(self, history: History, effect: Act, keys: Iterable[str], walked: tuple[list[str], bool]) -> None:
        self._history = history
        self._plan = effect.plan
        self._basis = effect.basis
        self._versions = effect.versions
        self._parts = parts(effect.args) if effect.versions is None else []
        self.ids, self.complete = walked
        self.kinds: dict[str, Kinds] = {key: self._of(key) for key in keys}

    def _of(self, key: str) -> Kinds:
        history = self._history
        above = basis_of(history.records, self.ids, self._plan, key) if self._plan is not None else ()
        said = self._basis.get(key) if self._basis is not None else None
        return above, (said,) if said is not None else (), self._sent(key, bool(above) or said is not None)

    def _sent(self, key: str, shown_otherwise: bool) -> tuple[str, ...]:
        """V(x). Where nothing else shows a version, the values must name one; where something else does, a number may be there by chance."""
        if self._versions is not None:
            return tuple(self._versions.get(key, ()))
        records, sent = self._history.records, self._parts
        ids = self._history.versions.get(key, ())
        try:
            found = [id for id in ids if not (record := records[id]).removed and record.value in sent]
        except Exception:
            found = [id for id in ids if not (record := records[id]).removed and _is_among(record.value, sent, ())]
        if not found:
            return ()
        if not _WEAK.isdisjoint([type(records[id].value) for id in found]):
            found = [
                id for id in found if _is_among(records[id].value, sent) and not (shown_otherwise and type(records[id].value) in _WEAK)
            ]
        if not shown_otherwise and any(not equal(self._history, found[0], id) for id in found[1:]):
            return ()
        return tuple(found)

    def present(self, key: str) -> bool:
        """Whether anything shows what the effect was made from, as to `key`."""
        return any(self.kinds[key])

    def admits(self, key: str, version: str | None) -> bool:
        """Whether all evidence that is present is compatible with `version` of `key` having been current."""
        above, said, sent = self.kinds[key]
        if version is None:
            return False
        if (above == (version,) or not above) and (said == (version,) or not said) and (version in sent or not sent):
            return True
        history = self._history
        return (
            all(equal(history, id, version) for id in above)
            and all(equal(history, id, version) for id in said)
            and (not sent or any(equal(history, id, version) for id in sent))
        )

    def by_value(self, key: str, version: str) -> bool:
        """Whether it is the value of `version`, not the version itself, that the evidence shows."""
        above, said, _ = self.kinds[key]
        return any(id != version for id in above + said)

    def contradictory(self, key: str) -> bool:
        """Whether two kinds of evidence exclude each other."""
        above, said, sent = self.kinds[key]
        if above == sent and not said:
            return False  # the usual case
        present = [kind for kind in (above, said, sent) if kind]
        pairs = [(a, b) for i, a in enumerate(present) for b in present[i + 1 :]]
        return any(not any(equal(self._history, v, w) for v in a for w in b) for a, b in pairs)

    def shown(self, key: str) -> tuple[str, ...]:
        """All versions of `key` that any evidence shows."""
        above, said, sent = self.kinds[key]
        return above + said + sent
