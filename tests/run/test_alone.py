"""On the stock loop the calls of an episode wait for the outside one after another, so that nothing races."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fencecheck.history import Ended, Read, points
from fencecheck.interleaving import Event, Update
from fencecheck.run import native
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.simulate import Runner

from .faces import WORLD, X, Y

VALUES = {X: "tea", Y: "noon"}


class Asks(AgentSystem):
    """Asks for both keys side by side. The first answer takes longer to come than the second."""

    scenario = WORLD
    runtime = "asyncio-native"

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for key in (X, Y):
                group.create_task(self.ask(key))
        await self.kit.aio.act("go", {})

    async def ask(self, key: str) -> None:
        await self.kit.aio.read(key, timeout=5.0, via=lambda: self.answer(key))

    async def answer(self, key: str) -> Any:
        for _ in range(20 if key == X else 1):
            await asyncio.sleep(0)
        return VALUES[key]


class Keeps(Asks):
    """The same, with hooks that wait too."""

    async def setup(self, kit: Any) -> None:
        self.kit = kit
        self.rows: dict[str, tuple[int, Any]] = {}

    async def publish(self, key: str, value: Any) -> int:
        await asyncio.sleep(0)
        self.rows[key] = (self.rows.get(key, (0, None))[0] + 1, value)
        return self.rows[key][0]

    async def true_head(self, key: str) -> int | None:
        await asyncio.sleep(0)
        return self.rows.get(key, (None, None))[0]

    async def answer(self, key: str) -> Any:
        await super().answer(key)
        return self.rows[key]


@pytest.mark.parametrize("system", [Asks, Keeps])
def test_answers_come_in_the_order_of_the_questions(system: type[Asks]) -> None:
    with Runner(system) as runner:
        history = runner.run()
    assert history.entries[:2] == [Read("agent", X, "x@1"), Read("agent", Y, "y@1")]


def test_a_call_beside_an_event_is_a_point_of_its_own_and_no_part_of_it() -> None:
    with Runner(Keeps) as runner:
        history = runner.run((), (Event(0, Update(X)), Event(1, Update(Y))))
    assert len(history.fired) == 2
    assert [entry for entry in history.entries if isinstance(entry, Read)] == [Read("agent", X, "x@2"), Read("agent", Y, "y@2")]
    assert len(list(points(history))) == 3


def test_what_a_call_waits_for_itself_needs_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "LONGEST_ALONE_S", 60.0)

    class Nests(Asks):
        async def answer(self, key: str) -> Any:
            if key == X:
                await asyncio.create_task(self.ask(Y))
            return VALUES[key]

    with Runner(Nests) as runner:
        assert runner.run().ended == Ended("returned")


def test_a_call_that_waits_for_another_lets_it_begin_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "LONGEST_ALONE_S", 0.02)

    class Waits(Asks):
        def setup(self, kit: Any) -> None:
            self.kit, self.asked = kit, asyncio.Event()

        async def answer(self, key: str) -> Any:
            if key == X:
                await self.asked.wait()
            self.asked.set()
            return VALUES[key]

    with Runner(Waits) as runner:
        history = runner.run()
    assert history.entries[:2] == [Read("agent", Y, "y@1"), Read("agent", X, "x@1")]
    assert history.ended == Ended("returned")
