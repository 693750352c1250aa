"""Where an asynchronous episode runs: asyncio or trio with virtual time and an order of ours, or the stock asyncio loop with real I/O."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Union

from fencecheck.errors import CouldNotRun
from fencecheck.run.asyncio_ import AsyncioVirtual
from fencecheck.run.native import AsyncioNative

if TYPE_CHECKING:
    from fencecheck.run.trio_ import Trio

Runtime = Union[AsyncioVirtual, AsyncioNative, "Trio"]


def runtime(name: str, wait_s: float) -> Runtime:
    """The runtime of that name.

    Raises:
        CouldNotRun: this is called by what runs on such a loop itself.
    """
    if inside_loop(name):
        raise CouldNotRun(
            f"a system of runtime {name!r} gets a loop of its own, which cannot run inside another: call it from a plain function, "
            "not from an async one"
        )
    if name == "trio":
        from fencecheck.run.trio_ import Trio

        return Trio(wait_s)
    return AsyncioVirtual(wait_s) if name == "asyncio" else AsyncioNative(wait_s)


def inside_loop(name: str) -> bool:
    """Whether a loop of that kind runs on this thread already."""
    if name != "trio":
        return asyncio._get_running_loop() is not None
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_run())
