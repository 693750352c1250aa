"""The campaigns of "Fresh Memory, Stale Plans" (Chen, Wang, Brinton; arXiv, 2026-09-03), on the built-in systems and on a team's own.

Each function makes a plan of cells, has it run and tells what it came to. Systems are given by name, as to `fencecheck check`, or as classes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from itertools import chain
from math import comb
from pathlib import Path
from typing import Any

from msgspec import Struct

from fencecheck.errors import BadInput
from fencecheck.judge import LEVELS, Level
from fencecheck.measure.campaign import run
from fencecheck.measure.cells import Cell, Place, Plan
from fencecheck.measure.distribution import Distribution, Dropped, Where, named
from fencecheck.measure.result import Result, result_of
from fencecheck.measure.statistics import CONFIDENCE, refuse_confidence
from fencecheck.measure.store import Store
from fencecheck.model import Scenario
from fencecheck.run.adapter import name_of
from fencecheck.run.loading import load, reference
from fencecheck.run.simulate import Runner, SystemLike
from fencecheck.run.sources import digest_of

GRID = tuple(number / 10 for number in range(11))
TRUE = 4
"""True dependencies of the published scenario of forgotten declarations."""
FAMILIES = ("booking", "delivery", "deployment")
DEPTHS = (1, 2, 4, 8)
SHARED = 8
"""Keys that the acts of the paper's Table 1 share."""


class Options(Struct, frozen=True, kw_only=True):
    """How a campaign is carried out, whatever it measures.

    Args:
        episodes: for each cell.
        seed: where all streams begin.
        level: the promise by which an act is unsafe.
        confidence: of each interval.
        workers: processes.
        executor: who carries the work out instead of them.
        store: the file that keeps the episodes, so that a campaign which is ended goes on; None keeps them until the end.
        tries: how often what the harness failed at is tried in all.
        told: called with (episodes stored so far, episodes in all), at first and after each piece of work.
    """

    episodes: int = 1_000
    seed: int = 0
    level: Level = "at-validation"
    confidence: float = CONFIDENCE
    workers: int = 1
    executor: Executor | None = None
    store: Path | None = None
    tries: int = 3
    told: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        for field, least in (("episodes", 1), ("workers", 1), ("tries", 1)):
            number = getattr(self, field)
            if type(number) is not int or number < least:
                raise BadInput(f"{field} must be a whole number from {least} on, not {number!r}")
        if type(self.seed) is not int:
            raise BadInput(f"seed must be a whole number, not {self.seed!r}")
        if self.level not in LEVELS:
            raise BadInput(f"there is no level {self.level!r}: use {', '.join(LEVELS)}")
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise BadInput(f"executor must be a concurrent.futures.Executor, or None, not {self.executor!r}")
        refuse_confidence(self.confidence)


def omission(
    system: SystemLike | str,
    *,
    grid: Sequence[float] = GRID,
    true: int | None = None,
    always: int | Sequence[str] | None = None,
    keys: int | None = None,
    changing: Sequence[str] = (),
    changes: int = 1,
    where: Where = "after-planning",
    depth: int | None = None,
    options: Options = Options(),  # noqa: B008 (a value)
) -> Result:
    """How often unsafe acts go out when each optional declaration is forgotten with probability p (the paper's Appendix C).

    The default is the published scenario: four true dependencies, one always declared, one of the four changed in each episode right after
    planning. Read so, p = 0.5 gives 3p/4 = 37.5%, beside the published 37.4%.

    Args:
        system: a name as for `fencecheck check`, or an adapter class.
        grid: the probabilities p.
        true: how many keys the act depends on, of a generated world (4).
        always: how many of them are always declared, the first ones; or which (1; none in a system's own scenario).
        keys: keys of the generated world (as many as it depends on).
        changing: the keys that can change (those on which any action depends).
        changes: how many of them change in an episode.
        where: where the changes land.
        depth: generations between plan and facts, of a generated world (2).
        options: how many episodes, and how they are carried out.

    Raises:
        BadInput, CouldNotRun: as `Runner`, or an argument cannot be.
    """
    taken = _Taken([system], options)
    place = _omitting(true, keys, depth)
    own, scenario, name, loads = taken.scenario(system, place)
    for what, given in (("how many keys its act depends on", true), ("how many keys there are", keys), ("its depth", depth)):
        if given is not None:
            _refuse_own(own, name, what)
    optional = _optional(scenario, (0 if own else 1) if always is None else always)
    changed = named(changing, scenario, "changing") if changing else _true(scenario)
    _refuse_grid(grid, "p", 0, 1)
    cells, forms = [], []
    for p in grid:
        drawn = Distribution(changed, changes, where, float(p), optional)
        cells.append(
            Cell(f"{name} p={repr(float(p)).removesuffix('.0')}", {"system": name, "p": float(p)}, loads, drawn, None if own else place)
        )
        forms.append(closed_form(p, changed, changes, optional) if where == "after-planning" and _has_form(scenario) else None)
    about = [] if forms[0] is None else [f"closed form {_form_said(changed, changes, optional)}: {_FORM_IS_OF}"]
    return taken.measured("omission", cells, about, "p", forms)


