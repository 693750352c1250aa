"""When are two episodes the same from some point on? When the system was told the same, the judge noted the same, and the world is the same.

An episode is walked entry by entry. What the system was told is kept as a node of a tree, each step of which is one answer; what the
judge reads besides (the truth at a mark and at an act) is part of the step. The world is a tuple of parts, one for each key, owner and tool, and
each event changes one part. Both are written with versions **renamed by first use**: a system that compares versions and values for equality
only cannot tell `x@2` from `x@3` where it has seen neither. Two places with equal nodes and equal worlds have one future, so only one of
them has to be gone on from.

What is kept of a version that nobody has seen: whether it is the head or remembered, and whether what it supersedes has been seen, since a
record says so. A system that follows `supersedes` links further back, or that makes up ids, is noticed (`Walk.peeks`): renaming is unsound for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fencecheck.history import (
    Act,
    Declared,
    Derive,
    Ended,
    Entry,
    Fetch,
    Halted,
    Head,
    History,
    Landed,
    Memory,
    Pause,
    Read,
    Seam,
    Validated,
)
from fencecheck.interleaving import CorruptParent, Deliver, MissingParent, Outage, Replan, Restart, Restore, ToolFault, Update, What
from fencecheck.model import Scenario


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
        remembers: whether the system may look into its memory, where the first version of each key is until another is read.
    """

    def __init__(self, scenario: Scenario, hooks: frozenset[str] = frozenset(), back: int = 0, remembers: bool = True) -> None:
        self.scenario, self.hooks, self.back, self.remembers = scenario, hooks, back, remembers
        tools = dict.fromkeys(action.tool for action in scenario.actions)
        self.key = {key: i for i, key in enumerate(scenario.keys)}
        self.owner = {owner: i + len(self.key) for i, owner in enumerate(scenario.owners)}
        self.tool = {tool: i + len(self.key) + len(self.owner) for i, tool in enumerate(tools)}
        self.derived = len(self.key) + len(self.owner) + len(self.tool)
        self.first: World = (*(Key() for _ in self.key), *(None for _ in (*self.owner, *self.tool)), Derived())
        self.true_keys = tuple(self.key[key] for key in _true_keys(scenario))
        self._tree: dict[tuple[int, Any], int] = {}
        self._known: dict[tuple[Key, Names], Any] = {}
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

    def canonical(self, world: World, named: tuple[Names, ...]) -> World:
        """The world with versions renamed by first use, as a value that is equal for worlds with one future."""
        known = self._known
        found: list[Any] = []
        exact = False
        for part, names in zip(world, named, strict=False):
            about = (part, names)
            canon = known.get(about)  # type: ignore[arg-type]
            if canon is None:
                canon = known[about] = self._canonical(part, names)  # type: ignore[index, arg-type]
            exact = exact or canon[0]
            found.append(canon)
        found += world[len(named) :]
        derived: Any = world[self.derived]
        if exact or any(extra is not None for _, _, extra in derived.corrupted):
            # a parent was added that may be any version: told apart by the numbers as they are
            found.append(tuple(len(part.values) for part in world[: len(named)]))  # type: ignore[union-attr]
        return tuple(found)

    def _canonical(self, part: Key, names: Names) -> tuple[Any, ...]:
        """One key. The first item says whether a parent was added to one of its versions."""
        remembered = {number for _, number in part.memory if number is not None}
        if self.remembers and len(part.memory) < len(self.scenario.agents):
            remembered.add(0)
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
        memory = tuple((agent, place[number] if number is not None else None) for agent, number in part.memory)
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
        agents = dict.fromkeys([*self.scenario.agents, *(agent for agent, _ in part.memory)])
        memory = tuple(sorted((agent, part.head) for agent in agents))
        before = dict(part.memory)
        return part._replace(memory=memory) if any(before.get(agent, 0) != part.head for agent in agents) else None

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
        if how == "wrong-key" and key not in keys:
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

    def _other_version(self, id: str, keys: set[str], world: World, history: History) -> tuple[int, int] | None:
        for below in lineage_of(history, id):
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


