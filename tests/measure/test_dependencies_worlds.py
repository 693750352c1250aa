"""Worlds in which a key has another value from the very beginning."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck import Action, AgentSystem, Kit, Scenario
from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.fence import Halt, PlanFence
from fencecheck.measure.dependencies import dependencies
from fencecheck.measure.dependencies_worlds import AGAIN, REMOVED, RanOut, Worlds
from fencecheck.model import Record
from fencecheck.run.simulate import Runner


class Shop(AgentSystem):
    """Has a store of its own, which is full before the kit sees it; plans from memory, and validates."""

    scenario = Scenario(
        owners={"shop": ["a", "b"]}, actions=[Action("ship", depends_on=["a"])], values={"a": ["A1", "A2", "A3"], "b": ["B1", "B2", "B3"]}
    )
    halt_exceptions = (Halt,)

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.rows = {"a": ["A1"], "b": ["B1"]}
        self.memory = {"a": "A1", "b": "B1"}

    def run(self) -> None:
        kit = self.kit
        a, b = kit.memory("a", via=lambda: self.memory["a"]), kit.memory("b", via=lambda: self.memory["b"])
        plan = kit.derive({"to": a, "of": len(b)}, [])
        kit.act("ship", plan.value, plan=plan, basis={"a": self.true_head("a")})

    def publish(self, key: str, value: Any) -> str:
        self.rows[key].append(value)
        return self.true_head(key)

    def true_head(self, key: str) -> str:
        return f"{key}{len(self.rows[key])}"

    def deliver(self, key: str, record: Record) -> None:
        self.memory[key] = record.value


class Forgetful(Shop):
    """Nothing can be delivered to its memory."""

    deliver = None  # type: ignore[assignment]


class Seeded(Forgetful):
    """Its store is empty until the kit commits the first versions, which are remembered."""

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.rows, self.memory = {"a": [], "b": []}, {}

    def publish(self, key: str, value: Any) -> str:
        self.memory.setdefault(key, value)
        return super().publish(key, value)

    def true_head(self, key: str) -> str:
        return super().true_head(key) if self.rows[key] else None  # type: ignore[return-value]


class Quiet(Shop):
    """Looks into its own store past the ports."""

    def run(self) -> None:
        self.kit.act("ship", {"to": self.rows["b"][-1]})


class TestStoreOfItsOwn:
    def test_one_that_the_kit_fills_begins_with_the_other_value(self) -> None:
        with Runner(Seeded) as runner:
            runner.run()
            worlds = Worlds(runner, 3, False, 100)
            assert worlds.outcome((("a", 1),)).looked == {"a": "A2", "b": "B1"}

    def test_what_it_asks_past_the_ports_is_changed_too(self) -> None:
        assert [one.keys for one in dependencies(Quiet).actions[0].found] == [("b",)]

    def test_the_new_value_is_remembered_too(self) -> None:
        (ship,) = dependencies(Shop).actions
        assert [one.keys for one in ship.found] == [("a",)]
        assert ship.found[0].after.looked == {"a": "A2", "b": "B1"}

    def test_a_memory_that_cannot_be_brought_up_to_date_is_told(self) -> None:
        with pytest.raises(CouldNotRun, match=r"Forgetful remembers a as it was before the update.*define deliver\(key, record\)"):
            dependencies(Forgetful)

    def test_one_that_cannot_remove_says_so(self) -> None:
        with pytest.raises(BadInput, match=r"Shop cannot remove a: define remove\(key\)"):
            dependencies(Shop, removed=True)

    def test_one_that_cannot_be_updated_says_so(self) -> None:
        class Fixed(Shop):
            cannot_happen = {"update": "it is read-only"}

        with pytest.raises(BadInput, match=r"Fixed cannot receive update \(it is read-only\)"):
            dependencies(Fixed)


class Fenced(AgentSystem):
    """Validates each key that it reads, so that whatever was stale would make it halt."""

    scenario = Scenario(
        owners={"o": ["a", "b"]}, actions=[Action("ship", depends_on=["a", "b"])], values={"a": ["A1", "A2"], "b": ["B1", "B2"]}
    )
    halt_exceptions = (Halt,)

    def run(self) -> None:
        kit = self.kit
        plan = kit.derive({"to": kit.memory("a").value}, [kit.memory("a"), kit.memory("b")])
        fence = PlanFence(kit.record, kit.head, lambda *_: kit.halted("stale"), kit.validated)
        cleared = fence.clear(plan, kit.declared("ship"))
        kit.act("ship", cleared.plan.value, plan=cleared.plan)


def test_nothing_is_stale_in_any_world() -> None:
    with Runner(Fenced) as runner:
        worlds = Worlds(runner, 3, False, 100)
        for world in ((), (("a", 1),), (("a", 1), ("b", 1)), (("b", AGAIN),), (("a", AGAIN), ("b", 1))):
            outcome = worlds.outcome(world)
            assert outcome.ended.how == "returned"
            assert [act.args for act in outcome.acts] == [{"to": "A2" if ("a", 1) in world else "A1"}]


def test_a_removed_key_has_no_value() -> None:
    with Runner(Fenced) as runner:
        worlds = Worlds(runner, 3, True, 100)
        assert worlds.others("a") == [1, REMOVED]
        assert worlds.outcome((("a", REMOVED),)).looked["a"] is None


def test_each_world_is_run_once_and_none_beyond_the_bound() -> None:
    with Runner(Fenced) as runner:
        worlds = Worlds(runner, 3, False, 2)
        assert worlds.outcome(()) is worlds.outcome(())
        worlds.outcome((("a", 1),))
        with pytest.raises(RanOut):
            worlds.outcome((("b", 1),))
        assert worlds.ran == 2


class Writes(AgentSystem):
    """Its first act writes a key that the second one sends."""

    name = "writes"
    scenario = Scenario(
        owners={"o": ["a", "stock"]},
        actions=[Action("reserve", depends_on=["a"], writes=["stock"]), Action("confirm", depends_on=["stock"])],
        values={"a": ["A1", "A2", "A3"], "stock": ["S1", "S2", "S3", "S4"]},
    )

    def run(self) -> None:
        self.kit.act("reserve", {"of": self.kit.read("a").value})
        self.kit.act("confirm", {"left": self.kit.read("stock").value})


@pytest.mark.parametrize("removed", [False, True])
def test_what_an_act_writes_is_the_same_in_each_world(removed: bool) -> None:
    reserve, confirm = dependencies(Writes, removed=removed).actions
    assert [one.keys for one in reserve.found] == [("a",)]
    assert confirm.found == (), "what it sends is what the first act wrote, whatever was there before"
    with Runner(Writes) as runner:
        worlds = Worlds(runner, 3, True, 100)
        for world in ((), (("stock", 1),), (("stock", AGAIN),), (("stock", REMOVED),), (("a", 1), ("stock", 2))):
            assert [act.args for act in worlds.outcome(world).acts][-1] == {"left": "S4"}


class Picky(AgentSystem):
    """Its own store takes none but positive amounts."""

    scenario = Scenario(owners={"o": ["a", "b"]}, actions=[Action("pay", depends_on=["a"])], values={"a": [5, 7], "b": [3]})

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.rows: dict[str, list[int]] = {"a": [], "b": []}

    def run(self) -> None:
        amount, most = (self.kit.read(key, via=lambda key=key: self.rows[key][-1]) for key in ("a", "b"))
        self.kit.act("pay", {"amount": amount, "much": most > 100_000})

    def publish(self, key: str, value: int) -> str:
        if value <= 0:
            raise ValueError(f"{value} is no amount")
        self.rows[key].append(value)
        return f"{key}{len(self.rows[key])}"

    def true_head(self, key: str) -> str | None:
        return f"{key}{len(self.rows[key])}" if self.rows[key] else None


def test_a_store_that_refuses_a_made_up_value_says_nothing() -> None:
    found = dependencies(Picky)
    assert [one.keys[0] for one in found.actions[0].found] == ["a", "b"]
    assert found.untried == {}
