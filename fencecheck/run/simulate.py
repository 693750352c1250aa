"""Runs one system over one interleaving and returns the history: the only place that runs anything."""

from __future__ import annotations

import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

from msgspec.structs import replace

from fencecheck.errors import BadInput, CouldNotRun, FencecheckError
from fencecheck.history import Ended, Entry, Halted, History, points
from fencecheck.interleaving import DROPPED, KINDS, Event, Interleaving, refuse_kind
from fencecheck.model import Scenario
from fencecheck.run.adapter import AgentSystem, has_own_store, missing_hooks, name_of
from fencecheck.run.checked import SystemLike as SystemLike
from fencecheck.run.checked import checked
from fencecheck.run.current import enter, leave
from fencecheck.run.deadlock import Deadlock
from fencecheck.run.faults import EpisodeOver, Overdue, Restarted
from fencecheck.run.kit import _AGENT, Kit
from fencecheck.run.landing import Anchored, Landing
from fencecheck.run.loops import inside_loop, runtime
from fencecheck.run.raised import place, said
from fencecheck.run.replaying import ReplayingKit
from fencecheck.run.unknown import refuse_events
from fencecheck.run.watchdog import Watchdog
from fencecheck.run.world import Prepared, World

_Episode = Callable[[AgentSystem, Kit, Landing], Ended]
MOST_RESTARTS = 50
_FORKED = 70
"""Exit status of a child that a system forked and did not end, where the episode ends."""


class Extent(NamedTuple):
    """How far an episode goes.

    Args:
        points: how many it has.
        lanes: number of tasks up to the last one whose call waited beside another's.
        turns: the points at which a switch or an advance can fire.
    """

    points: int
    lanes: int
    turns: tuple[int, ...]


def extent(history: History) -> Extent:
    """How far that episode went."""
    lanes = 1 + max((lane for waiting in history.waiting.values() for lane in waiting), default=0)
    return Extent(sum(1 for _ in points(history)), lanes, tuple(sorted({*history.waiting, *history.timers})))


