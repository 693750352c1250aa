"""Everything that happened in one episode: a value that the judge reads and reports render. It may also come from elsewhere.

Entries are in order of time. Those of the kinds in `POINTS` are **points**: calls in which the system met the world, and right before
which an event can land; the number of a point is its rank among them. `validated`, `declared` and `halted` are statements of the system
to the kit. They take no time, so nothing lands before them and they are not points.

Versions are named by their record ids. Of a system with its own store, the kit names versions in the order in which they were committed,
so that two runs can be compared though the store's own ids differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Union

from msgspec import Struct

from fencecheck.interleaving import Event, What
from fencecheck.model import Record, Scenario

Answer = Literal["ok", "refused", "hang", "malformed", "wrong-key", "missing", "corrupt"]
Outcome = Literal["done", "refused", "lost-reply", "precondition-failed", "repeated", "key-reused", "halted"]
How = Literal["returned", "halted", "crashed", "stuck"]


class Read(Struct, gc=False, tag="read", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """`agent` asked the owner for the current record of `key`. `version` is what was served, whatever is true."""

    agent: str
    key: str
    version: str | None = None
    answer: Answer = "ok"
    in_event: bool = False


class Head(Struct, gc=False, tag="head", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """`agent` asked the owner which version of `key` is current. `version` is what was served, whatever is true."""

    agent: str
    key: str
    version: str | None = None
    answer: Answer = "ok"
    in_event: bool = False


class Memory(Struct, gc=False, tag="memory", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """`agent` looked up `key` in its own memory and found `version` (None: nothing remembered)."""

    agent: str
    key: str
    version: str | None = None
    in_event: bool = False


class Fetch(Struct, gc=False, tag="fetch", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """`agent` fetched the record `id`: served as written (ok), served corrupted, or missing."""

    agent: str
    id: str
    answer: Answer = "ok"
    in_event: bool = False


class Derive(Struct, gc=False, tag="derive", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """`agent` wrote the derived record `id`; its key, value and parents are in `History.records`."""

    agent: str
    id: str
    in_event: bool = False


class Act(Struct, tag="act", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """`agent` called the outside.

    Args:
        args: what went out.
        plan: id of the plan that it carries out, if named.
        basis: key to version that the system says it was made from, if said.
        expect: key to version that the tool was asked to check atomically with the effect.
        outcome: how the tool answered; `repeated` is a used idempotency key, `key-reused` one with other arguments, `halted` a halt of the system's
            own inside a tool that is part of it.
        effect: whether the call had an effect on the outside, answered or not.
        wrote: versions that the effect committed, in the order of the action's `writes`.
        depends_on, declared: D*(a) and the declared keys, where they depend on the arguments.
        versions: key to the versions recognised in `args`, where the adapter's `versions_in` says so.
        in_event: whether a hook of an event called, which is no point.
    """

    agent: str
    action: str
    args: Any = None
    plan: str | None = None
    basis: dict[str, str] | None = None
    expect: dict[str, str] | None = None
    idempotency_key: str | None = None
    outcome: Outcome = "done"
    effect: bool = True
    wrote: tuple[str, ...] = ()
    depends_on: tuple[str, ...] | None = None
    declared: tuple[str, ...] | None = None
    versions: dict[str, tuple[str, ...]] | None = None
    in_event: bool = False


class Pause(Struct, gc=False, tag="pause", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """`agent` waited for an unknown time: a person's approval, a queue."""

    agent: str
    label: str = ""


