"""What broke narrower interfaces, each as it is in real packages: the smallest system that has it runs, and its verdict is the right one.

Elsewhere in full: stores of a system's own in `test_own_store`, threads and loops in `test_concurrency`, `test_endings` and
`test_nothing_survives`, a graph with an approval and its real checkpointer in `tests/examples`.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fencecheck import Action, AgentSystem, Event, Outage, Scenario, ToolFault, Update, check
from fencecheck.errors import CouldNotRun
from fencecheck.faults import Fault, ReplyLost
from fencecheck.history import Act, History
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner
from fencecheck.search.report import Report

X, Y = "order/42/address", "order/42/slot"
WORLD = Scenario(
    owners={"orders": [X], "calendar": [Y]},
    actions=[Action("ship", depends_on=[X])],
    values={X: ["Tokyo", "Osaka", "Nara", "Kobe"], Y: ["Monday", "Tuesday", "Friday", "Sunday"]},
)


class Stop(Exception):
    """How these systems halt by an exception."""


class Base(AgentSystem):
    """What the systems below share."""

    scenario = WORLD
    halt_exceptions = (Stop, Fault)

    def read(self, key: str = X) -> Any:
        record = self.kit.read(key, timeout=5.0)
        if getattr(record, "key", None) != key or record.removed:
            raise Stop(f"there is no {key}")
        return record

    def confirm(self, order: Any) -> None:
        if self.kit.head(X, timeout=5.0) != order.id:
            raise Stop("it has changed")
        self.kit.validated(self.kit.declared("ship"))


def made(run: Callable[[Any], Any], **attributes: Any) -> type[AgentSystem]:
    return type("Mine", (Base,), {"run": run, **attributes})


def ran(system: type[AgentSystem], *events: Event) -> History:
    with Runner(system) as runner:
        return runner.run((), events)


def checked(run: Callable[[Any], Any], max_events: int = 1, **attributes: Any) -> Report:
    return check(made(run, **attributes), max_events=max_events, fresh_process=False)


def first_event(report: Report) -> tuple[Event, ...]:
    assert report.verdict == "violated", report
    return report.failures[0].interleaving.events


# -- required methods --------------------------------------------------------------------------------------------------------------------


class Gate:
    """A framework that calls the application, not the other way round: tools are registered, and each call passes its middleware."""

    def __init__(self) -> None:
        self.tools: dict[str, Callable[..., Any]] = {}
        self.before: list[Callable[[str, dict[str, Any]], None]] = []

    def tool(self, function: Callable[..., Any]) -> Callable[..., Any]:
        self.tools[function.__name__] = function
        return function

    def handle(self, name: str, arguments: dict[str, Any]) -> Any:
        for look in self.before:
            look(name, arguments)
        return self.tools[name](**arguments)


def behind_a_gate(self: Any, fenced: bool) -> None:
    gate, order = Gate(), self.read()

    @gate.tool
    def ship(to: str) -> Any:
        return self.kit.act("ship", {"to": to}, basis={X: order.id})

    if fenced:
        gate.before.append(lambda name, arguments: self.confirm(order))
    self.kit.pause("the model calls tools when it likes")
    gate.handle("ship", {"to": order.value})


def test_a_gate_that_inverts_control_has_no_methods_to_fill_in() -> None:
    assert first_event(checked(lambda self: behind_a_gate(self, fenced=False))) == (Event(2, Update(X)),)
    assert checked(lambda self: behind_a_gate(self, fenced=True)).verdict == "held"


def test_a_retry_loop_runs_the_whole_body_again() -> None:
    """Optimistic concurrency: whatever failed, everything is read and decided again, and the tool refuses what is not as expected."""

    def run(self: Any) -> None:
        for _ in range(3):
            order = self.read()
            try:
                self.kit.act("ship", {"to": order.value}, expect={X: order.id})
            except Fault:
                continue
            return
        raise Stop("it keeps changing")

    report = checked(run, max_events=2)
    assert report.verdict == "held", report.failures
    again = ran(made(run), Event(1, Update(X)))
    assert [entry.outcome for entry in again.entries if type(entry) is Act] == ["precondition-failed", "done"]
    assert again.effects[0].args == {"to": "Osaka"}


# -- whose store it is -------------------------------------------------------------------------------------------------------------------


class Sqlite(Base):
    """The team's own table is the store, by a connection that only the thread which opened it may use."""

    fenced = True

    def setup(self, kit: Any) -> None:
        super().setup(kit)
        self.rows = sqlite3.connect(":memory:", check_same_thread=True)
        self.rows.execute("create table facts (key text, version integer, value text)")

    def teardown(self) -> None:
        self.rows.close()

    def publish(self, key: str, value: Any) -> int:
        version = (self.true_head(key) or 0) + 1
        self.rows.execute("insert into facts values (?, ?, ?)", (key, version, value))
        return version

    def true_head(self, key: str) -> Any:
        return self.rows.execute("select max(version) from facts where key = ?", (key,)).fetchone()[0]

    def look_up(self) -> Any:
        return self.rows.execute("select version, value from facts where key = ? order by version desc", (X,)).fetchone()

    def run(self) -> None:
        row = self.kit.read(X, via=self.look_up, timeout=5.0)
        self.kit.pause("approval")
        if self.fenced:
            again = self.kit.read(X, via=self.look_up, timeout=5.0)
            if again != row or not isinstance(row, tuple):
                raise Stop("it has changed")
            self.kit.validated(self.kit.declared("ship"))
        self.kit.act("ship", {"to": row[1] if isinstance(row, tuple) else None}, basis={X: row[0]} if isinstance(row, tuple) else None)


