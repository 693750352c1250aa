"""A user confirms what was prepared from a snapshot; it is dispatched later, and nothing is checked then."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from fencecheck.interleaving import Event, Update
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.faults import MALFORMED
from fencecheck.run.kit import Kit

from .agents import Agent, AwaitingAgent, Stop, checked, of, smallest

ADDRESS, PHONE = "customer/7/address", "customer/7/phone"
ONE = Scenario(owners={"crm": [ADDRESS]}, actions=[Action("dispatch", depends_on=[ADDRESS])])
TWO = Scenario(owners={"crm": [ADDRESS], "desk": [PHONE]}, actions=[Action("dispatch", depends_on=[ADDRESS, PHONE])])


class Dispatches(Agent):
    """Prepares, waits for the confirmation, dispatches. `shows` says what an observer can see of what it was made from."""

    scenario = ONE
    shows = "basis"
    guard = "none"

    def run(self) -> None:
        records = {key: self.look(key) for key in self.kit.scenario.keys}
        prepared = {key: record.value for key, record in records.items()}
        plan = self.kit.derive(prepared, records.values()) if self.shows == "plan" else None
        self.kit.pause("confirmation")
        versions = {key: record.id for key, record in records.items()}
        if self.guard == "compare":
            if any(self.head(key) != version for key, version in versions.items()):
                raise Stop("changed since it was prepared")
            self.kit.validated(versions)
        self.kit.act(
            "dispatch",
            prepared,
            plan=plan,
            basis=versions if self.shows == "basis" else None,
            expect=versions if self.guard == "if-match" else None,
        )


@pytest.mark.parametrize(("shows", "dispatch"), [("basis", 2), ("plan", 3), ("arguments only", 2)])
def test_one_update_between_confirmation_and_dispatch(shows: str, dispatch: int) -> None:
    report = checked(of(Dispatches, shows=shows))
    assert (report.verdict, report.strongest) == ("violated", None)
    assert smallest(report) == [("stale-act", ADDRESS, (Event(dispatch, Update(ADDRESS)),))]
    assert report.failures[0].finding.message == f"dispatch went out made from {ADDRESS}@1 while {ADDRESS}@2 was current."
    assert report.counts["unmarked"] > 0


@pytest.mark.parametrize("shows", ["basis", "plan", "arguments only"])
def test_with_two_keys_the_update_of_either_shows_it(shows: str) -> None:
    report = checked(of(Dispatches, shows=shows, scenario=TWO), max_events=1)
    dispatch = 4 if shows == "plan" else 3
    assert smallest(report) == [("stale-act", ADDRESS, (Event(dispatch, Update(ADDRESS)),))]
    # fresh or removed, of the address or of the phone
    assert report.failures[0].number == 4


def test_comparing_versions_right_before_the_dispatch_holds() -> None:
    report = checked(of(Dispatches, guard="compare", scenario=TWO))
    assert (report.verdict, report.strongest, report.noticed) == ("held", "at-validation", {})
    assert set(report.beyond) == {"torn-validation", "raced-act"}
    assert report.counts["halted_changed"] > 0


@pytest.mark.parametrize("level", ["at-validation", "at-one-instant", "at-act"])
def test_a_tool_that_checks_the_versions_holds_at_every_level(level: Any) -> None:
    report = checked(of(Dispatches, guard="if-match", scenario=TWO), level=level)
    assert (report.verdict, report.strongest, report.beyond, report.noticed) == ("held", "at-act", {}, {})
    assert report.counts["refused"] > 0


class DispatchesLater(AwaitingAgent):
    """The same on asyncio and on trio."""

    scenario = ONE
    guarded = False

    async def run(self) -> None:
        record = await self.look_later(ADDRESS)
        await self.kit.aio.pause("confirmation")
        if self.guarded:
            if await self.head_later(ADDRESS) != record.id:
                raise Stop("changed since it was prepared")
            self.kit.validated([ADDRESS])
        await self.kit.aio.act("dispatch", {"to": record.value}, basis={ADDRESS: record.id})


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_awaited(runtime: str) -> None:
    report = checked(of(DispatchesLater, runtime=runtime), max_events=1)
    assert smallest(report) == [("stale-act", ADDRESS, (Event(2, Update(ADDRESS)),))]
    assert checked(of(DispatchesLater, runtime=runtime, guarded=True), max_events=1).verdict == "held"


# -- where the record is not the kit's ------------------------------------------------------------------------------------------------


class DispatchesFromADict(Agent):
    """The customers are a dict of the application's own, which counts its versions."""

    scenario = ONE
    guarded = False

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.open_store()

    def open_store(self) -> None:
        self.rows: dict[str, tuple[int, Any]] = {}

    def publish(self, key: str, value: Any) -> int:
        self.rows[key] = (self.rows.get(key, (0,))[0] + 1, value)
        return self.rows[key][0]

    def true_head(self, key: str) -> int | None:
        return self.rows[key][0] if key in self.rows else None

    def row(self, key: str) -> tuple[int, Any]:
        return self.rows[key]

    def run(self) -> None:
        row = self.kit.read(ADDRESS, timeout=5.0, via=lambda: self.row(ADDRESS))
        if row is MALFORMED:
            raise Stop("no row")
        self.kit.pause("confirmation")
        if self.guarded:
            if self.kit.head(ADDRESS, timeout=5.0, via=lambda: self.row(ADDRESS)[0]) != row[0]:
                raise Stop("changed since it was prepared")
            self.kit.validated([ADDRESS])
        self.kit.act("dispatch", {"to": row[1]}, via=lambda: "sent")


