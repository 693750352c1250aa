"""The file of decisions: read whole, added to under a lock, written whole or not at all.

One JSON object, `{"fencecheck_decisions": 1, "decisions": [{"of": ..., "id": ..., "input": ..., "output": ...}]}`, indented, in an order that
follows from what it holds, so that two recordings of the same decisions are the same file. `id` is a digest of the whole input.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

import msgspec
from msgspec import Struct

from fencecheck.errors import BadInput

FORMAT = 1
MOST_DEEP = 200
"""How deep plain data that comes from outside may be nested: copying, comparing and encoding it recurse, and Python's limit is 1,000 calls."""


class Decision(Struct, frozen=True, forbid_unknown_fields=True):
    """What a planner decided for one input.

    Args:
        of: the name of the planner.
        id: a digest of the input, secrets included.
        input, output: what it was given and what it decided, without secrets.
    """

    of: str
    id: str
    input: Any
    output: Any


class _File(Struct, forbid_unknown_fields=True):
    fencecheck_decisions: int
    decisions: list[Decision]


class Recording:
    """The decisions in one file, and those of them that this process has read.

    Several processes and threads may add to one file at once: what is added is added to what the file then holds.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Decision] = {}
        self._stamp: tuple[int, int, int] | None = None
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._known)

    def find(self, id: str) -> Decision | None:
        """The decision with that digest, looked for in the file again where that has changed.

        Raises:
            BadInput: the file cannot be read, with one sentence that says why.
        """
        with self._lock:
            if id not in self._known:
                self._read()
            return self._known.get(id)

    def add(self, decisions: Iterable[Decision], *, over: bool) -> list[Decision]:
        """Adds decisions to the file, and returns what it holds for their inputs then.

        Args:
            over: whether they replace those that the file holds already; else who came first is right.

        Raises:
            BadInput: the file cannot be read or written.
        """
        decisions = list(decisions)
        with self._lock, _locked(self.path):
            self._read()
            new = [decision for decision in decisions if over or decision.id not in self._known]
            self._known.update({decision.id: decision for decision in new})
            if new:
                self._write()
            return [self._known[decision.id] for decision in decisions]

    def _read(self) -> None:
        try:
            stat = self.path.stat()
            if not S_ISREG(stat.st_mode) and not S_ISDIR(stat.st_mode):  # nobody may ever write to a pipe
                raise BadInput(f"{self.path} cannot be read (is no plain file): name a file of decisions")
            stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if stamp != self._stamp:
                self._known = decoded(self.path.read_bytes(), str(self.path))
                self._stamp = stamp
        except FileNotFoundError:
            self._known, self._stamp = {}, None
        except (OSError, ValueError) as error:
            raise BadInput(f"{self.path} cannot be read ({_reason(error)}): name a file of decisions") from error

    def _write(self) -> None:
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            self._remove_drafts()
            try:
                with draft.open("wb") as file:
                    file.write(encoded(self._known.values()))
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, os.path.realpath(self.path))  # where the path is a link, what it leads to
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise BadInput(f"{self.path} cannot be written ({_reason(error)}): name a file in a folder that can be") from error
        self._stamp = None  # read once more: another system may count its time coarsely

    def _remove_drafts(self) -> None:
        """Those of processes that were killed while they wrote: whoever holds the lock is the only one who writes."""
        begins = f".{self.path.name}."
        for name in os.listdir(self.path.parent):
            if name.startswith(begins) and name.removeprefix(begins).isdecimal():
                self.path.with_name(name).unlink(missing_ok=True)


def merge(into: Path | str, *others: Path | str) -> int:
    """Adds the decisions of other files to the file `into`, which is made if need be.

    Returns:
        How many it holds then.

    Raises:
        BadInput: a file cannot be read, or two of them hold different decisions for one input.
    """
    path = Path(into)
    merged = decoded(path.read_bytes(), str(path)) if path.exists() else {}
    for other in others:
        try:
            found = decoded(Path(other).read_bytes(), str(other))
        except OSError as error:
            raise BadInput(f"{other} cannot be read ({_reason(error)}): name a file of decisions") from error
        for id, decision in found.items():
            if id in merged and merged[id].output != decision.output:
                raise BadInput(f"{path} and {other} hold different decisions of {decision.of} for {shown(decision.input)}: remove one")
            merged[id] = decision
    Recording(path).add(merged.values(), over=False)
    return len(merged)


def encoded(decisions: Iterable[Decision]) -> bytes:
    """The text of a file that holds these decisions, in an order of their own."""
    order = sorted(decisions, key=lambda decision: (decision.of, msgspec.json.encode(decision.input, order="sorted"), decision.id))
    return msgspec.json.format(msgspec.json.encode(_File(FORMAT, order)), indent=2) + b"\n"


def decoded(data: bytes, name: str) -> dict[str, Decision]:
    """The decisions of a file, by digest.

    Args:
        name: what errors call the file.

    Raises:
        BadInput: it is none, with one sentence that says what to do.
    """
    try:
        found = msgspec.json.decode(data)
        version = found.get("fencecheck_decisions") if isinstance(found, dict) else None
        if type(version) is int and version > FORMAT:
            raise BadInput(f"{name}: written by a newer fencecheck (format {version}, this one reads up to {FORMAT}): upgrade fencecheck")
        if type(version) is not int or version != FORMAT:
            raise BadInput(f"{name} is no file of decisions: name another, which recording will make")
        file = msgspec.convert(found, _File)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput(f"{name} is damaged ({error}): restore it, or remove it and record again") from error
    decisions: dict[str, Decision] = {}
    for decision in file.decisions:
        other = decisions.setdefault(decision.id, decision)
        if other.output != decision.output:
            raise BadInput(f"{name} holds two decisions of {decision.of} for {shown(decision.input)}: remove one")
    return decisions


def deeper_than(plain: Any, most: int) -> bool:
    """Whether plain data is nested deeper than that."""
    level = [plain]
    for _ in range(most + 1):
        level = [
            inner
            for part in level
            if isinstance(part, dict | list | tuple)
            for inner in (part.values() if isinstance(part, dict) else part)
        ]
        if not level:
            return False
    return True


def shown(input: Any, most: int = 300) -> str:
    """An input in a sentence."""
    text = msgspec.json.encode(input, order="sorted").decode()
    return text if len(text) <= most else f"{text[:most]}…"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """No other process adds to a file in that folder meanwhile."""
    try:
        if sys.platform == "win32":
            import msvcrt

            handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT)
            msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            handle = os.open(path.parent, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        raise BadInput(f"{path} cannot be written ({_reason(error)}): name a file in a folder that can be") from error
    try:
        yield
    finally:
        os.close(handle)


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
