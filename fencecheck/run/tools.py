"""One call of a tool: its fault, its precondition, its memory of idempotency keys, then the effect."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from fencecheck.errors import BadInput
from fencecheck.history import Act
from fencecheck.model import Action, Record
from fencecheck.run import faults, unknown
from fencecheck.run.adapter import name_of
from fencecheck.run.world import snapshot

if TYPE_CHECKING:
    from fencecheck.run.landing import Landing

Shown = tuple[Any, Any, Any, str | None]
"""The plan, the basis, what the tool is to expect, and the idempotency key, as the system gave them."""
_DONE = {"status": "done"}


class Condition(Mapping[str, str]):
    """What a tool is to expect as a request says it, where a version that there never was is refused by the tool, as one that is not current."""


def call(landing: Landing, agent: str, name: str, args: Any, shown: Shown, via: Callable[[], Any] | None) -> Generator[Any, Any, Any]:
    """Carries out the port `act`, as steps for a driver. Arguments as for `Kit.act`."""
    entry, action, fault = _begun(landing, agent, name, args, shown)
    if entry.outcome == "repeated" or via is None:
        return _ended(landing, action, entry, fault, _DONE)

    def failed() -> None:
        system = landing.system
        entry.outcome = "halted" if system.tools_can_halt and isinstance(sys.exception(), system.halt_exceptions) else "refused"

    reply = yield from landing.kit._call(via, failed)
    if landing.own_store and not entry.in_event:
        entry.effect, entry.outcome = True, "done"
        yield from landing.observe(agent)
    return _ended(landing, action, entry, fault, reply)


def call_ours(landing: Landing, agent: str, name: str, args: Any, shown: Shown) -> Any:
    """The same for the kit's own tool, which nobody has to wait for."""
    entry, action, fault = _begun(landing, agent, name, args, shown)
    return _ended(landing, action, entry, fault, _DONE)


def _begun(landing: Landing, agent: str, name: str, args: Any, shown: Shown) -> tuple[Act, Action, str | None]:
    """The call, logged without effect, and the fault that it meets. Raises where nothing is done."""
    action, world = landing.action(name), landing.world
    plan, basis, expect, key = shown
    sent = _sent(landing, name, args)
    carried_out = _carried_out(landing, name, plan)
    said, expected = _versions(landing, name, "basis", basis), _versions(landing, name, "expect", expect)
    entry = Act(agent, name, sent, carried_out, said, expected, key, effect=False)
    entry.in_event = landing.kit._in_event
    if action.keys_of is not None:
        entry.depends_on, entry.declared = action.true_keys(sent), action.declared_keys(sent)
    if hasattr(landing.system, "versions_in"):
        entry.versions = _recognised(landing, landing.asked("versions_in", sent))
    landing.log.append(entry)
    fault = world.tool_faults.pop(action.tool, None) if world.tool_faults else None
    if fault is not None or expect or key is not None:
        refusal = _refusal(landing, action, entry, fault)
        if refusal is not None:
            raise landing.kit._raise_as(refusal)
        if (action.tool, key) in world.replies:
            entry.outcome = "repeated"
    return entry, action, fault


def _ended(landing: Landing, action: Action, entry: Act, fault: str | None, reply: Any) -> Any:
    """The effect, unless there was one for this idempotency key, and the reply."""
    world, key = landing.world, entry.idempotency_key
    if entry.outcome == "repeated":
        assert key is not None
        reply = world.replies[action.tool, key][1]
    else:
        reply = dict(reply) if reply is _DONE else reply
        _effect(landing, action, entry)
        if key is not None:
            world.replies[action.tool, key] = (entry.args, reply)
    if fault == "lost-reply":
        entry.outcome = "lost-reply"
        raise landing.kit._raise_as(faults.ReplyLost(f"{action.tool} did its work and the reply was lost"))
    return reply


def _refusal(landing: Landing, action: Action, entry: Act, fault: str | None) -> faults.Fault | None:
    world = landing.world
    if fault == "refuse":
        entry.outcome = "refused"
        return faults.ToolRefused(f"{action.tool} refused the call")
    unequal = [key for key, id in (entry.expect or {}).items() if world.heads.get(key) != id]
    if fault == "precondition-failed" or unequal:
        entry.outcome = "precondition-failed"
        return faults.PreconditionFailed(f"{action.tool}: {', '.join(unequal) or 'something'} is not as expected")
    if entry.idempotency_key is not None:
        used = world.replies.get((action.tool, entry.idempotency_key))
        if used is not None and used[0] != entry.args:
            entry.outcome = "key-reused"
            return faults.IdempotencyKeyReused(f"{action.tool}: the idempotency key was used before with other arguments")
    return None


def _effect(landing: Landing, action: Action, entry: Act) -> None:
    entry.effect, entry.outcome = True, "done"
    if not action.writes or landing.own_store:
        return
    world, wrote = landing.world, []
    for key in action.writes:
        id = world.commit(key, world.fresh_value(key)).id
        world.memory[entry.agent, key] = id
        wrote.append(id)
    entry.wrote = tuple(wrote)


def _sent(landing: Landing, name: str, args: Any) -> dict[str, Any]:
    """The arguments as they go out, whatever the system does to them later."""
    if type(args) is dict:
        return snapshot(args)  # type: ignore[no-any-return]
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        raise BadInput(f"{name_of(landing.system)} acts {name!r} with a {type(args).__name__}: args is a mapping of names to what goes out")
    return {key: snapshot(value) for key, value in args.items()}


def _versions(landing: Landing, name: str, what: str, ids: Mapping[str, Any] | None) -> dict[str, str] | None:
    if ids is None:
        return None
    if not isinstance(ids, Mapping):
        raise BadInput(f"{name_of(landing.system)}: basis= and expect= are mappings of key to version id, not a {type(ids).__name__}")
    try:
        named = {key: landing.version(id, key) for key, id in ids.items()}
        hash(tuple(named.values()))
    except TypeError as error:
        raise BadInput(f"{name_of(landing.system)}: basis= and expect= map keys to version ids: {error}") from error
    if not isinstance(ids, Condition):
        unknown.refuse_versions(landing, f"{what}= of kit.act({name!r})", named, checked=what == "expect")
    return named


def _recognised(landing: Landing, ids: Any) -> dict[str, tuple[str, ...]]:
    """What `versions_in` says."""
    if not isinstance(ids, Mapping):
        raise BadInput(f"{name_of(landing.system)}: versions_in() returns a mapping of key to version ids, not {ids!r}")
    named = {key: tuple(landing.version(id, key) for id in _several(ids)) for key, ids in ids.items()}
    for key, versions in named.items():
        for id in versions:
            unknown.refuse_versions(landing, "what versions_in() returned", {key: id})
    return named


def _carried_out(landing: Landing, name: str, plan: Any) -> str | None:
    if plan is None:
        return None
    if not isinstance(plan, Hashable) or not (isinstance(plan, str | Record) or landing.own_store):
        who = name_of(landing.system)
        raise BadInput(
            f"{who}: kit.act({name!r}, plan=...) takes the record that kit.derive() returned, or its id, not a {type(plan).__name__}"
        )
    id = landing.version(plan)
    return str(id) if id in landing.world.records else unknown.plan(landing, name, plan)


def _several(ids: Any) -> tuple[Any, ...]:
    return tuple(ids) if isinstance(ids, list | tuple | set | frozenset) else (ids,)
