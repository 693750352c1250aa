"""Hidden dependencies: every planted one is found, no false one is named, and two runs show each."""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fencecheck import Action, AgentSystem, Decisions, Scenario
from fencecheck.errors import BadInput, CouldNotRun, Nondeterministic
from fencecheck.measure.dependencies import Dependencies, dependencies
from fencecheck.model import Record
from fencecheck.mutants import ALL as MUTANTS
from fencecheck.run.loading import load
from fencecheck.systems import ALL, ON_FILES
from fencecheck.worlds import world

KEYS = tuple("abcdefgh")


def found(result: Dependencies, action: str = "act") -> set[str]:
    (of,) = (of for of in result.actions if of.action == action)
    return {one.keys[0] for one in of.found}


def undeclared(result: Dependencies, action: str = "act") -> set[str]:
    (of,) = (of for of in result.actions if of.action == action)
    return {one.keys[0] for one in of.undeclared}


def planted(number: int) -> tuple[type[AgentSystem], set[str]]:
    """A system that uses some of its keys, each in one of the ways in which agents do, and the keys that it really uses."""
    chance = Random(number)
    keys = KEYS[: 1 + number % 8]
    ways = {key: chance.choice(["sent", "sent", "read", "read", "never", "remembered", "threshold", "guard"]) for key in keys}
    pairs = [pair for pair in itertools.permutations(keys, 2) if {ways[one] for one in pair} <= {"read", "never"}]
    gated = chance.choice(pairs) if pairs and chance.random() < 0.7 else None
    real = {key for key, way in ways.items() if way in ("sent", "remembered", "threshold", "guard")} | set(gated or ())
    declared = [key for key in keys if chance.random() < 0.6]
    values = {key: [10 * at + version for version in range(6)] for at, key in enumerate(keys, 1)}
    first = {key: numbers[0] for key, numbers in values.items()}

    class Planted(AgentSystem):
        name = f"planted-{number}"
        scenario = Scenario(owners={"owner": keys}, actions=[Action("act", depends_on=declared)], values=values, depth=1)

        def run(self) -> None:
            kit = self.kit
            parents: list[Record] = []
            sent: dict[str, Any] = {"what": "an order"}

            def looked(key: str, port: Any) -> Any:
                record = port(key)
                parents.append(record)
                return record.value

            for key, way in ways.items():
                if way == "sent":
                    sent[key] = looked(key, kit.read)
                elif way == "read":
                    looked(key, kit.read)
                elif way == "remembered":
                    sent[key] = looked(key, kit.memory)
                elif way == "threshold":
                    sent[f"much {key}"] = looked(key, kit.read) >= first[key] + 2
                elif way == "guard" and looked(key, kit.read) == first[key] + 1:
                    kit.halted(f"{key} forbids it")
                    return
            if gated is not None:
                gate, behind = (looked(key, kit.read) != first[key] for key in gated)
                sent["both"] = gate and behind
            decision = kit.derive("decision", parents)
            kit.act("act", sent, plan=kit.derive(sent, [decision]))

    return Planted, real


@pytest.mark.parametrize("number", range(50))
def test_what_is_planted_is_what_is_found(number: int) -> None:
    system, real = planted(number)
    result = dependencies(system)
    declared = set(system.scenario.actions[0].depends_on)  # type: ignore[union-attr]
    assert found(result) == real
    assert undeclared(result) == real - declared
    assert set(result.actions[0].unused) == declared - real
    assert result.exit_status == (1 if real - declared else 0)


def test_the_generated_systems_have_every_kind() -> None:
    cases = [planted(number) for number in range(50)]
    assert {len(system.scenario.keys) for system, _ in cases} == set(range(1, 9))  # type: ignore[union-attr]
    results = [dependencies(system) for system, _ in cases]
    assert any(len(one.keys) == 2 for result in results for one in result.actions[0].found), "keys that matter together only"
    assert any(not one.after.sent for result in results for one in result.actions[0].found), "keys that stop the act"
    assert sum(bool(undeclared(result)) for result in results) > 15
    assert sum(not undeclared(result) for result in results) > 5


@pytest.mark.parametrize("name", [*ALL, *ON_FILES])
def test_the_built_in_systems_declare_what_they_depend_on(name: str) -> None:
    result = dependencies((ALL | ON_FILES)[name])
    assert result.exit_status == 0
    assert all(of.unused == () and of.found for of in result.actions)


@pytest.mark.parametrize("name", MUTANTS)
def test_so_do_the_known_bad_fences(name: str) -> None:
    result = dependencies(MUTANTS[name], together=1)
    assert all(of.undeclared == () for of in result.actions)


EXAMPLE = Path(__file__).parents[2] / "examples" / "langgraph_delivery" / "system.py"


class TestLangGraph:
    """The example on a real graph with its real checkpointer."""

    @pytest.mark.parametrize("name", ["NaiveDelivery", "FencedDelivery"])
    def test_it_declares_what_it_depends_on(self, name: str) -> None:
        result = dependencies(load(f"{EXAMPLE}:{name}"))
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


def test_what_is_new_each_time_is_refused() -> None:
    with pytest.raises(Nondeterministic, match="Chance is not deterministic: two runs alike send other arguments"):
        dependencies(Chance)


class Idle(Two):
    """Does nothing."""

    def run(self) -> None:
        self.kit.read("a")


def test_a_system_that_never_acts_is_refused() -> None:
    with pytest.raises(CouldNotRun, match="Idle never acts"):
        dependencies(Idle)


def test_the_bound_is_kept_and_told() -> None:
    result = dependencies(ALL["planfence"], world(keys=8, declared=4), episodes=20)
    assert (result.episodes, result.ran_out) == (20, True)
    assert result.exit_status == 3
    assert dependencies(ALL["planfence"], together=1).episodes < dependencies(ALL["planfence"], together=2).episodes


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
        dependencies(Two, **options)


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
    assert result.episodes > 20
    assert sorted(asked) == sorted(set(asked))
    assert set(asked) == {"A1", "A2", *asked[2:]}
    assert len(asked) == 4, "the first value and three others"
    assert undeclared(result, "bill") == {"b", "c"}