def _omitting(true: int | None, keys: int | None, depth: int | None) -> Place:
    """The generated world of the published scenario, or one of another size."""
    from fencecheck.worlds import MAX_KEYS

    for what, given in (("true", true), ("keys", keys)):
        if given is not None and (type(given) is not int or not 1 <= given <= MAX_KEYS):
            raise BadInput(f"{what} must be a whole number from 1 to {MAX_KEYS}, not {given!r}")
    declared = TRUE if true is None else true
    of = declared if keys is None else keys
    if declared > of:
        raise BadInput(f"the act cannot depend on {declared} of {of} keys: true is at most as large as keys")
    return Place(keys=of, declared=declared, depth=2 if depth is None else depth, owners=min(2, of))


def closed_form(p: float, changing: Sequence[str], changes: int, optional: Dropped) -> float:
    """The rate of unsafe acts of a fence that keeps halt or current for what is declared, and replans from the changed keys only.

    An act is unsafe if one of the changed keys is one whose declaration was dropped. Of `changes` keys drawn without replacement, h are
    optional with hypergeometric probability, and none of these is dropped with probability (1 - p)^h.
    """
    droppable = len({key for _, key in optional} & set(changing))
    others = len(changing) - droppable
    safe = sum(comb(droppable, h) * comb(others, changes - h) * (1 - p) ** h for h in range(changes + 1)) / comb(len(changing), changes)
    return 1 - safe


def _has_form(scenario: Scenario) -> bool:
    """Whether there is one action that goes out on keys which are known, each of them declared."""
    (action, *others) = scenario.actions
    return not others and not action.by_arguments and set(action.depends_on) <= set(scenario.declared(action))


_FORM_IS_OF = "of a system that keeps halt or current for what is still declared, and reads nothing else anew after planning"


def _form_said(changing: Sequence[str], changes: int, optional: Dropped) -> str:
    droppable, of = len({key for _, key in optional} & set(changing)), len(changing)
    if changes == 1:
        return "p" if droppable == of else f"{droppable}p/{of}"
    return f"1 - E[(1 - p)^h], h of {changes} changed keys being among the {droppable} optional of {of}"


def compare(
    systems: Sequence[SystemLike | str],
    *,
    families: Sequence[str] | None = None,
    changing: Sequence[str] = (),
    where: Where = "after-planning",
    options: Options = Options(episodes=30),  # noqa: B008 (a value)
) -> Result:
    """What becomes of an act when one requirement changes between planning and act, system by system (the paper's Table 2).

    Args:
        systems: names as for `fencecheck check`, or adapter classes.
        families: those of the generated worlds (`FAMILIES`), each with as many episodes; each episode has values of its own.
        changing: the keys that can change (the first one that the act depends on, which is the requirement of a generated world).
        where: where the change lands.
        options: how many episodes, and how they are carried out.

    Raises:
        BadInput, CouldNotRun: as `Runner`, or an argument cannot be.
    """
    taken = _Taken(systems, options)
    if families is not None and not families:
        raise BadInput(f"name at least one family: {', '.join(FAMILIES)}")
    _refuse_twice(families or ())
    places = [Place(family=family) for family in families or FAMILIES]
    for place in places:
        place.world()  # refuses a family that there is not
    cells = []
    for system in systems:
        own, scenario, name, loads = taken.scenario(system, places[0])
        if changing and not own and len(places) > 1:
            raise BadInput("changing names keys of one family: name that family alone too")
        if own:
            cells.append(Cell(name, {"system": name}, loads, Distribution(_changed(changing, scenario), 1, where)))
            continue
        for place in places:
            drawn = Distribution(_changed(changing, place.world()), 1, where)
            cells.append(Cell(f"{name} {place.family}", {"system": name}, loads, drawn, place, "each", share=len(places)))
    if families is not None and all(cell.place is None for cell in cells):
        raise BadInput("families are of generated worlds, and each system here brings its own scenario: leave them out")
    return taken.measured("compare", cells, [], "")


