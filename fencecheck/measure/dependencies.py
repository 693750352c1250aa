"""Hidden dependencies: change one key at a time, plan again, and see whether what would go out is another.

A fence checks what is declared, so a dependency that nobody declared is one that no fence can see ("Fresh Memory, Stale Plans", Appendix C, has
what that costs). Here nobody's word is taken: each key in turn has another value from the very beginning, undeclared ones too, the system plans
and acts, and the acts are compared. Nothing changes during an episode, so no fence has a reason to act otherwise.

A key matters to an action if some other value of it makes another call of that action go out, in another place, or none; or if another
version of the same value does, since the action then names the version. Keys that matter only beside another value of other keys (`x` is
looked at only if `y` says so) are looked for in groups up to a size. So what is found is real, with two runs as evidence, each of which came
out the same when it was run again; what is not found was not found *in the values that were tried*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from msgspec import Struct

from fencecheck.errors import BadInput, CouldNotRun, Nondeterministic
from fencecheck.history import Act
from fencecheck.measure.dependencies_fresh import refuse_what_is_kept
from fencecheck.measure.dependencies_sent import differs, first_unlike, unlike, up_to_crashes
from fencecheck.measure.dependencies_worlds import AGAIN, REMOVED, Outcome, RanOut, World, Worlds
from fencecheck.model import Action, Scenario
from fencecheck.run.simulate import Runner, SystemLike
from fencecheck.search.preflight import preflight

VALUES = 3
"""Other values of each key that are tried."""
TOGETHER = 2
MOST_TOGETHER = 3
EPISODES = 20_000


class Ran(Struct, frozen=True):
    """What one run came to.

    Args:
        values: the keys that had another value, or another version, with the value; None where it was removed.
        removed: those of them that were removed.
        made_up: those of them whose value is none of the scenario's.
        looked: each key that was read or remembered, in order, with the value that was found; None where it was removed.
        sent: the arguments of each call of the action that went out, in order.
        went_out: every action that went out, in order.
        ended: how the episode ended, where that says more.
        agents: who sent each of `sent`.
    """

    values: dict[str, Any]
    looked: dict[str, Any]
    sent: tuple[Any, ...]
    ended: str = ""
    removed: tuple[str, ...] = ()
    made_up: tuple[str, ...] = ()
    went_out: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()


class Dependency(Struct, frozen=True):
    """Keys on which an action really depends, and two runs that show it: they differ in `keys[0]` alone.

    Args:
        keys: the key that matters; then those that had another value than the first in both runs, without which it does not.
        before, after: the two runs.
        declared: whether the action declares it, in both runs where that depends on the arguments.
        believed: whether the scenario says that the action depends on it, likewise.
        by_version: whether the two runs differ in its version alone, not in its value: what goes out names the version.
    """

    keys: tuple[str, ...]
    before: Ran
    after: Ran
    declared: bool
    believed: bool
    by_version: bool = False


class Unused(Struct, frozen=True):
    """A key that made no difference.

    Args:
        key: the key.
        tried: how many other values it had.
        touched: whether the system asked about it at all.
    """

    key: str
    tried: int
    touched: bool


class ActionDependencies(Struct, frozen=True):
    """What was found of one action.

    Args:
        action: its name.
        declared: D(a), what the application declares.
        believed: D*(a), what the scenario says that it depends on, and verdicts of `check` rest on.
        found: each key that matters, in order of the scenario, with evidence.
        idle: declared keys that made no difference in the values that were tried.
    """

    action: str
    declared: tuple[str, ...]
    believed: tuple[str, ...]
    found: tuple[Dependency, ...]
    idle: tuple[Unused, ...] = ()

    @property
    def undeclared(self) -> tuple[Dependency, ...]:
        """Real, and not declared: no fence can see them."""
        return tuple(one for one in self.found if not one.declared)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Real, and not in what the scenario says that the action depends on: no check can see them."""
        return tuple(one.keys[0] for one in self.found if not one.believed)

    @property
    def unused(self) -> tuple[str, ...]:
        """Declared, and of no consequence in the values that were tried."""
        return tuple(one.key for one in self.idle)


class Dependencies(Struct, frozen=True):
    """What was found of a system.

    Args:
        system: its name.
        actions: one for each action.
        keys: how many keys were changed.
        values: how many other values of each were tried at most.
        together: of how many keys at most other values were tried at once.
        episodes: how many were run, besides those that checked that it is deterministic.
        ran_out: whether there were more to be run than allowed.
        never: actions that went out in no run.
        untried: keys of which no other value could be tried, each with why: the system ends over each of the made-up ones.
        idle: keys that no action declares, which it asked about and which made no difference: perhaps in no value that was tried.
        outside: what it asks past its ports, as far as that is heard, which was not changed.
        chance: what of it may decide otherwise the next time.
    """

    system: str
    actions: tuple[ActionDependencies, ...]
    keys: int
    values: int
    together: int
    episodes: int
    ran_out: bool = False
    never: tuple[str, ...] = ()
    untried: dict[str, str] = {}
    idle: tuple[Unused, ...] = ()
    outside: str = ""
    chance: str = ""

    @property
    def exit_status(self) -> int:
        """1 where a real dependency is not declared, 3 where there may be more than was found or an action never went out, else 0."""
        if any(action.undeclared for action in self.actions):
            return 1
        return 3 if self.ran_out or self.never or self.untried or self.chance else 0


