"""Whether a system that held over few events holds over any number of the base kinds: runs `closing` and says how far it came."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from fencecheck.judge import Judgement, judge
from fencecheck.run.simulate import Runner
from fencecheck.search.closing import BASE, Search, base_set
from fencecheck.search.exhaust import Episode
from fencecheck.search.placing import every

MOST_EPISODES = 100_000
"""Episodes after which a search that has not closed is given up."""


class Proof(Struct):
    """How far the search for any number of events came.

    Args:
        kinds: the kinds of event, any number of which was tried.
        closed: whether nothing was left to try.
        events: most events in an interleaving that came to anything new.
        episodes: how many were run.
        stands_for: how many interleavings of up to `counted` events before the points of the episode without events there are.
        why: why it did not close, or was not begun.
    """

    kinds: tuple[str, ...] = BASE
    closed: bool = False
    events: int = 0
    episodes: int = 0
    stands_for: int = 0
    counted: int = 6
    why: str = ""


def prove(runner: Runner, add: Callable[[Episode, Judgement], bool], *, known: int, most: int = MOST_EPISODES) -> Proof:
    """Runs episodes of any number of base events until nothing is left to try.

    Args:
        add: is told each judged episode with more than `known` events; True where it fails the check, after which only its size is finished.
        known: all interleavings of up to so many events were judged before.
        most: the most episodes.
    """
    refused = _refused(runner)
    if refused:
        return Proof(why=refused)
    kinds = base_set(every(runner.scenario, runner.kinds, 2 * runner.horizon))
    search = Search(runner, [kinds], most_base=most)
    stop_after: int | None = None
    for episode in search.run():
        if stop_after is not None and episode.size > stop_after:
            break
        if episode.size > known and add(episode, judge(episode.history)) and stop_after is None:
            stop_after = episode.size
    came = search.closings[0]
    why = (
        ""
        if came.closed
        else search.peeks or f"it was still open after {came.episodes:,} episodes, with all of up to {came.bound} events done"
    )
    if stop_after is not None:
        why = "an interleaving fails"
    number = _number(runner.horizon, len(kinds.whats), Proof().counted)
    return Proof(closed=came.closed and stop_after is None, events=came.events, episodes=came.episodes, stands_for=number, why=why)


def _refused(runner: Runner) -> str:
    """Why nothing can be proved of this system, or nothing."""
    if runner.own_store:
        return "it keeps its own store, whose state is not known"
    if runner.runtime_name != "sync":
        return "the order in which concurrent calls are answered is not enumerated"
    for key, values in runner.scenario.values.items():
        if any(value in values[:i] for i, value in enumerate(values)):
            return f"the values of {key} are not all different"
    return ""


def _number(points: int, events: int, most: int) -> int:
    """How many sequences of up to `most` of so many events there are, each before one of so many points, in order of points."""
    from math import comb

    return sum(comb(points + size - 1, size) * events**size for size in range(most + 1))
