"""A campaign comes to the same rows whoever runs it, in however many pieces, and however often it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.measure import Options, compare, depth, omission
from fencecheck.measure.cells import Cell, Plan, Row
from fencecheck.measure.distribution import Distribution
from fencecheck.measure.store import Store
from tests.measure import slow_systems
from tests.measure.slow_systems import HarnessFails, NeverActs, OwnWorld

SYSTEMS = slow_systems.__file__
GRID = (0.0, 0.5, 1.0)


def rows(path: Path, plan: Plan | None = None) -> list[Row]:
    """What a store holds, read as anybody can: with SQLite."""
    import sqlite3

    with sqlite3.connect(path) as db:
        found = db.execute("SELECT * FROM episodes ORDER BY cell, number").fetchall()
    db.close()
    return found


def measured(path: Path | None, episodes: int = 120, **options: object):  # type: ignore[no-untyped-def]
    return omission("planfence", grid=GRID, where="before-the-act", options=Options(episodes=episodes, store=path, **options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The rows of a campaign that nobody interrupted."""
    path = tmp_path_factory.mktemp("whole") / "campaign"
    measured(path)
    return rows(path)


def test_the_rows_do_not_depend_on_the_number_of_workers(tmp_path: Path, whole: list[Row]) -> None:
    measured(tmp_path / "two", workers=2)
    assert rows(tmp_path / "two") == whole
    assert len(whole) == 3 * 120


def test_threads_come_to_the_same(tmp_path: Path, whole: list[Row]) -> None:
    with ThreadPoolExecutor(3) as executor:
        measured(tmp_path / "threads", executor=executor)
    assert rows(tmp_path / "threads") == whole


def test_nor_where_each_episode_has_values_of_its_own(tmp_path: Path) -> None:
    found = []
    for number, workers in enumerate((1, 2)):
        compare(["auditing"], options=Options(episodes=12, workers=workers, store=tmp_path / str(number)))
        found.append(rows(tmp_path / str(number)))
    assert found[0] == found[1]
    assert len(found[0]) == 12


def test_a_longer_campaign_goes_on_from_a_shorter_one(tmp_path: Path, whole: list[Row]) -> None:
    told: list[tuple[int, int]] = []
    measured(tmp_path / "it", episodes=50)
    result = measured(tmp_path / "it", told=lambda done, of: told.append((done, of)))
    assert rows(tmp_path / "it") == whole
    assert told[0] == (150, 360)
    assert told[-1] == (360, 360)
    assert [cell.episodes for cell in result.cells] == [120] * 3


def test_a_shorter_one_counts_no_more_than_it_asks_for(tmp_path: Path) -> None:
    measured(tmp_path / "it")
    assert [cell.episodes for cell in measured(tmp_path / "it", episodes=50).cells] == [50] * 3
    assert measured(tmp_path / "it", episodes=50).cells[1].rate("unsafe") == measured(None, episodes=50).cells[1].rate("unsafe")


KILLED = f"""
import sys
from pathlib import Path
from fencecheck.measure import Options, omission

omission("{SYSTEMS}:Slow", grid=(0.5,), options=Options(episodes=60, store=Path(sys.argv[1])))
"""


