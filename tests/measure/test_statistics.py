"""Bounds are exact, of independent episodes only."""

from __future__ import annotations

import math

import pytest

from fencecheck.errors import BadInput
from fencecheck.measure import Rate
from fencecheck.measure.statistics import Counted, rate_of
from fencecheck.search.check import check
from fencecheck.systems import ALL


def rate(count: int, episodes: int) -> Rate:
    return rate_of(Counted(episodes, {"it": count}), "it")


NEWCOMBE = [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (1, 29, 0.0009, 0.1776)]
"""Count, episodes, low and high: Newcombe, "Two-sided confidence intervals for the single proportion: comparison of seven methods", Statistics in
Medicine 17 (1998), Table I, the exact method. Its fourth example, 0 of 20, has the two-sided bound there."""


@pytest.mark.parametrize(("count", "episodes", "low", "high"), NEWCOMBE)
def test_intervals_are_those_of_published_tables(count: int, episodes: int, low: float, high: float) -> None:
    assert rate(count, episodes).interval() == pytest.approx((low, high), abs=0.00006)


@pytest.mark.parametrize(("episodes", "most"), [(10, 0.2589), (30, 0.0950), (50, 0.0582), (100, 0.0295), (300, 0.0099), (1000, 0.0030)])
def test_none_of_so_many_has_the_one_sided_bound(episodes: int, most: float) -> None:
    """The rule of three, exactly: 1 - 0.05 ** (1 / n)."""
    low, high = rate(0, episodes).interval()
    assert low == 0
    assert high == pytest.approx(most, abs=0.00006)
    assert high == pytest.approx(1 - 0.05 ** (1 / episodes))
    assert rate(episodes, episodes).interval() == pytest.approx((1 - high, 1))


@pytest.mark.parametrize("episodes", [1, 7, 30])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_an_interval_by_a_second_road(episodes: int, confidence: float) -> None:
    """The ends of the interval are where the tail of the binomial, summed term by term, is half of what may be wrong."""

    def at_least(count: int, p: float) -> float:
        return sum(math.comb(episodes, k) * p**k * (1 - p) ** (episodes - k) for k in range(count, episodes + 1))

    for count in range(1, episodes):
        low, high = rate(count, episodes).interval(confidence)
        assert at_least(count, low) == pytest.approx((1 - confidence) / 2, abs=1e-9)
        assert 1 - at_least(count + 1, high) == pytest.approx((1 - confidence) / 2, abs=1e-9)


@pytest.mark.parametrize(("confidence", "least"), [(0.95, 0.925), (0.975, 0.95), (0.999, 0.998)])
@pytest.mark.parametrize("episodes", [1, 5, 6, 10, 30, 50])
def test_how_often_an_interval_holds_the_true_rate(episodes: int, confidence: float, least: float) -> None:
    """Over all counts, term by term, at rates everywhere and on both sides of each end, where it is least."""
    ends = [rate(count, episodes).interval(confidence) for count in range(episodes + 1)]
    close = [end + beside for pair in ends for end in pair for beside in (-1e-9, 1e-9)]
    rates = [p for p in (*(number / 500 for number in range(1, 500)), *close) if 0 < p < 1]
    held = [
        sum(
            math.comb(episodes, count) * p**count * (1 - p) ** (episodes - count)
            for count, (low, high) in enumerate(ends)
            if low <= p <= high
        )
        for p in rates
    ]
    assert least < min(held) < confidence + 0.02
    if episodes >= 10:
        assert min(held) < confidence, "the choice costs something, as is said"


def test_intervals_that_hold_together_are_wider() -> None:
    one, both = rate(3, 30).interval(), rate(3, 30).interval(among=2)
    assert both[0] < one[0] < one[1] < both[1]
    assert both == pytest.approx(rate(3, 30).interval(0.975))


def test_no_episode_bounds_nothing() -> None:
    assert rate(0, 0).interval() == (0, 1)
    assert math.isnan(rate(0, 0).value)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1, "0.95", None])
def test_what_is_no_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(BadInput, match=r"a confidence lies between 0 and 1, such as 0\.95"):
        rate(1, 10).interval(confidence)


def test_a_rate_cannot_be_made_from_numbers() -> None:
    with pytest.raises(TypeError, match="made from the episodes of a campaign"):
        Rate(0, 30)


@pytest.mark.parametrize("engine", ["exhaust", "explore"])
def test_there_is_no_bound_over_exhaustive_episodes_or_those_of_hypothesis(engine: str) -> None:
    report = check(ALL["central"], engine=engine, max_events=1, examples=5 if engine == "explore" else None)  # type: ignore[arg-type]
    for of in (report, report.counts, report.episodes):
        with pytest.raises(BadInput, match="only a campaign's episodes are independent draws"):
            rate_of(of, "completed")  # type: ignore[arg-type]
