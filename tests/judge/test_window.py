"""Where the window of a validation begins and ends, and at which instant an input is judged.

Each rule as a bad history and the nearest good one; the rules are in ARCHITECTURE.md, "The judge, exactly".
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .book import Book, planned
from .both import found, judged


class TestWindow:
    def test_a_mark_after_the_plan_counts(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.validated("a")
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"raced-act a"}

    def test_a_mark_before_the_plan_does_not(self) -> None:
        book = Book("a")
        version = book.read("a")
        book.validated("a")
        plan = book.derive(version)
        book.update("a")
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.codes == {"stale-act"}
        assert (verdict.counts["unmarked"], verdict.counts["overtaken"]) == (1, 1)

    @pytest.mark.parametrize("between", [Book.pause, Book.restart, Book.act, None])
    def test_what_else_ends_a_mark_is_not_laid_on_the_plan(self, between: Callable[[Book], object] | None) -> None:
        book = Book("a", "b", times=2)
        versions = [book.read("a"), book.read("b")]
        if between is None:
            book.validated("a")  # does not cover b
        else:
            book.validated("a", "b")
            between(book)
        plan = book.derive(*versions)
        book.act(plan=plan)
        assert judged(book.returned()).counts["overtaken"] == 0

    def test_a_derive_of_something_else_leaves_the_mark(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.validated("a")
        book.derive("a1", by="other")
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"raced-act a"}

    def test_the_plan_of_another_agent_is_planned_when_that_agent_derived_it(self) -> None:
        book = Book("a")
        version = book.read("a", by="other")
        book.validated("a")
        plan = book.derive(version, by="other")
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_a_plan_derived_within_a_replan_event_is_planned_there(self) -> None:
        book = Book("a")
        book.validated("a")
        book.replan_event()
        plan = book.derive(book.read("a", in_event=True), in_event=True)
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_without_a_derive_the_read_that_supplied_it_is_the_planning_point(self) -> None:
        for read_first, expected in ((True, {"raced-act a"}), (False, {"stale-act a"})):
            book = Book("a")
            if read_first:
                book.read("a")
            book.validated("a")
            if not read_first:
                book.read("a")
            book.update("a")
            book.act(basis={"a": "a1"})
            assert found(book.returned()) == expected

    @pytest.mark.parametrize("supply", [lambda book: book.memory("a", "a1"), lambda book: book.fetch("a1")])
    def test_memory_and_a_fetch_supply_too(self, supply) -> None:
        book = Book("a")
        book.validated("a")
        supply(book)
        book.update("a")
        book.act(basis={"a": "a1"})
        assert found(book.returned()) == {"stale-act a"}

    @pytest.mark.parametrize(
        "supply",
        [
            lambda book: book.head("a"),
            lambda book: book.memory("a"),
            lambda book: book.fetch("a1", "missing"),
            lambda book: book.read("a", by="other"),
        ],
    )
    def test_these_supply_nothing(self, supply) -> None:
        book = Book("a")
        book.validated("a")
        supply(book)
        book.update("a")
        book.act(basis={"a": "a1"})
        assert found(book.returned()) == {"raced-act a"}

    def test_the_start_is_in_it(self) -> None:
        book = Book("a")
        book.read("a")
        book.update("a")
        book.validated("a")
        book.act(basis={"a": "a1"})
        assert found(book.returned()) == {"torn-validation a"}

    @pytest.mark.parametrize("spend", [lambda book: book.pause(), lambda book: book.restart(), lambda book: book.act(outcome="refused")])
    def test_a_pause_a_restart_and_an_act_spend_the_mark(self, spend) -> None:
        book = Book("a")
        plan = planned(book)
        book.validated("a")
        spend(book)
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    @pytest.mark.parametrize(
        "leave",
        [
            lambda book: book.pause(by="other"),
            lambda book: book.restart(by="other"),
            lambda book: book.restart(fired=False),
            lambda book: book.act(outcome="refused", by="other"),
            lambda book: book.point(),
            lambda book: book.declared(),
        ],
    )
    def test_what_leaves_the_mark(self, leave) -> None:
        book = Book("a")
        plan = planned(book)
        book.validated("a")
        leave(book)
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"raced-act a"}

    def test_a_mark_after_the_pause_counts(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.pause()
        book.validated("a")
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"raced-act a"}

    def test_a_second_act_needs_a_mark_of_its_own(self) -> None:
        for again, expected in ((False, {"stale-act a"}), (True, {"raced-act a"})):
            book = Book("a", times=2)
            plan = planned(book)
            book.validated("a")
            book.act(plan=plan)
            if again:
                book.validated("a")
            book.update("a")
            book.act(plan=plan)
            assert found(book.returned()) == expected

    def test_the_mark_of_another_agent_does_not_count(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.validated("a", by="other")
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_a_mark_must_cover_every_declared_key(self) -> None:
        for keys, expected in ((("a",), {"stale-act b"}), (("a", "b"), {"raced-act b"})):
            book = Book("a", "b")
            plan = planned(book)
            book.validated(*keys)
            book.update("b")
            book.act(plan=plan)
            assert found(book.returned()) == expected

    def test_two_marks_do_not_add_up(self) -> None:
        book = Book("a", "b")
        plan = planned(book)
        book.validated("a")
        book.validated("b")
        book.update("b")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act b"}

    def test_a_mark_need_not_cover_what_is_not_declared(self) -> None:
        book = Book("a", "b", declared=["a"])
        plan = planned(book)
        book.validated("a")
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"raced-act a"}

    def test_the_last_mark_is_the_mark(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.validated("a")
        book.update("a")
        book.validated("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_answers_after_the_mark_are_outside_the_window(self) -> None:
        for marked, expected in ((True, {"raced-act a"}), (False, {"stale-act a"})):
            book = Book("a")
            plan = planned(book)
            book.head("a")
            if marked:
                book.validated("a")
            book.update("a")
            book.head("a")
            book.act(plan=plan)
            assert found(book.returned()) == expected


class TestInstant:
    def test_a_key_is_judged_by_what_was_served(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a")
        book.update("a")
        book.validated("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"torn-validation a"}

    def test_a_key_never_asked_for_by_the_truth_at_the_mark(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.validated("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_what_was_served_last(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a")
        book.update("a")
        book.head("a")
        book.validated("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_what_another_agent_was_served_does_not_count(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a", by="other")
        book.update("a")
        book.validated("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_without_a_mark_by_the_truth_at_the_act(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a")
        book.update("a")
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.codes == {"stale-act"}
        assert verdict.counts["unmarked"] == 1

    def test_an_expected_key_by_the_truth_at_the_act(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a")
        book.update("a")
        book.validated("a")
        book.act(plan=plan, expect={"a": "a2"})
        assert found(book.returned()) == {"stale-act a"}

    def test_expecting_what_it_was_made_from_needs_no_mark(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.act(plan=plan, expect={"a": "a1"})
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["unmarked"] == 0

    def test_expecting_only_some_keys_needs_a_mark_for_the_others(self) -> None:
        book = Book("a", "b")
        plan = planned(book)
        book.act(plan=plan, expect={"a": "a1"})
        assert judged(book.returned()).counts["unmarked"] == 1

    def test_a_tool_that_checks_the_version_refuses_the_stale_act(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.act(plan=plan, expect={"a": "a1"})
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["effects"] == 0
        assert verdict.counts["refused"] == 1

    def test_an_update_before_the_act_but_after_the_mark_is_a_race(self) -> None:
        for keys, expected in (((), set()), (("a",), {"raced-act a"}), (("a", "b"), {"raced-act a", "raced-act b"})):
            book = Book("a", "b")
            plan = planned(book)
            book.head("a")
            book.head("b")
            book.validated()
            for key in keys:
                book.update(key)
            book.act(plan=plan)
            assert found(book.returned()) == expected

    def test_an_update_between_two_questions_tears(self) -> None:
        for torn in ("a", "b"):
            book = Book("a", "b")
            plan = planned(book)
            book.head("a")
            book.update(torn)
            book.head("b")
            book.validated()
            book.act(plan=plan)
            expected = {"torn-validation a"} if torn == "a" else {"stale-act b"}
            assert found(book.returned()) == expected

    def test_a_value_that_is_back_at_the_mark_is_not_torn(self) -> None:
        book = Book("a", "b")
        plan = planned(book)
        book.head("a")
        book.update("a")
        book.head("b")
        book.update("a", again="a1")
        book.validated()
        book.act(plan=plan)
        assert found(book.returned()) == set()
