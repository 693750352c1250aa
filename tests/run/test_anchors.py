"""Events of stored cases land by label and occurrence, so that a port call added elsewhere moves none of them."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from fencecheck.history import History, Landed, is_point, label, labelled
from fencecheck.interleaving import Event, Restart, Update, What
from fencecheck.judge import judge
from fencecheck.run.landing import Anchored
from fencecheck.run.simulate import Runner

from .faces import RUNTIMES, Face, X, Y, system


async def naive(io: Face) -> None:
    record = await io.read(X)
    plan = await io.derive({"to": record.value}, [record])
    await io.pause("approval")
    await io.read(Y)
    await io.pause("approval")
    await io.act("go", plan.value, plan=plan)


async def with_more_calls(io: Face) -> None:
    await io.point("start")
    await io.head(Y)
    record = await io.read(X)
    await io.memory(X)
    plan = await io.derive({"to": record.value}, [record])
    await io.record(plan)
    await io.pause("approval")
    await io.read(Y)
    await io.pause("lunch")
    await io.pause("approval")
    await io.act("go", plan.value, plan=plan)


async def with_fewer_calls(io: Face) -> None:
    record = await io.read(X)
    await io.pause("approval")
    await io.pause("approval")
    await io.act("go", {"to": record.value}, basis={X: record.id})


async def in_another_order(io: Face) -> None:
    await io.read(Y)
    record = await io.read(X)
    await io.pause("approval")
    plan = await io.derive({"to": record.value}, [record])
    await io.pause("approval")
    await io.act("go", plan.value, plan=plan)


async def without_the_second_pause(io: Face) -> None:
    record = await io.read(X)
    await io.pause("approval")
    await io.act("go", {"to": record.value}, basis={X: record.id})


def anchored(body: Any, *events: tuple[str, int, What], runtime: str = "sync", **hooks: Any) -> tuple[History, Anchored]:
    anchors = Anchored(events)
    with Runner(system(body, runtime, **hooks)) as runner:
        return runner.run(anchors=anchors), anchors


def before(history: History) -> list[tuple[str, Any]]:
    """The label of the point before which each event landed, with the event."""
    found = []
    for i, entry in enumerate(history.entries):
        if type(entry) is Landed:
            point = next(after for after in history.entries[i:] if is_point(after))
            found.append((label(point, history.records), entry.what))
    return found


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("body", [naive, with_more_calls, with_fewer_calls, in_another_order])
def test_calls_added_removed_or_reordered_move_nothing(body: Any, runtime: str) -> None:
    history, anchors = anchored(body, ("pause approval", 2, Update(X)), runtime=runtime)
    assert before(history) == [("pause approval", Update(X))]
    landed = next(i for i, entry in enumerate(history.entries) if type(entry) is Landed)
    assert sum(1 for entry in history.entries[:landed] if is_point(entry) and label(entry, history.records) == "pause approval") == 1
    assert anchors.left == []
    assert [finding.code for finding in judge(history).findings] == ["stale-act"]


def test_an_anchor_that_is_gone_is_left() -> None:
    history, anchors = anchored(without_the_second_pause, ("pause approval", 2, Update(X)), ("read x", 1, Update(Y)))
    assert anchors.left == [("pause approval", 2, Update(X))]
    assert history.fired == (Event(0, Update(Y)),)
    assert judge(history).findings == []


def test_an_event_keeps_the_number_of_the_point_that_it_landed_before() -> None:
    history, _ = anchored(with_more_calls, ("act go", 1, Update(X)), ("read x", 1, Update(X)), ("read x", 1, Update(Y)))
    assert history.fired == (Event(2, Update(X)), Event(2, Update(Y)), Event(10, Update(X)))


def test_anchors_of_a_run_with_numbers_land_in_the_same_places() -> None:
    events = (Event(1, Update(X)), Event(3, Update(Y)), Event(5, Update(X, "earlier")))
    with Runner(system(naive, "sync")) as runner:
        by_number = runner.run((), events)
        labels = labelled(by_number)
        by_label = runner.run(anchors=Anchored(tuple((*labels[event.at], event.what) for event in events)))
    assert by_label == by_number


def test_labels_name_the_port_and_what_it_touches() -> None:
    async def body(io: Face) -> None:
        record = await io.read(X)
        await io.head(X)
        await io.memory(Y)
        decision = await io.derive("decision", [record], key="decision/1")
        plan = await io.derive("plan", [decision])
        for id in (record.id, decision.id, plan.id):
            await io.record(id)
        await io.point("queue")
        await io.pause("approval")
        await io.act("go", {})

    with Runner(system(body, "sync")) as runner:
        history = runner.run()
    assert [text for text, _ in labelled(history)] == [
        "read x", "head x", "memory y", "derive decision/1", "derive derived", "record x", "record decision/1", "record derived",
        "point queue", "pause approval", "act go",
    ]  # fmt: skip
    for text, occurrence in labelled(history):
        history, anchors = anchored(body, (text, occurrence, Update(X)))
        assert anchors.left == []
        assert [where for where, _ in before(history)] == [text]


def test_a_restart_by_its_anchor() -> None:
    async def body(io: Face) -> None:
        record = await io.read(X)
        await io.pause("approval")
        await io.act("go", {"to": record.value}, basis={X: record.id})

    history, anchors = anchored(body, ("pause approval", 1, Restart("agent")), ("act go", 1, Update(X)), restart=lambda self: None)
    assert anchors.left == []
    assert [entry.__struct_config__.tag for entry in history.entries] == ["read", "landed", "read", "pause", "landed", "act", "ended"]


def test_source_lines_are_those_of_the_calls_in_the_system() -> None:
    with Runner(system(naive, "asyncio")) as runner:
        history = runner.run(lines=True)
    start = naive.__code__.co_firstlineno
    assert history.lines == {i: f"test_anchors.py:{start + 1 + i}" for i in range(6)}


@pytest.mark.parametrize("runtime", ["asyncio", "asyncio-native"])
def test_the_line_of_a_call_that_is_made_a_task_is_where_it_was_written(runtime: str) -> None:
    async def body(io: Face) -> None:
        await asyncio.gather(io.head(X), io.read(X))
        async with asyncio.TaskGroup() as group:
            group.create_task(io.head(X))

    with Runner(system(body, runtime)) as runner:
        history = runner.run(lines=True)
    start = body.__code__.co_firstlineno
    assert [line for _, line in sorted(history.lines.items())] == [f"test_anchors.py:{start + below}" for below in (1, 1, 3)]
    assert sys.get_coroutine_origin_tracking_depth() == 0
