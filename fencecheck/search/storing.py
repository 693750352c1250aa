"""SQLite files that hold results: one process at a time, each of one kind and of one thing, refused in a sentence where they are of another."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fencecheck.errors import BadInput


def opened(path: Path | None) -> sqlite3.Connection:
    """A connection to the file, made if it is not there; None for one that is gone when it is closed.

    Raises:
        BadInput: it cannot be opened.
    """
    try:
        return sqlite3.connect("" if path is None else path, timeout=1.0, isolation_level=None)
    except sqlite3.OperationalError as error:
        raise BadInput(f"{path} cannot be opened ({error}): name a file in a folder that can be written") from error


def claimed(db: sqlite3.Connection, path: Path | None, application: int, make: Callable[[], Any]) -> None:
    """Takes the file for this process, and fills a new one.

    Args:
        application: what SQLite notes in the file's head, by which one kind of file is known from another.
        make: makes the tables, inside a transaction.

    Raises:
        BadInput: it is of another kind, or another process has it open.
    """
    where = path or "the store"
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("BEGIN EXCLUSIVE")
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            make()
            db.execute(f"PRAGMA application_id = {application}")
        db.execute("COMMIT")
        found = db.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise BadInput(f"{where} is open in another process: wait for it, or name another file") from error
        raise BadInput(f"{where} cannot be used ({error}): name another file") from error
    except sqlite3.DatabaseError as error:
        raise BadInput(f"{where} is no store of results ({error}): name another file") from error
    if found != application:
        raise BadInput(f"{where} is no store of these results: name another file")


def added(db: sqlite3.Connection, path: Path | None, insert: str, rows: Any) -> None:
    """Adds rows in one transaction, all or none.

    Raises:
        BadInput: the file cannot be written.
    """
    try:
        db.execute("BEGIN")
        db.executemany(insert, rows)
        db.execute("COMMIT")
    except sqlite3.OperationalError as error:
        raise BadInput(f"{path} cannot be written ({error}): what it holds is kept, so go on from it when there is room") from error


def version() -> str:
    """That of fencecheck: results of two are not mixed."""
    from fencecheck import __version__

    return __version__
