"""What is drawn is what the distribution says, from a stream that belongs to one episode."""

from __future__ import annotations

from collections import Counter

import pytest

from fencecheck.errors import BadInput
from fencecheck.interleaving import Update
from fencecheck.measure.distribution import Distribution, stream
from fencecheck.measure.planning import Planning, planning_of
from fencecheck.run.simulate import Runner
from fencecheck.systems import ALL
from fencecheck.worlds import world
from tests.measure.slow_systems import OwnWorld

KEYS = ("a", "b", "c", "d")
THERE = Planning(planned=6, act=10, points=11)


def drawn(distribution: Distribution, episodes: int = 4_000, seed: int = 0):  # type: ignore[no-untyped-def]
    return [distribution.draw(stream(seed, "cell", number), lambda dropped, act: THERE) for number in range(episodes)]


def test_each_key_changes_as_often() -> None:
    counts = Counter(events[0].what.key for _, events in drawn(Distribution(KEYS)))
    assert set(counts) == set(KEYS)
    assert all(880 < count < 1120 for count in counts.values()), "four standard deviations around a quarter of 4,000"


def test_several_keys_change_once_each() -> None:
    for _, events in drawn(Distribution(KEYS, changes=3), 200):
        assert len({event.what.key for event in events}) == len(events) == 3
        assert all(event.what == Update(event.what.key) for event in events)


def test_declarations_are_dropped_independently() -> None:
    optional = (("act", "b"), ("act", "c"))
    counts = Counter(dropped for dropped, _ in drawn(Distribution(KEYS, drop=0.3, optional=optional)))
    for dropped, share in {(): 0.49, optional[:1]: 0.21, optional[1:]: 0.21, optional: 0.09}.items():
        assert abs(counts[dropped] - 4_000 * share) < 4 * (4_000 * share * (1 - share)) ** 0.5


@pytest.mark.parametrize(("where", "places"), [("after-planning", {6}), ("before-the-act", {6, 7, 8, 9, 10}), ("anywhere", set(range(11)))])
def test_changes_land_where_it_says(where: str, places: set[int]) -> None:
    counts = Counter(events[0].at for _, events in drawn(Distribution(KEYS, where=where)))  # type: ignore[arg-type]
    assert set(counts) == places
    assert min(counts.values()) > 0.7 * 4_000 / len(places)


def test_an_episode_follows_from_seed_cell_and_number_alone() -> None:
    distribution = Distribution(KEYS, changes=2, where="anywhere", drop=0.5, optional=(("act", "a"),))
    assert drawn(distribution, 50) == drawn(distribution, 50)
    assert drawn(distribution, 50) != drawn(distribution, 50, seed=1)
    assert stream(0, "cell", 7).random() == stream(0, "cell", 7).random() != stream(0, "cell", 8).random() != stream(0, "other", 7).random()
    assert stream(0, "planfence p=0.5", 0).random() == 0.7028015708273633, "streams are for ever: stored campaigns go on from them"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"changing": KEYS, "changes": 5}, "from 0 to 4 keys can change in an episode, not 5"),
        ({"changing": (), "changes": 1}, "from 0 to 0 keys can change in an episode, not 1"),
        ({"changing": KEYS, "where": "after-plan"}, "a change cannot land 'after-plan': did you mean 'after-planning'"),
        ({"changing": KEYS, "drop": 1.5}, "the probability that a declaration is dropped is from 0 to 1, not 1.5"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        Distribution(**arguments)  # type: ignore[arg-type]


def test_it_is_said_in_words() -> None:
    whole = Distribution(KEYS, 1, drop=0.25, optional=(("act", "b"),)).said()
    assert whole == "1 of a, b, c, d changes once, right after planning; each of the declarations of b is dropped with probability 0.25"
    assert Distribution(("a",)).said() == "a changes once, right after planning"
    assert Distribution(changes=0).said() == "no key changes"


class TestPlanning:
    """Where planning ends, in the episode without events."""

    def test_with_the_derive_of_what_goes_out(self) -> None:
        with Runner(ALL["planfence"], world(declared=4, depth=3)) as runner:
            there = planning_of(runner.run())
        assert there == Planning(planned=7, act=there.points - 1, points=there.points, settled=True)

    def test_a_later_read_is_no_planning(self) -> None:
        with Runner(ALL["fresh-read"], world(declared=2, depth=1)) as runner:
            there = planning_of(runner.run())
        assert (there.planned, there.act) == (3, 5)

    def test_with_the_last_key_first_read_where_nothing_is_derived(self) -> None:
        with Runner(OwnWorld) as runner:
            there = planning_of(runner.run())
        assert (there.planned, there.act, there.points) == (1, 2, 3)
