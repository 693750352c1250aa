"""The team's repository: facts that change, the plans made from them, and how far each order has come.

A record is a row; its id is the id of the version. Nothing is ever changed in place, so that a plan can name what it was made from.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from database import IDENTITY, Connection, Pool, Row

SCHEMA = [
    f"CREATE TABLE IF NOT EXISTS records (id {IDENTITY}, key TEXT, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS parents (child BIGINT NOT NULL, parent BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS orders (number TEXT PRIMARY KEY, plan BIGINT NOT NULL, status TEXT NOT NULL)",
]


@dataclass(frozen=True)
class Stored:
    """A version of a fact, or a plan, as the fence takes it."""

    id: str
    key: str | None
    value: Any
    parents: tuple[str, ...] = ()
    supersedes: str | None = None
    removed: bool = False


class Orders:
    """The repository, on a pool of connections."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def create(self) -> None:
        """Makes the tables, where they are not there."""
        async with self.pool.transaction() as db:
            for statement in SCHEMA:
                await db.fetch(statement)

    async def clear(self) -> None:
        """Forgets everything."""
        async with self.pool.transaction() as db:
            for table in ("records", "parents", "orders"):
                await db.fetch(f"DELETE FROM {table}")

    async def change(self, key: str, value: Any) -> str:
        """Commits a version of a fact, and returns its id."""
        async with self.pool.transaction() as db:
            return await _inserted(db, key, value)

    async def current(self, key: str) -> Stored:
        """The current version of a fact. Raises LookupError where there is none."""
        async with self.pool.transaction() as db:
            rows = await db.fetch("SELECT id, key, value FROM records WHERE key = $1 ORDER BY id DESC LIMIT 1", key)
        return _stored(_one(rows, key))

    async def head(self, key: str) -> str:
        """The id of the current version. Raises LookupError where there is none."""
        async with self.pool.transaction() as db:
            rows = await db.fetch("SELECT id FROM records WHERE key = $1 ORDER BY id DESC LIMIT 1", key)
        return str(_one(rows, key)[0])

    async def record(self, id: str) -> Stored:
        """A version or a plan, by its id. Raises LookupError where there is none."""
        async with self.pool.transaction() as db:
            rows = await db.fetch("SELECT id, key, value FROM records WHERE id = $1", int(id))
            parents = await db.fetch("SELECT parent FROM parents WHERE child = $1 ORDER BY parent", int(id))
        return _stored(_one(rows, id), parents)

    async def save_plan(self, arguments: dict[str, Any], parents: list[str], order: str | None = None) -> Stored:
        """Writes a plan and what it was made from; with `order`, as the plan that its approval is asked for."""
        async with self.pool.transaction() as db:
            id = await _inserted(db, None, arguments)
            for parent in parents:
                await db.fetch("INSERT INTO parents (child, parent) VALUES ($1, $2)", int(id), int(parent))
            if order is not None:
                await db.fetch("INSERT INTO orders (number, plan, status) VALUES ($1, $2, 'asked')", order, int(id))
        return Stored(id, None, arguments, tuple(parents))

    async def progress(self, order: str) -> tuple[str | None, str]:
        """The id of the order's plan, and whether it is `new`, `asked`, `approved` or `sent`."""
        async with self.pool.transaction() as db:
            rows = await db.fetch("SELECT plan, status FROM orders WHERE number = $1", order)
        return (str(rows[0][0]), rows[0][1]) if rows else (None, "new")

    async def approve(self, order: str, plan: str) -> bool:
        """Notes an approval. False where nobody asked for that of this plan, or it was given before."""
        sql = "UPDATE orders SET status = 'approved' WHERE number = $1 AND plan = $2 AND status = 'asked' RETURNING number"
        async with self.pool.transaction() as db:
            return bool(await db.fetch(sql, order, int(plan)))

    async def sent(self, order: str) -> None:
        """Notes that the parcel went out."""
        async with self.pool.transaction() as db:
            await db.fetch("UPDATE orders SET status = 'sent' WHERE number = $1", order)


async def _inserted(db: Connection, key: str | None, value: Any) -> str:
    rows = await db.fetch("INSERT INTO records (key, value) VALUES ($1, $2) RETURNING id", key, json.dumps(value))
    return str(rows[0][0])


def _stored(row: Row, parents: list[Row] | None = None) -> Stored:
    id, key, value = row
    return Stored(str(id), key, json.loads(value), tuple(str(parent) for (parent,) in parents or ()))


def _one(rows: list[Row], name: str) -> Row:
    if not rows:
        raise LookupError(f"there is no {name}")
    return rows[0]
