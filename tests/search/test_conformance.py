"""`check_adapter`: each thing that can be wrong with an adapter, shown by the smallest adapter that has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fencecheck import Action, AgentSystem, Scenario, faults
from fencecheck.conformance import Problem, check_adapter, problems
from fencecheck.faults import Fault
from fencecheck.fence import Halt, PlanFence
from fencecheck.mutants import ALL as MUTANTS
from fencecheck.systems import ALL as SYSTEMS

from .files import agent

X, Y = "x", "y"
ACT = """
order = kit.read("x", timeout=1)
if getattr(order, "key", None) == "x" and not order.removed:
    kit.act("ship", {"to": order.value}, basis={"x": order.id})
"""
WORLD = Scenario(
    owners={"a": [X], "b": [Y]},
    actions=[Action("go", depends_on=[X])],
    values={X: ("tea", "coffee", "cocoa", "water"), Y: ("noon", "dusk", "dawn", "night")},
)


class Stop(Exception):
    """How a system says that it halts."""


class Well(AgentSystem):
    """Nothing is wrong with it: it validates what is declared, right before it acts."""

    scenario = WORLD
    halt_exceptions = (Halt, Stop, Fault, LookupError)

    def run(self) -> None:
        order = self.read()
        plan = self.kit.derive({"drink": order.value}, [order])
        self.kit.pause("approval")
        fence: PlanFence[Any] = PlanFence(self.kit.record, lambda key: self.kit.head(key, timeout=5.0), self.remake, self.kit.validated)
        plan = fence.clear(plan, self.kit.declared("go")).plan
        self.kit.act("go", plan.value, plan=plan)

    def read(self) -> Any:
        order = self.kit.read(X, timeout=5.0)
        if getattr(order, "key", None) != X or order.removed:
            raise LookupError("there is no order")
        return order

    def remake(self, plan: Any, changed: Any) -> Any:
        return self.kit.derive({"drink": changed[X].value}, [changed[X]])


class Store:
    """A store of a team's own."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[int, Any]] = {}

    def get(self, key: str) -> tuple[int, Any]:
        return self.rows[key]

    def put(self, key: str, value: Any) -> int:
        self.rows[key] = (self.rows.get(key, (0, None))[0] + 1, value)
        return self.rows[key][0]

    def send(self, drink: str) -> str:
        return f"sent {drink}"


class OwnStore(Well):
    """The same with a store of its own, by `via=`."""

    def setup(self, kit: Any) -> None:
        super().setup(kit)
        self.store = Store()

    def publish(self, key: str, value: Any) -> int:
        return self.store.put(key, value)

    def true_head(self, key: str) -> Any:
        return self.store.rows[key][0] if key in self.store.rows else None

    def run(self) -> None:
        row = self.kit.read(X, via=lambda: self.store.get(X), timeout=5.0)
        if not isinstance(row, tuple):
            raise LookupError("no row")
        self.kit.pause("approval")
        head = self.kit.head(X, via=lambda: self.store.get(X)[0], timeout=5.0)
        if head != row[0] or X not in self.kit.declared("go"):
            raise Stop("it has changed")
        self.kit.validated([X])
        self.kit.act("go", {"drink": row[1]}, via=lambda: self.store.send(row[1]))


def found(system: Any, **options: Any) -> list[Problem]:
    return problems(system, fresh_process=False, **options)


def codes(system: Any, **options: Any) -> list[str]:
    return [problem.code for problem in found(system, **options)]


def only(system: Any, code: str, **options: Any) -> Problem:
    """The one problem that there is."""
    all_found = found(system, **options)
    assert [problem.code for problem in all_found] == [code], all_found
    assert all_found[0].fix or code == "unusable"  # whose message says what is wanted
    return all_found[0]


def with_run(run: Any, base: type[AgentSystem] = Well, **attributes: Any) -> type[AgentSystem]:
    return type("Mine", (base,), {"run": run, **attributes})


# -- nothing wrong -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", [Well, OwnStore])
def test_an_adapter_with_which_nothing_is_wrong(system: type[AgentSystem]) -> None:
    check_adapter(system, fresh_process=False)


@pytest.mark.parametrize("name", ["planfence", "central"])
def test_nothing_is_wrong_with_the_adapters_that_are_built_in(name: str) -> None:
    assert found(SYSTEMS[name]) == []


