"""`fencecheck check`: verdicts, exit status, JSON, saved cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fencecheck import __version__
from fencecheck.cli import ASSUMPTIONS, ENGINES, EXPECTED, LEVELS, PROFILES, WORLDS
from fencecheck.errors import BadInput
from fencecheck.interleaving import OUTAGE_HOWS
from fencecheck.judge import LEVELS as JUDGED
from fencecheck.search import drawing
from fencecheck.systems import ALL

from .made import FENCED, HEAD, NAIVE, RUN, fencecheck, sentence


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_planfence_holds() -> None:
    result = fencecheck("check", "planfence", "--per-kind", 0)
    assert result.exit_code == 0
    assert result.stdout.startswith("planfence · held · at-validation · complete for 4 kinds of event, any number of each\n")
    assert "not promised at this level: at-one-instant fails in" in result.stdout


@pytest.mark.parametrize(("level", "code"), [("at-one-instant", "torn-validation"), ("at-act", "raced-act")])
def test_planfence_at_stronger_levels(level: str, code: str) -> None:
    result = fencecheck("check", "planfence", "--level", level, "--max-events", 1)
    assert result.exit_code == 1
    assert code in result.stdout.splitlines()[0]
    assert "smallest interleaving: 1 event\n" in result.stdout


def test_fresh_read_is_violated_by_one_update() -> None:
    result = fencecheck("check", "fresh-read")
    assert result.exit_code == 1
    assert "  smallest interleaving: 1 event\n    before point 4, read order/42/requirement #2: orders commits" in result.stdout
    assert "made from requirement r1, current r2" in result.stdout
    assert result.stdout.endswith("  to keep this as a case and a test, add --save DIR\n")


def test_direct_parents_holds_where_plans_rest_on_facts_directly() -> None:
    assert fencecheck("check", "direct-parents", "--depth", 1, "--max-events", 1).exit_code == 0
    assert fencecheck("check", "direct-parents", "--max-events", 1).exit_code == 1


def test_sizes_of_the_scenario() -> None:
    assert "order/42/window" not in fencecheck("check", "fresh-read", "--keys", 1).stdout
    assert fencecheck("check", "fresh-read", "--keys", 6, "--declared", 3, "--max-events", 1).exit_code == 1


def test_nothing_fired_is_inconclusive() -> None:
    result = fencecheck("check", "planfence", "--max-events", 0)
    assert result.exit_code == 3
    assert "no event fired, so nothing was tested: allow at least one event" in result.stdout


def test_explore() -> None:
    result = fencecheck("check", "fresh-read", "--engine", "explore", "--examples", 500, "--seed", 3)
    assert result.exit_code == 1
    assert "smallest interleaving found, of which nothing can be left out: 1 event\n" in result.stdout


def test_large_worlds() -> None:
    result = fencecheck("check", "fresh-read", "--engine", "explore", "--worlds", "large", "--examples", 50, "--profile", "fencecheck-pr")
    assert result.exit_code == 1
    again = "check fresh-read --engine explore --seed 0 --profile fencecheck-pr --examples 50 --worlds large"
    assert f"  replay   fencecheck {again}\n" in result.stdout
    assert (
        fencecheck(*again.split()).stdout.partition("replay")[0] == result.stdout.partition("replay")[0]
    )  # after it is said how long it took


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--worlds", "large"], "a profile and large worlds are for what is drawn: use the engine explore"),
        (["--profile", "fencecheck-pr"], "a profile and large worlds are for what is drawn: use the engine explore"),
        (
            ["--worlds", "large", "--engine", "explore", "--keys", 3],
            "a world is given or drawn: leave out large worlds, or what says how large it is",
        ),
    ],
)
def test_what_is_not_drawn_has_no_profile_and_no_large_worlds(arguments: list[object], said: str) -> None:
    result = fencecheck("check", "fresh-read", *arguments)
    assert (result.exit_code, result.stderr) == (2, f"fencecheck: {said}\n")


def test_findings_that_fail_on_request() -> None:
    Path("twice.py").write_text(HEAD + RUN + '        self.kit.act("ship", plan.value, plan=plan)\n')
    plain = fencecheck("check", "twice.py:Naive", "--max-events", 1)
    assert "duplicate-act" not in plain.stdout.splitlines()[0]
    asked = fencecheck("check", "twice.py:Naive", "--max-events", 1, "--fail-on", "duplicate-act")
    assert asked.exit_code == 1
    assert "smallest interleaving: no event, the system does it alone" in asked.stdout


def test_a_dishonest_owner_is_never_blamed_on_the_fence() -> None:
    result = fencecheck("check", "planfence", "--max-events", 2, "--assume-broken", "honest-owners", "--json", "out.json")
    assert result.exit_code == 0
    assert json.loads(Path("out.json").read_text())["systems"][0]["counts"]["misreported"] > 0
    assert "current only as an owner misreported it" in " ".join(result.stdout.split())


def test_several_systems_and_the_worst_status() -> None:
    Path("idle.py").write_text(HEAD + "\n    def run(self):\n        pass\n")
    result = fencecheck("check", "planfence", "fresh-read", "--max-events", 1)
    assert result.exit_code == 1
    assert [line for line in result.stdout.splitlines() if line.startswith(("planfence", "fresh-read"))] == [
        "planfence · held · at-validation · every interleaving of up to 1 event",
        "fresh-read · violated · stale-act at at-validation",
    ]
    assert fencecheck("check", "planfence", "fresh-read", "--max-events", 0).exit_code == 3
    broken = fencecheck("check", "idle.py:Naive", "fresh-read", "--max-events", 1, "--json", "out.json")
    assert broken.exit_code == 2
    assert broken.stderr.startswith("fencecheck: Naive never acts, even without any event")
    assert "fresh-read · violated" in broken.stdout
    found = json.loads(Path("out.json").read_text())
    assert [system["system"] for system in found["systems"]] == ["fresh-read"]
    assert found["errors"][0]["system"] == "idle.py:Naive"


def test_json() -> None:
    fencecheck("check", "fresh-read", "--max-events", 1, "--json", "out.json", "--save", "cases")
    found = json.loads(Path("out.json").read_text())
    system = found["systems"][0]
    assert found["fencecheck"] == __version__
    assert system["bound"] == {"kind": "events", "value": 1}
    assert system["findings"][0]["code"] == "stale-act"
    assert Path(system["findings"][0]["case"]).is_file()
    assert list(system)[:8] == ["system", "verdict", "level", "engine", "episodes", "bound", "counts", "events_fired"]


def test_save_writes_a_case_and_a_test_and_says_where() -> None:
    Path("naive.py").write_text(NAIVE)
    result = fencecheck("check", "naive.py:Naive", "--save", "kept/cases")
    case, test = sorted(Path("kept/cases").iterdir())
    assert f"  replay   fencecheck replay {case}\n" in result.stdout
    assert f"  as test  {test}\n" in result.stdout


def test_a_pass_saves_nothing() -> None:
    Path("fenced.py").write_text(HEAD + FENCED)
    assert fencecheck("check", "fenced.py:Naive", "--save", "cases").exit_code == 0
    assert list(Path("cases").iterdir()) == []


def test_a_case_that_cannot_be_stored_does_not_hide_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise BadInput("it cannot be stored")

    monkeypatch.setattr("fencecheck.report.repro.save", refuse)
    result = fencecheck("check", "fresh-read", "--max-events", 1, "--save", "cases")
    assert result.exit_code == 2
    assert result.stdout.startswith("fresh-read · violated · stale-act")
    assert result.stderr == "fencecheck: it cannot be stored\n"


def test_a_case_of_a_generated_scenario_carries_it() -> None:
    generated = """
