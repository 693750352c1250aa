"""Every interleaving of **any** number of events of some kinds, as the finitely many episodes that can differ; fewest events first.

An event is placed only where the next point depends on it, as in `exhaust`; of several events before one point only the state of the world that they
come to matters; and an episode is gone on from only at places that no other had come to before (`states`). So the search **closes**: from some
number of events on there is nothing left to try. Fewest events first, so that whoever comes to a place first has the most room beyond it.

Kinds are searched in sets: the base set, and for each further kind a set that has it besides. All share one search. Each episode carries the sets
that it belongs to, as bits, so that what the base set tries is run once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from fencecheck.history import Fetch, History, Landed, Read
from fencecheck.interleaving import CorruptParent, Deliver, Event, MissingParent, Replan, Restart, Update, What, kind_of
from fencecheck.run.simulate import Runner
from fencecheck.search.exhaust import Episode
from fencecheck.search.placing import Touch, Touching, depend, event_touches, every
from fencecheck.search.states import Model, Walk, World, lineage_of

Dropped = tuple[tuple[str, str], ...]


class KindSet(Struct, frozen=True):
    """Kinds of event that are searched together, in any number but for those that happen once.

    Args:
        name: what reports call it: the kind that it adds to the base set.
        whats: the events.
    """

    name: str
    whats: frozenset[What]


def variant(what: What) -> str:
    """The kind of an event with its mode, such as `outage (hang)`."""
    how = getattr(what, "how", None)
    return f"{kind_of(what)} ({how})" if how is not None else kind_of(what)


BASE = ("update (fresh)", "outage (refuse)", "restore", "missing-parent")
"""What the base set has: updates, owners that refuse and come back, and records that cannot be read."""
ONCE = (Replan, Restart)
"""Events that make points of their own, so that any number of them would never close."""


MOST_IN_BLOCK = 12
"""Events before one point beyond which a state of the world is taken to be one of endlessly many."""


def base_set(whats: Iterable[What]) -> KindSet:
    """The events of `whats` that any number of is tried of."""
    return KindSet("base", frozenset(what for what in whats if variant(what) in BASE))


class Closing(Struct):
    """How far the search came with one set.

    Args:
        episodes: how many were run.
        events: most events in an episode that showed anything new.
        closed: whether nothing is left to try.
        bound: all interleavings of up to so many events are done, where it is not closed.
    """

    name: str
    episodes: int = 0
    events: int = 0
    closed: bool = False
    bound: int = 0


class _Planned(Struct, frozen=True, gc=False):
    """An episode to be run, and gone on from at points after `start`.

    Args:
        sets: the sets that it belongs to.
        known: what the point `start` touched when the events before it were chosen.
    """

    dropped: Dropped
    events: tuple[Event, ...]
    sets: int
    start: int = -1
    known: Touch | None = None


class Search:
    """The search of one system.

    Args:
        runner: the system.
        sets: which events go together.
        most: the most episodes that each set may take; the first set may take `most_base`.

    Attributes:
        closings: how far each set came.
        peeks: what the system was seen to do for which renaming versions is unsound; then nothing is closed.
    """

    def __init__(
        self,
        runner: Runner,
        sets: list[KindSet],
        *,
        most: int = 10_000,
        most_base: int = 1_000_000,
        max_events: int | None = None,
        back: int = 0,
        remembers: bool = True,
    ) -> None:
        self.runner, self.sets = runner, sets
        hooks = frozenset(hook for hook in ("deliver", "lose") if callable(getattr(runner._probe, hook, None)))
        self.hooks = hooks
        self._back = back
        self.model = Model(runner.scenario, hooks, back, remembers)
        self.closings = [Closing(kinds.name) for kinds in sets]
        self.peeks = ""
        self._most = [most_base] + [most] * (len(sets) - 1)
        self._max_events = max_events
        order: dict[What, int] = {}
        for i, kinds in enumerate(sets):
            for what in kinds.whats:
                order[what] = order.get(what, 0) | 1 << i
        ranked = [what for what in every(runner.scenario, _kinds(order), runner.horizon + 1, frozenset({"honest-owners"})) if what in order]
        self.whats = [(what, order[what]) for what in ranked]
        self._allowed = order
        self._open = 0
        self._touches: dict[tuple[What, str | None], Touch] = {}
        self._seen: dict[tuple[int, World], int] = {}
        self._queue: dict[int, list[_Planned]] = {}
        self._touching = Touching(runner.scenario)

    def run(self) -> Iterator[Episode]:
        """Runs episodes until nothing is left to try, or no set has episodes left."""
        self._queue = {0: [_Planned((), (), (1 << len(self.sets)) - 1)]}
        size = 0
        while self._queue and (self._max_events is None or size <= self._max_events):
            for planned in self._queue.pop(size, ()):
                sets = self._within_budget(planned.sets)
                if not sets:
                    continue
                history = self.runner.run(planned.dropped, planned.events)
                if len(history.fired) < len(planned.events):
                    continue  # what was put in before made another event fall away
                self._count(sets, size)
                yield Episode(planned.dropped, planned.events, history, True)
                self._extend(planned, history, sets)
            size += 1
            for i, closing in enumerate(self.closings):
                if closing.episodes < self._most[i]:
                    closing.bound = size - 1
        self._close()

    def _close(self) -> None:
        left = self._open
        for planned in (planned for waiting in self._queue.values() for planned in waiting):
            left |= planned.sets
        for i, closing in enumerate(self.closings):
            closing.closed = not self.peeks and not left >> i & 1 and closing.episodes < self._most[i]

    def _within_budget(self, sets: int) -> int:
        for i, closing in enumerate(self.closings):
            if closing.episodes >= self._most[i]:
                sets &= ~(1 << i)
        return sets

    def _count(self, sets: int, size: int) -> None:
        for i, closing in enumerate(self.closings):
            if sets >> i & 1:
                closing.episodes += 1
                closing.events = size

    # -- going on from an episode ------------------------------------------------------------------------------------

    def _extend(self, planned: _Planned, history: History, sets: int) -> None:
        events, start = planned.events, planned.start
        broken = bool(events) and _breaks(events[-1].what, self.hooks)
        walk = Walk(self.model, history)
        for point in walk.points():
            self._link(walk, planned, sets)
            self._lose(walk, planned, sets)
            if point < start:
                continue
            known = planned.known if point == start and not broken else None
            touch = self._touching.at(history, walk.index)
            if known is None:
                place = (walk.node, walk.canonical())
                before = self._seen.get(place, 0)
                sets &= ~before
                if not sets:
                    break
                self._seen[place] = before | sets
            elif touch[0] <= known[0] and touch[1] <= known[1]:
                continue
            for block, of in self._blocks(walk, history, touch, sets, known, events):
                longer = events + tuple(Event(point, what) for what in block)
                joined = touch if known is None else (touch[0] | known[0], touch[1] | known[1])
                self._plan(_Planned(planned.dropped, longer, of, point, joined))
        else:
            self._link(walk, planned, sets)
            self._lose(walk, planned, sets)
        self.peeks = self.peeks or walk.peeks
        if walk.remembers and not self.model.remembers:
            self.peeks = self.peeks or "it looked into its memory, which it had not in smaller interleavings"

    def _plan(self, planned: _Planned) -> None:
        self._queue.setdefault(len(planned.dropped) + len(planned.events), []).append(planned)

    def _link(self, walk: Walk, planned: _Planned, sets: int) -> None:
        """Where a record says that it supersedes a version seen before: the same with one more update in between, which nobody sees otherwise."""
        for point, index, key, number in walk.links:
            name = walk.model.scenario.keys[key]
            update = Update(name)
            within = sets & self._allowed.get(update, 0)
            if self._back or point < planned.start or not within:
                continue
            made = f"{name}@{number + 1}"
            landed = [entry for entry in walk.history.entries if type(entry) is Landed]
            i = next((i for i, entry in enumerate(landed) if type(entry.what) is Update and entry.version == made), None)
            if i is not None:
                events = planned.events
                longer = (*events[:i], Event(events[i].at, update), *events[i:])
                known = planned.known if point == planned.start else None
                self._plan(_Planned(planned.dropped, longer, within, point, known or self._touching.at(walk.history, index)))
        walk.links.clear()

    def _lose(self, walk: Walk, planned: _Planned, sets: int) -> None:
        """Where a record is fetched to which no place comes any more: the same with that record lost when one last did, which nobody sees before."""
        for point, index, kind, last, i, place in walk.strays:
            if point < planned.start:
                continue
            for what, allowed in self.whats:
                if not sets & allowed or type(what) is not kind or what.place != place:  # type: ignore[union-attr]
                    continue
                events = planned.events
                longer = (*events[:i], Event(last, what), *events[i:])
                known = planned.known if point == planned.start else None
                self._plan(_Planned(planned.dropped, longer, sets & allowed, point, known or self._touching.at(walk.history, index)))
        walk.strays.clear()

    def _blocks(
        self, walk: Walk, history: History, touch: Touch, sets: int, known: Touch | None, events: tuple[Event, ...]
    ) -> Iterator[tuple[tuple[What, ...], int]]:
        """Shortest sequences of events, one for each state of the world that they can come to before the point; with the sets that have them."""
        once = {type(event.what) for event in events if isinstance(event.what, ONCE)}
        agent = history.entries[walk.index].agent  # type: ignore[union-attr]
        lineage = lineage_of(history, walk.latest)
        linked = self._linked(touch, known, lineage, walk, agent, once)
        sees = self._sees_record(walk, lineage)
        named = tuple(walk.named)
        start = tuple(walk.world)
        canonical = self.model.canonical(start, named)
        emitted: dict[object, int] = {canonical: sets}
        seen: dict[object, int] = {}
        room = MOST_IN_BLOCK if self._max_events is None else min(self._max_events - len(events), MOST_IN_BLOCK)
        frontier: list[tuple[World, tuple[What, ...], frozenset[Touch], int]] = [(start, (), frozenset(), sets)]
        while frontier and room > 0:
            room -= 1
            following: list[tuple[World, tuple[What, ...], frozenset[Touch], int]] = []
            for world, block, pending, of in frontier:
                for what, its, ends, allowed in linked:
                    within = of & allowed
                    if not within:
                        continue
                    if _breaks(what, self.hooks):
                        if not _pending(pending, its, ends):
                            mark = (self.model.canonical(world, named), what)
                            new = within & ~emitted.get(mark, 0)
                            if new:
                                emitted[mark] = emitted.get(mark, 0) | new
                                yield (*block, what), new
                        continue
                    after = self.model.after(what, world, lineage, history)
                    if after is None:
                        continue
                    if isinstance(what, MissingParent | CorruptParent):
                        ends = sees(self.model.place(what.place, world, lineage), world)
                        its = (its[0] if self._back else frozenset(), its[1])  # a record that no place comes to any more: see _lose
                    waiting = _pending(pending, its, ends)
                    canon = self.model.canonical(after, named)
                    place = (canon, waiting)
                    new = within & ~seen.get(place, 0)
                    if not new:
                        continue
                    seen[place] = seen.get(place, 0) | new
                    if not waiting:
                        fresh = new & ~emitted.get(canon, 0)
                        if fresh:
                            emitted[canon] = emitted.get(canon, 0) | fresh
                            yield (*block, what), fresh
                    following.append((after, (*block, what), waiting, new))
            frontier = following
        for *_, of in frontier:
            self._open |= of

    def _linked(
        self, touch: Touch, known: Touch | None, lineage: tuple[str, ...], walk: Walk, agent: str, once: set[type]
    ) -> list[tuple[What, Touch, bool, int]]:
        """The events on which the point depends, or one of these events, and so on: with what each touches, and whether the point depends on it."""
        rest: list[tuple[What, Touch, int]] = []
        found: list[tuple[What, Touch, bool, int]] = []
        for what, allowed in self.whats:
            if type(what) in once or (isinstance(what, Restart) and what.agent != agent):
                continue
            its = self._touch(what, lineage)
            if its is None:
                continue
            if known is None:
                ends = _breaks(what, self.hooks) or depend(its, touch)
            else:
                ends = not _breaks(what, self.hooks) and depend(its, touch) and not depend(its, known)
            if ends:
                found.append((what, its, True, allowed))
            else:
                rest.append((what, its, allowed))
        through = [0] * len(rest)
        grown = True
        while grown:
            grown = False
            reached = [(its, allowed) for _, its, _, allowed in found] + [(rest[i][1], bits) for i, bits in enumerate(through) if bits]
            for i, (what, its, allowed) in enumerate(rest):
                bits = 0
                for other, others in reached:
                    if others & allowed & ~through[i] and depend(its, other):
                        bits |= others & allowed
                if bits & ~through[i] and not _breaks(what, self.hooks):
                    through[i] |= bits
                    grown = True
        found += [(what, its, False, bits) for (what, its, _), bits in zip(rest, through, strict=True) if bits]
        return found

    def _sees_record(self, walk: Walk, lineage: tuple[str, ...]) -> Callable[[str | None, World], bool]:
        """Whether the point depends on whether, and how, a record can be read."""
        entry, model = walk.history.entries[walk.index], self.model
        if isinstance(entry, Read):
            key = model.key.get(entry.key)
            return lambda id, world: key is not None and model.number(id) == (key, world[key].head)  # type: ignore[union-attr]
        if isinstance(entry, Fetch):
            return lambda id, world: id == entry.id
        return lambda id, world: False

    def _touch(self, what: What, lineage: tuple[str, ...]) -> Touch | None:
        record = None
        place = getattr(what, "place", None)
        if isinstance(place, int):
            if place >= len(lineage):
                return None
            record = lineage[place]
        touch = self._touches.get((what, record))
        if touch is None:
            touch = self._touches[what, record] = event_touches(what, self.runner.scenario, record)
        return touch


def _pending(pending: frozenset[Touch], its: Touch, ends: bool) -> frozenset[Touch]:
    """The events of a block that are not yet linked to the point, once one more has landed."""
    if not ends:
        return pending | {its}
    linked, left = {its}, set(pending)
    while more := {one for one in left if any(depend(one, other) for other in linked)}:
        linked |= more
        left -= more
    return frozenset(left)


def _breaks(what: What, hooks: frozenset[str]) -> bool:
    """Whether the event calls code of the system's, or unwinds it: what follows it is tried in the run that it made."""
    if isinstance(what, Replan | Restart):
        return True
    return (isinstance(what, Deliver) and "deliver" in hooks) or (isinstance(what, MissingParent) and "lose" in hooks)


def _kinds(whats: Iterable[What]) -> set[str]:
    return {kind_of(what) for what in whats}
