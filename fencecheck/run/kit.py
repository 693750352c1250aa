"""The ports through which a system under test reaches the world, and the log of what it did there.

Each port call is a point. Events land inside the call, before the port does its work, on the caller's own thread: a system without
concurrency needs none of ours. `kit.aio` has the same ports to await.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from fencecheck.errors import BadInput, CouldNotRun, FencecheckError
from fencecheck.history import Declared, Derive, Entry, Fetch, Halted, Head, Memory, Pause, Read, Seam, Validated
from fencecheck.model import Record, Scenario
from fencecheck.run import faults, tools, unknown
from fencecheck.run.adapter import name_of
from fencecheck.run.closed import CLOSED, over
from fencecheck.run.current import in_via
from fencecheck.run.faults import MALFORMED, EpisodeOver, Restarted
from fencecheck.run.recognise import version_in
from fencecheck.run.world import World, handed_out

if TYPE_CHECKING:
    from fencecheck.run.aio import AioPorts
    from fencecheck.run.landing import Landing
    from fencecheck.run.wrap import Names

_AGENT: ContextVar[str] = ContextVar("fencecheck_agent")
_HOOK: ContextVar[bool] = ContextVar("fencecheck_hook", default=False)
"""Whether the caller is a hook of an event: others may go on while an async one waits."""


def inside_hook() -> bool:
    """Whether the caller is a hook of an event."""
    return _HOOK.get()


class Kit:
    """What `setup` is given. Its methods are the ports.

    Attributes:
        scenario: the world that this episode runs in.
        aio: the same ports, to await.
    """

    def __init__(self, world: World, landing: Landing, log: list[Entry], *, own_store: bool, system: Any) -> None:
        self.scenario: Scenario = world.prepared.scenario
        self._world = world
        self._landing = landing
        self._log = log
        self._own_store = own_store
        self._system = system
        self._points: Iterator[int] = itertools.count()
        self._next = 0  # the first point at which anything but the port's own work is to be done
        self._in_event = False
        self._over: str | None = None
        self._refused: FencecheckError | None = None
        self._named = [self.scenario.agents[0]]
        self._fallback = self._named[0]  # who calls from a thread that inherited nothing
        self._restart_at: int | None = None  # the point of a restart, until `run` is called again
        self._ran = False  # what it left running is cancelled, which is no answer to anything
        self._line: Any = None  # who is answered next, where a scheduler of ours says so
        self._aio: AioPorts | None = None

    # -- who calls, and what lands before the call ------------------------------------------------------------------

    @contextmanager
    def agent(self, name: str) -> Iterator[None]:
        """What is called inside is done by the agent `name`; tasks and threads started inside inherit it."""
        if not isinstance(name, str):
            raise BadInput(f"{self._name()} calls agent({name!r}): the name of an agent is a text")
        token, named = _AGENT.set(name), self._named
        named.append(name)
        self._fallback = name
        try:
            yield
        finally:
            # tasks may leave in another order than they came in
            del named[len(named) - 1 - named[::-1].index(name)]
            self._fallback = named[-1]
            _AGENT.reset(token)

    def _enter(self, port: str, about: str) -> str:
        agent = _AGENT.get(self._fallback)
        if not self._in_event:
            point = next(self._points)
            if point >= self._next:
                self._landing.arrive(point, port, about, agent)
        return agent

    def _begin(self) -> None:
        """`run` is about to be called: for the first time, or again, when the point of the restart keeps its number."""
        if self._restart_at is not None:
            if self._line is not None:
                self._line.forget(self._restart_at)
            self._points, self._restart_at = itertools.count(self._restart_at), None
            self._next = 0 if self._landing._pending else self._landing.next_stop()

    def _close(self) -> None:
        """The episode is over. Also unties kit, landing and system from one another, so that no garbage collector has to."""
        self._next = 0
        self._log = []  # what is stated late goes nowhere
        self._landing = self._system = self._line = CLOSED
        self._aio = None

    @property
    def _closed(self) -> bool:
        return self._landing is CLOSED

    def _stuck(self, waited_for: str) -> EpisodeOver:
        self._over = self._over or waited_for
        self._next = 0
        return EpisodeOver(waited_for)

    def _refuse(self, error: FencecheckError) -> FencecheckError:
        """Keeps what says that the episode cannot be judged, in case the system swallows it, and returns it to be raised."""
        self._refused = self._refused or error
        self._next = 0
        return error

    def _raise_as(self, fault: faults.Fault) -> BaseException:
        """The system's own exception for this fault, where `fault_exceptions` maps one."""
        for kind, own in self._system.fault_exceptions.items():
            if isinstance(fault, kind):
                made = own(str(fault)) if callable(own) else own
                if not isinstance(made, BaseException):
                    raise BadInput(f"{self._name()}: fault_exceptions makes {made!r} of {kind.__name__}: let it make an exception")
                made.__cause__ = fault
                return made
        return fault

    # -- asking an owner --------------------------------------------------------------------------------------------

    def read(self, key: str, *, timeout: float | None = None, via: Callable[[], Any] | None = None) -> Any:
        """The current record of `key`, as its owner answers.

        Args:
            key: the fact.
            timeout: seconds after which an owner that never answers raises `OwnerTimeout`; None waits for ever.
            via: the system's own way to read, called in place of the kit's store once the events have landed.

        Returns:
            A `Record` (its `removed` is True for a removed key), or what `via` returns.

        Raises:
            OwnerUnavailable, OwnerTimeout, RecordMissing: as the world answers, or their `fault_exceptions`.
        """
        agent = self._enter("read", key)
        world = self._world
        if via is None and not world.modes and not world.lost:
            id = world.heads.get(key)
            if id is not None:
                self._log.append(Read(agent, key, id, "ok", self._in_event))
                world.memory[agent, key] = id
                return self._landing.handed_out(world.records[id]) if self._own_store else handed_out(world.records[id])
        return self._drive(self._ask(Read, agent, key, timeout, via))

    def head(self, key: str, *, timeout: float | None = None, via: Callable[[], Any] | None = None) -> Any:
        """The id of the current version of `key`, as its owner answers. Arguments and errors as for `read`."""
        agent = self._enter("head", key)
        world = self._world
        if via is None and not world.modes:
            id = world.heads.get(key)
            if id is not None:
                self._log.append(Head(agent, key, id, "ok", self._in_event))
                return self._landing.own_id(id) if self._own_store else id
        return self._drive(self._ask(Head, agent, key, timeout, via))

    def _ask(self, port: type[Read] | type[Head], agent: str, key: str, timeout: float | None, via: Any) -> Generator[Any, Any, Any]:
        """One question to an owner. Yields what must be awaited; the driver decides how."""
        world, how = self._world, self._world.modes.get(self._world.owner_of.get(key, ""))
        if how == "hang" and timeout is None:
            self._log.append(port(agent, key, None, "hang", self._in_event))
            yield from self._wait_for_ever(f"the answer of {world.owner_of[key]} for {key}, with no timeout")
        if how in ("refuse", "hang"):
            self._log.append(port(agent, key, None, "refused" if how == "refuse" else "hang", self._in_event))
            if how == "hang":
                yield ("sleep", timeout)
            kind = faults.OwnerUnavailable if how == "refuse" else faults.OwnerTimeout
            raise self._raise_as(kind(f"{world.owner_of[key]} {'refuses' if how == 'refuse' else 'does not answer'} for {key}"))
        if how == "malformed" or (how == "wrong-key" and via is not None):
            self._log.append(port(agent, key, None, "malformed" if how == "malformed" else "wrong-key", self._in_event))
            return MALFORMED
        if via is None and key not in world.heads:
            self._log.append(port(agent, key, None, "missing", self._in_event))
            raise self._raise_as(faults.RecordMissing(unknown.no_key(world.owner_of, key)))
        if port is Read and world.heads.get(key) in world.lost:
            self._log.append(port(agent, key, world.heads[key], "missing", self._in_event))
            raise self._raise_as(faults.RecordMissing(f"the record {world.heads[key]} of {key} cannot be read"))
        if via is not None:
            answer = yield from self._call(via, lambda: self._log.append(port(agent, key, None, "refused", self._in_event)))
            id = self._recognised(key, answer)
            if id != world.heads.get(key) and not self._own_store:
                raise CouldNotRun(
                    f"{self._name()}: via= of kit.{port.__name__.lower()}({key!r}) did not answer with the current version, as updates do not reach "
                    "its store: define publish(key, value) and true_head(key)"
                )
            if key not in world.versions:
                raise CouldNotRun(
                    f"{self._name()} calls kit.{port.__name__.lower()}({key!r}, via=...): {unknown.no_key(world.owner_of, key)}"
                )
            if id is None:
                raise CouldNotRun(
                    f"{self._name()}: what via= of kit.{port.__name__.lower()}({key!r}) answered shows no version of {key!r}: let it hold "
                    "the version's id or its value, or define version_of(key, answer)"
                )
            self._log.append(port(agent, key, id, "ok", self._in_event))
            return answer
        return self._served(port, agent, key, how)

    def _recognised(self, key: str, answer: Any) -> str | None:
        """The version that an answer of the system's own carries, or None."""
        id = self._landing.asked("version_of", key, answer)
        return str(self._landing.version(id, key)) if id is not None else version_in(answer, key, self._world, self._landing.names)

    def _served(self, port: type[Read] | type[Head], agent: str, key: str, how: str | None) -> Any:
        world = self._world
        if how == "wrong-key":
            others = [k for k in world.owner_of if k != key]
            record = world.records[world.heads[others[0]]] if others else world.stranger(key)
            self._log.append(port(agent, key, record.id, "wrong-key", self._in_event))
        else:
            ids = world.versions[key]
            record = world.records[ids[-2] if how == "older-head" and len(ids) > 1 else ids[-1]]
            self._log.append(port(agent, key, record.id, "ok", self._in_event))
            if port is Read:
                world.memory[agent, key] = record.id
        return self._landing.handed_out(record) if port is Read else self._landing.own_id(record.id)

    # -- what the system itself holds -------------------------------------------------------------------------------

    def memory(self, key: str, *, via: Callable[[], Any] | None = None) -> Any:
        """The record of `key` as the agent remembers it: what it last read, or what was delivered to it since. Asks no owner; `via` as for `read`.

        Raises:
            NotRemembered: the agent was restarted, or there never was such a key.
        """
        agent = self._enter("memory", key)
        return self._drive(self._remember(agent, key, via))

    def _remember(self, agent: str, key: str, via: Any) -> Generator[Any, Any, Any]:
        world = self._world
        if via is not None:
            answer = yield from self._call(via, lambda: self._log.append(Memory(agent, key, None, self._in_event)))
            self._log.append(Memory(agent, key, self._recognised(key, answer), self._in_event))
            return answer
        id = world.remembered(agent, key)
        self._log.append(Memory(agent, key, id, self._in_event))
        if id is None:
            why = "" if key in world.versions else f", and {unknown.no_key(world.owner_of, key)}"
            raise self._raise_as(faults.NotRemembered(f"{agent} remembers nothing of {key}{why}"))
        return self._landing.handed_out(world.records[id])

    def record(self, id: str | Record, *, via: Callable[[], Any] | None = None) -> Any:
        """The record of that id, which may be that of a plan too, wherever it is stored; `via` as for `read`.

        Raises:
            RecordMissing: it cannot be read, or never existed.
        """
        about = self._version(id) if self._own_store else id.id if type(id) is Record else id
        agent = self._enter("record", about)  # type: ignore[arg-type]
        world = self._world
        if via is None and not world.lost and not world.corrupted:
            record = world.records.get(about)  # type: ignore[arg-type]
            if record is not None:
                self._log.append(Fetch(agent, about, "ok", self._in_event))  # type: ignore[arg-type]
                return self._landing.handed_out(record) if self._own_store else handed_out(record)
        return self._drive(self._fetch(agent, about, via))  # type: ignore[arg-type]

    def _fetch(self, agent: str, id: str, via: Any) -> Generator[Any, Any, Any]:
        world = self._world
        if id in world.lost or (via is None and id not in world.records):
            self._log.append(Fetch(agent, id, "missing", self._in_event))
            why = f"the record {id} cannot be read" if id in world.records else unknown.no_record(world.records, id)
            raise self._raise_as(faults.RecordMissing(why))
        if via is not None:
            answer = yield from self._call(via, lambda: self._log.append(Fetch(agent, id, "missing", self._in_event)))
            self._log.append(Fetch(agent, id, "ok", self._in_event))
            return answer
        served = world.corrupted.get(id)
        self._log.append(Fetch(agent, id, "ok" if served is None else "corrupt", self._in_event))
        return self._landing.handed_out(served if served is not None else world.records[id])

    def derive(self, value: Any, parents: Iterable[Any] = (), key: str | None = None, *, via: Callable[[], Any] | None = None) -> Record:
        """Writes a record that was derived from `parents`: a plan, a decision, an approval.

        Args:
            value: what it says.
            parents: the records, or their ids, that it was really derived from; pairs of key and id where a system's own store numbers
                the versions of each key for itself.
            key: where the derived record is a version of a named fact.
            via: the system's own way to store it, called besides.
        """
        if key is not None and not isinstance(key, str):
            raise BadInput(f"{self._name()} calls derive(..., key={key!r}): a key is a text")
        agent = self._enter("derive", key or "derived")
        record = self._world.derive(value, self._parents(parents), key)
        self._log.append(Derive(agent, record.id, self._in_event))
        if via is not None:
            self._drive(self._call(via, lambda: None))
        return self._landing.handed_out(record)

    def _parents(self, parents: Iterable[Any]) -> tuple[str, ...]:
        if type(parents) is not list and type(parents) is not tuple:  # the usual case: asking an abstract class takes as long as a port
            unknown.refuse_parents(self._landing, parents)
        records, missing = self._world.records, unknown.parent
        id: Any
        try:
            if self._own_store:
                return tuple([id if (id := self._version(p)) in records else missing(self._landing, p) for p in parents])
            return tuple([id if (id := p.id if type(p) is Record else p) in records else missing(self._landing, p) for p in parents])
        except TypeError:
            raise unknown.no_parents(self._landing, parents) from None

    def _name(self) -> str:
        return name_of(self._system)

    # -- acting -----------------------------------------------------------------------------------------------------

    def act(
        self,
        action: str,
        args: Mapping[str, Any] | None = None,
        *,
        plan: str | Record | None = None,
        basis: Mapping[str, str] | None = None,
        expect: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        via: Callable[[], Any] | None = None,
    ) -> Any:
        """Calls the outside.

        Args:
            action: name of one of the scenario's actions.
            args: what goes out. Published values found in it show what it was made from.
            plan: the derived record that it carries out.
            basis: key to the id of the version that it was made from.
            expect: key to version id, which the tool checks atomically with the effect (If-Match, RFC 9110, section 13.1.1).
            idempotency_key: a call with a used key has no second effect.
            via: the system's own tool, called in place of the kit's.

        Returns:
            The tool's reply.

        Raises:
            ToolRefused, PreconditionFailed, IdempotencyKeyReused: nothing was done.
            ReplyLost: it was done, and the reply was lost.
        """
        agent = self._enter("act", action)
        shown = (plan, basis, expect, idempotency_key)
        if via is None:
            return tools.call_ours(self._landing, agent, action, args, shown)
        return self._drive(tools.call(self._landing, agent, action, args, shown, via))

    # -- seams and statements ---------------------------------------------------------------------------------------

    def pause(self, label: str = "") -> None:
        """A wait of unknown length: a person's approval, a queue; `label` says of what. A validation before it says nothing about what follows."""
        label = label if type(label) is str else str(label)
        agent = self._enter("pause", label)
        self._state(Pause(agent, label))

    def point(self, label: str = "") -> None:
        """Any other place at which the world may change; reports and stored cases call it `label`."""
        label = label if type(label) is str else str(label)
        agent = self._enter("point", label)
        self._state(Seam(agent, label))

    def declared(self, action: str, args: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """The keys that the application still declares for `action`: a system that asks here can be tested with dropped declarations.

        Args:
            args: the arguments of the call, where the keys depend on them.
        """
        keys = self._landing.declared(action, args)
        self._log.append(Declared(_AGENT.get(self._fallback), action, keys))
        return keys

    def validated(self, basis: Mapping[str, str] | Iterable[str]) -> None:
        """The mark: the keys of `basis`, a list or a mapping, have just been validated. To be called right after the answers were found equal.

        Raises:
            BadInput: it is neither, or there is no such key.
        """
        if isinstance(basis, str):
            raise BadInput(f"{self._name()} calls validated({basis!r}): it takes a list of keys; write [{basis!r}]")
        keys = tuple(basis) if type(basis) is dict or isinstance(basis, Iterable) else (basis,)
        try:
            known = self._world.prepared.keys.issuperset(keys)
        except TypeError:
            known = False
        if not known:
            unknown.refuse_marks(self._landing, basis, keys)
        self._state(Validated(_AGENT.get(self._fallback), keys))

    def halted(self, reason: str = "") -> None:
        """The system stops without acting, for this `reason`, which reports show."""
        self._state(Halted(_AGENT.get(self._fallback), reason if type(reason) is str else str(reason)))

    # -- what teams really run ---------------------------------------------------------------------------------------

    def wrap(
        self,
        client: Any,
        *,
        reads: Names = (),
        heads: Names = (),
        writes: Names = (),
        timeout: float | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """`client` with some of its methods made ports, and all else as it is. Arguments and errors as for `fencecheck.run.wrap.wrap`."""
        from fencecheck.run.wrap import wrap

        return wrap(self, client, reads=reads, heads=heads, writes=writes, timeout=timeout, idempotency_key=idempotency_key)

    def replaying(self, still: Callable[[], bool] | None = None, *, of: str = "") -> AbstractContextManager[None]:
        """One replay of a workflow, from its beginning: calls inside are no points, no answers and no effects, and return what they did before.

        Args:
            still: whether the engine is still replaying, asked at each call; None: to the end of the block.
            of: the name of the workflow, where several share an agent; its calls are then inside such a block the first time too.

        Raises:
            CouldNotRun: the class does not say `replays = True`.
            Nondeterministic: a call inside was not made before.
        """
        raise CouldNotRun(
            f"{self._name()} calls kit.replaying(): set replays = True on its class, so that the kit keeps what each call returned"
        )

    # -- plumbing ---------------------------------------------------------------------------------------------------

    def _state(self, entry: Pause | Seam | Validated | Halted) -> None:
        """Logs it, unless a hook says so: what a planner waits for or states inside an event is no pause, mark or halt of the run."""
        if not (self._in_event and _HOOK.get()):
            self._log.append(entry)

    def _hooked(self, inside: bool) -> None:
        """A hook of an event begins or ends."""
        self._in_event = inside
        _HOOK.set(inside)

    @property
    def aio(self) -> AioPorts:
        """The same ports, to await."""
        if self._aio is None:
            from fencecheck.run.aio import AioPorts

            self._aio = AioPorts(self)
        return self._aio

    def _version(self, id: Any) -> str:
        return str(self._landing.version(id, id.key if type(id) is Record else None))

    def _call(self, via: Callable[[], Any], failed: Callable[[], None]) -> Generator[Any, Any, Any]:
        """Calls the system's own function; `failed` logs what it did if it raises, or if the caller is cancelled while it waits."""
        in_via(True)
        try:
            answer = via()
            if hasattr(answer, "__await__"):
                answer = yield ("await", answer)
        except (Restarted, EpisodeOver, GeneratorExit, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            if not self._ran:
                failed()
            raise
        finally:
            in_via(False)
        if self._landing is CLOSED:
            raise over()
        return answer

    def _wait_for_ever(self, waited_for: str) -> Generator[Any, Any, Any]:
        yield ("hang", waited_for)

    def _drive(self, steps: Generator[Any, Any, Any]) -> Any:
        """Runs a port to its end on the caller's thread: waiting takes no time here, and nothing can be awaited."""
        try:
            step = next(steps)
            while True:
                what, about = step
                if what == "hang":
                    raise self._stuck(about)
                if what == "await":
                    about.close() if hasattr(about, "close") else None
                    raise self._landing.unawaitable()
                step = steps.send(None)
        except StopIteration as end:
            return end.value
