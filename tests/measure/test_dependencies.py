"""Hidden dependencies: every planted one is found, no false one is named, and two runs show each."""

from __future__ import annotations

import asyncio
import itertools
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from fencecheck import Action, AgentSystem, Decisions, Scenario
from fencecheck.errors import BadInput, CouldNotRun, Nondeterministic
from fencecheck.measure.dependencies import Dependencies, dependencies
from fencecheck.mutants import ALL as MUTANTS
from fencecheck.run.loading import load
from fencecheck.systems import ALL, ON_FILES
from fencecheck.worlds import world

from .planted import ACTIONS, planted


def found(result: Dependencies, action: str = "act") -> set[str]:
    (of,) = (of for of in result.actions if of.action == action)
    return {one.keys[0] for one in of.found}


def undeclared(result: Dependencies, action: str = "act") -> set[str]:
    (of,) = (of for of in result.actions if of.action == action)
    return {one.keys[0] for one in of.undeclared}


@cache
def searched(number: int) -> Dependencies:
    return dependencies(planted(number).system)


@pytest.mark.parametrize("number", range(50))
def test_what_is_planted_is_what_is_found(number: int) -> None:
    _, real, declared, believed = planted(number)
    result = searched(number)
    for of in result.actions:
        assert found(result, of.action) == real[of.action]
        assert undeclared(result, of.action) == real[of.action] - declared[of.action]
        assert set(of.unused) == declared[of.action] - real[of.action]
        assert set(of.unknown) == real[of.action] - believed[of.action]
    assert result.exit_status == (1 if any(real[action] - declared[action] for action in ACTIONS) else 0)


def test_the_generated_systems_have_every_kind() -> None:
    systems = [planted(number).system for number in range(50)]
    assert {len(system.scenario.keys) for system in systems} == set(range(1, 9))  # type: ignore[union-attr]
    results = [searched(number) for number in range(50)]
    evidence = [one for result in results for of in result.actions for one in of.found]
    assert sum(len(one.keys) == 2 for one in evidence) > 20, "keys that matter together only"
    assert sum(one.by_version for one in evidence) > 5, "acts that name a version"
    assert any("halted" in one.after.ended for one in evidence)
    assert any("crashed" in one.after.ended for one in evidence)
    assert any(one.before.went_out != one.after.went_out and one.before.sent == one.after.sent for one in evidence), "order"
    assert sum(result.exit_status == 1 for result in results) > 15
    assert sum(result.exit_status == 0 for result in results) > 5


def test_keys_that_matter_together_only_need_two_at_a_time() -> None:
    results = {together: [dependencies(planted(number).system, together=together) for number in range(5, 8)] for together in (1, 2)}
    assert sum(len(found(one, "ship")) + len(found(one, "bill")) for one in results[1]) < sum(
        len(found(one, "ship")) + len(found(one, "bill")) for one in results[2]
    )


@pytest.mark.parametrize("name", [*ALL, *ON_FILES])
def test_the_built_in_systems_declare_what_they_depend_on(name: str) -> None:
    result = dependencies((ALL | ON_FILES)[name], fresh_process=False)
    assert result.exit_status == 0
    assert all(of.unused == () and of.found for of in result.actions)


@pytest.mark.parametrize("name", MUTANTS)
def test_so_do_the_known_bad_fences(name: str) -> None:
    result = dependencies(MUTANTS[name], together=1, fresh_process=False)
    assert all(of.undeclared == () for of in result.actions)


EXAMPLE = Path(__file__).parents[2] / "examples" / "langgraph_delivery" / "system.py"


class TestLangGraph:
    """The example on a real graph with its real checkpointer."""

    @pytest.mark.parametrize("name", ["NaiveDelivery", "FencedDelivery"])
    def test_it_declares_what_it_depends_on(self, name: str) -> None:
        result = dependencies(load(f"{EXAMPLE}:{name}"), fresh_process=False)
        assert result.exit_status == 0
        assert found(result, "deliver") == {"order/42/requirement", "order/42/window"}

    def test_a_declaration_that_is_forgotten_is_found(self) -> None:
        system = load(f"{EXAMPLE}:FencedDelivery")
        scenario = system.scenario
        assert scenario is not None

        class Forgets(system):  # type: ignore[misc,valid-type]
            pass

        Forgets.scenario = Scenario(
            owners=scenario.owners,
            actions=[Action("deliver", depends_on=["order/42/requirement"])],
            values=scenario.values,
            agents=scenario.agents,
        )
        result = dependencies(Forgets)
        assert result.exit_status == 1
        assert undeclared(result, "deliver") == {"order/42/window"}
        (one,) = result.actions[0].undeclared
        assert one.before.sent[0]["window"] == "Monday 09:00 to 11:00"
        assert one.after.sent[0]["window"] == "Tuesday 14:00 to 16:00"


