"""Does a system compare versions and values for equality only? It is run again with other ones, and has to do the same.

Where versions are renamed by first use, a system that compares their numbers by order, or that acts on what a value says, can tell places
apart that the search takes for one. Here the ids count downwards from a large number, and each value of a key in turn is the first one:
an update before anything was read is no other place to the search, so what a system makes of a value has to be seen where it comes first.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from fencecheck.history import History, Landed, shape
from fencecheck.interleaving import Event
from fencecheck.judge import judge
from fencecheck.model import Scenario
from fencecheck.run.simulate import Runner
from fencecheck.run.world import Prepared

_FIRST = 9_999
_MOST_VALUES = 12
"""Values of a key each of which comes first once."""
_EACH = 30
"""Episodes that are run with each of them; later ones with one each, in turn."""


class OtherNames:
    """Compares episodes of one system with the same ones under other version ids and values.

    Attributes:
        compared: how many episodes were.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        listed = max((len(values) for values in runner.scenario.values.values()), default=0)
        most = max(2, min(listed, _MOST_VALUES))
        self._others = [Prepared(_beginning_with(runner.scenario, first, most), _FIRST, -1) for first in range(1, most + 1)]
        self.compared = 0

    def difference(self, dropped: tuple[tuple[str, str], ...], events: tuple[Event, ...], history: History) -> str:
        """How the system does otherwise, or nothing."""
        number = self.compared
        self.compared += 1
        others = self._others if number < _EACH else [self._others[number % len(self._others)]]
        seen = _seen(history)
        if all(_seen(self._runner.run(dropped, events, prepared=other)) == seen for other in others):
            return ""
        return "with other version ids and values it does otherwise: it goes by more than whether they are equal"


def _beginning_with(scenario: Scenario, first: int, most: int) -> Scenario:
    """The scenario with that value first, and the others of each key after it in the opposite order."""
    numbers = (first, *(number for number in range(most + 3, 0, -1) if number != first))
    return replace(scenario, values={key: tuple(scenario.value_of(key, number) for number in numbers) for key in scenario.keys})


def _seen(history: History) -> tuple[Any, ...]:
    """What happened and what the judge found, with record ids renamed by first use."""
    names: dict[str, str] = {}
    records = history.records

    def renamed(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple([renamed(inside) for inside in part])
        if isinstance(part, str) and part in records:
            return names.setdefault(part, f"{records[part].key}#{len(names)}")
        return part

    entries = [renamed(part) for entry, part in zip(history.entries, shape(history), strict=True) if type(entry) is not Landed]
    findings = sorted({(finding.code, finding.key or "") for finding in judge(history).findings})
    return *entries, *findings
