"""Whether a world comes to the same in a process of its own: a system that keeps what it found in its first episode sees no other value later.

Such a system is alike in all episodes of one process, so nothing in that process tells. `python -m fencecheck.measure.dependencies_fresh` runs
one world in this, fresh, one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection

from msgspec import Struct, json

from fencecheck import codec
from fencecheck.errors import CouldNotRun, Nondeterministic
from fencecheck.history import Act, History
from fencecheck.measure.dependencies_sent import first_unlike
from fencecheck.measure.dependencies_worlds import World, Worlds
from fencecheck.run.simulate import Runner
from fencecheck.search.fresh import leave, main
from fencecheck.search.preflight import in_fresh_process

_OTHER_SEEDS = (3, 4, 5)
"""Hash seeds of the fresh processes that tell an order by chance apart from what is kept: sets of two fall alike in one of eight."""
_OBJECT = re.compile(rb"(?<=<)[\w.]+\.(?=[\w<>.]+ object at 0x)|(?<=0x)[0-9a-f]{6,}")
"""Of what is written of an object, its module, which is `__main__` where a script is run and its name in another process, and its address."""


class _Asked(Struct):
    """What a fresh process is told."""

    values: int
    removed: bool
    world: World
    begun_empty: frozenset[str]


def refuse_what_is_kept(worlds: Worlds, quiet: Collection[str]) -> None:
    """Runs in a fresh process the world in which every key is another, and for each key that made no difference the one in which it alone is.

    A key that made a difference alone is not kept; one that made none may be looked at only while the others are as they were.

    Args:
        quiet: the keys that made no difference alone.

    Raises:
        CouldNotRun: what goes out is not what went out here.
        Nondeterministic: nor is it what goes out in another fresh process.
    """
    ones = {key: ((key, 1),) for key in worlds.keys if worlds.others(key)}
    every = tuple(change for one in ones.values() for change in one)
    asked = [every, *(one for key, one in ones.items() if key in quiet)]
    for world in dict.fromkeys(world for world in asked if world and worlds.sends(world)):
        _refuse_other(worlds, world)


def _refuse_other(worlds: Worlds, world: World) -> None:
    here = _acts(worlds.history(world))
    fresh = _elsewhere(worlds, world)
    if fresh is None:
        return
    other = first_unlike(here, fresh)
    if not other:
        return
    for seed in _OTHER_SEEDS:
        again = _elsewhere(worlds, world, seed) or ()
        unlike = first_unlike(fresh, again)
        if unlike:
            raise Nondeterministic(
                f"{worlds.runner.name} is not deterministic: of two fresh processes with different hash seeds, {unlike}: sort what comes out of a set"
            )
    keys = ", ".join(key for key, _ in world)
    raise CouldNotRun(
        f"{worlds.runner.name} keeps what it found in its first episode: with another value of {keys}, {other}, a fresh process: build all "
        "state in setup(), none at class or module level"
    )


def _elsewhere(worlds: Worlds, world: World, *seed: int) -> tuple[Act, ...] | None:
    asked = _Asked(worlds.values, worlds.removed, world, worlds.runner.begun_empty)
    fresh = in_fresh_process(worlds.runner, __name__, json.encode(asked).decode(), seed=seed[0] if seed else None)
    return None if fresh is None else _acts(fresh)


def _acts(history: History) -> tuple[Act, ...]:
    """As both processes can tell them: of an object, what kind it is."""
    return codec.decode_history(_OBJECT.sub(b"", codec.encode_history(history))).effects


def _run(runner: Runner) -> History:
    asked = json.decode(sys.argv.pop(), type=_Asked)
    return Worlds(runner, asked.values, asked.removed, 1, asked.begun_empty).history(asked.world)


if __name__ == "__main__":
    leave(main(*sys.argv[1:4], run=_run))
