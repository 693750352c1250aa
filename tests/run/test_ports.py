"""The ports: what each answers and logs, in each mode of an owner, plain and awaited."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.history import Act, Declared, Derive, Ended, Fetch, Halted, Head, Landed, Memory, Pause, Read, Seam, Validated, labelled
from fencecheck.interleaving import CORRUPT_HOWS, CorruptParent, Deliver, Event, MissingParent, Outage, Restore, ToolFault, Update
from fencecheck.model import Action, Record, Scenario, lineage_of
from fencecheck.run import faults
from fencecheck.run.faults import MALFORMED
from fencecheck.run.simulate import Runner
from fencecheck.search.states import Model

from .faces import RUNTIMES, WORLD, Face, X, Y, failure, run, system

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


# -- tools ------------------------------------------------------------------------------------------------------------------------


TOOLS: dict[str, tuple[type[faults.Fault], str, bool]] = {
    "refuse": (faults.ToolRefused, "refused", False),
    "lost-reply": (faults.ReplyLost, "lost-reply", True),
    "precondition-failed": (faults.PreconditionFailed, "precondition-failed", False),
}


@each_runtime
@pytest.mark.parametrize("how", TOOLS)
def test_a_tool_goes_wrong_once(runtime: str, how: Any) -> None:
    kind, outcome, effect = TOOLS[how]
    got: list[Any] = []

    async def body(io: Face) -> None:
        got.append(type(await failure(io.act("go", {"to": "tea"}))))
        got.append(await io.act("go", {"to": "tea"}))

    history = run(body, runtime, (Event(0, ToolFault("go", how)),))
    assert got == [kind, {"status": "done"}]
    assert [(e.outcome, e.effect) for e in history.entries if type(e) is Act] == [(outcome, effect), ("done", True)]


@each_runtime
def test_an_idempotency_key_has_one_effect_and_one_set_of_arguments(runtime: str) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        for args, key in (({"to": "tea"}, "one"), ({"to": "tea"}, "one"), ({"to": "coffee"}, "one"), ({"to": "coffee"}, "two")):
            try:
                got.append(await io.act("go", args, idempotency_key=key, via=lambda: f"reply {len(got)}"))
            except faults.IdempotencyKeyReused:
                got.append("reused")

    history = run(body, runtime)
    assert got == ["reply 0", "reply 0", "reused", "reply 3"]
    acts = [(e.outcome, e.effect) for e in history.entries if type(e) is Act]
    assert acts == [("done", True), ("repeated", False), ("key-reused", False), ("done", True)]


@each_runtime
def test_a_lost_reply_is_made_good_by_the_same_idempotency_key(runtime: str) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        for _ in range(2):
            try:
                got.append(await io.act("go", {"to": "tea"}, idempotency_key="one"))
            except faults.ReplyLost:
                got.append("lost")

    history = run(body, runtime, (Event(0, ToolFault("go", "lost-reply")),))
    assert got == ["lost", {"status": "done"}]
    assert [(e.outcome, e.effect) for e in history.entries if type(e) is Act] == [("lost-reply", True), ("repeated", False)]


@each_runtime
def test_what_is_expected_is_checked_together_with_the_effect(runtime: str) -> None:
    got: list[Any] = []
    effects: list[str] = []

    async def body(io: Face) -> None:
        for expect in ({X: "x@1"}, {X: "x@2"}, {X: "x@2", Y: "y@9"}):
            got.append(type(await failure(io.act("go", {}, expect=expect, via=lambda: effects.append("went out")))))

    history = run(body, runtime, (Event(0, Update(X)),))
    assert got == [faults.PreconditionFailed, type(None), faults.PreconditionFailed]
    assert effects == ["went out"]
    assert [(e.outcome, e.effect) for e in history.effects] == [("done", True)]


@each_runtime
def test_an_act_commits_what_it_writes(runtime: str) -> None:
    scenario = Scenario(owners={"a": [X], "b": [Y]}, actions=[Action("go", [X], writes=[Y, X])])
    got: list[Any] = []

    async def body(io: Face) -> None:
        await io.act("go", {})
        got.append((await io.memory(Y)).id)
        got.append((await io.read(X)).value)

    history = run(body, runtime, scenario=scenario)
    assert got == ["y@2", "x version 2"]
    assert history.effects[0].wrote == ("y@2", "x@2")


@each_runtime
def test_a_tool_of_another_name_carries_several_actions(runtime: str) -> None:
    scenario = Scenario(owners={"a": [X]}, actions=[Action("go", [X], tool="mail"), Action("tell", [X], tool="mail")])
    got: list[Any] = []

    async def body(io: Face) -> None:
        got.append(type(await failure(io.act("tell", {}))))
        got.append(type(await failure(io.act("go", {}))))

    run(body, runtime, (Event(0, ToolFault("mail")),), scenario=scenario)
    assert got == [faults.ToolRefused, type(None)]


@each_runtime
def test_keys_that_depend_on_the_arguments(runtime: str) -> None:
    files = Scenario(owners={"disk": [X, Y]}, actions=[Action("write", depends_on=lambda args: [args["path"]])])

    async def body(io: Face) -> None:
        assert io.declared("write", {"path": Y}) == (Y,)
        assert io.declared("write", {"path": X}) == (X,)
        await io.act("write", {"path": Y})

    history = run(body, runtime, scenario=files)
    assert (history.effects[0].depends_on, history.effects[0].declared) == ((Y,), (Y,))


@each_runtime
def test_keys_by_arguments_without_the_arguments(runtime: str) -> None:
    files = Scenario(owners={"disk": [X, Y]}, actions=[Action("write", depends_on=lambda args: [args["path"]])])

    async def body(io: Face) -> None:
        io.declared("write")

    with pytest.raises(BadInput, match=r"declared\('write'\), whose keys depend on the arguments: write kit.declared\('write', args\)$"):
        run(body, runtime, scenario=files)


@pytest.mark.parametrize("how", CORRUPT_HOWS)
def test_lineage_is_corrupted_where_keys_depend_on_arguments(how: Any) -> None:
    files = Scenario(owners={"disk": [X, Y]}, actions=[Action("write", depends_on=lambda args: [args["path"]])])

    async def body(io: Face) -> None:
        plan = await io.derive("text", [await io.read(X)])
        await io.record(X + "@1")
        await io.record(plan)
        await io.act("write", {"path": X}, plan=plan)

    place = 1 if how == "wrong-key" else 0
    history = run(body, "sync", (Event(2, Update(X)), Event(2, CorruptParent(place, how))), scenario=files)
    assert history.fired[1:] == (Event(2, CorruptParent(place, how)),)


@each_runtime
def test_declared_keys_without_the_dropped_ones(runtime: str) -> None:
    scenario = Scenario(owners={"a": [X, Y]}, actions=[Action("go", [X, Y]), Action("tell", [X, Y], declared=[Y])])
    got: list[Any] = []

    async def body(io: Face) -> None:
        got.extend([io.declared("go"), io.declared("tell")])

    run(body, runtime, dropped=(("go", X), ("tell", X)), scenario=scenario)
    assert got == [(Y,), (Y,)]


def test_versions_in_arguments_by_the_adapter() -> None:
    async def body(io: Face) -> None:
        await io.act("go", {"number": 1})

    history = run(body, "sync", (Event(0, Update(Y)),), versions_in=lambda self, args: {X: f"x@{args['number']}", Y: ["y@1", "y@2"]})
    assert history.effects[0].versions == {X: ("x@1",), Y: ("y@1", "y@2")}


@each_runtime
def test_an_action_that_is_not_listed(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.act("fly", {})

    with pytest.raises(BadInput) as caught:
        run(body, runtime)
    assert str(caught.value) == "Made acts 'fly', which its scenario does not list (actions: go): add Action('fly', ...)"


# -- the system's own functions behind the ports -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runtime", "face"),
    [(runtime, face) for runtime in RUNTIMES for face in ("plain", "async") if (runtime, face) != ("sync", "async")],  # see below
)
def test_via_is_called_in_place_of_the_kit_once_the_events_have_landed(runtime: str, face: str) -> None:
    called: list[str] = []
    got: list[Any] = []

    def via(name: str, answer: Any) -> Any:
        def plain() -> Any:
            called.append(name)
            return answer

        async def awaited() -> Any:
            return plain()

        return plain if face == "plain" else awaited

    async def body(io: Face) -> None:
        got.append(await io.read(X, via=via("read", {"text": "coffee"})))
        got.append(await io.head(X, via=via("head", "x@2")))
        got.append(await io.memory(X, via=via("memory", {"text": "tea"})))
        got.append(await io.record("x@1", via=via("record", "a row")))
        got.append((await io.derive("plan", ["x@1"], via=via("derive", "ignored"))).id)
        got.append(await io.act("go", {}, via=via("act", "a reply")))

    history = run(body, runtime, (Event(0, Update(X)),))
    assert called == ["read", "head", "memory", "record", "derive", "act"]
    assert got == [{"text": "coffee"}, "x@2", {"text": "tea"}, "a row", "p1", "a reply"]
    assert history.entries[1:5] == [
        Read("agent", X, "x@2"),  # by the value inside
        Head("agent", X, "x@2"),  # by the id
        Memory("agent", X, "x@1"),
        Fetch("agent", "x@1"),
    ]


@each_runtime
def test_a_fault_comes_in_place_of_via(runtime: str) -> None:
    called: list[str] = []
    got: list[Any] = []

    async def body(io: Face) -> None:
        got.append(type(await failure(io.read(X, via=lambda: called.append("read")))))
        got.append(await io.head(Y, via=lambda: called.append("head")))
        got.append(type(await failure(io.act("go", {}, via=lambda: called.append("act")))))
        got.append(type(await failure(io.record("x@1", via=lambda: called.append("record")))))

    outages = (Event(0, Outage("a")), Event(0, Outage("b", "wrong-key")), Event(0, ToolFault("go")), Event(0, MissingParent(X)))
    run(body, runtime, outages)
    assert got == [faults.OwnerUnavailable, MALFORMED, faults.ToolRefused, faults.RecordMissing]
    assert called == []


@each_runtime
def test_what_via_raises_reaches_the_system_and_the_history_says_that_it_failed(runtime: str) -> None:
    class Theirs(Exception):
        pass

    def broken() -> None:
        raise Theirs

    got: list[Any] = []

    async def body(io: Face) -> None:
        for call in (io.read(X, via=broken), io.head(X, via=broken), io.memory(X, via=broken), io.record("x@1", via=broken)):
            got.append(type(await failure(call)))
        got.append(type(await failure(io.act("go", {}, idempotency_key="one", via=broken))))
        got.append(await io.act("go", {}, idempotency_key="one"))

    history = run(body, runtime)
    assert got == [Theirs] * 5 + [{"status": "done"}]
    assert history.entries[:4] == [
        Read("agent", X, None, "refused"),
        Head("agent", X, None, "refused"),
        Memory("agent", X, None),
        Fetch("agent", "x@1", "missing"),
    ]
    assert [(e.outcome, e.effect) for e in history.entries if type(e) is Act] == [("refused", False), ("done", True)]


@pytest.mark.parametrize("port", ["read", "act"])
def test_an_async_function_behind_a_plain_port(port: str) -> None:
    async def theirs() -> None: ...

    async def body(io: Face) -> None:
        await (io.read(X, via=theirs) if port == "read" else io.act("go", {}, via=theirs))

    with pytest.raises(CouldNotRun) as caught:
        run(body, "sync")
    assert re.fullmatch(
        rf"Made: kit\.{port} at faces\.py:\d+ is not awaited, and comes to an async hook or via= function: write `await kit\.aio\.{port}\(\.\.\.\)`",
        str(caught.value),
    )


class ClientDown(Exception):
    pass


class Late(Exception):
    pass


@each_runtime
def test_faults_are_raised_as_the_exceptions_of_the_systems_own_clients(runtime: str) -> None:
    mapped = {
        faults.OwnerTimeout: Late,  # the first that fits
        faults.OwnerUnavailable: lambda message: ClientDown(f"503: {message}"),
        faults.ToolRefused: ClientDown("an instance"),
    }
    got: list[BaseException | None] = []

    async def body(io: Face) -> None:
        got.append(await failure(io.read(X)))
        got.append(await failure(io.read(Y, timeout=0.02)))
        got.append(await failure(io.act("go", {}, expect={X: "x@7"})))
        got.append(await failure(io.record("nothing")))

    run(body, runtime, (Event(0, Outage("a")), Event(0, Outage("b", "hang"))), fault_exceptions=mapped)
    assert [type(error) for error in got] == [ClientDown, Late, ClientDown, faults.RecordMissing]
    assert [str(error) for error in got] == [
        "503: a refuses for x",
        "b does not answer for y",
        "an instance",
        "there is no record 'nothing': give the record, or its id",
    ]
    assert [type(error.__cause__) for error in got[:3] if error] == [
        faults.OwnerUnavailable,
        faults.OwnerTimeout,
        faults.PreconditionFailed,
    ]


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


# -- events -----------------------------------------------------------------------------------------------------------------------


def test_events_of_one_point_land_in_the_order_given_before_the_port_does_its_work() -> None:
    async def body(io: Face) -> None:
        await io.read(X)
        await io.read(X)

    history = run(body, "sync", (Event(1, Update(X)), Event(1, Update(X)), Event(1, Outage("a"))))
    assert [type(entry).__name__ for entry in history.entries] == ["Read", "Landed", "Landed", "Landed", "Read", "Ended"]
    assert [entry.version for entry in history.entries if isinstance(entry, Landed)] == ["x@2", "x@3", None]


def test_events_that_change_nothing_have_not_fired() -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    nothing = [
        Update("z"), Update(X, "earlier"), Deliver(X), Deliver("z"), Outage("nobody"), Restore("a"), MissingParent(3), MissingParent("z"),
        CorruptParent(1),
    ]  # fmt: skip
    history = run(body, "sync", tuple(Event(0, what) for what in nothing))
    assert [(type(entry), entry.fired) for entry in history.entries[:-2]] == [(Landed, False)] * len(nothing)
    assert history.fired == ()


def test_a_mode_or_a_fault_that_is_set_twice_fires_once() -> None:
    async def body(io: Face) -> None:
        await io.read(Y)

    events = [Outage("a"), Outage("a"), Outage("a", "hang"), ToolFault("go"), ToolFault("go"), ToolFault("go", "lost-reply"), Restore("a")]
    history = run(body, "sync", tuple(Event(0, what) for what in events))
    assert [entry.fired for entry in history.entries if isinstance(entry, Landed)] == [True, False, True, True, False, True, True]


def test_events_beyond_the_last_point_do_not_land() -> None:
    async def body(io: Face) -> None:
        await io.read(X)

    assert run(body, "sync", (Event(1, Update(X)),)).entries == [Read("agent", X, "x@1"), Ended("returned")]


@each_runtime
def test_one_runner_starts_each_episode_anew(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.memory(X)
        await io.act("go", {}, idempotency_key="one")
        await io.read(X)

    with Runner(system(body, runtime, WORLD)) as runner:
        first = runner.run()
        runner.run(
            (), (Event(0, Update(X)), Event(0, Deliver(X)), Event(0, Outage("a")), Event(0, MissingParent(Y)), Event(1, ToolFault("go")))
        )
        again = runner.run()
    assert again.entries == first.entries
    assert [type(entry) for entry in again.entries] == [Memory, Act, Read, Ended]
