"""Which keys a call of a tool is about, as a team says it, and the ids of their versions as a fence around such calls knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fencecheck.errors import BadInput, FencecheckError

KeysOf = str | Iterable[str] | Callable[[Mapping[str, Any]], str | Iterable[str] | None]
"""The keys that a tool is about: one, several, or a function from the call's arguments to them, None where that call is about no key. In a key
that is given as a text `{name}` stands for the argument of that name."""


def keys_of(about: KeysOf | None, args: Mapping[str, Any], setting: str) -> tuple[str, ...]:
    """The keys that a call with these arguments is about.

    Args:
        setting: what a person calls `about`, such as `reads['get_order']`.

    Raises:
        BadInput: they do not follow from these arguments.
    """
    try:
        found = about(args) if callable(about) else about
        several = () if found is None else (found,) if isinstance(found, str) else tuple(found)
        return several if callable(about) else tuple(key.format_map(args) for key in several)
    except FencecheckError:
        raise
    except Exception as error:
        if isinstance(error, KeyError) and not callable(about):
            has = ", ".join(map(str, args)) or "none"
            raise BadInput(f"{setting} is {about!r}, but the call has no argument {error} (its arguments: {has})") from error
        raise BadInput(f"{setting} fails for {dict(args)!r}: {type(error).__name__}: {error}") from error


class Version(str):
    """The id of a version together with its key, since owners may number the versions of each key for themselves.

    Attributes:
        key: the fact that it is a version of.
        own: the id as the owner knows it.
    """

    __slots__ = ("key", "own")
    key: str
    own: Any

    def __new__(cls, key: str, own: Any) -> Version:
        made = super().__new__(cls, f"{own} of {key}")
        made.key, made.own = key, own
        return made


@dataclass(frozen=True)
class Premise:
    """A version that was read, or what was decided from several: a record as `fencecheck.fence` wants it."""

    id: str
    key: str | None = None
    parents: tuple[str, ...] = ()
    value: Any = None
    supersedes: None = None
    removed: bool = False


def fetched(version: Any) -> Premise:
    """The record of a version. There is nothing to ask anybody for: versions are immutable, and what was read of them is in hand."""
    return Premise(version, version.key)
