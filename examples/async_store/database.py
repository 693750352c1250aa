"""The driver, and nothing else that knows which one it is: a pool of connections to an SQLite file, by aiosqlite.

SQL is written for both SQLite and Postgres (`$1` for an argument, `RETURNING`). For another driver this module is replaced, by one with
`Pool.open`, `Pool.close`, `Pool.transaction` and `Connection.fetch`; README.md shows asyncpg's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

import aiosqlite

Row = tuple[Any, ...]

IDENTITY = "INTEGER PRIMARY KEY"
"""The type of a column that numbers its rows. Postgres: `BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY`."""


class Connection:
    """One connection, inside a transaction."""

    def __init__(self, driver: aiosqlite.Connection) -> None:
        self._driver = driver

    async def fetch(self, sql: str, *arguments: Any) -> list[Row]:
        """The rows that the statement returns; none for one that returns none."""
        named = {str(number): argument for number, argument in enumerate(arguments, 1)}
        async with self._driver.execute(sql, named) as cursor:
            return [tuple(row) for row in await cursor.fetchall()]


class Pool:
    """A few connections, each lent to one task at a time."""

    def __init__(self, drivers: list[aiosqlite.Connection]) -> None:
        self._drivers = drivers
        self._free: asyncio.Queue[aiosqlite.Connection] = asyncio.Queue()
        for driver in drivers:
            self._free.put_nowait(driver)

    @classmethod
    async def open(cls, where: str, size: int = 2) -> Self:
        """Connects.

        Args:
            where: the file. Postgres: the address of the server.
            size: number of connections.
        """
        drivers = [await aiosqlite.connect(where, isolation_level=None) for _ in range(size)]
        for driver in drivers:
            await driver.execute("PRAGMA journal_mode=WAL")
            await driver.execute("PRAGMA synchronous=OFF")  # power cuts are not what is tested
        return cls(drivers)

    async def close(self) -> None:
        """Closes all connections."""
        for driver in self._drivers:
            await driver.close()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A connection for one transaction, which is rolled back where the body raises."""
        driver = await self._free.get()
        try:
            try:
                await driver.execute("BEGIN")
                yield Connection(driver)
                await driver.commit()
            except BaseException:  # a task that is cancelled leaves no transaction open either
                await driver.rollback()
                raise
        finally:
            self._free.put_nowait(driver)
