"""Errors that fencecheck raises itself, each with one sentence for a person.

Faults that the kit injects into a system under test are in `fencecheck.run.faults`: they are part of an episode, not errors of the tool.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["BadInput", "CouldNotRun", "FencecheckError", "Nondeterministic"]


class FencecheckError(Exception):
    """Base of every error that the tool reports. `exit_status` is what the command line returns for it."""

    exit_status = 2


class BadInput(FencecheckError):
    """Something that a person wrote cannot be used: a name, an option, a file, a scenario. Exit status 2."""


class CouldNotRun(FencecheckError):
    """The system under test cannot be judged at all, for example since it never acts. Exit status 2."""


class Nondeterministic(CouldNotRun):
    """Two runs of one interleaving differ, so that no verdict over interleavings means anything. Exit status 2."""


def alike(word: Any, known: Iterable[Any], least: float = 0.6) -> Any:
    """The one of `known` that `word` was probably meant to be, or None.

    Args:
        least: how alike they must be, from 0 to 1, as `difflib` measures it.
    """
    from difflib import get_close_matches

    by_text = {str(one): one for one in known}
    return by_text.get(next(iter(get_close_matches(str(word), by_text, 1, least)), ""))


def listed(names: Iterable[str]) -> str:
    """`a, b and c`."""
    said = list(names)
    return " and ".join([*([", ".join(said[:-1])] if len(said) > 1 else []), *said[-1:]])
