"""What happens at a point besides the port's own work: events land, the truth of a system's own store is noted, caps are kept.

The slow half of the kit: an episode comes here only where an event is due, except that a system with its own store, an anchored
replay and a run that notes source lines come here at each point.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

from fencecheck.errors import BadInput, CouldNotRun, FencecheckError, alike
from fencecheck.history import Entry, Landed, Truth
from fencecheck.interleaving import (
    TURNS,
    UPDATE_HOWS,
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
    refuse_unknown_how,
)
from fencecheck.model import Action, Record
from fencecheck.run import faults, store
from fencecheck.run.faults import Restarted
from fencecheck.run.lines import line_of_caller, unawaitable
from fencecheck.run.raised import place, said
from fencecheck.run.world import ANYONE, World, handed_out, snapshot

if TYPE_CHECKING:
    from fencecheck.run.kit import Kit
    from fencecheck.run.line import Waiting

Steps = Generator[Any, Any, bool]
SEVERAL = "several versions"
"""What an id of a system's own store names that is an id of several keys."""


class Anchored:
    """Where the events of a stored case land: on the n-th point of a label. `left` holds those that have not landed."""

    def __init__(self, events: tuple[tuple[str, int, What], ...]) -> None:
        self.left = list(events)
        self._seen: dict[str, int] = {}

    def due(self, label: str) -> list[What]:
        """The events due before this point, taken from `left`."""
        number = self._seen[label] = self._seen.get(label, 0) + 1
        due = [what for text, n, what in self.left if (text, n) == (label, number)]
        self.left = [event for event in self.left if event[:2] != (label, number)]
        return due

    def turn(self, label: str) -> list[What]:
        """The switches and advances due where it is the turn of the next call of that label: at most one, taken from `left`.

        A call whose turn was given away is next again afterwards, and there the next of them is due.
        """
        call = (label, self._seen.get(label, 0) + 1)
        for i, (text, n, what) in enumerate(self.left):
            if (text, n) == call and isinstance(what, TURNS):
                del self.left[i]
                return [what]
        return []