from fencecheck import AgentSystem

class Naive(AgentSystem):
    def run(self):
        action = self.kit.scenario.actions[0]
        read = [self.kit.read(key, timeout=1) for key in action.depends_on]
        self.kit.act(action.name, {"all": [r.value for r in read]}, basis={r.key: r.id for r in read})
"""
    Path("naive.py").write_text(generated)
    Path("cases").mkdir()
    result = fencecheck("check", "naive.py:Naive", "--max-events", 1, "--save", "cases")
    assert result.exit_code == 1
    stored = json.loads(next(Path("cases").glob("*.json")).read_text())
    assert stored["scenario"]["owners"]["orders"] == ["order/42/requirement", "order/42/contact"]


def test_choices_are_those_of_the_library() -> None:
    assert LEVELS == JUDGED
    assert ENGINES == ("exhaust", "explore")
    assert (PROFILES, WORLDS) == (drawing.PROFILES, drawing.WORLDS)
    assert set(EXPECTED) < set(ALL)
    assert ASSUMPTIONS == ("honest-owners",)
    assert "older-head" in OUTAGE_HOWS


def test_a_store_goes_on_and_is_of_one_system(tmp_path: Path) -> None:
    store = tmp_path / "it"
    assert fencecheck("check", "central", "--max-events", "1", "--store", store).exit_code == 0
    again = fencecheck("check", "central", "--max-events", "1", "--store", store)
    assert "episodes were run before, and read from the store" in again.stdout
    assert "a store holds the episodes of one system" in sentence("check", "central", "planfence", "--store", store)
    assert (
        "holds episodes of system central, not planfence" in fencecheck("check", "planfence", "--max-events", "1", "--store", store).stderr
    )
