"""A run that goes on without calling a port is ended, wherever it is and whatever it swallows; nobody pays for that but such a run."""

from __future__ import annotations

import asyncio
import gc
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.history import Ended
from fencecheck.interleaving import Event, Update
from fencecheck.judge import judge
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check
from fencecheck.search.replay import case_of, replay

from .faces import RUNTIMES, WORLD, X

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that are signals")
LIMIT_S = 0.2
SOON_S = 5.0
ROOT = Path(__file__).parent.parent.parent


class Awaits(AgentSystem):
    scenario = WORLD
    timeout_s = LIMIT_S

    def work(self) -> None: ...

    async def run(self) -> None:
        self.kit.read(X)
        self.work()


class Waits(Awaits):
    def run(self) -> None:  # type: ignore[override]
        self.kit.read(X)
        self.work()


def spins(self: Any) -> None:
    while True:
        pass


def sleeps(self: Any) -> None:
    time.sleep(60)


def waits_for_a_thread(self: Any) -> None:
    thread = threading.Thread(target=time.sleep, args=(2,), daemon=True)
    thread.start()
    thread.join()


def waits_for_a_queue(self: Any) -> None:
    queue.Queue[int]().get()


def waits_for_a_process(self: Any) -> None:
    subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"], check=False)


def swallows_everything(self: Any) -> None:
    while True:
        try:  # noqa: SIM105
            pass
        except BaseException:
            pass


def swallows_everything_and_waits(self: Any) -> None:
    while True:
        try:  # noqa: SIM105
            time.sleep(0.01)
        except BaseException:
            pass


def swallows_everything_twice(self: Any) -> None:
    for _ in range(3):
        try:  # noqa: SIM105
            swallows_everything_and_waits(self)
        except BaseException:
            pass


ENDLESS = [
    spins, sleeps, waits_for_a_thread, waits_for_a_queue, waits_for_a_process, swallows_everything, swallows_everything_and_waits,
    swallows_everything_twice,
]  # fmt: skip


def system(runtime: str, work: Callable[[Any], None], **attributes: Any) -> type[AgentSystem]:
    base = Waits if runtime == "sync" else Awaits
    return type("Made", (base,), {"runtime": runtime, "work": work, **attributes})


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("work", ENDLESS)
def test_an_endless_run_is_stuck(runtime: str, work: Callable[[Any], None]) -> None:
    started = time.perf_counter()
    with Runner(system(runtime, work)) as runner:
        history = runner.run()
    assert time.perf_counter() - started < SOON_S
    assert history.ended.how == "stuck"
    assert history.ended.detail.startswith("waits for nothing: no port was called for 0.2 s, at test_watchdog.py:")
    assert [finding.code for finding in judge(history).findings] == ["stuck"]
    assert sys.gettrace() is None or "watchdog" not in repr(sys.gettrace())


def test_a_loop_of_the_systems_own() -> None:
    with Runner(system("sync", lambda self: asyncio.run(asyncio.sleep(60)))) as runner:
        assert runner.run().ended.how == "stuck"


def test_statements_without_end_are_no_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencecheck.run.watchdog.MOST_STATEMENTS", 1_000)

    def states(self: Any) -> None:
        while True:
            self.kit.declared("go")

    with Runner(system("sync", states)) as runner:
        assert runner.run().ended.detail.startswith("waits for nothing: no port was called for 1,000 statements, at test_watchdog.py:")


def test_a_run_that_calls_ports_may_take_its_time() -> None:
    def work(self: Any) -> None:
        for _ in range(4):
            time.sleep(LIMIT_S * 0.6)
            self.kit.point()

    with Runner(system("sync", work)) as runner:
        assert runner.run().ended == Ended("returned")


def test_the_next_episode_runs_as_if_nothing_had_been() -> None:
    def work(self: Any) -> None:
        if len(self.kit._log) > 1:  # an event has landed
            swallows_everything(self)
        self.kit.act("go", {})

    with Runner(system("sync", work)) as runner:
        before = runner.run()
        assert runner.run((), (Event(0, Update(X)),)).ended.how == "stuck"
        assert runner.run().entries == before.entries


def test_what_cleans_up_may_do_so() -> None:
    cleaned = []

    def work(self: Any) -> None:
        try:
            spins(self)
        finally:
            time.sleep(0.01)
            cleaned.append(1)

    with Runner(system("sync", work)) as runner:
        runner.run()
    assert cleaned == [1]


@pytest.mark.parametrize("runtime", ["sync", "asyncio", "trio"])
@pytest.mark.parametrize("method", ["setup", "teardown"])
def test_a_setup_or_teardown_without_end(runtime: str, method: str) -> None:
    def endless(self: Any, *_: Any) -> None:
        spins(self)

    with Runner(system(runtime, lambda self: None, **{method: endless})) as runner, pytest.raises(CouldNotRun) as caught:
        runner.run()
    assert str(caught.value).startswith(f"Made: {method}() does not end: no port was called for 0.2 s, at test_watchdog.py:")


