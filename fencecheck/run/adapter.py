"""What a team writes: the adapter through which its own system is run.

The methods are hooks, not a protocol of phases: gate-style frameworks invert control and retry loops run the whole body again, so there
is no `plan()`, `validate()` and `act()` to fill in. A system reaches the world through the ports of the kit, and that is all.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from fencecheck.errors import BadInput
from fencecheck.model import Record, Scenario
from fencecheck.run.faults import Fault

if TYPE_CHECKING:
    from fencecheck.run.kit import Kit

RuntimeName = Literal["sync", "asyncio", "asyncio-native", "trio"]
OWNER_TIMEOUT_S = 5.0
"""How long an adapter of `from_functions` waits for an owner."""
RUNTIMES: tuple[str, ...] = ("sync", "asyncio", "asyncio-native", "trio")


class AgentSystem:
    """Base of all adapters. One instance is made for each episode.

    Class attributes:
        scenario: the world that the system is run in; None for a system that takes a generated one (`kit.scenario`).
        runtime: `sync`; `asyncio` or `trio` with virtual time; `asyncio-native` for the stock event loop and real I/O.
        halt_exceptions: exceptions that mean "halted" when they leave `run`; all others mean "crashed".
        fault_exceptions: the kit's fault classes (`fencecheck.faults`) to the exceptions, or makers of them, that the system's own
            clients raise in their place.
        cannot_happen: kinds of event that make no sense for it, each with why; they are not sent, and a report says so.
        tools_can_halt: whether its tools are part of what is tested, so that one of the halt exceptions out of an act's `via=` is a halt of the
            system's own, needed or not, and no refusal by the outside.
        chance_is_harmless: whether what it asks of chance in `run`, such as the jitter of a wait, changes nothing that it does. A system that
            asks `random` unseeded, and does not say so, is never called held, since a coin can fall alike in all runs.
        replays: whether a workflow engine repeats calls, inside `kit.replaying()`, so that the kit keeps what each call came to.
        max_points: an episode with more points than this is `stuck`.
        timeout_s: longest real time in seconds that one wait of an episode may take where time is real, and that may pass between two
            points of a run; an episode that takes longer is `stuck`.
        own_order: for a system whose calls come from outside this process, why no event says who is answered first; such a system is searched
            up to a number of events.

    Hooks that need no base method are looked up by name; a kind of event whose hook is missing is not sent:
        `publish(key, value)` commits a new version through the system's own store and returns its id, and `true_head(key)` returns the id
        that is really current (never faulted, not through a port); together they mean "this system keeps its own store".
        `remove(key)` commits a removal there. `publish_how(key, how, value)` changes it there in one of the scenario's `update_hows`, with
        the fresh `value` if it needs one, and returns the value that is there then, or None where it changed nothing.
        `deliver(key, record)`, `replan(task)`, `restart()`, `lose(record_id)` enable their events.
        `versions_in(args)` returns key to version ids for arguments that carry no unique text, `version_of(key, answer)` the id of the version
        that an answer of the system's own `via=` carries, where neither that id nor the published value is in it.
        `open()` and `shutdown()` are called once per worker, on one instance whose attributes the others see as `self.worker`; on
        `asyncio-native` in one task, so that a context manager that is entered in `open()` can be left in `shutdown()`.

    `setup`, `run`, `teardown` and all hooks may be `async` where `runtime` is not `sync`.
    """

    scenario: ClassVar[Scenario | None] = None
    runtime: ClassVar[RuntimeName] = "sync"
    halt_exceptions: ClassVar[tuple[type[BaseException], ...]] = ()
    fault_exceptions: ClassVar[Mapping[type[BaseException], Any]] = {}
    cannot_happen: ClassVar[Mapping[str, str]] = {}
    tools_can_halt: ClassVar[bool] = False
    chance_is_harmless: ClassVar[bool] = False
    replays: ClassVar[bool] = False
    max_points: ClassVar[int] = 2_000
    timeout_s: ClassVar[float] = 30.0
    own_order: ClassVar[str] = ""
    kit: Kit
    worker: Any = None

    def setup(self, kit: Kit) -> Any:
        """Called first in each episode, on the thread that runs it. Keeps the kit; override to build fresh state, and call `super()`."""
        self.kit = kit

    def run(self) -> Any:
        """One episode. Must be overridden."""
        raise NotImplementedError

    def teardown(self) -> Any:
        """Called last in each episode, however it ended."""


HOOKS: dict[str, tuple[str, ...]] = {
    "update": ("publish", "true_head"),
    "deliver": ("deliver",),
    "replan": ("replan",),
    "restart": ("restart",),
}
"""Event kinds to the hooks that they need: always (`replan`, `restart`), or only in a system with its own store (the others)."""

OPTIONAL = (
    "publish",
    "true_head",
    "remove",
    "publish_how",
    "deliver",
    "replan",
    "restart",
    "lose",
    "versions_in",
    "version_of",
    "open",
    "shutdown",
)
"""The hooks that an adapter may define or leave out."""


UNSCHEDULED: dict[str, str] = {
    "sync": "its runtime is sync",
    "asyncio-native": "the stock event loop has an order of its own",
}
"""Runtimes in which no event says who is answered first or lets time pass, and why not."""


def has_own_store(system: Any) -> bool:
    """Whether the adapter keeps its own store.

    Raises:
        BadInput: it defines one of `publish` and `true_head` without the other.
    """
    publish, true_head = (callable(getattr(system, hook, None)) for hook in ("publish", "true_head"))
    if publish != true_head:
        there, missing = ("publish", "true_head") if publish else ("true_head", "publish")
        raise BadInput(f"{name_of(system)} defines {there}() but not {missing}(): a system with its own store needs both")
    return publish


def missing_hooks(system: Any) -> dict[str, str]:
    """Event kinds that this adapter cannot receive, each with the hook that would enable it."""
    own = has_own_store(system)
    missing = {}
    for kind, hooks in HOOKS.items():
        if (own or kind in ("replan", "restart")) and not all(callable(getattr(system, hook, None)) for hook in hooks):
            missing[kind] = f"{hooks[0]}()"
    missing.update(system.cannot_happen)
    why = system.own_order or UNSCHEDULED.get(system.runtime)
    return missing if why is None else {**missing, "switch": why, "advance": why}


def name_of(system: Any) -> str:
    """What reports call the system: its `name` if it has one, else that of its class."""
    name = getattr(system, "name", None)
    return name if name and isinstance(name, str) else str(getattr(system, "__qualname__", None) or type(system).__qualname__)


def from_functions(
    *,
    plan: Callable[[dict[str, Record]], Any],
    act: Callable[[Any], Mapping[str, Any]],
    validate: Callable[[Any, dict[str, str], Callable[[str], str]], bool] | None = None,
    scenario: Scenario,
    name: str = "from_functions",
) -> type[AgentSystem]:
    """An adapter from three plain functions, for an agent that plans once, then validates, then acts.

    It gives each owner `OWNER_TIMEOUT_S` to answer and halts on what is no answer, so that only the three functions are in question.

    Args:
        plan: from the records read, by key, to a plan of any type.
        act: from the plan to the arguments that go out.
        validate: from the plan, its basis (declared key to version id) and `head(key)` to whether it may go out; None: acts unvalidated.
        scenario: the world; its first action is the one that goes out.
        name: what reports call it; the name of the variable that it is bound to, so that another process can load it.

    Raises:
        BadInput: one of them is no plain function, or there is no scenario, or the keys of its action depend on the arguments.
    """
    _refuse_functions({"plan": plan, "act": act, "validate": validate}, scenario, name)

    class FromFunctions(AgentSystem):
        halt_exceptions = (Fault,)

        def run(self) -> None:
            kit, action = self.kit, scenario.actions[0]
            keys: Iterable[str] = action.true_keys()
            records = {key: kit.read(key, timeout=OWNER_TIMEOUT_S) for key in keys}
            for key, read in records.items():
                if not isinstance(read, Record) or read.key != key or read.removed:
                    kit.halted(f"there is no {key} to plan from")
                    return
            made = plan(records)
            record = kit.derive(made, parents=[r.id for r in records.values()])
            if validate is not None:
                basis = {key: records[key].id for key in kit.declared(action.name) if key in records}
                if not validate(made, basis, partial(kit.head, timeout=OWNER_TIMEOUT_S)):
                    kit.halted("the plan is no longer current")
                    return
                kit.validated(basis)
            kit.act(action.name, act(made), plan=record)

    FromFunctions.scenario = scenario
    FromFunctions.__name__ = FromFunctions.__qualname__ = name
    FromFunctions.__module__ = sys._getframe(1).f_globals.get("__name__", __name__)  # as namedtuple does
    return FromFunctions


def _refuse_functions(functions: Mapping[str, Any], scenario: Any, name: Any) -> None:
    for called, function in functions.items():
        if not callable(function) and not (function is None and called == "validate"):
            raise BadInput(f"from_functions: {called} must be a function, not {function!r}")
        if inspect.iscoroutinefunction(function):
            raise BadInput(f"from_functions: {called} is async, and nobody would await it: write an AgentSystem with runtime = 'asyncio'")
    if not isinstance(scenario, Scenario):
        raise BadInput(f"from_functions: scenario must be a fencecheck.Scenario, not {scenario!r}")
    if scenario.actions[0].by_arguments:
        called = scenario.actions[0].name
        raise BadInput(f"from_functions: plan() needs the keys of {called!r} before there are arguments: write Action({called!r}, [...])")
    if not isinstance(name, str):
        raise BadInput(f"from_functions: name must be a text, not {name!r}")
