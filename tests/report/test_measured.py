"""Rates as people read them, each with its bounds."""

from __future__ import annotations

import pytest

from fencecheck.measure import Options, compare, depth
from fencecheck.measure.statistics import Counted, rate_of
from fencecheck.report.measured import as_csv, as_object, bounds, measured_lines, percent
from tests.measure.slow_systems import OwnWorld


@pytest.mark.parametrize(
    ("share", "said"), [(0, "0.0%"), (0.095, "9.5%"), (0.37512, "37.5%"), (1, "100.0%"), (0.0031, "0.31%"), (0.000299, "0.03%")]
)
def test_percentages(share: float, said: str) -> None:
    assert percent(share) == said


@pytest.mark.parametrize(
    ("count", "episodes", "said"),
    [(0, 30, "at most 9.5%"), (30, 30, "at least 90.5%"), (15, 30, "31.3 to 68.7%"), (1, 1_000, "0.0025 to 0.56%")],
)
def test_bounds(count: int, episodes: int, said: str) -> None:
    assert bounds(rate_of(Counted(episodes, {"it": count}), "it"), 0.95) == said


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_a_table_fits(width: int) -> None:
    result = compare(["fresh-read", "planfence"], options=Options(episodes=3))
    lines = [line.plain for line in measured_lines(result, width)]
    assert all(len(line) <= max(width, 42) for line in lines)
    assert lines[0].startswith("compare · fresh-read, planfence")


def test_what_never_happened_is_one_sentence_with_its_bound() -> None:
    lines = " ".join(" ".join(line.plain for line in measured_lines(compare(["planfence"]), 200)).split())
    assert "in no episode of any: halted, changed; halted, could not verify" in lines
    assert "(at most 9.5% each)" in lines
    assert "planfence 30/30 0/30 30/30" in lines, "stale acts have their column though there are none"


def test_the_worlds_and_how_many_episodes_are_alike_are_told() -> None:
    lines = " ".join(" ".join(line.plain for line in measured_lines(depth(["planfence"], options=Options(episodes=9)), 200)).split())
    assert "in worlds of: delivery; the act depends on 2 of 4 keys, owners 2, depth 1, 2, 4 or 8; values of seed 0" in lines
    assert "different in what was drawn: 2 of the episodes of each row" in lines
    result = compare([OwnWorld, "planfence"], options=Options(episodes=6))
    lines = " ".join(" ".join(line.plain for line in measured_lines(result, 200)).split())
    assert "depth 2; other values in each episode, the same ones for each system; the scenario of OwnWorld" in lines
    assert "different in what was drawn: 1 of the episodes of a row" in lines


def test_json_and_csv_have_every_count_with_its_bounds() -> None:
    result = compare(["fresh-read"])
    (cell,) = as_object(result)["cells"]
    assert cell["rates"]["stale"] == {"count": 30, "rate": 1.0, "low": pytest.approx(0.905, abs=0.001), "high": 1.0}
    head, line = as_csv(result).splitlines()
    row = dict(zip(head.split(","), line.split(","), strict=True))
    assert (row["system"], row["stale"], row["completed"], row["completed_high"]) == ("fresh-read", "30", "0", "0.0950339")
    assert set(cell["rates"]) <= set(row)