EXAMPLES = EXAMPLE.parents[1]


@pytest.mark.parametrize(
    ("system", "keys"),
    [
        ("async_store/check_fulfilment.py:Fenced", {"order/42/address", "order/42/window"}),
        ("pydantic_ai_refund/check_refunds.py:FencedRefund", {"order/42/amount", "customer/7/account"}),
        ("mcp_tickets/check_tickets.py:Fenced", {"show://42", "get_price/42"}),
    ],
)
def test_so_do_examples_with_a_store_of_their_own(system: str, keys: set[str]) -> None:
    result = dependencies(load(f"{EXAMPLES / system}"), fresh_process=False)
    assert result.exit_status == 0
    assert found(result, result.actions[0].action) == keys


class Two(AgentSystem):
    """Two actions that depend on other keys, and one key that nobody looks at."""

    scenario = Scenario(
        owners={"owner": ["a", "b", "c"]},
        actions=[Action("ship", depends_on=["a"]), Action("bill", depends_on=["a"])],
        values={"a": ["A1", "A2"], "b": ["B1", "B2"], "c": ["C1", "C2"]},
    )

    def run(self) -> None:
        self.kit.act("ship", {"to": self.kit.read("a").value})
        self.kit.act("bill", {"amount": self.kit.read("b").value})


def test_each_action_has_its_own() -> None:
    result = dependencies(Two)
    assert (found(result, "ship"), found(result, "bill")) == ({"a"}, {"b"})
    assert (undeclared(result, "ship"), undeclared(result, "bill")) == (set(), {"b"})
    assert [of.unused for of in result.actions] == [(), ("a",)]


def test_the_two_runs_are_the_evidence() -> None:
    (one,) = dependencies(Two).actions[1].undeclared
    assert one.keys == ("b",)
    assert (one.before.looked["b"], one.after.looked["b"]) == ("B1", "B2")
    assert (one.before.sent, one.after.sent) == (({"amount": "B1"},), ({"amount": "B2"},))
    assert one.after.values == {"b": "B2"}


class Never(Two):
    """The bill goes out only where c says so."""

    def run(self) -> None:
        self.kit.act("ship", {"to": self.kit.read("a").value})
        if self.kit.read("c").value == "never":
            self.kit.act("bill", {"amount": 1})


def test_an_action_that_never_goes_out_is_inconclusive() -> None:
    result = dependencies(Never)
    assert (result.never, result.exit_status) == (("bill",), 3)


class Chance(Two):
    """Sends a number that is new each time."""

    numbers = itertools.count()

    def run(self) -> None:
        self.kit.act("ship", {"to": self.kit.read("a").value, "id": next(self.numbers)})


def test_what_is_new_each_time_is_refused_by_name() -> None:
    with pytest.raises(Nondeterministic, match="Chance is not deterministic: of two runs alike, ship goes out with id="):
        dependencies(Chance)


class ChanceLater(Two):
    """Sends a number that is new each time, but only where c is not as it was."""

    numbers = itertools.count()

    def run(self) -> None:
        later = {} if self.kit.read("c").value == "C1" else {"id": next(self.numbers)}
        self.kit.act("ship", {"to": self.kit.read("a").value, **later})


def test_so_is_what_is_new_each_time_in_another_world() -> None:
    with pytest.raises(Nondeterministic, match="of two runs alike, ship goes out with id="):
        dependencies(ChanceLater)


class Leaks(AgentSystem):
    """Sends how many values of c episodes before it have read."""

    scenario = Scenario(owners={"o": ["a", "c"]}, actions=[Action("ship", depends_on=["a"])])
    seen: set[str] = set()

    def run(self) -> None:
        self.seen.add(self.kit.read("c").value)
        self.kit.act("ship", {"to": self.kit.read("a").value, "seen": len(self.seen)})


def test_what_is_left_behind_is_refused() -> None:
    with pytest.raises(
        CouldNotRun, match="Leaks leaks state from one episode into the next: of two runs alike, with others between them, ship goes"
    ):
        dependencies(Leaks, fresh_process=False)


