"""Whether a system that held over few events holds over any number: runs `closing` for the base kinds, then with one further kind at a time."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

from msgspec import Struct

from fencecheck.history import Derive, History, Memory, is_point
from fencecheck.interleaving import DROPPED, Event, What
from fencecheck.judge import Judgement, judge
from fencecheck.model import lineage_of
from fencecheck.run.simulate import Runner
from fencecheck.search.closing import Met, Open, Search, variant
from fencecheck.search.exhaust import Episode
from fencecheck.search.placing import Dropped, asks_declared, every
from fencecheck.search.renamed import OtherNames

BASE = ("update (fresh)", "outage (refuse)", "restore", "missing-parent")
"""Kinds of event that are tried together, in any number of each. Where none of them is to be tried, all that are to be are."""
IN_PLACE_OF = {"outage": "outage (refuse)", "corrupt-parent": "missing-parent"}
"""Which base kind a further one of that kind stands in for. The others are tried besides all base kinds."""
TOLD_APART = {"update (earlier)": 1, "corrupt-parent (two-versions)": 1, "outage (older-head)": 2}
"""How many versions back from what can be seen matter to these kinds, so that the number of updates does: they are tried up to a bound only."""
MOST_EVENTS_TOLD_APART = 4
MOST_EPISODES = 500_000
"""Episodes after which the search for the base kinds is given up."""
PER_KIND = 600
"""The same for each further kind, unless said otherwise."""
MOST_STATES, MOST_STATES_FURTHER = 50_000, 600
"""States of the world that are tried before one point, for the base kinds and for a further one."""
MOST_COMPARED = 1_000
"""Episodes that are run again with other version ids and values, fewest events first."""
MOST_COMPARED_FURTHER = 50
"""The same for each further kind."""
MOST_KEPT = 5_000
"""Histories of base episodes that are kept, since each further kind comes to them again."""
COUNTED = 6
"""Number of events for which it is said how many interleavings there are."""
Judged = Callable[[Episode, Judgement], bool]


class Reach(Struct, frozen=True):
    """How far the search came with some kinds of event.

    Args:
        kind: the further kind, or nothing for the base kinds alone.
        complete: whether nothing was left to try.
        events: where it is complete, most events in an interleaving that came to anything new; else, all of up to so many were tried.
        episodes: how many were run.
        ran_out: where it is not complete, what there was too much of: `episodes`; `states` of the world before one point; `versions`, where
            the number of updates matters; or `names`, where the system goes by more than whether these are equal.
    """

    kind: str
    complete: bool
    events: int
    episodes: int
    ran_out: Open = ""


class Proof(Struct):
    """How far the search for any number of events came.

    Args:
        mixed: all interleavings of up to so many events, of all kinds mixed, were run before.
        kinds: the base kinds, any number of which was tried.
        base: how far it came with these, or None where it was not begun.
        further: how far with one kind more.
        stands_for: how many interleavings of up to `counted` events of the base kinds there are before the points of the run without events.
        points: how many points that run has.
        per_kind: the most episodes for each further kind.
        compared: how many episodes were the same with other version ids and values.
        more, more_further: how many episodes of more than `mixed` events were judged, of the base kinds, and with a further one.
        why: why it was not begun, or not gone on with.
    """

    mixed: int = 0
    kinds: tuple[str, ...] = BASE
    base: Reach | None = None
    further: list[Reach] = []
    stands_for: int = 0
    counted: int = COUNTED
    points: int = 0
    per_kind: int = PER_KIND
    compared: int = 0
    more: int = 0
    more_further: int = 0
    why: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing was left to try for the base kinds."""
        return self.base is not None and self.base.complete


class _Stopped(Exception):
    """Something was found that ends the search."""


