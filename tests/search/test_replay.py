"""Stored cases: anchored on labels, so that what has nothing to do with an event does not move it."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fencecheck.codec import AnchoredEvent, Case, anchored, load_case, save_case
from fencecheck.errors import BadInput, CouldNotRun, Nondeterministic
from fencecheck.history import Landed, points
from fencecheck.interleaving import (
    KINDS,
    CorruptParent,
    Deliver,
    Event,
    MissingParent,
    Outage,
    Replan,
    Restart,
    Restore,
    ToolFault,
    Update,
    kind_of,
)
from fencecheck.judge import judge
from fencecheck.model import Action, Scenario
from fencecheck.mutants import ALL as MUTANTS
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.landing import Anchored
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check
from fencecheck.search.placing import every
from fencecheck.search.replay import Replay, case_of, replay
from fencecheck.systems import ALL

from .files import agent

NAIVE = """
order = kit.read("x", timeout=1)
plan = kit.derive({"to": order.value}, [order])
kit.pause("approval")
kit.act("ship", plan.value, plan=plan)
"""
FENCED = """
order = kit.read("x", timeout=1)
plan = kit.derive({"to": order.value}, [order])
kit.pause("approval")
if kit.head("x", timeout=1) != order.id:
    raise Halt("changed")
kit.validated(["x"])
kit.act("ship", plan.value, plan=plan)
"""


def case(*events: tuple[str, int, Any], code: str = "stale-act", key: str | None = "x", scenario: Scenario | None = None) -> Case:
    return Case("0", "Agent", scenario, (), tuple(AnchoredEvent(*event) for event in events), "at-validation", code, key, "")


CASE = case(("act ship", 1, Update("x")))


def on(folder: Path, run: str, stored: Case = CASE, **more: str) -> Replay:
    return replay(stored, agent(folder, run, **more))


# -- fails, no longer fails, stale -------------------------------------------------------------------------------------------------


def test_what_a_check_finds_replays_from_its_file(tmp_path: Path) -> None:
    system = agent(tmp_path, NAIVE)
    report = check(system, max_events=1)
    failure = next(failure for failure in report.failures if failure.code == "stale-act")
    stored = load_case(save_case(case_of(report, failure), tmp_path / "cases"))
    assert stored.events == CASE.events
    again = replay(stored, system)
    assert (again.status, again.exit_status, again.finding) == ("fails", 1, failure.finding)
    assert again.message == failure.finding.message == "ship went out made from x@1 while x@2 was current."
    assert again.history.entries == failure.history.entries


def test_after_the_fix_it_no_longer_fails(tmp_path: Path) -> None:
    again = on(tmp_path, FENCED, case(("pause approval", 1, Update("x"))))
    assert (again.status, again.exit_status, again.finding) == ("no longer fails", 0, None)
    assert again.message == "no longer fails: Agent does not show stale-act in this interleaving any more"


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (('kit.pause("approval")', "pass"), "'pause approval #1'"),
        (('kit.pause("approval")', 'kit.pause("consent")'), "'pause approval #1'"),
    ],
)
def test_a_point_that_is_gone_makes_the_case_stale(tmp_path: Path, change: tuple[str, str], left: str) -> None:
    again = on(tmp_path, NAIVE.replace(*change), case(("pause approval", 1, Update("x"))))
    assert (again.status, again.exit_status, again.finding) == ("stale case", 3, None)
    assert again.message == f"stale case: Agent no longer has {left}, before which an event of the case lands: save the case anew"


def test_an_occurrence_that_is_gone_makes_the_case_stale(tmp_path: Path) -> None:
    again = on(tmp_path, FENCED, case(("head x", 2, Update("x"))))
    assert again.status == "stale case"
    assert "'head x #2'" in again.message


def test_a_case_that_fails_all_the_same_is_not_stale(tmp_path: Path) -> None:
    stored = case(("act ship", 1, Update("x")), ("pause gone", 1, Outage("slots")))
    assert on(tmp_path, NAIVE, stored).status == "fails"


@pytest.mark.parametrize(
    ("what", "gone"),
    [
        (Update("z"), "the key 'z' of the update"),
        (Deliver("z"), "the key 'z' of the deliver"),
        (Outage("warehouse"), "the owner 'warehouse' of the outage"),
        (Restore("warehouse"), "the owner 'warehouse' of the restore"),
        (ToolFault("send"), "the tool 'send' of the tool-fault"),
        (MissingParent("z"), "the key 'z' of the missing-parent"),
        (Restart("nobody"), "the agent 'nobody' of the restart"),
        (Replan("tomorrow"), "the task 'tomorrow' of the replan"),
    ],
)
def test_what_the_scenario_no_longer_has_makes_the_case_stale(tmp_path: Path, what: Any, gone: str) -> None:
    again = on(tmp_path, NAIVE, case(("act ship", 1, what)))
    assert again.status == "stale case"
    assert again.message == f"stale case: Agent no longer has {gone}, which the case names: save the case anew"


def test_events_that_change_nothing_any_more_make_the_case_stale(tmp_path: Path) -> None:
    again = on(tmp_path, NAIVE, case(("act ship", 1, MissingParent(99))))
    assert again.status == "stale case"
    assert (
        again.message
        == "stale case: Agent no longer has anything that the missing-parent before 'act ship #1' would change: save the case anew"
    )


@pytest.mark.parametrize("what", [Update("x", "earlier"), MissingParent(99), CorruptParent(99), Restore("orders")])
def test_an_event_that_changes_nothing_any_more_makes_the_case_stale_though_others_fire(tmp_path: Path, what: Any) -> None:
    again = on(tmp_path, NAIVE, case(("read x", 1, Outage("slots")), ("act ship", 1, what), code="crash"))
    assert (again.status, again.exit_status) == ("stale case", 3)
    said = f"anything that the {kind_of(what)} before 'act ship #1' would change"
    assert again.message == f"stale case: Agent no longer has {said}: save the case anew"


@pytest.mark.parametrize(("what", "hook"), [(Replan(), "replan()"), (Restart(), "restart()")])
def test_a_hook_that_is_gone_makes_the_case_stale(tmp_path: Path, what: Any, hook: str) -> None:
    again = on(tmp_path, NAIVE, case(("act ship", 1, what)))
    assert [entry.fired for entry in again.history.entries if type(entry) is Landed] == [False]
    assert (again.status, again.exit_status) == ("stale case", 3)
    assert again.message == f"stale case: Agent no longer has {hook}, which the {kind_of(what)} of the case needs: save the case anew"


# -- what is not fixed by not doing anything ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("pass", "Agent never acts, even without any event: run() returned"),
        ("raise Halt('not today')", "Agent never acts, even without any event: it halted (Halt: not today)"),
        ("kit.read('x')\n1 / 0", "Agent crashes before it acts, even without any event: ZeroDivisionError: division by zero"),
    ],
)
def test_a_system_that_never_acts_does_not_pass(tmp_path: Path, run: str, said: str) -> None:
    with pytest.raises(CouldNotRun, match=re.escape(said)):
        on(tmp_path, run, case(("read x", 1, Update("x"))))


def test_a_crash_in_place_of_the_finding_is_no_pass(tmp_path: Path) -> None:
    crashing = NAIVE.replace("kit.act", "if kit.head('x', timeout=1) != order.id:\n    raise ValueError('changed')\nkit.act")
    again = on(tmp_path, crashing, case(("pause approval", 1, Update("x"))))
    assert (again.status, again.exit_status, again.finding) == ("crashed", 3, None)
    assert again.message == (
        "crashed: Agent crashes in this interleaving, and does not show stale-act: ValueError: changed. "
        "If this exception means to halt, name it in halt_exceptions"
    )


def test_a_run_that_gets_stuck_in_place_of_the_finding_is_no_pass(tmp_path: Path) -> None:
    waiting = NAIVE.replace("kit.act", "while kit.head('x', timeout=1) != order.id:\n    pass\nkit.act")
    again = on(tmp_path, waiting, case(("pause approval", 1, Update("x"))))
    assert (again.status, again.exit_status, again.finding) == ("stuck", 1, None)
    assert again.message.startswith("stuck: Agent neither acts nor halts in this interleaving, and does not show stale-act: waits for ")


def test_two_runs_of_a_case_that_differ(tmp_path: Path) -> None:
    chance = NAIVE.replace("kit.act", "kit.read('y', timeout=1) if len(RUNS) % 2 else None\nRUNS.append(1)\nkit.act")
    with pytest.raises(Nondeterministic, match=r"^Agent is not deterministic: two runs of the case differ: entry \d+ is "):
        on(tmp_path, chance, before="RUNS = []")


@pytest.mark.parametrize(
    ("field", "sentence"), [("code", "finding 'other', which there is not: use "), ("level", "level 'other', which there is not: use ")]
)
def test_a_case_of_what_there_is_not(tmp_path: Path, field: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=f"^the case is of the {sentence}"):
        on(tmp_path, NAIVE, msgspec.structs.replace(CASE, **{field: "other"}))


def test_a_case_without_events(tmp_path: Path) -> None:
    assert on(tmp_path, NAIVE, case()).status == "no longer fails"
    assert on(tmp_path, NAIVE + "\n1 / 0\n", case(code="crash", key=None)).status == "fails"


def test_a_finding_of_another_key_is_the_same_failure(tmp_path: Path) -> None:
    assert on(tmp_path, NAIVE, case(("act ship", 1, Update("x")), key="renamed")).status == "fails"


def test_a_case_of_a_system_with_another_kind_of_scenario(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        replay(CASE, ALL["planfence"])
    assert str(caught.value) == "the case is of the system 'Agent', whose scenario does not fit planfence: name the right system"
    theirs = case(("act ship", 1, Update("x")), scenario=Scenario(owners={"a": ["x"]}, actions=[Action("ship", ["x"])]))
    with pytest.raises(BadInput, match=r"^the case is of the system 'Agent', whose scenario does not fit Agent: name the right system$"):
        replay(theirs, agent(tmp_path, NAIVE))


# -- what has nothing to do with the event moves nothing ---------------------------------------------------------------------------

UNRELATED = ['kit.read("y", timeout=1)', 'kit.head("y", timeout=1)', 'kit.memory("y")', 'kit.point("metrics")', 'kit.pause("queue")']


def variants(seed: int, base: str = NAIVE) -> str:
    """`base` with unrelated port calls put in anywhere, in any order."""
    rng = random.Random(seed)
    lines = base.strip().splitlines()
    for call in rng.sample(UNRELATED, rng.randint(1, len(UNRELATED))):
        # not inside the branch
        lines.insert(rng.choice([i for i in range(len(lines)) if not lines[i].startswith(" ")]), call)
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(12))
def test_unrelated_calls_move_no_event(tmp_path: Path, seed: int) -> None:
    again = on(tmp_path, variants(seed))
    assert again.status == "fails"
    (landed,) = [i for i, entry in enumerate(again.history.entries) if type(entry) is Landed]
    assert again.history.entries[landed + 1].__struct_config__.tag == "act"
    fixed = on(tmp_path, variants(seed, FENCED), case(("head x", 1, Update("x"))))
    assert fixed.status == "no longer fails"


def test_taking_unrelated_calls_away_moves_no_event(tmp_path: Path) -> None:
    long = agent(tmp_path, variants(3, variants(5)))
    report = check(long, max_events=1, fresh_process=False)
    failure = next(failure for failure in report.failures if failure.code == "stale-act")
    stored = case_of(report, failure)
    assert stored.events == CASE.events
    assert on(tmp_path, NAIVE, stored).status == "fails"


def test_reordering_questions_moves_each_event_with_its_own(tmp_path: Path) -> None:
    ask = 'first = kit.head("{}", timeout=1)\nsecond = kit.head("{}", timeout=1)\n'
    stored = case(("head y", 1, Update("y")), ("head x", 1, Update("x")))
    for order in (("x", "y"), ("y", "x")):
        history = on(tmp_path, NAIVE.replace('kit.pause("approval")', ask.format(*order)), stored).history
        follows = {
            entry.what.key: history.entries[i + 1]  # type: ignore[union-attr]
            for i, entry in enumerate(history.entries)
            if type(entry) is Landed
        }
        assert {key: entry.key for key, entry in follows.items()} == {"x": "x", "y": "y"}  # type: ignore[union-attr]


def test_several_events_of_one_point_keep_their_order(tmp_path: Path) -> None:
    events = (("act ship", 1, Update("x")), ("act ship", 1, Outage("orders")), ("act ship", 1, Update("x", "earlier")))
    history = on(tmp_path, variants(1), case(*events)).history
    assert [entry.what for entry in history.entries if type(entry) is Landed] == [what for _, _, what in events]


def test_an_unfired_event_is_not_stored(tmp_path: Path) -> None:
    system = agent(tmp_path, NAIVE)
    with Runner(system) as runner:
        history = runner.run((), (Event(0, Restore("orders")), Event(3, Update("x")), Event(3, Restart("nobody"))))
    assert anchored(history, history.fired) == CASE.events


# -- every kind of event lands where it did -----------------------------------------------------------------------------------------

HOOKS = """
def replan(self, task):
    order = self.kit.read("x", timeout=1)
    self.kit.derive({"to": order.value}, [order])

