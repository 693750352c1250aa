"""The run as numbered lines."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from fencecheck.history import Act, Declared, Derive, Ended, Fetch, Halted, Head, Landed, Memory, Pause, Read, Seam, Truth, Validated
from fencecheck.interleaving import Replan, Update
from fencecheck.report.timeline import MOST_LINES, rows, run_lines, wrapped

from .made import REQ, WIN, history, stale

RUN = """\
     0  planner   read    order/42/requirement  r1 "2-21 Shibuya, Tokyo"               delivery.py:12
     1  planner   derive  p1                    from requirement r1                    delivery.py:13
   ▸    event     orders commits order/42/requirement r2  "3-1 Umeda, Osaka"
     2  executor  read    order/42/requirement  r2 "3-1 Umeda, Osaka"                  delivery.py:40
   ▸ 3  executor  act     ship(to="2-21 Shibuya, Tokyo")  made from requirement r1, current r2  delivery.py:41
                  end     returned"""


def test_the_run() -> None:
    lines = [line.plain.rstrip() for line in run_lines(stale(), 4, 110)]
    assert [" ".join(line.split()) for line in lines] == [" ".join(line.split()) for line in RUN.splitlines()]


def test_columns_stand_below_each_other() -> None:
    lines = [line.plain for line in run_lines(stale(), 4, 110)]
    assert len({line.index("order/42") for line in (lines[0], lines[3])}) == 1
    assert len({line.index("delivery.py") for line in (lines[0], lines[1], lines[3])}) == 1


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_no_line_is_wider_than_asked(width: int) -> None:
    for line in run_lines(stale(), 4, width):
        assert cell_len(line.plain) <= width


@pytest.mark.parametrize("width", [60, 80])
def test_what_an_act_was_made_from_is_never_cut_off(width: int) -> None:
    text = " ".join(" ".join(line.plain for line in run_lines(stale(), 4, width)).split())
    assert "made from requirement r1, current r2" in text
    assert "delivery.py:41" in text


def test_wide_characters_count_for_two_cells() -> None:
    wide = history(Pause("agent", "待つ" * 30), Ended("returned"))
    assert all(cell_len(line.plain) <= 60 for line in run_lines(wide, None, 60))


def test_points_are_numbered_and_statements_are_not() -> None:
    run = history(
        Declared("a", "ship", (REQ, WIN)),
        Head("a", REQ, f"{REQ}@1"),
        Validated("a", (REQ,)),
        Memory("a", WIN, f"{WIN}@1"),
        Fetch("a", "p1"),
        Fetch("a", f"{REQ}@1", "missing"),
        Pause("a", "approval"),
        Seam("a", "queue"),
        Truth(REQ, f"{REQ}@2"),
        Halted("a", f"{REQ}@2 is new"),
        Ended("halted", f"{REQ}@2 is new"),
    )
    assert [(row.number, row.verb, row.about, row.detail) for row in rows(run)] == [
        (None, "declared", "ship", "requirement, window"),
        (0, "head", REQ, "r1"),
        (None, "validated", "requirement", ""),
        (1, "memory", WIN, 'r1 "9 to 11"'),
        (2, "record", "p1", "from requirement r1"),
        (3, "record", f"{REQ} r1", "cannot be read"),
        (4, "pause", "approval", ""),
        (5, "point", "queue", ""),
        (None, "", f"the store now holds {REQ} r2", ""),
        (None, "halted", f"{REQ} r2 is new", ""),
    ]


@pytest.mark.parametrize(
    ("answer", "words"),
    [("refused", "refused"), ("hang", "no answer"), ("malformed", "a malformed answer"), ("wrong-key", "an answer for another key")],
)
def test_answers_that_are_none(answer: str, words: str) -> None:
    assert rows(history(Read("a", REQ, None, answer)))[0].detail == words  # type: ignore[arg-type]


def test_what_an_event_did_itself_has_no_number_and_its_agent_in_brackets() -> None:
    run = history(Landed(0, Replan("task")), Read("a", REQ, f"{REQ}@1", "ok", True), Derive("a", "p1", True), Act("a", "ship"))
    assert [(row.number, row.who) for row in rows(run)] == [(None, "event"), (None, "(a)"), (None, "(a)"), (0, "a")]


def test_events_that_did_not_fire_are_not_shown() -> None:
    assert [row.verb for row in rows(history(Landed(0, Update(REQ), False), Pause("a")))] == ["pause"]


def test_a_long_run_keeps_what_is_near_to_events_the_finding_and_both_ends() -> None:
    waits = [Pause("a", str(n)) for n in range(500)]
    run = history(*waits[:250], Landed(250, Update(REQ), True, f"{REQ}@2"), *waits[250:], Act("a", "ship", {}, "p1"), Ended("returned"))
    lines = [line.plain for line in run_lines(run, 501, 120)]
    assert len(lines) < MOST_LINES
    assert [line.strip() for line in lines if "further lines" in line] == ["… 241 further lines", "… 242 further lines"]
    assert any("orders commits" in line for line in lines)
    assert any("ship()" in line for line in lines)


def test_text_is_wrapped_between_words_only() -> None:
    assert wrapped("one two three", 9, "  ", "    ") == ["  one two", "    three"]
    assert wrapped("a/very/long/path", 8) == ["  a/very/long/path"]
    assert wrapped("one\xa0two three", 9, "") == ["one two", "three"]
