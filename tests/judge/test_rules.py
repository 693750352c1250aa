"""The rules of the judge, each as a bad history and the nearest good one. ARCHITECTURE.md, "The judge, exactly"."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fencecheck.history import Answer
from fencecheck.model import Action, Scenario

from .book import Book
from .both import found, judged


def planned(book: Book, *keys: str) -> str:
    """Read the keys, all of the scenario if none is given, and derive a plan from what was served."""
    return book.derive(*[book.read(key) for key in keys or book.scenario.keys])


class TestStale:
    def test_a_plan_made_from_an_old_version(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_a_plan_made_from_the_current_version(self) -> None:
        book = Book("a")
        book.update("a")
        book.act(plan=planned(book))
        assert found(book.returned()) == set()

    def test_fresh_memory_does_not_rewrite_a_plan(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.deliver("a")
        book.memory("a", "a2")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_a_plan_derived_from_fresh_memory(self) -> None:
        book = Book("a")
        planned(book)
        book.update("a")
        book.deliver("a")
        book.act(plan=book.derive(book.memory("a", "a2")))
        assert found(book.returned()) == set()

    @pytest.mark.parametrize("depth", [1, 2, 4, 8])
    def test_an_input_several_generations_up(self, depth: int) -> None:
        book = Book("a")
        plan = planned(book)
        for _ in range(depth):
            plan = book.derive(plan)
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    @pytest.mark.parametrize("how", [{"basis": {"a": "a1"}}, {"args": "a version 1"}, {"versions": {"a": ("a1",)}}])
    def test_any_kind_of_evidence_will_do(self, how: dict) -> None:
        good = Book("a")
        good.act(**how)
        assert found(good.returned()) == set()
        bad = Book("a")
        bad.update("a")
        bad.act(**how)
        assert found(bad.returned()) == {"stale-act a"}

    @pytest.mark.parametrize(
        "value",
        [lambda n: f"town {n}", lambda n: {"to": f"town {n}", "floor": 1}, lambda n: [f"town {n}", 1], lambda n: {"to": {"town": [n]}}],
        ids=["text", "flat", "list", "nested"],
    )
    @pytest.mark.parametrize("sent", [lambda value: value, lambda value: {"order": value}, lambda value: [{"order": (value, 1)}]])
    def test_a_value_of_any_shape_is_evidence_whole_and_inside(self, value: Callable, sent: Callable) -> None:
        scenario = Scenario({"owner": ["a"]}, [Action("ship", depends_on=["a"])], values={"a": [value(n) for n in (1, 2)]})
        good = Book(scenario=scenario)
        good.act(args=sent(value(1)))
        assert found(good.returned()) == set()
        bad = Book(scenario=scenario)
        bad.update("a")
        bad.act(args=sent(value(1)))
        assert found(bad.returned()) == {"stale-act a"}

    def test_the_old_plan_s_arguments_sent_whole_with_the_new_plan(self) -> None:
        scenario = Scenario({"owner": ["a"]}, [Action("ship", depends_on=["a"])], values={"a": [{"to": "Tokyo"}, {"to": "Osaka"}]})
        book = Book(scenario=scenario)
        old = book.value(planned(book) and "a1")
        book.update("a")
        book.act(plan=planned(book), args=old)
        assert found(book.returned()) == {"stale-act a", "provenance-mismatch a"}

    def test_only_the_keys_that_changed(self) -> None:
        book = Book("a", "b")
        plan = planned(book)
        book.update("b")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act b"}

    def test_a_key_that_the_act_does_not_depend_on(self) -> None:
        book = Book("a", "b", depends_on=["a"])
        plan = planned(book)
        book.update("b")
        book.act(plan=plan)
        assert found(book.returned()) == set()

    def test_a_version_that_was_served_though_no_entry_commits_it(self) -> None:
        book = Book("a", own_store=True)
        plan = planned(book)
        book.commit_unseen("a")
        book.head("a")
        book.validated()
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_a_key_that_is_declared_twice_is_found_once(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.act(plan=plan, basis={"a": "a2"}, declared=("a", "a"), depends_on=("a", "a"))
        assert found(book.returned()) == {"stale-act a", "provenance-mismatch a"}

    def test_the_arguments_can_decide_the_keys(self) -> None:
        scenario = Scenario({"owner": ["a", "b"]}, [Action("ship", depends_on=lambda args: [args["path"]])])
        for path, expected in (("a", set()), ("b", {"stale-act b"})):
            book = Book(scenario=scenario)
            plan = planned(book)
            book.update("b")
            book.act(plan=plan, args={"path": path}, depends_on=(path,))
            assert found(book.returned()) == expected

    def test_what_a_refused_act_was_made_from_does_not_matter(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.act(plan=plan, outcome="refused")
        book.act(plan=planned(book))
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["refused"] == 1

    def test_the_act_s_own_write_comes_after_it(self) -> None:
        book = Book("a", writes=["a"])
        book.act(plan=planned(book))
        assert found(book.returned()) == set()

    def test_the_next_act_rests_on_what_the_first_wrote(self) -> None:
        book = Book("a", writes=["a"], times=2)
        plan = planned(book)
        book.act(plan=plan)
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_an_event_that_did_not_fire_commits_nothing(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.entries[-1].fired = False
        book.act(plan=plan)
        assert found(book.returned()) == set()

    def test_a_store_of_the_system_s_own_is_the_truth(self) -> None:
        book = Book("a", own_store=True)
        plan = planned(book)
        book.store("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_a_derived_record_with_a_key_is_a_version_of_it(self) -> None:
        book = Book("a", "b", depends_on=["b"])
        plan = planned(book)
        book.derive("a1", key="b")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act b"}


class TestLineage:
    def test_it_stops_at_the_first_version_on_a_path(self) -> None:
        book = Book("a")
        second = book.derive(book.read("a"), key="a")
        book.act(plan=book.derive(second))
        assert found(book.returned()) == set()

    def test_a_path_around_that_version_counts_too(self) -> None:
        book = Book("a")
        first = book.read("a")
        second = book.derive(first, key="a")
        book.act(plan=book.derive(second, book.derive(first)))
        assert found(book.returned()) == {"stale-act a"}

    def test_of_two_versions_one_is_old(self) -> None:
        book = Book("a")
        first = book.read("a")
        book.update("a")
        book.act(plan=book.derive(first, book.read("a")))
        assert found(book.returned()) == {"stale-act a"}

    def test_superseding_is_not_deriving(self) -> None:
        book = Book("a")
        book.update("a")
        assert book.records["a2"].supersedes == "a1"
        book.act(plan=planned(book))
        assert found(book.returned()) == set()

    def test_a_diamond_is_no_contradiction(self) -> None:
        book = Book("a")
        first = book.read("a")
        book.act(plan=book.derive(book.derive(first), book.derive(first)))
        assert found(book.returned()) == set()

    def test_a_version_can_itself_be_the_plan(self) -> None:
        book = Book("a")
        book.act(plan=book.read("a"))
        assert found(book.returned()) == set()
        book = Book("a")
        plan = book.read("a")
        book.update("a")
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}


class TestValues:
    def test_they_are_recognised_within_dicts_and_lists(self) -> None:
        book = Book("a")
        value = book.value(book.read("a"))
        book.update("a")
        book.act(args={"lines": [{"to": value}]})
        assert found(book.returned()) == {"stale-act a"}

    def test_a_value_can_be_a_whole_sub_tree(self) -> None:
        scenario = Scenario({"owner": ["a"]}, [Action("ship", ["a"])], values={"a": [{"city": "Tokyo", "zip": 150}]})
        for to, expected in (({"zip": 150, "city": "Tokyo"}, set()), ({"city": "Tokyo"}, {"no-evidence a"})):
            book = Book(scenario=scenario)
            book.act(args={"to": to})
            assert found(book.returned()) == expected

    def test_a_text_that_only_contains_a_value_carries_nothing(self) -> None:
        book = Book("a")
        book.act(args={"to": f"please send to {book.value('a1')}"})
        assert found(book.returned()) == {"no-evidence a"}

    def test_values_of_two_versions_name_neither(self) -> None:
        for more, expected in (({}, {"stale-act a"}), ({"all": ["a1", "a2"]}, {"no-evidence a"})):
            book = Book("a")
            value = book.value("a1")
            book.update("a")
            args = {"to": value, "among": [book.value(id) for id in more.get("all", ())]}
            book.act(args=args)
            assert found(book.returned()) == expected

    @pytest.mark.parametrize(("first", "second"), [(1, 2), (True, False), (1.5, 2.5)])
    def test_a_number_beside_a_plan_is_there_by_chance(self, first: object, second: object) -> None:
        book = Book(scenario=Scenario({"owner": ["a"]}, [Action("ship", ["a"])], values={"a": [first, second]}))
        plan = planned(book)
        book.update("a")
        book.head("a")
        plan = planned(book)
        book.head("a")
        book.validated("a")
        book.act(plan=plan, args={"quantity": first})
        assert found(book.returned()) == set()

    def test_a_number_alone_shows_what_it_names(self) -> None:
        for sent, expected in ((1, {"stale-act a"}), (True, {"no-evidence a"}), (1.0, {"no-evidence a"}), (2, set())):
            book = Book(scenario=Scenario({"owner": ["a"]}, [Action("ship", ["a"])], values={"a": [1, 2]}))
            book.update("a")
            book.act(args={"quantity": sent})
            assert found(book.returned()) == expected

    def test_one_that_came_back_is_both_versions(self) -> None:
        book = Book("a")
        value = book.value(book.read("a"))
        book.update("a")
        book.update("a", again="a1")
        book.act(args=value)
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["value_current"] == 0

    def test_an_older_version_with_an_equal_value_is_current_and_counted(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.update("a", again="a1")
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["value_current"] == 1

    def test_until_it_comes_back_it_is_stale(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.act(plan=plan)
        book.update("a", again="a1")
        verdict = judged(book.returned())
        assert verdict.codes == {"stale-act"}
        assert verdict.counts["value_current"] == 0

    def test_equal_values_of_two_keys_are_not_equal_versions(self) -> None:
        scenario = Scenario({"owner": ["a", "b"]}, [Action("ship", ["a"])], values={"a": ["x", "y"], "b": ["y"]})
        book = Book(scenario=scenario)
        book.update("a")
        book.act(basis={"a": "b1"})
        assert found(book.returned()) == {"stale-act a"}

    def test_a_removal_is_a_version(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a", removed=True)
        book.act(plan=plan)
        assert found(book.returned()) == {"stale-act a"}

    def test_two_removals_are_not_equal(self) -> None:
        for removals, expected in ((1, set()), (2, {"stale-act a"})):
            book = Book("a")
            book.update("a", removed=True)
            plan = planned(book)
            for _ in range(removals - 1):
                book.update("a", removed=True)
            book.act(plan=plan)
            assert found(book.returned()) == expected

    def test_the_adapter_can_say_which_versions_the_arguments_carry(self) -> None:
        book = Book("a")
        book.update("a")
        book.act(args=book.value("a1"), versions={"a": ("a2",)})
        assert found(book.returned()) == set()


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


def replanned(book: Book, times: int = 1) -> str:
    """Plan, if there is no plan yet; then as often as said: see a change and plan again."""
    plan = "p1" if "p1" in book.records else planned(book)
    for _ in range(times):
        book.update("a")
        book.head("a")
        plan = planned(book)
    return plan


class TestUnboundedReplan:
    @pytest.mark.parametrize(("times", "expected"), [(0, set()), (1, set()), (2, {"unbounded-replan"}), (4, {"unbounded-replan"})])
    def test_once_and_then_halt(self, times: int, expected: set) -> None:
        book = Book("a")
        book.act(plan=replanned(book, times))
        verdict = judged(book.returned())
        assert verdict.codes == expected
        assert verdict.counts["replans"] == times
        assert len(verdict.findings) <= 1
        assert verdict.counts["recovered"] == (times > 0)

    def test_it_is_found_at_the_derive_that_is_one_too_many(self) -> None:
        book = Book("a")
        replanned(book, 2)
        at = len(book.entries) - 1
        book.act(plan=replanned(book))
        assert judged(book.returned()).findings == {("unbounded-replan", at, None)}

    @pytest.mark.parametrize(("replans", "expected"), [(0, {"unbounded-replan"}), (1, set())])
    def test_an_action_says_how_often(self, replans: int, expected: set) -> None:
        book = Book("a", replans=replans)
        book.act(plan=replanned(book))
        assert found(book.returned()) == expected

    def test_the_action_that_allows_most_decides(self) -> None:
        book = Book(scenario=Scenario({"owner": ["a"]}, [Action("ship", ["a"], replans=0), Action("bill", ["a"], replans=1)]))
        plan = replanned(book)
        book.act("ship", plan=plan)
        book.act("bill", plan=plan)
        assert found(book.returned()) == set()

    def test_a_replan_in_several_derives_is_one(self) -> None:
        book = Book("a")
        plan = replanned(book)
        for _ in range(3):
            plan = book.derive(plan)
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["replans"] == 1

    def test_planning_before_any_validation_is_no_replan(self) -> None:
        book = Book("a")
        version = book.read("a")
        plan = version
        for _ in range(4):
            plan = book.derive(plan)
        book.act(plan=plan)
        assert judged(book.returned()).counts["replans"] == 0

    def test_asking_for_a_key_outside_the_lineage_validates_nothing(self) -> None:
        book = Book("a", "b", depends_on=["a"])
        plan = planned(book, "a")
        book.read("b")
        book.act(plan=book.derive(plan))
        assert judged(book.returned()).counts["replans"] == 0

    def test_a_mark_validates(self) -> None:
        book = Book("a")
        planned(book)
        book.validated("a")
        book.act(plan=book.derive(book.read("a")))
        assert judged(book.returned()).counts["replans"] == 1

    def test_replan_events_never_count(self) -> None:
        book = Book("a")
        plan = planned(book)
        for _ in range(3):
            book.update("a")
            book.head("a")
            book.replan_event()
            plan = book.derive(book.read("a", in_event=True), in_event=True)
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["replans"] == 0

    @pytest.mark.parametrize(
        "reset",
        [lambda book: book.act(outcome="refused"), lambda book: book.halted(), lambda book: book.restart()],
        ids=["act", "halted", "restart"],
    )
    def test_an_act_a_halt_and_a_restart_begin_anew(self, reset) -> None:
        book = Book("a")
        replanned(book)
        reset(book)
        book.act(plan=replanned(book))
        assert found(book.returned()) == set()

    def test_it_is_found_once_each_time_that_it_is_counted_from_zero(self) -> None:
        book = Book("a", times=2)
        book.act(plan=replanned(book, 3))
        book.act(plan=replanned(book, 3))
        assert sorted(code for code, _, _ in judged(book.returned()).findings) == ["unbounded-replan"] * 2

    def test_its_evidence_is_the_replans_that_were_counted(self) -> None:
        book = Book("a", times=2)
        book.act(plan=replanned(book, 2))
        since = len(book.entries)
        book.act(plan=replanned(book, 2))
        [_, evidence] = [shown for (code, _, _), shown in sorted(judged(book.returned()).evidence.items()) if code == "unbounded-replan"]
        assert len(evidence) == 2
        assert min(evidence) > since

    def test_a_plan_made_within_a_replan_event_is_not_the_one_that_is_left(self) -> None:
        book = Book("a", "b", depends_on=["a"])
        planned(book, "a")
        book.replan_event()
        book.derive("b1", in_event=True)
        book.head("b")
        book.derive("a1")
        assert judged(book.ended("crashed")).counts["replans"] == 0
        book.head("a")
        book.derive("a1")
        assert judged(book.ended("crashed")).counts["replans"] == 1

    @pytest.mark.parametrize(
        "leave", [lambda book: book.pause(), lambda book: book.restart(fired=False), lambda book: book.halted(by="other")]
    )
    def test_what_does_not(self, leave) -> None:
        book = Book("a")
        replanned(book)
        book.derive("a1", by="other")  # which so goes by a plan of its own
        leave(book)
        book.act(plan=replanned(book))
        assert found(book.returned()) == {"unbounded-replan"}

    def test_an_executor_that_derives_nothing_goes_by_the_planners_plan(self) -> None:
        book = Book("a")
        plan = planned(book)
        for _ in range(2):
            book.update("a")
            book.head("a", by="executor")
            plan = book.derive(book.read("a"))
        book.head("a", by="executor")
        book.validated("a", by="executor")
        book.act(plan=plan, by="executor")
        assert found(book.returned()) == {"unbounded-replan"}

    def test_what_the_executor_was_told_is_the_planners_reason(self) -> None:
        book = Book("a")
        planned(book)
        book.update("a")
        book.head("a", by="executor")
        plan = book.derive(book.read("a"))
        book.head("a", by="executor")
        book.validated("a", by="executor")
        book.act(plan=plan, by="executor")
        assert found(book.returned()) == set()

    def test_a_derive_that_goes_on_from_the_plan_is_none(self) -> None:
        book = Book("a")
        first = book.derive(book.read("a"))
        plan = book.derive(first, book.read("a"))
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["replans"] == 0

    def test_each_agent_counts_for_itself(self) -> None:
        book = Book("a")
        for agent in ("agent", "other"):
            book.derive(book.read("a", by=agent), by=agent)
            book.update("a")
            book.head("a", by=agent)
            plan = book.derive(book.read("a", by=agent), by=agent)
        book.act(plan=plan)
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["replans"] == 2


CALLS_FOR_NOTHING = {
    "nothing happened": lambda book, plan: None,
    "a key that no action depends on changed": lambda book, plan: (book.update("x"), book.head("x")),
    "the owner of another key failed": lambda book, plan: book.head("x", answer="refused"),
    "a change that was not seen": lambda book, plan: book.update("a"),
    "another agent, with a plan of its own, saw the change": lambda book, plan: (
        book.derive("x1", by="other"),
        book.update("a"),
        book.head("a", by="other"),
    ),
    "a record of another lineage was missing": lambda book, plan: book.fetch("x1", "missing"),
    "an empty memory": lambda book, plan: book.memory("a"),
    "an unfired replan event": lambda book, plan: book.replan_event(fired=False),
    "a halt inside a tool that is part of it": lambda book, plan: book.act(plan=plan, outcome="halted"),
    "an act that was done": lambda book, plan: book.act(plan=plan),
    "the change was seen by what is made within an event": lambda book, plan: (book.update("a"), book.head("a", in_event=True)),
}
CALLS_FOR_IT = {
    "a new version was served": lambda book, plan: (book.update("a"), book.head("a")),
    "a new version with an equal value was served": lambda book, plan: (book.update("a", again="a1"), book.head("a")),
    "memory held a new version": lambda book, plan: (book.update("a"), book.memory("a", "a2")),
    "an owner failed": lambda book, plan: book.head("a", answer="refused"),
    "an owner served what does not exist": lambda book, plan: book.head("a", "nothing known"),
    "a record of the lineage was missing": lambda book, plan: book.fetch("a1", "missing"),
    "the plan was corrupt": lambda book, plan: book.fetch(plan, "corrupt"),
    "the tool refused": lambda book, plan: book.act(plan=plan, outcome="refused"),
    "the reply was lost": lambda book, plan: book.act(plan=plan, outcome="lost-reply"),
    "a replan event fired": lambda book, plan: book.replan_event(),
}


class TestNeed:
    @pytest.mark.parametrize("happens", CALLS_FOR_NOTHING.values(), ids=CALLS_FOR_NOTHING)
    def test_a_needless_replan(self, happens) -> None:
        book = Book("a", "x", depends_on=["a"])
        plan = planned(book, "a")
        happens(book, plan)
        book.validated("a")
        book.derive("a1")
        verdict = judged(book.ended("crashed"))
        assert verdict.findings == {("needless-replan", len(book.entries) - 1, None), ("crash", len(book.entries), None)}
        assert verdict.counts["needless_replans"] == 1

    @pytest.mark.parametrize("happens", CALLS_FOR_IT.values(), ids=CALLS_FOR_IT)
    def test_a_needed_replan(self, happens) -> None:
        book = Book("a", "x", depends_on=["a"])
        plan = planned(book, "a")
        happens(book, plan)
        book.validated("a")
        book.derive("a1")
        verdict = judged(book.ended("crashed"))
        assert verdict.codes == {"crash"}
        assert verdict.counts["replans"] == 1
        assert verdict.counts["needless_replans"] == 0

    @pytest.mark.parametrize(("own_store", "expected"), [(False, {"needless-replan"}), (True, set())])
    def test_a_store_of_the_system_s_own_may_be_seen_unasked(self, own_store: bool, expected: set) -> None:
        book = Book("a", own_store=own_store)
        planned(book)
        book.store("a")
        book.validated("a")
        book.derive("a2")
        assert judged(book.ended("crashed")).codes == expected | {"crash"}

    @pytest.mark.parametrize("parents", [(), ("a1", "a2"), ("no such record",)])
    def test_a_plan_without_exactly_one_version_of_a_key_must_be_left(self, parents: tuple) -> None:
        book = Book("a")
        book.update("a")
        book.derive(*parents)
        book.validated("a")
        book.act(plan=planned(book))
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["recovered"]

    def test_what_was_seen_before_the_plan_calls_for_nothing(self) -> None:
        book = Book("a")
        book.head("a", answer="refused")
        planned(book)
        book.validated("a")
        book.act(plan=planned(book))
        assert found(book.returned()) == {"needless-replan"}

    def test_a_dropped_declaration_calls_for_nothing(self) -> None:
        for dropped, expected in (([], set()), ([("ship", "b")], {"needless-replan"})):
            book = Book("a", "b", dropped=dropped)
            planned(book)
            book.update("b")
            book.head("b")
            book.act(plan=planned(book))
            assert found(book.returned()) == expected

    def test_where_the_keys_depend_on_the_arguments_that_of_a_replan_is_not_judged(self) -> None:
        book = Book(scenario=Scenario({"owner": ["a"]}, [Action("ship", depends_on=lambda args: ["a"])]))
        planned(book)
        book.validated("a")
        book.act("ship", plan=planned(book))
        verdict = judged(book.returned())
        assert verdict.codes == set()
        assert verdict.counts["replans"] == 1

    @pytest.mark.parametrize("plans", [True, False])
    def test_where_they_do_a_halt_is_called_for_by_the_keys_that_were_read_only(self, plans: bool) -> None:
        scenario = Scenario({"owner": ["a", "b"]}, [Action("write", depends_on=lambda args: [args["path"]])])
        for key, expected in ((None, {"needless-halt"}), ("b", {"needless-halt"}), ("a", set())):
            book = Book(scenario=scenario, own_store=True)
            read = book.read("a")
            if plans:
                book.derive(read)
            if key is not None:
                book.store(key)
            assert found(book.ended("halted")) == expected

    def test_what_the_agent_wrote_itself_calls_for_no_halt_where_it_goes_by_no_older_plan(self) -> None:
        scenario = Scenario({"owner": ["a"]}, [Action("write", ["a"]), Action("patch", ["a"])])
        for by, plans, expected in (
            ("agent", False, {"needless-halt"}),
            ("other", False, set()),
            (None, False, set()),
            ("agent", True, set()),
        ):
            book = Book(scenario=scenario, own_store=True)
            read = book.read("a")
            plan = book.derive(read) if plans else None
            book.act("write", plan=plan, basis={"a": read})
            book.store("a", by=by)
            book.head("a")
            assert found(book.ended("halted")) == expected

    def test_a_removed_version_calls_for_it_though_the_plan_rests_on_it(self) -> None:
        for removed, expected in ((False, {"needless-halt"}), (True, set())):
            book = Book("a")
            book.update("a", removed=removed)
            planned(book)
            book.head("a")
            assert found(book.ended("halted")) == expected

    @pytest.mark.parametrize(
        ("happens", "expected"),
        [
            (lambda book: book.head("b", answer="refused"), set()),
            (lambda book: (book.update("b", removed=True), book.head("b")), set()),
            (lambda book: (book.update("b"), book.head("b")), {"needless-halt"}),
        ],
        ids=["failed", "removed", "changed"],
    )
    def test_of_a_true_dependency_that_is_not_declared_a_failure_calls_for_it(self, happens, expected: set) -> None:
        book = Book("a", "b", dropped=[("ship", "b")])
        planned(book)
        happens(book)
        assert found(book.ended("halted")) == expected

    @pytest.mark.parametrize("own_store", [False, True])
    def test_an_agent_that_asked_for_nothing_has_no_reason_to_halt(self, own_store: bool) -> None:
        book = Book("a", own_store=own_store)
        book.point()
        assert found(book.returned()) == {"needless-halt"}

    def test_an_act_that_was_a_repeat_did_not_fail(self) -> None:
        for again, expected in (("same", "halted-changed"), ("other", "halted-unverified")):
            book = Book(scenario=Scenario({"owner": ["a"]}, [Action("ship", ["a"]), Action("bill", ["a"])]))
            plan = planned(book)
            book.act("ship", plan=plan, args="same", idempotency_key="k")
            book.act("ship", plan=plan, args=again, idempotency_key="k")
            assert judged(book.ended("halted")).counts["outcome"] == expected

    @pytest.mark.parametrize("how", ["halted", "returned"])
    def test_a_needless_halt(self, how) -> None:
        book = Book("a")
        planned(book)
        book.head("a")
        verdict = judged(book.ended(how))
        assert verdict.findings == {("needless-halt", 3, None)}
        assert verdict.counts["outcome"] == "halted-needless"

    def test_a_needed_halt(self) -> None:
        book = Book("a")
        planned(book)
        book.update("a")
        book.head("a")
        book.halted()
        verdict = judged(book.ended("halted"))
        assert verdict.codes == set()
        assert verdict.counts["outcome"] == "halted-changed"

    def test_a_halt_that_could_not_verify(self) -> None:
        book = Book("a")
        planned(book)
        book.head("a", answer="hang")
        verdict = judged(book.ended("halted"))
        assert verdict.codes == set()
        assert verdict.counts["outcome"] == "halted-unverified"

    def test_the_agent_that_said_so_is_the_one_that_halted(self) -> None:
        for halting, expected in (("agent", {"needless-halt"}), ("other", set())):
            book = Book("a")
            for agent in ("agent", "other"):
                book.derive(book.read("a", by=agent), by=agent)
            book.update("a")
            book.head("a", by="other")
            book.halted(by=halting)
            assert found(book.ended("halted")) == expected

    def test_without_a_word_it_is_the_agent_of_the_last_point(self) -> None:
        for last, expected in (("agent", {"needless-halt"}), ("other", set())):
            book = Book("a")
            for agent in ("agent", "other"):
                book.derive(book.read("a", by=agent), by=agent)
            book.update("a")
            book.head("a", by="other")
            book.point(by=last)
            assert found(book.returned()) == expected

    def test_an_agent_that_derived_nothing_holds_what_it_was_served_first(self) -> None:
        for changed, expected in ((False, {"needless-halt"}), (True, set())):
            book = Book("a")
            book.read("a")
            if changed:
                book.update("a")
            book.head("a")
            assert found(book.ended("halted")) == expected

    def test_only_the_actions_that_had_no_effect_can_need_a_halt(self) -> None:
        scenario = Scenario({"owner": ["a", "b"]}, [Action("ship", ["a"]), Action("bill", ["b"])])
        for key, expected in (("a", {"needless-halt"}), ("b", set())):
            book = Book(scenario=scenario)
            plan = planned(book)
            book.act("ship", plan=plan)
            book.update(key)
            book.head(key)
            assert found(book.ended("halted")) == expected

    def test_an_episode_in_which_every_action_had_an_effect_did_not_halt(self) -> None:
        book = Book("a")
        book.act(plan=planned(book))
        verdict = judged(book.ended("halted"))
        assert verdict.codes == set()
        assert verdict.counts["outcome"] == "completed"


class TestEnd:
    @pytest.mark.parametrize(("how", "code"), [("stuck", "stuck"), ("crashed", "crash")])
    def test_it_is_found_at_the_end(self, how, code: str) -> None:
        book = Book("a")
        book.act(plan=planned(book))
        verdict = judged(book.ended(how))
        assert verdict.findings == {(code, 3, None)}
        assert verdict.counts["outcome"] == how

    def test_the_acts_are_judged_though_the_system_crashed_after_them(self) -> None:
        book = Book("a")
        plan = planned(book)
        book.update("a")
        book.act(plan=plan)
        assert found(book.ended("crashed")) == {"stale-act a", "crash"}

    def test_a_failure_in_a_replan_event_is_none_of_the_system_s(self) -> None:
        book = Book("a")
        planned(book)
        book.update("a")
        book.head("a")
        book.replan_event()
        book.read("a", answer="refused", in_event=True)
        assert judged(book.ended("halted")).counts["outcome"] == "halted-changed"
