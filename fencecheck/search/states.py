"""When are two episodes the same from some point on? When the system was told the same, the judge noted the same, and the world is the same.

An episode is walked entry by entry. What the system was told is kept as a node of a tree, each step of which is one answer; what the
judge reads besides (the truth at a mark and at an act) is part of the step. The world is a tuple of parts, one for each key, owner and tool, and
each event changes one part. Both are written with versions **renamed by first use**: a system that compares versions and values for equality
only cannot tell `x@2` from `x@3` where it has seen neither. Two places with equal nodes and equal worlds have one future, so only one of
them has to be gone on from.

What is kept of a version that nobody has seen: whether it is the head or remembered, and whether what it supersedes has been seen, since a
record says so. A system that follows `supersedes` links further back, or that makes up ids, is noticed (`Walk.peeks`): renaming is unsound for it.
This is the memory of states seen of explicit-state model checking, with data independence (Wolper 1986) for the versions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fencecheck.history import History
from fencecheck.interleaving import CorruptParent, Deliver, MissingParent, Outage, Restore, ToolFault, Update, What
from fencecheck.model import Scenario, lineage_of


class Key(NamedTuple):
    """The world as to one key. Versions are numbered from 0 in the order in which they were committed.

    Args:
        values: for each version the number of the first one with an equal value.
        removed, lost: numbers of tombstones, and of versions that cannot be read.
        corrupted: number of a version to how it is served, and the version that is added to its parents.
        memory: agent to the number of the version that it remembers; an agent that is missing remembers the first.
    """

    values: tuple[int, ...] = (0,)
    removed: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    corrupted: tuple[tuple[int, str, tuple[int, int] | None], ...] = ()
    memory: tuple[tuple[str, int | None], ...] = ()

    @property
    def head(self) -> int:
        """The current version."""
        return len(self.values) - 1


class Derived(NamedTuple):
    """The world as to records that are versions of no key: which cannot be read, and which are served otherwise than written."""

    lost: tuple[str, ...] = ()
    corrupted: tuple[tuple[str, str, tuple[int, int] | None], ...] = ()


Part = Key | Derived | str | None
World = tuple[Part, ...]


class Names(NamedTuple):
    """The versions of one key that have appeared.

    Args:
        order: their numbers, in the order in which they did.
        told: those that the system can ask for: it was told them otherwise than as what another one supersedes.
        made: those that the system committed itself.
    """

    order: tuple[int, ...] = ()
    told: frozenset[int] = frozenset()
    made: frozenset[int] = frozenset()


class Model:
    """What all walks of one scenario share: where each part is, which keys the judge reads, and the tree of answers.

    Args:
        hooks: the events that reach the system by a hook of its adapter (`deliver`, `lose`), so that it is told by them.
        back: how many versions back from one that can be seen are told apart: 0 where the search decides what a version supersedes only once
            its record is handed out, 1 where it decides at the update, 2 where an owner may answer with an older version.
        remembers: whether the system looks into its memory; what is there plays no part otherwise.
        agents: those that the system runs besides the agents of the scenario, as far as is known; a walk adds those that it meets.
    """

    def __init__(
        self,
        scenario: Scenario,
        hooks: frozenset[str] = frozenset(),
        back: int = 0,
        remembers: bool = True,
        agents: Iterable[str] = (),
    ) -> None:
        self.scenario, self.hooks, self.back, self.remembers = scenario, hooks, back, remembers
        self.agents = {*scenario.agents, *agents}
        tools = dict.fromkeys(action.tool for action in scenario.actions)
        self.key = {key: i for i, key in enumerate(scenario.keys)}
        self.owner = {owner: i + len(self.key) for i, owner in enumerate(scenario.owners)}
        self.tool = {tool: i + len(self.key) + len(self.owner) for i, tool in enumerate(tools)}
        self.derived = len(self.key) + len(self.owner) + len(self.tool)
        self.first: World = (*(Key() for _ in self.key), *(None for _ in (*self.owner, *self.tool)), Derived())
        self.true_keys = tuple(self.key[key] for key in _true_keys(scenario))
        self._tree: dict[tuple[int, Any], int] = {}
        self._known: dict[Any, tuple[bool, int]] = {}
        self._renamed: dict[Any, int] = {}
        self._numbers: dict[str, tuple[int, int] | None] = {}

    def step(self, node: int, answer: Any) -> int:
        """The node to which `answer` leads from `node`."""
        return self._tree.setdefault((node, answer), len(self._tree) + 1)

    def number(self, id: str | None) -> tuple[int, int] | None:
        """Key and number of a version, or None for an id that is no version of a key of the scenario."""
        if id is None:
            return None
        if id not in self._numbers:
            key, _, number = id.rpartition("@")
            right = key in self.key and number.isascii() and number.isdigit()
            self._numbers[id] = (self.key[key], int(number) - 1) if right else None
        return self._numbers[id]

    def canonical(self, world: World, named: tuple[Names, ...]) -> tuple[Any, ...]:
        """The world with versions renamed by first use, as a value that is equal for worlds with one future."""
        known = self._known
        found: list[Any] = []
        exact = False
        for about in zip(world, named, strict=False):
            canon = known.get(about)
            if canon is None:
                renamed = self._canonical(*about)  # type: ignore[arg-type]
                canon = known[about] = (renamed[0], self._renamed.setdefault(renamed, len(self._renamed)))
            exact = exact or canon[0]
            found.append(canon[1])
        found += world[len(named) :]
        derived: Any = world[self.derived]
        if exact or (derived.corrupted and any(extra is not None for _, _, extra in derived.corrupted)):
            # a parent was added that may be any version: told apart by the numbers as they are
            found.append(tuple([len(part.values) for part in world[: len(named)]]))  # type: ignore[union-attr]
        return tuple(found)

    def remembered(self, part: Key) -> set[int]:
        """The versions of one key that an agent remembers, where the system looks there."""
        if not self.remembers:
            return set()
        found = {number for _, number in part.memory if number is not None}
        return found | {0} if len(part.memory) < len(self.agents) else found

    def _canonical(self, part: Key, names: Names) -> tuple[Any, ...]:
        """One key. The first item says whether a parent was added to one of its versions."""
        remembered = self.remembered(part)
        readable = {part.head, *names.told, *remembered}
        kept = readable | set(names.order)
        last: set[int] = readable
        for _ in range(self.back):
            last = {number - 1 for number in last if number > 0}
            kept |= last
        last = set(names.made)
        kept |= {number - 1 for number in last}
        equal = len(set(part.values)) < len(part.values)
        earlier = _earlier(part) if self.back and (equal or part.removed) else None
        if earlier is not None:
            kept.add(earlier)
        order = sorted(kept)
        place = {number: i for i, number in enumerate(order)}
        first = {part.values[number]: i for i, number in reversed(list(enumerate(order)))}
        corrupted = {number: (how, extra) for number, how, extra in part.corrupted}
        versions = tuple(
            (
                names.order.index(number) if number in names.order else -1,
                first[part.values[number]] if equal else -1,
                number - 1 in place if self.back or number in names.made else None,
                number in part.removed,
                number in readable and number in part.lost,
                corrupted.get(number) if number in readable else None,
            )
            for number in order
        )
        memory = tuple((agent, place[number] if number is not None else None) for agent, number in part.memory if self.remembers)
        added = any(extra is not None for _, _, extra in part.corrupted)
        return added, versions, memory, place[earlier] if earlier is not None else -1

    # -- what events do to the world -------------------------------------------------------------------------------

    def after(self, what: What, world: World, lineage: tuple[str, ...], history: History) -> World | None:
        """The world once `what` has landed; None where it does not fire. For events that call no code of the system's.

        Args:
            lineage: ids of the lineage of the record derived last, breadth first, that record first.
            history: where the records are.
        """
        match what:
            case Update(key=key, how=how):
                i = self.key[key]
                part: Any = _updated(world[i], how)  # type: ignore[arg-type]
            case Deliver(key=key):
                i = self.key[key]
                part = self._delivered(world[i])  # type: ignore[arg-type]
            case Outage(owner=owner, how=how):
                i = self.owner[owner]
                part = how if world[i] != how else None
            case Restore(owner=owner):
                i = self.owner[owner]
                return None if world[i] is None else (*world[:i], None, *world[i + 1 :])
            case ToolFault(tool=tool, how=how):
                i = self.tool[tool]
                part = how if world[i] != how else None
            case MissingParent(place=place):
                i, part = self._lost(self.place(place, world, lineage), world)
            case CorruptParent(place=place, how=how):
                i, part = self._corrupted(place, how, world, lineage, history)
            case _:
                raise TypeError(f"{type(what).__name__} calls code of the system's")
        return None if part is None else (*world[:i], part, *world[i + 1 :])

    def _delivered(self, part: Key) -> Key | None:
        memory = tuple(sorted((agent, part.head) for agent in self.agents))
        before = dict(part.memory)
        return part._replace(memory=memory) if any(before.get(agent, 0) != part.head for agent in self.agents) else None

    def place(self, place: int | str, world: World, lineage: tuple[str, ...]) -> str | None:
        """The record id that a place comes to in `world`."""
        if isinstance(place, str):
            part = world[self.key[place]]
            return f"{place}@{part.head + 1}" if isinstance(part, Key) else None
        return lineage[place] if place < len(lineage) else None

    def _lost(self, id: str | None, world: World) -> tuple[int, Key | Derived | None]:
        number = self.number(id)
        if number is not None:
            part: Any = world[number[0]]
            lost: Any = number[1]
        else:
            part, lost = world[self.derived], id
        if id is None or lost in part.lost:
            return self.derived, None
        return (number[0] if number is not None else self.derived), part._replace(lost=tuple(sorted((*part.lost, lost))))

    def _corrupted(
        self, place: int, how: str, world: World, lineage: tuple[str, ...], history: History
    ) -> tuple[int, Key | Derived | None]:
        id = self.place(place, world, lineage)
        if id is None or id not in history.records:
            return self.derived, None
        keys = {key for action in history.scenario.actions for key in history.scenario.declared(action, history.dropped)}
        key = history.records[id].key
        extra = None
        if how == "wrong-key":
            beside = id in lineage and any(other != id and self._key_of(other, history) == key for other in lineage)
            if key not in keys or beside:
                return self.derived, None
        if how == "two-versions":
            extra = self._other_version(id, keys, world, history)
            if extra is None:
                return self.derived, None
        number = self.number(id)
        part: Any = world[number[0] if number is not None else self.derived]
        of: Any = number[1] if number is not None else id
        entry = (of, how, extra)
        if entry in part.corrupted:
            return self.derived, None
        others = [old for old in part.corrupted if old[0] != of]
        return (number[0] if number is not None else self.derived), part._replace(corrupted=tuple(sorted([*others, entry], key=repr)))

    def _key_of(self, id: str, history: History) -> str | None:
        record = history.records.get(id)
        return record.key if record is not None else None

    def _other_version(self, id: str, keys: set[str], world: World, history: History) -> tuple[int, int] | None:
        for below in lineage_of(history.records, id):
            number = self.number(below)
            if below == id or number is None or history.records[below].key not in keys:
                continue
            part = world[number[0]]
            assert isinstance(part, Key)
            others = [n for n in range(len(part.values)) if n != number[1]]
            if others:
                return number[0], others[-1]
        return None


def _true_keys(scenario: Scenario) -> list[str]:
    if any(action.by_arguments for action in scenario.actions):
        return list(scenario.keys)
    named = {key for action in scenario.actions for key in (*action.depends_on, *(action.declared or ()))}
    return [key for key in scenario.keys if key in named]


def _updated(part: Key, how: str) -> Key | None:
    values, new = part.values, len(part.values)
    if how == "fresh":
        return part._replace(values=(*values, new))
    head_removed = part.head in part.removed
    if how == "removed":
        return None if head_removed else part._replace(values=(*values, new), removed=(*part.removed, new))
    earlier = _earlier(part)
    return None if earlier is None else part._replace(values=(*values, values[earlier]))


def _earlier(part: Key) -> int | None:
    """The last version with another value than the head's, which an update with an earlier value commits again."""
    head_removed = part.head in part.removed
    for number in reversed(range(len(part.values))):
        if number not in part.removed and (head_removed or part.values[number] != part.values[part.head]):
            return number
    return None
