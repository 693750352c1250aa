"""Checks of what the strategies are called with: made when they are called, not when something is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

from fencecheck.errors import BadInput
from fencecheck.interleaving import KINDS
from fencecheck.model import Scenario

ASSUMPTIONS = frozenset({"honest-owners"})
"""What `assume_broken` may name: assumptions of the protocol that no fence can do without."""

KIND_ORDER = (
    "update", "deliver", "switch", "advance", "outage", "restore", "missing-parent", "corrupt-parent", "tool-fault", "restart", "replan",
)  # fmt: skip
"""Event kinds from the simplest on, whatever the order in which they were asked for: Hypothesis shrinks towards the first."""


class BadArgument(BadInput, InvalidArgument):
    """A strategy was called with an argument that it cannot use. For Hypothesis an `InvalidArgument`, for fencecheck a `BadInput`."""


def check_scenario(function: str, scenario: Any) -> Scenario:
    """`scenario`, if it is one."""
    if not isinstance(scenario, Scenario):
        raise BadArgument(f"{function}(): expected a Scenario, not {scenario!r}; fencecheck.world() makes one")
    return scenario


def check_count(function: str, name: str, number: Any, low: int) -> int:
    """`number`, if it is a whole number of at least `low`."""
    if not isinstance(number, int) or isinstance(number, bool) or number < low:
        raise BadArgument(f"{function}(): {name} must be a whole number of {low} or more, not {number!r}")
    return number


def check_flag(function: str, name: str, flag: Any) -> bool:
    """`flag`, if it is True or False."""
    if not isinstance(flag, bool):
        raise BadArgument(f"{function}(): {name} must be True or False, not {flag!r}")
    return flag


def check_strategy(function: str, name: str, strategy: Any) -> SearchStrategy[Any]:
    """`strategy`, if it is one."""
    if not isinstance(strategy, SearchStrategy):
        raise BadArgument(f"{function}(): {name} must be a strategy, not {strategy!r}: wrap a fixed value in st.just({strategy!r})")
    return strategy


def check_kinds(function: str, kinds: Any) -> tuple[str, ...]:
    """The kinds asked for, from the simplest on; all of them for None."""
    if kinds is None:
        return KIND_ORDER
    asked = names(function, "kinds", kinds, tuple(KINDS))
    if not asked:
        raise BadArgument(f"{function}(): kinds is empty: name at least one of {', '.join(KIND_ORDER)}")
    return tuple(kind for kind in KIND_ORDER if kind in asked)


def check_assumptions(function: str, assume_broken: Any) -> frozenset[str]:
    """The assumptions asked for."""
    return frozenset(names(function, "assume_broken", assume_broken, tuple(sorted(ASSUMPTIONS))))


def names(function: str, name: str, asked: Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """The names asked for, if they are all known."""
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        raise BadArgument(f"{function}(): {name} must be a list of names, not {asked!r}")
    found = tuple(asked)
    for one in found:
        if one not in known:
            raise BadArgument(f"{function}(): {name} cannot hold {one!r}: use {', '.join(known)}")
    return found


def some(function: str, what: str, choices: tuple[str, ...]) -> tuple[str, ...]:
    """`choices`, if there are any."""
    if not choices:
        raise BadArgument(f"{function}(): the scenario has no {what}")
    return choices