class Runner:
    """Runs episodes of one system in one scenario. Reusable; a context manager, since `open()` may hold something dear.

    Args:
        system: an adapter class, or a function that makes an adapter.
        scenario: the world, for a system that takes a generated one; by default the system's own, else the default world.
        of_interleaving: whether `scenario` is only that of an interleaving or a case, which a system that brings its own goes without.

    Attributes:
        scenario: the world.
        kinds: the kinds of event that the system can receive.
        missing: the other kinds, each with the hook that would enable it.
        own_order: why no event says who is answered first, where the system says so itself.
        crashed_at: where the last crash was raised, as `file:line`.
        outside, chance: what it asks past its ports, and what of that it asks of chance, where that was listened for.
        chance_is_harmless: as the adapter says.
        plain: the ports that it called on its event loop without awaiting them in its first episode, each with its line.

    Raises:
        BadInput: the adapter cannot be used, with one sentence that says why.
    """

    def __init__(self, system: SystemLike, scenario: Scenario | None = None, *, of_interleaving: bool = False) -> None:
        self.system = system
        self.name = name_of(system)
        self._probe = checked(system)
        own = self._probe.scenario
        if own is not None and scenario is not None and scenario != own and not of_interleaving:
            raise BadInput(f"{self.name} brings its own scenario: keys, declared keys and depth cannot be chosen for it")
        self.takes_scenario = own is None
        self.runtime_name = self._probe.runtime
        self.own_order = self._probe.own_order
        self.scenario = _concrete(own or scenario or _default_world())
        self.own_store = has_own_store(self._probe)
        if self.scenario.update_hows and not (self.own_store and callable(getattr(self._probe, "publish_how", None))):
            hows = ", ".join(self.scenario.update_hows)
            raise BadInput(
                f"{self.name}: its scenario has update_hows ({hows}): define publish(), true_head() and publish_how(key, how, value)"
            )
        self.missing = missing_hooks(self._probe)
        self.kinds = tuple(kind for kind in KINDS if kind not in self.missing)
        self.drops = True
        self.crashed_at = self.outside = self.chance = ""
        self.chance_is_harmless = self._probe.chance_is_harmless
        self.plain: dict[str, None] | None = None
        self._given = replace(self.scenario)  # has mappings of its own
        self._scheduled = "switch" in self.kinds
        self._prepared = Prepared(self.scenario)
        self._opened: AgentSystem | None = None
        self._runtime = None if self._probe.runtime == "sync" else runtime(self._probe.runtime, self._probe.timeout_s)
        self._extent: Extent | None = None
        self._kit: Kit | None = None
        self._watchdog = Watchdog(self.name, float(self._probe.timeout_s), lambda: self._kit)
        self._hooks_open = callable(getattr(self._probe, "open", None)) or callable(getattr(self._probe, "shutdown", None))

    @property
    def begun_empty(self) -> frozenset[str]:
        """The keys that the system's own store did not hold when an episode began, so that it was given their first version."""
        return frozenset(self._prepared.begun_empty)

    @property
    def extent(self) -> Extent:
        """How far the episode without events goes."""
        if self._extent is None:
            self._extent = extent(self.run())
        return self._extent

    @property
    def horizon(self) -> int:
        """Number of points of the episode without events."""
        return self.extent.points

    @property
    def lanes(self) -> int:
        """Number of tasks up to the last one whose call waited beside another's in the episode without events."""
        return self.extent.lanes

    @property
    def turns(self) -> tuple[int, ...]:
        """The points at which a switch or an advance can fire in the episode without events."""
        return self.extent.turns

    def only(self, kinds: Iterable[str] | None) -> None:
        """Leaves out all other kinds of event, `dropped-declaration` among them; None leaves out none.

        Raises:
            BadInput: there is no such kind, or the system cannot receive it.
        """
        if kinds is None:
            return
        chosen = tuple(dict.fromkeys(kinds))
        for kind in chosen:
            refuse_kind(kind)
            if kind in self.missing:
                why = self.missing[kind]
                raise BadInput(f"{self.name} cannot receive {kind}: {f'define {why}' if why.endswith('()') else why}")
        self.kinds = tuple(kind for kind in self.kinds if kind in chosen)
        self.missing = {}
        self.drops = DROPPED in chosen

    def __enter__(self) -> Runner:
        self._watchdog.start()
        self._said_of_threads, threading.excepthook = threading.excepthook, self._of_thread
        return self

    def _of_thread(self, args: threading.ExceptHookArgs) -> None:
        """What ends a thread of the system's is printed, unless it is what ends or restarts the episode."""
        if not issubclass(args.exc_type, EpisodeOver | Restarted):
            self._said_of_threads(args)

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Calls `shutdown()` of the worker, if it was opened, and closes the runtime."""
        try:
            if self._opened is not None:
                self._call_once("shutdown", self._opened)
        finally:
            self._opened = None
            self._watchdog.stop()
            if threading.excepthook == self._of_thread:
                threading.excepthook = self._said_of_threads
            if self._runtime is not None:
                self._runtime.close()
                self._runtime = None if self._probe.runtime == "sync" else runtime(self._probe.runtime, self._probe.timeout_s)

    def _call_once(self, hook: str, worker: AgentSystem) -> None:
        function = getattr(worker, hook, None)
        if not callable(function):
            return

        async def awaited() -> None:
            answer = function()
            if inspect.isawaitable(answer):
                await answer

        try:
            with self._watchdog.watching():
                if self._runtime is not None:
                    self._runtime.run(awaited, keep=True)
                else:
                    self._refuse_coroutine(hook, function())
        except (Exception, EpisodeOver) as error:
            raise self._adapter_failed(f"{hook}()", error) from error

    def run(
        self,
        dropped: tuple[tuple[str, str], ...] = (),
        events: tuple[Event, ...] = (),
        *,
        anchors: Anchored | None = None,
        lines: bool = False,
        prepared: Prepared | None = None,
    ) -> History:
        """Runs one episode.

        Args:
            dropped: declarations that `kit.declared` leaves out.
            events: what lands where, in order of points.
            anchors: the events of a stored case instead, by label.
            lines: whether to note the source line of each call (slow; for reports).
            prepared: the world to begin with, where it is not that of the scenario.

        Raises:
            CouldNotRun: the adapter itself failed: `setup`, `teardown` or a hook.
        """
        if self._hooks_open and self._opened is None:
            worker = self.system()
            self._call_once("open", worker)
            self._opened = worker
        instance = self.system()
        if self._opened is not None:
            instance.worker = self._opened
        log: list[Entry] = []
        world = World(prepared or self._prepared, self.own_store)
        noted: dict[int, str] | None = {} if lines else None
        landing = Landing(
            instance, world, log, events=events, dropped=dropped, anchors=anchors, own_store=self.own_store, lines=noted,
            scheduled=self._scheduled,
        )  # fmt: skip
        kit = (ReplayingKit if instance.replays else Kit)(world, landing, log, own_store=self.own_store, system=instance)
        landing.kit = self._kit = kit
        line = kit._line = None if self._runtime is None else self._runtime.line(kit)
        kit._next = landing.next_stop()
        episode: _Episode = self._episode if self._runtime is None else self._awaited_episode
        if self.plain is None and not lines:  # a line that is noted is that of the coroutine itself
            episode = self._first(episode)
        process = os.getpid()
        try:
            with _origins() if lines else _NOTHING:
                ended = episode(instance, kit, landing)
        finally:
            if os.getpid() != process:  # the system forked: the search is not the child's to go on with, as a second one
                os._exit(_FORKED)
        log.append(ended)
        kit._close()
        history = History(world.prepared.scenario, log, world.records, world.versions, dropped, self.own_store, noted or {})
        if line is not None and (line.choices or line.timers):
            history.waiting, history.timers = line.choices, tuple(line.timers)
        return history

    def _first(self, episode: _Episode) -> _Episode:
        """The first episode: what is not awaited is noticed."""
        from fencecheck.run.awaits import noticed

        def noticing(system: AgentSystem, kit: Kit, landing: Landing) -> Ended:
            with noticed(self.name, kit, self.runtime_name) as self.plain:
                return episode(system, kit, landing)

        return noticing

    # -- an episode, called or awaited: the same steps ---------------------------------------------------------------

    def _episode(self, system: AgentSystem, kit: Kit, landing: Landing) -> Ended:
        agent = _AGENT.set(self.scenario.agents[0])
        try:
            try:
                self._refuse_coroutine("setup", system.setup(kit))
                if self.own_store:
                    kit._drive(landing.seed())
            except (Exception, EpisodeOver, Restarted) as error:
                raise self._adapter_failed("setup()", error) from error
            outer = enter(kit)
            try:
                return self._run(system, kit)
            finally:
                leave(kit, outer)
                try:
                    self._refuse_coroutine("teardown", system.teardown())
                except Overdue as error:
                    raise self._adapter_failed("teardown()", error) from error
                except (EpisodeOver, Restarted):
                    pass  # it called a port of an episode that is over
                except Exception as error:
                    raise self._adapter_failed("teardown()", error) from error
        finally:
            _AGENT.reset(agent)

    def _run(self, system: AgentSystem, kit: Kit) -> Ended:
        for _ in range(MOST_RESTARTS):
            kit._begin()
            try:
                self._refuse_coroutine("run", system.run())
            except BaseException as error:
                ended = self._ended_by(error, system, kit)
            else:
                ended = self._returned(kit)
            if ended is not None:
                return ended
        return Ended("stuck", f"restarted {MOST_RESTARTS} times")

    def _awaited_episode(self, system: AgentSystem, kit: Kit, landing: Landing) -> Ended:
        assert self._runtime is not None
        loop = self._runtime
        ended: Ended | None = None

        async def whole() -> None:
            nonlocal ended
            _AGENT.set(self.scenario.agents[0])
            try:
                await _maybe(system.setup(kit))
                if self.own_store:
                    await kit.aio._drive(landing.seed())
            except (Exception, EpisodeOver, Restarted) as error:
                raise self._adapter_failed("setup()", error) from error
            outer = enter(kit)
            try:
                ended = await self._awaited_run(system, kit)
            finally:
                leave(kit, outer)
                try:
                    await loop.finish(lambda: _maybe(system.teardown()))
                except Overdue as error:
                    raise self._adapter_failed("teardown()", error) from error
                except (EpisodeOver, Restarted):
                    pass  # it called a port of an episode that is over
                except Exception as error:
                    raise self._adapter_failed("teardown()", error) from error

        try:
            loop.run(whole, line=kit._line)
        except Deadlock as deadlock:
            waits = "; ".join(dict.fromkeys(landing.waits)) or str(deadlock)
            return Ended("stuck", f"waits for {waits}")
        if ended is None:
            return Ended("stuck", "the run was cancelled")
        return ended

    async def _awaited_run(self, system: AgentSystem, kit: Kit) -> Ended:
        assert self._runtime is not None
        before = self._runtime.tasks()
        for _ in range(MOST_RESTARTS):
            kit._begin()
            try:
                await _maybe(system.run())
            except BaseException as error:
                if type(error).__name__ == "Cancelled":
                    raise  # by trio, which must see it again
                ended = self._ended_by(error, system, kit)
            else:
                ended = self._returned(kit)
            if ended is not None:
                kit._ran = True
                return ended
            await self._runtime.forget(before)
        return Ended("stuck", f"restarted {MOST_RESTARTS} times")

    def _returned(self, kit: Kit) -> Ended | None:
        """How the episode ended, or None where `run` is to be called again."""
        if kit._refused is not None:
            raise kit._refused
        if kit._over is not None:
            return Ended("stuck", f"waits for {kit._over}")
        if kit._restart_at is not None:
            return None
        last = kit._log[-1] if kit._log else None
        return Ended("halted", last.reason) if type(last) is Halted else Ended("returned")

    def _ended_by(self, error: BaseException, system: AgentSystem, kit: Kit) -> Ended | None:
        """The same for a `run` that raised."""
        error = kit._refused or _inside_groups(error, system.halt_exceptions)
        if isinstance(error, FencecheckError):
            raise error from None
        if kit._over is not None or isinstance(error, EpisodeOver):
            return Ended("stuck", f"waits for {kit._over or error}")
        halted = isinstance(error, system.halt_exceptions)
        if not halted and self._is_not_of(system, error):
            raise error
        if kit._restart_at is not None or isinstance(error, Restarted):
            return None
        if halted:
            return Ended("halted", said(error))
        self.crashed_at = place(error)
        return Ended("crashed", said(error))

    def _is_not_of(self, system: AgentSystem, error: BaseException) -> bool:
        """Whether it means more than that the run has ended: an interrupt, an exit, what pytest raises, a coroutine that is closed."""
        meant = isinstance(error, KeyboardInterrupt | SystemExit) or type(error).__module__.startswith("_pytest.")
        return meant or (isinstance(error, GeneratorExit) and system.runtime != "sync" and not inside_loop(system.runtime))

    def refuse_changes(self) -> None:
        """Says that the system changed its scenario, which all episodes share.

        Raises:
            CouldNotRun: it did.
        """
        if self.scenario != self._given:
            raise CouldNotRun(f"{self.name} changes its scenario while it runs, which all episodes share: change a copy of it")

    def _adapter_failed(self, where: str, error: BaseException) -> FencecheckError:
        if isinstance(error, FencecheckError):
            return error
        if isinstance(error, Overdue):
            return CouldNotRun(f"{self.name}: {where} does not end: {error}")
        if isinstance(error, EpisodeOver | Restarted):
            return CouldNotRun(f"{self.name}: an event reached {where}, which is no part of an episode: call ports in run()")
        at = place(error)
        return CouldNotRun(f"{self.name}: {where} failed: {said(error)}{f' ({at})' if at else ''}")

    def _refuse_coroutine(self, method: str, answer: Any) -> None:
        if answer is not None and inspect.iscoroutine(answer):
            answer.close()
            raise CouldNotRun(
                f"{self.name}: {method}() returned a coroutine but its runtime is 'sync', so it would never run: set runtime = 'asyncio' or 'trio'"
            )


def simulate(system: SystemLike, interleaving: Interleaving) -> History:
    """Runs `system` over one interleaving.

    Raises:
        BadInput, CouldNotRun: as `Runner`; or an event is about a key, an owner, a tool or a task that the system's scenario does not have.
    """
    with Runner(system, interleaving.scenario, of_interleaving=True) as runner:
        refuse_events(interleaving, runner.scenario)
        return runner.run(interleaving.dropped, interleaving.events)


@contextmanager
def _origins() -> Iterator[None]:
    """A coroutine inside notes where it was made."""
    depth = sys.get_coroutine_origin_tracking_depth()
    sys.set_coroutine_origin_tracking_depth(max(depth, 1))
    try:
        yield
    finally:
        sys.set_coroutine_origin_tracking_depth(depth)


_NOTHING = nullcontext()


async def _maybe(answer: Any) -> Any:
    return await answer if answer is not None and inspect.isawaitable(answer) else answer


def _inside_groups(error: BaseException, halts: tuple[type[BaseException], ...]) -> BaseException:
    """The exception that ended the run: task groups wrap what their tasks raised. Beside a halt, any other exception is a crash."""
    if not isinstance(error, BaseExceptionGroup) or isinstance(error, halts):
        return error
    inside = [_inside_groups(e, halts) for e in error.exceptions]
    ours = (e for e in inside if isinstance(e, Restarted | EpisodeOver | FencecheckError))
    return next(ours, next((e for e in inside if not isinstance(e, halts)), inside[0]))


def _concrete(scenario: Scenario) -> Scenario:
    """The scenario with each Hypothesis strategy replaced by values drawn from it."""
    if all(isinstance(values, tuple) for values in scenario.values.values()):
        return scenario
    from fencecheck.strategies import concrete

    return concrete(scenario)


def _default_world() -> Scenario:
    from fencecheck.worlds import world

    return world()
