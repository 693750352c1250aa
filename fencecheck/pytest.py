"""What a test file imports, and what `pytest --fencecheck-system` runs.

```python
from fencecheck.pytest import suite

test_fence = suite(MySystem)
```
gives the tests `test_fence[exhaust]` and `test_fence[explore]`. A violation fails a test with the report that the command line prints, and
so does an inconclusive result: what was not tested must not look tested.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import pytest

from _fencecheck_pytest import ASKED
from fencecheck.errors import CouldNotRun, FencecheckError, alike, listed
from fencecheck.run.loading import load

if TYPE_CHECKING:
    from fencecheck.codec import Case
    from fencecheck.judge import Level
    from fencecheck.model import Scenario
    from fencecheck.run.simulate import SystemLike
    from fencecheck.search.check import Engine
    from fencecheck.search.drawing import Profile, Worlds
    from fencecheck.search.report import Report

__all__ = ["assert_fixed", "suite"]

P = ParamSpec("P")
R = TypeVar("R")
ENGINES: tuple[Engine, ...] = ("exhaust", "explore")


def _told(function: Callable[P, R]) -> Callable[P, R]:
    """A maker of tests, such that an option which it does not have fails the test in one sentence."""
    known = inspect.signature(function).parameters

    @wraps(function)
    def made(*arguments: P.args, **options: P.kwargs) -> R:
        unknown = next((name for name in options if name not in known), None)
        if unknown is None:
            return function(*arguments, **options)
        meant = alike(unknown, known)
        right = f"did you mean {meant}?" if meant is not None else f"it has {listed(name for name in known if name != 'system')}"

        def test_fence() -> None:
            pytest.fail(f"fencecheck: suite() has no option {unknown}: {right}", pytrace=False)

        return staticmethod(test_fence)  # type: ignore[return-value]

    return made


@_told
def suite(
    system: SystemLike | str,
    *,
    engine: Engine | None = None,
    level: Level = "at-validation",
    max_events: int | None = None,
    max_time: float | None = None,
    kinds: Iterable[str] | None = None,
    per_kind: int | None = None,
    examples: int | None = None,
    scenario: Scenario | None = None,
    seed: int | None = None,
    profile: Profile | None = None,
    worlds: Worlds = "default",
    fail_on: Iterable[str] = (),
    assume_broken: Iterable[str] = (),
) -> Callable[..., None]:
    """A test function that checks a system, once with each engine. To be bound to a name that pytest collects, in a module or a class.

    Args:
        system: an adapter class, a function that makes an adapter, or the name of one as the command line takes it.
        engine: `exhaust` or `explore`; both by default.
        profile: for `explore`; by default that of `--fencecheck-profile`.
        level, max_events, max_time, kinds, scenario, fail_on, assume_broken: as for `fencecheck.check`.
        per_kind: the same, for `exhaust` alone.
        examples, seed, worlds: the same, for `explore` alone.

    Raises:
        pytest.fail.Exception: the test, where the system does not hold, cannot be judged, or an argument is out of range.
    """
    both: dict[str, Any] = {
        "level": level, "max_events": max_events, "max_time": max_time, "kinds": None if kinds is None else tuple(kinds),
        "scenario": scenario, "fail_on": tuple(fail_on), "assume_broken": tuple(assume_broken),
    }  # fmt: skip
    of_one: dict[Engine, dict[str, Any]] = {
        "exhaust": {"per_kind": per_kind},
        "explore": {"examples": examples, "seed": seed, "worlds": worlds, "profile": profile},
    }
    if engine is not None:  # what is not for it is refused
        of_one = {engine: {**of_one["exhaust"], **of_one["explore"]}}

    @pytest.mark.parametrize("engine", ENGINES if engine is None else (engine,))
    def test_fence(engine: Engine) -> None:
        with _one_sentence():
            options = {**both, **of_one[engine]}
            if engine == "explore":
                options["profile"] = profile or ASKED["profile"]
            target = load(system) if isinstance(system, str) else system
            _pass_or_fail(_checked(target, engine, **options), system if isinstance(system, str) else None)

    return staticmethod(test_fence)  # in a class it takes no `self`


def assert_fixed(case: Case, system: SystemLike | str, *, root: Path | None = None) -> None:
    """Runs a stored case, and fails unless its finding is gone: what a test that `fencecheck check --save` wrote calls.

    Args:
        system: as for `suite`.
        root: a folder in which packages are looked for too.
    """
    from fencecheck.report.terminal import plain, replay_lines
    from fencecheck.run.adapter import name_of
    from fencecheck.search.replay import replay

    with _one_sentence():
        if root is not None and str(root.resolve()) not in sys.path:
            sys.path.insert(0, str(root.resolve()))
        target = load(system) if isinstance(system, str) else system
        result = replay(case, target)
    if result.status != "no longer fails":
        pytest.fail(plain(replay_lines(name_of(target), result), _encoding()), pytrace=False)


@contextmanager
def _one_sentence() -> Iterator[None]:
    """What fencecheck says of a system fails the test without a traceback through fencecheck."""
    try:
        yield
    except FencecheckError as error:
        raise pytest.fail.Exception(f"fencecheck: {error}", pytrace=False) from None


def _checked(system: SystemLike, engine: Engine, **options: Any) -> Report:
    from fencecheck.search.check import check

    with _no_os_exit():
        return check(system, engine=engine, **options)


@contextmanager
def _no_os_exit() -> Iterator[None]:
    """A system that calls `os._exit` must not end pytest, with a status of its own and without a word: its item fails."""
    process, ends = os.getpid(), os._exit
    asked: list[int] = []

    def refused(status: int) -> NoReturn:
        if os.getpid() != process:  # a child that it forked may end as it likes
            ends(status)
        asked.append(status)
        raise CouldNotRun("the system under test calls os._exit")

    os._exit = refused
    try:
        yield
    except FencecheckError:
        if not asked:
            raise
    finally:
        os._exit = ends
    if asked:  # whatever the system made of what was raised there
        raise CouldNotRun(f"the system under test calls os._exit({asked[0]!r}): take it out, or raise an exception")


def _pass_or_fail(report: Report, name: str | None = None) -> None:
    if report.verdict == "held":
        return
    from fencecheck.report.terminal import plain, report_lines

    folder = ASKED["save"]
    if folder is not None and report.failures:
        from fencecheck.report.json import refuse_unwritable_folder
        from fencecheck.report.repro import save

        refuse_unwritable_folder(Path(folder))
        save(report, Path(folder), name)

    pytest.fail(plain(report_lines(report), _encoding()), pytrace=False)


def _encoding() -> str:
    return getattr(sys.__stdout__, "encoding", None) or "utf-8"


# -- `pytest --fencecheck-system` ------------------------------------------------------------------------------------------------------


class Systems:
    """The plugin that adds the systems named on the command line to a run.

    Raises:
        pytest.UsageError: one of them cannot be loaded or used, or an option is out of range.
    """

    def __init__(self, config: pytest.Config) -> None:
        from fencecheck.run.simulate import Runner

        asked = {name: config.getoption(f"fencecheck_{name}") for name in _ASKABLE}
        engine = config.getoption("fencecheck_engine")
        self._engines: tuple[Engine, ...] = ENGINES if engine is None else (engine,)
        try:
            self._options = _options(asked, engine)
            self._systems = {name: load(name) for name in config.getoption("fencecheck_system")}
            for system in self._systems.values():
                Runner(system).close()
        except FencecheckError as error:
            raise pytest.UsageError(f"fencecheck: {error}") from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Puts the items of the systems before those of the test files, early enough for `-k` to choose among them."""
        collector = _Collector.from_parent(session, name="fencecheck", nodeid="fencecheck")
        added: list[pytest.Item] = [
            _Item.from_parent(collector, name=f"{name}[{engine}]", called=name, system=system, engine=engine, options=self._options[engine])
            for name, system in self._systems.items()
            for engine in self._engines
        ]
        items[:0] = added
        session.config.hook.pytest_collectreport(report=pytest.CollectReport("fencecheck", "passed", None, [*added]))


