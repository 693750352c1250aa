"""What is drawn for an episode, stated in full: a value that is printed with every result.

Draws take nothing but `random.Random.random()`, whose sequence for a seed Python promises to keep, from a stream that belongs to one
episode. So an episode follows from (seed, cell, number) alone: whoever runs it, beside how many workers, first or once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Literal, get_args

from msgspec import Struct

from fencecheck.errors import BadInput, alike
from fencecheck.interleaving import Event, Update
from fencecheck.measure.planning import Planning
from fencecheck.model import Scenario

Where = Literal["after-planning", "before-the-act", "anywhere"]
WHERES: tuple[Where, ...] = get_args(Where)
_WHERE_SAID: dict[Where, str] = {
    "after-planning": "right after planning",
    "before-the-act": "before any point from planning to the act, each alike",
    "anywhere": "before any point of the episode without events, each alike",
}

Dropped = tuple[tuple[str, str], ...]


class Distribution(Struct, frozen=True, forbid_unknown_fields=True):
    """How the episodes of a campaign are drawn, each independently of all others.

    Args:
        changing: the keys that can change, each alike.
        changes: how many of them change in an episode, each once, to a fresh value; none twice.
        where: where each change lands, drawn for each by itself: `after-planning`, before the first point at which the system goes on from
            the plan of its first act; `before-the-act`, before any point from there to that act; `anywhere`.
        drop: the probability with which each optional declaration is left out, independently of the others.
        optional: the declarations that can be left out, as pairs of action and key.

    Raises:
        BadInput: a number is out of its range.
    """

    changing: tuple[str, ...] = ()
    changes: int = 1
    where: Where = "after-planning"
    drop: float = 0.0
    optional: Dropped = ()

    def __post_init__(self) -> None:
        if type(self.changes) is not int or not 0 <= self.changes <= len(self.changing):
            raise BadInput(
                f"from 0 to {len(self.changing)} keys can change in an episode, not {self.changes!r}: as many as can change at all"
            )
        if self.where not in WHERES:
            like = alike(self.where, WHERES)
            right = f"did you mean {like!r}?" if like is not None else f"use {', '.join(WHERES)}"
            raise BadInput(f"a change cannot land {self.where!r}: {right}")
        if not isinstance(self.drop, int | float) or not 0 <= self.drop <= 1:
            raise BadInput(f"the probability that a declaration is dropped is from 0 to 1, not {self.drop!r}")

    def draw(self, stream: Random, planning: Callable[[Dropped, bool], Planning]) -> tuple[Dropped, tuple[Event, ...]]:
        """One episode: the declarations that it drops, and what lands where.

        Args:
            stream: that of the episode.
            planning: from the declarations that are dropped, and whether the act is asked for too, to where the system plans and acts without events.
        """
        drop = self.drop
        dropped = tuple(pair for pair in self.optional if stream.random() < drop)
        if not self.changes:
            return dropped, ()
        there = planning(dropped, self.where != "after-planning")
        left = list(self.changing)
        events = []
        for _ in range(self.changes):
            key = left.pop(int(stream.random() * len(left)))
            events.append(Event(self._place(stream, there), Update(key)))
        events.sort(key=_at)
        return dropped, tuple(events)

    def _place(self, stream: Random, there: Planning) -> int:
        if self.where == "after-planning":
            return there.planned
        first, last = (there.planned, there.act) if self.where == "before-the-act" else (0, there.points - 1)
        return first + int(stream.random() * (last - first + 1))

    def said(self, drop: str = "", changing: str = "") -> str:
        """The distribution in one sentence without an end, for people.

        Args:
            drop: what stands for the probability, where it is another one in each cell.
            changing: the keys that can change, where they are other ones in each cell.
        """
        parts = []
        if self.changes:
            keys = changing or ", ".join(self.changing)
            of = f"{self.changes} of {keys}" if len(self.changing) > self.changes else keys
            verb = "changes" if self.changes == 1 else "change"
            parts.append(f"{of} {verb} once, {_WHERE_SAID[self.where]}")
        else:
            parts.append("no key changes")
        if self.optional:
            keys = ", ".join(dict.fromkeys(key for _, key in self.optional))
            parts.append(f"each of the declarations of {keys} is dropped with probability {drop or format(self.drop, 'g')}")
        return "; ".join(parts)


def stream(seed: int, cell: str, number: int) -> Random:
    """The stream of one episode."""
    return Random(f"{seed} {cell} {number}")  # a text is seeded through SHA-512, not through hash()


def _at(event: Event) -> int:
    return event.at


def named(keys: Sequence[str], scenario: Scenario, option: str) -> tuple[str, ...]:
    """Keys that a person named.

    Raises:
        BadInput: nobody owns one of them, or they are no list.
    """
    if isinstance(keys, str):
        raise BadInput(f"{option}: give the keys in a list, such as [{keys!r}]")
    for key in keys:
        if key not in scenario.keys:
            like = alike(key, scenario.keys)
            right = f"did you mean {like}?" if like is not None else f"keys are {', '.join(scenario.keys)}"
            raise BadInput(f"{option}: no owner holds the key {key!r}: {right}")
    return tuple(dict.fromkeys(keys))
