"""Where an event is worth placing: right before a point that depends on it.

A system sees an event only when a port call touches the event's key, owner, record or tool. So each point has a set of objects that it
reads and each event a set that it writes or reads, and an event placed anywhere else lands unseen until the next point that depends on it:
both placements are one episode. Objects are pairs, such as `("head", key)` or `("mode", owner)`.

Marks take no time, so what the judge reads at a mark counts for the point before it: an update that lands after that point comes too late to
make the validation torn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fencecheck.history import Act, Declared, Derive, Fetch, Head, History, Landed, Memory, Pause, Read, Seam, Validated, is_point
from fencecheck.interleaving import (
    CORRUPT_HOWS,
    DISHONEST,
    OUTAGE_HOWS,
    TOOL_HOWS,
    TURNS,
    Advance,
    CorruptParent,
    Deliver,
    Event,
    MissingParent,
    Outage,
    Replan,
    Restart,
    Restore,
    Switch,
    ToolFault,
    Update,
    What,
    kind_of,
    update_hows,
)
from fencecheck.model import Scenario

Dropped = tuple[tuple[str, str], ...]
"""Declarations that are dropped, as pairs of action and key."""
Object = tuple[str, str]
Objects = frozenset[Object]
Touch = tuple[Objects, Objects]
"""What a step reads and what it writes."""
_PLAN: Objects = frozenset({("plan", "")})


class Point:
    """One point of an episode: its number, its agent, and the objects that it reads and writes."""

    __slots__ = ("agent", "index", "number", "reads", "writes")

    def __init__(self, number: int, index: int, agent: str, reads: Objects, writes: Objects) -> None:
        self.number, self.index, self.agent, self.reads, self.writes = number, index, agent, reads, writes


class Touching:
    """What the points of episodes in one scenario touch."""

    def __init__(self, scenario: Scenario) -> None:
        self._owner = {key: name for name, keys in scenario.owners.items() for key in keys}
        keys = {key for action in scenario.actions for key in (*action.depends_on, *(action.declared or ()))}
        if any(action.by_arguments for action in scenario.actions):
            keys = set(scenario.keys)
        self._true_keys: Objects = frozenset(("head", key) for key in keys)

    def at(self, history: History, index: int) -> Touch:
        """What the point at that index of the entries touches, with what the judge reads at a mark before the next point."""
        entries = history.entries
        reads, writes = _touches(entries[index], self._owner, self._true_keys, history)
        for entry in entries[index + 1 :]:
            if type(entry) is Validated:
                return reads | self._true_keys, writes
            if is_point(entry):
                break
        return reads, writes


def points_of(history: History) -> list[Point]:
    """The points of an episode with what each touches."""
    touching = Touching(history.scenario)
    indices = [i for i, entry in enumerate(history.entries) if is_point(entry)]
    return [Point(n, i, history.entries[i].agent, *touching.at(history, i)) for n, i in enumerate(indices)]  # type: ignore[union-attr]


def _touches(entry: object, owner: dict[str, str], true_keys: Objects, history: History) -> tuple[Objects, Objects]:
    match entry:
        case Read(key=key):
            versions = {("rec", id) for id in history.versions.get(key, ())}
            return frozenset({*_asked(entry, owner, history), ("heads-record", key), *versions}), frozenset({("mem", key)})
        case Head():
            return frozenset(_asked(entry, owner, history)), frozenset()
        case Memory(key=key):
            return frozenset({("mem", key)}), frozenset()
        case Fetch(id=id):
            key_of = history.records[id].key if id in history.records else None
            return frozenset({("rec", id), *((("heads-record", key_of),) if key_of is not None else ())}), frozenset()
        case Derive(id=id):
            key_of = history.records[id].key
            return frozenset(), frozenset({("plan", ""), ("rec", id), *((("head", key_of),) if key_of is not None else ())})
        case Act(action=name):
            action = history.scenario.action(name)
            writes = frozenset((kind, key) for key in (action.writes if action else ()) for kind in ("head", "mem"))
            expected = {("head", key) for key in entry.expect or ()}
            return true_keys | expected | {("tool", action.tool if action else name)}, writes
        case Pause() | Seam():
            return frozenset(), frozenset()
    raise TypeError(f"{type(entry).__name__} is not a point")


def _asked(entry: Read | Head, owner: dict[str, str], history: History) -> set[Object]:
    """What an owner's answer depends on. An answer for another key shows that key's head."""
    keys = {entry.key}
    if entry.answer == "wrong-key" and entry.version in history.records:
        keys.add(history.records[entry.version].key or entry.key)
    return {("mode", owner.get(entry.key, "")), *(("head", key) for key in keys)}


def event_touches(what: What, scenario: Scenario, record: str | None = None) -> tuple[Objects, Objects]:
    """What an event reads and writes. `record` is the record that its place came to."""
    match what:
        case Update(key=key):
            return frozenset({("head", key)}), frozenset({("head", key)})
        case Deliver(key=key):
            return frozenset({("head", key)}), frozenset({("mem", key)})
        case Replan():
            read = {(kind, key) for key in scenario.keys for kind in ("head", "mem", "heads-record")}
            return frozenset(read | {("mode", owner) for owner in scenario.owners}), frozenset({("plan", "")})
        case Outage(how="wrong-key", owner=owner):
            # which version of another key it answers with depends on that key's head
            return frozenset(("head", key) for key in scenario.keys), frozenset({("mode", owner)})
        case Outage(owner=owner) | Restore(owner=owner):
            return frozenset(), frozenset({("mode", owner)})
        case MissingParent(place=str(key)):
            return frozenset({("head", key)}), frozenset({("heads-record", key)})
        case MissingParent():
            return _PLAN, frozenset({("rec", record)} if record is not None else ())
        case CorruptParent(how=how):
            # a second version of a key can be served only where there is one
            heads = {("head", key) for key in scenario.keys if how == "two-versions"}
            return _PLAN | heads, frozenset({("rec", record)} if record is not None else ())
        case ToolFault(tool=tool):
            return frozenset(), frozenset({("tool", tool)})
        case Restart():
            return frozenset(), frozenset({("process", "")})
        case Switch() | Advance():
            return frozenset(), frozenset()  # they touch nothing of the world: who waits says where they are placed


def asking_touches(what: What, scenario: Scenario) -> Touch:
    """What an event touches whose hook was seen to use a port, or to act where it replans: it may ask for anything and call any tool."""
    reads, writes = event_touches(what, scenario)
    everything = event_touches(Replan(""), scenario)
    tools = {("tool", action.tool) for action in scenario.actions}
    return reads | everything[0] | tools, writes | everything[1]


def turns_of(history: History, kinds: Iterable[str], last: Event | None) -> list[Event]:
    """The switches and advances after the events of an episode, the last of which is `last`, that would change its order: each where it fires.

    Whose turn it is at a point is settled before other events land there, so they come first there; after an advance it is settled anew.
    """
    found: list[Event] = []
    if "switch" in kinds:
        found += [Event(at, Switch(lane)) for at, lanes in history.waiting.items() for lane in lanes[1:]]
    if "advance" in kinds:
        found += [Event(at, Advance()) for at in history.timers]
    if last is None:
        return found
    return [event for event in found if event.at > last.at or (event.at == last.at and isinstance(last.what, Advance))]


def every(scenario: Scenario, kinds: Iterable[str], places: int, assume_broken: frozenset[str] = frozenset(), tasks: int = 0) -> list[What]:
    """All events of these kinds in this scenario, simplest first: in the order in which the strategies shrink.

    Args:
        places: number of places in a lineage, the plan itself included.
        assume_broken: assumptions that the search may break, such as `honest-owners`.
        tasks: number of tasks whose turn it can be; with none there are no switches and advances.
    """
    kinds = set(kinds)
    hows = [how for how in OUTAGE_HOWS if "honest-owners" in assume_broken or how not in DISHONEST]
    keys, owners = scenario.keys, tuple(scenario.owners)
    tools = tuple(dict.fromkeys(action.tool for action in scenario.actions))
    ancestors = range(places)
    found: list[What] = []
    found += [Update(key, how) for key in keys for how in update_hows(scenario)]
    found += [Deliver(key) for key in keys]
    found += [*(Switch(lane) for lane in range(tasks)), *([Advance()] if tasks else [])]
    found += [Outage(owner, how) for owner in owners for how in hows]
    found += [Restore(owner) for owner in owners]
    found += [MissingParent(place) for place in (*ancestors, *keys)]
    found += [CorruptParent(place, corrupt) for place in ancestors for corrupt in CORRUPT_HOWS]
    found += [ToolFault(tool, fault) for tool in tools for fault in TOOL_HOWS]
    found += [Restart(agent) for agent in scenario.agents]
    found += [Replan(task) for task in scenario.tasks]
    return [what for what in found if kind_of(what) in kinds]


_LIKE_ANOTHER = ("earlier", "malformed", "wrong-key")
"""How an event can land that shows nothing of the adapter which another does not: what a system makes of a bad answer is its own."""


def alone(scenario: Scenario, kinds: Iterable[str], number: int) -> Iterator[tuple[Event, ...]]:
    """Each event of these kinds alone before each of the first points; a delivery after an update, without which it brings nothing.

    Args:
        number: of how many points.
    """
    for what in every(scenario, kinds, 1):
        for at in range(number):
            if isinstance(what, Deliver):
                yield Event(at, Update(what.key)), Event(at, what)
            elif not isinstance(what, CorruptParent | Restore) and getattr(what, "how", "") not in _LIKE_ANOTHER:
                yield (Event(at, what),)


def push_right(history: History, events: tuple[Event, ...]) -> tuple[Event, ...]:
    """Moves each event right before the first point that depends on it, which changes nothing but the name of the episode.

    Two events keep their order where one depends on the other. An event on which nothing depends stays where it is.
    """
    landed = [entry for entry in history.entries if type(entry) is Landed and entry.fired]
    all_points = points_of(history)
    placed: list[Event] = []
    for entry, event in reversed(list(zip(landed, events, strict=True))):
        reads, writes = event_touches(event.what, history.scenario, entry.record)
        bound = min(
            (later.at for later in placed if depend((reads, writes), event_touches(later.what, history.scenario, None))), default=None
        )
        at = event.at if type(event.what) in (Restart, Replan, *TURNS) else _first_dependent(all_points, event.at, reads, writes)
        at = event.at if at is None else at
        placed.append(Event(at if bound is None else min(at, bound), event.what))
    placed.reverse()
    return tuple(sorted(placed, key=lambda event: event.at))


def _first_dependent(all_points: list[Point], at: int, reads: Objects, writes: Objects) -> int | None:
    for point in all_points[at:]:
        if depend((reads, writes), (point.reads, point.writes)):
            return point.number
    return None


def depend(one: tuple[Objects, Objects], two: tuple[Objects, Objects]) -> bool:
    """Whether one of two steps writes what the other reads or writes."""
    return bool(one[1] & (two[0] | two[1])) or bool(one[0] & two[1])


def asks_declared(history: History) -> Dropped:
    """The declarations that can be dropped: those that the system asked `kit.declared` for."""
    return tuple([pair for _, _, asked in asks_first(history) for pair in asked])


def asks_first(history: History) -> Iterator[tuple[int, tuple[int, int] | None, Dropped]]:
    """Where the system asked for declarations that it had not asked for before.

    Yields:
        The index of that entry, number and index of the last point before it, if there is one, and the declarations as pairs of action and key.
    """
    known: set[tuple[str, str]] = set()
    point: tuple[int, int] | None = None
    for index, entry in enumerate(history.entries):
        if type(entry) is Declared:
            asked = tuple([(entry.action, key) for key in entry.keys if (entry.action, key) not in known])
            known.update(asked)
            if asked:
                yield index, point, asked
        elif is_point(entry):
            point = (point[0] + 1 if point is not None else 0, index)
