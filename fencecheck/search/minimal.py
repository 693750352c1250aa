"""Whether each event of a failing interleaving is needed."""

from __future__ import annotations

from collections.abc import Callable

from fencecheck.interleaving import Event
from fencecheck.search.placing import Dropped

Fails = Callable[[Dropped, tuple[Event, ...]], bool]


def one_minimal(fails: Fails, dropped: Dropped, events: tuple[Event, ...]) -> tuple[Dropped, tuple[Event, ...]]:
    """Leaves out events and dropped declarations, one at a time, until it fails no more without any one of those that are left."""
    for i in range(len(events)):
        fewer = events[:i] + events[i + 1 :]
        if fails(dropped, fewer):
            return one_minimal(fails, dropped, fewer)
    for i in range(len(dropped)):
        less = dropped[:i] + dropped[i + 1 :]
        if fails(less, events):
            return one_minimal(fails, less, events)
    return dropped, events
