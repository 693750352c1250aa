"""Worlds in which some keys have another value from the very beginning, each run once.

Where the kit is the store, or fills the system's own, the other value is simply the first one: nobody can tell that there was another. A
store that fills itself is updated before the run begins, and what is remembered is brought up to date, so that no plan is ever stale.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.history import Act, Ended, Fetch, Head, History, Memory, Read
from fencecheck.interleaving import Deliver, Event, Update
from fencecheck.measure.dependencies_values import choices
from fencecheck.run.simulate import Runner
from fencecheck.run.world import Prepared

AGAIN = 0
"""Instead of another value: another version, of the value that the key had."""
REMOVED = -1
"""Instead of another value: none."""

World = tuple[tuple[str, int], ...]
"""The keys that are not as in the scenario, in its order, each with the number of its value: 1 is the first of the others."""


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


class _NotRemembered(CouldNotRun):
    """What is remembered cannot be brought up to date, whatever the value is."""


class Worlds:
    """The worlds of one system.

    Args:
        runner: runs it.
        values: how many other values of each key there are at most, besides made-up ones.
        removed: whether a key can also have none.
        most: how many episodes may be run.
        begun_empty: as of the runner, where it has run no episode yet.
    """

    def __init__(self, runner: Runner, values: int, removed: bool, most: int, begun_empty: frozenset[str] | None = None) -> None:
        self.runner, self.values, self.most = runner, values, most
        self.keys = runner.scenario.keys
        writes = set() if runner.own_store else {key for action in runner.scenario.actions for key in action.writes}
        self.choices = {key: choices(runner.scenario, key, values, writes=key in writes) for key in self.keys}
        self.written = {key: choice for key, choice in self.choices.items() if choice.written}
        self.removed, self._begun_empty = removed, begun_empty
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

    def sends(self, world: World) -> bool:
        """Whether anything goes out there, and it ends well."""
        try:
            history = self.history(world)
        except CouldNotRun:
            return False
        return bool(history.effects) and history.ended.how == "returned"

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
        try:
            history = self.history(world)
        except CouldNotRun as error:
            if isinstance(error, _NotRemembered) or not self.made_up(world):
                raise
            return Outcome((), {}, frozenset(), Ended("crashed", str(error)))  # a store that refuses what nobody would store
        return _outcome(history)

    def history(self, world: World) -> History:
        """What happens in that world.

        Raises:
            BadInput, CouldNotRun: as `run`, or the system's own store refuses a value.
        """
        runner = self.runner
        if not world and not self.written:
            return runner.run()
        begun_empty = runner.begun_empty if self._begun_empty is None else self._begun_empty
        values, changes = dict(runner.scenario.values), dict[str, list[Update]]()
        values.update({key: self._versions(key, 1, [choice.values[0]]) for key, choice in self.written.items()})
        for key, number in world:
            mine = self.choices[key].values
            if number > 0 and (not runner.own_store or key in begun_empty):
                values[key] = self._versions(key, number, [mine[number], *mine[:number], *mine[number + 1 :]])
            else:
                values[key] = self._versions(key, number, [mine[0], mine[number] if number > 0 else mine[1]])
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
        return history

    def _versions(self, key: str, number: int, values: list[Any]) -> tuple[Any, ...]:
        """The values of a key's versions, those that acts write after those that are there before the run."""
        if key not in self.written:
            return tuple(values)
        there = {AGAIN: [*values, values[0]], REMOVED: values}.get(number, values[:1])
        return (*there, *self.written[key].written)

    def _refuse_old_memory(self, history: History, changed: dict[str, list[Update]]) -> None:
        for entry in history.entries:
            if type(entry) is Memory and entry.key in changed and entry.version == history.versions[entry.key][0]:
                raise _NotRemembered(
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
