"""The results of a campaign in one SQLite file: what was measured, with what, and a row for each episode.

Rows are added in one transaction for each piece of work, so that a process that is killed leaves whole episodes behind, and who goes on runs
what is not there. One process at a time: it holds the file's lock while it is open.
"""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from fencecheck.errors import BadInput
from fencecheck.measure.cells import Plan, Row
from fencecheck.search.storing import added, claimed, opened, version

FORMAT = 1
_COLUMNS = Row.__struct_fields__
_SCHEMA = f"""
CREATE TABLE campaign (format INTEGER, plan TEXT, fencecheck TEXT, python TEXT);
CREATE TABLE episodes ({", ".join(_COLUMNS)}, PRIMARY KEY (cell, number)) WITHOUT ROWID;
"""
_INSERT = f"INSERT INTO episodes VALUES ({', '.join('?' * len(_COLUMNS))})"
_APPLICATION = 0x66636B31


class Store:
    """An open campaign.

    Args:
        path: the file, made if it is not there; None keeps the rows in a temporary file that is gone when it is closed.
        plan: what is measured.

    Raises:
        BadInput: the file cannot be used: it is no store, holds another campaign, or another process has it open.
    """

    def __init__(self, path: Path | None, plan: Plan) -> None:
        self.path, self.plan = path, plan
        self._db = opened(path)
        try:
            claimed(self._db, path, _APPLICATION, self._make)
            self._refuse_another()
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self._db.close()

    def _make(self) -> None:
        for statement in _SCHEMA.strip().split(";\n"):
            self._db.execute(statement)
        about = (FORMAT, msgspec.json.encode(self.plan).decode(), version(), platform.python_version())
        self._db.execute("INSERT INTO campaign VALUES (?, ?, ?, ?)", about)

    def _refuse_another(self) -> None:
        where = self.path or "the store"
        try:
            number, plan, written, _ = self._db.execute("SELECT format, plan, fencecheck, python FROM campaign").fetchone()
            held = msgspec.json.decode(plan, type=Plan) if number == FORMAT else None
        except (sqlite3.DatabaseError, TypeError, ValueError, msgspec.MsgspecError) as error:
            raise BadInput(f"{where} is no store of results: name another file") from error
        if held is None or written != version():
            raise BadInput(
                f"{where} was written by fencecheck {written}, this is {version()}: name another file, so that results are not mixed"
            )
        if held != self.plan:
            raise BadInput(f"{where} holds another campaign ({_differs(held, self.plan)}): name another file, or ask for the same")

    def add(self, rows: Iterable[Row]) -> None:
        """Adds episodes, all or none.

        Raises:
            BadInput: the file cannot be written.
        """
        added(self._db, self.path, _INSERT, (msgspec.structs.astuple(row) for row in rows))

    def forget(self, outcome: str) -> None:
        """Takes out the episodes that came out so: what the harness could not run is tried again by who goes on."""
        self._db.execute("DELETE FROM episodes WHERE outcome = ?", (outcome,))

    def missing(self, cell: int, count: int) -> Iterator[tuple[int, int]]:
        """The numbers below `count` of which there is no episode, as ranges from start to stop."""
        start = 0
        known = self._db.execute("SELECT number FROM episodes WHERE cell = ? AND number < ? ORDER BY number", (cell, count))
        for (number,) in known:
            if number > start:
                yield start, number
            start = number + 1
        if start < count:
            yield start, count

    def count(self, cell: int, count: int) -> int:
        """How many of the first `count` episodes of a cell there are."""
        return int(self._db.execute("SELECT count(*) FROM episodes WHERE cell = ? AND number < ?", (cell, count)).fetchone()[0])

    def sums(self, cell: int, count: int, what: dict[str, str]) -> dict[str, int]:
        """Sums over the first `count` episodes of a cell.

        Args:
            what: name to an SQL expression over the columns of an episode.
        """
        picked = ", ".join(f"total({expression})" for expression in what.values())
        found = self._db.execute(f"SELECT {picked} FROM episodes WHERE cell = ? AND number < ?", (cell, count)).fetchone()
        return {name: int(value) for name, value in zip(what, found, strict=True)}

    def different(self, cell: int, count: int, what: str, condition: str) -> int:
        """How many values an SQL expression has in those of the first `count` episodes of a cell for which a condition holds."""
        asked = f"SELECT count(DISTINCT {what}) FROM episodes WHERE cell = ? AND number < ? AND {condition}"
        return int(self._db.execute(asked, (cell, count)).fetchone()[0])

    def first(self, cell: int, count: int, condition: str) -> Row | None:
        """The first of the first `count` episodes of a cell for which an SQL condition holds."""
        found = self._db.execute(
            f"SELECT * FROM episodes WHERE cell = ? AND number < ? AND {condition} ORDER BY number LIMIT 1", (cell, count)
        ).fetchone()
        return None if found is None else msgspec.convert(found, Row, strict=False)

    def rows(self) -> Iterator[Row]:
        """All episodes, by cell and number."""
        for found in self._db.execute("SELECT * FROM episodes ORDER BY cell, number"):
            yield msgspec.convert(found, Row, strict=False)


def _differs(held: Plan, asked: Plan) -> str:
    """The first thing in which two campaigns differ."""
    for field in ("name", "seed", "level"):
        one, two = getattr(held, field), getattr(asked, field)
        if one != two:
            return f"{field} {one}, not {two}"
    if held.sources != asked.sources:
        changed = next((name for name in {**held.sources, **asked.sources} if held.sources.get(name) != asked.sources.get(name)), "")
        return f"of another version of {changed}'s source files"
    return (
        f"of other systems, worlds or distributions: {len(held.cells)} cells, not the {len(asked.cells)} of this one"
        if len(held.cells) != len(asked.cells)
        else f"in which {_first_other(held, asked)}"
    )


def _first_other(held: Plan, asked: Plan) -> str:
    one, two = next((one, two) for one, two in zip(held.cells, asked.cells, strict=True) if one != two)
    if one.system != two.system:
        return f"{one.key} is of {one.system}, not {two.system}"
    if one.distribution != two.distribution:
        return f"{one.key} draws otherwise: {one.distribution.said()}"
    return f"{one.key} has other worlds or another name"
