"""The pytest plugin, each run in a pytest of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALLED = any(point.name == "fencecheck" for point in entry_points(group="pytest11"))
"""Whether the entry point is there; otherwise the plugin is named on the command line."""

INSIDE = (
    "a system of runtime 'asyncio' gets a loop of its own, which cannot run inside another: "
    "call it from a plain function, not from an async one"
)
Run = Callable[..., pytest.RunResult]

SYSTEMS = """
from fencecheck import Action, AgentSystem, Scenario, faults

class Naive(AgentSystem):
    scenario = Scenario(owners={"orders": ["order/1"]}, actions=[Action("ship", depends_on=["order/1"])])
    halt_exceptions = (faults.Fault, ValueError)

    def run(self):
        order = self.order()
        self.kit.act("ship", {"to": order.value}, basis={"order/1": order.id})

    def order(self):
        order = self.kit.read("order/1", timeout=1)
        if getattr(order, "key", None) != "order/1":
            raise ValueError("no order")
        return order

class Fenced(Naive):
    def run(self):
        order = self.order()
        if self.kit.head("order/1", timeout=1) != order.id:
            return self.kit.halted("changed")
        self.kit.validated(["order/1"])
        self.kit.act("ship", {"to": order.value}, basis={"order/1": order.id})

class Idle(Naive):
    def run(self):
        pass

class Awaited(Naive):
    runtime = "asyncio"

    async def run(self):
        order = await self.kit.aio.read("order/1", timeout=1)
        if getattr(order, "key", None) != "order/1":
            raise ValueError("no order")
        if await self.kit.aio.head("order/1", timeout=1) != order.id:
            return self.kit.halted("changed")
        self.kit.validated(["order/1"])
        await self.kit.aio.act("ship", {"to": order.value}, basis={"order/1": order.id})
"""
REPORT = ["Naive · violated · stale-act at at-validation", "*ship went out made from order/1 r1 while r2 was current.*"]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest in a process of its own, in a folder with `shop.py`, with only the plugins named."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(pytester.path)]))
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    pytester.makepyfile(shop=SYSTEMS)

    def command(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", "_fencecheck_pytest", "-p", "no:cacheprovider", *arguments)

    return command


# -- without being asked ---------------------------------------------------------------------------------------------------------------


def test_an_idle_run_imports_nothing_of_it(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_modules():
            loaded = {name.partition(".")[0] for name in sys.modules}
            assert not {"fencecheck", "hypothesis", "faker", "rich", "msgspec", "click"} & loaded
        """
    )
    run().assert_outcomes(passed=1)


@pytest.mark.skipif(not INSTALLED, reason="fencecheck is not installed here")
def test_it_is_found_by_its_entry_point(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    result = pytester.runpytest_subprocess("--help")
    result.stdout.fnmatch_lines(["fencecheck: halt or current:", "*--fencecheck-system=SYSTEM*"])


# -- `--fencecheck-system` -------------------------------------------------------------------------------------------------------------


def test_systems_are_checked_without_a_test_file(run: Run) -> None:
    result = run("--fencecheck-system", "shop:Fenced", "--fencecheck-system", "shop:Naive", "-v")
    result.assert_outcomes(passed=2, failed=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*4 items*",
            "fencecheck::shop:Fenced[[]exhaust[]] PASSED*",
            "fencecheck::shop:Fenced[[]explore[]] PASSED*",
            "fencecheck::shop:Naive[[]exhaust[]] FAILED*",
            "fencecheck::shop:Naive[[]explore[]] FAILED*",
            *REPORT,
            "*right would be: replan once from the current version and validate again, or halt.",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*runtest*")


def test_options(run: Run) -> None:
    options = ("--fencecheck-engine", "exhaust", "--fencecheck-max-events", "1", "--fencecheck-level", "at-act")
    result = run("--fencecheck-system", "shop.py:Fenced", *options)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["Fenced · violated · raced-act at at-act"])


def test_a_profile_for_systems_and_suites(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_naive='from fencecheck.pytest import suite\ntest_naive = suite("shop:Naive", engine="explore")')
    again = "*replay   fencecheck check shop.py:Naive --engine explore --seed 0 --profile fencecheck-pr"
    both = run("--fencecheck-profile", "fencecheck-pr", "--fencecheck-system", "shop:Naive")
    both.assert_outcomes(failed=3)
    summary = both.stdout.str().index("short test summary")  # which repeats what failed, on a machine whose CI variable is set
    assert both.stdout.str().count(again[1:], 0, summary) == 2
    neither = run("--fencecheck-system", "shop:Naive")
    neither.stdout.no_fnmatch_line(again)


def test_a_nightly_failure_is_tried_first_by_the_next_run(pytester: pytest.Pytester, run: Run) -> None:
    """With one example, which is the empty interleaving, only what was kept can fail."""
    options = ("--fencecheck-system", "shop:Naive", "--fencecheck-engine", "explore", "--fencecheck-profile", "fencecheck-nightly")
    run(*options, "--fencecheck-examples", "1").assert_outcomes(failed=1)
    assert not list(pytester.path.glob(".hypothesis/examples/*/*"))
    run(*options).stdout.fnmatch_lines(REPORT)
    run(*options, "--fencecheck-examples", "1").stdout.fnmatch_lines(REPORT)


def test_kinds_and_further_kinds(run: Run) -> None:
    few = run("--fencecheck-system", "shop:Naive", "--fencecheck-kinds", "outage, restore", "--fencecheck-examples", "50")
    few.assert_outcomes(passed=2)  # what only an update shows
    run("--fencecheck-system", "shop:Fenced", "--fencecheck-per-kind", "0", "--fencecheck-examples", "50").assert_outcomes(passed=2)


def test_a_check_whose_time_is_up_is_inconclusive(run: Run) -> None:
    result = run("--fencecheck-system", "shop:Fenced", "--fencecheck-max-time", "1e-6")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["*the time was up before any interleaving was run: allow more", "*the time was up before 1,000 were drawn: *"]
    )


