"""The OpenAI Agents SDK example: the naive agent and the fenced one, over updates and restarts, its plain tools in threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents", reason="openai-agents is not installed: pip install 'fencecheck[openai-agents]'")

from fencecheck import Event, Outage, Restart, Update, check
from fencecheck.history import Pause, Read, labelled
from fencecheck.judge import judge
from fencecheck.run.loading import load
from fencecheck.run.simulate import Runner

EXAMPLE = Path(__file__).parents[2] / "examples" / "openai_agents_deployment" / "check_deployments.py"
NaiveDeployment, FencedDeployment = load(f"{EXAMPLE}:NaiveDeployment"), load(f"{EXAMPLE}:FencedDeployment")
RELEASE, REGION = "service/shop/release", "service/shop/region"


@pytest.fixture(scope="module")
def naive() -> Iterator[Runner]:
    with Runner(NaiveDeployment) as runner:
        yield runner


@pytest.fixture(scope="module")
def fenced() -> Iterator[Runner]:
    with Runner(FencedDeployment) as runner:
        yield runner


def at(runner: Runner, label: str, number: int = 1) -> int:
    """The point of that label in the run without events."""
    return labelled(runner.run()).index((label, number))


def test_naive_is_violated_by_one_update_during_the_approval() -> None:
    report = check(NaiveDeployment, kinds=["update", "restart"], fresh_process=False)
    assert [failure.code for failure in report.failures] == ["stale-act"]
    failure = report.failures[0]
    assert failure.smallest
    assert [event.what for event in failure.events] == [Update(RELEASE)]
    assert labelled(failure.history)[failure.events[0].at] == ("act deploy", 1)
    assert failure.history.lines[failure.history.entries.index(failure.history.effects[0])].startswith("deployments.py:")


def test_fenced_holds_over_updates_and_restarts() -> None:
    report = check(FencedDeployment, max_events=1, kinds=["update", "restart", "dropped-declaration"], fresh_process=False)
    assert report.verdict == "held", report.failures
    assert report.counts["recovered"] > 0
    assert report.counts["stuck"] == report.counts["crashed"] == report.counts["duplicates"] == 0
    assert set(report.fired) == {"update", "restart", "dropped-declaration"}


def test_fenced_recovers_by_reading_again_and_asking_again(fenced: Runner) -> None:
    history = fenced.run((), (Event(at(fenced, f"head {RELEASE}"), Update(REGION)),))
    judgement = judge(history)
    assert not judgement.findings
    assert (judgement.outcome, judgement.recovered) == ("completed", True)
    assert history.effects[0].args == {"region": "ap-northeast", "image": "shop:4.1.0"}
    assert len([entry for entry in history.entries if type(entry) is Pause]) == 2


@pytest.mark.parametrize("runner", ["naive", "fenced"])
def test_a_restart_anywhere_goes_on_from_the_saved_state(runner: str, request: pytest.FixtureRequest) -> None:
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
    for runner, found, region in ((naive, ["stale-act"], "eu-west"), (fenced, [], "ap-northeast")):
        resumed = at(runner, "pause approval") + 1
        history = runner.run((), (Event(resumed, Update(REGION)), Event(resumed, Restart("agent"))))
        assert len(history.fired) == 2
        assert [finding.code for finding in judge(history).findings] == found
        assert history.effects[0].args["region"] == region


def test_an_owner_that_does_not_answer_is_a_halt(fenced: Runner) -> None:
    for how in ("refuse", "hang", "malformed"):
        history = fenced.run((), (Event(at(fenced, f"head {REGION}"), Outage("platform", how)),))
        assert not history.effects
        assert history.ended.how == "halted", how


def test_the_roll_out_is_made_in_a_thread(fenced: Runner) -> None:
    senders: list[Any] = []

    class Watched(FencedDeployment):  # type: ignore[misc,valid-type]
        def setup(self, kit: Any) -> None:
            super().setup(kit)
            roll_out = self.services.roll_out
            self.services.roll_out = lambda *args: senders.append(threading.current_thread()) or roll_out(*args)

    with Runner(Watched) as runner:
        assert len(runner.run().effects) == 1
    assert len(senders) == 1
    assert senders[0] is not threading.main_thread()
