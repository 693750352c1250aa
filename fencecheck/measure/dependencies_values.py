"""The values of a key that are tried: those of the scenario, and made-up ones where it does not say enough.

A scenario that gives few values seldom reaches each branch of a system: a limit that is never passed, a text that is never empty. So numbers
also stand far above and far below, at zero and one beside; where the scenario gives one value only, further ones like it are made up, and one
whose texts and lists are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from fencecheck.measure.dependencies_sent import same
from fencecheck.model import Scenario

FAR = 1_000_001
"""How far above and below a number is tried."""
_WRITTEN = 8
"""Of how many acts on a key what they write is the same in all worlds."""
_NUMBERS: tuple[Callable[[Any], Any], ...] = (
    lambda number: number + FAR,
    lambda number: number - FAR,
    lambda number: type(number)(0),
    lambda number: number + 1,
    lambda number: number - 1,
)


class Choices(NamedTuple):
    """The values of a key.

    Args:
        values: that of the scenario first, then the others; all differ.
        given: how many of them the scenario gives. Of a key that has none there, all are made up alike, and so none is.
        written: what acts that write the key commit, in order; in each world the same.
    """

    values: list[Any]
    given: int
    written: tuple[Any, ...] = ()


def choices(scenario: Scenario, key: str, others: int, *, writes: bool = False) -> Choices:
    """The value that `key` has and the other ones.

    Args:
        others: how many other ones of the scenario at most; made-up ones come besides.
        writes: whether an act writes the key, which then keeps one of the scenario's values for that where it gives three.
    """
    listed = _distinct(scenario.values.get(key, ()))
    spare = [listed.pop()] if writes and len(listed) > 2 else []
    values = listed[: others + 1] or [scenario.value_of(key, 1)]
    given = len(values) if listed else others + 1
    values = _distinct([*values, *_made_up(scenario, key, values, others, alone=len(listed) == 1)])
    return Choices(values, given, _written(scenario, key, values, spare) if writes else ())


def _made_up(scenario: Scenario, key: str, values: list[Any], others: int, *, alone: bool) -> Iterator[Any]:
    first = values[0]
    if len(values) == 1 and type(first) is bool:
        yield not first
        return
    if len(values) == 1:
        yield from (scenario.value_of(key, number) for number in range(2, others + 2))
    for changed in _NUMBERS:
        yield _with_numbers(first, changed)
    if alone:
        yield _emptied(first)


def _distinct(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not any(same(value, known) for known in found):
            found.append(value)
    return found


def _with_numbers(value: Any, changed: Callable[[Any], Any]) -> Any:
    """The value with each number in it changed."""
    kind = type(value)
    if kind in (int, float, Decimal):
        return changed(value)
    return _of_parts(value, lambda part: _with_numbers(part, changed))


def _emptied(value: Any) -> Any:
    """The value with each text and each list in it empty."""
    kind = type(value)
    if kind is str or kind is list or kind is tuple:
        return kind()
    return _of_parts(value, _emptied)


def _of_parts(value: Any, changed: Callable[[Any], Any]) -> Any:
    kind = type(value)
    if kind is dict:
        return {name: changed(part) for name, part in value.items()}
    return kind(map(changed, value)) if kind is list or kind is tuple else value


def _written(scenario: Scenario, key: str, values: list[Any], spare: list[Any]) -> tuple[Any, ...]:
    """Values that the key has in no world from the beginning."""
    number = len(scenario.values.get(key, ())) + len(values)
    found = list(spare)
    while len(found) < _WRITTEN:
        number += 1
        value = scenario.value_of(key, number)
        if not any(same(value, known) for known in (*values, *found)):
            found.append(value)
    return tuple(found)