def test_what_fails_is_saved_for_systems_and_suites(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_naive='from fencecheck.pytest import suite\ntest_naive = suite("shop:Naive", engine="exhaust")')
    result = run("--fencecheck-system", "shop.py:Naive", "--fencecheck-engine", "exhaust", "--fencecheck-save", "cases")
    result.assert_outcomes(failed=2)
    assert len(list(pytester.path.glob("cases/*.json"))) == len(list(pytester.path.glob("cases/test_*.py"))) == 1  # one case, found twice
    result.stdout.fnmatch_lines(["*replay   fencecheck replay cases/*.json"])
    again = run("--fencecheck-system", "shop:Fenced", "--fencecheck-engine", "exhaust", "--ignore", "test_naive.py")
    again.assert_outcomes(passed=1, failed=1)  # saved cases are collected beside it, as any test file
    run("--fencecheck-save", "shop.py", "test_naive.py").stdout.fnmatch_lines(["fencecheck: shop.py cannot be written (file exists)*"])


def test_what_both_engines_find_is_saved_once(pytester: pytest.Pytester, run: Run) -> None:
    """And by the name that the command line gives it."""
    pytester.makepyfile(test_naive="from fencecheck.pytest import suite\nfrom shop import Naive\ntest_naive = suite(Naive)")
    run("--fencecheck-save", "cases", "test_naive.py").assert_outcomes(failed=2)
    (case,) = pytester.path.glob("cases/*.json")
    assert len(list(pytester.path.glob("cases/test_*.py"))) == 1
    assert '"smallest": true' in case.read_text()
    for name in ("shop.py:Naive", "shop:Naive"):
        run(
            "--fencecheck-system",
            name,
            "--fencecheck-engine",
            "explore",
            "--fencecheck-save",
            "cases",
            "--ignore",
            "cases",
            "--ignore",
            "test_naive.py",
        )
        assert [*pytester.path.glob("cases/*.json")] == [case]
    assert '"smallest": true' in case.read_text()


def test_an_option_that_a_suite_does_not_have(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        test_naive="from fencecheck.pytest import suite\ntest_near = suite('shop:Naive', max_event=3)\ntest_far = suite('shop:Naive', xyz=1)"
    )
    result = run("test_naive.py")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*fencecheck: suite() has no option max_event: did you mean max_events?*"])
    result.stdout.fnmatch_lines(["*fencecheck: suite() has no option xyz: it has engine, level, *"])


def test_an_inconclusive_result_fails(run: Run) -> None:
    result = run("--fencecheck-system", "shop:Fenced", "--fencecheck-engine", "exhaust", "--fencecheck-max-events", "0")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["Fenced · inconclusive · *", "*no event fired, so nothing was tested: allow at least one event"])


