"""Hidden dependencies: change one key at a time, plan again, and see whether what would go out is another.

A fence checks what is declared, so a dependency that nobody declared is one that no fence can see ("Fresh Memory, Stale Plans", Appendix C, has
what that costs). Here nobody's word is taken: each key in turn has another value from the very beginning, undeclared ones too, the system plans
and acts, and the acts are compared. Nothing changes during an episode, so no fence has a reason to act otherwise.

A key matters to an action if some other value of it makes another call of that action go out, or none. Keys that matter only beside another
value of other keys (`x` is looked at only if `y` says so) are looked for in groups up to a size. So what is found is real, with two runs as
evidence; what is not found was not found *in the values that were tried*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fencecheck.errors import BadInput, Nondeterministic
from fencecheck.history import Act, History, Memory, Read, first_difference
from fencecheck.interleaving import Deliver, Event, Update
from fencecheck.model import Scenario
from fencecheck.run.simulate import Runner, SystemLike
from fencecheck.run.world import Prepared
from fencecheck.search.preflight import difference, refuse_inaction

VALUES = 3
"""Other values of each key that are tried."""
TOGETHER = 2
MOST_TOGETHER = 3
EPISODES = 20_000

World = tuple[tuple[str, int], ...]
"""The keys that have another value, each with which: 1 is the second of the scenario's."""


class Ran(Struct, frozen=True):
    """What one run came to.

    Args:
        values: the keys that had another value, with that value.
        looked: each key that was read or remembered, in order, with the value that was found.
        sent: the arguments of each call of the action that went out, in order.
        ended: how the episode ended, where that says more.
    """

    values: dict[str, Any]
    looked: dict[str, Any]
    sent: tuple[Any, ...]
    ended: str = ""


class Dependency(Struct, frozen=True):
    """Keys on which an action really depends, and two runs that show it: they differ in the value of `keys[0]` alone.

    Args:
        keys: the key that matters; then those that had another value than the first in both runs, without which it does not.
        before, after: the two runs.
    """

    keys: tuple[str, ...]
    before: Ran
    after: Ran


class ActionDependencies(Struct, frozen=True):
    """What was found of one action.

    Args:
        action: its name.
        declared: D(a), what the application declares.
        believed: D*(a), what the scenario says that it depends on, and verdicts of `check` rest on.
        found: each key that matters, in order of the scenario, with evidence.
        undeclared: those that are not declared.
        unused: declared keys that made no difference.
    """

    action: str
    declared: tuple[str, ...]
    believed: tuple[str, ...]
    found: tuple[Dependency, ...]

    @property
    def undeclared(self) -> tuple[Dependency, ...]:
        """Real, and not declared: no fence can see them."""
        return tuple(one for one in self.found if one.keys[0] not in self.declared)

    @property
    def unused(self) -> tuple[str, ...]:
        """Declared, and of no consequence in the values that were tried."""
        found = {one.keys[0] for one in self.found}
        return tuple(key for key in self.declared if key not in found)


class Dependencies(Struct, frozen=True):
    """What was found of a system.

    Args:
        system: its name.
        actions: one for each action.
        keys: how many keys were changed.
        values: how many other values of each were tried.
        together: of how many keys at most other values were tried at once.
        episodes: how many were run.
        ran_out: whether there were more to be run than allowed.
        never: actions that went out in no run.
    """

    system: str
    actions: tuple[ActionDependencies, ...]
    keys: int
    values: int
    together: int
    episodes: int
    ran_out: bool = False
    never: tuple[str, ...] = ()

    @property
    def exit_status(self) -> int:
        """1 where a real dependency is not declared, 3 where the search was not through or an action never went out, else 0."""
        if any(action.undeclared for action in self.actions):
            return 1
        return 3 if self.ran_out or self.never else 0


def dependencies(
    system: SystemLike, scenario: Scenario | None = None, *, values: int = VALUES, together: int = TOGETHER, episodes: int = EPISODES
) -> Dependencies:
    """Finds on which keys what `system` sends really depends.

    Args:
        system: an adapter class.
        scenario: the world, for a system that takes a generated one.
        values: other values of each key to be tried, those of the scenario first.
        together: of how many keys other values are tried at once, 1 to 3.
        episodes: most episodes.

    Raises:
        BadInput, CouldNotRun: as `Runner`, or an argument cannot be, or the system never acts.
        Nondeterministic: two runs alike do not send the same.
    """
    for name, number, most in (("values", values, 100), ("together", together, MOST_TOGETHER), ("episodes", episodes, None)):
        if type(number) is not int or number < 1 or (most is not None and number > most):
            raise BadInput(f"{name} must be a whole number from 1{'' if most is None else f' to {most}'}, not {number!r}")
    with Runner(system, scenario) as runner:
        return _Search(runner, values, together, episodes).result()


class _RanOut(Exception):
    """There are more episodes to be run than allowed."""


