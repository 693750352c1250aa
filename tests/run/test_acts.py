"""Acts: how a tool goes wrong, what an idempotency key and an expectation do, and the keys of an action."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck.errors import BadInput
from fencecheck.history import Act
from fencecheck.interleaving import CORRUPT_HOWS, CorruptParent, Event, ToolFault, Update
from fencecheck.model import Action, Scenario
from fencecheck.run import faults

from .faces import RUNTIMES, Face, X, Y, failure, run

each_runtime = pytest.mark.parametrize("runtime", RUNTIMES)


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
