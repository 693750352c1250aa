"""The calls of an episode that wait to be answered, and who is answered next.

An awaited port call parks its task in the line. When nothing else can go on, one of the waiting calls is answered: that instant is the
point. First come, first served, unless a `Switch` says otherwise; time stands still while a call waits, unless an `Advance` lets it pass.

Tasks are known by their **lane**: 0 is the task that calls `run`, and each task that is created later has the next number.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fencecheck.run.kit import Kit

IN_EVENT = -1
"""The point of a call that is none: what a hook calls is part of its event."""

Waiting = dict[int, tuple[Any, str, str]]


class Line:
    """The waiting calls of one episode.

    Attributes:
        waiting: lanes to what wakes the call (of the event loop's own kind), its port and what it is about; first come first.
        hanging: lanes to what the port waits for in which they hang for ever.
        choices: points to the lanes that waited there, where there were several; the first was the one whose turn it was.
        timers: the points at which a timer was set, so that time could have passed first.
    """

    __slots__ = ("_kit", "choices", "hanging", "timers", "waiting")

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self.waiting: Waiting = {}
        self.hanging: dict[int, str] = {}
        self.choices: dict[int, tuple[int, ...]] = {}
        self.timers: dict[int, None] = {}

    @property
    def in_event(self) -> bool:
        """Whether an event lands now, so that it is not yet anyone's turn."""
        return self._kit._in_event

    def next(self, armed: bool) -> tuple[Any, int] | None:
        """Takes the call that is answered now out of the line, and numbers the point. None: time passes first, as an `Advance` says.

        Args:
            armed: whether a timer is set.
        """
        kit, waiting = self._kit, self.waiting
        first = next(iter(waiting))
        if kit._in_event:
            return waiting.pop(first)[0], IN_EVENT
        point = next(kit._points)
        if len(waiting) > 1:
            self.choices[point] = tuple(waiting)
        elif point in self.choices:  # of an instant before time passed, or before a restart
            del self.choices[point]
        if armed:
            self.timers[point] = None
        elif point in self.timers:
            del self.timers[point]
        if point >= kit._next:
            chosen = kit._landing.turn(point, waiting, armed)
            if chosen is None:
                kit._points = itertools.count(point)
                return None
            first = chosen
        return waiting.pop(first)[0], point

    def function_of(self, lane: int) -> str:
        """The name of the function that the task `lane` runs."""
        raise NotImplementedError

    def forget_cancelled(self) -> None:
        """Takes out of the line the calls that were cancelled as they waited."""
        for lane in [lane for lane, call in self.waiting.items() if call[0].done()]:
            del self.waiting[lane]

    def forget(self, point: int) -> None:
        """Points from this one on come again, after a restart."""
        for noted in (self.choices, self.timers):
            for later in [at for at in noted if at >= point]:
                del noted[later]
