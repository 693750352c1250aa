"""Everything that varies between two episodes of one system: a value that is generated, shrunk, enumerated, stored and replayed.

An event is `(at, what)`: it lands right before the point number `at`, counted from 0 over the whole episode. Absolute positions, since
they shrink best: each event moves on its own. No events means that the system runs alone; that is the simplest interleaving.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Union, get_args

from msgspec import Struct
from msgspec.structs import force_setattr

from fencecheck.errors import BadInput, alike
from fencecheck.model import Scenario

UpdateHow = Literal["fresh", "earlier", "removed"]
OutageHow = Literal["refuse", "hang", "malformed", "wrong-key", "older-head"]
CorruptHow = Literal["dangling", "cycle", "wrong-key", "two-versions"]
ToolHow = Literal["refuse", "lost-reply", "precondition-failed"]

UPDATE_HOWS: tuple[UpdateHow, ...] = get_args(UpdateHow)
OUTAGE_HOWS: tuple[OutageHow, ...] = get_args(OutageHow)
CORRUPT_HOWS: tuple[CorruptHow, ...] = get_args(CorruptHow)
TOOL_HOWS: tuple[ToolHow, ...] = get_args(ToolHow)
DISHONEST: frozenset[str] = frozenset({"older-head"})
"""Owner answers that break the assumption of honest owners; off unless `assume_broken={"honest-owners"}`."""


def _one_of(what: Struct, how: str, hows: tuple[str, ...], place: str = "") -> None:
    if how not in hows:
        raise BadInput(f"{place}{type(what).__name__}: how must be one of {', '.join(hows)}, not {how!r}")


def _at_place(what: Struct, place: int | str) -> None:
    if isinstance(place, int) and place < 0:
        raise BadInput(f"{type(what).__name__}: places in a lineage are counted from 0, not {place}")


class Update(Struct, frozen=True, tag="update", repr_omit_defaults=True, forbid_unknown_fields=True):
    """The owner of `key` commits a new version: a fresh value, an earlier value again, or a tombstone.

    Args:
        key: the fact.
        how: `fresh`, `earlier` or `removed`; or one of the further ways that the scenario names in `update_hows`.
    """

    key: str
    how: str = "fresh"


def refuse_unknown_how(what: Update, scenario: Scenario, place: str = "") -> None:
    """Says of an update, after the place where it stands, that it can happen in no such way in this scenario.

    Raises:
        BadInput: it cannot.
    """
    if what.how not in UPDATE_HOWS:
        _one_of(what, what.how, update_hows(scenario), place)


def update_hows(scenario: Scenario) -> tuple[str, ...]:
    """The ways in which a key can be updated in this scenario, simplest first."""
    return (*UPDATE_HOWS, *scenario.update_hows)


class Deliver(Struct, frozen=True, tag="deliver", repr_omit_defaults=True, forbid_unknown_fields=True):
    """The newest version of `key` reaches every agent's memory. Nothing else changes: memory is fresh, plans are not."""

    key: str


class Replan(Struct, frozen=True, tag="replan", repr_omit_defaults=True, forbid_unknown_fields=True):
    """The planner derives a new plan for `task` while the executor may still hold the old one."""

    task: str = "task"


class Switch(Struct, frozen=True, tag="switch", repr_omit_defaults=True, forbid_unknown_fields=True):
    """Of the calls that wait to be answered, that of another task goes first.

    Args:
        task: its number in the order in which the tasks of the run were created; 0 is the one that calls `run`.
    """

    task: int = 0

    def __post_init__(self) -> None:
        if self.task < 0:
            raise BadInput(f"Switch: tasks are numbered from 0, not {self.task}")


class Advance(Struct, frozen=True, tag="advance", repr_omit_defaults=True, forbid_unknown_fields=True):
    """Virtual time passes to the next timer, while calls wait to be answered: so a timeout ends before its answer comes."""


class Outage(Struct, frozen=True, tag="outage", repr_omit_defaults=True, forbid_unknown_fields=True):
    """From now on `owner` answers badly.

    Args:
        owner: whose answers.
        how: `refuse`; `hang`, it never answers; `malformed`, it answers garbage; `wrong-key`, it answers for another key; `older-head`, it answers
            with an earlier version, which breaks the assumption of honest owners.
    """

    owner: str
    how: OutageHow = "refuse"

    def __post_init__(self) -> None:
        _one_of(self, self.how, OUTAGE_HOWS)


class Restore(Struct, frozen=True, tag="restore", repr_omit_defaults=True, forbid_unknown_fields=True):
    """From now on `owner` answers well again."""

    owner: str


