"""The box office as an MCP server: shows, their prices, and bookings, in an SQLite file. `python box_office.py FILE` serves it over stdio."""

from __future__ import annotations

import sqlite3
import sys
from typing import TypedDict

from mcp.server import MCPServer
from mcp_types import ToolAnnotations


class Fact(TypedDict):
    """The current version of a show's start, or of its price."""

    version: int
    value: str


class BoxOffice:
    """The database. Each change of a fact is a row of its own, and the last row is current."""

    def __init__(self, path: str) -> None:
        self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.db.execute("PRAGMA synchronous=OFF")  # power cuts are not what is tested
        self.db.execute("CREATE TABLE IF NOT EXISTS facts (version INTEGER PRIMARY KEY, key TEXT, value TEXT)")
        self.db.execute("CREATE TABLE IF NOT EXISTS bookings (number INTEGER PRIMARY KEY, show TEXT, starts TEXT, price TEXT)")

    def current(self, key: str) -> Fact:
        """The current version of a fact. Raises LookupError where there is none."""
        row = self.db.execute("SELECT version, value FROM facts WHERE key = ? ORDER BY version DESC LIMIT 1", (key,)).fetchone()
        if row is None:
            raise LookupError(f"there is no {key}")
        return Fact(version=row[0], value=row[1])

    def change(self, key: str, value: str) -> int:
        """Commits a version of a fact, and returns its number."""
        return int(self.db.execute("INSERT INTO facts (key, value) VALUES (?, ?)", (key, value)).lastrowid or 0)

    def book(self, show: str, starts: str, price: str) -> int:
        """Books a seat, and returns the number of the booking."""
        row = (show, starts, price)
        return int(self.db.execute("INSERT INTO bookings (show, starts, price) VALUES (?, ?, ?)", row).lastrowid or 0)

    def clear(self) -> None:
        """Forgets all facts and bookings."""
        self.db.execute("DELETE FROM facts")
        self.db.execute("DELETE FROM bookings")

    def close(self) -> None:
        """Closes the file."""
        self.db.close()


def build(office: BoxOffice) -> MCPServer:
    """The server. What the annotations do not say is as the MCP specification has it: a tool acts, and may destroy."""
    server = MCPServer("box office", log_level="WARNING")

    @server.resource("show://{show}", mime_type="application/json")
    def show(show: str) -> Fact:
        """When the show starts."""
        return office.current(f"show://{show}")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def get_price(show: str) -> Fact:
        """What a seat costs."""
        return office.current(f"get_price/{show}")

    @server.tool(annotations=ToolAnnotations(destructive_hint=False))
    def book(show: str, starts: str, price: str) -> int:
        """Books a seat at that price, for a show that starts then."""
        return office.book(show, starts, price)

    @server.tool()
    def change(key: str, value: str) -> int:
        """For the staff: a show starts at another time, or costs something else."""
        return office.change(key, value)

    return server


if __name__ == "__main__":
    build(BoxOffice(sys.argv[1])).run("stdio")
