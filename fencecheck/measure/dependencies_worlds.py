"""Worlds in which some keys have another value from the very beginning, each run once.

Where the kit is the store, or fills the system's own, the other value is simply the first one: nobody can tell that there was another. A
store that fills itself is updated before the run begins, and what is remembered is brought up to date, so that no plan is ever stale.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.history import Act, Ended, Fetch, Head, History, Memory, Read
from fencecheck.interleaving import Deliver, Event, Update
from fencecheck.measure.dependencies_sent import same
from fencecheck.model import Scenario
from fencecheck.run.simulate import Runner
from fencecheck.run.world import Prepared

AGAIN = 0
"""Instead of another value: another version, of the value that the key had."""
REMOVED = -1
"""Instead of another value: none."""

World = tuple[tuple[str, int], ...]
"""The keys that are not as in the scenario, in its order, each with the number of its value: 1 is the first of the others."""


class Choices(NamedTuple):
    """The values of a key.

    Args:
        values: that of the scenario first, then the others; all differ.
        given: how many of them the scenario gives. Of a key that has none there, all are made up alike, and so none is.
    """

    values: list[Any]
    given: int


class Outcome(Struct, frozen=True):
    """What one run came to.

    Args:
        acts: what went out, in order.
        looked: each key that was read or remembered, in order, with the value that was found at first; None: it was removed.
        touched: the keys that were asked about in any way.
        ended: how the episode ended.
    """

    acts: tuple[Act, ...]
    looked: dict[str, Any]
    touched: frozenset[str]
    ended: Ended


class RanOut(Exception):
    """There are more episodes to be run than allowed."""


def choices(scenario: Scenario, key: str, others: int) -> Choices:
    """The value that `key` has and up to `others` other ones.

    Made-up texts are tried only where the scenario gives no second value, since a system may rightly not understand them.
    """
    listed = scenario.values.get(key, ())
    values: list[Any] = []
    for value in listed or (scenario.value_of(key, 1),):
        if len(values) <= others and not any(same(value, known) for known in values):
            values.append(value)
    given = len(values) if listed else others + 1
    if type(values[0]) is bool and len(values) == 1:
        values.append(not values[0])
    elif len(values) == 1 or type(values[-1]) in (int, float):
        number = len(listed) + (0 if listed else 1)
        while len(values) <= others:
            number += 1
            value = scenario.value_of(key, number)
            if not any(same(value, known) for known in values):
                values.append(value)
    return Choices(values, given)


class Worlds:
    """The worlds of one system.

    Args:
        runner: runs it.
        values: how many other values of each key there are at most.
        removed: whether a key can also have none.
        most: how many episodes may be run.
    """

    def __init__(self, runner: Runner, values: int, removed: bool, most: int) -> None:
        self.runner, self.most = runner, most
        self.keys = runner.scenario.keys
        self.choices = {key: choices(runner.scenario, key, values) for key in self.keys}
        self.removed = removed
        self.ran = 0
        self.outcomes: dict[World, Outcome] = {}

    def others(self, key: str) -> list[int]:
        """The numbers of what `key` can have instead of its value."""
        return [*range(1, len(self.choices[key].values)), *([REMOVED] if self.removed else [])]

    def value(self, key: str, number: int) -> Any:
        """That value; None where it was removed."""
        return None if number == REMOVED else self.choices[key].values[number]

    def made_up(self, world: World) -> list[str]:
        """The keys whose value there is none of the scenario's."""
        return [key for key, number in world if number >= self.choices[key].given]

    def outcome(self, world: World) -> Outcome:
        """What comes of that world, run once, or not at all where it comes to what another one does.

        Raises:
            RanOut: it would be one episode too many.
        """
        found = self.outcomes.get(world)
        if found is None and not self.runner.own_store:
            found = self._like_another(world)
        if found is None:
            if self.ran >= self.most:
                raise RanOut
            self.ran += 1
            found = self.outcomes[world] = self.run(world)
        return found

    def _like_another(self, world: World) -> Outcome | None:
        """What came of a world with one key fewer that was not asked about there: the kit holds the values, so nobody can know of another."""
        for at, (key, _) in enumerate(world):
            fewer = self.outcomes.get(world[:at] + world[at + 1 :])
            if fewer is not None and key not in fewer.touched:
                self.outcomes[world] = fewer
                return fewer
        return None

    def run(self, world: World) -> Outcome:
        """What comes of that world, run anew.

        Raises:
            BadInput: the system's own store cannot be updated, or nothing removed from it.
            CouldNotRun: it can, but what is remembered cannot.
        """
        runner = self.runner
        if not world:
            return _outcome(runner.run())
        values, changes = dict(runner.scenario.values), dict[str, list[Update]]()
        for key, number in world:
            mine = self.choices[key].values
            if number > 0 and (not runner.own_store or key in runner.begun_empty):
                values[key] = (mine[number], *mine[:number], *mine[number + 1 :])
            else:
                values[key] = (mine[0], mine[number] if number > 0 else mine[1])
                changes[key] = _UPDATES[min(number, 1)](key)
        if changes and "update" in runner.missing:
            raise BadInput(
                f"{runner.name} cannot receive update ({runner.missing['update']}), so no other value can be there from the beginning"
            )
        before: list[Update | Deliver] = [update for updates in changes.values() for update in updates]
        before += [Deliver(key) for key in changes if "deliver" in runner.kinds]
        scenario = replace(runner.scenario, values=values)
        if runner.own_store:  # which may be asked past the ports, before the first point
            history = runner.run(prepared=Prepared(scenario, tuple(before)))
        else:
            history = runner.run((), tuple(Event(0, what) for what in before), prepared=Prepared(scenario))
        self._refuse_old_memory(history, changes)
        return _outcome(history)

    def _refuse_old_memory(self, history: History, changed: dict[str, list[Update]]) -> None:
        for entry in history.entries:
            if type(entry) is Memory and entry.key in changed and entry.version == history.versions[entry.key][0]:
                raise CouldNotRun(
                    f"{self.runner.name} remembers {entry.key} as it was before the update, so no other value can be there from the beginning: "
                    "define deliver(key, record)"
                )


_UPDATES = {
    1: lambda key: [Update(key)],
    AGAIN: lambda key: [Update(key), Update(key, "earlier")],
    REMOVED: lambda key: [Update(key, "removed")],
}


def _outcome(history: History) -> Outcome:
    looked: dict[str, Any] = {}
    touched: set[str] = set()
    for entry in history.entries:
        if type(entry) is Read or type(entry) is Memory or type(entry) is Head:
            touched.add(entry.key)
            if type(entry) is not Head and entry.version is not None:
                looked.setdefault(entry.key, history.records[entry.version].value)
        elif type(entry) is Fetch and entry.id in history.records:
            key = history.records[entry.id].key
            touched.update([] if key is None else [key])
    return Outcome(history.effects, looked, frozenset(touched), history.ended)