def test_a_system_that_cannot_be_judged_fails_in_one_sentence(run: Run) -> None:
    result = run("--fencecheck-system", "shop:Idle", "--fencecheck-engine", "exhaust")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["fencecheck: Idle never acts, even without any event: *"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("During handling of*")


@pytest.mark.parametrize("body", ["os._exit(0)", "try: os._exit(0)\n        except Exception: super().run()"], ids=["plain", "swallowed"])
def test_a_system_that_ends_the_process_fails_its_item_only(pytester: pytest.Pytester, run: Run, body: str) -> None:
    pytester.makepyfile(
        test_it=f"""
import os
from fencecheck.pytest import suite
from shop import Fenced

class Ends(Fenced):
    def run(self):
        {body}

test_ends = suite(Ends)
test_other = suite(Fenced)
"""
    )
    result = run()
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["*the system under test calls os._exit(0): take it out, or raise an exception*"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fencecheck-system", "nothing"], "there is no system 'nothing': give package.module:Class, *"),
        (["--fencecheck-system", "shop:Other"], "shop has no Other: it defines Naive, Fenced, Idle, Awaited"),
        (["--fencecheck-system", "shop:SYSTEM"], "shop has no SYSTEM: *"),
        (["--fencecheck-system", "shop:AgentSystem"], "AgentSystem has no run(): define run(self), which carries out one episode"),
        (["--fencecheck-system", "shop:Naive", "--fencecheck-max-events", "-1"], "the number of events is 0 or more, not -1"),
        (["--fencecheck-system", "shop:Naive", "--fencecheck-examples", "0"], "the number of examples is 1 or more, not 0"),
        (["--fencecheck-system", "shop:Naive", "--fencecheck-max-time", "0"], "the time is a number of seconds above 0, not 0.0"),
        (["--fencecheck-system", "shop:Naive", "--fencecheck-kinds", "updat"], "there is no kind of event 'updat': did you mean update? *"),
        (
            ["--fencecheck-system", "shop:Naive", "--fencecheck-engine", "explore", "--fencecheck-per-kind", "1"],
            "a number of episodes for each further kind is for the engine exhaust, which goes on to these",
        ),
        (
            ["--fencecheck-system", "shop:Naive", "--fencecheck-engine", "exhaust", "--fencecheck-examples", "1"],
            "a number of examples is for what is drawn, and exhaust runs every interleaving: use the engine explore",
        ),
    ],
)
def test_a_bad_target_is_a_usage_error(run: Run, arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: fencecheck: {said}"])
    result.stderr.no_fnmatch_line("*Traceback*")


def test_beside_test_files_and_with_a_selection(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_mine="def test_mine(): pass")
    both = run("--fencecheck-system", "shop:Fenced", "--fencecheck-engine", "exhaust")
    both.assert_outcomes(passed=2)
    both.stdout.fnmatch_lines(["collected 2 items", "fencecheck .*", "test_mine.py .*"])
    run("--fencecheck-system", "shop:Fenced", "-k", "exhaust").assert_outcomes(passed=1, deselected=2)
    path = run("test_mine.py", "--fencecheck-system", "shop:Fenced", "--fencecheck-engine", "exhaust")
    path.assert_outcomes(passed=2)


def test_only_listing(run: Run) -> None:
    result = run("--fencecheck-system", "shop:Fenced", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["fencecheck::shop:Fenced[[]exhaust[]]", "fencecheck::shop:Fenced[[]explore[]]"])


def test_a_junit_file(pytester: pytest.Pytester, run: Run) -> None:
    run("--fencecheck-system", "shop:Naive", "--fencecheck-engine", "exhaust", "--junitxml", "out.xml")
    text = (pytester.path / "out.xml").read_text(encoding="utf-8")
    assert 'failures="1"' in text
    assert "shop:Naive[exhaust]" in text


def test_with_xdist(run: Run) -> None:
    pytest.importorskip("xdist")
    result = run("-p", "xdist", "-n", "2", "--fencecheck-system", "shop:Fenced", "--fencecheck-system", "shop:Naive")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(REPORT)
    bad = run("-p", "xdist", "-n", "2", "--fencecheck-system", "nothing")
    assert bad.ret == pytest.ExitCode.USAGE_ERROR


# -- in a test file --------------------------------------------------------------------------------------------------------------------

SUITES = """
from shop import Awaited, Fenced, Naive
from fencecheck.pytest import suite

test_fenced = suite(Fenced, examples=100)
test_naive = suite(Naive, engine="exhaust", max_events=1, max_time=60)
test_by_name = suite("shop:Fenced", engine="exhaust", level="at-act", max_events=1)
test_asyncio = suite(Awaited, examples=100, per_kind=0, kinds=["update", "outage"], seed=3)
"""


def test_suites(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_suites=SUITES)
    result = run("-v")
    result.assert_outcomes(passed=4, failed=2)
    result.stdout.fnmatch_lines(
        [
            "test_suites.py::test_fenced[[]exhaust[]] PASSED*",
            "test_suites.py::test_fenced[[]explore[]] PASSED*",
            "test_suites.py::test_naive[[]exhaust[]] FAILED*",
            "test_suites.py::test_by_name[[]exhaust[]] FAILED*",
            "test_suites.py::test_asyncio[[]exhaust[]] PASSED*",
            "test_suites.py::test_asyncio[[]explore[]] PASSED*",
            *REPORT,
            "Fenced · violated · raced-act at at-act",
        ]
    )
    result.stdout.no_fnmatch_line("*def test_fence*")


def test_suites_in_a_class(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        test_class="""
from shop import Fenced, Naive
from fencecheck.pytest import suite

class TestAgents:
    test_fenced = suite(Fenced, engine="exhaust", max_events=1)
    test_naive = suite(Naive, engine="exhaust", max_events=1)

class TestMore(TestAgents):
    test_naive = suite(Fenced, max_events=1, examples=20)

def test_called_by_hand():
    suite(Fenced, max_events=1)("exhaust")
"""
    )
    result = run("-v")
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["test_class.py::TestAgents::test_naive[[]exhaust[]] FAILED*", *REPORT])


