"""The JavaScript example: a real Node process, driven over real HTTP."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="starlette is not installed: pip install 'fencecheck[http]'")
if shutil.which("node") is None:
    pytest.skip("node is not installed", allow_module_level=True)

from fencecheck import CorruptParent, Event, MissingParent, Outage, Restart, ToolFault, Update, check
from fencecheck.history import Act, Derive, Validated
from fencecheck.interleaving import CORRUPT_HOWS, OUTAGE_HOWS, TOOL_HOWS, What
from fencecheck.judge import judge
from fencecheck.report.terminal import plain, report_lines
from fencecheck.run.loading import load
from fencecheck.run.simulate import Runner
from fencecheck.search.report import Report

EXAMPLE = Path(__file__).parents[2] / "examples" / "javascript_orders" / "system.py"
Naive, Fenced = load(f"{EXAMPLE}:Naive"), load(f"{EXAMPLE}:Fenced")
ADDRESS, WINDOW = "order/42/address", "order/42/window"
ACT = 4
"""The point of the act of `Naive`, after two reads, the plan and the approval."""


@pytest.fixture(scope="module")
def fenced() -> Iterator[Runner]:
    with Runner(Fenced) as runner:
        yield runner


@pytest.fixture(scope="module")
def naive() -> Report:
    return check(Naive, max_events=1)


def outcome(runner: Runner, *events: tuple[int, What]) -> tuple[str, list[str]]:
    judgement = judge(runner.run((), tuple(Event(at, what) for at, what in events)))
    return judgement.outcome, [finding.code for finding in judgement.findings]


def test_naive_is_violated_by_one_update_while_a_person_approves(naive: Report) -> None:
    report = naive
    assert report.verdict == "violated"
    assert report.assumed[0] == "deterministic (checked, in a fresh process too)"
    [failure] = report.failures
    assert (failure.code, failure.events) == ("stale-act", (Event(ACT, Update(ADDRESS)),))
    [act] = failure.history.effects
    assert act.args == {"order": "42", "address": "2-21 Shibuya, Tokyo", "window": "Monday 09:00 to 11:00"}
    assert {line.partition(":")[0] for line in failure.history.lines.values()} == {"agent.js"}


def test_fenced_holds_in_every_interleaving_of_one_event() -> None:
    report = check(Fenced, max_events=1, fresh_process=False)
    assert (report.verdict, report.noticed) == ("held", {})
    counts = report.counts
    assert min(counts["completed"], counts["recovered"], counts["halted_changed"] + counts["halted_unverified"]) > 0
    assert counts["crashed"] == counts["stuck"] == counts["duplicates"] == 0
    assert {"update", "outage", "missing-parent", "corrupt-parent", "tool-fault", "restart", "dropped-declaration"} <= set(report.fired)


def test_fenced_holds_in_every_interleaving_of_two_updates() -> None:
    report = check(Fenced, max_events=2, fresh_process=False, kinds=["update"])
    assert (report.verdict, report.noticed) == ("held", {})
    assert report.counts["recovered"] > 0


def test_fenced_plans_again_once_and_then_halts(fenced: Runner) -> None:
    assert outcome(fenced, (4, Update(ADDRESS))) == ("completed", [])
    history = fenced.run((), (Event(4, Update(ADDRESS)),))
    assert [type(entry) for entry in history.entries if type(entry) in (Derive, Validated, Act)] == [Derive, Derive, Validated, Act]
    assert history.effects[0].args["address"] == "3-1 Umeda, Osaka"
    assert outcome(fenced, (4, Update(ADDRESS)), (fenced.horizon + 1, Update(ADDRESS)))[0] == "halted-changed"


@pytest.mark.parametrize(
    "what",
    [
        *(Outage("orders", how) for how in OUTAGE_HOWS if how != "older-head"),
        MissingParent(ADDRESS),
        *(CorruptParent(0, how) for how in CORRUPT_HOWS),
        *(ToolFault("deliver", how) for how in TOOL_HOWS),
    ],
    ids=repr,
)
def test_no_fault_makes_fenced_act_on_what_it_cannot_verify(fenced: Runner, what: Any) -> None:
    assert outcome(fenced, (4, what))[1] == []


def test_a_restart_begins_again_in_a_new_process(fenced: Runner) -> None:
    assert outcome(fenced, (3, Restart())) == ("completed", [])


def test_the_readme_shows_what_the_check_prints(naive: Report) -> None:
    shown = (EXAMPLE.parent / "README.md").read_text("utf-8")
    printed = plain(report_lines(naive, 120)).splitlines()
    for line in printed[: printed.index("  right would be: replan once from the current version and validate again, or halt.")]:
        assert line in shown.splitlines()
    assert sys.modules[Naive.__module__].__file__ == str(EXAMPLE)