def test_a_killed_campaign_goes_on_without_losing_or_repeating_an_episode(tmp_path: Path) -> None:
    """Killed at times that chance chose, until one is through; as many moments as it takes."""
    path, chance = tmp_path / "killed", Random(1)
    script = tmp_path / "measure.py"
    script.write_text(KILLED, encoding="utf-8")
    before = 0
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, script, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=Path(__file__).parents[2]
        )
        while process.poll() is None and (not path.exists() or path.stat().st_size < 8192):
            time.sleep(0.01)
        time.sleep(chance.random() * 0.6)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        held = rows(path)
        assert before <= len(held)
        assert [row[1] for row in held] == list(range(len(held)))
        before = len(held)
    subprocess.run([sys.executable, script, path], check=True, cwd=Path(__file__).parents[2])
    subprocess.run([sys.executable, script, tmp_path / "whole"], check=True, cwd=Path(__file__).parents[2])
    assert rows(path) == rows(tmp_path / "whole")
    assert len(rows(path)) == 60


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_process_outlives_a_killed_campaign(tmp_path: Path, end: signal.Signals) -> None:
    path, script = tmp_path / "killed", tmp_path / "measure.py"
    workers = KILLED.replace("episodes=60", "episodes=100_000, workers=2")
    script.write_text(f"if __name__ == '__main__':\n{textwrap.indent(workers, '    ')}", encoding="utf-8")
    process = subprocess.Popen([sys.executable, script, path], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    while not path.exists() or path.stat().st_size < 24_576:  # some episodes, beside empty tables
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(end)
    process.communicate(timeout=60)  # that is, until each process that could write to the pipe has ended
    assert process.returncode == -end


def dies(monkeypatch: pytest.MonkeyPatch, folder: Path, deaths: int) -> str:
    monkeypatch.setenv("FENCECHECK_TEST_TOLD", str(folder))
    monkeypatch.setenv("FENCECHECK_TEST_DEATHS", str(deaths))
    return f"{SYSTEMS}:DiesOnce"


def test_a_worker_process_that_is_killed_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "told"
    told.mkdir()
    system = dies(monkeypatch, told, 2)
    omission(system, grid=(0.5,), options=Options(episodes=40, store=tmp_path / "died", workers=2))
    assert len(list(told.iterdir())) == 2
    omission(system, grid=(0.5,), options=Options(episodes=40, store=tmp_path / "lived"))
    assert rows(tmp_path / "died") == rows(tmp_path / "lived")


def test_workers_that_die_again_and_again_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CouldNotRun, match="a worker process died 3 times and nothing was stored in between"):
        omission(dies(monkeypatch, tmp_path, 50), grid=(0.5,), options=Options(episodes=4, workers=2))


class Fails(ThreadPoolExecutor):
    """Fails at one submission of three, from the third on, in a way of its own."""

    submitted = 0

    def submit(self, *work: Any) -> Future[Any]:  # type: ignore[override]
        self.submitted += 1
        return super().submit(*work) if self.submitted % 3 else self.fail()

    def fail(self) -> Future[Any]:
        raise NotImplementedError


class Cancels(Fails):
    def fail(self) -> Future[Any]:
        cancelled: Future[Any] = Future()
        cancelled.cancel()
        cancelled.set_running_or_notify_cancel()
        return cancelled


class Breaks(Fails):
    def fail(self) -> Future[Any]:
        raise BrokenExecutor("a child process terminated abruptly")


class IsShutDown(Fails):
    def fail(self) -> Future[Any]:
        self.shutdown()
        return self.submit(int)


def test_work_that_an_executor_cancels_is_handed_out_again(tmp_path: Path, whole: list[Row]) -> None:
    with Cancels(1) as executor:
        measured(tmp_path / "cancelled", executor=executor)
    assert rows(tmp_path / "cancelled") == whole


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (Breaks, r"\(BrokenExecutor: a child process terminated abruptly\)"),
        (IsShutDown, r"\(BrokenExecutor: cannot schedule new futures after shutdown\)"),
    ],
)
def test_an_executor_that_gives_up_is_told_and_what_is_stored_stays(tmp_path: Path, whole: list[Row], kind: type[Fails], why: str) -> None:
    path = tmp_path / "broken"
    with pytest.raises(CouldNotRun, match=rf"the executor takes no more work {why}: what is stored stays"), kind(1) as executor:
        measured(path, executor=executor)
    measured(path)
    assert rows(path) == whole