def test_a_broken_fence_is_no_broken_adapter() -> None:
    """What is wrong with these is the system's own, and for `check` to find."""
    for name in ("takes-over", "newest-wins", "missing-is-current", "asks-memory"):
        assert codes(MUTANTS[name]) == [], name


def test_everything_that_is_wrong_is_said_at_once() -> None:
    def run(self: Any) -> None:
        self.kit.validated([X])
        order = self.kit.read(X)
        self.kit.act("go", {"drink": order.value})

    with pytest.raises(AssertionError) as raised:
        check_adapter(with_run(run, halt_exceptions=()), fresh_process=False)
    text = str(raised.value)
    assert text.splitlines()[0] == "Mine: 4 problems in the adapter"
    for code in ("void-mark", "no-timeout", "unnamed-halt", "undeclared"):
        assert f"\n{code}: " in text
    assert text.count("\n  fix: ") == 4


# -- it cannot be judged -----------------------------------------------------------------------------------------------------------------


def test_an_adapter_that_cannot_be_used_at_all() -> None:
    assert only(with_run(None), "unusable").message == "Mine: run must be a method, not None"


def test_state_that_one_episode_leaves_to_the_next(tmp_path: Path) -> None:
    system = agent(tmp_path, 'ORDERS.append(1)\nfor _ in ORDERS:\n    kit.point("an order")\n' + ACT, "ORDERS = []")
    (problem,) = problems(system)
    assert (problem.code, problem.fix) == ("state-leak", "build all state in setup(), none at class or module level")


def test_state_that_only_a_fault_leaves_behind() -> None:
    class Breaker(Well):
        is_open = False

        def run(self) -> None:
            if Breaker.is_open:
                return self.kit.halted("the breaker is open")
            try:
                super().run()
            except Fault:
                Breaker.is_open = True
            return None

    assert codes(Breaker) == ["state-leak"]


def test_chance(tmp_path: Path) -> None:
    system = agent(tmp_path, 'for label in {f"label {i}" for i in range(20)}:\n    kit.point(label)\n' + ACT)
    assert [problem.code for problem in problems(system)] == ["nondeterminism"]


def test_a_system_that_acts_past_the_ports() -> None:
    def run(self: Any) -> None:
        order = self.read()
        Store().send(order.value)

    problem = only(with_run(run), "never-acts")
    assert problem.fix == "call kit.act(...) where the system calls the outside"


# -- past the ports ----------------------------------------------------------------------------------------------------------------------


def test_a_tool_that_is_called_past_its_port_too() -> None:
    def run(self: Any) -> None:
        OwnStore.run(self)
        self.store.send("a copy for us")

    problem = only(with_run(run, OwnStore), "past-the-port")
    assert problem.message.startswith("Store.send() is what a port calls, and test_conformance.py:")


def test_a_tool_behind_its_own_name_or_async() -> None:
    class Async(OwnStore):
        runtime = "asyncio"

        async def send(self, drink: str) -> str:
            return drink

        async def run(self) -> None:  # type: ignore[override]
            row = await self.kit.aio.read(X, via=lambda: self.store.get(X), timeout=5.0)
            if not isinstance(row, tuple):
                raise LookupError("no row")
            await self.kit.aio.act("go", {"drink": row[1]}, via=lambda: self.send(row[1]))
            await self.send("a copy for us")

    problem = only(Async, "past-the-port")
    assert "Async.send() is what a port calls" in problem.message


def test_an_answer_that_is_thrown_away() -> None:
    def run(self: Any) -> None:
        self.kit.read(X, via=lambda: self.store.get(X), timeout=5.0)
        _, drink = self.store.get(X)
        self.kit.act("go", {"drink": drink})

    first, second = found(with_run(run, OwnStore))
    assert [first.code, second.code] == ["past-the-port", "discarded-answer"]
    assert "throws away what kit.read(via=...) returned" in second.message
    assert second.message.startswith("test_conformance.py:")


def test_an_awaited_answer_that_is_thrown_away() -> None:
    async def run(self: Any) -> None:
        await self.kit.aio.head(
            X,
            via=lambda: self.store.get(X)[0],
            timeout=5.0,
        )
        row = await self.kit.aio.read(X, via=lambda: self.store.get(X), timeout=5.0)
        if isinstance(row, tuple):
            await self.kit.aio.act("go", {"drink": row[1]})

    assert only(with_run(run, OwnStore, runtime="asyncio"), "discarded-answer").message.endswith(
        "throws away what kit.head(via=...) returned, so that what the system goes by is read elsewhere"
    )