class DispatchesFromSqlite(DispatchesFromADict):
    """The customers are rows of a database file."""

    def open_store(self) -> None:
        self.db = sqlite3.connect(f"file:{id(self)}?mode=memory", uri=True)
        self.db.execute("create table customers (key text primary key, version integer, value text)")

    def teardown(self) -> None:
        self.db.close()

    def publish(self, key: str, value: Any) -> int:
        insert = "insert into customers values (?, 1, ?) on conflict (key) do update set version = version + 1, value = excluded.value"
        with self.db:
            self.db.execute(insert, (key, value))
        return self.row(key)[0]

    def true_head(self, key: str) -> int | None:
        row = self.db.execute("select version from customers where key = ?", (key,)).fetchone()
        return row[0] if row else None

    def row(self, key: str) -> tuple[int, Any]:
        found: tuple[int, Any] = self.db.execute("select version, value from customers where key = ?", (key,)).fetchone()
        return found


@pytest.mark.parametrize("system", [DispatchesFromADict, DispatchesFromSqlite])
def test_from_a_store_of_its_own(system: type[Agent]) -> None:
    report = checked(system, max_events=1)
    assert smallest(report) == [("stale-act", ADDRESS, (Event(2, Update(ADDRESS)),))]
    assert report.placements == "every point"
    held = checked(of(system, guarded=True), max_events=1)
    assert (held.verdict, held.noticed, set(held.beyond)) == ("held", {}, {"raced-act"})


def test_the_sqlite_file_may_be_on_disk(tmp_path: Any) -> None:
    def open_store(self: Any) -> None:
        path = tmp_path / "customers.sqlite"
        path.unlink(missing_ok=True)
        self.db = sqlite3.connect(path)
        self.db.execute("pragma synchronous = off")
        self.db.execute("pragma journal_mode = memory")
        self.db.execute("create table customers (key text primary key, version integer, value text)")

    report = checked(of(DispatchesFromSqlite, open_store=open_store), max_events=1)
    assert smallest(report) == [("stale-act", ADDRESS, (Event(2, Update(ADDRESS)),))]
    assert (tmp_path / "customers.sqlite").is_file()
    assert isinstance(report.failures[0].history.records[f"{ADDRESS}@2"], Record)
