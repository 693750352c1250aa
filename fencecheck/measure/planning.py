"""Where a system has planned, and where it acts, in the episode without events: between the two lie the places at which a plan goes stale."""

from __future__ import annotations

from msgspec import Struct

from fencecheck.errors import CouldNotRun
from fencecheck.history import Act, Declared, Derive, Entry, Fetch, History, Memory, Read, points
from fencecheck.model import lineage_of


class Planning(Struct, frozen=True):
    """Numbers of points of an episode.

    Args:
        planned: the first one after planning.
        act: that of the first act that has an effect.
        points: how many there are.
        settled: whether no declaration is asked for before planning has ended, which so ends there whatever is dropped.
    """

    planned: int
    act: int
    points: int
    settled: bool = False


def planning_of(history: History) -> Planning:
    """Where planning ends: with the last derive of the lineage of what goes out first; where nothing is derived, with the read by which
    the system had seen each key that it reads before it acts, for the first time.

    Raises:
        CouldNotRun: nothing goes out.
    """
    indexed = list(points(history))
    numbered = [entry for _, entry in indexed]
    act = next((number for number, entry in enumerate(numbered) if type(entry) is Act and entry.effect), None)
    if act is None:
        raise CouldNotRun("nothing goes out in an episode without events")
    effect = numbered[act]
    assert type(effect) is Act
    lineage = frozenset(lineage_of(history.records, effect.plan))
    derived = [n for n, entry in enumerate(numbered[:act]) if type(entry) is Derive and (not lineage or entry.id in lineage)]
    last = derived[-1] if derived else _all_seen(history, numbered[:act])
    asked = next((i for i, entry in enumerate(history.entries) if type(entry) is Declared), len(history.entries))
    return Planning(last + 1, act, len(numbered), settled=last < 0 or asked > indexed[last][0])


def _all_seen(history: History, before: list[Entry]) -> int:
    """Number of the point by which each key that is looked at was looked at for the first time; -1 where none is."""
    first: dict[str, int] = {}
    for number, entry in enumerate(before):
        if isinstance(entry, Read | Memory):
            first.setdefault(entry.key, number)
        elif isinstance(entry, Fetch):
            record = history.records.get(entry.id)
            if record is not None and record.key is not None:
                first.setdefault(record.key, number)
    return max(first.values(), default=-1)