class Seam(Struct, gc=False, tag="point", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """Any other point that the system named with `kit.point(label)`."""

    agent: str
    label: str = ""


class Declared(Struct, gc=False, tag="declared", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """`agent` asked which keys `action` still declares. Not a point."""

    agent: str
    action: str
    keys: tuple[str, ...] = ()


class Validated(Struct, gc=False, tag="validated", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """The mark: `agent` says that it has just validated these keys. Not a point; it takes no time."""

    agent: str
    keys: tuple[str, ...] = ()


class Halted(Struct, gc=False, tag="halted", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """`agent` says that it stops without acting. Not a point."""

    agent: str
    reason: str = ""


class Landed(Struct, tag="landed", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """An event landed, and fired if it changed anything.

    Args:
        at: number of the point before which it landed.
        version: the version that an update committed, or that a delivery brought.
        record: the record that a place in the lineage came to.
        unwound: of a restart that fired, the label of the call that it unwound, which is no entry since it never happened.
        due: of a switch or an advance that fired, the label of the call whose turn it was.
        runs: of a switch that fired, the function that the task which goes first runs.
        same: of an update that fired, whether it left the version as it was.
    """

    at: int
    what: What
    fired: bool = True
    version: str | None = None
    record: str | None = None
    unwound: str | None = None
    due: str | None = None
    runs: str | None = None
    same: bool = False


class Truth(Struct, gc=False, tag="truth", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """The system's own store was seen to hold `version` of `key` as current, which it had not before.

    Args:
        by: the agent whose act had just been done, and so wrote it.
    """

    key: str
    version: str
    by: str | None = None


class Ended(Struct, gc=False, tag="ended", repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the episode ended. `detail` is the reason of a halt, the exception of a crash, or what a stuck run waited for."""

    how: How
    detail: str = ""


Entry = Union[  # noqa: UP007 (msgspec reads it)
    Read, Head, Memory, Fetch, Derive, Act, Pause, Seam, Declared, Validated, Halted, Landed, Truth, Ended
]
POINTS: tuple[type[Struct], ...] = (Read, Head, Memory, Fetch, Derive, Act, Pause, Seam)


class History(Struct):
    """One episode.

    Args:
        scenario: the world that it ran in.
        dropped: the declarations that were dropped, as pairs of action name and key.
        entries: what happened, in order.
        records: every record that exists at the end, by id, as written.
        versions: key to the ids of its versions in the order in which they were committed; the first was there at the start.
        own_store: whether the system keeps its own store, so that its heads are known from `Truth` entries.
        lines: index of an entry to `file:line` of the call, where it was asked for.
        waiting: number of a point to the tasks whose calls waited there, where there were several; first the one whose turn it was, so that
            a `Switch` to any other would have changed the order. Tasks are numbered as in `Switch`.
        timers: numbers of the points at which a timer was set, so that an `Advance` would have let time pass first.
    """

    scenario: Scenario
    entries: list[Entry]
    records: dict[str, Record]
    versions: dict[str, list[str]]
    dropped: tuple[tuple[str, str], ...] = ()
    own_store: bool = False
    lines: dict[int, str] = {}
    waiting: dict[int, tuple[int, ...]] = {}
    timers: tuple[int, ...] = ()

    @property
    def ended(self) -> Ended:
        """How it ended."""
        last = self.entries[-1] if self.entries else None
        return last if isinstance(last, Ended) else Ended("stuck", "the history has no end")

    @property
    def fired(self) -> tuple[Event, ...]:
        """The events that fired, where they landed."""
        return tuple(Event(e.at, e.what) for e in self.entries if type(e) is Landed and e.fired)

    @property
    def effects(self) -> tuple[Act, ...]:
        """The calls that reached the outside."""
        return tuple(e for e in self.entries if type(e) is Act and e.effect)


def is_point(entry: Entry) -> bool:
    """Whether events can land right before this entry."""
    return isinstance(entry, POINTS) and not getattr(entry, "in_event", False)


def points(history: History) -> Iterator[tuple[int, Entry]]:
    """The points as pairs of index into the entries and entry, in order: the n-th pair is point n."""
    return ((i, e) for i, e in enumerate(history.entries) if is_point(e))


def label(entry: Entry, records: dict[str, Record]) -> str:
    """What a person calls this point: its port and the key, action or seam that it touches. Stable where ids are not."""
    match entry:
        case Read(key=key) | Head(key=key) | Memory(key=key):
            return f"{entry.__struct_config__.tag} {key}"
        case Fetch(id=id) | Derive(id=id):
            record = records.get(id)
            name = (record.key if record else None) or "derived"
            return f"{'record' if type(entry) is Fetch else 'derive'} {name}"
        case Act(action=action):
            return f"act {action}"
        case Pause(label=text) | Seam(label=text):
            return f"{entry.__struct_config__.tag} {text}"
        case _:
            raise TypeError(f"{type(entry).__name__} is not a point")


def labelled(history: History) -> list[tuple[str, int]]:
    """For each point its label and which occurrence of that label it is, from 1: the anchors of stored events."""
    seen: dict[str, int] = {}
    anchors = []
    for _, entry in points(history):
        text = label(entry, history.records)
        seen[text] = seen.get(text, 0) + 1
        anchors.append((text, seen[text]))
    return anchors


def arrivals(history: History) -> tuple[list[tuple[Event, tuple[str, int]]], list[tuple[str, int]]]:
    """The events that landed, each with the call before which it did, and the points: a call is its label and which of that label it is.

    A call that a restart unwound is no point, since it never happened; the system did arrive at it, and there the restart lands again.
    A switch or an advance lands before the call whose turn it was, though another may be answered first.
    """
    seen: dict[str, int] = {}
    waiting: list[Event] = []
    landings: list[tuple[Event, tuple[str, int]]] = []
    points: list[tuple[str, int]] = []
    for entry in history.entries:
        if type(entry) is Landed and entry.due is not None:
            landings.append((Event(entry.at, entry.what), (entry.due, seen.get(entry.due, 0) + 1)))
        elif type(entry) is Landed:
            waiting.append(Event(entry.at, entry.what))
        if is_point(entry):
            text = label(entry, history.records)
        elif type(entry) is Landed and entry.unwound is not None:
            text = entry.unwound
        else:
            continue
        call = (text, seen.get(text, 0) + 1)
        seen[text] = call[1]
        landings += [(event, call) for event in waiting]
        waiting = []
        if type(entry) is not Landed:
            points.append(call)
    return landings, points


def shape(history: History) -> list[tuple[Any, ...]]:
    """What must be equal in two runs of one interleaving: calls, answers, versions and outcomes, but no free text.

    Arguments and idempotency keys may hold times and random ids, which differ harmlessly; they are left out.
    """
    return [_shape_of(entry) for entry in history.entries]


def _shape_of(entry: Entry) -> tuple[Any, ...]:
    kind = entry.__struct_config__.tag
    match entry:
        case Act():
            return (kind, entry.agent, entry.action, entry.plan, entry.outcome, entry.effect, entry.wrote)
        case Ended(how=how):
            return (kind, how)
        case Halted(agent=agent):
            return (kind, agent)
        case _:
            return (kind, *(getattr(entry, field) for field in entry.__struct_fields__))


def first_difference(one: History, two: History) -> int | None:
    """Index of the first entry in which two histories differ in shape, or None."""
    a, b = shape(one), shape(two)
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return None if len(a) == len(b) else min(len(a), len(b))
