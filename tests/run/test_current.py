"""`fencecheck.point`: a seam that stays in production code."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from typing import Any

import pytest

import fencecheck
from fencecheck import Event, Update, simulate
from fencecheck.errors import CouldNotRun
from fencecheck.history import History, Seam
from fencecheck.interleaving import Interleaving
from fencecheck.run.adapter import AgentSystem

from .faces import VIRTUAL, WORLD, X


def run(body: Any, *events: Event, **attributes: Any) -> History:
    system = type("Mine", (AgentSystem,), {"scenario": WORLD, "run": body, **attributes})
    return simulate(system, Interleaving(WORLD, (), events))


def seams(history: History) -> list[str]:
    return [entry.label for entry in history.entries if type(entry) is Seam]


def production() -> str:
    """Code that knows nothing of a kit."""
    fencecheck.point("between the two halves")
    return "done"


def test_it_is_nothing_where_no_episode_runs() -> None:
    assert production() == "done"
    assert asyncio.run(fencecheck.apoint("nor to await")) is None


def test_it_is_a_point_of_the_episode_that_runs() -> None:
    def body(self: AgentSystem) -> None:
        order = self.kit.read(X)
        production()
        self.kit.act("go", {"drink": order.value})

    history = run(body, Event(1, Update(X)))
    assert seams(history) == ["between the two halves"]
    assert history.fired == (Event(1, Update(X)),)


def test_it_is_the_point_of_the_thread_that_calls() -> None:
    """A thread that inherits the context belongs to its episode, and one that inherits nothing to the only one that runs."""

    def body(self: AgentSystem) -> None:
        for target in (contextvars.copy_context().run, lambda call: call()):
            thread = threading.Thread(target=target, args=(production,))
            thread.start()
            thread.join()

    assert seams(run(body)) == ["between the two halves"] * 2


@pytest.mark.parametrize("runtime", [*VIRTUAL, "asyncio-native"])
def test_tasks_of_an_episode_find_it_and_give_way_where_it_is_awaited(runtime: str) -> None:
    async def child(label: str) -> None:
        fencecheck.point(f"{label}, at once")
        await fencecheck.apoint(f"{label}, in its turn")

    async def body(self: AgentSystem) -> None:
        if runtime == "trio":
            import trio

            async with trio.open_nursery() as nursery:
                nursery.start_soon(child, "one")
                nursery.start_soon(child, "two")
        else:
            await asyncio.gather(child("one"), child("two"))

    found = seams(run(body, runtime=runtime))
    assert sorted(found[:2]) == ["one, at once", "two, at once"]
    assert sorted(found[2:]) == ["one, in its turn", "two, in its turn"]


def test_what_setup_hooks_and_teardown_call_is_no_point_of_the_episode() -> None:
    calls = []

    class Mine(AgentSystem):
        scenario = WORLD

        def setup(self, kit: Any) -> None:
            super().setup(kit)
            calls.append(production())

        def run(self) -> None:
            self.kit.point("its own")

        def teardown(self) -> None:
            calls.append(production())

        def replan(self, task: str) -> None:
            calls.append(production())

    history = simulate(Mine, Interleaving(WORLD, (), (Event(0, fencecheck.Replan("task")),)))
    assert seams(history) == ["its own"]
    assert calls == ["done"] * 3


def test_what_a_port_calls_is_part_of_that_port_call() -> None:
    def body(self: AgentSystem) -> None:
        self.kit.act("go", via=production)
        production()

    assert seams(run(body)) == ["between the two halves"]


def test_an_episode_inside_an_episode_has_its_own() -> None:
    inner: list[History] = []

    def outer(self: AgentSystem) -> None:
        fencecheck.point("before")
        inner.append(run(lambda self: fencecheck.point("inside")))
        fencecheck.point("after")

    assert seams(run(outer)) == ["before", "after"]
    assert seams(inner[0]) == ["inside"]


def test_a_thread_that_inherits_nothing_while_several_episodes_run_is_told() -> None:
    raised: list[BaseException] = []

    def late() -> None:
        try:
            production()
        except CouldNotRun as error:
            raised.append(error)

    def inner(self: AgentSystem) -> None:
        thread = threading.Thread(target=late)
        thread.start()
        thread.join()

    run(lambda self: run(inner))
    assert "several episodes run at once" in str(raised[0])


def test_production_code_that_has_points_loads_next_to_nothing() -> None:
    code = "import sys; from fencecheck import point; point('x'); print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"msgspec", "hypothesis", "asyncio", "faker", "click", "rich"} & set(loaded)
