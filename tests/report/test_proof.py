"""What is said of a search for any number of events."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fencecheck import systems
from fencecheck.report.proof import proof_in_words, shares
from fencecheck.report.terminal import report_lines
from fencecheck.search.check import check
from fencecheck.search.prove import Proof, Reach


def proof(base: Reach | None = None, **fields: Any) -> Proof:
    """One with plausible figures."""
    given = {"mixed": 2, "kinds": ("update (fresh)", "restore"), "stands_for": 1_234_567, "points": 10, "per_kind": 600, **fields}
    return Proof(base=base, **given)


def said(proof: Proof) -> list[str]:
    return [text.replace("\xa0", " ") for text in proof_in_words(proof)]


CLOSED = Reach("", True, 9, 494)


def test_what_was_tried_and_what_it_stands_for() -> None:
    tried, why, left_out = said(proof(CLOSED))
    assert tried == (
        "tried: every interleaving of up to 2 events of all kinds; then any number of update (fresh) and restore, until no further one led to "
        "anything new: 494 episodes of up to 9 events in all"
    )
    assert why.startswith(
        "why nothing else can differ, where what is assumed holds: an event is seen only by a call that asks for what it changed"
    )
    assert why.endswith(
        "So the 494 episodes stand for the 1,234,567 interleavings of up to 6 such events before the 10 calls of a run, and for all longer ones"
    )
    assert left_out == "not tried: several further kinds together in more than 2 events, and other scenarios"


def test_further_kinds_by_how_far_each_came_and_why_no_further() -> None:
    reached = [
        Reach("deliver", True, 3, 100),
        Reach("replan", True, 3, 100),
        Reach("update (earlier)", False, 2, 600, "versions"),
        Reach("tool-fault (refuse)", False, 4, 600, "episodes"),
        Reach("restart", False, 3, 600, "episodes"),
        Reach("outage (hang)", False, 3, 80, "states"),
        Reach("update (removed)", False, 2, 80, "names"),
        Reach("dropped-declaration", False, 5, 600, "episodes"),
    ]
    _, _, done, left, left_out = said(proof(CLOSED, further=reached))
    assert done == "complete too with one further kind at a time, beside these or in the place of one: deliver and one replan"
    assert left == (
        "with these only up to so many events: update (earlier) 2 (the number of updates matters there, so there is no end: at most 4); "
        "tool-fault (refuse) 4, one restart 3, dropped-declaration 5 (600 episodes were not enough: --per-kind allows more); "
        "outage (hang) 3 (more than 600 states of the world to try before one call); "
        "update (removed) 2 (here the system goes by more than whether versions and values are equal)"
    )
    assert left_out.endswith(". A dropped declaration counts as an event")


def test_further_kinds_that_were_not_come_to() -> None:
    assert "further kinds were not finished: the time was up" in said(proof(CLOSED, why="the time was up"))


@pytest.mark.parametrize(
    ("ran_out", "why"),
    [
        ("episodes", "74 episodes were not enough"),
        ("states", "before one call there are more than 50,000 states of the world to try"),
    ],
)
def test_a_search_that_does_not_come_to_its_end(ran_out: Any, why: str) -> None:
    (tried,) = said(proof(Reach("", False, 5, 74, ran_out)))
    assert tried == (
        "tried: every interleaving of up to 2 events of all kinds; then any number of update (fresh) and restore, but not to the end: "
        f"{why}. Of these kinds all of up to 5 events were tried, in 74 episodes"
    )


def test_a_search_that_was_not_begun() -> None:
    assert said(proof(why="it keeps its own store, whose state is not known")) == [
        "not tried with more events: it keeps its own store, whose state is not known; --max-events 3 tries every interleaving of up to 3 events"
    ]


def test_the_episodes_of_a_proof_add_up_to_those_of_the_report() -> None:
    assert shares(proof(CLOSED, more=7, more_further=12), 119) == (
        ": 100 of up to 2 events of all kinds, 7 of more events of 2 kinds and 12 of more with one further kind"
    )
    assert shares(proof(CLOSED, more_further=1), 101) == ": 100 of up to 2 events of all kinds and 1 of more with one further kind"
    assert shares(proof(CLOSED), 100) == ""
    report = check(systems.ALL["if-match"], fresh_process=False, per_kind=150)
    assert report.proof is not None
    assert report.proof.more > 0 < report.proof.more_further
    assert check(systems.ALL["if-match"], fresh_process=False, max_events=2).episodes == (
        report.episodes - report.proof.more - report.proof.more_further
    )


def test_the_report_of_planfence_fits_on_a_screen_and_names_every_kind_once() -> None:
    report = check(systems.ALL["planfence"], fresh_process=False, per_kind=60)
    lines = [line.plain for line in report_lines(report)]
    assert len(lines) <= 26
    assert report.proof is not None
    text = " ".join(" ".join(lines).replace("\xa0", " ").split())
    told = text[: text.index("not tried:")]
    for kind in [*report.proof.kinds, *(reach.kind for reach in report.proof.further)]:
        assert len(re.findall(rf"(?<![\w-]){re.escape(kind)}(?![\w-])", told)) == 1, kind
