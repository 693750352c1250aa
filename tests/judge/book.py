"""A book in which a history is written by hand, entry by entry, while the book keeps versions and records consistent.

    book = Book("address")                  # one owner, one action "ship" that depends on every key
    plan = book.derive(book.read("address"))
    book.update("address")                  # commits address2
    book.act(plan=plan)
    history = book.returned()

The first version of key `a` is `a1`, the next `a2`; derived records are `p1`, `p2`. Every method that takes `by=` writes the entry of
that agent, of the scenario's first agent if not said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fencecheck.history import (
    Act,
    Answer,
    Declared,
    Derive,
    Ended,
    Entry,
    Fetch,
    Halted,
    Head,
    History,
    How,
    Landed,
    Memory,
    Outcome,
    Pause,
    Read,
    Seam,
    Truth,
    Validated,
    is_point,
)
from fencecheck.interleaving import Deliver, Replan, Restart, Update, What
from fencecheck.model import Action, Record, Scenario

FRESH: Any = object()


class Book:
    """A history that is being written.

    Args:
        keys: the keys, all of one owner, and what the one action `ship` depends on; or none, and a `scenario`.
        scenario: the world, where it is more than that.
        dropped: the declarations that were dropped, as pairs of action name and key.
        own_store: whether the system keeps its own store.
        action: options of the one action, such as `times=2`.
    """

    def __init__(
        self,
        *keys: str,
        scenario: Scenario | None = None,
        dropped: Iterable[tuple[str, str]] = (),
        own_store: bool = False,
        **action: Any,
    ) -> None:
        self.scenario = scenario or Scenario({"owner": keys}, [Action("ship", **{"depends_on": keys, **action})], agents=("agent", "other"))
        self.dropped = tuple(dropped)
        self.own_store = own_store
        self.entries: list[Entry] = []
        self.records: dict[str, Record] = {}
        self.versions: dict[str, list[str]] = {}
        self._derived = 0
        self._idempotency: dict[str, Any] = {}
        for key in self.scenario.keys:
            self._commit(key, FRESH)

    # What is in the book

    def current(self, key: str) -> str:
        """The version of `key` that is current now."""
        return self.versions[key][-1]

    def value(self, version: str) -> Any:
        """The value of a record."""
        return self.records[version].value

    # The world

    def update(self, key: str, value: Any = FRESH, *, again: str | None = None, removed: bool = False) -> str:
        """The owner commits a new version: a fresh value, the given one, that of the version `again`, or a tombstone."""
        if again is not None:
            value = self.value(again)
        version = self._commit(key, None if removed else value, removed)
        self.land(Update(key, "removed" if removed else "fresh" if again is None else "earlier"), version=version)
        return version

    def store(self, key: str, value: Any = FRESH, by: str | None = None) -> str:
        """The system's own store is seen to hold a new version, which an act of `by` wrote if that is given."""
        version = self._commit(key, value)
        self._write(Truth(key, version, by))
        return version

    def commit_unseen(self, key: str) -> str:
        """The system's own store holds a new version, and no entry says so."""
        return self._commit(key, FRESH)

    def deliver(self, key: str) -> None:
        """The newest version reaches the agents' memories."""
        self.land(Deliver(key), version=self.current(key))

    def restart(self, by: str | None = None, *, fired: bool = True) -> None:
        """An agent loses what it holds in memory."""
        self.land(Restart(self._agent(by)), fired=fired)

    def replan_event(self, *, fired: bool = True) -> None:
        """A Replan event lands; what is made within it is written with `in_event=True` after it."""
        self.land(Replan(self.scenario.tasks[0]), fired=fired)

    def land(self, what: What, *, fired: bool = True, version: str | None = None, record: str | None = None) -> None:
        """Any event lands before the next point."""
        self._write(Landed(sum(map(is_point, self.entries)), what, fired, version, record))

    # What an agent does

    def read(self, key: str, served: str | None = None, *, answer: Answer = "ok", by: str | None = None, in_event: bool = False) -> Any:
        """Ask the owner for the record; the current version is served unless another is named. Returns what was served."""
        version = (served or self.current(key)) if answer == "ok" else served
        self._write(Read(self._agent(by), key, version, answer, in_event))
        return version

    def head(
        self,
        key: str,
        served: str | None = None,
        *,
        answer: Answer = "ok",
        by: str | None = None,
        in_event: bool = False,
        none: bool = False,
    ) -> Any:
        """Ask the owner for the current version; as `read`. With `none` the answer is ok and names no version."""
        version = None if none else (served or self.current(key)) if answer == "ok" else served
        self._write(Head(self._agent(by), key, version, answer, in_event))
        return version

    def memory(self, key: str, version: str | None = None, *, by: str | None = None, in_event: bool = False) -> str | None:
        """Look the key up in the agent's own memory, which holds `version`."""
        self._write(Memory(self._agent(by), key, version, in_event))
        return version

    def fetch(self, id: str, answer: Answer = "ok", *, by: str | None = None, in_event: bool = False) -> str:
        """Fetch a record by its id."""
        self._write(Fetch(self._agent(by), id, answer, in_event))
        return id

    def derive(self, *parents: str, key: str | None = None, value: Any = "a plan", by: str | None = None, in_event: bool = False) -> str:
        """Write a derived record; with a key it is a new version of that key. Returns its id."""
        if key is None:
            self._derived += 1
            id = f"p{self._derived}"
            self.records[id] = Record(id, None, value, parents)
        else:
            id = self._commit(key, value, parents=parents)
        self._write(Derive(self._agent(by), id, in_event))
        return id

    def act(
        self,
        action: str | None = None,
        *,
        args: Any = None,
        plan: str | None = None,
        basis: Mapping[str, str] | None = None,
        expect: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        outcome: Outcome | None = None,
        by: str | None = None,
        **more: Any,
    ) -> Outcome:
        """Call the outside. Unless an outcome is given, the tool checks `expect` and remembers idempotency keys. Returns the outcome."""
        carried_out = self.scenario.action(action) if action else self.scenario.actions[0]
        assert carried_out is not None, action
        outcome = outcome or self._reply(args, expect, idempotency_key)
        effect = outcome in ("done", "lost-reply")
        if effect and idempotency_key is not None:
            self._idempotency.setdefault(idempotency_key, args)
        if carried_out.keys_of is not None:
            more.setdefault("depends_on", carried_out.true_keys(args if isinstance(args, Mapping) else {}))
        entry = Act(
            self._agent(by),
            carried_out.name,
            args,
            plan,
            dict(basis) if basis is not None else None,
            dict(expect) if expect is not None else None,
            idempotency_key,
            outcome,
            effect,
            **more,
        )
        self._write(entry)
        if effect:
            entry.wrote = tuple(self._commit(key, FRESH) for key in carried_out.writes)
        return outcome

    def pause(self, by: str | None = None) -> None:
        """Wait for an unknown time."""
        self._write(Pause(self._agent(by), "approval"))

    def point(self, by: str | None = None) -> None:
        """Any other point."""
        self._write(Seam(self._agent(by), "seam"))

    def declared(self, action: str | None = None, by: str | None = None) -> tuple[str, ...]:
        """Ask which keys an action still declares."""
        asked = self.scenario.action(action) if action else self.scenario.actions[0]
        assert asked is not None, action
        keys = self.scenario.declared(asked, self.dropped)
        self._write(Declared(self._agent(by), asked.name, keys))
        return keys

    def validated(self, *keys: str, by: str | None = None) -> None:
        """The mark, of every key of the scenario if none is given."""
        self._write(Validated(self._agent(by), keys or self.scenario.keys))

    def halted(self, by: str | None = None) -> None:
        """Say that the agent stops without acting."""
        self._write(Halted(self._agent(by), "changed"))

    # The end

    def ended(self, how: How) -> History:
        """The history, with this end."""
        return History(
            self.scenario,
            [*self.entries, Ended(how)],
            dict(self.records),
            {k: [*v] for k, v in self.versions.items()},
            self.dropped,
            self.own_store,
        )

    def returned(self) -> History:
        """The history; the run returned."""
        return self.ended("returned")

    # Inside

    def _agent(self, by: str | None) -> str:
        return by if by is not None else self.scenario.agents[0]

    def _write(self, entry: Entry) -> None:
        self.entries.append(entry)

    def _commit(self, key: str, value: Any, removed: bool = False, parents: tuple[str, ...] = ()) -> str:
        versions = self.versions.setdefault(key, [])
        number = len(versions) + 1
        id = f"{key}{number}"
        value = self.scenario.value_of(key, number) if value is FRESH else value
        self.records[id] = Record(id, key, value, parents, versions[-1] if versions else None, removed)
        versions.append(id)
        return id

    def _reply(self, args: Any, expect: Mapping[str, str] | None, idempotency_key: str | None) -> Outcome:
        if idempotency_key in self._idempotency:
            return "repeated" if self._idempotency[idempotency_key] == args else "key-reused"
        if any(self.current(key) != version for key, version in (expect or {}).items()):
            return "precondition-failed"
        return "done"


def planned(book: Book, *keys: str) -> str:
    """Read the keys, all of the scenario if none is given, and derive a plan from what was served."""
    return book.derive(*[book.read(key) for key in keys or book.scenario.keys])


def replanned(book: Book, times: int = 1) -> str:
    """Plan, if there is no plan yet; then as often as said: see a change and plan again."""
    plan = "p1" if "p1" in book.records else planned(book)
    for _ in range(times):
        book.update("a")
        book.head("a")
        plan = planned(book)
    return plan
