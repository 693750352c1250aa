"""simloop: `explore` over a range of seeds by its default policy, with its shrinking. It samples, and claims nothing where nothing fails."""

from __future__ import annotations

from contest import LIMIT, Found, Mode, tell
from simloop import explore
from workload import RACES, SAFE


def seeds(seed: int) -> range:
    """Of each hunt its own."""
    return range(seed * LIMIT + 1, (seed + 1) * LIMIT + 1)


def hunt(rounds: int, seed: int) -> Found | None:
    report = explore(RACES[rounds], seeds(seed), shrink=True)
    if report is None:
        return None
    assert isinstance(report.exception, AssertionError)
    assert report.shrunk is not None
    return Found(report.seeds_passed + 1, len(report.shrunk.kept))


def episodes(count: int) -> int:
    assert explore(SAFE[1], range(1, count + 1)) is None
    return count


tell("simloop", [Mode("random (default)", hunt, episodes, None, "choices", True)])
