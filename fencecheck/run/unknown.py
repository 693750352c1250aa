"""What a system names that nobody knows: a key, a version, a record. Each with the sentence that says what to give instead.

Under faults a system may well be handed the id of a stranger or of a record that does not exist, and what it then does with that is for the
judge. So what only a mistake in writing can name is refused: at any time what the kit has never written, and anything else until an
event has landed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fencecheck.errors import BadInput, alike
from fencecheck.history import Fetch, Head, History, Landed, Memory, Read
from fencecheck.interleaving import Deliver, Interleaving, MissingParent, Outage, Replan, Restore, ToolFault, Update
from fencecheck.model import Record, Scenario
from fencecheck.run.adapter import name_of
from fencecheck.run.world import World

if TYPE_CHECKING:
    from fencecheck.run.landing import Landing

_AS_PRINTED = re.compile(r"r\d+")


def no_key(known: Iterable[str], key: Any) -> str:
    """`no owner holds the key 'adress': did you mean 'address'?`"""
    return f"no owner holds the key {key!r}{_or(alike(key, known), f' (keys: {_listed(known)})')}"


def refuse_events(interleaving: Interleaving, scenario: Scenario) -> None:
    """Of an interleaving: what its events and dropped declarations are about is in the scenario.

    An agent is not asked for: a system may run others than the scenario names.

    Raises:
        BadInput: something is not, so that it could never fire.
    """
    tools = tuple(dict.fromkeys(action.tool for action in scenario.actions))
    for event in interleaving.events:
        match event.what:
            case Update(key=key) | Deliver(key=key) | MissingParent(place=str(key)):
                wrong = "" if key in scenario.keys else no_key(scenario.keys, key)
            case Outage(owner=name) | Restore(owner=name):
                wrong = _none_of("owner", name, scenario.owners)
            case ToolFault(tool=name):
                wrong = _none_of("tool", name, tools)
            case Replan(task=name):
                wrong = _none_of("task", name, scenario.tasks)
            case _:
                continue
        if wrong:
            raise BadInput(f"{event!r} can never fire: {wrong}")
    for action, key in interleaving.dropped:
        wrong = _none_of("action", action, [one.name for one in scenario.actions])
        wrong = wrong or ("" if key in scenario.keys else no_key(scenario.keys, key))
        if wrong:
            raise BadInput(f"{(action, key)!r} cannot be dropped: {wrong}")


def _none_of(what: str, name: str, known: Collection[str]) -> str:
    if name in known:
        return ""
    return f"there is no {what} {name!r}{_or(alike(name, known), f' ({what}s: {_listed(known)})')}"


def no_record(records: Iterable[str], id: Any) -> str:
    """`there is no record 'r1' ...`, and which id would be one."""
    printed = " (so reports number the versions of a key)" if isinstance(id, str) and _AS_PRINTED.fullmatch(id) else ""
    return f"there is no record {id!r}{printed}{_or(alike(id, records), ': give the record, or its id')}"


def asked(history: History, least: float = 0.0) -> str:
    """What a run asked for that there is none of, in words, or nothing.

    Args:
        least: leaves out what is not so like something that there is, as in `errors.alike`: a system may look for what nobody has written yet.
    """
    for entry in history.entries:
        if isinstance(entry, Read | Head | Memory) and entry.key not in history.versions:
            keys = history.scenario.keys
            if not least or alike(entry.key, keys, least) is not None:
                return no_key(keys, entry.key)
        elif isinstance(entry, Fetch) and entry.answer == "missing" and entry.id not in history.records and not least:
            return no_record(history.records, entry.id)
    return ""


def is_key(world: World, key: Any) -> bool:
    """Whether a key is one, or that of a record that a fault handed out."""
    records = (*world.records.values(), *world.corrupted.values())
    return key in world.owner_of or any(record.key == key for record in records)


def refuse_marks(landing: Landing, basis: Any, keys: tuple[Any, ...]) -> None:
    """Of `validated`: each is to be a key.

    Args:
        basis: what was given.
        keys: its keys.

    Raises:
        BadInput: one is not.
    """
    who = f"{name_of(landing.system)} calls validated({basis!r})"
    if not all(isinstance(key, str) for key in keys):
        raise _kept(landing, f"{who}: it takes a list of keys, which are texts")
    for key in keys:
        if not is_key(landing.world, key):
            raise _kept(landing, f"{who}: {no_key(landing.world.owner_of, key)}")


def refuse_versions(landing: Landing, what: str, named: Mapping[Any, Any], *, checked: bool = False) -> None:
    """Of a mapping of keys to versions, such as `basis=`.

    Args:
        named: with the ids that the history uses, which are hashable.
        checked: whether the tool compares them itself, and refuses what it does not know.

    Raises:
        BadInput: one is no key, or no version.
    """
    world = landing.world
    for key, id in named.items():
        if id in world.records and key in world.versions:
            continue
        who = f"{name_of(landing.system)}: {what}"
        if not is_key(world, key):
            raise _kept(landing, f"{who} names {key!r}, and {no_key(world.owner_of, key)}")
        if id not in world.records and not _may_be(landing, id, checked):
            known = [landing.own_id(version) for version in world.versions.get(key, ())]
            printed = ", which is how reports number the versions" if isinstance(id, str) and _AS_PRINTED.fullmatch(id) else ""
            right = alike(id, known) or (known[0] if known else None)
            raise _kept(
                landing,
                f"{who} gives {id!r} for {key!r}{printed}, and there is no such version: give the id of the record that was read"
                + (f", such as {right!r}" if right is not None else ""),
            )


def no_parents(landing: Landing, parents: Any) -> BadInput:
    """What is said of what is no list of parents."""
    return _kept(landing, f"{name_of(landing.system)} calls derive(..., {parents!r}): the parents are a list of records, or of their ids")


def refuse_parents(landing: Landing, parents: Any) -> None:
    """Of `derive`: the parents are several.

    Raises:
        BadInput: they are not.
    """
    if isinstance(parents, str | Record):
        raise _kept(landing, f"{name_of(landing.system)} calls derive(..., {parents!r}): the parents are a list; write [{parents!r}]")
    if not isinstance(parents, Iterable):
        raise no_parents(landing, parents)


def parent(landing: Landing, given: Any) -> str:
    """The id of a parent that `derive` was given and that is no record.

    Raises:
        BadInput: only a mistake can name it.
    """
    id = given.id if type(given) is Record else given
    if not _may_be(landing, id):
        who = f"{name_of(landing.system)} calls derive(..., [{given!r}])"
        raise _kept(
            landing,
            f"{who}: {no_record(landing.world.records, id)}" if isinstance(id, str | int) else f"{who}: a parent is a record, or its id",
        )
    return str(id)


def plan(landing: Landing, name: str, given: Any) -> str:
    """The id of what `plan=` was given and that is no record.

    Raises:
        BadInput: only a mistake can name it.
    """
    id = landing.version(given)
    if not _may_be(landing, id):
        raise _kept(
            landing, f"{name_of(landing.system)}: plan= of kit.act({name!r}) gives {id!r}, and {no_record(landing.world.records, id)}"
        )
    return str(id)


def _kept(landing: Landing, said: str) -> BadInput:
    error = BadInput(said)
    landing.kit._refuse(error)
    return error


def _may_be(landing: Landing, id: Any, checked: bool = False) -> bool:
    """Whether a fault may have handed it out, or the system's own store have held it for a while."""
    if isinstance(id, str) and not landing.own_store and not checked:
        return bool(landing.world.corrupted)
    return any(type(entry) is Landed for entry in landing.log)


def _or(meant: str | None, otherwise: str) -> str:
    return f": did you mean {meant!r}?" if meant is not None else otherwise


def _listed(known: Iterable[str]) -> str:
    most, names = 5, [*known]
    return ", ".join(names[:most]) + (", …" if len(names) > most else "") if names else "none"