class MissingParent(Struct, frozen=True, tag="missing-parent", repr_omit_defaults=True, forbid_unknown_fields=True):
    """A record can no longer be read.

    Args:
        place: a number is a place in the lineage of the plan derived last, breadth first, 0 being the plan itself; a text is a
            key, whose head record it is.
    """

    place: int | str = 1

    def __post_init__(self) -> None:
        _at_place(self, self.place)


class CorruptParent(Struct, frozen=True, tag="corrupt-parent", repr_omit_defaults=True, forbid_unknown_fields=True):
    """A record of the lineage is served with parents that must not verify, or under another key.

    Args:
        place: as in `MissingParent`, numbers only.
        how: `dangling` adds a parent that does not exist; `cycle` makes the record its own ancestor; `wrong-key` serves it under
            another key; `two-versions` adds another version of a key that it already rests on.
    """

    place: int = 1
    how: CorruptHow = "dangling"

    def __post_init__(self) -> None:
        _at_place(self, self.place)
        _one_of(self, self.how, CORRUPT_HOWS)


class ToolFault(Struct, frozen=True, tag="tool-fault", repr_omit_defaults=True, forbid_unknown_fields=True):
    """The next call of `tool` goes wrong.

    Args:
        tool: which one.
        how: `refuse`, nothing is done; `lost-reply`, it is done and the reply is lost; `precondition-failed`, nothing is done, as after If-Match.
    """

    tool: str
    how: ToolHow = "refuse"

    def __post_init__(self) -> None:
        _one_of(self, self.how, TOOL_HOWS)


class Restart(Struct, frozen=True, tag="restart", repr_omit_defaults=True, forbid_unknown_fields=True):
    """`agent` loses what it holds in memory; durable storage stays; `run` is called again and `setup` is not."""

    agent: str = "agent"


What = Union[  # noqa: UP007 (msgspec reads it)
    Update, Deliver, Switch, Advance, Outage, Restore, MissingParent, CorruptParent, ToolFault, Restart, Replan
]
KINDS: dict[str, type[Struct]] = {kind.__struct_config__.tag: kind for kind in get_args(What)}
"""Event kinds by the name that the command line and JSON use, simplest first: the order in which every engine prefers them."""


DROPPED = "dropped-declaration"
"""What is counted and chosen like a kind of event, but is no event: a declared key that is left out from the start."""
TURNS: tuple[type[Struct], ...] = (Switch, Advance)
"""The kinds that change nothing in the world: they decide who goes first, and so need a scheduler of ours."""


def refuse_kind(kind: str) -> None:
    """Says of a word that it is no kind of event.

    Raises:
        BadInput: it is none.
    """
    known = (*KINDS, DROPPED)
    if kind not in known:
        like = alike(kind, known)
        meant = f"did you mean {like}? Else " if like is not None else ""
        raise BadInput(f"there is no kind of event {kind!r}: {meant}use {', '.join(known)}")


def kind_of(what: What) -> str:
    """The name of the event's kind, such as `missing-parent`."""
    return str(what.__struct_config__.tag)


class Event(Struct, frozen=True, repr_omit_defaults=True, forbid_unknown_fields=True):
    """`what` lands right before the point number `at` (0 is the first point of the episode)."""

    at: int
    what: What

    def __post_init__(self) -> None:
        if self.at < 0:
            raise BadInput(f"an event lands at point 0 or later, not at {self.at}")


class Interleaving(Struct, frozen=True, repr_omit_defaults=True, forbid_unknown_fields=True):
    """One way in which the world and the system can be interleaved.

    Args:
        scenario: the world.
        dropped: declarations that the application forgets, as pairs of action name and key.
        events: what lands where, in order; sorted by point when made, and of one point's events the order given is kept.
    """

    scenario: Scenario
    dropped: tuple[tuple[str, str], ...] = ()
    events: tuple[Event, ...] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            scenario: Scenario,
            dropped: Iterable[tuple[str, str]] = (),
            events: Iterable[Event | tuple[int, What]] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        events = [event if isinstance(event, Event) else Event(*event) for event in self.events]
        force_setattr(self, "events", tuple(sorted(events, key=lambda event: event.at)))
        for event in events:
            if type(event.what) is Update:
                refuse_unknown_how(event.what, self.scenario)
        force_setattr(self, "dropped", tuple(sorted(dict.fromkeys((name, key) for name, key in self.dropped))))

    @property
    def size(self) -> int:
        """Number of events, a dropped declaration counting as one."""
        return len(self.events) + len(self.dropped)
