"""What a system asks past its ports is told by name and place."""

from __future__ import annotations

import asyncio
import datetime
import gc
import os
import random
import secrets
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from random import choice
from typing import Any

import pytest

from fencecheck.run.outside import listening
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check

from .faces import RUNTIMES, Face, X, system

runtimes = pytest.mark.parametrize("runtime", RUNTIMES)


def heard(body: Any, runtime: str, **attributes: Any) -> list[str]:
    """What is heard of `body`, without the line."""
    with Runner(system(body, runtime, **attributes)) as runner, listening() as outside:
        runner.run()
    return [said.rpartition(":")[0] for said in outside.heard]


def sockets() -> None:
    one, other = socket.socketpair()
    with one, other:
        one.send(b"x")
        other.recv(1)


ASKS: list[tuple[Callable[[], Any], list[str]]] = [
    (time.time, ["time.time"]),
    (time.monotonic, ["time.monotonic"]),
    (lambda: time.sleep(0), ["time.sleep"]),
    (datetime.datetime.now, ["datetime.now"]),
    (datetime.date.today, ["datetime.today"]),
    (random.random, ["random.random"]),
    (lambda: choice("ab"), ["random.choice"]),
    (lambda: random.SystemRandom().random(), ["random.SystemRandom.random"]),
    (lambda: os.urandom(1), ["os.urandom"]),
    (uuid.uuid4, ["uuid.uuid4"]),
    (secrets.token_hex, ["secrets.token_hex"]),
    (lambda: subprocess.run([sys.executable, "-c", ""], check=True), ["subprocess.run"]),
    (sockets, ["socket.send", "socket.recv"]),
    (lambda: random.Random(7).random(), []),
    (lambda: datetime.datetime(2026, 9, 16), []),
]


@runtimes
@pytest.mark.parametrize(("ask", "names"), ASKS)
def test_it_is_heard_by_its_name(ask: Callable[[], Any], names: list[str], runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.read(X)
        ask()

    assert heard(body, runtime) == [f"{name} in test_outside.py" for name in names]


def test_a_generator_that_was_seeded_here_can_be_repeated() -> None:
    async def body(io: Face) -> None:
        random.seed(7)
        random.random()

    async def unseeded(io: Face) -> None:
        random.seed()
        random.random()

    before = random.getstate()
    try:
        assert heard(body, "sync") == []
        assert "random.random in test_outside.py" in heard(unseeded, "sync")
    finally:
        random.setstate(before)


@runtimes
def test_what_runs_inside_a_port_or_before_and_after_the_run_may_ask(runtime: str) -> None:
    def setup(self: Any, kit: Any) -> None:
        self.kit = kit
        time.time()

    async def body(io: Face) -> None:
        await io.point("one")
        await io.act("go", {}, via=lambda: time.time() and {})

    assert heard(body, runtime, setup=setup, teardown=lambda self: time.time() and None) == []


@pytest.mark.parametrize("runtime", ["asyncio", "asyncio-native", "trio"])
def test_an_event_loop_asks_for_itself(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.sleep(0.001)
        await io.in_time(0.001, io.sleep(9))

    assert heard(body, runtime) == []


def test_in_a_thread_too() -> None:
    async def body(io: Face) -> None:
        await asyncio.to_thread(lambda: time.time())

    assert heard(body, "asyncio") == ["time.time in test_outside.py"]


def test_a_profiler_of_somebody_else_is_left_alone() -> None:
    def theirs(*about: Any) -> None: ...

    async def body(io: Face) -> None:
        time.time()

    sys.setprofile(theirs)
    try:
        assert heard(body, "sync") == []
        assert sys.getprofile() is theirs
    finally:
        sys.setprofile(None)


def test_nothing_is_left_behind() -> None:
    with listening():
        assert sys.getprofile() is not None
        assert not gc.isenabled()
    assert sys.getprofile() is threading.getprofile() is None
    assert gc.isenabled()


def test_a_report_tells_the_first_few() -> None:
    async def body(io: Face) -> None:
        record = await io.read(X)
        for ask in (time.time, time.monotonic, random.random, uuid.uuid4, os.getpid):
            ask()
        await io.act("go", {"to": record.value})

    (said,) = [clause for clause in check(system(body, "sync"), max_events=1, fresh_process=False).assumed if "ports only" in clause]
    assert said.startswith("reaches the world through ports only (not so: it asks time.time in test_outside.py:")
    assert said.endswith(" and 1 more)")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_open_asks_is_not_heard(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.act("go", {})

    def ask(self: Any) -> None:
        self.worker = time.time()

    async def ask_later(self: Any) -> None:
        self.worker = time.time()

    assert heard(body, runtime, open=ask) == []
    if runtime != "sync":
        assert heard(body, runtime, open=ask_later) == []
