"""Does a system compare versions and values for equality only? It is run again with other ones, and has to do the same.

Where versions are renamed by first use, a system that compares their numbers by order, or that acts on what a value says, can tell places
apart that the search takes for one. Here the ids count downwards from a large number, and the later values of each key come in another order.
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
_VALUES = 9


class OtherNames:
    """Compares episodes of one system with the same ones under other version ids and values.

    Attributes:
        compared: how many episodes were.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._prepared = Prepared(_with_other_values(runner.scenario), _FIRST, -1)
        self.compared = 0

    def difference(self, dropped: tuple[tuple[str, str], ...], events: tuple[Event, ...], history: History) -> str:
        """How the system does otherwise, or nothing."""
        other = self._runner.run(dropped, events, prepared=self._prepared)
        self.compared += 1
        if _seen(history) == _seen(other):
            return ""
        return "with other version ids and values it does otherwise: it compares them by more than equality"


def _with_other_values(scenario: Scenario) -> Scenario:
    numbers = (1, *range(_VALUES, 1, -1))
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
