"""The ports: what each answers and logs, in each mode of an owner, plain and awaited."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck.history import Act, Declared, Derive, Ended, Fetch, Halted, Head, Landed, Memory, Pause, Read, Seam, Validated, labelled
from fencecheck.interleaving import CorruptParent, Deliver, Event, MissingParent, Outage, Restore, Update
from fencecheck.model import Action, Record, Scenario, lineage_of
from fencecheck.run import faults
from fencecheck.run.faults import MALFORMED
from fencecheck.search.states import Model

from .faces import RUNTIMES, Face, X, Y, failure, run

each_runtime = pytest.mark.parametrize("runtime", RUNTIMES)


@each_runtime
def test_every_port_logs_one_entry_in_the_order_of_the_calls(runtime: str) -> None:
    async def body(io: Face) -> None:
        record = await io.read(X)
        assert record == Record("x@1", X, "tea")
        assert await io.head(Y) == "y@1"
        assert await io.memory(Y) == Record("y@1", Y, "noon")
        plan = await io.derive({"drink": record.value}, [record, "y@1"])
        assert plan == Record("p1", None, {"drink": "tea"}, ("x@1", "y@1"))
        assert await io.record(plan.id) == await io.record(plan) == plan
        await io.pause("approval")
        await io.point("queue")
        assert io.declared("go") == (X,)
        io.validated({X: "x@1"})
        assert await io.act("go", plan.value, plan=plan, basis={X: record.id}, idempotency_key="k") == {"status": "done"}
        io.halted("enough")

    history = run(body, runtime)
    assert history.entries == [
        Read("agent", X, "x@1"),
        Head("agent", Y, "y@1"),
        Memory("agent", Y, "y@1"),
        Derive("agent", "p1"),
        Fetch("agent", "p1"),
        Fetch("agent", "p1"),
        Pause("agent", "approval"),
        Seam("agent", "queue"),
        Declared("agent", "go", (X,)),
        Validated("agent", (X,)),
        Act("agent", "go", {"drink": "tea"}, "p1", {X: "x@1"}, None, "k"),
        Halted("agent", "enough"),
        Ended("halted", "enough"),
    ]
    assert labelled(history) == [
        ("read x", 1), ("head y", 1), ("memory y", 1), ("derive derived", 1), ("record derived", 1), ("record derived", 2),
        ("pause approval", 1), ("point queue", 1), ("act go", 1),
    ]  # fmt: skip


MODES: dict[str, tuple[Any, Any, str, str | None]] = {
    # mode: what read and head do (an exception type or what they return), and what is logged for both
    "refuse": (faults.OwnerUnavailable, faults.OwnerUnavailable, "refused", None),
    "hang": (faults.OwnerTimeout, faults.OwnerTimeout, "hang", None),
    "malformed": (MALFORMED, MALFORMED, "malformed", None),
    "wrong-key": (Record("y@1", Y, "noon"), "y@1", "wrong-key", "y@1"),
    "older-head": (Record("x@1", X, "tea"), "x@1", "ok", "x@1"),
}


@each_runtime
@pytest.mark.parametrize("how", MODES)
def test_how_an_owner_answers_in_each_mode(runtime: str, how: Any) -> None:
    by_read, by_head, answer, version = MODES[how]
    got: list[Any] = []

    async def body(io: Face) -> None:
        for port in (io.read, io.head):
            try:
                got.append(await port(X, timeout=0.02))
            except faults.Fault as error:
                got.append(type(error))
        got.append((await io.read(Y)).id)  # its owner is well
        got.append(await io.head(X))  # restored

    history = run(body, runtime, (Event(0, Update(X)), Event(0, Outage("a", how)), Event(3, Restore("a"))))
    assert got == [by_read, by_head, "y@1", "x@2"]
    assert history.entries[2:4] == [Read("agent", X, version, answer), Head("agent", X, version, answer)]


@each_runtime
def test_an_owner_of_one_key_alone_answers_for_a_key_that_nobody_knows(runtime: str) -> None:
    alone = Scenario(owners={"a": [X]}, actions=[Action("go", [X])])
    got: list[Any] = []

    async def body(io: Face) -> None:
        got.append(await io.read(X))
        got.append(await io.head(X))

    run(body, runtime, (Event(0, Outage("a", "wrong-key")),), scenario=alone)
    assert [got[0].key, got[0].id, got[1]] == ["x/other", "x/other@1", "x/other@1"]


@each_runtime
@pytest.mark.parametrize("port", ["read", "head"])
def test_an_answer_that_never_comes_is_stuck_where_there_is_no_timeout(runtime: str, port: str) -> None:
    torn_down: list[bool] = []

    async def body(io: Face) -> None:
        try:
            await getattr(io, port)(X)
        except Exception as error:  # a handler that catches everything does not get out of it
            raise AssertionError from error

    history = run(body, runtime, (Event(0, Outage("a", "hang")),), teardown=lambda self: torn_down.append(True), timeout_s=0.5)
    assert history.ended == Ended("stuck", "waits for the answer of a for x, with no timeout")
    assert torn_down == [True]


@each_runtime
def test_a_key_that_nobody_owns(runtime: str) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        for port in (io.read, io.head, io.memory):
            got.append(type(await failure(port("z"))))

    history = run(body, runtime)
    assert got == [faults.RecordMissing, faults.RecordMissing, faults.NotRemembered]
    assert history.entries[:3] == [Read("agent", "z", None, "missing"), Head("agent", "z", None, "missing"), Memory("agent", "z", None)]


@each_runtime
def test_a_removed_key_is_served_as_a_tombstone(runtime: str) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        got.append(await io.read(X))
        got.append(await io.head(X))
        got.append(await io.read(X))

    removed_twice = (Event(0, Update(X, "removed")), Event(0, Update(X, "removed")), Event(2, Update(X, "earlier")))
    history = run(body, runtime, removed_twice)
    assert got == [
        Record("x@2", X, None, (), "x@1", removed=True),
        "x@2",
        Record("x@3", X, "tea", (), "x@2"),  # the value that it had before it was removed
    ]
    assert [entry.fired for entry in history.entries if type(entry) is Landed] == [True, False, True]


@each_runtime
def test_updates_take_the_values_of_the_scenario_in_turn_then_made_up_ones(runtime: str) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        for _ in range(5):
            got.append((await io.read(X)).value)

    updates = (Event(1, Update(X)), Event(2, Update(X)), Event(3, Update(X, "earlier")), Event(4, Update(X)))
    run(body, runtime, updates)
    assert got == ["tea", "coffee", "cocoa", "coffee", "x version 5"]


def test_an_earlier_value_needs_one() -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    assert run(body, "sync", (Event(0, Update(X, "earlier")),)).fired == ()


# -- memory -----------------------------------------------------------------------------------------------------------------------


@each_runtime
def test_memory_is_what_was_read_last_and_what_was_delivered_since(runtime: str) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        got.append((await io.memory(X)).id)  # 0: never read: what was there at the start
        await io.head(X)  # 1: an id is no record: memory stays
        got.append((await io.memory(X)).id)  # 2
        got.append((await io.read(X)).id)  # 3
        got.append((await io.memory(X)).id)  # 4
        got.append((await io.memory(X)).id)  # 5: delivered before

    history = run(body, runtime, (Event(0, Update(X)), Event(4, Update(X)), Event(5, Deliver(X)), Event(5, Deliver(X))))
    assert got == ["x@1", "x@1", "x@2", "x@2", "x@3"]
    deliveries = [entry for entry in history.entries if type(entry) is Landed and type(entry.what) is Deliver]
    assert [(entry.fired, entry.version) for entry in deliveries] == [(True, "x@3"), (False, "x@3")]


@each_runtime
def test_each_agent_has_a_memory_of_its_own_and_a_delivery_reaches_all(runtime: str) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        with io.agent("planner"):
            await io.read(X)
        with io.agent("executor"):
            got.append((await io.memory(X)).id)
            await io.pause()
            got.append((await io.memory(X)).id)
        with io.agent("planner"):
            got.append((await io.memory(X)).id)

    scenario = Scenario(owners={"a": [X]}, actions=[Action("go", [X])], agents=["planner", "executor"])
    run(body, runtime, (Event(1, Update(X)), Event(2, Deliver(X))), scenario=scenario)
    assert got == ["x@1", "x@2", "x@2"]


@each_runtime
@pytest.mark.parametrize("heard_of", ["before", "never before"])
def test_a_delivery_reaches_agents_that_the_scenario_does_not_list_and_that_never_read(runtime: str, heard_of: str) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        if heard_of == "before":
            with io.agent("executor"):
                await io.pause()
        await io.read(X)
        await io.pause()
        with io.agent("executor"):
            got.append((await io.memory(X)).id)

    at = 2 if heard_of == "before" else 1
    history = run(body, runtime, (Event(at, Update(X)), Event(at, Deliver(X))))
    assert (got, len(history.fired)) == (["x@2"], 2)


@each_runtime
def test_a_delivery_that_only_an_unlisted_agent_notices_fires_where_it_asks(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.read(X)  # the agent knows by itself
        with io.agent("executor"):
            assert (await io.memory(X)).id == "x@2"

    history = run(body, runtime, (Event(0, Update(X)), Event(1, Deliver(X))))
    assert len(history.fired) == 2


# -- records ----------------------------------------------------------------------------------------------------------------------


PLACES: list[tuple[int | str, str]] = [(0, "p2"), (1, "p1"), (2, "x@1"), (X, "x@2")]


@each_runtime
@pytest.mark.parametrize(("place", "lost"), PLACES)
def test_a_missing_record_by_its_place_in_the_lineage_or_as_the_head_of_a_key(runtime: str, place: int | str, lost: str) -> None:
    got: list[str] = []

    async def body(io: Face) -> None:
        record = await io.read(X)
        plan = await io.derive("plan", [await io.derive("decision", [record])])
        for id in ("x@1", "x@2", "p1", plan.id):
            if type(await failure(io.record(id))) is faults.RecordMissing:
                got.append(id)
        if type(await failure(io.read(X))) is faults.RecordMissing:
            got.append("read")
        got.append(await io.head(X))

    history = run(body, runtime, (Event(1, Update(X)), Event(3, MissingParent(place)), Event(3, MissingParent(place))))
    assert got == [lost, *(["read"] if lost == "x@2" else []), "x@2"]
    landed = [entry for entry in history.entries if type(entry) is Landed and type(entry.what) is MissingParent]
    assert [(entry.fired, entry.record) for entry in landed] == [(True, lost), (False, None)]
    assert lost in history.records  # as written


@pytest.mark.parametrize("place", [0, 1, 7])
def test_there_is_no_lineage_before_anything_was_derived(place: int) -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    assert run(body, "sync", (Event(0, MissingParent(place)), Event(0, CorruptParent(place)))).fired == ()


CORRUPTIONS = {
    "dangling": Record("p1", None, "decision", ("x@1", "p1/dangling")),
    "cycle": Record("p1", None, "decision", ("x@1", "p1")),
    "two-versions": Record("p1", None, "decision", ("x@1", "x@2")),
}


@each_runtime
@pytest.mark.parametrize("how", CORRUPTIONS)
def test_a_corrupted_record_is_served_otherwise_than_it_was_written(runtime: str, how: Any) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        record = await io.read(X)
        decision = await io.derive("decision", [record])
        await io.derive("plan", [decision])
        got.append(await io.record(decision))
        got.append(decision)

    history = run(body, runtime, (Event(1, Update(X)), Event(3, CorruptParent(1, how)), Event(3, CorruptParent(1, how))))
    written = Record("p1", None, "decision", ("x@1",))
    assert got == [CORRUPTIONS[how], written]
    assert history.records["p1"] == written
    assert history.entries[-2] == Fetch("agent", "p1", "corrupt")
    assert [entry.fired for entry in history.entries if type(entry) is Landed] == [True, True, False]


@each_runtime
def test_a_record_of_a_declared_key_is_served_under_another_key(runtime: str) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        records = [await io.read(X), await io.read(Y)]
        await io.derive("plan", records)
        for record in records:
            got.append((await io.record(record)).key)

    history = run(body, runtime, (Event(3, CorruptParent(1, "wrong-key")), Event(3, CorruptParent(2, "wrong-key"))))
    assert got == ["x/other", Y]
    assert [entry.fired for entry in history.entries if type(entry) is Landed] == [True, False]  # of y nobody could notice it


@pytest.mark.parametrize("other", [X, Y])
def test_a_version_beside_another_of_its_key_is_not_served_under_another_one(other: str) -> None:
    """No fence could tell: of the two versions in the lineage only the other one would be seen."""
    scenario = Scenario(owners={"a": [X], "b": [Y]}, actions=[Action("go", [X, Y])])

    async def body(io: Face) -> None:
        first = await io.read(X)
        plan = await io.derive("plan", [first, await io.read(other)])
        await io.record(plan)

    history = run(body, "sync", (Event(1, Update(X)), Event(3, CorruptParent(1, "wrong-key"))), scenario=scenario)
    assert [entry.fired for entry in history.entries if type(entry) is Landed] == [True, other == Y]
    model, world = Model(scenario), Model(scenario).first
    world = model.after(Update(X), world, (), history) or world
    symbolic = model.after(CorruptParent(1, "wrong-key"), world, lineage_of(history.records, "p1"), history)
    assert (symbolic is not None) == (other == Y)  # the search that closes knows it too


def test_a_second_version_can_be_served_only_where_there_is_one() -> None:
    async def body(io: Face) -> None:
        await io.derive("plan", [await io.read(X)])
        await io.record("x@1")

    assert run(body, "sync", (Event(2, CorruptParent(0, "two-versions")),)).fired == ()


@each_runtime
def test_a_derived_record_with_a_key_is_the_next_version_of_it(runtime: str) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        record = await io.read(X)
        got.append(await io.derive("stronger tea", [record], key=X))
        got.append(await io.head(X))
        got.append(await io.derive("a list", [record], key="lists/1"))
        got.append(await io.read("lists/1"))

    history = run(body, runtime)
    assert got[0] == Record("x@2", X, "stronger tea", ("x@1",), "x@1")
    assert got[1] == "x@2"
    assert got[2] == got[3] == Record("lists/1@1", "lists/1", "a list", ("x@1",))
    assert history.versions == {X: ["x@1", "x@2"], Y: ["y@1"], "lists/1": ["lists/1@1"]}


# -- agents -----------------------------------------------------------------------------------------------------------------------


@each_runtime
def test_the_agent_is_the_innermost_one_and_the_first_by_default(runtime: str) -> None:
    scenario = Scenario(owners={"a": [X], "b": [Y]}, actions=[Action("go", [X])], agents=["planner", "executor"])

    async def body(io: Face) -> None:
        await io.read(X)
        with io.agent("executor"):
            await io.read(X)
            with io.agent("auditor"):
                await io.read(X)
                io.validated([X])
            io.halted()
        io.declared("go")

    history = run(body, runtime, scenario=scenario)
    names = [entry.agent for entry in history.entries if not isinstance(entry, Ended)]
    assert names == ["planner", "executor", "auditor", "auditor", "executor", "planner"]