def lineage_of(history: History, root: str | None) -> tuple[str, ...]:
    """Ids of the lineage of `root`, itself first, breadth first, as written."""
    if root is None:
        return ()
    order, queue = {root: None}, [root]
    for id in queue:
        record = history.records.get(id)
        for parent in record.parents if record is not None else ():
            if parent not in order:
                order[parent] = None
                queue.append(parent)
    return tuple(order)


class Walk:
    """One episode, walked.

    Attributes:
        node: what the system was told and the judge noted so far.
        world: the world now.
        named: the versions that have appeared, in order.
        latest: id of the record that was derived last.
        index, point: the entry that comes next, and the number of points before it.
        peeks: what makes renaming unsound for this system, if anything was seen.
        remembers: whether the system looked into its memory.
        strays: point and index of the fetch of a record that no place comes to for that kind of event, the kind, the last point at which
            one did, the number of events that had landed by then, and that place.
        links: point, index of the entry, key and number of each version whose record was handed out, which says that it supersedes a
            version that was seen before.
    """

    def __init__(self, model: Model, history: History) -> None:
        self.model, self.history = model, history
        self.node = model.step(0, history.dropped)
        self.world: list[Part] = list(model.first)
        self.named: list[Names] = [Names()] * len(model.key)
        self.latest: str | None = None
        self.index = self.point = 0
        self.peeks = ""
        self.remembers = False
        self.links: list[tuple[int, int, int, int]] = []
        self.strays: list[tuple[int, int, type, int, int, int | str]] = []
        self._last: dict[str, tuple[int, int, int | str]] = {}
        self._last_in_lineage: dict[str, tuple[int, int, int | str]] = {}
        self.landed = 0
        self._lineage: tuple[str, ...] = ()
        self.here = 0
        self._linked: set[tuple[int, int]] = set()

    def points(self) -> Iterator[int]:
        """Stops before each point, with what landed there already part of the world; the number of the point."""
        steps = _STEPS
        for index, entry in enumerate(self.history.entries):
            self.index = index
            kind = type(entry)
            if kind in _POINTS and not getattr(entry, "in_event", False):
                yield self.point
                waiting = getattr(self.history, "waiting", {}).get(self.point)
                if waiting is not None:
                    self._told(("waiting", waiting))
                self.here, self.point = self.point, self.point + 1
            steps[kind](self, entry)

    def to_end(self) -> Walk:
        """Walks on to the end."""
        for _ in self.points():
            pass
        return self

    def canonical(self) -> World:
        """The world now, with versions renamed."""
        return self.model.canonical(tuple(self.world), tuple(self.named))

    # -- naming ----------------------------------------------------------------------------------------------------

    def _told(self, answer: Any) -> None:
        self.node = self.model.step(self.node, answer)

    def _name(self, of: tuple[int, int]) -> int:
        """The name of a version that the judge notes, or that the system is told as what another one supersedes."""
        key, number = of
        names = self.named[key]
        if number in names.order:
            return names.order.index(number)
        self.named[key] = names._replace(order=(*names.order, number))
        return len(names.order)

    def _tell(self, of: tuple[int, int]) -> int:
        """The name of a version that the system is told."""
        name, names = self._name(of), self.named[of[0]]
        if of[1] not in names.told:
            self.named[of[0]] = self.named[of[0]]._replace(told=names.told | {of[1]})
        return name

    def _served(self, id: str | None) -> Any:
        """A record as it was handed out: which version, what it supersedes, whose value it has."""
        of = self.model.number(id)
        if of is None:
            return id
        key, number = of
        part = self.world[key]
        assert isinstance(part, Key)
        if number >= len(part.values):
            return id
        before = -1
        if number:
            if of not in self._linked:
                self._linked.add(of)
                if number - 1 in self.named[key].order:
                    self.links.append((self.here, self.index, key, number))
            before = self._name((key, number - 1))
        value = self._name((key, part.values[number])) if part.values[number] != number else -1
        return key, self._tell(of), before, value, number in part.removed

    def _truths(self) -> tuple[int, ...]:
        return tuple([self._name((key, self.world[key].head)) for key in self.model.true_keys])  # type: ignore[union-attr]

    def _is_head(self, id: str | None) -> bool:
        of = self.model.number(id)
        return of is None or self.world[of[0]].head == of[1]  # type: ignore[union-attr]

    # -- steps, by kind of entry -----------------------------------------------------------------------------------

    def _read(self, entry: Read) -> None:
        if entry.answer == "ok":
            self._remember(entry.agent, entry.key, entry.version)
        told = self._served(entry.version) if entry.answer != "missing" else None
        self._told(("read", entry.agent, entry.key, told, entry.answer, entry.in_event, self._is_head(entry.version)))

    def _head(self, entry: Head) -> None:
        of = self.model.number(entry.version)
        told = (of[0], self._tell(of)) if of is not None else entry.version
        self._told(("head", entry.agent, entry.key, told, entry.answer, entry.in_event, self._is_head(entry.version)))

    def _memory(self, entry: Memory) -> None:
        self.remembers = True
        self._told(("memory", entry.agent, entry.key, self._served(entry.version), entry.in_event))

    def _fetch(self, entry: Fetch) -> None:
        of = self.model.number(entry.id)
        if of is not None and of[1] not in self.named[of[0]].told:
            self.peeks = f"it fetched {entry.id}, which no answer had named, or only as what another version supersedes"
        added = self._corruption(of, entry.id) if entry.answer == "corrupt" else None
        for kind, places in ((MissingParent, self._last), (CorruptParent, self._last_in_lineage)):
            last = places.pop(entry.id, None)
            if last is not None and entry.answer == "ok":
                self.strays.append((self.here, self.index, kind, *last))
        self._told(("record", entry.agent, self._served(entry.id), entry.answer, entry.in_event, added))

    def _corruption(self, of: tuple[int, int] | None, id: str) -> Any:
        part: Any = self.world[of[0] if of is not None else self.model.derived]
        for about, how, extra in part.corrupted:
            if about == (of[1] if of is not None else id):
                return how, (extra[0], self._tell(extra)) if extra is not None else None
        return None

    def _derive(self, entry: Derive) -> None:
        lineage = lineage_of(self.history, entry.id)
        for place, id in enumerate(self._lineage):
            if id not in lineage:
                self._last_in_lineage[id] = (self.here, self.landed, place)
                if not self._at_head(id):
                    self._last[id] = self._last_in_lineage[id]
        for id in lineage:
            self._last.pop(id, None)
            self._last_in_lineage.pop(id, None)
        self.latest, self._lineage = entry.id, lineage
        of = self.model.number(entry.id)
        if of is not None:
            self._commit(of)
        self._told(("derive", entry.agent, self._served(entry.id), entry.in_event))

    def _commit(self, of: tuple[int, int]) -> None:
        """A version that the system made itself: its value may be that of an older one."""
        key, number = of
        part: Any = self.world[key]
        records = self.history.records
        name = self.model.scenario.keys[key]
        self._superseded(name, part, self.here)
        value = records[f"{name}@{number + 1}"].value
        same = next((n for n in range(number) if n not in part.removed and records[f"{name}@{n + 1}"].value == value), number)
        self.world[key] = part._replace(values=(*part.values, same))
        self.named[key] = self.named[key]._replace(made=self.named[key].made | {number})

    def _superseded(self, key: str, part: Key, point: int) -> None:
        """A new version of `key` is about to be committed before `point`: the place named `key` comes to the old one for the last time."""
        old = f"{key}@{part.head + 1}"
        if old not in self._lineage:
            self._last[old] = (point, self.landed, key)

    def _at_head(self, id: str) -> bool:
        of = self.model.number(id)
        return of is not None and self.world[of[0]].head == of[1]  # type: ignore[union-attr]

    def _remember(self, agent: str, key: str, version: str | None) -> None:
        of = self.model.number(version)
        i = self.model.key.get(key)
        if of is None or i is None or of[0] != i:
            return
        part: Any = self.world[i]
        memory = dict(part.memory)
        if memory.get(agent, 0) != of[1]:
            memory[agent] = of[1]
            self.world[i] = part._replace(memory=tuple(sorted(memory.items())))

    def _act(self, entry: Act) -> None:
        model = self.model
        truths = self._truths()
        expected = tuple(self._name((model.key[key], self.world[model.key[key]].head)) for key in entry.expect or () if key in model.key)  # type: ignore[union-attr]
        action = model.scenario.action(entry.action)
        if action is not None:
            self.world[model.tool[action.tool]] = None
        for key, id in zip(action.writes if action else (), entry.wrote, strict=False):
            of = model.number(id)
            if of is not None:
                self._commit(of)
                self._name(of)
                self._linked.add(of)
                self._remember(entry.agent, key, id)
        self._told(("act", entry.agent, entry.action, entry.outcome, entry.effect, truths, expected))

    def _seam(self, entry: Pause | Seam) -> None:
        self._told((type(entry) is Pause, entry.agent, entry.label))

    def _mark(self, entry: Validated) -> None:
        self._told(("validated", entry.agent, entry.keys, self._truths()))

    def _declared(self, entry: Declared) -> None:
        self._told(("declared", entry.agent, entry.action, entry.keys))

    def _halted(self, entry: Halted) -> None:
        self._told(("halted", entry.agent))

    def _ended(self, entry: Ended) -> None:
        self._told(("ended", entry.how))

    def _landed(self, entry: Landed) -> None:
        self._land(entry)
        self.landed += 1

    def _land(self, entry: Landed) -> None:
        self.here = self.point
        what, model = entry.what, self.model
        told = isinstance(what, Replan) or (isinstance(what, Restart) and entry.fired)
        told = (
            told or (isinstance(what, Deliver) and "deliver" in model.hooks) or (isinstance(what, MissingParent) and "lose" in model.hooks)
        )
        if isinstance(what, Restart):
            if entry.fired:
                for key in model.key.values():
                    part: Any = self.world[key]
                    memory = {**dict(part.memory), what.agent: None}
                    self.world[key] = part._replace(memory=tuple(sorted(memory.items())))
        elif entry.fired and type(what) in _CHANGES:
            if isinstance(what, Update):
                self._superseded(what.key, self.world[model.key[what.key]], self.point)  # type: ignore[arg-type]
            after = model.after(what, tuple(self.world), lineage_of(self.history, self.latest), self.history)
            assert after is not None, f"the model of the world and the world disagree over {entry!r}"
            self.world = list(after)
        if told:
            about = self._name((model.key[what.key], self.world[model.key[what.key]].head)) if isinstance(what, Deliver) else 0  # type: ignore[union-attr]
            self._told(("landed", type(what).__name__, getattr(what, "agent", ""), entry.record, entry.fired, about))


_CHANGES = frozenset({Update, Deliver, Outage, Restore, MissingParent, CorruptParent, ToolFault})
_POINTS = frozenset({Read, Head, Memory, Fetch, Derive, Act, Pause, Seam})
_STEPS: dict[type[Entry], Any] = {
    Read: Walk._read,
    Head: Walk._head,
    Memory: Walk._memory,
    Fetch: Walk._fetch,
    Derive: Walk._derive,
    Act: Walk._act,
    Pause: Walk._seam,
    Seam: Walk._seam,
    Declared: Walk._declared,
    Validated: Walk._mark,
    Halted: Walk._halted,
    Ended: Walk._ended,
    Landed: Walk._landed,
}
