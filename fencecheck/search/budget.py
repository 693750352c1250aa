"""How much of a search is run: how long it may take, and which share of it."""

from __future__ import annotations

import time

from msgspec import Struct

from fencecheck.errors import BadInput


class Budget:
    """How long a search may take.

    Args:
        seconds: that long, from now; None for as long as it takes.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._started = time.perf_counter()
        self._seconds = seconds
        self.ran_out = False
        self._waits = False

    def wait(self) -> None:
        """Counts no time until `begin`: what an earlier search has run is not counted again."""
        self._waits = True

    def begin(self) -> None:
        """Counts the time from now on, if it waited."""
        if self._waits:
            self._waits, self._started = False, time.perf_counter()

    @property
    def spent(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self._started

    def left(self) -> bool:
        """Whether there is time left; once there was none, `ran_out` says so."""
        self.ran_out = self.ran_out or (self._seconds is not None and not self._waits and self.spent >= self._seconds)
        return not self.ran_out


class Shard(Struct, frozen=True):
    """One share of a search that several processes share out among themselves.

    Args:
        number: which one, from 1.
        of: how many there are.
    """

    number: int = 1
    of: int = 1

    def has(self, episode: int) -> bool:
        """Whether the episode of that number, from 0, belongs to this share. Each belongs to one."""
        return episode % self.of == self.number - 1

    def __str__(self) -> str:
        """As it is written on the command line."""
        return f"{self.number}/{self.of}"


WHOLE = Shard()


def shard(text: str) -> Shard:
    """The share that `2/4` names.

    Raises:
        BadInput: it names none.
    """
    number, _, of = text.partition("/")
    if number.isascii() and number.isdigit() and of.isascii() and of.isdigit() and 1 <= int(number) <= int(of):
        return Shard(int(number), int(of))
    raise BadInput(f"a shard is i/n with 1 <= i <= n, such as 2/4, not {text!r}")
