"""Every interleaving of up to so many events, fewest first, so that the first failure is minimal by construction.

The reduced search places an event only right before a point that depends on it, or that depends on a later event of the same block: an update
before a delivery before a look into memory. It extends an episode only at later points of that same episode, since an event can make points
of its own; at the same point too where the events there made it another one: after a replan, a restart or a switch, or before a mark that was
not there without them. A switch is placed where several calls wait, to each that is not next, and an advance where a timer is set; orders of
answers are never taken to commute. The full search places every event before every point; the tests compare both with a plain one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from msgspec import Struct

from fencecheck.history import Act, Derive, History
from fencecheck.interleaving import DROPPED, KINDS, TURNS, CorruptParent, Deliver, Event, MissingParent, Replan, Restart, Update, What
from fencecheck.judge.evidence import lineage
from fencecheck.run.simulate import Runner
from fencecheck.search.budget import WHOLE, Shard
from fencecheck.search.placing import Point, Touch, asking_touches, asks_declared, depend, event_touches, every, points_of, turns_of

_HOOKS = {Replan: "replan", Restart: "restart", Deliver: "deliver", MissingParent: "lose"}


class _Planned(Struct, frozen=True):
    """An episode to be run.

    Args:
        touch: what the point of the last events touches in the episode that they extend.
    """

    dropped: tuple[tuple[str, str], ...]
    events: tuple[Event, ...]
    touch: Touch | None


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
        self.hooks = {hook for hook in ("deliver", "lose") if callable(getattr(runner._probe, hook, None))}
        self.drop = DROPPED in kinds or (kinds == runner.kinds and runner.drops)
        first = runner.run()
        places = max((len(lineage(first.records, id)[0]) for id in _derived(first)), default=1) + 1
        self.all = every(runner.scenario, kinds, places, assume_broken)
        self.asking = frozenset() if full else _asking(runner, self.all, len(points_of(first)))
        self.queue: list[list[_Planned]] = [[] for _ in range(most + 1)]
        droppable = asks_declared(first) if self.drop else ()
        for size in range(min(most, len(droppable)) + 1):
            for dropped in itertools.combinations(droppable, size):
                self.queue[size].append(_Planned(dropped, (), None))

    def run(self) -> Iterator[Episode]:
        number = -1
        for size in range(self.most + 1):
            for planned in self.queue[size]:
                dropped, events = planned.dropped, planned.events
                number += 1
                mine = self.shard.has(number)
                if not mine and size == self.most:
                    continue
                history = self.runner.run(dropped, events)
                new = len(history.fired) == len(events)
                if mine:
                    yield Episode(dropped, events, history, new)
                if new and size < self.most:
                    self._extend(planned, history, self.most - size)
            self.queue[size] = []

    def _extend(self, planned: _Planned, history: History, room: int) -> None:
        dropped, events = planned.dropped, planned.events
        last = events[-1] if events else None
        for turn in turns_of(history, self.kinds, last):
            self.queue[len(dropped) + len(events) + 1].append(_Planned(dropped, (*events, turn), None))
        for point in points_of(history):
            here = last is not None and point.number == last.at
            if last is not None and (point.number < last.at or (here and self.full and not _breaks(last.what))):
                continue
            known = planned.touch if last is not None and here and not _breaks(last.what) else None
            for block in self._blocks(history, point, room, known):
                if last is not None and here and self._swaps(last.what, block):
                    continue
                longer = events + tuple(Event(point.number, what) for what in block)
                self.queue[len(dropped) + len(longer)].append(_Planned(dropped, longer, (point.reads, point.writes)))

    def _swaps(self, replan: What, block: tuple[What, ...]) -> bool:
        """Whether the events of `block` may as well land before the replan: then they are tried there."""
        scenario = self.runner.scenario
        own = self._touch(replan, None)
        return isinstance(replan, Replan) and not any(_breaks(what) or depend(event_touches(what, scenario), own) for what in block)

    def _blocks(self, history: History, point: Point, room: int, known: Touch | None) -> Iterator[tuple[What, ...]]:
        """Sequences of events worth trying right before `point`, each of which the point or a later one of them depends on.

        Args:
            known: what the point touched before the events that landed there already; what depends on that was tried together with them.
        """
        touches = self._touches(history, point)
        here: Touch = (point.reads, point.writes)
        if known is None:
            ends = [i for i, touch in touches.items() if self.full or self._everywhere(i, point) or depend(touch, here)]
        else:
            ends = [
                i for i, touch in touches.items() if depend(touch, here) and not depend(touch, known) and not self._everywhere(i, point)
            ]
        block: tuple[int, ...]
        blocks: list[tuple[int, ...]] = [(i,) for i in ends]
        while blocks:
            longer: list[tuple[int, ...]] = []
            for block in blocks:
                yield tuple(self.all[i] for i in block)
                if len(block) < room:
                    longer += self._prepended(block, touches, set(ends))
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
        if isinstance(what, Deliver):
            return "deliver" in self.hooks
        if isinstance(what, MissingParent):
            return "lose" in self.hooks
        return isinstance(what, Replan) or (isinstance(what, Restart) and what.agent == point.agent)

    def _touches(self, history: History, point: Point) -> dict[int, Touch]:
        """What each event would read and write if it landed right before `point`, by its index; those that cannot fire are left out."""
        ids = _lineage_before(history, point.index)
        found: dict[int, Touch] = {}
        for i, what in enumerate(self.all):
            record = None
            if isinstance(what, MissingParent | CorruptParent) and isinstance(what.place, int):
                if what.place >= len(ids):
                    continue
                record = ids[what.place]
            found[i] = self._touch(what, record)
        return found

    def _touch(self, what: What, record: str | None) -> Touch:
        scenario = self.runner.scenario
        return asking_touches(what, scenario) if type(what) in self.asking else event_touches(what, scenario, record)


def _breaks(what: What) -> bool:
    """Whether the event makes entries of its own, or another call of the point that it lands at, so that all is to be tried there anew."""
    return isinstance(what, (Replan, Restart, *TURNS))


def _asking(runner: Runner, whats: list[What], number: int) -> frozenset[type]:
    """The kinds of event whose hook uses a port, or acts where it replans, where nothing else happens: each is tried before each point."""
    found: set[type] = set()
    for what in whats:
        if not callable(getattr(runner._probe, _HOOKS.get(type(what), ""), None)):
            continue
        before = [Update(what.key)] if isinstance(what, Deliver) else []
        for at in range(number):
            if type(what) not in found:
                entries = runner.run((), tuple(Event(at, event) for event in (*before, what))).entries
                asked = [entry for entry in entries if getattr(entry, "in_event", False)]
                if any(type(entry) is Act or type(what) is not Replan for entry in asked):
                    found.add(type(what))
    return frozenset(found)


def _derived(history: History) -> list[str]:
    return [entry.id for entry in history.entries if type(entry) is Derive]


def _lineage_before(history: History, index: int) -> list[str]:
    """The lineage, breadth first, of the record that was derived last before the entry `index`."""
    latest = next((entry.id for entry in reversed(history.entries[:index]) if type(entry) is Derive), None)
    if latest is None:
        return []
    order, queue = {latest: None}, [latest]
    for id in queue:
        record = history.records.get(id)
        for parent in record.parents if record is not None else ():
            if parent not in order:
                order[parent] = None
                queue.append(parent)
    return list(order)
