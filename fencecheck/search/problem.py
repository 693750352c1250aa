"""One thing that is wrong with an adapter: a value."""

from __future__ import annotations

from msgspec import Struct


class Problem(Struct, frozen=True):
    """One thing that is wrong with an adapter.

    Args:
        code: what kind of thing.
        message: what is wrong, in a sentence.
        fix: what to do; nothing where the message itself says what is wanted.
    """

    code: str
    message: str
    fix: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f"\n  fix: {self.fix}" if self.fix else "")
