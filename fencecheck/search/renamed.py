"""Does a system compare versions and values for equality only? It is run again with other ones, and has to do the same.

Where versions are renamed by first use, a system that compares their numbers by order, or that acts on what a value says, can tell places
apart that the search takes for one. Here each later id is an earlier text, and a smaller number or a longer one, and the later values of each key
come in other orders. Each value of the scenario is that of the second version in one of them, and that of the first in another: an update before
anything was read is no other place to the search, so what a system makes of a value has to be seen where it comes first.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

from msgspec.structs import replace

from fencecheck.history import History, Landed, shape
from fencecheck.interleaving import Event
from fencecheck.judge import judge
from fencecheck.model import Scenario
from fencecheck.run.simulate import Runner
from fencecheck.run.world import DANGLING, Prepared

_LONGEST, _LARGEST = 200, 9_999
_VALUES = 9
_EACH = 1
"""Up to so many events, an episode is compared under each order of the values; else under one, in turns."""


class _Growing(Prepared):
    """A world whose version ids fall as texts, and grow."""

    __slots__ = ()

    def version_id(self, key: str, number: int) -> str:
        return f"{key}@{_LARGEST - number}{'0' * number}"


class _Falling(Prepared):
    """A world whose version ids fall by number, by text and by length."""

    __slots__ = ()

    def version_id(self, key: str, number: int) -> str:
        return f"{key}@{10 ** max(_LONGEST - number, _VALUES) - number}"


class OtherNames:
    """Compares episodes of one system with the same ones under other version ids and values.

    Attributes:
        compared: how many episodes were.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        given = max((len(values) for values in runner.scenario.values.values()), default=0)
        last = max(_VALUES, given)
        orders = [_second(second, last) for second in (last, last - 1, *range(3, min(given, last - 2) + 1))]
        orders += [_first(first, last) for first in range(2, given + 1)]
        ids = cycle((_Falling, _Growing))
        self._worlds = [one(_with_values(runner.scenario, order)) for one, order in zip(ids, orders, strict=False)]
        self.compared = 0

    def difference(self, dropped: tuple[tuple[str, str], ...], events: tuple[Event, ...], history: History) -> str:
        """How the system does otherwise, or nothing."""
        worlds = self._worlds if len(events) <= _EACH else [self._worlds[self.compared % len(self._worlds)]]
        self.compared += 1
        seen = _seen(history)
        if all(_seen(self._runner.run(dropped, events, prepared=world)) == seen for world in worlds):
            return ""
        return "with other version ids and values it does otherwise: it goes by more than whether they are equal"


def _second(number: int, last: int) -> tuple[int, ...]:
    """The values after the first one backwards, from that number on, and then those from the last one on."""
    return (1, *range(number, 1, -1), *range(last, number, -1))


def _first(number: int, last: int) -> tuple[int, ...]:
    """The value of that number, and then the others backwards."""
    return (number, *(other for other in range(last, 0, -1) if other != number))


def _with_values(scenario: Scenario, order: tuple[int, ...]) -> Scenario:
    return replace(scenario, values={key: tuple(scenario.value_of(key, number) for number in order) for key in scenario.keys})


def _seen(history: History) -> tuple[Any, ...]:
    """What happened and what the judge found, with record ids renamed by first use."""
    names: dict[str, str] = {}
    records = history.records

    def renamed(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple([renamed(inside) for inside in part])
        if isinstance(part, str):
            id = part.removesuffix(DANGLING)
            if id in records:
                return names.setdefault(id, f"{records[id].key}#{len(names)}") + part[len(id) :]
        return part

    entries = [renamed(part) for entry, part in zip(history.entries, shape(history), strict=True) if type(entry) is not Landed]
    findings = sorted({(finding.code, finding.key or "") for finding in judge(history).findings})
    return *entries, *findings
