"""Awaits that were forgotten, noticed in the first episode of a runner, so that no other pays for it.

A call of `kit.aio` that nobody awaits never happens, and Python says so on standard error at most. A plain port on an event loop does happen,
but no other task can go on meanwhile.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from fencecheck.errors import CouldNotRun, FencecheckError
from fencecheck.history import Landed
from fencecheck.run.aio import AioPorts
from fencecheck.run.kit import Kit
from fencecheck.run.lines import line_of_caller
from fencecheck.run.loops import inside_loop

PORTS = ("read", "head", "memory", "record", "derive", "act", "pause", "point")


class Call(NamedTuple):
    """A call of a port, where it was written, and the coroutine that it made, if it is to be awaited."""

    port: str
    about: str
    line: str
    coro: Any = None


class _NotedPorts:
    """`kit.aio`, each call of which is noted."""

    def __init__(self, ports: AioPorts, calls: list[Call]) -> None:
        self._ports, self._calls = ports, calls

    def __getattr__(self, name: str) -> Any:
        port = getattr(self._ports, name)
        if name not in PORTS:
            return port

        def call(*args: Any, **named: Any) -> Any:
            coro = port(*args, **named)
            self._calls.append(Call(name, repr(args[0]) if args else "", line_of_caller(), coro))
            return coro

        return call


@contextmanager
def noticed(name: str, kit: Kit, runtime: str) -> Iterator[dict[str, None]]:
    """Notices the calls of ports inside.

    Args:
        name: what reports call the system.
        runtime: the runtime of the system.

    Returns:
        Plain ports that were called on the loop, each as `kit.read at agent.py:12`; filled in as they are.

    Raises:
        CouldNotRun: a call of `kit.aio` was not awaited, though no event landed that may have come between.
    """
    calls: list[Call] = []
    plain: dict[str, None] = {}
    kit._aio = _NotedPorts(kit.aio, calls)  # type: ignore[assignment]
    if runtime in ("asyncio", "trio"):
        for port in PORTS:
            setattr(kit, port, _on_loop(kit, port, runtime, plain))
    log = kit._log
    try:
        yield plain
    except FencecheckError:
        _refuse(name, calls, log)
        raise
    finally:
        for port in PORTS:
            vars(kit).pop(port, None)
    _refuse(name, calls, log)


def _on_loop(kit: Kit, port: str, runtime: str, plain: dict[str, None]) -> Callable[..., Any]:
    port_itself = getattr(kit, port)

    def call(*args: Any, **named: Any) -> Any:
        if not kit._in_event and inside_loop(runtime):
            plain[f"kit.{port} at {line_of_caller()}"] = None
        return port_itself(*args, **named)

    return call


def _refuse(name: str, calls: list[Call], log: list[Any]) -> None:
    left = [call for call in calls if inspect.getcoroutinestate(call.coro) == inspect.CORO_CREATED]
    for call in left:
        call.coro.close()
    if left and not any(type(entry) is Landed for entry in log):
        port, about, line, _ = left[0]
        raise CouldNotRun(
            f"{name}: kit.aio.{port}({about}) at {line} is not awaited, so it never happens: write `await kit.aio.{port}(...)`"
        ) from None