@pytest.mark.parametrize("runtime", ["sync", "asyncio", "asyncio-native"])
@pytest.mark.parametrize("method", ["open", "shutdown"])
def test_an_open_or_shutdown_without_end(runtime: str, method: str) -> None:
    with pytest.raises(CouldNotRun) as caught, Runner(system(runtime, lambda self: None, **{method: spins})) as runner:
        runner.run()
    assert str(caught.value).startswith(f"Made: {method}() does not end: no port was called for 0.2 s, at test_watchdog.py:")
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_a_check_says_it_in_one_sentence() -> None:
    with pytest.raises(CouldNotRun) as caught:
        check(system("sync", spins), fresh_process=False)
    expected = (
        "Made never acts, even without any event: it was stuck (waits for nothing: no port was called for 0.2 s, at test_watchdog.py:"
    )
    assert str(caught.value).startswith(expected)


def test_a_run_that_only_an_event_makes_endless_is_a_finding_that_replays() -> None:
    def work(self: Any) -> None:
        order = self.kit.read(X)
        while self.kit._log[0] and order.id != "x@1":
            pass
        self.kit.act("go", {"drink": order.value}, expect={X: order.id})

    made = system("sync", work, halt_exceptions=(Exception,), timeout_s=0.5)
    report = check(made, max_events=1, fresh_process=False)
    assert [failure.code for failure in report.failures][:1] == ["stuck"]
    assert replay(case_of(report, report.failures[0]), made).status == "fails"


# -- where it waits -------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was raised where nothing can be."""
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: seen.append(what.exc_value))
    return seen


def test_a_destructor_is_let_end(unraisable: list[Any]) -> None:
    class Slow:
        def __del__(self) -> None:
            time.sleep(3 * LIMIT_S)

    def work(self: Any) -> None:
        Slow()  # gone at once
        spins(self)

    with Runner(system("sync", work)) as runner:
        assert runner.run().ended.how == "stuck"
    assert unraisable == []


def test_a_callback_of_the_garbage_collector_is_let_end(unraisable: list[Any]) -> None:
    called = []

    def collected(phase: str, info: dict[str, int]) -> None:
        called.append(phase)
        time.sleep(3 * LIMIT_S)

    def work(self: Any) -> None:
        gc.callbacks.append(collected)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(collected)
        spins(self)

    with Runner(system("sync", work)) as runner:
        assert runner.run().ended.how == "stuck"
    assert called == ["start", "stop"]
    assert unraisable == []


def test_a_destructor_without_end_is_ended_too(monkeypatch: pytest.MonkeyPatch, unraisable: list[Any]) -> None:
    monkeypatch.setattr("fencecheck.run.watchdog._MOST_WAITS", 2)

    class Endless:
        def __del__(self) -> None:
            spins(self)

    with Runner(system("sync", lambda self: Endless() and None)) as runner:
        assert runner.run().ended.how == "stuck"
    assert [type(error).__name__ for error in unraisable] == ["Overdue"]


def test_whoever_runs_on_after_an_episode_that_could_not_is_left_alone() -> None:
    def work(self: Any) -> None:
        self.kit.act("no such action", {})

    with Runner(system("sync", work)) as runner:
        with pytest.raises(BadInput):
            runner.run()
        time.sleep(3 * LIMIT_S)


# -- whom it leaves alone --------------------------------------------------------------------------------------------------------------


def test_a_signal_that_somebody_else_uses_is_theirs() -> None:
    def theirs(number: int, frame: Any) -> None:
        raise TimeoutError("theirs")

    before = signal.signal(signal.SIGALRM, theirs)
    try:
        signal.setitimer(signal.ITIMER_REAL, 3 * LIMIT_S)
        with Runner(system("sync", spins)) as runner:
            assert signal.getsignal(signal.SIGALRM) is theirs
            assert runner.run().ended == Ended("crashed", "TimeoutError: theirs")
        assert signal.getsignal(signal.SIGALRM) is theirs
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_nothing_is_left_of_it() -> None:
    with Runner(system("sync", lambda self: None)) as runner:
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
        with Runner(system("sync", lambda self: None)) as inner:
            inner.run()
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0  # the one around it goes on
        runner.run()
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_another_thread_goes_without() -> None:
    ended = []

    def search() -> None:
        with Runner(system("sync", lambda self: None)) as runner:
            ended.append(runner.run().ended)

    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    assert ended == [Ended("returned")]


def test_what_cannot_be_ended_takes_the_process_with_it() -> None:
    program = (
        "from tests.run.test_watchdog import *\n"
        "import sys\n"
        "def never(self):\n"
        "    while True:\n"
        "        try:\n"
        "            swallows_everything_twice(self)\n"
        "        except BaseException: pass\n"
        "with Runner(system('sync', never)) as runner:\n"
        "    runner.run()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("fencecheck: Made is stuck and cannot be ended: no port was called for 0.2 s, at ")
    assert done.stderr.count("\n") == 1
