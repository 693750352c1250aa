"""A system that reads or compares past its ports is not called held: no event lands there, and no owner fails."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck import Action, AgentSystem, Scenario, check, explore
from fencecheck.conformance import Problem, problems
from fencecheck.faults import Fault
from fencecheck.mutants import ALL as MUTANTS
from fencecheck.run.simulate import Runner
from fencecheck.search.past import Past, past_ports
from fencecheck.systems import ALL as SYSTEMS

KEY = "order/42"


class Orders:
    """A client of a team's own, whose version ids are texts."""

    def __init__(self) -> None:
        self.rows: list[str] = []

    def get(self) -> dict[str, str]:
        return {"etag": self.etag(), "to": self.rows[-1]}

    def etag(self) -> str:
        return f"etag-{len(self.rows)}"


class Own(AgentSystem):
    """Reads, waits, compares, validates, acts; which of it goes past the ports is what differs."""

    scenario = Scenario({"orders": [KEY]}, [Action("ship", [KEY])], {KEY: ["Tokyo", "Osaka", "Nara", "Kobe"]})
    halt_exceptions = (Fault,)
    reads = compares = True

    def setup(self, kit: Any) -> None:
        super().setup(kit)
        self.orders = Orders()

    def publish(self, key: str, value: Any) -> Any:
        self.orders.rows.append(value)
        return self.orders.etag()

    def true_head(self, key: str) -> Any:
        return self.orders.etag() if self.orders.rows else None

    def run(self) -> None:
        row = self.kit.read(KEY, via=self.orders.get, timeout=1) if self.reads else self.orders.get()
        if not isinstance(row, dict):
            return self.kit.halted("no order")
        self.kit.pause("approval")
        if self.now() != row["etag"]:
            return self.kit.halted("the order changed")
        self.kit.validated(self.kit.declared("ship"))
        self.kit.act("ship", {"to": row["to"]}, basis={KEY: row["etag"]})
        return None

    def now(self) -> Any:
        if self.compares:
            return self.kit.head(KEY, via=self.orders.etag, timeout=1)
        return self.orders.etag()  # past any port


def own(**attributes: Any) -> type[AgentSystem]:
    return type("Mine", (Own,), attributes)


def past(system: Any) -> Past:
    with Runner(system) as runner:
        return past_ports(runner, runner.run())


def only(system: Any) -> Problem:
    (problem,) = problems(system, fresh_process=False)
    return problem


NOTHING_READ = own(reads=False, compares=False)
NO_READ = own(reads=False)
NO_COMPARISON = own(compares=False)


# -- check -------------------------------------------------------------------------------------------------------------------------------


def test_a_key_for_which_no_port_call_asks_is_inconclusive() -> None:
    report = check(NOTHING_READ, max_events=1, fresh_process=False)
    assert report.verdict == "inconclusive"
    assert report.why == (
        "no port call asked for order/42, on which ship depends, so no event could land between what reads it and the act: read and compare it by "
        "kit.read and kit.head, with via= or a client of kit.wrap(); fencecheck check-adapter names the lines"
    )


@pytest.mark.parametrize("engine", [check, explore])
def test_a_mark_before_which_no_owner_was_asked_is_inconclusive(engine: Any) -> None:
    options = {"examples": 20} if engine is explore else {"max_events": 1}
    report = engine(NO_COMPARISON, fresh_process=False, **options)
    assert report.verdict == "inconclusive"
    assert report.why.startswith("ship goes out on a validated() before which no port call asked an owner for order/42, so what compares ")


def test_a_read_past_the_ports_is_said_where_a_report_says_what_it_assumes() -> None:
    report = check(NO_READ, max_events=1, fresh_process=False)
    assert report.verdict == "held"
    assert "reaches the world through ports only (not so: no port call reads order/42, whose value goes out)" in report.assumed


def test_nothing_is_missing_where_all_of_it_goes_through_ports() -> None:
    assert past(Own) == Past()
    assert check(Own, max_events=1, fresh_process=False).verdict == "held"