def test_a_port_in_setup() -> None:
    class Early(Well):
        def setup(self, kit: Any) -> None:
            super().setup(kit)
            self.order = self.read()

        def run(self) -> None:
            self.kit.act("go", {"drink": self.read().value})

    assert "port-in-setup" in codes(Early)


# -- a store of its own ------------------------------------------------------------------------------------------------------------------


def test_a_true_head_that_an_outage_can_reach() -> None:
    class ByPort(OwnStore):
        def true_head(self, key: str) -> Any:
            if key not in self.store.rows:
                return None
            return self.kit.head(key, via=lambda: self.store.get(key)[0], timeout=1.0)

    (problem,) = (problem for problem in found(ByPort) if problem.code == "true-head-by-port")
    assert problem.message == "true_head() calls kit.head(), which can be faulted, and is no more than the owner's answer"


def test_a_publish_that_commits_nothing() -> None:
    class Lost(OwnStore):
        def publish(self, key: str, value: Any) -> int:
            if key in self.store.rows:
                return self.store.rows[key][0]
            return self.store.put(key, value)

    assert "publish" in codes(Lost)


def test_publish_without_true_head() -> None:
    problem = only(type("Half", (Well,), {"publish": lambda self, key, value: None}), "publish")
    assert problem.message == "Half defines publish() but not true_head()"


# -- values ------------------------------------------------------------------------------------------------------------------------------


def by_value(self: Any) -> None:
    self.kit.act("go", {"drink": self.read().value})


def test_values_that_do_not_tell_versions_apart() -> None:
    world = Scenario(owners=WORLD.owners, actions=WORLD.actions, values={X: ("tea", "coffee", "tea")})
    assert "'tea' is the value of two versions of 'x'" in only(with_run(by_value, scenario=world), "values").message
    assert codes(type("Planned", (Well,), {"scenario": world})) == []  # where the plan shows it, values may repeat


def test_values_that_can_be_there_by_chance() -> None:
    world = Scenario(owners=WORLD.owners, actions=WORLD.actions, values={X: (1, 2, 3, 4)})
    assert "values" in codes(with_run(by_value, scenario=world))


def test_an_act_that_shows_nothing_of_what_it_was_made_from() -> None:
    assert only(with_run(lambda self: self.kit.act("go", {"drink": "water?"})), "no-evidence").fix.startswith("pass plan= or basis=")


# -- marks -------------------------------------------------------------------------------------------------------------------------------

MARKS: dict[str, tuple[str, str]] = {
    "before the read": (
        "validated declared; order = read; act",
        "go: validated() stands before read x: what it acts from is read after it",
    ),
    "before the plan": (
        "order = read; validated declared; derive; act",
        "go: validated() stands before derive derived: the plan is derived after it",
    ),
    "before a wait": (
        "order = read; derive; head; validated declared; pause; act",
        "go: validated() stands before pause approval, a wait that makes it void",
    ),
    "of too few keys": (
        "order = read; derive; head; validated nothing; act",
        "go: validated() names no key, and not x, on which the action depends",
    ),
    "of another agent": (
        "order = read; derive; head; validated by another; act",
        "go: validated() is said by planner, and agent acts, whose own answers nobody compared",
    ),
}


def marked(steps: str) -> type[AgentSystem]:
    def run(self: Any) -> None:
        kit, plan = self.kit, None
        for step in steps.split("; "):
            match step:
                case "order = read":
                    order = self.read()
                case "derive":
                    plan = kit.derive({"drink": order.value}, [order])
                case "head":
                    if kit.head(X, timeout=1.0) != order.id:
                        raise Stop("it has changed")
                case "pause":
                    kit.pause("approval")
                case "validated declared":
                    kit.validated(kit.declared("go"))
                case "validated nothing":
                    kit.validated(kit.declared("go")[:0])
                case "validated by another":
                    with kit.agent("planner"):
                        kit.validated(kit.declared("go"))
                case "act":
                    kit.act("go", {"drink": order.value}, plan=plan)

    return with_run(run)