def test_the_store_may_be_the_systems_own_on_a_connection_bound_to_its_thread() -> None:
    """`setup`, `run`, `teardown` and the hooks of events are called on one thread: SQLite would refuse any other."""
    assert check(Sqlite, max_events=1, fresh_process=False).verdict == "held"
    assert first_event(check(type("Trusts", (Sqlite,), {"fenced": False}), max_events=1, fresh_process=False)) == (Event(2, Update(X)),)


# -- marks -------------------------------------------------------------------------------------------------------------------------------


def test_a_mark_made_before_the_wait_hides_nothing() -> None:
    def run(self: Any) -> None:
        order = self.read()
        plan = self.kit.derive({"to": order.value}, [order])
        self.confirm(order)
        self.kit.pause("approval")
        self.kit.act("ship", plan.value, plan=plan)

    assert first_event(checked(run)) == (Event(4, Update(X)),)


def test_a_mark_made_right_after_the_read_hides_nothing() -> None:
    """The plan is made after it."""

    def run(self: Any) -> None:
        order = self.read()
        self.kit.validated([X])
        plan = self.kit.derive({"to": order.value}, [order])
        self.kit.act("ship", plan.value, plan=plan)

    assert first_event(checked(run)) == (Event(2, Update(X)),)


def test_a_plan_that_declares_too_little_of_itself_does_not_pass() -> None:
    """What has to be covered is what the scenario says of the action, not what the plan says of itself."""

    def run(self: Any) -> None:
        order, slot = self.read(), self.read(Y)
        plan = self.kit.derive({"to": order.value, "at": slot.value}, [order, slot])
        depends_on = [Y]  # as the model put it
        if self.kit.head(Y, timeout=5.0) != slot.id:
            raise Stop("it has changed")
        self.kit.validated(depends_on)
        self.kit.act("ship", plan.value, plan=plan)

    assert first_event(checked(run)) == (Event(3, Update(X)),)


# -- version ids -------------------------------------------------------------------------------------------------------------------------


def test_an_approval_that_carries_only_arguments_needs_no_version_ids() -> None:
    """They went through a queue as JSON, and their values say from which versions they were made."""

    def run(self: Any) -> None:
        queue = [json.dumps({"tool": "ship", "args": {"to": {"city": self.read().value}}})]
        self.kit.pause("approval")
        request = json.loads(queue.pop())
        self.kit.act(request["tool"], request["args"])

    report = checked(run)
    assert first_event(report) == (Event(2, Update(X)),)
    assert report.failures[0].finding.code == "stale-act"


# -- what is judged, and when ------------------------------------------------------------------------------------------------------------


def fenced(self: Any) -> None:
    order = self.read()
    self.kit.pause("approval")
    self.confirm(order)
    self.kit.act("ship", {"to": order.value})


def test_a_correct_fence_does_not_fail_for_a_window_that_it_never_promised_to_close() -> None:
    assert checked(fenced).verdict == "held"
    between = ran(made(fenced), Event(3, Update(X)))  # after the validation, before the act
    assert judge(between).violations("at-validation") == []
    assert [finding.code for finding in judge(between).violations("at-act")] == ["raced-act"]


def test_an_act_is_judged_though_the_system_puts_it_right_afterwards() -> None:
    """The parcel has gone to Tokyo, whatever the order says in the end."""

    def run(self: Any) -> None:
        order = self.read()
        self.kit.pause("approval")
        self.kit.act("ship", {"to": order.value})
        if self.kit.head(X, timeout=5.0) != order.id:
            self.kit.act("ship", {"to": self.read().value})

    findings = judge(ran(made(run), Event(2, Update(X)))).findings
    assert [finding.code for finding in findings] == ["stale-act", "duplicate-act"]


