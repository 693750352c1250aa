"""Every interleaving of **any** number of events of some kinds, as the finitely many episodes that can differ; fewest events first.

An event is placed only where the next point depends on it, as in `exhaust`; of several events before one point only the state of the world that they
come to matters; and an episode is gone on from only at places that no other had come to before (`states`). So the search **closes**: from some
number of events on there is nothing left to try. Fewest events first, so that whoever comes to a place first has the most room beyond it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Literal, NamedTuple

from fencecheck.history import Fetch, History, Landed, Read, is_point
from fencecheck.interleaving import TURNS, CorruptParent, Deliver, Event, MissingParent, Replan, Restart, Update, What, kind_of
from fencecheck.model import lineage_of
from fencecheck.run.simulate import Runner
from fencecheck.search.exhaust import Episode
from fencecheck.search.placing import Dropped, Objects, Touch, Touching, asking_touches, asks_first, depend, event_touches, turns_of
from fencecheck.search.states import Model, Names, World
from fencecheck.search.walk import Walk

Open = Literal["", "episodes", "states", "versions", "names"]
"""Why a search did not close: of episodes, or of states before one point, there were more than are tried; the number of updates matters; or
the system goes by more than equality of names."""
ONCE = (Replan, Restart)
"""Events that make points of their own: any number of them would never close, so each comes once at most."""
MOST_IN_BLOCK = 40
"""Events before one point beyond which a state of the world is taken to be one of endlessly many."""
_OF_RECORDS = frozenset({MissingParent, CorruptParent})
_NOTHING: Objects = frozenset()


class Met(NamedTuple):
    """What a system was seen to do, which a search has to know from its beginning.

    Args:
        remembers: whether it looks into its memory; what is there plays no part otherwise.
        agents: the agents that it runs.
        asking: the kinds of event whose hook uses a port, or acts where it replans.
        places: the number of records in a lineage for each of which there are events.
    """

    remembers: bool = True
    agents: frozenset[str] = frozenset()
    asking: frozenset[type] = frozenset()
    places: int = 1


NOTHING_KNOWN = Met()


class _Planned(NamedTuple):
    """An episode to be run, and gone on from at points after `start`.

    Args:
        known: what that point touched when the events before it were chosen.
        since: the entry up to which all was planned in the episode that it goes on from.
    """

    dropped: Dropped
    events: tuple[Event, ...]
    start: int = -1
    known: Touch | None = None
    since: int = -1

    @property
    def size(self) -> int:
        return len(self.dropped) + len(self.events)


class _Place(NamedTuple):
    """A point of an episode, right before it.

    Args:
        entry: number of the entry of the point.
        lineage: of the record that was derived last.
        sees: whether the point depends on whether, and how, a record can be read.
        size: how many events the episode has.
        room: how many more may come before the point.
    """

    history: History
    entry: int
    point: int
    world: World
    named: tuple[Names, ...]
    lineage: tuple[str, ...]
    sees: Callable[[str | None, World], bool]
    size: int
    room: int

    def canonical(self, model: Model, world: World) -> tuple[Any, ...]:
        return model.canonical(world, self.named)


class Search:
    """The search of one system.

    Args:
        runner: the system.
        whats: the events, simplest first.
        drops: whether declarations are dropped: each where it is first asked for, as an event that lands there.
        most: the most episodes.
        most_states: the most states of the world that are tried before one point; where there are more, nothing is closed.
        max_events: the most events and dropped declarations.
        back: as in `Model`.
        met: what the system is known to do.
        histories: of episodes that were run before.

    Attributes:
        episodes: how many were run.
        events: most events in an episode that showed anything new.
        bound: all interleavings of up to so many events are done.
        closed: whether nothing is left to try.
        peeks: what the system was seen to do for which renaming versions is unsound; then nothing is closed.
        met: what the system is known to do, and was seen to do besides; where that is more, the search has to be begun again.
    """

    def __init__(
        self,
        runner: Runner,
        whats: Iterable[What],
        *,
        drops: bool = False,
        most: int = 100_000,
        most_states: int = 50_000,
        max_events: int | None = None,
        back: int = 0,
        met: Met = NOTHING_KNOWN,
        histories: Mapping[tuple[Dropped, tuple[Event, ...]], History] | None = None,
    ) -> None:
        self.runner, self.whats, self._drops = runner, tuple(whats), drops
        self._allowed = frozenset(self.whats)
        self._hooks = frozenset(hook for hook in ("deliver", "lose") if callable(getattr(runner._probe, hook, None)))
        self._model = Model(runner.scenario, self._hooks, back, met.remembers, met.agents)
        self.met = self._known = met
        self._touching = Touching(runner.scenario)
        self._back, self._most, self._most_states, self._max_events = back, most, most_states, max_events
        self._histories = histories if histories is not None else {}
        self.episodes = self.events = self.bound = 0
        self.closed = False
        self.peeks = ""
        self._open = False
        self._tried = sys.maxsize
        self._turn_kinds = tuple({kind_of(what) for what in self.whats if isinstance(what, TURNS)})
        self._breaking = tuple(what for what in self.whats if self._breaks(what) and not isinstance(what, TURNS))
        self._rest = tuple(what for what in self.whats if not self._breaks(what))
        self._touches: dict[tuple[What, str | None], Touch] = {}
        self._links: dict[tuple[Touch, Touch | None, tuple[str, ...]], list[tuple[What, Touch, bool]]] = {}
        self._seen: set[tuple[int, tuple[Any, ...]]] = set()
        self._queue: dict[int, list[tuple[_Planned, Iterator[_Planned]]]] = {}

    def run(self) -> Iterator[Episode]:
        """Runs episodes until nothing is left to try, or there were `most`."""
        self._plan(iter([_Planned((), ())]))
        size = 0
        most = sys.maxsize if self._max_events is None else self._max_events
        while self._queue and size <= min(most, self._tried):
            waiting = self._queue.get(size, [])
            for planned, more in waiting:  # grows while it is walked
                if self.episodes >= self._most:
                    return
                history = self._histories.get((planned.dropped, planned.events)) or self.runner.run(planned.dropped, planned.events)
                if len(history.fired) == len(planned.events):  # else what was put in before made another event fall away
                    self.episodes += 1
                    self.events = size
                    yield Episode(planned.dropped, planned.events, history, True)
                    self._extend(planned, history)
                self._plan(more)
            self._queue.pop(size, None)
            self.bound = min(size, self._tried)
            size += 1
        self.closed = not self._queue and not self._open and not self.peeks

    @property
    def ran_out(self) -> Open:
        """What there was too much of to come to an end."""
        if self.closed or self.peeks:
            return "" if self.closed else "names"
        if self._back:
            return "versions"
        return "episodes" if self.episodes >= self._most else "states"

    def _plan(self, more: Iterator[_Planned]) -> None:
        """Queues the next one. What comes after it is thought of only once that one was run, so that work goes by episodes."""
        planned = next(more, None)
        if planned is not None:
            self._queue.setdefault(planned.size, []).append((planned, more))

    # -- going on from an episode ------------------------------------------------------------------------------------

    def _extend(self, planned: _Planned, history: History) -> None:
        broken = bool(planned.events) and self._breaks(planned.events[-1].what)
        walk = Walk(self._model, history)
        for point in walk.points():
            self._insert(walk, planned)
            if point < planned.start:
                continue
            known = planned.known if point == planned.start and not broken else None
            touch = self._touching.at(history, walk.index)
            if known is None:
                place = (walk.node, walk.canonical())
                if place in self._seen:
                    break
                self._seen.add(place)
            elif touch[0] <= known[0] and touch[1] <= known[1]:
                continue
            for longer in self._longer(planned, self._place(planned, walk, point), touch, known):
                self._plan(longer)
        else:
            self._insert(walk, planned)
        if self._drops:
            self._drop(planned, history, walk.index)
        self._note(walk)
        self.peeks = self.peeks or walk.peeks

    def _drop(self, planned: _Planned, history: History, end: int) -> None:
        """The episode with declarations dropped that it first asks for after its last event and before the entry `end`: each shows from there on."""
        landed = (i for i, entry in enumerate(history.entries) if type(entry) is Landed)
        since = max(planned.since, *landed, -1)
        for index, point, asked in asks_first(history):
            if since < index < end:
                at, touch = (-1, None) if point is None else (point[0], self._touching.at(history, point[1]))
                self._plan(self._without(planned, asked, at, touch, index))

    def _without(self, planned: _Planned, asked: Dropped, at: int, touch: Touch | None, index: int) -> Iterator[_Planned]:
        """The episode without some of the declarations asked for at that entry, fewest first."""
        for size in range(1, len(asked) + 1):
            for some in combinations(asked, size):
                yield _Planned(tuple(sorted((*planned.dropped, *some))), planned.events, at, touch, index)

    def _note(self, walk: Walk) -> None:
        met = self.met
        self.met = Met(
            met.remembers or walk.remembers, met.agents | self._model.agents, met.asking | walk.asking, max(met.places, walk.longest)
        )

    def _place(self, planned: _Planned, walk: Walk, point: int) -> _Place:
        lineage = lineage_of(walk.history.records, walk.latest)
        room = MOST_IN_BLOCK if self._max_events is None else min(self._max_events - planned.size, MOST_IN_BLOCK)
        return _Place(
            walk.history, walk.index, point, tuple(walk.world), tuple(walk.named), lineage, self._sees_record(walk), planned.size, room
        )

    def _longer(self, planned: _Planned, place: _Place, touch: Touch, known: Touch | None) -> Iterator[Iterator[_Planned]]:
        """The episode with one more block of events before the place, for each block that may show; in several series, each shortest first."""
        joined = touch if known is None else (touch[0] | known[0], touch[1] | known[1])
        yield self._each(planned, place, self._blocks(place, touch, known, place.sees), (), joined)
        if known is not None:
            return
        for turn in self._turns(planned, place):
            yield iter([turn])
        once = {type(event.what) for event in planned.events if isinstance(event.what, ONCE)}
        agent = place.history.entries[place.entry].agent  # type: ignore[union-attr]
        for what in self._breaking:
            if type(what) in once or (isinstance(what, Restart) and what.agent != agent):
                continue
            its = self._touch(what, place.lineage)
            if its is not None:
                yield self._each(planned, place, self._before(what, place, its), (what,), None)

    def _turns(self, planned: _Planned, place: _Place) -> Iterator[_Planned]:
        """The episode with another order at the place. Whose turn it is, is settled before other events land there, but for an advance."""
        last = planned.events[-1] if planned.events else None
        for event in turns_of(place.history, self._turn_kinds, last):
            if event.at == place.point:
                yield _Planned(planned.dropped, (*planned.events, event), place.point)

    def _before(self, what: What, place: _Place, its: Touch) -> Iterator[tuple[What, ...]]:
        """The blocks that an event which calls code of the system's may depend on, as a point does on the events before it."""
        yield ()
        yield from self._blocks(place, its, None, lambda id, world: isinstance(what, Replan) or type(what) in self._known.asking)

    def _each(
        self, planned: _Planned, place: _Place, blocks: Iterator[tuple[What, ...]], last: tuple[What, ...], known: Touch | None
    ) -> Iterator[_Planned]:
        for block in blocks:
            yield _Planned(
                planned.dropped, planned.events + tuple(Event(place.point, what) for what in (*block, *last)), place.point, known
            )

    def _breaks(self, what: What) -> bool:
        """Whether the event calls code of the system's, unwinds it or lets another go first: what follows it is tried in the run that it made."""
        if isinstance(what, (Replan, Restart, *TURNS)):
            return True
        return (isinstance(what, Deliver) and "deliver" in self._hooks) or (isinstance(what, MissingParent) and "lose" in self._hooks)

    # -- events that nobody sees before something else has happened -------------------------------------------------------

    def _insert(self, walk: Walk, planned: _Planned) -> None:
        if walk.links:
            for point, index, key, number in walk.links:
                self._link(walk, planned, point, index, key, number)
            walk.links.clear()
        if walk.strays:
            for point, index, kind, last, i, place in walk.strays:
                for what in self.whats:
                    if type(what) is kind and what.place == place:  # type: ignore[union-attr]
                        self._plan_before(planned, point, index, walk.history, i, Event(last, what))
            walk.strays.clear()

    def _link(self, walk: Walk, planned: _Planned, point: int, index: int, key: int, number: int) -> None:
        """Where a record says that it supersedes a version seen before: the same with one more update in between, which nobody sees otherwise."""
        name = self._model.scenario.keys[key]
        update = Update(name)
        if self._back or update not in self._allowed:
            return
        made = f"{name}@{number + 1}"
        landed = [entry for entry in walk.history.entries if type(entry) is Landed]
        i = next((i for i, entry in enumerate(landed) if type(entry.what) is Update and entry.version == made), None)
        if i is not None:
            self._plan_before(planned, point, index, walk.history, i, Event(planned.events[i].at, update))

    def _plan_before(self, planned: _Planned, point: int, index: int, history: History, i: int, event: Event) -> None:
        """Plans the same with one more event as the `i`-th: for a record to which no place comes any more by the time it is fetched, too."""
        if point < planned.start or index <= planned.since:
            return  # the episode that this one goes on from was planned with it
        longer = (*planned.events[:i], event, *planned.events[i:])
        known = planned.known if point == planned.start else None
        if known is None and is_point(history.entries[index]):
            known = self._touching.at(history, index)
        self._plan(iter([_Planned(planned.dropped, longer, point, known, index)]))

    # -- blocks of events before one point ----------------------------------------------------------------------------------

    def _blocks(
        self, place: _Place, touch: Touch, known: Touch | None, sees: Callable[[str | None, World], bool]
    ) -> Iterator[tuple[What, ...]]:
        """Shortest sequences of events, one for each state of the world that they can come to before a step that touches so much."""
        about = (touch, known, place.lineage)
        linked = self._links.get(about)
        if linked is None:
            linked = self._links[about] = self._linked(*about)
        if not linked:
            return
        emitted = {place.canonical(self._model, place.world)}
        seen: set[object] = set()
        frontier: list[tuple[World, tuple[What, ...], frozenset[Touch]]] = [(place.world, (), frozenset())]
        for depth in range(place.room):
            following: list[tuple[World, tuple[What, ...], frozenset[Touch]]] = []
            for world, block, pending in frontier:
                for what, its, ends in linked:
                    after = self._model.after(what, world, place.lineage, place.history)
                    if after is None:
                        continue
                    if type(what) in _OF_RECORDS:
                        ends = sees(self._model.place(what.place, world, place.lineage), world)  # type: ignore[union-attr]
                        its = (its[0] if self._back else _NOTHING, its[1])  # a record that no place comes to any more: see _insert
                    waiting = _pending(pending, its, ends)
                    canon = place.canonical(self._model, after)
                    if (canon, waiting) in seen:
                        continue
                    seen.add((canon, waiting))
                    if len(seen) > self._most_states:
                        self._give_up(place.size + depth)
                        return
                    if not waiting and canon not in emitted:
                        emitted.add(canon)
                        yield (*block, what)
                    following.append((after, (*block, what), waiting))
            frontier = following
            if not frontier:
                return
        self._give_up(place.size + place.room)

    def _give_up(self, tried: int) -> None:
        """Notes that longer blocks were left out: what was tried is every interleaving of up to so many events."""
        self._open = True
        self._tried = min(self._tried, tried)

    def _linked(self, touch: Touch, known: Touch | None, lineage: tuple[str, ...]) -> list[tuple[What, Touch, bool]]:
        """The events on which the step depends, or one of these events, and so on: with what each touches, and whether the step depends on it."""
        rest: list[tuple[What, Touch]] = []
        found: list[tuple[What, Touch, bool]] = []
        for what in self._rest:
            its = self._touch(what, lineage)
            if its is None:
                continue
            if depend(its, touch) and (known is None or not depend(its, known)):
                found.append((what, its, True))
            else:
                rest.append((what, its))
        reached = [its for _, its, _ in found]
        for its in reached:  # grows while it is walked
            through = [one for one in rest if depend(one[1], its)]
            rest = [one for one in rest if one not in through]
            found += [(what, touches, False) for what, touches in through]
            reached += [touches for _, touches in through]
        return found

    def _sees_record(self, walk: Walk) -> Callable[[str | None, World], bool]:
        """Whether the point depends on whether, and how, a record can be read."""
        entry, model = walk.history.entries[walk.index], self._model
        if isinstance(entry, Read):
            key = model.key.get(entry.key)
            if key is None:  # one that the system made, which no event changes
                return lambda id, world: id == entry.version
            return lambda id, world: model.number(id) == (key, world[key].head)  # type: ignore[union-attr]
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
            scenario = self.runner.scenario
            asks = type(what) in self._known.asking
            touch = self._touches[what, record] = asking_touches(what, scenario) if asks else event_touches(what, scenario, record)
        return touch


def _pending(pending: frozenset[Touch], its: Touch, ends: bool) -> frozenset[Touch]:
    """The events of a block that are not yet linked to the step, once one more has landed."""
    if not ends:
        return pending | {its}
    linked, left = {its}, set(pending)
    while more := {one for one in left if any(depend(one, other) for other in linked)}:
        linked |= more
        left -= more
    return frozenset(left)


def variant(what: What) -> str:
    """The kind of an event with its mode, such as `outage (hang)`."""
    how = getattr(what, "how", None)
    return f"{kind_of(what)} ({how})" if how is not None else kind_of(what)
