"""Looks an adapter over before any episode: what would break one in the middle is said first, in one sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from fencecheck.errors import BadInput, FencecheckError
from fencecheck.interleaving import KINDS
from fencecheck.model import Scenario
from fencecheck.run.adapter import OPTIONAL, RUNTIMES, AgentSystem, name_of
from fencecheck.run.raised import place, said
from fencecheck.run.slips import refuse_slips

SystemLike = type[AgentSystem] | Callable[[], AgentSystem]


def checked(system: SystemLike) -> AgentSystem:
    """One adapter, made to be looked at.

    Raises:
        BadInput: it cannot be made or used.
    """
    name = name_of(system)
    if isinstance(system, type) and not issubclass(system, AgentSystem):
        raise BadInput(f"{name} is not an adapter: let it inherit from fencecheck.AgentSystem and define run()")
    try:
        probe = system()
    except Exception as error:
        right = "" if isinstance(system, type) else ": give an adapter class, or a function that makes an adapter"
        raise BadInput(f"{name} cannot be made without arguments: {said(error)}{right}") from error
    if not isinstance(probe, AgentSystem):
        raise BadInput(f"{name} makes a {type(probe).__name__}, not an adapter: let it inherit from fencecheck.AgentSystem")
    try:
        _refuse(name, probe)
    except FencecheckError:
        raise
    except Exception as error:  # a property, or a __getattr__
        at = place(error)
        where = f" ({at})" if at else ""
        raise BadInput(f"{name} cannot be looked at: {said(error)}{where}: let its attributes be plain, and set up in setup()") from error
    return probe


def _refuse(name: str, probe: AgentSystem) -> None:
    if type(probe).run is AgentSystem.run:
        raise BadInput(f"{name} has no run(): define run(self), which carries out one episode")
    if probe.runtime not in RUNTIMES:
        raise BadInput(f"{name}: runtime must be one of {', '.join(RUNTIMES)}, not {probe.runtime!r}")
    if probe.scenario is not None and not isinstance(probe.scenario, Scenario):
        raise BadInput(f"{name}: scenario must be a fencecheck.Scenario, not a {type(probe.scenario).__name__}")
    refuse_slips(name, type(probe))
    _refuse_methods(name, probe)
    _refuse_attributes(name, probe)


def _refuse_methods(name: str, probe: AgentSystem) -> None:
    """Says of a method or hook that it can never be called, or that its body would never run."""
    for hook in ("setup", "run", "teardown", *OPTIONAL):
        method = getattr(probe, hook, None)
        if not callable(method) and (method is not None or hook not in OPTIONAL):
            raise BadInput(f"{name}: {hook} must be a method, not {method!r}")
        if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
            raise BadInput(f"{name}: {hook}() has a yield in it, so that its body would never run: take the yield out")


def _refuse_attributes(name: str, probe: AgentSystem) -> None:
    """Says before any episode what would break one in the middle."""
    halts, kinds = probe.halt_exceptions, probe.fault_exceptions
    if not isinstance(halts, tuple) or not all(_is_exception(kind) for kind in halts):
        raise BadInput(f"{name}: halt_exceptions must be a tuple of exception classes, such as (LookupError,), not {halts!r}")
    if not hasattr(kinds, "items") or not all(_is_exception(kind) for kind in kinds):
        raise BadInput(
            f"{name}: fault_exceptions must map the classes of fencecheck.faults to exceptions or makers of them, not be {kinds!r}"
        )
    for kind, own in kinds.items():
        if not callable(own) and not isinstance(own, BaseException):
            raise BadInput(f"{name}: fault_exceptions must map {kind.__name__} to an exception or a maker of one, not to {own!r}")
    why = probe.cannot_happen
    if not hasattr(why, "items") or not all(kind in KINDS and why[kind] and isinstance(why[kind], str) for kind in why):
        raise BadInput(
            f"{name}: cannot_happen must map kinds of event ({', '.join(KINDS)}) to why they make no sense for it, not be {why!r}"
        )
    if not isinstance(probe.chance_is_harmless, bool):
        raise BadInput(f"{name}: chance_is_harmless must be True or False, not {probe.chance_is_harmless!r}")
    if not isinstance(probe.max_points, int) or probe.max_points < 1:
        raise BadInput(f"{name}: max_points must be a whole number from 1, not {probe.max_points!r}")
    if not isinstance(probe.timeout_s, int | float) or not probe.timeout_s > 0:
        raise BadInput(f"{name}: timeout_s must be a number of seconds above 0, not {probe.timeout_s!r}")


def _is_exception(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseException)