@pytest.mark.parametrize("fault", [None, ToolFault("ship", "lost-reply")])
def test_an_act_is_judged_though_the_system_crashed_after_it(fault: Any) -> None:
    def run(self: Any) -> None:
        order = self.read()
        self.kit.pause("approval")
        try:
            self.kit.act("ship", {"to": order.value})
        except ReplyLost as error:
            raise RuntimeError("no tracking number") from error
        raise RuntimeError("the printer is out of paper")

    events = (Event(2, Update(X)), *([Event(2, fault)] if fault is not None else []))
    judgement = judge(ran(made(run), *events))
    assert judgement.outcome == "crashed"
    assert [finding.code for finding in judgement.violations("at-validation")] == ["stale-act"]


# -- ways to halt ------------------------------------------------------------------------------------------------------------------------


def by_return(self: Any) -> Any:
    return {"status": "rejected"}


def by_exception(self: Any) -> Any:
    raise Stop("it has changed")


def by_status(self: Any) -> Any:
    self.kit.halted("status: rejected")


def by_event(self: Any) -> Any:
    for listener in [self.kit.halted]:
        listener("run.rejected")


@pytest.mark.parametrize("halt", [by_return, by_exception, by_status, by_event])
def test_there_are_several_ways_to_halt(halt: Callable[[Any], Any]) -> None:
    def run(self: Any) -> Any:
        order = self.read()
        self.kit.pause("approval")
        if self.kit.head(X, timeout=5.0) != order.id:
            return halt(self)
        self.kit.validated(self.kit.declared("ship"))
        return self.kit.act("ship", {"to": order.value})

    report = checked(run)
    assert report.verdict == "held", report.failures
    assert judge(ran(made(run), Event(2, Update(X)))).outcome == "halted-changed"


# -- threads and loops -------------------------------------------------------------------------------------------------------------------


def test_tools_may_be_called_from_worker_threads() -> None:
    """Many frameworks run plain tools in a pool; events land, and faults are raised, in the thread that calls."""
    threads = set()

    def run(self: Any) -> None:
        order = self.read()
        self.kit.pause("approval")

        def ship() -> Any:
            threads.add(threading.current_thread())
            return self.kit.act("ship", {"to": order.value})

        with ThreadPoolExecutor(1) as pool:
            pool.submit(ship).result()

    assert first_event(checked(run)) == (Event(2, Update(X)),)
    assert threading.main_thread() not in threads
    assert ran(made(run), Event(0, Outage("orders"))).ended.how == "halted"


def test_a_plain_system_may_run_a_loop_of_its_own() -> None:
    def run(self: Any) -> None:
        async def main() -> None:
            order = await self.kit.aio.read(X, timeout=0.01)  # of real time, on a loop of the system's own
            if getattr(order, "key", None) == X and not order.removed:
                await self.kit.aio.pause("approval")
                await self.kit.aio.act("ship", {"to": order.value})

        asyncio.run(main())

    assert first_event(checked(run)) == (Event(2, Update(X)),)


@pytest.mark.parametrize("runtime", ["asyncio", "asyncio-native"])
def test_a_plain_tool_of_an_async_system_may_call_asyncio_run(runtime: Any) -> None:
    """Inside a running loop asyncio itself refuses that, so a framework calls such a tool in a thread; its ports find the episode."""

    async def run(self: Any) -> None:
        order = await self.kit.aio.read(X, timeout=1.0)
        if getattr(order, "key", None) != X or order.removed:
            return

        def tool() -> None:
            async def inside() -> None:
                self.kit.act("ship", {"to": order.value}, basis={X: order.id})

            asyncio.run(inside())

        await self.kit.aio.pause("approval")
        await asyncio.to_thread(tool)

    history = ran(made(run, runtime=runtime), Event(2, Update(X)))
    assert [finding.code for finding in judge(history).violations("at-validation")] == ["stale-act"], history.entries


# -- nothing judged ----------------------------------------------------------------------------------------------------------------------


def test_an_adapter_that_never_acts_shows_no_violation_and_is_no_pass() -> None:
    with pytest.raises(
        CouldNotRun, match=r"^Mine never acts, even without any event: it halted \(no budget\), so there is nothing to judge"
    ):
        checked(lambda self: self.kit.halted("no budget"))