def depth(
    systems: Sequence[SystemLike | str],
    *,
    depths: Sequence[int] = DEPTHS,
    where: Where = "after-planning",
    options: Options = Options(),  # noqa: B008 (a value)
) -> Result:
    """How often acts are unsafe by the number of generations between a plan and the facts that it rests on.

    Args:
        systems: names as for `fencecheck check`, or adapter classes.
        depths: generations, each a cell for each system; one of the keys that the act depends on changes.
        where: where the change lands.
        options: how many episodes, and how they are carried out.

    Raises:
        BadInput, CouldNotRun: as `Runner`, or an argument cannot be.
    """
    taken = _Taken(systems, options)
    _refuse_grid(depths, "a depth", 1, 64)
    cells = []
    for system in systems:
        for generations in depths:
            place = Place(depth=generations)
            own, scenario, name, loads = taken.scenario(system, place)
            _refuse_own(own, name, "its depth")
            labels = {"system": name, "depth": generations}
            cells.append(Cell(f"{name} depth={generations}", labels, loads, Distribution(_true(scenario), 1, where), place))
    return taken.measured("depth", cells, [], "depth")


def width(
    systems: Sequence[SystemLike | str],
    *,
    keys: int = SHARED,
    widths: Sequence[int] = (),
    where: Where = "after-planning",
    options: Options = Options(),  # noqa: B008 (a value)
) -> Result:
    """What becomes of acts, and how often owners are asked, by how many of the shared keys an act depends on (the paper's Table 1 has 1 of 8).

    Args:
        systems: names as for `fencecheck check`, or adapter classes.
        keys: keys of the world, one of which changes, each alike.
        widths: how many of them the act depends on, each a cell for each system (1 to `keys`).
        where: where the change lands.
        options: how many episodes, and how they are carried out.

    Raises:
        BadInput, CouldNotRun: as `Runner`, or an argument cannot be.
    """
    taken = _Taken(systems, options)
    widths = widths or range(1, keys + 1)
    _refuse_grid(widths, "a width", 1, keys)
    cells = []
    for system in systems:
        for declared in widths:
            place = Place(keys=keys, declared=declared, owners=min(2, keys))
            own, scenario, name, loads = taken.scenario(system, place)
            _refuse_own(own, name, "how many keys its act depends on")
            labels = {"system": name, "width": declared}
            cells.append(Cell(f"{name} width={declared}", labels, loads, Distribution(scenario.keys, 1, where), place))
    return taken.measured("width", cells, [], "width")


