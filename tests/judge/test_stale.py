"""What is stale, and what shows what an act was made from: lineage and values.

Each rule as a bad history and the nearest good one; the rules are in ARCHITECTURE.md, "The judge, exactly".
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fencecheck.model import Action, Scenario

from .book import Book, planned
from .both import found, judged


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