@pytest.mark.parametrize(("steps", "message"), MARKS.values(), ids=MARKS)
def test_a_mark_that_counts_for_nothing(steps: str, message: str) -> None:
    assert only(marked(steps), "void-mark").message == message


def test_a_mark_of_the_read_from_which_it_acts_hides_every_violation() -> None:
    assert only(marked("order = read; validated declared; act"), "mark-of-own-read").message == (
        "go: validated() follows the read of x from which it acts, and no owner was asked since, so that it shows nothing"
    )
    assert codes(marked("order = read; head; validated declared; act")) == []


def test_declarations_that_nobody_asks_for() -> None:
    def run(self: Any) -> None:
        order = self.read()
        if self.kit.head(X, timeout=1.0) != order.id:
            raise Stop("it has changed")
        self.kit.validated([X])
        self.kit.act("go", {"drink": order.value})

    assert only(with_run(run), "undeclared").fix == "validate the keys that kit.declared(action) returns, right before the act"


def test_an_action_whose_call_names_its_keys_has_no_declarations_to_ask_for() -> None:
    def run(self: Any) -> None:
        order = self.read()
        if self.kit.head(X, timeout=1.0) != order.id:
            raise Stop("it has changed")
        self.kit.validated([X])
        self.kit.act("go", {"of": X, "drink": order.value})

    by_arguments = Scenario(WORLD.owners, [Action("go", depends_on=lambda args: [args["of"]])], WORLD.values)
    assert codes(with_run(run, scenario=by_arguments)) == []


# -- hooks -------------------------------------------------------------------------------------------------------------------------------

HOOKS: dict[str, tuple[Any, str, str]] = {
    "an agent that the scenario does not name": (
        {"restart": lambda self: None, "scenario": Scenario(WORLD.owners, WORLD.actions, WORLD.values, agents=["another"])},
        "silent-hook",
        "restart() is defined, and was never called: no agent of the scenario makes a port call",
    ),
    "a replan that plans nothing": (
        {"replan": lambda self, task: None},
        "silent-hook",
        "replan() derives no plan, so that nothing shows what it planned",
    ),
    "a store's hook that nothing needs": (
        {"version_of": lambda self, key, answer: "v1"},
        "silent-hook",
        "version_of() is defined, and was never called: no port call with via= recognises an answer",
    ),
    "another name": (
        {"true_heads": lambda self, key: None},
        "misnamed-hook",
        "Mine defines true_heads(), which nothing refers to",
    ),
    "a name in another style": (
        {"onRestart": lambda self: None},
        "misnamed-hook",
        "Mine defines onRestart(), which nothing refers to",
    ),
}


@pytest.mark.parametrize(("attributes", "code", "message"), HOOKS.values(), ids=HOOKS)
def test_a_hook_that_does_nothing(attributes: Any, code: str, message: str) -> None:
    def run(self: Any) -> None:
        with self.kit.agent("executor"):
            Well.run(self)

    run = run if "restart" in attributes else Well.run
    assert only(with_run(run, **attributes), code).message == message


def test_hooks_that_are_called_are_in_order() -> None:
    class Whole(OwnStore):
        def remove(self, key: str) -> int:
            return self.store.put(key, None)

        def replan(self, task: str) -> None:
            row = self.kit.read(X, via=lambda: self.store.get(X), timeout=1.0)
            self.kit.derive("another plan", [(X, row[0])] if isinstance(row, tuple) else [])

        def restart(self) -> None:
            """Nothing is held in memory."""

        def deliver(self, key: str, record: Any) -> None:
            """The store is all the memory that there is."""

        def lose(self, id: Any) -> None:
            """It cannot lose any."""

        def version_of(self, key: str, answer: Any) -> Any:
            return answer[0] if isinstance(answer, tuple) else answer

    assert found(Whole) == []


# -- halts and waits ---------------------------------------------------------------------------------------------------------------------


def test_an_exception_that_means_to_halt_and_is_not_named() -> None:
    def run(self: Any) -> None:
        order = self.read()
        if self.kit.head(X, timeout=1.0) != order.id:
            raise Stop("it has changed")
        self.kit.act("go", {"drink": order.value})

    problem = only(with_run(run, halt_exceptions=(Fault, LookupError)), "unnamed-halt")
    assert problem.message.startswith("run() is left by Stop, first after Update(fresh) (test_conformance.py:")
    assert problem.fix == "if it means to halt, name it: halt_exceptions = (Stop,)"