class Landing:
    """Lands the events of one episode.

    Attributes:
        names: for a system with its own store, the store's version ids to the names that the history uses: by key and id, since each row may
            count its versions from 1, and by the id alone for where no key is known; `SEVERAL` where that is a version of several keys.
    """

    def __init__(
        self,
        system: Any,
        world: World,
        log: list[Entry],
        *,
        events: tuple[Event, ...],
        dropped: tuple[tuple[str, str], ...],
        anchors: Anchored | None,
        own_store: bool,
        lines: dict[int, str] | None,
        scheduled: bool = False,
    ) -> None:
        self.system = system
        self.world = world
        self.log = log
        self.kit: Kit  # set by the kit's maker, as each needs the other
        self.names: dict[Any, str] = {}
        self._own_ids: dict[str, Any] = {}
        self._turns: list[Event] = []  # of a scheduler of ours, which takes them itself
        if scheduled and any(type(event.what) in TURNS for event in events):
            self._turns = [event for event in events if type(event.what) in TURNS]
            events = tuple([event for event in events if type(event.what) not in TURNS])
        self._events = events
        self._done = 0
        self._dropped = dropped
        self._anchors = anchors
        self.own_store = own_store
        self._truths: dict[str, str] = {}
        self._lines = lines
        self._declared: dict[str, tuple[str, ...]] = {}
        self._pending: list[tuple[int, What]] = []
        self._written: set[str] = set()  # versions that the system committed itself, whose values are not known
        self._seeding = False  # before the run there is nothing that could halt
        self.waits: list[str] = []  # what awaited ports wait for without an end, where no line knows

    # -- arriving at a point ----------------------------------------------------------------------------------------

    @property
    def always(self) -> bool:
        """Whether each point must come here."""
        return self.own_store or self._anchors is not None or self._lines is not None

    def next_stop(self) -> int:
        """The next point that must come here."""
        if self.always:
            return 0
        most: int = self.system.max_points
        if self._turns:
            most = min(most, self._turns[0].at)
        return min(self._events[self._done].at, most) if self._done < len(self._events) else most

    def arrive(self, point: int, port: str, about: str, agent: str) -> None:
        """Lands what is due before `point`, for a caller that cannot await."""
        self.kit._drive(self.arriving(point, port, about, agent))

    def arriving(self, point: int, port: str, about: str, agent: str) -> Generator[Any, Any, None]:
        """The same as steps, which an awaited port drives."""
        kit = self.kit
        if kit._refused is not None:
            raise kit._refused
        if kit._over is not None or point >= self.system.max_points:
            raise kit._stuck(kit._over or f"nothing: {point} points, the most that an episode may have (max_points)")
        if kit._restart_at is not None:
            raise Restarted(agent)  # again, to whoever swallowed it and to all that ran beside
        if self._anchors is not None:
            self._pending += [(point, what) for what in self._anchors.due(self._label(port, about))]
        while self._turns and self._turns[0].at <= point:  # a call that is not awaited gives no turn away
            self._pending.append((point, self._turns.pop(0).what))
        while self._done < len(self._events) and self._events[self._done].at <= point:
            self._pending.append((point, self._events[self._done].what))
            self._done += 1
        kit._next = self.next_stop()
        while self._pending:
            at, what = self._pending.pop(0)
            yield from self._land(at, what, agent, self._label(port, about))
        if self.own_store:
            yield from self.observe()
        if self._lines is not None:
            self._lines[len(self.log)] = line_of_caller()

    def _label(self, port: str, about: str) -> str:
        if port == "record":
            record = self.world.records.get(about)
            about = (record.key if record is not None else None) or "derived"
        return f"{port} {about}"

    def turn(self, point: int, waiting: Waiting, armed: bool) -> int | None:
        """Whose call of those `waiting` is answered at `point`: of the first, unless a switch fires. None where time passes first.

        Args:
            armed: whether a timer is set.
        """
        first = next(iter(waiting))
        if self.kit._over is not None or self.kit._restart_at is not None:
            return first  # nothing lands any more
        label = self._label(*waiting[first][1:])
        due = self._anchors.turn(label) if self._anchors is not None else []
        while self._turns and self._turns[0].at <= point:
            due.append(self._turns.pop(0).what)
        due.sort(key=lambda what: type(what) is Switch)
        for i, what in enumerate(due):
            if type(what) is Advance:
                self.log.append(Landed(point, what, armed, due=label if armed else None))
                if armed:
                    self._turns[:0] = [Event(point, later) for later in due[i + 1 :]]
                    return None
        chosen = first
        for what in due:
            if type(what) is Switch:
                fired = chosen == first != what.task and what.task in waiting
                runs = self.kit._line.function_of(what.task) if fired else None
                self.log.append(Landed(point, what, fired, due=label if fired else None, runs=runs))
                chosen = what.task if fired else chosen
        return chosen

    def _land(self, at: int, what: What, agent: str, label: str) -> Generator[Any, Any, None]:
        if type(what) is Restart:
            fired = what.agent == agent and callable(getattr(self.system, "restart", None))
            self.log.append(Landed(at, what, fired, unwound=label if fired else None))
            if fired:
                yield from self._restart(at, what)
            return
        entry = Landed(at, what, False)
        self.log.append(entry)
        entry.fired = yield from _LANDINGS[type(what)](self, what, entry)

    def _restart(self, at: int, what: Restart) -> Generator[Any, Any, None]:
        """The caller is unwound, so its call never happened: the point keeps its number for the first call after the restart."""
        yield from self._hook("restart")
        for key in list(self.world.versions):
            self.world.memory[what.agent, key] = None
        self.kit._restart_at, self.kit._next = at, 0
        raise Restarted(what.agent)

    def _hook(self, name: str, *args: Any) -> Generator[Any, Any, Any]:
        """Calls a hook of the adapter, if it has it; what the hook does through ports is part of the event.

        Raises:
            CouldNotRun: the hook raised what is neither a fault nor a halt of the system, so that it is the adapter that failed.
        """
        hook = getattr(self.system, name, None)
        if hook is None:
            return None
        self.kit._hooked(True)
        try:
            answer = hook(*args)
            if hasattr(answer, "__await__"):
                answer = yield ("await", answer)
        except Exception as error:
            meant = (FencecheckError, faults.Fault, *self.system.halt_exceptions)
            if isinstance(error, FencecheckError) or (
                not self._seeding and (isinstance(error, meant) or isinstance(error.__cause__, faults.Fault))
            ):
                raise
            at = place(error)
            raise CouldNotRun(f"{self._name_of()}: {name}() failed: {said(error)}{f' ({at})' if at else ''}") from error
        finally:
            self.kit._hooked(False)
        return answer

    # -- the kinds of event -----------------------------------------------------------------------------------------

    def _turn_gone(self, what: Switch | Advance, entry: Landed) -> Steps:
        """No scheduler of ours was asked, or the point was that of a call that is not awaited."""
        yield from ()
        return False

    def _update(self, what: Update, entry: Landed) -> Steps:
        world, key = self.world, what.key
        if key not in world.heads:
            return False
        if what.how not in UPDATE_HOWS:
            refuse_unknown_how(what, world.prepared.scenario)
            return (yield from store.change(self, what, entry))
        removed = what.how == "removed"
        if removed and self.own_store and not callable(getattr(self.system, "remove", None)):
            return False
        value = None if removed else world.earlier_value(key) if what.how == "earlier" else world.fresh_value(key)
        if (removed and world.records[world.heads[key]].removed) or (what.how == "earlier" and value is None):
            return False
        if self.own_store:
            entry.version = yield from self.publish(key, value, removed)
        else:
            entry.version = world.commit(key, value, removed=removed).id
        return True

    def publish(self, key: str, value: Any, removed: bool = False) -> Generator[Any, Any, str]:
        """Commits a version through the system's own store and names it."""
        own_id = yield from (self._hook("remove", key) if removed else self._hook("publish", key, snapshot(value)))
        head = yield from self._hook("true_head", key)
        own_id = head if own_id is None else own_id
        store.refuse_no_version(self, key, value, own_id, head, removed)
        id = self.world.commit(key, value, removed=removed).id
        self._name(key, own_id, id)
        self._truths[key] = id
        return id

    def _name_of(self) -> str:
        return type(self.system).__qualname__

    def _name(self, key: str, own_id: Any, id: str) -> None:
        before = self.names.get(own_id)
        shared = before is not None and (before is SEVERAL or self.world.records[before].key != key)
        self.names[key, own_id], self.names[own_id] = id, SEVERAL if shared else id
        self._own_ids[id] = own_id

    def _deliver(self, what: Deliver, entry: Landed) -> Steps:
        world, key = self.world, what.key
        id = world.heads.get(key)
        if id is None:
            return False
        acted = (getattr(entry, "agent", ANYONE) for entry in self.log)
        agents = dict.fromkeys([*world.prepared.scenario.agents, *self.kit._named, *acted, *(agent for agent, _ in world.memory)])
        agents.pop(ANYONE, None)
        old = {agent: world.remembered(agent, key) for agent in agents}
        for agent in (*agents, ANYONE):
            world.memory[agent, key] = id
        entry.version = id
        yield from self._hook("deliver", key, self.handed_out(world.records[id]))
        return any(before != id for before in old.values())

    def _replan(self, what: Replan, entry: Landed) -> Steps:
        if what.task not in self.world.prepared.scenario.tasks or not callable(getattr(self.system, "replan", None)):
            return False
        try:
            yield from self._hook("replan", what.task)
        except faults.Fault:
            return False  # the planner could not plan now
        return True

    def _outage(self, what: Outage, entry: Landed) -> Steps:
        yield from ()
        before = self.world.modes.get(what.owner)
        if what.owner in self.world.prepared.scenario.owners:
            self.world.modes[what.owner] = what.how
        return before != self.world.modes.get(what.owner)

    def _restore(self, what: Restore, entry: Landed) -> Steps:
        yield from ()
        return self.world.modes.pop(what.owner, None) is not None

    def _missing(self, what: MissingParent, entry: Landed) -> Steps:
        id = self.world.place(what.place)
        if id is None or id in self.world.lost:
            return False
        entry.record = id
        self.world.lost.add(id)
        yield from self._hook("lose", self._own_ids.get(id, id))
        return True

    def _corrupt(self, what: CorruptParent, entry: Landed) -> Steps:
        yield from ()
        world = self.world
        id = world.place(what.place)
        scenario = world.prepared.scenario
        keys = tuple(key for action in scenario.actions for key in scenario.declared(action, self._dropped))
        served = world.corruption(id, what.how, keys) if id is not None and id in world.records else None
        if id is None or served is None or world.corrupted.get(id) == served:
            return False
        entry.record = id
        world.corrupted[id] = served
        return True

    def _tool_fault(self, what: ToolFault, entry: Landed) -> Steps:
        yield from ()
        before = self.world.tool_faults.get(what.tool)
        self.world.tool_faults[what.tool] = what.how
        return before != what.how

    # -- a system's own store ---------------------------------------------------------------------------------------

    def observe(self, by: str | None = None) -> Generator[Any, Any, None]:
        """Notes each head of the system's own store that is not the one seen last. `by` is the agent whose act was just done."""
        for key in self.world.prepared.scenario.keys:
            own_id = yield from self._hook("true_head", key)
            id = self.names.get((key, own_id))
            if id is None:
                # no value that another version has: what the system wrote is not known
                written = f"{key} version {len(self.world.versions[key]) + 1}, written by the system"
                id = self.world.commit(key, None if own_id is None else written, removed=own_id is None).id
                self._name(key, own_id, id)
                self._written.add(id)
            if self._truths.get(key) != id:
                self._truths[key] = id
                self.world.heads[key] = id
                self.log.append(Truth(key, id, by))

    def seed(self) -> Generator[Any, Any, None]:
        """Publishes the first version of each key whose head the system's own store does not hold yet.

        Raises:
            CouldNotRun: it holds one though in an earlier episode it did not: what is left of that.
        """
        self._seeding = True
        prepared = self.world.prepared
        for key in prepared.scenario.keys:
            value = prepared.scenario.value_of(key, 1)
            own_id = yield from self._hook("true_head", key)
            if own_id is None:
                prepared.begun_empty.add(key)
                yield from self.publish(key, value)
            elif key in prepared.begun_empty:
                raise store.leaked(self, key, own_id)
            else:
                self._truths[key] = self.world.commit(key, value).id
                self._name(key, own_id, self._truths[key])
        yield from store.begin(self)
        self._seeding = False

    def own_id(self, id: str) -> Any:
        """The store's own id of a version, or the version itself where the kit is the store."""
        return self._own_ids.get(id, id)

    def handed_out(self, record: Record) -> Record:
        """What a system is given of a record: in its own store's ids, where they name one version only."""
        if not self.own_store:
            return handed_out(record)
        id = self._own_ids.get(record.id, record.id) if record.key is not None else record.id
        parents = tuple(self._unambiguous(parent) for parent in record.parents)
        return Record(id, record.key, snapshot(record.value), parents, record.supersedes, record.removed)

    def _unambiguous(self, id: str) -> Any:
        own_id = self._own_ids.get(id, id)
        return own_id if self.names.get(own_id) == id else id

    def unawaitable(self) -> CouldNotRun:
        """What is said where an async function was given to a port that cannot await."""
        return unawaitable(self._name_of(), self.system.runtime)

    # -- the scenario, as this episode has it ------------------------------------------------------------------------

    def action(self, name: str) -> Action:
        """The action of that name.

        Raises:
            BadInput: the scenario has none.
        """
        action = self.world.prepared.actions.get(name)
        if action is None:
            known = self.world.prepared.actions
            like = alike(name, known)
            right = f"did you mean {like!r}? Else add" if like is not None else "add"
            raise BadInput(
                f"{self._name_of()} acts {name!r}, which its scenario does not list (actions: {', '.join(known)}): {right} Action({name!r}, ...)"
            )
        return action

    def declared(self, name: str, args: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """D(a) of the action `name` without the dropped declarations.

        Raises:
            BadInput: there is no such action, or its keys depend on arguments and there are none.
        """
        keys = self._declared.get(name)
        if keys is None:
            action = self.action(name)
            if args is None and action.declares_by_arguments:
                raise BadInput(
                    f"{self._name_of()} calls declared({name!r}), whose keys depend on the arguments: write kit.declared({name!r}, args)"
                )
            keys = self.world.prepared.scenario.declared(action, self._dropped, args)
            if not action.declares_by_arguments:
                self._declared[name] = keys
        return keys

    def asked(self, name: str, *args: Any) -> Any:
        """What a hook says that is no part of an event, or None where there is none.

        Raises:
            CouldNotRun: it failed.
        """
        hook = getattr(self.system, name, None)
        try:
            return hook(*args) if hook is not None else None
        except Exception as error:
            at = place(error)
            raise CouldNotRun(f"{self._name_of()}: {name}() failed: {said(error)}{f' ({at})' if at else ''}") from error

    def version(self, id: Any, key: str | None = None) -> Any:
        """The name that the history uses for a version id, for a pair of key and id, or for the record of a version.

        Raises:
            BadInput: the id is a version of several keys, and nothing says of which.
        """
        if type(id) is Record:
            id, key = id.id, key if key is not None else id.key
        if not self.own_store:
            return id
        found = self.names.get((key, id), self.names.get(id, id))
        if found is SEVERAL:
            keys = [key for key in self.world.heads if (key, id) in self.names]
            raise BadInput(
                f"{self._name_of()}: {id!r} is a version of {' and of '.join(map(repr, keys))}, so it names neither: give ({keys[0]!r}, {id!r}), "
                "a pair of key and id, or a record that kit.read() returned"
            )
        return found


_LANDINGS: dict[type, Callable[[Landing, Any, Landed], Steps]] = {
    Update: Landing._update,
    Deliver: Landing._deliver,
    Switch: Landing._turn_gone,
    Advance: Landing._turn_gone,
    Replan: Landing._replan,
    Outage: Landing._outage,
    Restore: Landing._restore,
    MissingParent: Landing._missing,
    CorruptParent: Landing._corrupt,
    ToolFault: Landing._tool_fault,
}
