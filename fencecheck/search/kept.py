"""Episodes that a search has run, kept in a file, so that one which ran out of time, or was killed, goes on.

What is kept is what happened: for what landed where, the history. A search that is begun again goes the same way, since it goes by histories alone,
and where it comes to an episode that is kept it reads what happened instead of running the system. So there is no state of a search to store, none
that could be stored half, and what is kept serves other searches of the same system in the same world too: of more events, at another level, for
other kinds.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fencecheck.errors import BadInput
from fencecheck.history import Entry, History
from fencecheck.interleaving import Event, Interleaving
from fencecheck.model import Record, Scenario
from fencecheck.run.loading import reference
from fencecheck.run.simulate import Runner, SystemLike
from fencecheck.run.sources import digest_of
from fencecheck.search.budget import Budget
from fencecheck.search.storing import added, claimed, opened, version

_APPLICATION = 0x66636B32
_EVERY_S = 1.0
_MOST_HELD = 5_000
"""Episodes that are held back at most before they are written."""
_INSERT = "INSERT OR REPLACE INTO episodes VALUES (?, ?)"

Dropped = tuple[tuple[str, str], ...]


class _Happened(Struct, array_like=True):
    """A history without what all have in common."""

    entries: list[Entry]
    records: dict[str, Record]
    versions: dict[str, list[str]]
    waiting: dict[int, tuple[int, ...]]
    timers: tuple[int, ...]


class KeepingRunner(Runner):
    """A runner that keeps what it has run, once it is told to: what has to be run anew, such as two runs that are compared, comes before.

    Attributes:
        known: how many episodes were read instead of run.
        unkept: how many hold values that cannot be stored, and so are run each time.
    """

    def __init__(self, system: SystemLike, scenario: Scenario | None = None) -> None:
        super().__init__(system, scenario)
        self._kept: Kept | None = None
        self.known = self.unkept = 0

    def keep(self, path: Path, begins: Callable[[], None]) -> None:
        """From now on keeps episodes in that file, and reads those that it holds.

        Args:
            begins: called at the first episode that it does not hold.

        Raises:
            BadInput: it cannot be used, or is of another system or world.
        """
        self._kept, self._begins = Kept(path, self), begins

    def forget(self) -> None:
        """From now on runs each episode."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def told(self) -> str:
        """What was kept and what was known, in a clause."""
        known = f"{self.known:,} episodes were run before, and read from the store"
        return f"{known}; {self.unkept:,} hold values that cannot be stored, and are run each time" if self.unkept else known

    def close(self) -> None:
        self.forget()
        super().close()

    def run(self, dropped: Dropped = (), events: tuple[Event, ...] = (), **options: Any) -> History:
        """As `Runner.run`; reads the episode where it is kept and nothing special is asked for."""
        if self._kept is None or options:
            return super().run(dropped, events, **options)
        found = self._kept.find(dropped, events)
        if found is not None:
            self.known += 1
            return found
        self._begins()
        history = super().run(dropped, events)
        self.unkept += not self._kept.add(dropped, events, history)
        return history


def runner_for(system: SystemLike, scenario: Scenario | None, store: Path | None) -> Runner:
    """A runner that can keep what it runs where there is a store for it."""
    return Runner(system, scenario) if store is None else KeepingRunner(system, scenario)


@contextmanager
def keeping(runner: Runner, store: Path | None, budget: Budget) -> Iterator[None]:
    """Keeps what is run inside, where there is a store; the budget counts no time before the first episode that is new.

    Raises:
        BadInput: the store cannot be used, or is of another system or world.
    """
    if store is None or not isinstance(runner, KeepingRunner):
        yield
        return
    runner.keep(store, budget.begin)
    budget.wait()
    try:
        yield
    finally:
        budget.begin()
        runner.forget()


class Kept:
    """The episodes in a file."""

    def __init__(self, path: Path, runner: Runner) -> None:
        self.path, self._scenario, self._own_store = path, runner.scenario, runner.own_store
        self._encoder, self._decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(_Happened)
        self._held: dict[str, bytes] = {}
        self._written = time.monotonic()
        self._db = opened(path)
        about = _about(runner)
        try:
            claimed(self._db, path, _APPLICATION, lambda: self._make(about))
            self._refuse_another(about)
        except BaseException:
            self._db.close()
            raise

    def _make(self, about: dict[str, str]) -> None:
        self._db.execute("CREATE TABLE search (name TEXT PRIMARY KEY, value TEXT)")
        self._db.execute("CREATE TABLE episodes (landed TEXT PRIMARY KEY, happened BLOB) WITHOUT ROWID")
        self._db.executemany("INSERT INTO search VALUES (?, ?)", about.items())

    def _refuse_another(self, about: dict[str, str]) -> None:
        held = dict(self._db.execute("SELECT name, value FROM search").fetchall())
        for name, value in about.items():
            if held.get(name) != value:
                of = f"{name} {held.get(name)}, not {value}" if name in ("system", "fencecheck") else f"another {name}"
                raise BadInput(f"{self.path} holds episodes of {of}: name another file")

    def find(self, dropped: Dropped, events: tuple[Event, ...]) -> History | None:
        """That episode, if it is kept."""
        landed = _landed(dropped, events)
        data = self._held.get(landed)
        if data is None:
            row = self._db.execute("SELECT happened FROM episodes WHERE landed = ?", (landed,)).fetchone()
            if row is None:
                return None
            data = row[0]
        return self._decoded(data, dropped)

    def _decoded(self, data: bytes, dropped: Dropped) -> History:
        try:
            found = self._decoder.decode(data)
        except msgspec.MsgspecError as error:
            raise BadInput(f"{self.path} is damaged ({error}): remove it, and begin anew") from error
        history = History(self._scenario, found.entries, found.records, found.versions, dropped, self._own_store, {})
        history.waiting, history.timers = found.waiting, found.timers
        return history

    def add(self, dropped: Dropped, events: tuple[Event, ...], history: History) -> bool:
        """Keeps that episode; returns whether it can be: what comes back must be what happened."""
        happened = _Happened(history.entries, history.records, history.versions, history.waiting, history.timers)
        try:
            data = self._encoder.encode(happened)
            if self._decoder.decode(data) != happened:
                return False
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
            return False
        self._held[_landed(dropped, events)] = data
        if len(self._held) >= _MOST_HELD or time.monotonic() - self._written > _EVERY_S:
            self.write()
        return True

    def write(self) -> None:
        """Writes what is held back."""
        added(self._db, self.path, _INSERT, list(self._held.items()))
        self._held.clear()
        self._written = time.monotonic()

    def close(self) -> None:
        """Writes what is held back and closes the file."""
        try:
            self.write()
        finally:
            self._db.close()


def _landed(dropped: Dropped, events: tuple[Event, ...]) -> str:
    return msgspec.json.encode((dropped, events)).decode()


def _about(runner: Runner) -> dict[str, str]:
    """What episodes follow from besides what landed."""
    from fencecheck import codec

    world = codec.encode_interleaving(Interleaving(runner.scenario))
    return {
        "system": reference(runner.system) or runner.name,
        "fencecheck": version(),
        "version of its source files": digest_of(runner.system),
        "scenario": hashlib.sha256(world if isinstance(world, bytes) else str(world).encode()).hexdigest(),
    }
