"""Whether a replan or a halt was needed, and how an episode ended.

Each rule as a bad history and the nearest good one; the rules are in ARCHITECTURE.md, "The judge, exactly".
"""

from __future__ import annotations

import pytest

from fencecheck.model import Action, Scenario

from .book import Book, planned
from .both import found, judged

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
