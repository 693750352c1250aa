"""Which version of a key an answer of the system's own code stands for: by version id, else by the published value inside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fencecheck.run.world import World


def parts(value: Any, depth: int = 8) -> Iterator[Any]:
    """`value` and everything inside it: of mappings, lists, tuples and objects with attributes, down to `depth`."""
    yield value
    if depth == 0 or value is None or isinstance(value, str | bytes | int | float):
        return
    inside: Any = ()
    if isinstance(value, Mapping):
        inside = value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        inside = value
    elif hasattr(value, "__struct_fields__"):
        inside = [getattr(value, field) for field in value.__struct_fields__]
    elif hasattr(value, "__dict__"):
        inside = vars(value).values()
    for part in inside:
        yield from parts(part, depth - 1)


def version_in(answer: Any, key: str, world: World, names: Mapping[Any, str]) -> str | None:
    """The version of `key` that `answer` carries, the newest where it carries several, or None."""
    ids = world.versions.get(key, ())
    seen = list(parts(answer))
    named = [names.get((key, part), part) for part in seen if isinstance(part, str | int)]
    for id in reversed(ids):
        if id in named:
            return id
    for id in reversed(ids):
        record = world.records[id]
        if not record.removed and any(_equal(part, record.value) for part in seen):
            return id
    return None


def _equal(one: Any, other: Any) -> bool:
    """Whether they are; arrays and the like, whose comparison is neither true nor false, are not."""
    try:
        return bool(one == other)
    except Exception:
        return False
