"""Which version of a key an answer of the system's own code stands for: by version id, else by the published value inside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fencecheck.run.world import World

_WEAK = frozenset({int, float, bool, type(None)})
"""Types whose values can be inside an answer by chance."""


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
    """The version of `key` that `answer` carries, the newest where it carries several, or None.

    A number among its parts can be a version or a quantity. So it counts only where nothing better tells: the answer itself being an id,
    a text that is one, or a published value; and among several numbers those of a version whose value is there too.
    """
    ids = world.versions.get(key, ())
    seen = list(parts(answer))
    whole = {names.get((key, answer), answer)} if answer is None or _is_id(answer) else set()
    texts = {names.get((key, part), part) for part in seen if isinstance(part, str)}
    numbers = {names.get((key, part)) for part in seen if type(part) is int}
    values = [id for id in ids if not world.records[id].removed and any(equal(part, world.records[id].value) for part in seen)]
    strong = [id for id in values if type(world.records[id].value) not in _WEAK]
    found: list[str] = []
    for kind in (whole, texts, strong, numbers, values):
        of_kind = [id for id in ids if id in kind and (not found or id in found)]
        found = of_kind or found
    return found[-1] if found else None


def _is_id(answer: Any) -> bool:
    return isinstance(answer, str) or type(answer) is int


def equal(one: Any, other: Any) -> bool:
    """Whether they are, a number as that kind of number: 1 is not True. Arrays and the like, which compare to neither, are not."""
    if type(other) in _WEAK and type(one) is not type(other):
        return False
    try:
        return bool(one == other)
    except Exception:
        return False