def test_a_port_call_that_only_an_event_brings_about_counts() -> None:
    class AsksWhenItMust(Own):
        compares = False

        def now(self) -> Any:
            self.kit.pause("a look at the clock")
            if self.kit.declared("ship") and len(self.orders.rows) > 1:  # an update came
                self.kit.head(KEY, via=self.orders.etag, timeout=1)
                return "etag-1"
            return "etag-1"

    assert past(AsksWhenItMust) == Past()


def test_what_the_tool_compares_itself_is_asked_for() -> None:
    def run(self: Any) -> None:
        self.kit.validated([KEY])
        self.kit.act("ship", {"to": self.orders.rows[0]}, basis={KEY: "etag-1"}, expect={KEY: "etag-1"})

    assert past(own(run=run)) == Past()


@pytest.mark.parametrize("name", [*SYSTEMS, *MUTANTS])
def test_no_built_in_system_goes_past_its_ports(name: str) -> None:
    assert past((SYSTEMS | MUTANTS)[name]) == Past()


# -- check-adapter -----------------------------------------------------------------------------------------------------------------------


def line_of(text: str) -> str:
    """Where this file says so."""
    with open(__file__, encoding="utf-8") as file:
        return f"test_past.py:{1 + next(number for number, line in enumerate(file) if text in line)}"


def test_reads_past_the_ports_are_told_with_their_lines() -> None:
    problem = only(NOTHING_READ)
    reads, compares = line_of("else self.orders.get()"), line_of("etag()  # past any port")
    assert problem.code == "past-the-port"
    assert problem.message == (
        "ship depends on order/42, and no port call asks for it, so that no event can land between reading and acting; past any port, "
        f"Orders.get() at {reads} and Orders.etag() at {compares} do"
    )
    first, second = problems(NO_READ, fresh_process=False)
    assert first.message.startswith(f"Orders.etag() is what a port calls, and {reads} calls it past any port")  # which get() does
    assert second.message == (
        "ship carries the value of order/42, and no port call reads it, so that its owner cannot fail there; past any port, "
        f"Orders.get() at {reads} does"
    )


def test_a_comparison_past_the_ports_is_told_with_its_line() -> None:
    problem = only(NO_COMPARISON)
    assert problem.code == "unasked-mark"
    assert problem.message == (
        "ship: between planning, or the last wait, and validated() no port call asks an owner for order/42, so that it shows nothing; past any port, "
        f"Orders.etag() at {line_of('etag()  # past any port')} may"
    )


def test_a_mark_without_any_comparison() -> None:
    def run(self: Any) -> None:
        row = self.kit.read(KEY, via=self.orders.get, timeout=1)
        if isinstance(row, dict):
            self.kit.pause("approval")
            self.kit.validated(self.kit.declared("ship"))
            self.kit.act("ship", {"to": row["to"]}, basis={KEY: row["etag"]})

    problem = only(own(run=run))
    assert (problem.code, problem.message.partition("; ")[2]) == ("unasked-mark", "")


def test_a_system_that_asks_true_head_itself() -> None:
    def now(self: Any) -> Any:
        return self.true_head(KEY)  # past any port

    problem = only(own(now=now))
    assert problem.code == "past-the-port"
    assert problem.message.startswith(
        f"{line_of('return self.true_head(KEY)  # past')} calls true_head() itself, which is for fencecheck to call"
    )


def test_the_line_is_that_of_the_system_and_not_of_its_client() -> None:
    """A method of the client calls another one, which a port calls too."""

    class Client(Orders):
        def is_current(self, etag: str) -> bool:
            return self.get()["etag"] == etag

    def setup(self: Any, kit: Any) -> None:
        Own.setup(self, kit)
        self.orders = Client()

    def now(self: Any) -> Any:
        return "etag-1" if self.orders.is_current("etag-1") else None  # by way of get()

    problem = only(own(setup=setup, now=now))
    assert problem.message.startswith(f"Orders.get() is what a port calls, and {line_of('None  # by way of get()')} calls it past any port")
