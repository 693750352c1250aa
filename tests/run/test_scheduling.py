"""Who is answered first: the calls that wait, what a switch and an advance change there, and what a history says of it."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck import codec
from fencecheck.history import Ended, Head, Landed, Seam
from fencecheck.interleaving import Advance, Event, Interleaving, Outage, Switch, Update
from fencecheck.run.landing import Anchored
from fencecheck.run.simulate import Runner, simulate

from .faces import VIRTUAL, WORLD, Face, X, run, system

scheduled = pytest.mark.parametrize("runtime", VIRTUAL)


def seams(history: Any) -> str:
    return " ".join(entry.label for entry in history.entries if type(entry) is Seam)


def landed(history: Any) -> list[tuple[int, Any, bool]]:
    return [(entry.at, entry.what, entry.fired) for entry in history.entries if type(entry) is Landed]


async def three(io: Face) -> None:
    """Three tasks, each of two points."""

    async def twice(name: str) -> None:
        await io.point(f"{name}1")
        await io.point(f"{name}2")

    await io.together(twice("a"), twice("b"), twice("c"))


# -- switch ------------------------------------------------------------------------------------------------------------------------


@scheduled
@pytest.mark.parametrize(
    ("events", "order"),
    [
        ((), "a1 b1 c1 a2 b2 c2"),
        ((Event(0, Switch(2)),), "b1 a1 c1 b2 a2 c2"),
        ((Event(0, Switch(3)),), "c1 a1 b1 c2 a2 b2"),
        ((Event(0, Switch(3)), Event(1, Switch(3))), "c1 c2 a1 b1 a2 b2"),
        ((Event(0, Switch(3)), Event(1, Switch(2))), "c1 b1 a1 c2 b2 a2"),
        ((Event(4, Switch(3)),), "a1 b1 c1 a2 c2 b2"),
    ],
)
def test_another_task_is_answered_first(events: Any, order: str, runtime: str) -> None:
    history = run(three, runtime, events)
    assert (seams(history), history.ended, history.fired) == (order, Ended("returned"), events)


@scheduled
@pytest.mark.parametrize(
    "event", [Event(0, Switch(1)), Event(0, Switch(0)), Event(0, Switch(9)), Event(5, Switch(2)), Event(99, Switch(2))]
)
def test_a_switch_to_whose_turn_it_is_or_who_does_not_wait_does_not_fire(event: Event, runtime: str) -> None:
    history = run(three, runtime, (event,))
    assert seams(history) == "a1 b1 c1 a2 b2 c2"
    assert landed(history) == ([(event.at, event.what, False)] if event.at < 6 else [])


@scheduled
def test_of_two_switches_at_one_point_the_first_that_can_fires(runtime: str) -> None:
    history = run(three, runtime, tuple(Event(0, Switch(task)) for task in (9, 3, 2)))
    assert seams(history).startswith("c1 a1 b1")
    assert [fired for _, _, fired in landed(history)] == [False, True, False]


@scheduled
def test_other_events_of_the_point_land_before_the_call_that_is_answered(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.together(io.head(X), io.point("b"))

    history = run(body, runtime, (Event(0, Update(X)), Event(0, Switch(2)), Event(1, Update(X))))
    kinds = [entry.what if type(entry) is Landed else entry for entry in history.entries[:-1]]
    assert kinds == [Switch(2), Update(X), Seam("agent", "b"), Update(X), Head("agent", X, "x@3")]


@scheduled
def test_a_call_that_is_not_awaited_gives_no_turn_away(runtime: str) -> None:
    async def body(io: Face) -> None:
        io.kit.point("plain")
        await io.point("awaited")

    history = run(body, runtime, (Event(0, Switch(1)), Event(0, Advance())))
    assert landed(history) == [(0, Switch(1), False), (0, Advance(), False)]


@pytest.mark.parametrize("runtime", ["sync", "asyncio-native"])
def test_where_no_scheduler_of_ours_is_nothing_fires(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.point("one")

    history = run(body, runtime, (Event(0, Switch(1)), Event(0, Advance())))
    assert landed(history) == [(0, Switch(1), False), (0, Advance(), False)]


@scheduled
def test_a_switch_that_fires_says_which_function_goes_first(runtime: str) -> None:
    entries = run(three, runtime, (Event(0, Switch(9)), Event(0, Switch(2)))).entries
    assert [(entry.due, entry.runs) for entry in entries if type(entry) is Landed] == [
        (None, None),
        ("point a1", "_awaited" if runtime == "trio" else "twice"),
    ]


# -- advance -----------------------------------------------------------------------------------------------------------------------


async def patient(io: Face) -> None:
    """Two questions, of which the first has a timeout, and a task that sleeps."""

    async def asks() -> None:
        if not await io.in_time(5, io.point("question")):
            await io.point("too late")

    async def sleeps() -> None:
        await io.sleep(7)
        await io.point("woken")

    await io.together(asks(), io.point("other"), sleeps())


@scheduled
@pytest.mark.parametrize(
    ("events", "order"),
    [
        ((), "question other woken"),
        ((Event(0, Advance()),), "other too late woken"),
        ((Event(1, Advance()),), "question other woken"),  # who was woken comes last in the line
        ((Event(0, Advance()), Event(0, Advance())), "other too late woken"),
        ((Event(0, Advance()), Event(0, Switch(1))), "too late other woken"),
    ],
)
def test_time_passes_to_the_next_timer_while_calls_wait(events: Any, order: str, runtime: str) -> None:
    assert seams(run(patient, runtime, events)) == order


@scheduled
def test_without_a_timer_time_cannot_pass(runtime: str) -> None:
    history = run(three, runtime, (Event(0, Advance()),))
    assert landed(history) == [(0, Advance(), False)]
    assert history.timers == ()


# -- what a history says -----------------------------------------------------------------------------------------------------------


@scheduled
def test_a_history_says_who_waited_at_each_point_and_where_a_timer_was_set(runtime: str) -> None:
    history = run(three, runtime)
    assert history.waiting == {0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2), 3: (1, 2, 3), 4: (2, 3)}
    history = run(patient, runtime)
    assert (history.waiting, history.timers) == ({0: (1, 2)}, (0, 1))
    passed = run(patient, runtime, (Event(0, Advance()),))
    assert (passed.waiting, passed.timers) == ({0: (2, 1)}, (0, 1))


@scheduled
def test_each_alternative_that_a_history_names_fires(runtime: str) -> None:
    tried = 0
    with Runner(system(patient, runtime)) as runner:
        first = runner.run()
        for at, lanes in first.waiting.items():
            for lane in lanes[1:]:
                tried += 1
                assert runner.run((), (Event(at, Switch(lane)),)).fired == (Event(at, Switch(lane)),)
        for at in first.timers:
            tried += 1
            assert runner.run((), (Event(at, Advance()),)).fired == (Event(at, Advance()),)
    assert tried == 3


@scheduled
def test_it_is_stored_with_the_history_and_left_out_where_there_is_none(runtime: str) -> None:
    history = run(patient, runtime, (Event(0, Switch(2)), Event(1, Advance())))
    assert history.waiting
    assert history.timers
    data = codec.encode_history(history)
    again = codec.decode_history(data)
    assert (again.entries, again.waiting, again.timers) == (history.entries, history.waiting, history.timers)
    alone = codec.encode_history(run(lambda io: io.point("one"), runtime))
    assert b"waiting" not in alone
    assert b"timers" not in alone


# -- stored cases ------------------------------------------------------------------------------------------------------------------


@scheduled
@pytest.mark.parametrize(
    "events",
    [
        (Event(0, Switch(3)),),
        (Event(0, Switch(3)), Event(1, Switch(3)), Event(2, Switch(2))),
        (Event(1, Switch(3)), Event(1, Update(X)), Event(3, Switch(2))),
        (Event(2, Switch(2)), Event(4, Switch(3))),
    ],
)
def test_an_anchored_switch_gives_the_same_turn_away(events: Any, runtime: str) -> None:
    first = run(three, runtime, events)
    assert first.fired == events
    assert replayed(three, runtime, first) == first.entries


@scheduled
def test_an_anchored_advance_lets_time_pass_where_it_did(runtime: str) -> None:
    for events in ((Event(0, Advance()),), (Event(0, Advance()), Event(0, Switch(1))), (Event(1, Advance()),)):
        first = run(patient, runtime, events)
        assert replayed(patient, runtime, first) == first.entries


def replayed(body: Any, runtime: str, history: Any) -> Any:
    case = codec.Case("0", "s", None, (), codec.anchored(history, history.fired), "at-validation", "stale-act", None, "m")
    again = codec.decode_case(codec.encode_case(case))
    anchors = Anchored(tuple((event.label, event.occurrence, event.what) for event in again.events))
    with Runner(system(body, runtime)) as runner:
        entries = runner.run(anchors=anchors).entries
    assert anchors.left == []
    return entries


@scheduled
def test_an_interleaving_with_both_is_stored_and_run(runtime: str) -> None:
    value = Interleaving(WORLD, (), [(0, Advance()), (0, Switch(1)), (1, Outage("a"))])
    assert codec.decode_interleaving(codec.encode_interleaving(value)) == value
    assert simulate(system(patient, runtime), value).fired == value.events
