"""1,000 random episodes of busy systems are the same whenever and wherever they are run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from fencecheck import codec
from fencecheck.interleaving import Event, Switch, kind_of
from fencecheck.run.simulate import Runner

from . import busy
from .faces import VIRTUAL

ROOT = Path(__file__).parent.parent.parent
each = pytest.mark.parametrize("runtime", VIRTUAL)


@cache
def digest(runtime: str) -> str:
    return busy.digest(runtime)


@each
def test_run_twice_they_are_identical(runtime: str) -> None:
    assert busy.digest(runtime) == digest(runtime)


@each
@pytest.mark.parametrize("seed", ["0", "1", "77"])
def test_they_are_identical_in_a_fresh_process_with_another_hash_seed(runtime: str, seed: str) -> None:
    command = [sys.executable, "-m", "tests.run.busy", runtime]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout.strip() == digest(runtime)


@each
def test_they_differ_from_one_another_and_every_kind_of_event_fires(runtime: str) -> None:
    fired: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    seen = set()
    for history in busy.histories(runtime):
        fired.update(kind_of(event.what) for event in history.fired)
        ended[history.ended.how] += 1
        seen.add(codec.encode_history(history).partition(b"\n")[2])
    assert set(ended) == {"returned"}
    assert len(seen) > busy.EPISODES / 3
    assert min(fired[kind] for kind in ("switch", "advance", "update")) > 50


@each
def test_an_episode_leaves_the_next_one_alone(runtime: str) -> None:
    """Also one that ends in the middle, with tasks parked everywhere."""
    with Runner(busy.SYSTEMS[runtime]) as runner:
        first = runner.run().entries
        for at in range(12):
            runner.run((), (Event(at, Switch(5)),))
            assert runner.run().entries == first
