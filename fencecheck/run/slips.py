"""Slips of the pen in an adapter: what almost has the name of a hook or of an attribute, and would be left out in silence.

A team's own attributes may be called as they like. So only what is of the right kind too, and what nothing in the modules of the adapter refers
to, is taken for a slip: a name that is spelt wrongly once is not used a second time.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakSet

from fencecheck.errors import BadInput, alike, listed
from fencecheck.model import Scenario
from fencecheck.run.adapter import AgentSystem

_ALIKE = 0.85
_seen: WeakSet[type] = WeakSet()
"""Adapters that have been looked through."""


def _is_exceptions(value: Any) -> bool:
    kinds = value if isinstance(value, tuple | list | set) else (value,)
    return bool(kinds) and all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds)


_ATTRIBUTES: dict[str, Callable[[Any], bool]] = {
    "scenario": lambda value: isinstance(value, Scenario),
    "runtime": lambda value: isinstance(value, str),
    "halt_exceptions": _is_exceptions,
    "fault_exceptions": lambda value: isinstance(value, Mapping),
    "cannot_happen": lambda value: isinstance(value, Mapping),
    "tools_can_halt": lambda value: type(value) is bool,
    "chance_is_harmless": lambda value: type(value) is bool,
    "max_points": lambda value: type(value) is int,
    "timeout_s": lambda value: type(value) in (int, float),
}
"""What may stand in each attribute."""
_HOOKS = {
    "setup": 1, "run": 0, "teardown": 0, "open": 0, "shutdown": 0, "publish": 2, "publish_how": 3, "true_head": 1, "remove": 1,
    "deliver": 2, "replan": 1, "restart": 0, "lose": 1, "versions_in": 1, "version_of": 2,
}  # fmt: skip
"""How many arguments each hook is called with."""


def refuse_slips(name: str, system: type[AgentSystem]) -> None:
    """Looks through an adapter, once.

    Args:
        name: what reports call it.

    Raises:
        BadInput: something in it seems to be a hook or an attribute, and has another name.
    """
    if system in _seen:
        return
    own = [cls for cls in system.__mro__ if issubclass(cls, AgentSystem) and cls is not AgentSystem]
    found = [
        (f"{word}()", f"{meant}()") if callable(value) and meant in _HOOKS else (word, meant)
        for word, value, meant in _slips(own)
        if not _is_used(word, own)
    ]
    if found:
        whats, rights = (list(dict.fromkeys(names)) for names in zip(*found, strict=True))
        one = len(found) == 1
        raise BadInput(
            f"{name} defines {listed(whats)}, which nothing refers to: did you mean {listed(rights)}? "
            f"If {'it is' if one else 'they are'} your own, begin {'its name' if one else 'their names'} with an underscore"
        )
    _seen.add(system)


def _slips(own: list[type]) -> Iterator[tuple[str, Any, str]]:
    """What is there, under which name, and under which it should be."""
    known = {_plain(word): word for word in (*_ATTRIBUTES, *_HOOKS)}
    for cls in own:
        for word, value in vars(cls).items():
            if word.startswith("_") or word in _ATTRIBUTES or word in _HOOKS:
                continue
            meant = known.get(alike(_plain(word), known, _ALIKE) or "")
            if meant is not None and meant not in vars(cls) and _fits(meant, value):
                yield word, value, meant


def _plain(word: str) -> str:
    return word.lower().replace("_", "")


def _fits(meant: str, value: Any) -> bool:
    if meant in _ATTRIBUTES:
        return _ATTRIBUTES[meant](value)
    if not inspect.isfunction(value):
        return False
    try:
        inspect.signature(value).bind(*[None] * (_HOOKS[meant] + 1))
    except TypeError:
        return False
    return True


def _is_used(word: str, own: list[type]) -> bool:
    """Whether anything in the modules of these classes refers to an attribute of that name; so where their source cannot be read."""
    for module in {cls.__module__ for cls in own}:
        try:
            source = inspect.getsource(sys.modules[module])
        except (KeyError, OSError, TypeError):
            return True
        if re.search(rf"""(\.|attr\([^()]*["']){re.escape(word)}\b""", source):
            return True
    return False