def test_a_worker_process_found_dead_when_work_is_handed_out_loses_nothing(
    tmp_path: Path, whole: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The piece that was to go to it is in nobody's hands."""
    one_after_the_other = iter([Breaks(2), ThreadPoolExecutor(2)])
    monkeypatch.setattr("fencecheck.measure.campaign._processes", lambda workers: next(one_after_the_other))
    measured(tmp_path / "broken", workers=2)
    assert rows(tmp_path / "broken") == whole


def test_dask_comes_to_the_same_also_when_a_worker_is_killed(tmp_path: Path, whole: list[Row]) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killed = []

        def told(done: int, of: int) -> None:
            if done > 30 and not killed:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

        measured(tmp_path / "dask", executor=executor, told=told)
    assert killed
    assert rows(tmp_path / "dask") == whole


class TestHarness:
    """What the harness fails at is kept apart from what the system does."""

    def test_an_episode_that_could_not_be_run_is_in_no_count(self) -> None:
        result = compare([HarnessFails], families=["delivery"], options=Options(episodes=10, tries=2))
        (cell,) = result.cells
        assert 0 < cell.not_run < 10
        assert cell.episodes == 10 - cell.not_run == cell.rate("completed").count
        assert cell.why.startswith("harness-fails: setup() failed: ConnectionError: the database is not up (slow_systems.py:")
        assert result.exit_status == 2

    def test_it_is_tried_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(HarnessFails, "times", 4)
        monkeypatch.setattr(HarnessFails, "failed", {})
        result = compare([HarnessFails], families=["delivery"], options=Options(episodes=10, tries=6))
        assert result.not_run == 0
        assert result.exit_status == 0

    def test_who_goes_on_tries_it_again(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        options = Options(episodes=10, tries=1, store=tmp_path / "it")
        monkeypatch.setattr(HarnessFails, "failed", {})
        assert compare([HarnessFails], families=["delivery"], options=options).not_run > 0
        monkeypatch.setattr(HarnessFails, "times", 0)
        assert compare([HarnessFails], families=["delivery"], options=options).not_run == 0

    def test_a_system_that_never_acts_cannot_be_measured(self) -> None:
        with pytest.raises(CouldNotRun, match="never-acts never acts, even without any event: it halted"):
            compare([NeverActs])


class TestStore:
    """One file for one campaign."""

    def test_another_campaign_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "it"
        measured(path, episodes=5)
        with pytest.raises(BadInput, match=r"it holds another campaign \(seed 0, not 1\): name another file, or ask for the same"):
            measured(path, episodes=5, seed=1)
        with pytest.raises(BadInput, match=r"holds another campaign \(level at-validation, not at-act\)"):
            measured(path, episodes=5, level="at-act")
        with pytest.raises(BadInput, match=r"holds another campaign \(name omission, not depth\)"):
            depth(["planfence"], options=Options(episodes=5, store=path))
        with pytest.raises(BadInput, match=r"holds another campaign \(in which planfence p=0 draws otherwise: 1 of"):
            omission("planfence", grid=GRID, options=Options(episodes=5, store=path))

    def test_another_version_of_what_the_system_imports_is_refused(self, tmp_path: Path) -> None:
        base = tmp_path / "base_of_mine.py"
        base.write_text("from fencecheck.systems.planfence import PlanFenceSystem as Base\n")
        source = tmp_path / "mine_of_base.py"
        source.write_text("from base_of_mine import Base\n\n\nclass Mine(Base):\n    pass\n")
        options = Options(episodes=2, store=tmp_path / "it")
        omission(f"{source}:Mine", options=options)
        base.write_text(base.read_text() + "\n")
        with pytest.raises(BadInput, match=r"of another version of .*mine_of_base.py:Mine's source files"):
            omission(f"{source}:Mine", options=options)

    def test_another_version_of_the_system_is_refused(self, tmp_path: Path) -> None:
        source = tmp_path / "mine.py"
        source.write_text("from fencecheck.systems.planfence import PlanFenceSystem\n\n\nclass Mine(PlanFenceSystem):\n    pass\n")
        options = Options(episodes=2, store=tmp_path / "it")
        omission(f"{source}:Mine", options=options)
        source.write_text(source.read_text() + "\n")
        with pytest.raises(BadInput, match=r"of another version of .*mine.py:Mine's source files"):
            omission(f"{source}:Mine", options=options)

    @pytest.mark.parametrize("content", [b"not a database, but long enough to be looked at" * 40, b"SQLite format 3\0" + b"\0" * 4080])
    def test_another_file_is_refused_and_left_alone(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "it"
        path.write_bytes(content)
        with pytest.raises(BadInput, match=r"it is no store of results|it cannot be used"):
            measured(path, episodes=2)
        assert path.read_bytes() == content

    def test_the_database_of_another_program_is_refused(self, tmp_path: Path) -> None:
        import sqlite3

        with sqlite3.connect(tmp_path / "it") as db:
            db.execute("CREATE TABLE theirs (x)")
        db.close()
        with pytest.raises(BadInput, match="it is no store of these results: name another file"):
            measured(tmp_path / "it", episodes=2)

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match=r"cannot be opened .*: name a file in a folder that can be written"):
            measured(tmp_path / "no" / "it", episodes=2)

    def test_one_process_at_a_time(self, tmp_path: Path) -> None:
        plan = Plan("omission", 0, "at-validation", (Cell("it", {"system": "it"}, "it", Distribution(("k",))),))
        with Store(tmp_path / "it", plan), pytest.raises(BadInput, match="is open in another process: wait for it, or name another file"):
            Store(tmp_path / "it", plan)
        with Store(tmp_path / "it", plan):
            pass


def test_what_another_process_cannot_load_is_refused() -> None:
    class Local(OwnWorld):
        name = "Local"

    result = compare([Local], options=Options(episodes=3))
    assert result.cells[0].rate("unsafe").count == 3
    with pytest.raises(BadInput, match=r"another process cannot load Local: define it at the top of a module, or use one worker"):
        compare([Local], options=Options(episodes=3, workers=2))


def test_an_executor_is_left_running() -> None:
    with ThreadPoolExecutor(1) as executor:
        compare(["planfence"], options=Options(episodes=3, executor=executor))
        assert executor.submit(int, "3").result() == 3
        assert isinstance(executor, Executor)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"episodes": 0}, "episodes must be a whole number from 1 on, not 0"),
        ({"workers": 0}, "workers must be a whole number from 1 on, not 0"),
        ({"tries": 1.5}, r"tries must be a whole number from 1 on, not 1\.5"),
        ({"seed": "x"}, "seed must be a whole number, not 'x'"),
        ({"level": "x"}, "there is no level 'x': use at-validation, at-one-instant, at-act"),
        ({"executor": 3}, r"executor must be a concurrent\.futures\.Executor, or None, not 3"),
        ({"confidence": 95}, r"a confidence lies between 0 and 1, such as 0\.95, not 95"),
    ],
)
def test_options_that_cannot_be(options: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Options(**options)  # type: ignore[arg-type]


OPENED = f"""
import sys
from concurrent.futures import ThreadPoolExecutor
from fencecheck.measure import Options, compare

if __name__ == "__main__":
    with ThreadPoolExecutor(2) as executor:
        compare(["{SYSTEMS}:Opens"], options=Options(episodes=6, executor=executor if sys.argv[1] == "threads" else None, workers=int(sys.argv[2])))
"""


@pytest.mark.parametrize(("executor", "workers"), [("threads", 1), ("processes", 2), ("here", 1)])
def test_what_workers_opened_is_shut_down(tmp_path: Path, executor: str, workers: int) -> None:
    (tmp_path / "it.py").write_text(OPENED, encoding="utf-8")
    environment = {**os.environ, "FENCECHECK_TEST_TOLD": str(tmp_path / "told"), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, tmp_path / "it.py", executor, str(workers)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = (tmp_path / "told").read_text("utf-8").split()
    assert told.count("open") == told.count("shutdown") > 0
