"""What went out in one run, and in which way another run sent something else.

Acts are compared for each agent alone: which of two agents is first is a matter of timing, and nothing that went out says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from numbers import Number
from typing import Any

from fencecheck.history import Act
from fencecheck.model import Record

_DEEPEST = 8


def same(one: Any, other: Any, depth: int = _DEEPEST) -> bool:
    """Whether two values are alike, whatever their types make of `==`: an array, a NaN, an object that is equal to itself only.

    Of a record, what it says counts, and for a version of a key which one it is; not what else it was derived from.
    """
    if one is other:
        return True
    if type(one) is not type(other):
        return _numbers(one, other) and bool(one == other)
    if depth and type(one) is Record:
        return (one.key, one.key and one.id) == (other.key, other.key and other.id) and same(one.value, other.value, depth - 1)
    if depth and isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[name], depth - 1) for name, value in one.items())
    if depth and isinstance(one, list | tuple):
        return len(one) == len(other) and all(same(a, b, depth - 1) for a, b in zip(one, other, strict=True))
    try:
        if bool(one == other):
            return True
        itself = bool(one == one)  # a NaN is not
    except Exception:  # an array has no truth
        itself = False
    if depth and getattr(type(one), "__eq__", None) is object.__eq__ and hasattr(one, "__dict__"):
        return same(vars(one), vars(other), depth - 1)
    return not itself and repr(one) == repr(other)


def _numbers(one: Any, other: Any) -> bool:
    return all(isinstance(value, Number) and not isinstance(value, bool) for value in (one, other))


def differs(action: str, one: Sequence[Act], other: Sequence[Act]) -> bool:
    """Whether other calls of `action` went out, or in another place among the acts of their agent."""
    agents = dict.fromkeys(act.agent for act in (*one, *other))
    return any(not _sent_alike(action, agent, one, other) or _moved(action, agent, one, other) for agent in agents)


def _sent_alike(action: str, agent: str, one: Sequence[Act], other: Sequence[Act]) -> bool:
    first, second = ([act.args for act in acts if (act.action, act.agent) == (action, agent)] for acts in (one, other))
    return same(first, second)


def _moved(action: str, agent: str, one: Sequence[Act], other: Sequence[Act]) -> bool:
    """Whether `action` stands in another order with an act that goes out as often in both: it was before it, and now is after it."""
    first, second = ([act.action for act in acts if act.agent == agent] for acts in (one, other))
    for beside in dict.fromkeys(first):
        a, b = ([name for name in names if name in (action, beside)] for names in (first, second))
        if a != b and sorted(a) == sorted(b):
            return True
    return False


def up_to_crashes(one: Sequence[Act], other: Sequence[Act], crashed: tuple[bool, bool]) -> tuple[Sequence[Act], Sequence[Act]]:
    """Of each agent's acts as many as those that went out before a crash that says nothing.

    Args:
        crashed: which of the two runs ended in one.
    """
    most = [Counter(act.agent for act in acts) for acts, ended in zip((one, other), crashed, strict=True) if ended]
    return _first(one, most), _first(other, most)


def _first(acts: Sequence[Act], most: Sequence[Counter[str]]) -> Sequence[Act]:
    seen, found = Counter[str](), []
    for act in acts:
        seen[act.agent] += 1
        if all(seen[act.agent] <= number[act.agent] for number in most):
            found.append(act)
    return found


def unlike(sent: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """What of `sent` is not among `others`, each of which stands for one."""
    left = list(others)
    found = []
    for args in sent:
        at = next((at for at, other in enumerate(left) if same(args, other)), None)
        if at is None:
            found.append(args)
        else:
            del left[at]
    return found


def first_unlike(one: Sequence[Act], other: Sequence[Act]) -> str:
    """The first argument in which two runs differ that should not, in words, or nothing where they do not."""
    one, other = (sorted(acts, key=lambda act: act.agent) for acts in (one, other))
    for a, b in zip(one, other, strict=False):
        if (a.action, a.agent) != (b.action, b.agent):
            return f"{a.action} goes out in one and {b.action} in the other"
        if not same(a.args, b.args):
            return next(_arguments(a.action, a.args, b.args))
    return "" if len(one) == len(other) else f"what goes out is {len(one)} in number in one and {len(other)} in the other"


def _arguments(action: str, one: Any, other: Any) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in (*one, *other):
            if name not in one or name not in other or not same(one[name], other[name]):
                yield f"{action} goes out with {name}={one.get(name)!r} in one and {name}={other.get(name)!r} in the other"
    yield f"{action} goes out with {one!r} in one and {other!r} in the other"
