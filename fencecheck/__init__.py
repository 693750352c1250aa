"""fencecheck: property-based testing and fault injection for agents that plan first and act later.

Everything named here is loaded when it is first used, so that `import fencecheck` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "Action": "model",
    "Advance": "interleaving",
    "AgentSystem": "run.adapter",
    "CorruptParent": "interleaving",
    "Decisions": "run.decisions",
    "Deliver": "interleaving",
    "Event": "interleaving",
    "History": "history",
    "Interleaving": "interleaving",
    "Kit": "run.kit",
    "MissingParent": "interleaving",
    "Outage": "interleaving",
    "Record": "model",
    "Replan": "interleaving",
    "Restart": "interleaving",
    "Restore": "interleaving",
    "Scenario": "model",
    "Switch": "interleaving",
    "ToolFault": "interleaving",
    "Update": "interleaving",
    "apoint": "run.current",
    "check": "search.check",
    "exhaust": "search.check",
    "explore": "search.check",
    "from_functions": "run.adapter",
    "point": "run.current",
    "simulate": "run.simulate",
    "world": "worlds",
}
_MODULES = {"codec", "conformance", "decisions", "errors", "faults", "fence", "judge", "mutants", "strategies", "systems", "worlds"}

__all__ = [*_WHERE, *sorted(_MODULES)]

if TYPE_CHECKING:
    from fencecheck import faults as faults
    from fencecheck.history import History as History
    from fencecheck.interleaving import Advance as Advance
    from fencecheck.interleaving import CorruptParent as CorruptParent
    from fencecheck.interleaving import Deliver as Deliver
    from fencecheck.interleaving import Event as Event
    from fencecheck.interleaving import Interleaving as Interleaving
    from fencecheck.interleaving import MissingParent as MissingParent
    from fencecheck.interleaving import Outage as Outage
    from fencecheck.interleaving import Replan as Replan
    from fencecheck.interleaving import Restart as Restart
    from fencecheck.interleaving import Restore as Restore
    from fencecheck.interleaving import Switch as Switch
    from fencecheck.interleaving import ToolFault as ToolFault
    from fencecheck.interleaving import Update as Update
    from fencecheck.model import Action as Action
    from fencecheck.model import Record as Record
    from fencecheck.model import Scenario as Scenario
    from fencecheck.run.adapter import AgentSystem as AgentSystem
    from fencecheck.run.adapter import from_functions as from_functions
    from fencecheck.run.current import apoint as apoint
    from fencecheck.run.current import point as point
    from fencecheck.run.decisions import Decisions as Decisions
    from fencecheck.run.kit import Kit as Kit
    from fencecheck.run.simulate import simulate as simulate


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"fencecheck.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'fencecheck' has no attribute {name!r}")
    value = getattr(import_module(f"fencecheck.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE, *_MODULES])
