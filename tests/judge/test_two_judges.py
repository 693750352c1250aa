"""The fast judge agrees with the slow one, which is written straight from the specification."""

from __future__ import annotations

import random
from collections import Counter
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings

from fencecheck.history import History
from fencecheck.judge.levels import FINDINGS
from fencecheck.judge.verdict import EpisodeOutcome

from .both import judged
from .generated import histories, random_history
from .slow_judge import SlowVerdict, slow_judge


@settings(max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_both_judges_say_the_same(history: History) -> None:
    judged(history)


@pytest.mark.parametrize("seed", range(4))
def test_both_judges_say_the_same_of_independent_draws(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(500):
        judged(random_history(rng))


@pytest.fixture(scope="module")
def drawn() -> list[History]:
    rng = random.Random(2026)
    return [random_history(rng) for _ in range(2000)]


@pytest.fixture(scope="module")
def verdicts(drawn: list[History]) -> list[SlowVerdict]:
    return [slow_judge(history) for history in drawn]


def test_the_generated_histories_have_findings_of_every_code(verdicts: list[SlowVerdict]) -> None:
    often = Counter(code for verdict in verdicts for code in verdict.codes)
    assert set(often) == set(FINDINGS)
    assert min(often.values()) >= 10, often


def test_the_generated_histories_have_everything_that_is_counted(verdicts: list[SlowVerdict]) -> None:
    often = Counter(name for verdict in verdicts for name, number in verdict.counts.items() if name != "outcome" and number)
    outcomes = Counter(verdict.counts["outcome"] for verdict in verdicts)
    assert set(often) == set(verdicts[0].counts) - {"outcome"}
    assert min(often.values()) >= 10, often
    assert set(outcomes) == set(get_args(EpisodeOutcome))
    assert min(outcomes.values()) >= 10, outcomes


def test_the_generated_histories_are_well_formed(drawn: list[History]) -> None:
    for history in drawn:
        assert set(history.scenario.keys) <= set(history.versions)
        for key, versions in history.versions.items():
            assert len(versions) == len(set(versions))
            assert all(history.records[version].key == key for version in versions)
        assert all(record.id == id for id, record in history.records.items())
        assert all(record.key is None or id in history.versions[record.key] for id, record in history.records.items())
