"""What was not verified, what has no evidence, and evidence that contradicts itself.

Each rule as a bad history and the nearest good one; the rules are in ARCHITECTURE.md, "The judge, exactly".
"""

from __future__ import annotations

import pytest

from fencecheck.history import Answer

from .book import Book, planned
from .both import found, judged


class TestUnverified:
    @pytest.mark.parametrize("answer", ["refused", "hang", "malformed", "wrong-key", "missing", "corrupt"])
    def test_a_failed_answer(self, answer: Answer) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a", answer=answer)
        book.validated()
        book.act(plan=plan)
        assert found(book.returned()) == {"unverified-act a"}

    def test_a_failed_answer_and_then_a_good_one(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a", answer="refused")
        book.head("a")
        book.act(plan=plan)
        assert found(book.returned()) == set()

    def test_a_good_answer_and_then_a_failed_one(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a")
        book.head("a", answer="refused")
        book.act(plan=plan)
        assert found(book.returned()) == {"unverified-act a"}

    def test_only_the_key_that_failed(self) -> None:
        book = Book("a", "b")
        plan = planned(book)
        book.head("a")
        book.head("b", answer="refused")
        book.act(plan=plan)
        assert found(book.returned()) == {"unverified-act b"}

    def test_a_key_that_is_not_declared_may_fail(self) -> None:
        book = Book("a", "b", depends_on=["a"])
        plan = planned(book)
        book.head("b", answer="refused")
        book.act(plan=plan)
        assert found(book.returned()) == set()

    def test_a_failed_answer_before_the_window(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a", answer="refused")
        book.pause()
        book.act(plan=plan)
        assert found(book.returned()) == set()

    def test_a_failed_answer_after_the_mark(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.validated()
        book.head("a", answer="refused")
        book.act(plan=plan)
        assert found(book.returned()) == set()

    def test_a_failed_answer_of_another_agent(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a", answer="refused", by="other")
        book.act(plan=plan)
        assert found(book.returned()) == set()

    def test_a_tool_that_checks_the_version_verifies_it(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a", answer="refused")
        book.act(plan=plan, expect={"a": "a1"})
        assert found(book.returned()) == set()

    def test_an_answer_older_than_one_served_before(self) -> None:
        book = Book("a")
        book.update("a")
        plan = planned(book)
        book.head("a", "a1")
        book.validated()
        book.act(plan=plan)
        assert found(book.returned()) == {"unverified-act a"}

    def test_an_older_answer_is_not_judged_by(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.head("a")
        book.head("a", "a1")
        book.validated()
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a", "unverified-act a"}

    def test_an_answer_older_than_one_served_to_another_agent(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.head("a", by="other")
        book.head("a", "a1")
        book.validated()
        book.act(plan=plan)
        assert found(book.returned()) == set()

    def test_an_answer_older_than_what_the_agent_wrote(self) -> None:
        book = Book("a", writes=["a"], times=2)
        book.act(plan=planned(book))
        plan = book.derive("a2")
        book.head("a", "a1")
        book.act(plan=plan)
        assert found(book.returned()) == {"unverified-act a"}

    def test_what_memory_held_is_not_what_an_owner_served(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.memory("a", "a2")
        book.head("a", "a1")
        book.validated()
        book.act(plan=plan)
        assert found(book.returned()) == set()

    def test_an_answer_of_a_version_that_does_not_exist(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a", "nothing known")
        book.act(plan=plan)
        assert found(book.returned()) == {"unverified-act a"}

    def test_an_answer_that_names_no_version_of_a_key_that_has_none(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.versions["a"].clear()
        book.head("a", None, none=True)
        book.validated()
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a", "unverified-act a"}

    def test_a_key_absent_from_a_complete_lineage(self) -> None:
        book = Book("a", "b")
        book.act(plan=planned(book, "a"))
        assert found(book.returned()) == {"unverified-act b"}

    def test_a_basis_does_not_stand_in_for_it(self) -> None:
        book = Book("a", "b")
        book.act(plan=planned(book, "a"), basis={"b": "b1"})
        assert found(book.returned()) == {"unverified-act b"}

    def test_a_record_of_the_lineage_that_could_not_be_fetched(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a")
        book.fetch(plan)
        book.fetch("a1", "missing")
        book.validated()
        book.act(plan=plan)
        assert found(book.returned()) == {"unverified-act"}

    def test_a_record_that_could_be_fetched_in_the_end(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.head("a")
        book.fetch("a1", "missing")
        book.fetch("a1")
        book.validated()
        book.act(plan=plan)
        assert found(book.returned()) == set()

    def test_a_record_that_is_not_of_the_lineage(self) -> None:
        book = Book("a")
        plan = planned(book)
        other = book.derive("a1")
        book.head("a")
        book.fetch(plan, "missing")
        book.validated()
        book.act(plan=other)
        assert found(book.returned()) == set()

    def test_a_system_that_asked_no_owner_did_not_validate(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.fetch("a1", "missing")
        book.validated()
        book.act(plan=plan)
        assert found(book.returned()) == set()


class TestNoEvidence:
    def test_an_act_that_shows_nothing(self) -> None:
        book = Book("a")
        book.read("a")
        book.act()
        assert found(book.returned()) == {"no-evidence a"}

    def test_only_the_keys_that_show_nothing(self) -> None:
        book = Book("a", "b")
        book.act(basis={"a": "a1"})
        assert found(book.returned()) == {"no-evidence b"}

    def test_a_parent_that_does_not_exist(self) -> None:
        book = Book("a")
        book.act(plan=book.derive("no such record"))
        assert found(book.returned()) == {"no-evidence a"}

    def test_a_plan_that_does_not_exist(self) -> None:
        book = Book("a")
        book.act(plan="no such plan")
        assert found(book.returned()) == {"no-evidence a"}

    def test_a_complete_lineage_without_the_key_shows_that_it_was_not_used(self) -> None:
        book = Book("a")
        book.act(plan=book.derive())
        assert found(book.returned()) == {"unverified-act a"}


class TestProvenance:
    def test_arguments_of_another_version_than_the_plan(self) -> None:
        book = Book("a")
        old = book.value(book.read("a"))
        book.update("a")
        book.act(plan=planned(book), args={"to": old})
        assert found(book.returned()) == {"provenance-mismatch a", "stale-act a"}

    def test_arguments_of_the_plan(self) -> None:
        book = Book("a")
        book.update("a")
        book.act(plan=planned(book), args={"to": book.value("a2")})
        assert found(book.returned()) == set()

    def test_a_basis_of_another_version_than_the_plan(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.act(plan=plan, basis={"a": "a2"})
        assert found(book.returned()) == {"provenance-mismatch a", "stale-act a"}

    def test_a_basis_of_another_version_than_the_arguments(self) -> None:
        book = Book("a")
        book.update("a")
        book.act(basis={"a": "a2"}, args=book.value("a1"))
        assert found(book.returned()) == {"provenance-mismatch a", "stale-act a"}

    def test_versions_with_equal_values_do_not_exclude_each_other(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.update("a", again="a1")
        book.act(plan=plan, basis={"a": "a3"}, args=book.value("a1"))
        assert found(book.returned()) == set()

    def test_one_equal_pair_is_enough(self) -> None:
        book = Book("a")
        first = book.read("a")
        book.update("a")
        plan = book.derive(first, book.read("a"))
        book.act(plan=plan, args=book.value("a2"))
        assert found(book.returned()) == {"stale-act a"}

    def test_true_dependencies_count_though_not_declared(self) -> None:
        book = Book("a", "b", declared=["a"])
        plan = planned(book)
        book.update("b")
        book.act(plan=plan, args=book.value("b2"))
        verdict = judged(book.returned())
        assert verdict.codes == {"provenance-mismatch"}
        assert verdict.counts["omitted"] == 1

    def test_a_key_that_the_act_does_not_depend_on(self) -> None:
        book = Book("a", "b", depends_on=["a"])
        plan = planned(book)
        book.update("b")
        book.act(plan=plan, args=book.value("b2"))
        assert found(book.returned()) == set()