def dependencies(
    system: SystemLike,
    scenario: Scenario | None = None,
    *,
    values: int = VALUES,
    together: int = TOGETHER,
    episodes: int = EPISODES,
    removed: bool = False,
    fresh_process: bool = True,
) -> Dependencies:
    """Finds on which keys what `system` sends really depends.

    Args:
        system: an adapter class.
        scenario: the world, for a system that takes a generated one.
        values: other values of each key to be tried, of the scenario; made-up ones come besides.
        together: of how many keys other values are tried at once, 1 to 3.
        episodes: most episodes.
        removed: whether to try as well what comes of it when a key has been removed.
        fresh_process: whether a run in a process of its own must be alike too.

    Raises:
        BadInput, CouldNotRun: as `Runner` and `preflight`, or an argument cannot be, or another value cannot be there from the beginning.
        Nondeterministic: two runs alike do not send the same.
    """
    for name, number, most in (("values", values, 100), ("together", together, MOST_TOGETHER), ("episodes", episodes, None)):
        if type(number) is not int or number < 1 or (most is not None and number > most):
            raise BadInput(f"{name} must be a whole number from 1{'' if most is None else f' to {most}'}, not {number!r}")
    with Runner(system, scenario) as runner:
        preflight(runner, fresh_process=fresh_process)
        worlds = Worlds(runner, values, removed, episodes)
        for key in worlds.keys[:1] if removed and runner.own_store else ():
            worlds.run(((key, REMOVED),))  # which some stores cannot: said at once
        found = _Search(worlds, together).result()
        if fresh_process:
            refuse_what_is_kept(worlds, _quiet(found, worlds))
        return found


