"""Which part of a search is run: chosen kinds, a time, a share."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck import systems
from fencecheck.errors import BadInput
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.simulate import Runner
from fencecheck.search.budget import Shard, shard
from fencecheck.search.exhaust import episodes
from fencecheck.search.prove import prove
from fencecheck.worlds import world
from tests.systems.specimens import AsksWhenItIsDelivered

from .careful import checked


def test_chosen_kinds_alone_are_tried() -> None:
    report = checked(systems.ALL["planfence"], kinds=["update", "dropped-declaration"], max_events=2)
    assert set(report.fired) == {"update", "dropped-declaration"}
    assert report.missing == {}
    explored = checked(systems.ALL["planfence"], kinds=["deliver"], engine="explore", examples=30)
    assert set(explored.fired) <= {"deliver"}


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (["updates"], r"there is no kind of event 'updates': did you mean update\? Else use update, deliver,"),
        (["update", "switch"], "cannot receive switch: its runtime is sync"),
    ],
)
def test_kinds_that_there_are_not_are_refused(kinds: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        checked(systems.ALL["planfence"], kinds=kinds)


def test_no_time_at_all_is_inconclusive_and_names_the_bound() -> None:
    report = checked(systems.ALL["planfence"], max_time=1e-9)
    assert (report.verdict, report.exit_status, report.bound.value) == ("inconclusive", 3, 0)
    assert report.why == "the time was up before any interleaving was run: allow more"


def test_time_that_is_up_while_it_goes_on_leaves_the_bound_that_was_reached() -> None:
    left = iter([*[True] * 30, *[False] * 10])
    with Runner(systems.ALL["planfence"]) as runner:
        proof = prove(runner, lambda episode, judgement: False, known=2, in_time=lambda: next(left))
    assert (proof.complete, proof.why) == (False, "the time was up")


@pytest.mark.parametrize("of", [1, 2, 3, 7])
@pytest.mark.parametrize("system", [systems.ALL["planfence"], AsksWhenItIsDelivered], ids=lambda system: system.__name__)
def test_shares_make_up_the_whole_with_no_overlap_and_evenly(system: type[AgentSystem], of: int) -> None:
    """Also where the hook of an event asks only after another one, which leads to more interleavings of the largest size."""
    with Runner(system, world(keys=2, declared=1, depth=1) if system.scenario is None else None) as runner:
        whole = [(e.dropped, e.events) for e in episodes(runner, 2)]
        shares = [[(e.dropped, e.events) for e in episodes(runner, 2, shard=Shard(i, of))] for i in range(1, of + 1)]
    assert sorted(map(repr, whole)) == sorted(repr(one) for share in shares for one in share)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "a/b", "-1/4", "1/4/2", "²/4"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="a shard is i/n with 1 <= i <= n, such as 2/4, not"):
        shard(text)


@pytest.mark.parametrize("options", [{}, {"engine": "explore", "max_events": 2}])
def test_a_share_needs_a_number_of_events(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="use the engine exhaust and give max_events"):
        checked(systems.ALL["planfence"], shard=Shard(1, 2), **options)


@pytest.mark.parametrize(("options", "said"), [({"per_kind": -1}, "0 or more, not -1"), ({"max_time": 0}, "above 0, not 0")])
def test_budgets_out_of_range_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        checked(systems.ALL["planfence"], **options)
