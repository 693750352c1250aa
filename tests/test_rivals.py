"""The comparison with other testers, `benchmarks/rivals.py`: the two parts that need nothing but the project's own dependencies."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS / "rivals"))
    return importlib.import_module(request.param)


@pytest.mark.parametrize("part", ["with_fencecheck"], indirect=True)
def test_every_order_at_the_store_is_few_enough_to_prove_the_safe_race(part: ModuleType) -> None:
    """C(4, 1) orders of three calls beside one; of six beside two C(8, 2), less those in which a round is given up early."""
    hunt, prove = part.hunt(False), part.proof(False)
    assert [hunt(rounds, 0) for rounds in (1, 2)] == [(3, 2), (19, 4)]
    assert [prove(rounds) for rounds in (1, 2)] == [("every order of its port calls", 4), ("every order of its port calls", 26)]


@pytest.mark.parametrize("part", ["with_hypothesis"], indirect=True)
def test_a_state_machine_shrinks_the_race_to_every_step_up_to_the_stale_act(part: ModuleType) -> None:
    """The agent's six steps and the updater's two."""
    found = part.hunt(1, 0)
    assert found.size == 8
    assert part.hunt(1, 0) == found


@pytest.mark.parametrize("part", ["workload"], indirect=True)
def test_on_a_stock_loop_the_race_shows_nothing(part: ModuleType) -> None:
    for run in (*part.RACES.values(), *part.SAFE.values()):
        asyncio.run(run())


def test_a_tool_that_is_not_there_is_named_and_left_out() -> None:
    command = [sys.executable, str(BENCHMARKS / "rivals.py"), "--only", "detangle"]
    without = subprocess.run(command, capture_output=True, text=True, check=True)
    assert without.stdout.splitlines()[1:] == ["detangle: not measured, no interpreter that has it was given by --python"]
    missing = subprocess.run([*command, "--python", sys.executable], capture_output=True, text=True, check=True)
    assert missing.stdout.splitlines()[1:] == [
        "detangle: not measured, cannot be imported there: ModuleNotFoundError: No module named 'detangle'"
    ]
