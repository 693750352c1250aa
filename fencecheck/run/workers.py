"""The threads of anyio that work for a loop in virtual time.

Functions that are not async are given to such threads by much that is built on anyio: tools of MCP servers and of agent frameworks, endpoints
of web frameworks. anyio starts them itself and asks no loop, so that the loop has to look for them where it has nothing else to do.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from fencecheck.run.deadlock import waits_for_loop

ANYIO = "anyio._backends._asyncio"
"""The module that starts them: where it was never imported there are none."""

Heard = list[tuple[threading.Thread, Any]]


def works_for(thread: threading.Thread, loop: object) -> bool:
    """Whether this is one of the threads that anyio started for `loop`."""
    return getattr(thread, "loop", None) is loop and type(thread).__module__ == ANYIO


def wait(loop: object, heard: Heard, wait_s: float) -> None:
    """Waits until each thread that has work has done it, or has called the loop.

    Args:
        heard: the threads that have called the loop, each with what it wants; they append to it.
        wait_s: seconds after which a thread is taken to wait for the loop.

    Raises:
        CouldNotRun: one does.
    """
    for thread in threading.enumerate():
        if not works_for(thread, loop):
            continue
        queue = thread.queue  # type: ignore[attr-defined]
        until = time.monotonic() + wait_s
        while queue.unfinished_tasks and not any(who is thread for who, _ in list(heard)):
            with queue.all_tasks_done:
                queue.all_tasks_done.wait_for(lambda queue=queue: not queue.unfinished_tasks, timeout=0.01)
            if time.monotonic() > until:
                raise waits_for_loop(wait_s, f"the work of {thread.name}")


def in_order(heard: Heard) -> Heard:
    """What was heard, by the threads in the order in which they were started, whichever was the first to end."""
    begun = {thread: number for number, thread in enumerate(threading.enumerate())}
    return sorted(heard, key=lambda said: begun.get(said[0], len(begun)))
