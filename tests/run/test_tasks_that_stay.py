"""A task that swallows its cancellation would reach into the next episode: the check says so, and soon."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from fencecheck.errors import CouldNotRun

from .faces import Face, run


async def goes_on(begun: list[Any]) -> None:
    for _ in range(60):
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            begun.append("swallowed")


@pytest.mark.parametrize("runtime", ["asyncio", "asyncio-native"])
def test_a_task_that_swallows_its_cancellation(runtime: str) -> None:
    begun: list[Any] = []

    async def body(kit: Face) -> None:
        begun.append(asyncio.create_task(goes_on(begun)))
        await kit.pause()

    started = time.monotonic()
    with pytest.raises(
        CouldNotRun, match=r"^goes_on was left running by run\(\) and swallows its cancellation: let CancelledError end it$"
    ):
        run(body, runtime)
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("runtime", ["asyncio", "asyncio-native"])
def test_a_task_that_needs_a_moment_to_end(runtime: str) -> None:
    ended: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.05)
            ended.append("slow")

    async def body(kit: Face) -> None:
        task = asyncio.create_task(slow())
        await kit.pause()
        ended.append(f"left {task.done()}")

    assert run(body, runtime).ended.how == "returned"
    assert ended == ["left False", "slow"]