class _Search:
    def __init__(self, worlds: Worlds, together: int) -> None:
        self.worlds, self.together = worlds, together
        self.runner = worlds.runner
        self.actions = {action.name: action for action in self.runner.scenario.actions}
        self.found: dict[str, dict[str, Dependency]] = {name: {} for name in self.actions}
        self.tried: dict[str, set[int]] = {key: set() for key in worlds.keys}
        self.crashed: dict[str, str] = {}

    def result(self) -> Dependencies:
        """What was found up to the bounds."""
        ran_out = False
        self._refuse_other(())
        try:
            for beside in range(self.together):
                for key, base, other in self._pairs(beside):
                    self._compare(key, base, other)
        except RanOut:
            ran_out = True
        actions = tuple(self._of(action) for action in self.actions.values())
        return Dependencies(
            self.runner.name,
            actions,
            len(self.worlds.keys),
            max(len(choice.values) - 1 for choice in self.worlds.choices.values()),
            self.together,
            self.worlds.ran,
            ran_out,
            tuple(name for name in self.actions if not any(_acts(one, name) for one in self.worlds.outcomes.values())),
            self._untried(),
            self._idle(actions),
            self.runner.outside,
            "" if self.runner.chance_is_harmless else self.runner.chance,
        )

    def _pairs(self, beside: int) -> Iterator[tuple[str, World, World]]:
        """Two worlds that differ in one key alone, with so many others changed in both."""
        for key in self.worlds.keys:
            for others in combinations([other for other in self.worlds.keys if other != key], beside):
                for chosen in product(*(self.worlds.others(other) for other in others)):
                    base = dict(zip(others, chosen, strict=True))
                    for number in (*self.worlds.others(key), AGAIN):
                        if number == AGAIN and "update" in self.runner.missing:
                            continue
                        yield key, self._world(base), self._world({**base, key: number})

    def _world(self, changed: Mapping[str, int]) -> World:
        return tuple((key, changed[key]) for key in self.worlds.keys if key in changed)

    def _compare(self, key: str, base: World, other: World) -> None:
        """Adds what the two worlds say of the actions that are still open."""
        still = [action for action in self.actions.values() if self._open(action, key)]
        if not still:
            return
        before, after, number = self.worlds.outcome(base), self.worlds.outcome(other), dict(other)[key]
        crashed = self._crashes(base), self._crashes(other)
        if number != AGAIN and not crashed[1]:
            self.tried[key].add(number)
        acts = up_to_crashes(before.acts, after.acts, crashed)
        for action in still:
            if not differs(action.name, *acts):
                continue
            one = self._dependency(action, key, base, other, acts)
            if key not in self.found[action.name] or not one.declared:
                self._refuse_other(base)
                self._refuse_other(other)
                self.found[action.name][key] = one

    def _open(self, action: Action, key: str) -> bool:
        """Whether another pair may tell more: what depends on the arguments may be declared in one pair and not in the next."""
        one = self.found[action.name].get(key)
        return one is None or (one.declared and action.declares_by_arguments)

    def _crashes(self, world: World) -> bool:
        """Whether it ends over a value that we made up: that end says nothing, only what went out before it does."""
        outcome, made_up = self.worlds.outcome(world), self.worlds.made_up(world)
        if not made_up or outcome.ended.how not in ("crashed", "stuck"):
            return False
        for key in made_up:
            self.crashed.setdefault(key, outcome.ended.detail)
        return True

    def _refuse_other(self, world: World) -> None:
        """Runs it again, and once more where it comes to something else, to know why.

        Raises:
            CouldNotRun: an episode in between has left something behind.
            Nondeterministic: it comes to something else each time.
        """
        again = self.worlds.run(world)
        other = first_unlike(self.worlds.outcome(world).acts, again.acts)
        if not other:
            return
        if first_unlike(again.acts, self.worlds.run(world).acts):
            raise Nondeterministic(
                f"{self.runner.name} is not deterministic: of two runs alike, {other}: hold times, ids that are new each time and what a model "
                "decides fixed in the adapter"
            )
        raise CouldNotRun(
            f"{self.runner.name} leaks state from one episode into the next: of two runs alike, with others between them, {other}: build all "
            "state in setup(), none at class or module level"
        )

    def _untried(self) -> dict[str, str]:
        """The keys whose every other value is one that we made up and that the system crashes on, each with the crash."""
        return {key: why for key, why in self.crashed.items() if not self.tried[key]}

    # -- what is said ------------------------------------------------------------------------------------------------

    def _dependency(self, action: Action, key: str, base: World, other: World, acts: tuple[Sequence[Act], Sequence[Act]]) -> Dependency:
        one, two = ([act for act in of if act.action == action.name] for of in acts)
        told = [*_not_in(one, two), *_not_in(two, one)] or [*one, *two]
        return Dependency(
            (key, *(name for name, _ in base)),
            self._told(action.name, base),
            self._told(action.name, other),
            all(key in self._declared(action, act) for act in told),
            all(key in _believed(action, act) for act in told),
            dict(other)[key] == AGAIN,
        )

    def _declared(self, action: Action, act: Act) -> tuple[str, ...]:
        if not action.declares_by_arguments:
            return self.runner.scenario.declared(action)
        return act.declared if act.declared is not None else act.depends_on or ()

    def _told(self, action: str, world: World) -> Ran:
        outcome = self.worlds.outcome(world)
        sent, ended = tuple(act.args for act in _acts(outcome, action)), outcome.ended
        return Ran(
            {key: self.worlds.value(key, number) for key, number in world},
            outcome.looked,
            sent,
            "" if sent and ended.how == "returned" else f"{ended.how}: {ended.detail}" if ended.detail else ended.how,
            tuple(key for key, number in world if number == REMOVED),
            tuple(self.worlds.made_up(world)),
            tuple(act.action for act in outcome.acts),
            tuple(act.agent for act in _acts(outcome, action)),
        )

    def _of(self, action: Action) -> ActionDependencies:
        outcomes = self.worlds.outcomes.values()
        acts = [act for outcome in outcomes for act in _acts(outcome, action.name)]
        declared = dict.fromkeys(() if action.declares_by_arguments else self.runner.scenario.declared(action))
        believed = dict.fromkeys(() if action.by_arguments else action.depends_on)
        for act in acts if action.by_arguments else ():
            declared.update(dict.fromkeys(self._declared(action, act)))
            believed.update(dict.fromkeys(_believed(action, act)))
        found, untried = self.found[action.name], self._untried()
        idle = tuple(self._unused(key) for key in declared if key not in found and key not in untried)
        return ActionDependencies(
            action.name, tuple(declared), tuple(believed), tuple(found[key] for key in self.worlds.keys if key in found), idle
        )

    def _unused(self, key: str) -> Unused:
        touched = any(key in outcome.touched for outcome in self.worlds.outcomes.values())
        return Unused(key, len(self.tried.get(key, ())), touched)

    def _idle(self, actions: Sequence[ActionDependencies]) -> tuple[Unused, ...]:
        """What it asked about to no end that was seen, and nobody declares."""
        told = {key for action in actions for key in (*action.declared, *(one.keys[0] for one in action.found))} | self._untried().keys()
        return tuple(one for key in self.worlds.keys if key not in told and (one := self._unused(key)).touched)


def _quiet(found: Dependencies, worlds: Worlds) -> list[str]:
    """The keys that were asked about, and made no difference alone."""
    shown = {one.keys[0] for action in found.actions for one in action.found if len(one.keys) == 1}
    asked = (
        frozenset(worlds.keys) if worlds.runner.own_store else frozenset[str]().union(*(one.touched for one in worlds.outcomes.values()))
    )
    return [key for key in worlds.keys if key in asked and key not in shown]


def _believed(action: Action, act: Act) -> tuple[str, ...]:
    return action.depends_on if not action.by_arguments else act.depends_on or ()


def _acts(outcome: Outcome, action: str) -> list[Act]:
    return [act for act in outcome.acts if act.action == action]


def _not_in(acts: list[Act], others: list[Act]) -> list[Act]:
    """The acts whose arguments are not among those of the others."""
    mine = unlike([act.args for act in acts], [act.args for act in others])
    return [act for act in acts if any(act.args is args for args in mine)]