def test_a_fault_that_no_client_of_the_system_raises() -> None:
    problem = found(with_run(by_value, halt_exceptions=(LookupError,)))[0]
    assert problem.code == "unnamed-halt"
    assert "or map it in fault_exceptions to what the system's own client raises" in problem.fix
    assert codes(with_run(by_value, halt_exceptions=(LookupError, Stop), fault_exceptions={faults.Fault: Stop})) == []


def test_a_bug_is_for_check_to_find() -> None:
    """It comes up by itself, in a line that raises nothing: not what a system halts by."""

    def run(self: Any) -> None:
        self.kit.act("go", {"drink": self.kit.read(X, timeout=1.0).value.upper()}, basis={X: f"{X}@1"})

    assert codes(with_run(run)) == []


def test_a_wait_without_an_end() -> None:
    def run(self: Any) -> None:
        order = self.kit.read(X)
        if getattr(order, "key", None) == X and not order.removed:
            self.kit.act("go", {"drink": order.value})

    problem = only(with_run(run), "no-timeout")
    assert problem.message == "run() waits for the answer of a for x, with no timeout"


# -- how it is said ----------------------------------------------------------------------------------------------------------------------


def test_all_misnamed_hooks_are_named_at_once() -> None:
    more = {"restrat": lambda self: None, "deliverr": lambda self, key, record: None, "halt_exeptions": (KeyError,)}
    problem = only(type("Slips", (Well,), {**more, "__module__": Well.__module__}), "misnamed-hook")
    assert problem.message == "Slips defines restrat(), deliverr() and halt_exeptions, which nothing refers to"
    assert problem.fix.startswith("did you mean restart(), deliver() and halt_exceptions? If they are your own, begin their names with ")


def test_a_hook_that_fails_names_its_line_as_the_fix() -> None:
    def setup(self: Any, kit: Any) -> None:
        raise KeyError("rows")

    problem = only(with_run(Well.run, setup=setup), "fails")
    assert problem.message.startswith("Mine: setup() failed: KeyError: 'rows' (test_conformance.py:")
    assert problem.fix == f"correct it at {problem.message.rpartition('(')[2].rstrip(')')}"


def test_a_message_that_says_what_is_wanted_has_no_other_fix() -> None:
    problem = only(type("Kinds", (Well,), {"halt_exceptions": KeyError}), "unusable")
    assert str(problem) == (
        "unusable: Kinds: halt_exceptions must be a tuple of exception classes, such as (LookupError,), not <class 'KeyError'>"
    )


def test_exceptions_are_listed_as_in_a_sentence() -> None:
    (message,) = (
        problem.message for problem in found(type("Unnamed", (Well,), {"halt_exceptions": ()})) if "OwnerUnavailable" in problem.message
    )
    assert message.startswith("run() is left by OwnerUnavailable, ")
    assert " and " in message.partition(", first after")[0]
    assert message.count(" and ", 0, message.index(", first after")) == 1


@pytest.mark.parametrize(
    ("head", "code", "said"), [("v1", "never-acts", "let it return None while the store is empty"), (None, "publish", "let both")]
)
def test_a_true_head_that_never_changes(head: Any, code: str, said: str) -> None:
    constant = type("Constant", (OwnStore,), {"true_head": lambda self, key: head, "publish": lambda self, key, value: head})
    problem = only(constant, code)
    assert said in problem.fix


def test_keys_that_were_taken_for_one_another() -> None:
    def reads_the_other(self: Any) -> None:
        other = self.kit.read(Y, timeout=1.0)
        if getattr(other, "key", None) != Y or other.removed:
            raise LookupError("nothing")
        self.kit.act("go", {"at": other.value}, plan=self.kit.derive("a plan", [other]))

    assert only(with_run(reads_the_other), "other-key").message == (
        "go depends on x, and what goes out shows none of it, but y, on which it does not depend"
    )

    def swaps(self: Any) -> None:
        order, other = self.read(), self.kit.read(Y, timeout=1.0)
        if getattr(other, "key", None) == Y:
            self.kit.act("go", {"drink": order.value}, basis={X: other.id})

    assert only(with_run(swaps), "other-key").message.startswith("basis= of go gives for x a version of y, so that what went out ")
