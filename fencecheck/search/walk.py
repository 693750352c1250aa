"""One episode, walked entry by entry: what the system was told, what the judge noted, and what the world is, before each point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
from fencecheck.interleaving import (
    TURNS,
    CorruptParent,
    Deliver,
    MissingParent,
    Outage,
    Replan,
    Restart,
    Restore,
    ToolFault,
    Update,
    kind_of,
)
from fencecheck.model import lineage_of
from fencecheck.run.world import DANGLING
from fencecheck.search.states import Key, Model, Names, Part


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
        asking: the kinds of event whose hook used a port, or acted where it replans.
        longest: the number of records in the longest lineage.
        strays: point and index of the fetch of a record that no place comes to for that kind of event, the kind, the last point at which
            one did, the number of events that had landed by then, and that place.
        links: point, index of the entry, key and number of each version whose record was handed out, which says that it supersedes a
            version that was seen before, or that an agent remembers and so may still see.
    """

    def __init__(self, model: Model, history: History) -> None:
        self.model, self.history = model, history
        model.agents.update([entry.agent for entry in history.entries if type(entry) in _POINTS])  # type: ignore[union-attr]
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
        self.asking: set[type] = set()
        self._landing: type = Landed
        self.longest = 0
        self._lineage: tuple[str, ...] = ()
        self.here = 0
        self._linked: set[tuple[int, int]] = set()

    def points(self) -> Iterator[int]:
        """Stops before each point, with what landed there already part of the world; the number of the point."""
        steps = _STEPS
        for index, entry in enumerate(self.history.entries):
            self.index = index
            kind = type(entry)
            if kind in _POINTS:
                if getattr(entry, "in_event", False):
                    if kind is Act or self._landing is not Replan:
                        self.asking.add(self._landing)
                else:
                    yield self.point
                    self.here, self.point = self.point, self.point + 1
            steps[kind](self, entry)

    def to_end(self) -> Walk:
        """Walks on to the end."""
        for _ in self.points():
            pass
        return self

    def canonical(self) -> tuple[Any, ...]:
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
            under = self.model.number(id.removesuffix(DANGLING)) if id is not None and id.endswith(DANGLING) else None
            return id if under is None else (DANGLING, under[0], self._name(under))
        key, number = of
        part = self.world[key]
        assert isinstance(part, Key)
        if number >= len(part.values):
            return id
        before = -1
        if number:
            if of not in self._linked:
                self._linked.add(of)
                if number - 1 in self.named[key].order or number - 1 in self.model.remembered(part):
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
        lineage = lineage_of(self.history.records, entry.id)
        for place, id in enumerate(self._lineage):
            if id not in lineage:
                self._last_in_lineage[id] = (self.here, self.landed, place)
                if not self._at_head(id):
                    self._last[id] = self._last_in_lineage[id]
        for id in lineage:
            self._last.pop(id, None)
            self._last_in_lineage.pop(id, None)
        self.latest, self._lineage, self.longest = entry.id, lineage, max(self.longest, len(lineage))
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
        self._landing = type(what)
        told = isinstance(what, Replan) or (isinstance(what, (Restart, *TURNS)) and entry.fired)
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
            after = model.after(what, tuple(self.world), lineage_of(self.history.records, self.latest), self.history)
            assert after is not None, f"the model of the world and the world disagree over {entry!r}"
            self.world = list(after)
        if told:
            about = self._served(entry.version) if isinstance(what, Deliver) else None
            self._told(("landed", kind_of(what), getattr(what, "agent", ""), getattr(what, "task", ""), entry.record, entry.fired, about))


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
