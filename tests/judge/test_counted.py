"""What is counted, and acts that were done too often.

Each rule as a bad history and the nearest good one; the rules are in ARCHITECTURE.md, "The judge, exactly".
"""

from __future__ import annotations

import pytest

from fencecheck.model import Action, Scenario

from .book import Book, planned
from .both import found, judged


class TestCounted:
    def test_a_misreporting_owner_is_not_blamed_on_the_fence(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.head("a", "a1")
        book.validated()
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["misreported"] == 1

    def test_an_honest_owner_is(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.head("a")
        book.validated()
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.codes == {"stale-act"}
        assert verdict.counts["misreported"] == 0

    def test_an_owner_that_was_right_when_it_answered_did_not_misreport(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a")
        book.update("a")
        book.validated()
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.codes == {"torn-validation"}
        assert verdict.counts["misreported"] == 0

    def test_a_misreport_of_an_equal_value_changes_nothing(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a", again="a1")
        book.head("a", "a1")
        book.validated()
        book.act(plan=plan)
        assert judged(book.returned()).counts["misreported"] == 0

    @pytest.mark.parametrize("how", [{"dropped": [("ship", "b")]}, {"declared": ["a"]}])
    def test_a_dependency_that_is_not_declared_is_counted_and_not_blamed(self, how: dict) -> None:
        book = Book("a", "b", **how)
        plan = planned(book)
        book.update("b")
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["omitted"] == 1

    @pytest.mark.parametrize("how", [{}, {"dropped": [("another action", "b")]}])
    def test_one_that_is_declared_is_blamed(self, how: dict) -> None:
        book = Book("a", "b", **how)
        plan = planned(book)
        book.update("b")
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.findings == {("stale-act", 4, "b")}
        assert verdict.counts["omitted"] == 0

    def test_an_omitted_key_that_changes_after_the_mark_was_current(self) -> None:
        book = Book("a", "b", declared=["a"])
        plan = planned(book)
        book.validated("a")
        book.update("b")
        book.act(plan=plan)
        assert judged(book.returned()).counts["omitted"] == 0

    @pytest.mark.parametrize(("basis", "unshown"), [({"a": "a1"}, 1), ({"a": "a1", "b": "b1"}, 0)])
    def test_one_of_which_nothing_is_shown_is_counted(self, basis: dict, unshown: int) -> None:
        book = Book("a", "b", dropped=[("ship", "b")])
        book.act(basis=basis)
        assert judged(book.returned()).counts["unshown"] == unshown

    def test_one_that_a_complete_lineage_does_not_hold_is_known_to_play_no_part(self) -> None:
        book = Book("a", "b", declared=["a"])
        book.act(plan=book.derive(book.read("a")))
        assert judged(book.returned()).counts["unshown"] == 0


class TestDuplicates:
    def test_two_effects_of_one_action(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.act(plan=plan)
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.findings == {("duplicate-act", 3, None)}
        assert verdict.counts["duplicates"] == 1

    def test_an_action_that_is_meant_to_go_out_twice(self) -> None:
        book = Book("a", times=2)
        plan = planned(book)
        book.act(plan=plan)
        book.act(plan=plan)
        assert found(book.returned()) == set()
        book.act(plan=plan)
        assert found(book.returned()) == {"duplicate-act"}

    def test_two_actions(self) -> None:
        book = Book(scenario=Scenario({"owner": ["a"]}, [Action("ship", ["a"]), Action("bill", ["a"])]))
        plan = planned(book)
        book.act("ship", plan=plan)
        book.act("bill", plan=plan)
        assert found(book.returned()) == set()

    def test_a_used_idempotency_key_makes_no_effect(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.act(plan=plan, idempotency_key="k")
        assert book.act(plan=plan, idempotency_key="k") == "repeated"
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["refused"] == 0

    def test_with_other_arguments_it_is_refused(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.act(plan=plan, idempotency_key="k")
        assert book.act(plan=plan, idempotency_key="k", args="other") == "key-reused"
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["refused"] == 1

    def test_an_effect_whose_reply_was_lost_is_an_effect(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.act(plan=plan, outcome="lost-reply")
        book.act(plan=plan)
        assert found(book.returned()) == {"duplicate-act"}

    def test_sent_again_with_its_idempotency_key(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.act(plan=plan, outcome="lost-reply", idempotency_key="k")
        book.act(plan=plan, idempotency_key="k")
        assert found(book.returned()) == set()

    def test_an_act_that_was_refused_is_no_effect(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.act(plan=plan, outcome="refused")
        book.act(plan=plan)
        assert found(book.returned()) == set()
