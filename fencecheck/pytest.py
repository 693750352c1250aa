"""What a test file imports, and what `pytest --fencecheck-system` runs.

```python
from fencecheck.pytest import suite

test_fence = suite(MySystem)
```
gives the tests `test_fence[exhaust]` and `test_fence[explore]`. A violation fails a test with the report that the command line prints, and
so does an inconclusive result: what was not tested must not look tested.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from _fencecheck_pytest import PROFILE
from fencecheck.errors import FencecheckError
from fencecheck.run.loading import load

if TYPE_CHECKING:
    from fencecheck.codec import Case
    from fencecheck.judge import Level
    from fencecheck.model import Scenario
    from fencecheck.run.simulate import SystemLike
    from fencecheck.search.check import Engine
    from fencecheck.search.drawing import Profile, Worlds
    from fencecheck.search.report import Report

ENGINES: tuple[Engine, ...] = ("exhaust", "explore")


def suite(
    system: SystemLike | str,
    *,
    engine: Engine | None = None,
    level: Level = "at-validation",
    max_events: int | None = None,
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
        level, max_events, examples, scenario, seed, worlds, fail_on, assume_broken: as for `fencecheck.check`; `worlds` is for `explore` alone.
    """
    fails, broken = tuple(fail_on), tuple(assume_broken)

    @pytest.mark.parametrize("engine", ENGINES if engine is None else (engine,))
    def test_fence(engine: Engine) -> None:
        with _one_sentence():
            options = _options(level, max_events, examples, seed)
            if engine == "explore":
                options |= {"profile": profile or PROFILE[0], "worlds": worlds}
            target = load(system) if isinstance(system, str) else system
            _pass_or_fail(_checked(target, engine, scenario=scenario, fail_on=fails, assume_broken=broken, **options))

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


def _options(level: Level, max_events: int | None, examples: int | None, seed: int | None) -> dict[str, Any]:
    return {"level": level, "max_events": max_events, "seed": seed, **({} if examples is None else {"examples": examples})}


def _checked(system: SystemLike, engine: Engine, **options: Any) -> Report:
    from fencecheck.search.check import check

    return check(system, engine=engine, **options)


def _pass_or_fail(report: Report) -> None:
    if report.verdict == "held":
        return
    from fencecheck.report.terminal import plain, report_lines

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

        self._options = _options(
            config.getoption("fencecheck_level"), config.getoption("fencecheck_max_events"), config.getoption("fencecheck_examples"), None
        )
        engine = config.getoption("fencecheck_engine")
        self._engines: tuple[Engine, ...] = ENGINES if engine is None else (engine,)
        try:
            _refuse_negative(self._options)
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
            _Item.from_parent(collector, name=f"{name}[{engine}]", system=system, engine=engine, options=self._options)
            for name, system in self._systems.items()
            for engine in self._engines
        ]
        items[:0] = added
        session.config.hook.pytest_collectreport(report=pytest.CollectReport("fencecheck", "passed", None, [*added]))


def _refuse_negative(options: dict[str, Any]) -> None:
    from fencecheck.errors import BadInput

    if options["max_events"] is not None and options["max_events"] < 0:
        raise BadInput(f"the number of events is 0 or more, not {options['max_events']}")
    if options.get("examples", 1) < 1:
        raise BadInput(f"the number of examples is 1 or more, not {options['examples']}")


class _Collector(pytest.Collector):
    """Stands for no file: the parent of the items that the command line adds."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Nothing: the items are added beside the collected ones."""
        return []


class _Item(pytest.Item):
    """The check of one system with one engine."""

    def __init__(self, *, system: SystemLike, engine: Engine, options: dict[str, Any], **rest: Any) -> None:
        super().__init__(**rest)
        self._system, self._engine, self._options = system, engine, options

    def runtest(self) -> None:
        """Checks the system."""
        with _one_sentence():
            profile = {"profile": PROFILE[0]} if self._engine == "explore" else {}
            _pass_or_fail(_checked(self._system, self._engine, **self._options, **profile))

    def reportinfo(self) -> tuple[Path, None, str]:
        """What pytest calls it."""
        return Path("fencecheck"), None, self.name