def test_a_key_that_is_looked_at_to_no_end_is_told() -> None:
    class Looks(Two):
        def run(self) -> None:
            super().run()
            self.kit.read("c")

    assert [(one.key, one.touched) for one in dependencies(Looks).idle] == [("c", True)]
    assert dependencies(Two).idle == ()


class Idle(Two):
    """Does nothing."""

    def run(self) -> None:
        self.kit.read("a")


def test_a_system_that_never_acts_is_refused() -> None:
    with pytest.raises(CouldNotRun, match="Idle never acts"):
        dependencies(Idle)


def test_the_bound_is_kept_and_told() -> None:
    result = dependencies(ALL["planfence"], world(keys=8, declared=4), episodes=10, fresh_process=False)
    assert (result.episodes, result.ran_out) == (10, True)
    assert result.exit_status == 3
    assert dependencies(ALL["planfence"], together=1).episodes < dependencies(ALL["planfence"], together=2).episodes


class Tool(AgentSystem):
    """Writes one of two files, from both; what it depends on is said of the file that is written."""

    scenario = Scenario(
        owners={"disk": ["a", "b"], "settings": ["which"]},
        actions=[Action("write", depends_on=lambda args: [args["path"]])],
        values={"which": ["b", "a"]},
    )

    def run(self) -> None:
        which, a, b = (self.kit.read(key).value for key in ("which", "a", "b"))
        self.kit.act("write", {"path": which, "text": [a, b] if which == "a" else b})


def test_keys_that_depend_on_the_arguments_must_be_declared_for_those_that_went_out() -> None:
    """b is declared where b is written, as it is at first, and not where it goes into a."""
    result = dependencies(Tool)
    assert found(result, "write") == {"a", "b", "which"}
    assert undeclared(result, "write") == {"b", "which"}
    (b,) = (one for one in result.actions[0].undeclared if one.keys[0] == "b")
    assert b.before.sent[0]["path"] == "a"


class Copies(Tool):
    """Writes each file from itself, both in one episode."""

    def run(self) -> None:
        for path in ("a", "b"):
            self.kit.act("write", {"path": path, "text": self.kit.read(path).value})


def test_of_several_calls_only_those_that_differ_must_declare_it() -> None:
    assert undeclared(dependencies(Copies), "write") == set()


def test_what_is_declared_and_not_in_depends_on_is_told_apart() -> None:
    class Declares(Two):
        scenario = Scenario(
            owners={"owner": ["a", "b"]}, actions=[Action("ship", declared=["a"]), Action("bill", depends_on=["b"], declared=[])]
        )

    ship, bill = dependencies(Declares).actions
    assert (ship.undeclared, ship.unknown) == ((), ("a",))
    assert ([one.keys for one in bill.undeclared], bill.unknown) == ([("b",)], ())


def test_removing_a_key_is_one_more_change() -> None:
    class Optional(AgentSystem):
        scenario = Scenario(owners={"o": ["a", "note"]}, actions=[Action("ship", depends_on=["a"])])

        def run(self) -> None:
            note = self.kit.read("note")
            self.kit.act("ship", {"to": self.kit.read("a").value, "noted": not note.removed})

    assert undeclared(dependencies(Optional), "ship") == set()
    result = dependencies(Optional, removed=True)
    assert undeclared(result, "ship") == {"note"}
    assert result.actions[0].undeclared[0].after.removed == ("note",)


class Parses(AgentSystem):
    """Reads a day, which must be one, and makes no use of it."""

    scenario = Scenario(owners={"o": ["a", "day"]}, actions=[Action("ship", depends_on=["a", "day"])], values={"day": ["2027-01-01"]})

    def run(self) -> None:
        date.fromisoformat(self.kit.read("day").value)
        self.kit.act("ship", {"to": self.kit.read("a").value})


def test_a_crash_on_a_value_that_we_made_up_says_nothing() -> None:
    result = dependencies(Parses)
    assert found(result, "ship") == {"a"}
    assert result.actions[0].unused == (), "nobody knows"
    assert result.untried == {"day": "ValueError: Invalid isoformat string: 'day version 2'"}
    assert result.exit_status == 3