def restart(self):
    pass
"""
SHIPS_TWICE = """
order = kit.read("x", timeout=1)
kit.act("ship", {"to": order.value}, basis={"x": order.id})
kit.pause("thanks")
kit.head("x", timeout=1)
"""


def test_a_restart_replays(tmp_path: Path) -> None:
    system = agent(tmp_path, SHIPS_TWICE, after=HOOKS)
    report = check(system, max_events=1, fail_on=["duplicate-act"], fresh_process=False)
    failure = next(failure for failure in report.failures if failure.code == "duplicate-act")
    stored = case_of(report, failure)
    assert stored.events == (AnchoredEvent("pause thanks", 1, Restart()),)
    assert replay(stored, system).status == "fails"
    more = SHIPS_TWICE.replace("kit.pause", 'kit.point("metrics")\nkit.pause')
    assert on(tmp_path, more, stored, after=HOOKS).status == "fails"
    once = SHIPS_TWICE.replace("basis=", 'idempotency_key="order 42", basis=')
    assert on(tmp_path, once, stored, after=HOOKS).status == "no longer fails"


def test_any_interleaving_that_fired_replays_to_the_same_history(tmp_path: Path) -> None:
    system = agent(tmp_path, FENCED.replace("kit.act", 'kit.record(plan)\nkit.memory("x")\nkit.act'), after=HOOKS)
    rng = random.Random(20260916)
    with Runner(system) as runner:
        everything = every(runner.scenario, KINDS, 3, frozenset({"honest-owners"}))
        fired: set[type] = set()
        tried = 0
        for _ in range(300):
            drawn = sorted((Event(rng.randrange(9), rng.choice(everything)) for _ in range(rng.randrange(1, 5))), key=lambda e: e.at)
            first = runner.run((), tuple(drawn))
            least = runner.run((), first.fired)
            if least.fired != first.fired or any(event.at >= sum(1 for _ in points(least)) for event in least.fired):
                continue  # what it fires depends on what did not, or nothing follows it
            stored = anchored(least, least.fired)
            again = runner.run((), anchors=Anchored(tuple((event.label, event.occurrence, event.what) for event in stored)))
            assert again.entries == least.entries, least.fired
            fired |= {type(event.what) for event in least.fired}
            tried += 1
    assert tried > 200
    assert fired >= {Update, Outage, MissingParent, ToolFault, Restart, Replan, Deliver}


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutants_case_replays(name: str) -> None:
    report = check(MUTANTS[name], fresh_process=False, fail_on=["duplicate-act"])
    assert report.failures
    for failure in report.failures:
        again = replay(case_of(report, failure), MUTANTS[name])
        assert (again.status, again.finding) == ("fails", failure.finding)
        assert judge(again.history).findings == judge(failure.history).findings


# -- runtimes ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_awaited_ports_replay_too(runtime: str) -> None:
    class Awaited(AgentSystem):
        scenario = Scenario(owners={"orders": ["x"]}, actions=[Action("ship", ["x"])])

        async def run(self) -> None:
            order = await self.kit.aio.read("x")
            await self.kit.aio.pause("approval")
            await self.kit.aio.act("ship", {"to": order.value}, basis={"x": order.id})

    again = replay(CASE, type("Agent", (Awaited,), {"runtime": runtime}))
    assert (again.status, again.history.fired) == ("fails", (Event(2, Update("x")),))