class _Taken:
    """The systems that were given, loaded, and how they are carried out."""

    def __init__(self, systems: Sequence[SystemLike | str], options: Options) -> None:
        if not systems or isinstance(systems, str):
            raise BadInput("name at least one system, in a list")
        _refuse_twice(systems)
        self._options = options
        self._here: dict[str, Any] = {}
        self._sources: dict[str, str] = {}
        self._loaded: dict[Any, tuple[str, str, SystemLike]] = {}

    def scenario(self, system: SystemLike | str, place: Place) -> tuple[bool, Scenario, str, str]:
        """Whether a system brings its own scenario, that or the world of `place`, what it is called, and how a worker loads it."""
        if system not in self._loaded:
            self._loaded[system] = self._load(system)
        name, loads, loaded = self._loaded[system]
        probe = Runner(loaded)
        return not probe.takes_scenario, place.world() if probe.takes_scenario else probe.scenario, name, loads

    def _load(self, system: SystemLike | str) -> tuple[str, str, SystemLike]:
        loaded = load(system) if isinstance(system, str) else system
        name = system if isinstance(system, str) else name_of(loaded)
        loads = reference(loaded)
        if any(name == other for other, *_ in self._loaded.values()):
            name = loads or f"{name} {len(self._loaded) + 1}"
        if loads is None:
            loads = f"{name} (here)"
            if self._options.workers > 1 or self._options.executor is not None:
                raise BadInput(f"another process cannot load {name}: define it at the top of a module, or use one worker")
            self._here[loads] = loaded
        if ":" in loads:
            self._sources[name] = digest_of(loaded)
        return name, loads, loaded

    def measured(self, name: str, cells: list[Cell], about: Iterable[str], axis: str, forms: Iterable[float | None] = ()) -> Result:
        """Has the cells run, and says what they came to."""
        options = self._options
        _refuse_twice([cell.key for cell in cells])
        begun = time.monotonic()
        with Store(options.store, Plan(name, options.seed, options.level, tuple(cells), self._sources)) as store:
            wanted = [cell.episodes(options.episodes) for cell in cells]
            done = sum(store.count(number, count) for number, count in enumerate(wanted))

            def told(number: int) -> None:
                nonlocal done
                done += number
                if options.told is not None:
                    options.told(done, sum(wanted))

            told(0)
            run(
                store,
                options.episodes,
                systems=self._here,
                workers=options.workers,
                executor=options.executor,
                tries=options.tries,
                told=told,
            )
            return result_of(
                store,
                options.episodes,
                about=about,
                axis=axis,
                confidence=options.confidence,
                expected=forms,
                seconds=time.monotonic() - begun,
            )


def _changed(changing: Sequence[str], scenario: Scenario) -> tuple[str, ...]:
    """The keys that were named, else the first on which an action depends: the requirement of a generated world."""
    return named(changing, scenario, "changing") if changing else _true(scenario)[:1]


def _true(scenario: Scenario) -> tuple[str, ...]:
    """The keys on which any action depends, those of the first one first."""
    keys = (scenario.keys if action.by_arguments else action.depends_on for action in scenario.actions)
    if found := tuple(dict.fromkeys(chain.from_iterable(keys))):
        return found
    raise BadInput("no action of the scenario depends on a key, so none goes out on a stale one: give its Action depends_on=[...]")


def _optional(scenario: Scenario, always: int | Sequence[str]) -> Dropped:
    """The declarations that can be forgotten: all but those that always are."""
    pairs = [(action.name, key) for action in scenario.actions for key in scenario.declared(action)]
    if isinstance(always, int):
        keys = list(dict.fromkeys(key for _, key in pairs))
        if not 0 <= always <= len(keys):
            raise BadInput(f"from 0 to {len(keys)} dependencies can always be declared, not {always}")
        kept = set(keys[:always])
    else:
        kept = set(named(always, scenario, "always"))
    return tuple(pair for pair in pairs if pair[1] not in kept)


def _refuse_twice(asked: Sequence[Any]) -> None:
    twice = next((one for number, one in enumerate(asked) if one in asked[:number]), None)
    if twice is not None:
        raise BadInput(f"{twice if isinstance(twice, str) else name_of(twice)} is asked for twice: once is enough")


def _refuse_grid(grid: Sequence[float], what: str, least: float, most: float) -> None:
    if not isinstance(grid, Sequence) or isinstance(grid, str) or not grid:
        raise BadInput(f"name at least one value for {what}, in a list")
    for value in grid:
        if not isinstance(value, int | float) or not least <= value <= most:
            raise BadInput(f"{what} lies between {least} and {most}, and is not {value!r}")


def _refuse_own(own: bool, name: str, what: str) -> None:
    if own:
        raise BadInput(f"{name} brings its own scenario: {what} cannot be chosen for it, only for one that takes a generated world")
