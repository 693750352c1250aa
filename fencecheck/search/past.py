"""What a system does past its ports, as far as histories show it: an action depends on a key, and no port call ever asked for that key.

No event can land where nobody calls a port, and no owner can fail there. So a verdict on such a system would rest on what was never tried. A
history cannot show what was not a port call, but it shows what is missing: a mark before which no owner was asked, an effect that carries the
value of a version which nothing read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from fencecheck.history import Act, Derive, Entry, Fetch, Head, History, Memory, Read
from fencecheck.judge.effects import Window
from fencecheck.judge.evidence import Evidence
from fencecheck.judge.timeline import Timeline
from fencecheck.model import Action
from fencecheck.run.simulate import Runner
from fencecheck.search.placing import alone

Missing = Literal["any", "check", "read"]
"""What no port call does: ask for a key at all, ask for it between the planning and the mark, or read what goes out."""
MOST_POINTS = 40
"""Before so many points, from the first on, each event is tried alone, to see whether a port call is made after one."""
Gap = tuple[Missing, str, str]
"""What is missing, the action and the key."""


class Past(Struct, frozen=True):
    """What goes past the ports of a system, in each episode that was looked at.

    Args:
        gaps: what is missing, by action and key.
    """

    gaps: tuple[Gap, ...] = ()

    def keys(self, *missing: Missing) -> list[str]:
        """The keys of which one of these is missing."""
        return list(dict.fromkeys(key for what, _, key in self.gaps if what in missing))

    @property
    def why(self) -> str:
        """Why a verdict would rest on what was not tried, and what to do; or nothing."""
        for what, action, key in self.gaps:
            if what == "any":
                return (
                    f"no port call asked for {key}, on which {action} depends, so no event could land between what reads it and the act: "
                    "read and compare it by kit.read and kit.head, with via= or a client of kit.wrap()"
                )
            if what == "check":
                return (
                    f"{action} goes out on a validated() before which no port call asked an owner for {key}, so what compares versions there, "
                    "if anything does, was never met by an event or a fault: ask by kit.head, with via= or a client of kit.wrap()"
                )
        return ""

    @property
    def said(self) -> str:
        """The same in a clause, for what a report assumes; or nothing."""
        clauses = {
            "any": "no port call asks for {}",
            "check": "no port call asks an owner for {} before validated()",
            "read": "no port call reads {}, whose value goes out",
        }
        return "; ".join(
            clause.format(", ".join(keys))
            for missing, clause in clauses.items()
            if (keys := self.keys(missing))  # type: ignore[arg-type]
        )


def past_ports(runner: Runner, first: History) -> Past:
    """What goes past the ports of `runner`'s system.

    Where nothing is missing in the episode without events, as in most systems, no further episode is run.

    Args:
        first: the episode without events.
    """
    found = past_of([first])
    if not found.gaps:
        return found
    number = min(runner.horizon, MOST_POINTS)
    return past_of([first, *(runner.run((), events) for events in alone(runner.scenario, runner.kinds, number))])


def past_of(histories: Iterable[History]) -> Past:
    """What is missing in the first of these episodes, the one without events, and in no other of them there."""
    missing: dict[Gap, None] = {}
    there: set[Gap] = set()
    for number, history in enumerate(histories):
        line = Timeline(history)
        for at in line.acts:
            effect: Act = history.entries[at]  # type: ignore[assignment]
            action = history.scenario.action(effect.action)
            if not effect.effect or action is None:
                continue
            for gap, is_missing in _of_effect(history, line, at, effect, action):
                if not is_missing:
                    there.add(gap)
                elif number == 0:
                    missing[gap] = None
    return Past(tuple(gap for gap in missing if gap not in there))


def _of_effect(history: History, line: Timeline, at: int, effect: Act, action: Action) -> Iterator[tuple[Gap, bool]]:
    true_keys = effect.depends_on if effect.depends_on is not None else action.depends_on
    declared = effect.declared if effect.declared is not None else history.scenario.declared(action, history.dropped, effect.args)
    walked = line.lineage(effect.plan) if effect.plan is not None else ([], False)
    evidence = Evidence(history, effect, dict.fromkeys((*true_keys, *declared)), walked)
    window = Window(history, line, at, effect, declared, evidence)
    before = history.entries[:at]
    for key in declared:
        if key in (effect.expect or {}):
            yield from ((gap, False) for gap in (("any", action.name, key), ("check", action.name, key)))
            continue
        touched = any(_touches(history, entry, key) for entry in before)
        yield ("any", action.name, key), not touched and evidence.present(key)
        if touched and window.mark is not None:
            asked = any(
                isinstance(entry, Read | Head) and entry.key == key for entry in history.entries[max(window.start, 0) : window.mark]
            )
            yield ("check", action.name, key), not asked
        if touched and evidence.kinds[key][2]:
            yield ("read", action.name, key), not any(_reads(history, entry, key) for entry in before)


def _touches(history: History, entry: Entry, key: str) -> bool:
    return (type(entry) is Head and entry.key == key) or _reads(history, entry, key)


def _reads(history: History, entry: Entry, key: str) -> bool:
    """Whether somebody was handed a record of that key, or wrote one."""
    if isinstance(entry, Read | Memory):
        return entry.key == key
    if isinstance(entry, Fetch | Derive):
        record = history.records.get(entry.id)
        return record is not None and record.key == key
    action = history.scenario.action(entry.action) if type(entry) is Act else None
    return action is not None and entry.effect and key in action.writes  # type: ignore[union-attr]
