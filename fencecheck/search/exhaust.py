"""Every interleaving of up to so many events, fewest first, so that the first failure is minimal by construction.

The reduced search places an event only right before a point that depends on it, or that depends on a later event of the same block: an update
before a delivery before a look into memory. It extends an episode only at later points of that same episode, since an event can make points
of its own; at the same point too where the events there made it another one: after a replan, a restart or a switch, or before a mark that was
not there without them. A switch is placed where several calls wait, to each that is not next, and an advance where a timer is set; orders of
answers are never taken to commute. The full search places every event before every point; the tests compare both with a plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from msgspec import Struct

from fencecheck.history import Act, Derive, History, Landed
from fencecheck.interleaving import DROPPED, KINDS, TURNS, CorruptParent, Deliver, Event, MissingParent, Replan, Restart, What
from fencecheck.model import lineage_of
from fencecheck.run.simulate import Runner
from fencecheck.search.budget import WHOLE, Shard
from fencecheck.search.placing import (
    Dropped,
    Point,
    Touch,
    Touching,
    asking_touches,
    asks_first,
    depend,
    event_touches,
    every,
    points_of,
    turns_of,
)

_HOOKS = {Replan: "replan", Restart: "restart", Deliver: "deliver", MissingParent: "lose"}


class _Planned(Struct, frozen=True):
    """An episode to be run, and how it is gone on from.

    Args:
        start: the first point before which more may land.
        touch: what that point touched before the last events or dropped declarations were chosen.
        since: the entry up to which all was tried in the episode that it goes on from.
        kept: how many of its events landed before the point of the last ones.
    """

    dropped: Dropped = ()
    events: tuple[Event, ...] = ()
    start: int = -1
    touch: Touch | None = None
    since: int = -1
    kept: int = 0

    @property
    def size(self) -> int:
        return len(self.dropped) + len(self.events)


class Episode(Struct, frozen=True):
    """One episode that a search ran.

    Args:
        new: whether all its events fired; otherwise it is a smaller episode again.
    """

    dropped: tuple[tuple[str, str], ...]
    events: tuple[Event, ...]
    history: History
    new: bool

    @property
    def size(self) -> int:
        """Number of events and dropped declarations."""
        return len(self.events) + len(self.dropped)


def episodes(
    runner: Runner,
    max_events: int,
    *,
    kinds: tuple[str, ...] | None = None,
    full: bool = False,
    assume_broken: frozenset[str] = frozenset(),
    shard: Shard = WHOLE,
) -> Iterator[Episode]:
    """Runs all interleavings of up to `max_events` events, fewest first.

    Args:
        shard: the share to run. Smaller interleavings, from which the larger ones are made, are run by each.
        kinds: the event kinds to use; by default all that the system can receive.
        full: whether to place every event before every point.
        assume_broken: assumptions that events may break.
    """
    search = _Search(runner, max_events, kinds if kinds is not None else runner.kinds, full or runner.own_store, assume_broken, shard)
    return search.run()


def order_of(runner: Runner, assume_broken: frozenset[str] = frozenset()) -> Callable[[tuple[Event, ...]], list[tuple[int, int]]]:
    """A key by which interleavings of one size are compared: simplest events first, then the earliest points.

    Hypothesis shrinks to the same one, since it draws an event as what happens, then where.
    """
    rank = {what: i for i, what in enumerate(every(runner.scenario, KINDS, runner.horizon, assume_broken, runner.lanes))}
    return lambda events: sorted((rank.get(event.what, len(rank)), event.at) for event in events)


class _Search:
    def __init__(self, runner: Runner, most: int, kinds: tuple[str, ...], full: bool, assume_broken: frozenset[str], shard: Shard) -> None:
        self.runner, self.most, self.kinds, self.full, self.shard = runner, most, kinds, full, shard
        self.hooks = {kind for kind, hook in _HOOKS.items() if callable(getattr(runner._probe, hook, None))}
        self.drop = DROPPED in kinds or (kinds == runner.kinds and runner.drops)
        self.assume_broken, self.places = assume_broken, 0
        self.all: list[What] = []
        self.planned: list[set[tuple[Dropped, tuple[Event, ...]]]] = [set() for _ in range(most + 1)]
        self.queue: list[list[_Planned]] = [[] for _ in range(most + 1)]
        self.asking: set[tuple[tuple[Event, ...], Event]] = set()  # what landed before an event whose hook then asked, and that event

    def run(self) -> Iterator[Episode]:
        self._plan(_Planned())
        number = -1
        for size in range(self.most + 1):
            for planned in self.queue[size]:  # grows while it is walked, in each share alike, so that the numbers are the same in all
                dropped, events = planned.dropped, planned.events
                number += 1
                mine = self.shard.has(number)
                if not mine and size == self.most and not self._may_tell(planned):
                    continue
                history = self.runner.run(dropped, events)
                new = len(history.fired) == len(events)
                if mine:
                    yield Episode(dropped, events, history, new)
                if new:
                    self._extend(planned, history, self.most - size)
            self.queue[size] = []
            self.planned[size] = set()

    def _plan(self, planned: _Planned) -> None:
        about = (planned.dropped, planned.events)
        if about not in self.planned[planned.size]:
            self.planned[planned.size].add(about)
            self.queue[planned.size].append(planned)

    def _may_tell(self, planned: _Planned) -> bool:
        """Whether it alone may show that the hook of its last event asks, which leads to others of its own size."""
        events = planned.events
        with_others = len(events) - planned.kept > 1 and type(events[-1].what) in self.hooks and not self.full
        return with_others and (events[: planned.kept], events[-1]) not in self.asking

    # -- going on from an episode ------------------------------------------------------------------------------------

    def _extend(self, planned: _Planned, history: History, room: int) -> None:
        events, dropped = planned.events, planned.dropped
        landed = max((i for i, entry in enumerate(history.entries) if type(entry) is Landed), default=-1) if events else -1
        last = events[-1].what if planned.since < landed else None  # else a dropped declaration came last
        asked = type(last) in self.hooks and not self.full and _asked(history, landed)
        if last is not None and asked:
            self.asking.add((events[: planned.kept], events[-1]))
            self._before(planned, history, last)
        if not room:
            return
        self._see_places(history)
        known = None if _breaks(last) or asked else planned.touch
        if self.drop:
            self._drop(planned, history, max(planned.since, landed), room)
        for turn in turns_of(history, self.kinds, events[-1] if events else None):
            if turn.at > planned.start or known is None:
                self._plan(_Planned(dropped, (*events, turn), turn.at))
        for point in points_of(history):
            here = point.number == planned.start
            if point.number < planned.start or (here and known is not None and self.full):
                continue
            touch: Touch = (point.reads, point.writes)
            for block in self._blocks(history, point, room, known if here else None):
                if not (here and isinstance(last, Replan) and self._swaps(self._touch(last, None, asked), block)):
                    self._plan(_longer(dropped, events, point.number, touch, block))

    def _swaps(self, replan: Touch, block: tuple[What, ...]) -> bool:
        """Whether the events of `block` may as well land before the replan: then they are tried there."""
        scenario = self.runner.scenario
        return not any(_breaks(what) or depend(event_touches(what, scenario), replan) for what in block)

    def _drop(self, planned: _Planned, history: History, since: int, room: int) -> None:
        """The same with declarations dropped that were first asked for after the entry `since`: each shows from there on."""
        touching = Touching(self.runner.scenario)
        for index, point, asked in asks_first(history):
            if index <= since:
                continue
            number, touch = -1, None
            if point is not None:
                number, touch = point[0], touching.at(history, point[1])
            for size in range(1, min(room, len(asked)) + 1):
                for some in combinations(asked, size):
                    dropped = tuple(sorted((*planned.dropped, *some)))
                    self._plan(_Planned(dropped, planned.events, number, touch, index))

    def _before(self, planned: _Planned, history: History, what: What) -> None:
        """The same with more before its last event, whose hook was seen to ask: what it may ask for has to be tried before it."""
        first = [i for i, entry in enumerate(history.entries) if type(entry) is Landed][planned.kept]
        events, touch = planned.events[: planned.kept], planned.touch
        assert touch is not None
        here = self.all.index(what)
        touches = {**self._touches(history, first), here: self._touch(what, None, True)}
        ends = {i for i, its in touches.items() if depend(its, touch)} - {here}
        for block in self._grown([(here,)], touches, ends, self.most - len(planned.dropped) - planned.kept):
            longer = _longer(planned.dropped, events, planned.start, touch, block)
            if longer.size >= planned.size:
                self._plan(longer)

    # -- blocks of events before one point ----------------------------------------------------------------------------

    def _blocks(self, history: History, point: Point, room: int, known: Touch | None) -> Iterator[tuple[What, ...]]:
        """Sequences of events worth trying right before `point`, each of which the point or a later one of them depends on.

        Args:
            known: what the point touched before the events that landed there already; what depends on that was tried together with them.
        """
        touches = self._touches(history, point.index)
        here: Touch = (point.reads, point.writes)
        if known is None:
            ends = [i for i, touch in touches.items() if self.full or self._everywhere(i, point) or depend(touch, here)]
        else:
            ends = [
                i for i, touch in touches.items() if depend(touch, here) and not depend(touch, known) and not self._everywhere(i, point)
            ]
        return self._grown([(i,) for i in ends], touches, set(ends), room)

    def _grown(self, blocks: list[tuple[int, ...]], touches: dict[int, Touch], ends: set[int], room: int) -> Iterator[tuple[What, ...]]:
        while blocks:
            longer: list[tuple[int, ...]] = []
            for block in blocks:
                yield tuple([self.all[i] for i in block])
                if len(block) < room:
                    longer += self._prepended(block, touches, ends)
            blocks = longer

    def _prepended(self, block: tuple[int, ...], touches: dict[int, Touch], ends: set[int]) -> list[tuple[int, ...]]:
        found = []
        for i, touch in touches.items():
            if _breaks(self.all[i]):
                continue  # what follows it is tried in the run that it made
            linked = i in ends or any(depend(touch, touches[j]) for j in block)
            # of two independent neighbours only one order is tried
            ordered = self.full or depend(touch, touches[block[0]]) or i <= block[0]
            if linked and ordered:
                found.append((i, *block))
        return found

    def _everywhere(self, i: int, point: Point) -> bool:
        """Whether the event reaches the system otherwise than through a port: by a hook of the adapter, or by unwinding it."""
        what = self.all[i]
        if isinstance(what, Restart):
            return what.agent == point.agent
        return isinstance(what, Replan) or type(what) in self.hooks

    def _see_places(self, history: History) -> None:
        """Lets there be events for as many places of a lineage as the episode has."""
        places = max((len(lineage_of(history.records, entry.id)) for entry in history.entries if type(entry) is Derive), default=1)
        if places > self.places:
            self.places = places
            self.all = every(self.runner.scenario, self.kinds, places, self.assume_broken)

    def _touches(self, history: History, index: int) -> dict[int, Touch]:
        """What each event would read and write if it landed right before that entry, by its index; those that cannot fire are left out."""
        latest = next((entry.id for entry in reversed(history.entries[:index]) if type(entry) is Derive), None)
        ids = lineage_of(history.records, latest)
        found: dict[int, Touch] = {}
        for i, what in enumerate(self.all):
            record = None
            if isinstance(what, MissingParent | CorruptParent) and isinstance(what.place, int):
                if what.place >= len(ids):
                    continue
                record = ids[what.place]
            found[i] = self._touch(what, record)
        return found

    def _touch(self, what: What, record: str | None, asks: bool = False) -> Touch:
        scenario = self.runner.scenario
        return asking_touches(what, scenario) if asks else event_touches(what, scenario, record)


def _longer(dropped: Dropped, events: tuple[Event, ...], at: int, touch: Touch, block: tuple[What, ...]) -> _Planned:
    """The episode with a block of events before point `at`, which touches so much without them."""
    return _Planned(dropped, events + tuple([Event(at, what) for what in block]), at, touch, -1, len(events))


def _breaks(what: What | None) -> bool:
    """Whether the event makes entries of its own, or another call of the point that it lands at, so that all is to be tried there anew."""
    return isinstance(what, (Replan, Restart, *TURNS))


def _asked(history: History, landed: int) -> bool:
    """Whether the hook of the event that landed last, at that entry, used a port, or acted where it replans."""
    asked = [entry for entry in history.entries[landed + 1 :] if getattr(entry, "in_event", False)]
    replans = type(history.entries[landed].what) is Replan  # type: ignore[union-attr]
    return any(type(entry) is Act or not replans for entry in asked)
