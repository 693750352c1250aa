"""What episodes come to, for the comparison of the reduced search with a plain one that leaves nothing out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from fencecheck.history import Declared, History, Landed, points, shape
from fencecheck.interleaving import DROPPED, KINDS, Event, What
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner
from fencecheck.search.closing import ONCE, Met, Search, variant
from fencecheck.search.exhaust import episodes
from fencecheck.search.placing import Dropped, every
from fencecheck.search.prove import TOLD_APART

Seen = tuple[Any, str, tuple[tuple[str, str], ...]]
"""The answers that the system was given, the outcome, and the codes of the findings with their keys."""
Shown = tuple[Dropped, tuple[Event, ...]]
PLACES = 6  # one more than any lineage here has at first
TASKS = 8  # more than any system here starts


def answers(history: History) -> tuple[Any, ...]:
    """The shape of the history without what landed, with record ids renamed by their first use."""
    names: dict[str, str] = {}

    def renamed(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(renamed(inside) for inside in part)
        if isinstance(part, str) and part in history.records:
            return names.setdefault(part, f"{history.records[part].key or 'derived'}#{len(names)}")
        return part

    entries = [part for entry, part in zip(history.entries, shape(history), strict=True) if type(entry) is not Landed]
    return tuple(renamed(part) for part in entries)


def seen_in(history: History) -> Seen:
    """What one episode comes to."""
    judgement = judge(history)
    return answers(history), judgement.outcome, tuple(sorted({(f.code, f.key or "") for f in judgement.findings}))


def reduced(runner: Runner, most: int, kinds: Iterable[str], *, full: bool = False, broken: Iterable[str] = ()) -> dict[Seen, Shown]:
    """What the search sees, each with the first interleaving that shows it."""
    found: dict[Seen, Shown] = {}
    for episode in episodes(runner, most, kinds=tuple(kinds), full=full, assume_broken=frozenset(broken)):
        if episode.new:
            found.setdefault(seen_in(episode.history), (episode.dropped, episode.events))
    return found


def plain(runner: Runner, most: int, kinds: Iterable[str], *, broken: Iterable[str] = ()) -> dict[Seen, Shown]:
    """The same by the definition: every event before every point of every episode in which all events so far fired."""
    kinds = tuple(kinds)
    declared = declarations(runner) if DROPPED in kinds else ()
    tasks = 0 if runner.runtime_name == "sync" else TASKS
    return plain_of(runner, most, every(runner.scenario, kinds, PLACES, frozenset(broken), tasks), declared)


def declarations(runner: Runner) -> Dropped:
    """All that can be dropped."""
    scenario = runner.scenario
    return tuple((action.name, key) for action in scenario.actions for key in scenario.declared(action))


def plain_of(runner: Runner, most: int, whats: Sequence[What], declared: Dropped = ()) -> dict[Seen, Shown]:
    """The same for these events, and dropped declarations."""
    found: dict[Seen, Shown] = {}
    for dropped, events, history in _plainly(runner, most, whats, declared):
        found.setdefault(seen_in(history), (dropped, events))
    return found


def closing(runner: Runner, most: int, whats: Sequence[What], *, back: int = 0, drops: bool = False) -> dict[Seen, Shown]:
    """What the search that closes sees of these events, up to so many of them, once it knows what the system does."""
    met = Met(places=PLACES)
    while True:
        found: dict[Seen, Shown] = {}
        search = Search(runner, whats, drops=drops, max_events=most, back=back, met=met)
        for episode in search.run():
            found.setdefault(seen_in(episode.history), (episode.dropped, episode.events))
        if search.met._replace(places=PLACES) == met:
            return found
        met = search.met._replace(places=PLACES)


def _plainly(
    runner: Runner, most: int, everything: Sequence[What], declared: Dropped
) -> Iterator[tuple[Dropped, tuple[Event, ...], History]]:
    todo: list[Shown] = [(dropped, ()) for n in range(min(most, len(declared)) + 1) for dropped in combinations(declared, n)]
    for dropped, events in todo:  # grows while it is walked
        history = runner.run(dropped, events)
        if len(history.fired) < len(events):
            continue
        if _asked_for(history, dropped):
            yield dropped, events, history
        if len(dropped) + len(events) == most:
            continue
        first = events[-1].at if events else 0
        number = sum(1 for _ in points(history))
        todo += [(dropped, (*events, Event(at, what))) for at in range(first, number) for what in everything]


def _asked_for(history: History, dropped: Dropped) -> bool:
    """Whether the system asked for each of these declarations; else the same episode is there without dropping it."""
    asked = {entry.action for entry in history.entries if type(entry) is Declared}
    return all(action in asked for action, _ in dropped)


def lost_by_closing(runner: Runner, most: int, variants: Iterable[str], *, back: int | None = None) -> str:
    """The smallest interleaving that the search that closes, or the plain one, sees alone, or nothing."""
    variants = set(variants)
    tasks = 0 if runner.runtime_name == "sync" else TASKS
    whats = [what for what in every(runner.scenario, KINDS, PLACES, frozenset({"honest-owners"}), tasks) if variant(what) in variants]
    back = max((TOLD_APART.get(name, 0) for name in variants), default=0) if back is None else back
    drops = DROPPED in variants
    less = closing(runner, most, whats, back=back, drops=drops)
    more = plain_of(runner, most, whats, declarations(runner) if drops else ())
    for one, other, name in ((more, less, "plain"), (less, more, "closing")):
        for what, shown in one.items():
            if what not in other and not _repeats(shown[1]):
                return f"only the {name} search sees {shown}: {what[1:]}"
    return ""


def _repeats(events: tuple[Event, ...]) -> bool:
    """Whether a replan or a restart comes twice, which the search that closes leaves out."""
    return any(sum(isinstance(event.what, kind) for event in events) > 1 for kind in ONCE)


def difference(runner: Runner, most: int, kinds: Iterable[str], *, broken: Iterable[str] = ()) -> str:
    """The smallest interleaving that one of the two searches sees alone, or nothing."""
    kinds = tuple(kinds)
    less, more = reduced(runner, most, kinds, broken=broken), plain(runner, most, kinds, broken=broken)
    for one, other, name in ((more, less, "plain"), (less, more, "reduced")):
        for what, shown in one.items():
            if what not in other:
                return f"only the {name} search sees {shown}: {what[1:]}"
    return ""