_ASKABLE = ("level", "max_events", "max_time", "kinds", "per_kind", "examples", "profile")


def _options(asked: dict[str, Any], only: Engine | None) -> dict[Engine, dict[str, Any]]:
    """What each engine is asked.

    Raises:
        BadInput: an option is out of range, or is for another engine than the only one.
    """
    from fencecheck.search.check import refuse_options

    both = {**asked, "kinds": None if asked["kinds"] is None else [kind.strip() for kind in asked["kinds"].split(",")]}
    of_one: dict[Engine, tuple[str, ...]] = {"exhaust": ("per_kind",), "explore": ("examples", "profile")}
    options: dict[Engine, dict[str, Any]] = {}
    for engine in ENGINES if only is None else (only,):
        others = () if only is not None else [name for other in ENGINES if other != engine for name in of_one[other]]
        options[engine] = {name: value for name, value in both.items() if name not in others}
        refuse_options(engine, **options[engine])
    return options


class _Collector(pytest.Collector):
    """Stands for no file: the parent of the items that the command line adds."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Nothing: the items are added beside the collected ones."""
        return []


class _Item(pytest.Item):
    """The check of one system with one engine."""

    def __init__(self, *, called: str, system: SystemLike, engine: Engine, options: dict[str, Any], **rest: Any) -> None:
        super().__init__(**rest)
        self._called, self._system, self._engine, self._options = called, system, engine, options

    def runtest(self) -> None:
        """Checks the system."""
        with _one_sentence():
            _pass_or_fail(_checked(self._system, self._engine, **self._options), self._called)

    def reportinfo(self) -> tuple[Path, None, str]:
        """What pytest calls it."""
        return Path("fencecheck"), None, self.name