def test_one_item_can_be_chosen(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_suites=SUITES)
    run("test_suites.py::test_fenced[exhaust]").assert_outcomes(passed=1)


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_beside_pytest_asyncio(mode: str, pytester: pytest.Pytester, run: Run) -> None:
    pytest.importorskip("pytest_asyncio")
    inside = """
import pytest
from shop import Awaited
from fencecheck import check

@pytest.mark.asyncio
async def test_inside_a_loop():
    check(Awaited)

@pytest.mark.asyncio
async def test_own():
    pass
"""
    pytester.makepyfile(test_suites=SUITES + inside)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    result = run("-p", "pytest_asyncio.plugin", "-o", f"asyncio_mode={mode}", "-v")
    result.assert_outcomes(passed=5, failed=3)
    result.stdout.fnmatch_lines(
        [
            "test_suites.py::test_asyncio[[]exhaust[]] PASSED*",
            "test_suites.py::test_inside_a_loop FAILED*",
            f"*CouldNotRun: {INSIDE}",
        ]
    )
    run(
        "-p", "pytest_asyncio.plugin", "-o", f"asyncio_mode={mode}", "test_suites.py::test_own", "--fencecheck-system", "shop:Awaited"
    ).assert_outcomes(passed=3)  # fmt: skip


def test_bad_arguments_of_a_suite_are_one_sentence(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        test_bad="""
        from fencecheck.pytest import suite

        test_level = suite("planfence", engine="exhaust", level="best")
        test_gone = suite("shop:Gone", engine="exhaust")
        test_seed = suite("planfence", engine="exhaust", seed=1)
        test_kinds = suite("planfence", engine="explore", kinds=["updates"])
        """
    )
    result = run()
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            "fencecheck: there is no level 'best': use at-validation, at-one-instant, at-act",
            "fencecheck: shop has no Gone: it defines Naive, Fenced, Idle, Awaited",
            "fencecheck: a seed is for what is drawn, and exhaust runs every interleaving: use the engine explore",
            "fencecheck: there is no kind of event 'updates': did you mean update? *",
        ]
    )


def test_properties_written_by_hand(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        test_hand="""
        from hypothesis import given, settings
        from shop import Awaited, Fenced, Naive
        from fencecheck import simulate
        from fencecheck.judge import judge
        from fencecheck.strategies import interleavings

        @given(interleavings(Fenced))
        @settings(max_examples=50, database=None)
        def test_fenced(interleaving):
            assert not judge(simulate(Fenced, interleaving)).violations("at-validation")

        @given(interleavings(Awaited))
        @settings(max_examples=50, database=None)
        def test_awaited(interleaving):
            assert not judge(simulate(Awaited, interleaving)).violations("at-validation")

        @given(interleavings(Naive))
        @settings(max_examples=500, database=None)
        def test_naive(interleaving):
            assert not judge(simulate(Naive, interleaving)).violations("at-validation")
        """
    )
    result = run("-p", "_hypothesis_pytestplugin")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*test_naive(*", "*Update(key='order/1')*"])
