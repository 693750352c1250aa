"""Where nothing can go on: the exception that ends such an episode, and what each task that is left waits for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from fencecheck.errors import CouldNotRun

MOST_STEPS = 100_000
"""Passes of the event loop after which an episode is endless: its points are capped long before."""

NEVER = "something that never comes (real I/O needs runtime = 'asyncio-native')"
_OURS = str(Path(__file__).parent)


class Deadlock(Exception):
    """No task can go on and no timer is set, or the tasks go on for ever. Says what is waited for."""

    def __init__(self, waits_for: str = NEVER) -> None:
        super().__init__(waits_for)


def endless() -> Deadlock:
    """What is raised after `MOST_STEPS` passes."""
    return Deadlock(f"what an endless loop looks for ({MOST_STEPS:,} turns of the event loop)")


def told(tasks: list[tuple[int, str, Any]], hanging: dict[int, str]) -> Deadlock:
    """What is raised where nothing can go on.

    Args:
        tasks: lane, name and coroutine of each task that has not ended, by lane.
        hanging: lanes to what the port waits for in which they hang.
    """
    said = [(_who(lane, name), hanging.get(lane) or where(coro)) for lane, name, coro in tasks]
    if len(said) == 1:
        return Deadlock(said[0][1])
    return Deadlock("; ".join(f"{what} ({who})" for who, what in said) or NEVER)


def _who(lane: int, name: str) -> str:
    return "main task" if lane == 0 else f"task {lane}" if name == f"Task-{lane}" else f"task {lane}, {name}"


def where(coro: Any) -> str:
    """The innermost function of the system in which a coroutine stands, and what it awaits there: `Event.wait in ask, agent.py:12`."""
    awaited, own = "", ""
    for name, file, line in frames(coro):
        if not _is_loop(file):
            awaited, own = "", f"{name}, {Path(file).name}:{line}"
        elif awaited in ("", "wrapper") or awaited.endswith(".__aenter__"):
            awaited = name.lstrip("_")
    if awaited.endswith(".__aexit__"):
        awaited = f"the end of {awaited.removesuffix('.__aexit__').removesuffix('Manager')}"
    return f"{awaited} in {own}" if awaited and own else awaited or own


def _is_loop(file: str) -> bool:
    return file.startswith(_OURS) or "/asyncio/" in file or "/trio/" in file


def real_io(coros: Iterable[Any]) -> CouldNotRun | None:
    """What is said where a task waits for a socket, a file or a process, which a loop in virtual time never hears of."""
    for coro in coros:
        if any(_is_loop(file) and name in ("wait_readable", "wait_writable") for name, file, _ in frames(coro)):
            return CouldNotRun(
                f"{where(coro)} is real I/O, which takes real time: let the port do it (via=) in a function that needs no loop"
            )
    return None


def stopped() -> CouldNotRun:
    """What is said where the system stops the loop that it runs on."""
    return CouldNotRun("the system calls stop() of the event loop on which the episode runs: return from run() instead")


def waits_for_loop(wait_s: float, work: str) -> CouldNotRun:
    """What is said where work for a thread does not end within `wait_s` real seconds.

    Args:
        work: what was given to it, and where.
    """
    return CouldNotRun(
        f"{work} was given to a thread and did not return within {wait_s:g} s: in virtual time the event loop stands still meanwhile, so that a "
        "call back into it never ends: await that in the loop, or on asyncio use runtime = 'asyncio-native'"
    )


def named(function: Any) -> str:
    """What people call a function that was given to a thread, and where it stands: `look_up, agent.py:12`."""
    while isinstance(function, partial):
        function = function.args[0] if function.args and callable(function.args[0]) else function.func
    name = str(getattr(function, "__qualname__", function)).rpartition("<locals>.")[2]
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return f"{name}, {Path(code.co_filename).name}:{code.co_firstlineno}" if code is not None else name


def frames(coro: Any) -> Iterator[tuple[str, str, int]]:
    """Name, file and line of each frame of a coroutine that waits, the innermost last."""
    while coro is not None:
        for kind in ("cr", "gi", "ag"):
            frame = getattr(coro, f"{kind}_frame", None)
            if frame is not None:
                name = getattr(coro, "__qualname__", frame.f_code.co_name)
                yield name.rpartition("<locals>.")[2], frame.f_code.co_filename, frame.f_lineno
                coro = getattr(coro, f"{kind}_await", None) or getattr(coro, "gi_yieldfrom", None)
                break
        else:
            return
