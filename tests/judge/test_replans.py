"""How replans are counted.

Each rule as a bad history and the nearest good one; the rules are in ARCHITECTURE.md, "The judge, exactly".
"""

from __future__ import annotations

import pytest

from fencecheck.model import Action, Scenario

from .book import Book, planned, replanned
from .both import found, judged


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
