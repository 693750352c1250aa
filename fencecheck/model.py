"""The nouns of the domain: records, actions and the scenario that a system is run in.

A **record** is one immutable version of the fact that its **key** names, or something derived from such versions (a plan, an
approval), whose `parents` name what it was derived from. Every key has one **owner**, which answers the key's current version, the
**head**. An **action** depends on keys: it may go out only if what it was made from was current when it was validated.

The vocabulary is that of "Fresh Memory, Stale Plans" (Chen, Wang, Brinton; arXiv, 2026-09-03).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec import Struct, StructMeta
from msgspec.structs import force_setattr

from fencecheck.errors import BadInput, alike


class _Named(StructMeta):
    """Makes values of what is given by name, and says which name is right."""

    def __call__(cls, *args: Any, **named: Any) -> Any:
        try:
            return super().__call__(*args, **named)
        except TypeError as error:
            unknown = next((name for name in named if name not in cls.__struct_fields__), None)
            if unknown is None or not str(error).startswith("Unexpected keyword argument"):
                raise
            fields = [name for name in cls.__struct_fields__ if name not in _NOT_GIVEN]
            like = alike(unknown, fields)
            right = f"did you mean {like!r}?" if like is not None else f"it takes {', '.join(fields)}"
            raise TypeError(f"{cls.__name__}() takes no argument {unknown!r}: {right}") from None


_NOT_GIVEN = ("by_arguments",)
"""Fields that follow from others."""

KeysOf = Callable[[Mapping[str, Any]], Iterable[str]]


class Record(Struct, frozen=True, gc=False, repr_omit_defaults=True, forbid_unknown_fields=True):
    """One immutable version of a fact, or a record derived from such versions.

    Args:
        id: names this version and no other.
        key: the fact that it is a version of; None for a plan or another record that has no key.
        value: what it says. None for a removed key.
        parents: ids of the records that it was derived from, as the application wrote them.
        supersedes: id of the previous version of the same key. A link of its own: superseding is not deriving.
        removed: True for the tombstone that a removal commits.
    """

    id: str
    key: str | None = None
    value: Any = None
    parents: tuple[str, ...] = ()
    supersedes: str | None = None
    removed: bool = False


def lineage_of(records: Mapping[str, Record], root: str | None) -> tuple[str, ...]:
    """Ids of the lineage of `root`, itself first, breadth first, as written; nothing where there is no root."""
    if root is None:
        return ()
    order, queue = {root: None}, [root]
    for id in queue:  # grows while it is walked
        record = records.get(id)
        for parent in record.parents if record is not None else ():
            if parent not in order:
                order[parent] = None
                queue.append(parent)
    return tuple(order)


class Action(Struct, metaclass=_Named, frozen=True, repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """A call to the outside that a system makes, and the keys on which it really depends.

    One that depends on no key, such as a notification, is never found stale; a check in which no act declares a key is inconclusive.

    Args:
        name: what `kit.act` is called with.
        depends_on: the true dependencies, D*(a): a list of keys, or a function from the call's arguments to keys (a file tool depends
            on the path that it is given).
        declared: the keys that the application declares, D(a), where that is not all of them.
        writes: keys that the act itself commits a new version of.
        times: how often the act is meant to go out in one episode.
        replans: how often a system may replan after the first validation and still be bounded.
        tool: the tool that carries the act out; the name itself if empty.
        keys_of: the same function, where `depends_on` is not it.
        by_arguments: whether the keys depend on the arguments: known of a stored action too, whose function is not stored.

    Raises:
        BadInput: a name is empty or a count is negative.
        TypeError: an argument has another name.
    """

    name: str
    depends_on: tuple[str, ...] = ()
    declared: tuple[str, ...] | None = None
    writes: tuple[str, ...] = ()
    times: int = 1
    replans: int = 1
    tool: str = ""
    keys_of: Any = None
    by_arguments: bool = False

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            depends_on: Iterable[str] | KeysOf = (),
            declared: Iterable[str] | None = None,
            writes: Iterable[str] = (),
            times: int = 1,
            replans: int = 1,
            tool: str = "",
            keys_of: KeysOf | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise BadInput(f"an action needs a name: Action(name={self.name!r}) has none")
        if callable(self.depends_on):
            force_setattr(self, "keys_of", self.depends_on)
            force_setattr(self, "depends_on", ())
        if self.keys_of is not None:
            force_setattr(self, "by_arguments", True)
        for field in ("depends_on", "declared", "writes"):
            keys = getattr(self, field)
            if keys is not None:
                force_setattr(self, field, _keys(self.name, field, keys))
        for field in ("times", "replans"):
            if type(getattr(self, field)) is not int:
                raise BadInput(f"action {self.name!r}: {field} must be a whole number, not {getattr(self, field)!r}")
        if self.times < 1 or self.replans < 0:
            raise BadInput(f"action {self.name!r}: times must be 1 or more and replans 0 or more, not {self.times} and {self.replans}")
        if not isinstance(self.tool, str):
            raise BadInput(f"action {self.name!r}: tool must be a name, not {self.tool!r}")
        if not self.tool:
            force_setattr(self, "tool", self.name)

    @property
    def declares_by_arguments(self) -> bool:
        """Whether nobody knows D(a) before the arguments of a call are there."""
        return self.by_arguments and self.declared is None

    def true_keys(self, args: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """D*(a), for these arguments where it depends on them.

        Raises:
            BadInput: it does and there are none, or the function fails, or returns no list of keys.
        """
        if self.keys_of is None:
            return self.depends_on
        if args is None:
            raise BadInput(f"the keys of action {self.name!r} depend on its arguments: give the arguments too")
        try:
            keys = self.keys_of(args)
        except Exception as error:
            sent = f"{error.__class__.__name__}: {error}, for arguments {', '.join(map(str, args)) or 'of which there are none'}"
            raise BadInput(f"action {self.name!r}: depends_on fails ({sent}): let it name keys for whatever is sent") from error
        if isinstance(keys, str) or not isinstance(keys, Iterable):
            raise BadInput(f"action {self.name!r}: depends_on returned {keys!r}: let it return a list of keys")
        return tuple(dict.fromkeys(map(str, keys)))  # what a system sends by mistake in place of a key is a key that nobody owns

    def declared_keys(self, args: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """D(a) before anything is dropped: what the application declares, which is all true dependencies unless `declared` says less."""
        return self.declared if self.declared is not None else self.true_keys(args)


def _keys(action: str, field: str, keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_texts(f"action {action!r}: {field}", "keys", keys)))


def _texts(where: str, what: str, texts: Any) -> tuple[str, ...]:
    """A list of names, as a tuple.

    Raises:
        BadInput: it is a single name, which Python would take for a list of letters, or holds anything but names.
    """
    if isinstance(texts, str):
        raise BadInput(f"{where} must be a list of {what}, not the single string {texts!r}; write [{texts!r}]")
    if not isinstance(texts, Iterable):
        raise BadInput(f"{where} must be a list of {what}, not {texts!r}")
    found: tuple[Any, ...] = tuple(texts)
    for text in found:
        if not isinstance(text, str):
            raise BadInput(f"{where} must be a list of {what}, which are texts, and holds {text!r}")
    return found


class Scenario(Struct, metaclass=_Named, frozen=True, repr_omit_defaults=True, forbid_unknown_fields=True, omit_defaults=True):
    """The world that a system is run in: who owns which keys, and what the actions depend on.

    Args:
        owners: owner name to the keys that it owns.
        actions: the actions of the system.
        values: key to the values of its versions, first version first, each other than the one before; or to a Hypothesis strategy that
            draws them. Best all are different: what goes out then shows which version it was made from. A version beyond the end of the list
            gets a made-up text.
        agents: the agents of the system; the first is the one that runs unless the system says otherwise.
        tasks: names of the plans that a `Replan` event can ask for.
        depth: generations between a plan and the versions that it rests on. Only systems that take a generated scenario look at it.
        update_hows: further ways in which a key is updated, besides `fresh`, `earlier` and `removed`: name to what a report says of it, which
            follows "commits r2, " or "leaves r1 as it is, ". For a system with its own store, whose `publish_how(key, how, value)` carries them out.

    Raises:
        BadInput: two owners hold one key, an action names a key that nobody owns, a value is that of the version before, or a list that must
            not be empty is.
        TypeError: an argument has another name.
    """

    owners: dict[str, tuple[str, ...]]
    actions: tuple[Action, ...]
    values: dict[str, Any] = {}
    agents: tuple[str, ...] = ("agent",)
    tasks: tuple[str, ...] = ("task",)
    depth: int = 1
    update_hows: dict[str, str] = {}

    if TYPE_CHECKING:

        def __init__(
            self,
            owners: Mapping[str, Iterable[str]],
            actions: Iterable[Action],
            values: Mapping[str, Any] = {},
            agents: Iterable[str] = ("agent",),
            tasks: Iterable[str] = ("task",),
            depth: int = 1,
            update_hows: Mapping[str, str] = {},
        ) -> None: ...

    def __post_init__(self) -> None:
        for field in ("owners", "values", "update_hows"):
            if not isinstance(getattr(self, field), Mapping):
                raise BadInput(f"{field} of a scenario is a mapping, not {getattr(self, field)!r}: {field}={{{_EXAMPLES[field]}}}")
        _texts("owners of a scenario", "names", self.owners)
        force_setattr(
            self, "owners", {owner: _texts(f"owner {owner!r}: what it owns", "keys", keys) for owner, keys in self.owners.items()}
        )
        force_setattr(self, "values", {k: tuple(v) if isinstance(v, list) else v for k, v in self.values.items()})
        for field in ("agents", "tasks"):
            force_setattr(self, field, _texts(f"{field} of a scenario", "names", getattr(self, field)))
        force_setattr(self, "update_hows", dict(self.update_hows))
        if isinstance(self.actions, str | Action) or not isinstance(self.actions, Iterable):
            raise BadInput(f"actions of a scenario is a list of actions, not {self.actions!r}: actions=[{_EXAMPLES['actions']}]")
        force_setattr(self, "actions", tuple(self.actions))
        _check_scenario(self)

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key, in the order of the owners."""
        return tuple(key for keys in self.owners.values() for key in keys)

    def owner_of(self, key: str) -> str | None:
        """The owner of `key`, or None for a key that nobody owns, such as that of a derived record."""
        return next((owner for owner, keys in self.owners.items() if key in keys), None)

    def action(self, name: str) -> Action | None:
        """The action of that name, or None."""
        for action in self.actions:
            if action.name == name:
                return action
        return None

    def value_of(self, key: str, number: int) -> Any:
        """The value of version `number` (from 1) of `key`; beyond those that are given one is made up that is like the last of them."""
        values: Sequence[Any] = self.values.get(key, ())
        if number <= len(values):
            return values[number - 1]
        text = f"{key} version {number}"
        made_up = _like(values[-1], number, text) if values else text
        return text if made_up in values else made_up

    def declared(self, action: Action, dropped: Iterable[tuple[str, str]] = (), args: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """D(a): the declared keys of `action` without the dropped ones; every key where they depend on arguments and there are none."""
        keys = self.keys if args is None and action.declares_by_arguments else action.declared_keys(args)
        if not dropped:
            return keys
        gone = {key for name, key in dropped if name == action.name}
        return tuple(key for key in keys if key not in gone)


def _like(value: Any, number: int, text: str) -> Any:
    """Another value of the type and shape of `value`, another one for each number; `text` where there is none."""
    kind = type(value)
    if kind in (int, float, Decimal):
        return value + 1_000 * number
    if isinstance(value, date):
        return _later(value, number) or text
    if kind is dict and value:
        return {name: part if type(part) is bool or part is None else _like(part, number, text) for name, part in value.items()}
    if kind in (list, tuple) and value:
        return kind([part if type(part) is bool or part is None else _like(part, number, text) for part in value])
    return text


def _later(value: date, days: int) -> date | None:
    try:
        return value + timedelta(days=days)
    except OverflowError:  # there is no day after the last one
        return None


_EXAMPLES = {
    "owners": "'orders': ['order/42/address']",
    "values": "'order/42/address': ['Tokyo', 'Osaka']",
    "actions": "Action('ship', depends_on=[...])",
    "update_hows": "'same-tick': 'within one tick of the clock'",
}
"""What each field of a scenario may look like, for the sentences that refuse something else."""


def _check_scenario(scenario: Scenario) -> None:
    if not scenario.actions:
        raise BadInput(f"a scenario needs at least one action: Scenario(actions=[{_EXAMPLES['actions']}])")
    for action in scenario.actions:
        if not isinstance(action, Action):
            raise BadInput(f"actions of a scenario is a list of actions, and holds {action!r}: actions=[{_EXAMPLES['actions']}]")
    if not all(isinstance(text, str) and text for how in scenario.update_hows.items() for text in how):
        raise BadInput(
            f"update_hows of a scenario maps names to what a report says, both texts: update_hows={{{_EXAMPLES['update_hows']}}}"
        )
    if not scenario.agents or not scenario.tasks:
        raise BadInput("a scenario needs at least one agent and one task")
    if type(scenario.depth) is not int or scenario.depth < 1:
        raise BadInput(f"the lineage depth of a scenario is 1 or more, not {scenario.depth!r}")
    keys = scenario.keys
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise BadInput(f"key {twice[0]!r} has two owners: each key is owned by exactly one")
    names = [action.name for action in scenario.actions]
    if len(set(names)) < len(names):
        raise BadInput(f"two actions are named {max(names, key=names.count)!r}: give each a name of its own")
    known = ", ".join(keys) or "none"
    for action in scenario.actions:
        for does, named in (("depends on", action.depends_on), ("declares", action.declared or ()), ("writes", action.writes)):
            for key in named:
                if key not in keys:
                    like = alike(key, keys)
                    right = f"did you mean {like!r}? Else add it to owners" if like is not None else "add it to owners"
                    raise BadInput(f"action {action.name!r} {does} the key {key!r}, which no owner holds (keys: {known}): {right}")
    for key, values in scenario.values.items():
        if key not in keys:
            like = alike(key, keys)
            right = f"did you mean {like!r}?" if like is not None else "correct its name"
            raise BadInput(f"values are given for the key {key!r}, which no owner holds (keys: {known}): {right}")
        if isinstance(values, str | bytes) or not (isinstance(values, tuple) or hasattr(values, "example")):
            raise BadInput(f"the values of {key!r} must be a list, one for each version, or a Hypothesis strategy, not {values!r}")
        if values == ():
            raise BadInput(f"the values of {key!r} are an empty list: give the first at least, or leave the key out of values")
        if isinstance(values, tuple):
            _refuse_unchanged(key, values)


def _refuse_unchanged(key: str, values: tuple[Any, ...]) -> None:
    for number, (value, following) in enumerate(itertools.pairwise(values), 1):
        try:
            unchanged = bool(type(value) is type(following) and value == following)
        except Exception:
            unchanged = False  # an array and the like is equal to nothing
        if unchanged:
            raise BadInput(
                f"the values {number} and {number + 1} of {key!r} are both {value!r}, so that an update would change nothing: "
                "let each differ from the one before"
            )
