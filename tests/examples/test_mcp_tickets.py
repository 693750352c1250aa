"""The MCP example: the real client and server, in memory and over stdio; the server's process is begun once and leaves with its worker."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="mcp is not installed: pip install 'fencecheck[mcp]'")

from mcp import StdioServerParameters

from fencecheck.history import Derive, points
from fencecheck.interleaving import Event, Outage, ToolFault, Update
from fencecheck.judge import judge
from fencecheck.run.loading import load
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check

EXAMPLE = Path(__file__).parents[2] / "examples" / "mcp_tickets" / "check_tickets.py"
Naive, Fenced, NaiveOverStdio, FencedOverStdio = (
    load(f"{EXAMPLE}:{name}") for name in ("Naive", "Fenced", "NaiveOverStdio", "FencedOverStdio")
)
STARTS, PRICE = "show://42", "get_price/42"
FEW = {"max_events": 1, "fresh_process": False}


@pytest.mark.parametrize("system", [Naive, NaiveOverStdio])
def test_naive_is_violated_by_one_update_between_approval_and_booking(system: Any) -> None:
    report = check(system, kinds=["update"], **FEW)
    failure = report.failures[0]
    assert (report.verdict, failure.code, failure.finding.key) == ("violated", "stale-act", STARTS)
    assert failure.events == (Event(4, Update(STARTS)),)
    assert failure.smallest


@pytest.mark.parametrize(("system", "kinds"), [(Fenced, None), (FencedOverStdio, ["update", "outage"])])
def test_fenced_is_held(system: Any, kinds: list[str] | None) -> None:
    report = check(system, kinds=kinds, **FEW)
    assert report.verdict == "held", report.failures
    assert report.counts["recovered"] > 0
    assert report.counts["halted_unverified"] > 0
    assert report.counts["crashed"] == report.counts["duplicates"] == 0
    assert set(kinds or ["update", "outage", "missing-parent", "corrupt-parent", "tool-fault", "switch"]) <= set(report.fired)


def test_fenced_replans_once_and_halts_when_it_changes_again() -> None:
    with Runner(Fenced) as runner:
        once = runner.run((), (Event(4, Update(PRICE)),))
        assert once.effects[0].args == {"show": "42", "starts": "Monday 19:30", "price": "5,200 yen"}
        assert judge(once).recovered
        replanned = [number for number, (_, entry) in enumerate(points(once)) if isinstance(entry, Derive)][-1]
        again = runner.run((), (Event(4, Update(PRICE)), Event(replanned + 1, Update(STARTS))))
    assert not again.effects
    assert again.ended.detail.startswith("Halt: changed-again")


@pytest.mark.parametrize("how", ["refuse", "hang", "malformed", "wrong-key"])
def test_an_owner_that_does_not_answer_at_validation_stops_the_booking(how: Any) -> None:
    with Runner(Fenced) as runner:
        for owner in ("programme", "prices"):
            history = runner.run((), (Event(4, Outage(owner, how)),))
            assert history.ended.how == "halted", history.ended
            assert not history.effects


def test_a_lost_reply_is_a_booking() -> None:
    with Runner(Naive) as runner:
        history = runner.run((), (Event(4, ToolFault("book", "lost-reply")),))
    assert len(history.effects) == 1
    assert history.ended.how == "halted"


# Notes its process before it is what it was going to be.
NOTES = "import os, runpy, sys; f = open(sys.argv[1], 'a'); print(os.getpid(), file=f); f.close(); sys.argv = sys.argv[2:]; "
NOTES += "runpy.run_path(sys.argv[0], run_name='__main__')"


def test_one_process_for_all_episodes_which_ends_with_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = tmp_path / "processes"

    def noting(command: str, args: list[str]) -> StdioServerParameters:
        return StdioServerParameters(command=command, args=["-c", NOTES, str(noted), *args])

    monkeypatch.setattr(sys.modules[NaiveOverStdio.__module__], "StdioServerParameters", noting)
    with Runner(NaiveOverStdio) as runner:
        for events in ((), (Event(1, Outage("prices", "hang")),), ()):
            runner.run((), events)
        (process,) = [int(line) for line in noted.read_text().split()]
        os.kill(process, 0)  # it lives
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
