"""Exact binomial bounds, by scipy, over independent episodes and over nothing else.

A `Rate` is made from the rows of a campaign by `rate_of`, which is the only way to one: a count of exhaustive episodes is one of classes,
and Hypothesis adapts what it draws to what it has seen, so a binomial bound over either means nothing.

Intervals are those of Clopper and Pearson ("The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26,
1934), never too narrow. Where a count is zero, or all, the bound is the one-sided one of the same confidence, as in
"0 of 30: at most 9.5%" (Hanley and Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249, 1983). It is the count that
chooses, so of all the intervals at 95% that anyone will see at least 92.5% hold the true rate: an error of 5% on one side, and of 2.5% on the other.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fencecheck.errors import BadInput

CONFIDENCE = 0.95


class Rate:
    """How many of so many independent episodes. Made by a campaign only.

    Attributes:
        count: how many.
        episodes: of how many.
    """

    __slots__ = ("count", "episodes")
    count: int
    episodes: int

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise TypeError("a rate is made from the episodes of a campaign, which are independent draws: call fencecheck.measure's functions")

    @property
    def value(self) -> float:
        """The share, from 0 to 1; not a number where there are no episodes."""
        return self.count / self.episodes if self.episodes else float("nan")

    def interval(self, confidence: float = CONFIDENCE, among: int = 1) -> tuple[float, float]:
        """The exact interval, from 0 to 1; one-sided where the count is zero or all.

        Args:
            confidence: with which it holds the true rate, C; over all counts that may come out, 1 - 2 (1 - C) at least, since it is the count
                that chooses between one side and two.
            among: how many such intervals are to hold together with that confidence: each is widened, after Bonferroni.

        Raises:
            BadInput: there is no such confidence, or scipy is not there.
        """
        refuse_confidence(confidence)
        if not self.episodes:
            return 0.0, 1.0
        side = "less" if self.count == 0 else "greater" if self.count == self.episodes else "two-sided"
        test = _scipy().binomtest(self.count, self.episodes, alternative=side)
        bounds = test.proportion_ci(1 - (1 - confidence) / among, method="exact")
        return float(bounds.low), float(bounds.high)

    def __repr__(self) -> str:
        return f"{self.count} of {self.episodes}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rate) and (self.count, self.episodes) == (other.count, other.episodes)

    def __hash__(self) -> int:
        return hash((self.count, self.episodes))


class Counted(Struct, frozen=True):
    """What a store counted in one cell. Only a store's rows come to one."""

    episodes: int
    sums: dict[str, int]


def rate_of(counted: Counted, name: str) -> Rate:
    """The rate of what a store counted under that name.

    Raises:
        BadInput: it was not counted by a store: of anything else there is no bound.
    """
    if type(counted) is not Counted:
        raise BadInput(
            f"there is no confidence bound over a {type(counted).__name__}: only a campaign's episodes are independent draws; "
            "those of an exhaustive search or of Hypothesis are none"
        )
    rate = object.__new__(Rate)
    rate.count, rate.episodes = counted.sums[name], counted.episodes
    return rate


def refuse_confidence(confidence: float) -> None:
    """Refuses what is no confidence.

    Raises:
        BadInput: it is not between 0 and 1.
    """
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise BadInput(f"a confidence lies between 0 and 1, such as 0.95, not {confidence!r}")


def _scipy() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise BadInput("bounds need scipy: pip install 'fencecheck[measure]'") from error
    return stats