class _Search:
    def __init__(self, runner: Runner, values: int, together: int, episodes: int) -> None:
        self.runner, self.values, self.together, self.most = runner, values, together, episodes
        self.keys = runner.scenario.keys
        self.known: dict[World, History] = {}
        self.ran = 0
        self._refuse_chance()

    def _refuse_chance(self) -> None:
        first = self.history(())
        refuse_inaction(self.runner, first)
        del self.known[()]
        again = self.history(())
        at = first_difference(first, again)
        if at is not None:
            raise Nondeterministic(f"{self.runner.name} is not deterministic: two runs alike differ: {difference(first, again, at)}")
        if _all_sent(first) != _all_sent(again):
            raise Nondeterministic(
                f"{self.runner.name} is not deterministic: two runs alike send other arguments, such as a time or an id that is new each time: "
                "hold them fixed in the adapter"
            )

    def history(self, world: World) -> History:
        """The episode in that world, run once."""
        found = self.known.get(world)
        if found is None:
            if self.ran >= self.most:
                raise _RanOut
            self.ran += 1
            found = self.known[world] = self._run(world)
        return found

    def _run(self, world: World) -> History:
        """One episode: a store of the system's own is filled by itself, so there the values are committed before the first point."""
        if not world:
            return self.runner.run()
        if not self.runner.own_store:
            return self.runner.run(prepared=Prepared(_with(self.runner.scenario, world)))
        changes: list[Update | Deliver] = [Update(key) for key, number in world for _ in range(number)]
        changes += [Deliver(key) for key, _ in world if "deliver" in self.runner.kinds]
        return self.runner.run((), tuple(Event(0, what) for what in changes))

    def result(self) -> Dependencies:
        """What was found up to the bounds."""
        found: dict[str, dict[str, Dependency]] = {action.name: {} for action in self.runner.scenario.actions}
        ran_out = False
        try:
            for beside in range(self.together):
                for key, base, other in self._pairs(beside):
                    if all(key in of for of in found.values()):
                        continue
                    for action, of in found.items():
                        if key not in of and self._sent(action, base) != self._sent(action, other):
                            of[key] = self._dependency(action, key, base, other)
        except _RanOut:
            ran_out = True
        actions = tuple(self._of(name, of) for name, of in found.items())
        never = tuple(name for name in found if not any(self._sent(name, world) for world in self.known))
        return Dependencies(self.runner.name, actions, len(self.keys), self.values, self.together, self.ran, ran_out, never)

    def _pairs(self, beside: int) -> Iterator[tuple[str, World, World]]:
        """Two worlds that differ in one key alone, with so many others changed in both."""
        for key in self.keys:
            for others in combinations([other for other in self.keys if other != key], beside):
                for chosen in product(range(1, self.values + 1), repeat=beside):
                    base = dict(zip(others, chosen, strict=True))
                    for value in range(1, self.values + 1):
                        yield key, self._world(base), self._world({**base, key: value})

    def _world(self, changed: Mapping[str, int]) -> World:
        return tuple((key, changed[key]) for key in self.keys if key in changed)

    def _sent(self, action: str, world: World) -> tuple[Any, ...]:
        return _sent_by(self.history(world), action)

    def _dependency(self, action: str, key: str, base: World, other: World) -> Dependency:
        return Dependency((key, *(name for name, _ in base)), self._told(action, base), self._told(action, other))

    def _told(self, action: str, world: World) -> Ran:
        history = self.history(world)
        looked: dict[str, Any] = {}
        for entry in history.entries:
            if isinstance(entry, Read | Memory) and entry.version is not None:
                looked.setdefault(entry.key, history.records[entry.version].value)
        sent = _sent_by(history, action)
        ended = history.ended
        how = "" if sent and ended.how == "returned" else f"{ended.how}: {ended.detail}" if ended.detail else ended.how
        values = {key: self.runner.scenario.value_of(key, number + 1) for key, number in world}
        return Ran(values, looked, sent, how)

    def _of(self, name: str, found: dict[str, Dependency]) -> ActionDependencies:
        declared: dict[str, None] = {}
        believed: dict[str, None] = {}
        scenario = self.runner.scenario
        action = scenario.action(name)
        assert action is not None
        if not action.by_arguments:
            believed.update(dict.fromkeys(action.depends_on))
        if not action.declares_by_arguments:
            declared.update(dict.fromkeys(scenario.declared(action)))
        for history in self.known.values():
            for act in _acts(history, name):
                believed.update(dict.fromkeys(act.depends_on or ()))
                declared.update(dict.fromkeys(act.declared if act.declared is not None else act.depends_on or ()))
        ordered = tuple(found[key] for key in self.keys if key in found)
        return ActionDependencies(name, tuple(declared), tuple(believed), ordered)


def _with(scenario: Scenario, world: World) -> Scenario:
    """The scenario in which these keys have another value from the beginning: that one first, then the others as they come."""
    values = dict(scenario.values)
    for key, number in world:
        known = [scenario.value_of(key, at) for at in range(1, max(number + 1, len(values.get(key, ()))) + 1)]
        values[key] = (known[number], *_unlike(known[number], known[:number] + known[number + 1 :]))
    return replace(scenario, values=values)


def _unlike(first: Any, others: list[Any]) -> Iterator[Any]:
    """The other values, but where one is that of the version before."""
    before = first
    for value in others:
        if not (type(value) is type(before) and value == before):
            yield value
            before = value


def _acts(history: History, action: str) -> Iterator[Act]:
    return (entry for entry in history.entries if type(entry) is Act and entry.effect and entry.action == action)


def _sent_by(history: History, action: str) -> tuple[Any, ...]:
    """What went out by one action."""
    return tuple(act.args for act in _acts(history, action))


def _all_sent(history: History) -> list[tuple[str, Any]]:
    return [(entry.action, entry.args) for entry in history.entries if type(entry) is Act]
