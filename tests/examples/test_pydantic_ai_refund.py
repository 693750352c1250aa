"""The PydanticAI example: the naive agent and the fenced one, over updates and restarts, its plain tools in threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: pip install 'fencecheck[pydantic-ai]'")

from fencecheck import Event, Outage, Restart, Update, check
from fencecheck.history import Pause, Read, labelled
from fencecheck.judge import judge
from fencecheck.run.loading import load
from fencecheck.run.simulate import Runner

EXAMPLE = Path(__file__).parents[2] / "examples" / "pydantic_ai_refund" / "check_refunds.py"
NaiveRefund, FencedRefund = load(f"{EXAMPLE}:NaiveRefund"), load(f"{EXAMPLE}:FencedRefund")
AMOUNT, ACCOUNT = "order/42/amount", "customer/7/account"


@pytest.fixture(scope="module")
def naive() -> Iterator[Runner]:
    with Runner(NaiveRefund) as runner:
        yield runner


@pytest.fixture(scope="module")
def fenced() -> Iterator[Runner]:
    with Runner(FencedRefund) as runner:
        yield runner


def at(runner: Runner, label: str, number: int = 1) -> int:
    """The point of that label in the run without events."""
    return labelled(runner.run()).index((label, number))


def test_naive_is_violated_by_one_update_during_the_approval() -> None:
    report = check(NaiveRefund, kinds=["update", "restart"], fresh_process=False)
    assert [failure.code for failure in report.failures] == ["stale-act"]
    failure = report.failures[0]
    assert failure.smallest
    assert [event.what for event in failure.events] == [Update(AMOUNT)]
    assert labelled(failure.history)[failure.events[0].at] == ("act refund", 1)
    assert failure.history.lines[failure.history.entries.index(failure.history.effects[0])].startswith("refunds.py:")


def test_fenced_holds_over_updates_and_restarts() -> None:
    report = check(FencedRefund, max_events=1, kinds=["update", "restart", "dropped-declaration"], fresh_process=False)
    assert report.verdict == "held", report.failures
    assert report.counts["recovered"] > 0
    assert report.counts["stuck"] == report.counts["crashed"] == report.counts["duplicates"] == 0
    assert set(report.fired) == {"update", "restart", "dropped-declaration"}


def test_fenced_recovers_by_reading_again_and_asking_again(fenced: Runner) -> None:
    history = fenced.run((), (Event(at(fenced, f"head {AMOUNT}"), Update(ACCOUNT)),))
    judgement = judge(history)
    assert not judgement.findings
    assert (judgement.outcome, judgement.recovered) == ("completed", True)
    assert history.effects[0].args == {"account": "FR14 2004 1010", "amount": "EUR 80.00"}
    assert len([entry for entry in history.entries if type(entry) is Pause]) == 2


@pytest.mark.parametrize("runner", ["naive", "fenced"])
def test_a_restart_anywhere_goes_on_from_the_saved_conversation(runner: str, request: pytest.FixtureRequest) -> None:
    run: Runner = request.getfixturevalue(runner)
    approved = at(run, "pause approval")
    for point, (label, _) in enumerate(labelled(run.run())):
        history = run.run((), (Event(point, Restart("agent")),))
        assert history.fired, label
        assert len(history.effects) == 1
        assert not judge(history).findings
        pauses, reads = ([entry for entry in history.entries if type(entry) is kind] for kind in (Pause, Read))
        assert len(pauses) == 1, "somebody was asked twice"
        assert (len(reads) == 2) == (point >= approved or point == 0), "what was saved is read again, or was lost"


def test_an_update_while_the_process_is_down(naive: Runner, fenced: Runner) -> None:
    for runner, found, paid in ((naive, ["stale-act"], "DE02 1203 0000"), (fenced, [], "FR14 2004 1010")):
        resumed = at(runner, "pause approval") + 1
        history = runner.run((), (Event(resumed, Update(ACCOUNT)), Event(resumed, Restart("agent"))))
        assert len(history.fired) == 2
        assert [finding.code for finding in judge(history).findings] == found
        assert history.effects[0].args["account"] == paid


def test_an_owner_that_does_not_answer_is_a_halt(fenced: Runner) -> None:
    for how in ("refuse", "hang", "malformed"):
        history = fenced.run((), (Event(at(fenced, f"head {ACCOUNT}"), Outage("customers", how)),))
        assert not history.effects
        assert history.ended.how == "halted", how


def test_the_money_is_sent_from_a_thread(fenced: Runner) -> None:
    senders: list[Any] = []

    class Watched(FencedRefund):  # type: ignore[misc,valid-type]
        def setup(self, kit: Any) -> None:
            super().setup(kit)
            pay = self.services.pay
            self.services.pay = lambda *args: senders.append(threading.current_thread()) or pay(*args)

    with Runner(Watched) as runner:
        assert len(runner.run().effects) == 1
    assert len(senders) == 1
    assert senders[0] is not threading.main_thread()
