"""How a system's own store changes: what its hooks committed is named, and what they did not commit is told."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.history import Landed
from fencecheck.interleaving import Update
from fencecheck.run.recognise import equal

if TYPE_CHECKING:
    from fencecheck.run.landing import Landing


def change(landing: Landing, what: Update, entry: Landed) -> Generator[Any, Any, bool]:
    """Lands an update in one of the scenario's own ways, which may also leave the version as it was or take the key away.

    Returns:
        Whether anything changed.
    """
    world, key = landing.world, what.key
    value = yield from landing._hook("publish_how", key, what.how, world.fresh_value(key))
    if value is None:
        return False
    head = yield from landing._hook("true_head", key)
    known = landing.names.get((key, head))
    if known is not None and known == landing._truths.get(key):
        entry.version, entry.same = known, True
        return True
    removed = head is None
    entry.version = world.commit(key, None if removed else value, removed=removed).id
    landing._name(key, head, entry.version)
    landing._truths[key] = entry.version
    return True


def begin(landing: Landing) -> Generator[Any, Any, None]:
    """Brings a store that holds the first versions to where the prepared world begins, and what is remembered of it too.

    Raises:
        BadInput: nothing can be removed from it.
    """
    for what in landing.world.prepared.before:
        entry = Landed(0, what)
        done = yield from landing._update(what, entry) if isinstance(what, Update) else landing._deliver(what, entry)
        if not done and isinstance(what, Update):
            raise BadInput(f"{landing._name_of()} cannot remove {what.key}: define remove(key), or do without removed values")


def leaked(landing: Landing, key: str, own_id: Any) -> CouldNotRun:
    """What is said of a store that holds at the beginning of an episode what it did not hold at the beginning of an earlier one."""
    return CouldNotRun(
        f"{landing._name_of()} leaks state from one episode into the next: when an episode begins, its store holds {own_id!r} of {key!r}, "
        "which an earlier one has left: build the store in setup(), or empty it there, and none at class or module level"
    )


def refuse_no_version(landing: Landing, key: str, value: Any, own_id: Any, head: Any, removed: bool) -> None:
    """Says that nothing was committed, since the update would have been none; a store may name versions by their content.

    Raises:
        CouldNotRun: the id is none, or one that another value had, or not that of the head.
    """
    hook = "remove" if removed else "publish"
    said_so = f"{landing._name_of()}: {hook}({key!r}{'' if removed else ', ...'}) returned {own_id!r}"
    if removed and head is None:
        return
    if own_id is None:
        raise CouldNotRun(f"{said_so}, and true_head({key!r}) then too: let both return the id of the version that it committed")
    try:
        known = landing.names.get((key, own_id))
    except TypeError:
        raise CouldNotRun(f"{said_so}, which cannot be told from other ids: return a text or a number") from None
    if own_id != head:
        raise CouldNotRun(f"{said_so}, but true_head({key!r}) then {head!r}: commit the version, and let both return its id")
    if known is not None and known not in landing._written and (removed or not equal(landing.world.records[known].value, value)):
        raise CouldNotRun(
            f"{said_so}, the id of an earlier version with another value, as true_head({key!r}) still does: let both return that of the version "
            "that it committed"
        )
