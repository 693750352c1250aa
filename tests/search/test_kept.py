"""A search that ran out of time, or was killed, goes on from its store, and comes to what one comes to that was not interrupted."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from fencecheck import Action, AgentSystem, Scenario
from fencecheck.errors import BadInput
from fencecheck.mutants import ALL as MUTANTS
from fencecheck.run.loading import load
from fencecheck.search.check import check
from fencecheck.search.report import Report
from fencecheck.systems import ALL, ON_FILES
from fencecheck.worlds import world

ROOT = Path(__file__).parents[2]


def without_times(report: Report) -> dict[str, Any]:
    """All that is said but how long it took and what was known before."""
    said = {name: getattr(report, name) for name in report.__struct_fields__ if name not in ("seconds", "kept", "failures")}
    said["failures"] = [(failure.code, failure.finding, failure.interleaving, failure.number) for failure in report.failures]
    return said


def in_pieces(system: Any, path: Path, seconds: float, whole: Report, **options: Any) -> int:
    """Begins the same search again and again, with so little time that it ends early, until it says what the whole one says; how often that took."""
    for number in range(1, 300):
        report = check(system, fresh_process=False, store=path, max_time=seconds, **options)
        if without_times(report) == without_times(whole):
            return number
    raise AssertionError(f"{without_times(report)} is not {without_times(whole)}")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("planfence", {"max_events": 1}),
        ("planfence", {"max_events": 2, "scenario": world(keys=2, declared=1, depth=1)}),
        ("eager-sync", {"max_events": 1}),
        ("file-hash", {"max_events": 2}),
        ("first-answer-wins", {"max_events": 1}),
        ("two-executors", {"max_events": 2}),
        ("newest-wins", {"max_events": 2}),
    ],
)
def test_in_pieces_it_comes_to_the_same(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    system = (ALL | ON_FILES | MUTANTS)[name]
    whole = check(system, fresh_process=False, **options)
    assert in_pieces(system, tmp_path / "store", whole.seconds / 20, whole, **options) > 2


def test_the_search_that_closes_goes_on_too(tmp_path: Path) -> None:
    options: dict[str, Any] = {"scenario": world(keys=2, declared=1, depth=1), "per_kind": 40}
    whole = check(ALL["central"], fresh_process=False, **options)
    assert whole.bound.kind == "complete"
    path = tmp_path / "store"
    first = check(ALL["central"], fresh_process=False, store=path, max_time=0.05, **options)
    assert first.episodes < whole.episodes
    assert in_pieces(ALL["central"], path, 0.2, whole, **options) > 1


def test_what_was_run_serves_other_questions(tmp_path: Path) -> None:
    """Another level, and more events: only what is new is run."""
    check(ALL["planfence"], fresh_process=False, max_events=1, store=tmp_path / "store")
    again = check(ALL["planfence"], fresh_process=False, max_events=1, level="at-act", store=tmp_path / "store")
    assert again.verdict == "violated"
    assert again.kept.endswith(" episodes were run before, and read from the store")
    assert int(again.kept.split()[0]) >= again.episodes
    assert without_times(again) == without_times(check(ALL["planfence"], fresh_process=False, max_events=1, level="at-act"))


SLOW = """
import time
from fencecheck.systems.planfence import PlanFenceSystem

class Slow(PlanFenceSystem):
    name = "slow"
    def run(self):
        time.sleep(0.01)
        super().run()
"""


def test_a_killed_search_goes_on(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    store = tmp_path / "store"
    command = [sys.executable, "-m", "fencecheck", "check", "slow.py:Slow", "--max-events", "1", "--store", str(store)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    while process.poll() is None and not held(store):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = held(store)
    assert before > 0
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{before:,} episodes were run before, and read from the store" in " ".join(done.stdout.split())


def held(store: Path) -> int:
    """How many episodes the file holds; the process that writes it lets nobody else look until it is gone, so a copy is looked at."""
    if not store.exists():
        return 0
    copy = store.with_name("copy")
    copy.write_bytes(store.read_bytes())
    db = sqlite3.connect(copy)
    try:
        return int(db.execute("SELECT count(*) FROM episodes").fetchone()[0])
    except sqlite3.DatabaseError:
        return 0
    finally:
        db.close()


class Odd:
    """A value that no file can hold as it is."""


class Unstorable(AgentSystem):
    """Sends an object."""

    scenario = Scenario(owners={"o": ["k"]}, actions=[Action("act", depends_on=["k"])], values={"k": ["a", "b", "c"]})

    def run(self) -> None:
        record = self.kit.read("k", timeout=1.0)
        self.kit.act("act", {"to": Odd()}, basis={"k": record.id})


def test_what_cannot_be_stored_is_run_each_time_and_told(tmp_path: Path) -> None:
    whole = check(Unstorable, fresh_process=False, max_events=1)
    for _ in range(2):
        report = check(Unstorable, fresh_process=False, max_events=1, store=tmp_path / "store")
        assert (report.verdict, report.episodes, report.counts) == (whole.verdict, whole.episodes, whole.counts)
    assert "hold values that cannot be stored, and are run each time" in report.kept


class TestRefused:
    """One file for one system in one world."""

    def test_another_system(self, tmp_path: Path) -> None:
        check(ALL["central"], max_events=0, fresh_process=False, store=tmp_path / "it")
        with pytest.raises(BadInput, match="it holds episodes of system central, not planfence: name another file"):
            check(ALL["planfence"], max_events=0, fresh_process=False, store=tmp_path / "it")

    def test_another_world(self, tmp_path: Path) -> None:
        check(ALL["central"], max_events=0, fresh_process=False, store=tmp_path / "it")
        with pytest.raises(BadInput, match="it holds episodes of another scenario: name another file"):
            check(ALL["central"], max_events=0, scenario=world(seed=1), fresh_process=False, store=tmp_path / "it")

    def test_another_version_of_the_source_file(self, tmp_path: Path) -> None:
        source = tmp_path / "slow.py"
        source.write_text(SLOW)
        check(load(f"{source}:Slow"), max_events=0, fresh_process=False, store=tmp_path / "it")
        source.write_text(SLOW + "\n")
        with pytest.raises(BadInput, match="it holds episodes of another version of its source files"):
            check(load(f"{source}:Slow"), max_events=0, fresh_process=False, store=tmp_path / "it")

    def test_a_store_of_a_campaign(self, tmp_path: Path) -> None:
        from fencecheck.measure import Options, compare

        compare(["central"], options=Options(episodes=1, store=tmp_path / "it"))
        with pytest.raises(BadInput, match="it is no store of these results: name another file"):
            check(ALL["central"], max_events=0, fresh_process=False, store=tmp_path / "it")
        check(ALL["central"], max_events=0, fresh_process=False, store=tmp_path / "other")
        with pytest.raises(BadInput, match="other is no store of these results: name another file"):
            compare(["central"], options=Options(episodes=1, store=tmp_path / "other"))

    def test_explore(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="a store is for the engine exhaust: what Hypothesis draws is drawn anew each time"):
            check(ALL["central"], engine="explore", store=tmp_path / "it")

    def test_a_damaged_one(self, tmp_path: Path) -> None:
        check(ALL["central"], max_events=1, fresh_process=False, store=tmp_path / "it")
        with sqlite3.connect(tmp_path / "it") as db:
            db.execute("UPDATE episodes SET happened = x'00'")
        db.close()
        with pytest.raises(BadInput, match=r"it is damaged .*: remove it, and begin anew"):
            check(ALL["central"], max_events=1, fresh_process=False, store=tmp_path / "it")
