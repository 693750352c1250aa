"""A coding agent writes a file back from an old read. Each guard seen in the field, the hole that it has, and the smallest case that shows it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from fencecheck.integrations.files import FileSystem, appends, writes
from fencecheck.interleaving import Event, Update
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner
from fencecheck.systems import ON_FILES
from fencecheck.systems.editor import NOTES, Changed, Editor
from fencecheck.systems.file_hash import FileHash
from fencecheck.systems.file_mtime import FileMtime

from .agents import checked, of, smallest

KINDS = ["update"]


def one(at: int, how: str) -> tuple[Event, ...]:
    return (Event(at, Update(NOTES, how)),)


def shown_by(system: Any, code: str, **options: Any) -> tuple[Event, ...]:
    """The smallest interleaving that shows `code`."""
    report = checked(system, kinds=KINDS, max_events=1, fail_on={"needless-halt"}, **options)
    return {code: events for code, _, events in smallest(report)}[code]


class NewerTime(FileMtime):
    """Refuses a file that is newer than what it read."""

    def refuse_changed(self, before: Any) -> None:
        now = self.kit.head(NOTES, via=self.stamp)
        if now > before:
            raise Changed("the notes are newer")
        self.kit.validated([NOTES])


class TimeAndSize(Editor):
    def stamp(self) -> tuple[int, int]:
        about = os.stat(self.root / NOTES)
        return about.st_mtime_ns, about.st_size


def test_no_guard_at_all() -> None:
    assert shown_by(ON_FILES["file-naive"], "stale-act") == one(2, "fresh")


def test_a_modification_time_that_is_compared_for_equality_misses_two_saves_in_one_tick() -> None:
    assert shown_by(FileMtime, "stale-act") == one(2, "same-tick")


def test_a_modification_time_that_must_not_be_newer_misses_one_that_goes_backward() -> None:
    assert shown_by(NewerTime, "stale-act") == one(2, "older-time")


def test_time_and_size_miss_what_keeps_both() -> None:
    assert shown_by(TimeAndSize, "stale-act") == one(2, "same-tick-and-size")


def test_times_refuse_a_file_that_was_only_touched() -> None:
    for system in (FileMtime, NewerTime, TimeAndSize):
        with Runner(system) as runner:
            judgement = judge(runner.run((), one(2, "touched")))
        assert ([finding.code for finding in judgement.findings], judgement.outcome) == (["needless-halt"], "halted-needless")


def test_a_hash_of_the_content_right_before_the_write_holds_and_leaves_the_window_after_it() -> None:
    report = checked(FileHash, kinds=KINDS, fail_on={"needless-halt"})
    assert (report.verdict, report.failures, report.noticed, set(report.beyond)) == ("held", [], {}, {"raced-act"})
    assert (report.bound.kind, report.bound.value) == ("events", 2)
    assert shown_by(FileHash, "raced-act", level="at-act") == one(3, "fresh")


def test_what_else_happens_to_a_file_is_no_hole_of_a_hash() -> None:
    with Runner(FileHash) as runner:
        outcomes = {
            how: judge(runner.run((), one(2, how))).outcome for how in ("removed", "renamed-away", "renamed-over", "truncated", "touched")
        }
    assert outcomes == {
        "removed": "halted-unverified",  # there is nothing to hash
        "renamed-away": "halted-unverified",
        "renamed-over": "halted-changed",
        "truncated": "halted-changed",
        "touched": "completed",
    }


class TwoTools(FileHash):
    """Writes the file, then patches it from what it wrote; the guard is a thing that each tool has to call."""

    actions = (writes("write"), writes("patch"))
    patch_is_guarded = True
    knows_its_own_write = True

    def run(self) -> None:
        content, before = self.kit.read(NOTES, via=self.read_tool)
        self.refuse_changed(before)
        content = f"{content}- done by the agent\n"
        self.write(NOTES, content)
        if self.knows_its_own_write:
            before = self.stamp()
        self.kit.point("the model thinks")
        if self.patch_is_guarded:
            self.refuse_changed(before)
        self.write(NOTES, content.replace("done", "done twice"), action="patch")


def test_a_guard_that_every_tool_calls() -> None:
    report = checked(TwoTools, kinds=KINDS, max_events=1, fail_on={"needless-halt"})
    assert (report.verdict, report.noticed) == ("held", {})
    assert report.counts["halted_changed"] > 0


def test_a_guard_that_one_of_two_tools_forgets_to_call() -> None:
    report = checked(of(TwoTools, patch_is_guarded=False), kinds=KINDS, max_events=1)
    assert smallest(report) == [("stale-act", NOTES, one(4, "fresh"))]
    assert report.failures[0].finding.message.startswith("patch went out")


def test_a_guard_that_refuses_the_agent_s_own_last_write() -> None:
    report = checked(of(TwoTools, knows_its_own_write=False), kinds=KINDS, max_events=1, fail_on={"needless-halt"})
    assert smallest(report) == [("needless-halt", None, ())]


class Appends(FileSystem):
    """Adds a line to a log, whatever stands in it."""

    files = {"log.txt": "started\n"}
    actions = (appends("append_line"),)

    def run(self) -> None:
        self.kit.read("log.txt", via=lambda: (self.root / "log.txt").read_text())
        self.kit.act("append_line", {"path": "log.txt", "line": "done"}, via=self.append_line)

    def append_line(self) -> None:
        with open(self.root / "log.txt", "a") as file:
            file.write("done\n")


@pytest.mark.parametrize("how", ["fresh", "same-tick", "truncated", "removed", "touched"])
def test_an_append_depends_on_no_version(how: str) -> None:
    with Runner(Appends) as runner:
        judgement = judge(runner.run((), (Event(1, Update("log.txt", how)),)))
    assert (judgement.outcome, judgement.findings) == ("completed", [])