class _Prover:
    def __init__(self, runner: Runner, add: Judged, known: int, in_time: Callable[[], bool], per_kind: int) -> None:
        self.runner, self.add, self.known, self.in_time, self.per_kind = runner, add, known, in_time, per_kind
        first = runner.run()
        agents = frozenset([*runner.scenario.agents, *(entry.agent for entry in first.entries if is_point(entry))])  # type: ignore[union-attr]
        self.met = Met(any(type(entry) is Memory for entry in first.entries), agents, places=2 * runner.horizon + 1)
        self._begin()
        self.variants = tuple(dict.fromkeys(variant(what) for what in self.base))
        self.drops = self._asks(first)
        self.others = OtherNames(runner)
        self.failed_at: int | None = None
        self.more = self.more_further = 0
        self.histories: dict[tuple[Dropped, tuple[Event, ...]], History] = {}
        longest = max((len(lineage_of(first.records, entry.id)) for entry in first.entries if type(entry) is Derive), default=1)
        self.standing = [what for what in self.base if not isinstance(place := getattr(what, "place", None), int) or place < longest]

    def _begin(self) -> None:
        """The events, with those for as many places of a lineage as there are."""
        self.whats = every(self.runner.scenario, self.runner.kinds, self.met.places, tasks=self.runner.lanes)
        self.base = [what for what in self.whats if variant(what) in BASE] or self.whats

    def _asks(self, history: History) -> bool:
        """Whether there is a declaration that can be dropped."""
        return self.runner.drops and bool(asks_declared(history))

    def _has_learned(self, met: Met) -> bool:
        """Whether the system was seen to do what a search has to know from its beginning."""
        if met == self.met:
            return False
        self.met = met if met.places == self.met.places else met._replace(places=2 * met.places)
        self._begin()
        return True

    def prove(self) -> Proof:
        number = _number(self.runner.horizon, len(self.standing), COUNTED)
        points = self.runner.horizon
        proof = Proof(mixed=self.known, kinds=self.variants, stands_for=number, points=points, per_kind=self.per_kind)
        try:
            self._prove(proof)
        except _Stopped as stopped:
            proof.why = str(stopped)
        proof.compared, proof.more, proof.more_further = self.others.compared, self.more, self.more_further
        return proof

    def _prove(self, proof: Proof) -> None:
        proof.base = self._reach("", MOST_EPISODES)
        further = [kind for kind in dict.fromkeys(variant(what) for what in self.whats) if kind not in self.variants]
        for kind in [*further, *([DROPPED] if self.drops else [])] if self.per_kind else []:
            proof.further.append(self._reach(kind, self.per_kind))

    def _tried(self, kind: str) -> list[What]:
        out = IN_PLACE_OF.get(kind.split(" ")[0])
        return [what for what in self.whats if variant(what) == kind or (what in self.base and variant(what) != out)]

    def _reach(self, kind: str, most: int) -> Reach:
        """Runs one search; once more where it turns out that more matters than was known, such as what is in memory."""
        while True:
            search = self._search(kind, self._tried(kind), most)
            for episode in search.run():
                self._take(kind, episode)
                if kind and search.episodes <= MOST_COMPARED_FURTHER:
                    search.peeks = search.peeks or self.others.difference(episode.dropped, episode.events, episode.history)
                if search.met != self.met:
                    break
            if not self._has_learned(search.met):
                if self.failed_at is not None:
                    raise _Stopped("an interleaving fails")
                if search.peeks and not kind:
                    raise _Stopped(search.peeks)
                reached = self.known if search.peeks else search.bound
                return Reach(kind, search.closed, search.events if search.closed else reached, search.episodes, search.ran_out)

    def _search(self, kind: str, whats: list[What], most: int) -> Search:
        back = TOLD_APART.get(kind, 0)
        most_events = MOST_EVENTS_TOLD_APART if back else None
        return Search(
            self.runner,
            whats,
            drops=kind == DROPPED,
            most=most,
            most_states=MOST_STATES_FURTHER if kind else MOST_STATES,
            max_events=most_events,
            back=back,
            met=self.met,
            histories=self.histories,
        )

    def _take(self, kind: str, episode: Episode) -> None:
        """Judges what was not judged before: not of the base kinds again, nor of so few events that all were. A size is finished first."""
        if self.failed_at is not None and episode.size > self.failed_at:
            raise _Stopped("an interleaving fails")
        if not self.in_time():
            raise _Stopped("the time was up")
        if not kind and self.others.compared < MOST_COMPARED:
            why = self.others.difference(episode.dropped, episode.events, episode.history)
            if why:
                raise _Stopped(why)
        self.drops = self.drops or self._asks(episode.history)
        if not kind and len(self.histories) < MOST_KEPT:
            self.histories[episode.dropped, episode.events] = episode.history
        new = not kind or bool(episode.dropped) or any(variant(event.what) == kind for event in episode.events)
        if new and episode.size > self.known:
            self.more, self.more_further = self.more + (not kind), self.more_further + bool(kind)
            if self.add(episode, judge(episode.history)) and self.failed_at is None:
                self.failed_at = episode.size


def prove(runner: Runner, add: Judged, *, known: int, in_time: Callable[[], bool], per_kind: int = PER_KIND) -> Proof:
    """Runs episodes of any number of base events until nothing is left to try, then with each further kind.

    Args:
        add: is told each judged episode with more than `known` events; True where it fails the check, which ends the search.
        known: all interleavings of up to so many events were judged before.
        in_time: whether there is time left.
        per_kind: the most episodes for each further kind; 0 leaves them out.
    """
    refused = _refused(runner)
    if refused:
        return Proof(mixed=known, why=refused)
    return _Prover(runner, add, known, in_time, per_kind).prove()


def _refused(runner: Runner) -> str:
    """Why nothing can be proved of this system, or nothing."""
    if runner.own_store:
        return "it keeps its own store, whose state is not known"
    if runner.own_order:
        return runner.own_order
    if runner.runtime_name == "asyncio-native":
        return "real time and real I/O decide in which order its calls are answered"
    for key, values in runner.scenario.values.items():
        if any(value in values[:i] for i, value in enumerate(values)):
            return f"the values of {key} are not all different"
    return ""


def _number(points: int, events: int, most: int) -> int:
    """How many sequences of up to `most` of so many events there are, each before one of so many points, in order of points."""
    return sum(comb(points + size - 1, size) * events**size for size in range(most + 1))
