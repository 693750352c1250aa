"""Whole reports, as they are printed."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len

from fencecheck.report.terminal import (
    beyond_in_words,
    bound_in_words,
    comparison_lines,
    counts_in_words,
    emit,
    headline,
    plain,
    printable,
    replay_lines,
    report_lines,
    width_of,
)
from fencecheck.search.check import check
from fencecheck.search.replay import Replay
from fencecheck.search.report import Bound
from fencecheck.systems import ALL

from .made import FINDING, failure, report, stale

HELD = """\
planfence · held · at-validation · every interleaving of up to 2 events
  2,436 episodes, 0.7 s; an event lands before each point that depends on it
  assumed: deterministic (checked)
  in episodes: completed 919 · of these recovered by replanning 140 · halted since something changed 114
    · halted since something could not be verified 1,401 · refused by the tool 72
  kinds of event that fired, in episodes: update 977 · outage 438
  could not be delivered: restart (define restart())
  not promised at this level: at-one-instant fails in 84 episodes (torn-validation), at-act fails in 1 episode
    (raced-act)
  noticed, which fails no check unless asked with --fail-on: needless-halt in 12 episodes"""


def test_a_crash_that_is_noticed_says_which() -> None:
    noticed = plain(report_lines(report(noticed={"crash": 2}, crash="it crashed before any effect: KeyError: 'x'.")))
    assert (
        "noticed, which fails no check unless asked with --fail-on: crash in 2 episodes. The first: it crashed before any effect: KeyError: 'x'."
        in (noticed.replace("\n    ", " "))
    )


def test_a_pass_prints_its_bound_and_what_it_rests_on() -> None:
    held = report(
        missing={"restart": "restart()"},
        beyond={"raced-act": 1, "torn-validation": 84},
        noticed={"needless-halt": 12},
        placements="dependent points",
    )
    assert plain(report_lines(held)) == HELD


VIOLATED = """\
planfence · violated · stale-act at at-validation
  stale-act: ship went out made from order/42/requirement r1 while r2 was current.

  smallest interleaving: 1 event
    before point 2, read order/42/requirement #2: orders commits order/42/requirement r2

     0  planner   read    order/42/requirement  r1 "2-21 Shibuya, Tokyo"  delivery.py:12
     1  planner   derive  p1                    from requirement r1       delivery.py:13
   ▸    event     orders commits order/42/requirement r2  "3-1 Umeda, Osaka"
     2  executor  read    order/42/requirement  r2 "3-1 Umeda, Osaka"     delivery.py:40
   ▸ 3  executor  act     ship(to="2-21 Shibuya, Tokyo")                  delivery.py:41
                          made from requirement r1, current r2
                  end     returned

  right would be: replan once from the current version and validate again, or halt.
  seen in  4 of 2,436 episodes
  replay   fencecheck replay cases/a.json
  as test  cases/test_a.py

  2,436 episodes, 0.7 s; an event lands before each point that depends on it
  in episodes: completed 0
  kinds of event that fired, in episodes: none
  holds at the weaker level at-validation"""


def test_a_violation_reads_from_the_finding_to_the_replay() -> None:
    saved = failure(case="cases/a.json", test="cases/test_a.py")
    violated = report("violated", failures=[saved], counts={}, fired={}, assumed=[], strongest="at-validation")
    assert plain(report_lines(violated, 92)) == VIOLATED


def test_an_inconclusive_result_says_why() -> None:
    lines = plain(report_lines(report("inconclusive", why="no event fired, so nothing was tested"))).splitlines()
    assert lines[:2] == [
        "planfence · inconclusive · at-validation · every interleaving of up to 2 events",
        "  no event fired, so nothing was tested",
    ]


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (Bound("events", 2), "every interleaving of up to 2 events"),
        (Bound("events", 1), "every interleaving of up to 1 event"),
        (Bound("events", 0), "the run without events"),
        (Bound("examples", 1000), "1,000 interleavings drawn by Hypothesis"),
        (Bound("complete", 9), "complete"),
        (Bound("complete", None), "complete"),
    ],
)
def test_bounds(bound: Bound, words: str) -> None:
    found = report()
    found.bound = bound
    assert bound_in_words(found) == words
    assert headline(found) == f"planfence · held · at-validation · {words}"


def test_what_never_came_about_is_not_counted() -> None:
    assert counts_in_words({"completed": 1, "duplicates": 0}) == "in episodes: completed\xa01"
    assert counts_in_words({"halted_needless": 2}) == "in episodes: completed\xa00 ·\xa0halted\xa0needlessly\xa02"
    nothing_run = report("inconclusive", counts={}, fired={})
    nothing_run.episodes = 0
    assert "completed" not in plain(report_lines(nothing_run))
    assert "fired" not in plain(report_lines(nothing_run))


def test_an_omitted_dependency_says_its_cause() -> None:
    dropped, left_out = (counts_in_words({"omitted": 3}, omits).replace("\xa0", " ").partition("· ")[2] for omits in (False, True))
    assert dropped == "stale in a key whose declaration an event dropped, which no fence can see 3"
    assert left_out == "stale in a key that is not declared, as declared= leaves it out or an event dropped it, which no fence can see 3"


def test_what_is_to_be_known_first_comes_first() -> None:
    lines = plain(report_lines(report(notes=["even without any event: duplicate-act: ship had 2 effects."]))).splitlines()
    assert lines[1] == "  even without any event: duplicate-act: ship had 2 effects."


def test_counts_that_are_seldom_are_named_only_where_there_are_any() -> None:
    assert "crashed" not in counts_in_words({"completed": 1})
    assert counts_in_words({"crashed": 2}).endswith("·\xa0crashed\xa02")
    said = "·\xa0no\xa0validated()\xa0seen\xa03 ·\xa0of\xa0these\xa0a\xa0derive\xa0came\xa0after\xa0validated()\xa02"
    assert counts_in_words({"unmarked": 3, "overtaken": 2}).endswith(said)


def test_stronger_levels_are_named_weakest_first() -> None:
    assert beyond_in_words({"raced-act": 2, "torn-validation": 1}) == (
        "at-one-instant fails in 1 episode (torn-validation), at-act fails in 2 episodes (raced-act)"
    )


def test_the_comparison() -> None:
    violated = report("violated", failures=[failure()])
    assert plain(comparison_lines([report(), violated])) == (
        "  system     verdict   finding     events  episodes  completed  recovered  halted\n"
        "  planfence  held      -          up to 2     2,436        919        140   1,515\n"
        "  planfence  violated  stale-act        1     2,436        919        140   1,515"
    )
    assert all(cell_len(line.plain) <= 60 for line in comparison_lines([report(), violated], 60))


def test_replays() -> None:
    gone = Replay("no longer fails", stale(), "no longer fails: x does not show stale-act in this interleaving any more")
    assert plain(replay_lines("x", gone)) == "x · no longer fails: x does not show stale-act in this interleaving any more"
    fails = plain(replay_lines("x", Replay("fails", stale(), FINDING.message, FINDING)))
    assert fails.startswith("x · still fails · stale-act\n  stale-act: ship went out made from order/42/requirement r1 while r2")


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", ALL)
def test_real_reports_fit(name: str, width: int) -> None:
    found = check(ALL[name], max_events=1, level="at-act", fresh_process=False)
    assert bool(found.failures) == (name != "if-match")  # which holds at this level too
    assert all(cell_len(line.plain) <= width for line in report_lines(found, width))


def test_an_encoding_without_our_signs() -> None:
    text = plain(report_lines(report("violated", failures=[failure()])), "ascii")
    assert text.isascii()
    assert "planfence - violated - stale-act at at-validation" in text
    assert "   >    event     orders commits" in text
    assert printable("Zürich · ▸", "latin-1") == "Zürich · >".replace("·", "-")
    assert printable("東京", "ascii") == "\\u6771\\u4eac"
    assert printable("·", "no-such-encoding") == "-"


class Screen(io.StringIO):
    """A terminal of that encoding."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_colour_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    screen, file = Screen(), io.StringIO()
    emit(report_lines(report()), screen)
    emit(report_lines(report()), file)
    assert "\x1b[" in screen.getvalue()
    assert "\x1b[" not in file.getvalue()
    assert file.getvalue().splitlines() == plain(report_lines(report())).splitlines()
    monkeypatch.setenv("NO_COLOR", "1")
    quiet = Screen()
    emit(report_lines(report()), quiet)
    assert "\x1b[32m" not in quiet.getvalue()
    assert "\x1b[1;32m" not in quiet.getvalue()


def test_the_width_of_what_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert width_of(io.StringIO()) == 120
    monkeypatch.setenv("COLUMNS", "90")
    assert width_of(io.StringIO()) == 90
    monkeypatch.setenv("COLUMNS", "x")
    assert width_of(io.StringIO()) == 120


def test_what_a_system_says_cannot_steer_the_terminal() -> None:
    found = report("inconclusive", why="\x1b]0;owned\x07 \u202e")
    assert "\x1b" not in plain(report_lines(found))
    assert "\\x1b]0;owned\\x07 \\u202e" in plain(report_lines(found))