class Crosses(AgentSystem):
    """Goes another way for large amounts, which its scenario does not give, and cannot file them in the end."""

    scenario = Scenario(
        owners={"o": ["amount", "note"]},
        actions=[Action("pay", depends_on=[]), Action("file", depends_on=[])],
        values={"amount": [80, 40, 20], "note": ["A"]},
    )

    def run(self) -> None:
        amount, note = (self.kit.read(key).value for key in ("amount", "note"))
        self.kit.act("pay", {"by": "transfer" if amount > 1_000 else "card"})
        self.kit.act("file", {"in": {80: "open", 40: "open", 20: "open"}[amount]})
        self.kit.act("file", {"note": bool(note)})


def test_a_branch_beyond_the_values_of_the_scenario_is_reached() -> None:
    result = dependencies(Crosses)
    assert undeclared(result, "pay") == {"amount"}
    (one,) = result.actions[0].found
    assert one.after.made_up == ("amount",)
    assert (one.before.sent, one.after.sent) == (({"by": "card"},), ({"by": "transfer"},))
    assert one.after.ended.startswith("crashed: KeyError"), "what went out before it counts"
    assert undeclared(result, "file") == {"note"}, "an empty text; that nothing is filed after a crash on a made-up amount says nothing"


def test_given_values_are_all_that_is_tried() -> None:
    class Given(Parses):
        scenario = Scenario(
            owners=Parses.scenario.owners,
            actions=Parses.scenario.actions,
            values={"day": ["2027-01-01", "2027-01-02"]},
        )

    result = dependencies(Given)
    assert result.exit_status == 0
    assert [(one.key, one.tried, one.touched) for one in result.actions[0].idle] == [("day", 1, True)]


def test_agents_side_by_side_may_change_places() -> None:
    """What c says makes the first agent slower; each sends the same."""

    class Beside(AgentSystem):
        runtime = "asyncio"
        scenario = Scenario(owners={"o": ["a", "c"]}, actions=[Action("ship", depends_on=["a"])], agents=["one", "two"])

        async def run(self) -> None:
            await asyncio.gather(self.one(), self.two())

        async def one(self) -> None:
            with self.kit.agent("one"):
                if (await self.kit.aio.read("c")).value != "c version 1":
                    await asyncio.sleep(5)
                await self.kit.aio.act("ship", {"to": "one"})

        async def two(self) -> None:
            with self.kit.agent("two"):
                value = (await self.kit.aio.read("a")).value
                await asyncio.sleep(1)
                await self.kit.aio.act("ship", {"to": value})

    assert found(dependencies(Beside), "ship") == {"a"}


def test_a_key_that_nobody_asks_about_costs_no_run() -> None:
    few, many = (dependencies(ALL["planfence"], world(keys=keys, declared=2), fresh_process=False) for keys in (2, 8))
    assert found(few, "deliver") == found(many, "deliver") == {"order/42/requirement", "order/42/window"}
    assert (few.episodes, many.episodes) == (3, 7), "those in which another value could make another key be asked about"


def test_groups_of_three() -> None:
    class Three(AgentSystem):
        scenario = Scenario(owners={"o": ["a", "b", "c"]}, actions=[Action("act", depends_on=["a"])], values={k: [0, 1] for k in "abc"})

        def run(self) -> None:
            values = [self.kit.read(key).value for key in "abc"]
            self.kit.act("act", {"all": all(values)})

    assert found(dependencies(Three, together=2)) == set()
    assert found(dependencies(Three, together=3)) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"values": 0}, "values must be a whole number from 1 to 100, not 0"),
        ({"together": 4}, "together must be a whole number from 1 to 3, not 4"),
        ({"episodes": 0}, "episodes must be a whole number from 1, not 0"),
    ],
)
def test_options_that_cannot_be(options: dict[str, int], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        dependencies(Two, **options)  # type: ignore[arg-type]


def test_a_model_is_asked_once_for_each_distinct_input(tmp_path: Path) -> None:
    asked: list[str] = []

    @Decisions(tmp_path / "decisions.json")
    def model(address: str) -> str:
        asked.append(address)
        return f"to {address}"

    class Recorded(Two):
        def run(self) -> None:
            plan = model(self.kit.read("a").value)
            self.kit.act("ship", {"to": plan})
            self.kit.act("bill", {"amount": self.kit.read("b").value, "note": self.kit.read("c").value != "C1"})

    result = dependencies(Recorded)
    assert result.episodes > 10
    assert sorted(asked) == ["A1", "A2"], "of the values that a has, each once"
    assert undeclared(result, "bill") == {"b", "c"}
