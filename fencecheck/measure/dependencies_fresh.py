"""Whether a world comes to the same in a process of its own: a system that keeps what it found in its first episode sees no other value later.

Such a system is alike in all episodes of one process, so nothing in that process tells. `python -m fencecheck.measure.dependencies_fresh` runs
one world in this, fresh, one.
"""

from __future__ import annotations

import re
import sys

from msgspec import Struct, json

from fencecheck import codec
from fencecheck.errors import CouldNotRun
from fencecheck.history import Act, History
from fencecheck.measure.dependencies_sent import first_unlike
from fencecheck.measure.dependencies_worlds import World, Worlds
from fencecheck.run.simulate import Runner
from fencecheck.search.fresh import leave, main
from fencecheck.search.preflight import in_fresh_process

_ADDRESS = re.compile(rb"0x[0-9a-f]{6,}")


class _Asked(Struct):
    """What a fresh process is told."""

    values: int
    removed: bool
    world: World
    begun_empty: frozenset[str]


def refuse_what_is_kept(worlds: Worlds) -> None:
    """Runs every key with its other value in a fresh process; where nothing goes out then, each key alone.

    Raises:
        CouldNotRun: what goes out is not what went out here.
    """
    ones = [((key, 1),) for key in worlds.keys if worlds.others(key)]
    every = tuple(change for one in ones for change in one)
    for world in [every] if worlds.sends(every) else [one for one in ones if worlds.sends(one)]:
        _refuse_other(worlds, world)


def _refuse_other(worlds: Worlds, world: World) -> None:
    runner = worlds.runner
    asked = _Asked(worlds.values, worlds.removed, world, runner.begun_empty)
    fresh = in_fresh_process(runner, __name__, json.encode(asked).decode())
    if fresh is None:
        return
    other = first_unlike(_acts(worlds.history(world)), _acts(fresh))
    if other:
        keys = ", ".join(key for key, _ in world)
        raise CouldNotRun(
            f"{runner.name} keeps what it found in its first episode: with another value of {keys}, {other}, a fresh process: build all state "
            "in setup(), none at class or module level"
        )


def _acts(history: History) -> tuple[Act, ...]:
    """As both processes can tell them, without the addresses of objects."""
    return codec.decode_history(_ADDRESS.sub(b"0x", codec.encode_history(history))).effects


def _run(runner: Runner) -> History:
    asked = json.decode(sys.argv.pop(), type=_Asked)
    return Worlds(runner, asked.values, asked.removed, 1, asked.begun_empty).history(asked.world)


if __name__ == "__main__":
    leave(main(*sys.argv[1:4], run=_run))
