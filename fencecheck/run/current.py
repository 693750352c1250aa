"""The kit of the episode that runs now, for seams that stay in production code, where nobody hands a kit around.

`point` looks at one list of this module, which is empty whenever no episode runs. In an episode, tasks and the threads that inherit a context
find their kit in it; a thread that inherits none belongs to the only episode that runs. A point is one only while `run` runs: `setup`,
`teardown` and the hooks call the same production code, where nothing may land, and what a port's `via=` calls is part of that port call.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from fencecheck.errors import CouldNotRun

if TYPE_CHECKING:
    from fencecheck.run.kit import Kit

_KIT: ContextVar[Kit | None] = ContextVar("fencecheck_kit", default=None)
_VIA: ContextVar[bool] = ContextVar("fencecheck_via", default=False)
_running: list[Kit] = []


def point(label: str = "") -> None:
    """A seam of production code at which the world may change: a point of the episode, and nothing at all where no episode runs.

    Args:
        label: what a person calls it.

    Raises:
        CouldNotRun: several episodes run at once, and this thread inherited none of them.
    """
    if _running and (kit := current()) is not None and not _VIA.get():
        kit.point(label)


async def apoint(label: str = "") -> None:
    """As `point`, with the same `label`, to await: in an asynchronous episode it also lets another task go first."""
    if _running and (kit := current()) is not None and not _VIA.get():
        await kit.aio.point(label)


def current() -> Kit | None:
    """The kit of the episode that the caller belongs to, or None where no `run` runs.

    Raises:
        CouldNotRun: as `point`.
    """
    kit = _KIT.get()
    if kit is not None or not _running:
        return kit if _running else None
    if len(_running) > 1:
        raise CouldNotRun(
            "several episodes run at once in this process, and a thread that inherited no context calls fencecheck.point(): start it with "
            "contextvars.copy_context().run, or run one episode after the other"
        )
    return _running[0]


def enter(kit: Kit) -> Kit | None:
    """`run` begins. Returns what `leave` is to be given."""
    before = _KIT.get()
    _KIT.set(kit)
    _running.append(kit)
    return before


def leave(kit: Kit, before: Kit | None) -> None:
    """It has ended."""
    _KIT.set(before)  # not by a token: a coroutine may be closed in another context than it was begun in
    _running.remove(kit)


def in_via(inside: bool) -> None:
    """A port begins or ends calling the system's own function."""
    _VIA.set(inside)


def inside_via() -> bool:
    """Whether the caller is the system's own function, called by a port."""
    return _VIA.get()
