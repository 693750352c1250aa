"""A mark that was given and counts for nothing: the finding says what made it void."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fencecheck.judge import judge
from fencecheck.model import Action, Scenario

from .book import Book
from .both import judged

STALE = "bill went out made from a1 while a2 was current"


def two_acts(between: Callable[[Book], Any], *, acts: tuple[str, ...] = ("bill",), marks: bool = True) -> str:
    """The message of the last act: planned, validated, `between`, changed, acted."""
    book = Book(scenario=Scenario({"owner": ["a"]}, [Action("ship", ["a"]), Action("bill", ["a"])]))
    plan = book.derive(book.read("a"))
    if marks:
        book.head("a")
        book.validated("a")
    between(book)
    book.update("a")
    for action in acts:
        book.act(action, plan=plan)
    history = book.returned()
    judged(history)
    (message,) = (finding.message for finding in judge(history).findings if finding.code == "stale-act")
    return message


def test_two_acts_on_one_mark() -> None:
    """The first is judged by the mark, which it spends."""
    message = two_acts(lambda book: None, acts=("ship", "bill"))
    assert message == f"{STALE}: its validated() was spent by the act ship before it, and each act needs one of its own."


VOID: dict[str, tuple[Callable[[Book], Any], str]] = {
    "wait": (lambda book: book.pause(), ": its validated() came before the wait approval."),
    "restart": (lambda book: book.restart(), ": its validated() came before agent was restarted."),
}


@pytest.mark.parametrize(("between", "why"), VOID.values(), ids=VOID)
def test_a_mark_before_something_that_makes_it_void(between: Callable[[Book], Any], why: str) -> None:
    assert two_acts(between) == STALE + why


def test_where_there_is_no_mark_nothing_is_added() -> None:
    assert two_acts(lambda book: None, marks=False) == f"{STALE}."


def test_a_halt_that_was_not_needed_is_needless_whatever_failed_beside_it() -> None:
    """So that the outcome and the finding count the same episodes."""
    book = Book("a", "b")
    book.derive(book.read("b"), by="other")
    book.head("b", answer="refused", by="other")
    book.derive(book.read("a"), book.read("b"))
    verdict = judged(book.ended("halted"))
    assert (verdict.codes, verdict.counts["outcome"]) == ({"needless-halt"}, "halted-needless")
