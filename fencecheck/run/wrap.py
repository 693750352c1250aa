"""A team's whole client object as ports: its named methods meet the world through the kit, everything else is the object's own.

`kit.wrap(client, reads={"get_order": "order/{0}"}, writes=["ship"])` gives a stand-in to hand to the system in the client's place. A call of
`get_order` is the port `read` of the key that its arguments name, with `via=` the real method; a call of `ship` is the port `act` of the action
of that name, with the arguments by name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property, partial, wraps
from inspect import getattr_static
from string import Formatter
from typing import TYPE_CHECKING, Any

from fencecheck.errors import BadInput, alike
from fencecheck.run.lines import line_of_caller
from fencecheck.run.raised import said
from fencecheck.run.unknown import no_key

if TYPE_CHECKING:
    from fencecheck.run.kit import Kit

KeyOf = str | Callable[..., str]
"""How the arguments of a method name a key: a format of them, by number (`{0}`) or by name (`{order_id}`), or a function of them."""
Names = Iterable[str] | Mapping[str, Any]
_MOST_SHOWN = 100
_PORTS = "_fencecheck_ports"
_OWN = {
    "class", "new", "init", "del", "getattribute", "getattr", "setattr", "delattr", "init_subclass", "subclasshook", "dict", "weakref",
    "slots", "doc", "module", "class_getitem", "mro_entries", "reduce", "reduce_ex", "getstate", "setstate", "getnewargs",
    "getnewargs_ex", "sizeof", "annotations", "static_attributes", "firstlineno", "orig_bases", "parameters", "abstractmethods",
}  # fmt: skip
"""Special names, less their underscores, that a stand-in does not hand on."""


def wrap(
    kit: Kit,
    client: Any,
    *,
    reads: Names = (),
    heads: Names = (),
    writes: Names = (),
    timeout: float | None = None,
    idempotency_key: str | None = None,
) -> Any:
    """A stand-in for `client` whose named methods are ports.

    Args:
        kit: the kit of the episode.
        client: any object, or a module. Methods may be async, and lie deeper: `"orders.get"`.
        reads: the methods that ask an owner for the current record: a mapping of each to how its arguments name the key (`KeyOf`). A plain list
            does where only one key of the scenario can be meant: the one that an argument is, or the only one that has all arguments among
            its parts (`get_order("42")` of `order/42/address`).
        heads: likewise the methods that ask which version is current.
        writes: the methods that act: a mapping of each to the name of its action, or a list where the two are the same.
        timeout: seconds after which the client gives an owner up that never answers; None: it waits for ever.
        idempotency_key: the parameter of the writes that carries one.

    Returns:
        What to hand to the system in place of `client`: an instance of its class, as far as `isinstance` can tell.

    Raises:
        BadInput: there is no such method or action, it cannot be a port, or its arguments name no key.
    """
    ports: dict[str, _Port] = {}
    for kind, names in (("reads", reads), ("heads", heads), ("writes", writes)):
        for name, what in _named(kit, kind, names).items():
            if name in ports:
                raise BadInput(f"kit.wrap: {name!r} is named twice: a method is a read, a head or a write")
            if kind != "writes":
                ports[name] = _Asks(kit, name, what, kind == "reads", timeout)
            else:
                kit._landing.action(what or name)
                ports[name] = _Acts(kit, name, what or name, idempotency_key)
    return _stand_in(client, ports, "")


def _named(kit: Kit, kind: str, names: Any) -> dict[str, Any]:
    if isinstance(names, str):
        raise BadInput(f"kit.wrap: {kind} must be a list of methods, not the single string {names!r}; write [{names!r}]")
    if not isinstance(names, Iterable):
        raise BadInput(f"kit.wrap: {kind} must be a list of methods or a mapping of them, not {names!r}")
    found = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names)
    for name, what in found.items():
        if not isinstance(name, str):
            raise BadInput(f"kit.wrap: {kind} names methods, which are texts, and holds {name!r}")
        if what is not None and not isinstance(what, str) and (kind == "writes" or not callable(what)):
            right = "the name of its action" if kind == "writes" else "a format such as 'order/{0}' or a function of its arguments"
            raise BadInput(f"kit.wrap: {kind} maps {name!r} to {what!r}: give {right}")
    return found


# -- the ports -----------------------------------------------------------------------------------------------------------------------


class _Port:
    """One method as a port."""

    def __init__(self, kit: Kit, name: str) -> None:
        self.kit, self.name = kit, name

    def call(self, ports: Any, method: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The port call of this call of the method. `ports` are the plain or the awaited ones."""
        raise NotImplementedError

    def of(self, method: Any) -> Any:
        """What a stand-in has in place of `method`."""
        if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
            raise BadInput(f"kit.wrap: {self.name}() is a generator, which is no single call: make what it calls a port instead")
        if inspect.iscoroutinefunction(method) or inspect.iscoroutinefunction(getattr(method, "__call__", None)):  # noqa: B004

            async def awaited(*args: Any, **options: Any) -> Any:
                return await self.call(self.kit.aio, method, args, options)

            return _like(method, awaited)

        def called(*args: Any, **options: Any) -> Any:
            return self.call(self.kit, method, args, options)

        return _like(method, called)


class _Asks(_Port):
    def __init__(self, kit: Kit, name: str, key_of: KeyOf | None, record: bool, timeout: float | None) -> None:
        super().__init__(kit, name)
        self.key_of, self.port, self.timeout = key_of, "read" if record else "head", timeout

    def call(self, ports: Any, method: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        key = self._key(method, args, options)
        return getattr(ports, self.port)(key, timeout=self.timeout, via=partial(method, *args, **options))

    def _key(self, method: Any, args: tuple[Any, ...], options: dict[str, Any]) -> str:
        key_of = self.key_of
        if key_of is None:
            return self._only_key(_arguments(method, args, options))
        try:
            key = key_of(*args, **options) if callable(key_of) else self._formatted(key_of, method, args, options)
        except Exception as error:
            how = "its function" if callable(key_of) else repr(key_of)
            why = said(error) if callable(key_of) else _lacks(key_of, _arguments(method, args, options)) or said(error)
            raise self._refused(f"{how} names no key for {self._called(args, options)}{line_said()}: {why}") from error
        if key not in self.kit.scenario.keys:
            given = f"{key[:_MOST_SHOWN]}…" if isinstance(key, str) and len(key) > _MOST_SHOWN else key
            raise self._refused(f"{self._called(args, options)}{line_said()}: {no_key(self.kit.scenario.keys, given)}")
        return key

    def _formatted(self, form: str, method: Any, args: tuple[Any, ...], options: dict[str, Any]) -> str:
        named = _arguments(method, args, options)
        return form.format(*named.values(), **{name: value for name, value in named.items() if name.isidentifier()})

    def _only_key(self, arguments: Mapping[str, Any]) -> str:
        keys = self.kit.scenario.keys
        given = [str(value) for value in arguments.values() if isinstance(value, str | int)]
        meant = [key for key in keys if key in given] or [key for key in keys if set(given) <= {key, *key.split("/")}]
        if len(meant) != 1:
            could = f"any of {', '.join(meant)}" if meant else f"none of {', '.join(keys)}"
            form = f"{self.name.partition('_')[2] or self.name}/{{0}}"
            called = self._called(tuple(arguments.values()), {})
            raise self._refused(f"{called}{line_said()} could mean {could}: say which, as {self.port}s={{{self.name!r}: {form!r}}}")
        return meant[0]

    def _refused(self, why: str) -> Exception:
        return self.kit._refuse(BadInput(f"kit.wrap: {why}"))  # what a client raises, its caller may swallow

    def _called(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
        return f"{self.name}({', '.join([*map(_shown, args), *(f'{name}={_shown(value)}' for name, value in options.items())])})"


def _lacks(form: str, arguments: Mapping[str, Any]) -> str:
    """Which argument a format asks for that there is not, in words, or nothing."""
    try:
        asked = [re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(form) if name]
    except ValueError:  # it is no format
        return ""
    for name in asked:
        if name.isdecimal() and int(name) >= len(arguments):
            return f"there is no argument number {name}: they are {', '.join(arguments) or 'none'}, counted from 0"
        if not name.isdecimal() and name not in arguments:
            like = alike(name, arguments)
            right = f"did you mean {{{like}}}?" if like is not None else f"they are {', '.join(arguments) or 'none'}"
            return f"there is no argument {name!r}: {right}"
    return ""


def line_said() -> str:
    """` at agent.py:12`, or nothing where no line is known."""
    line = line_of_caller()
    return f" at {line}" if line else ""


def _shown(value: Any) -> str:
    """An argument in a sentence, whatever its `repr` does."""
    try:
        text = repr(value)
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


class _Acts(_Port):
    def __init__(self, kit: Kit, name: str, action: str, idempotency_key: str | None) -> None:
        super().__init__(kit, name)
        self.action, self.idempotency_key = action, idempotency_key

    def call(self, ports: Any, method: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        sent = _arguments(method, args, options)
        key = sent.pop(self.idempotency_key, None) if self.idempotency_key is not None else None
        return ports.act(self.action, sent, idempotency_key=key, via=partial(method, *args, **options))


def _arguments(method: Any, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, as given; those of a method whose signature nobody knows, and further ones, by number."""
    try:
        bound = inspect.signature(method).bind(*args, **options)
    except TypeError:  # it raises the same when it is called
        return {**{str(i): value for i, value in enumerate(args)}, **options}
    except ValueError:  # of a builtin
        return {**{str(i): value for i, value in enumerate(args)}, **options}
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            named.update({str(len(named) + i): part for i, part in enumerate(value)})
        elif kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        else:
            named[name] = value
    return named


def _like(method: Any, made: Callable[..., Any]) -> Callable[..., Any]:
    return wraps(method)(made) if hasattr(method, "__name__") else made


# -- the stand-in --------------------------------------------------------------------------------------------------------------------


def _stand_in(client: Any, ports: Mapping[str, _Port], where: str) -> Any:
    """An object that is `client` but for its ports; `where` says how it was come by, for errors."""
    replaced: dict[str, Any] = {}
    deeper: dict[str, dict[str, _Port]] = {}
    for name, port in ports.items():
        first, _, rest = name.partition(".")
        if not rest:
            _refuse_as_port(client, first, where)
        if not hasattr(client, first):
            raise BadInput(f"kit.wrap: {_kind(client)} has no {where}{first}{_near(first, client)}")
        if rest:
            deeper.setdefault(first, {})[rest] = port
        elif not callable(getattr(client, first)):
            raise BadInput(f"kit.wrap: {where}{first} of {_kind(client)} is no method but {getattr(client, first)!r}")
        else:
            replaced[first] = port.of(getattr(client, first))
    for first, inside in deeper.items():
        replaced[first] = _stand_in(getattr(client, first), inside, f"{where}{first}.")
    return _class_for(client, replaced)()


def _refuse_as_port(client: Any, name: str, where: str) -> None:
    """Says of what is asked for on `client` that it can be no port, before anything of the client's own runs."""
    if isinstance(getattr_static(type(client), name, None), property | cached_property):
        raise BadInput(f"kit.wrap: {where}{name} of {_kind(client)} is a property, which is no call: make the method that it calls a port")
    if name in getattr_static(type(client), _PORTS, ()):
        raise BadInput(f"kit.wrap: {where}{name} is a port of this client already, and would be two calls: wrap the client itself once")


def _class_for(client: Any, replaced: Mapping[str, Any]) -> type[Any]:
    """The class of one stand-in. What it is asked for by a special method is looked up on the class, so each has one of its own."""

    def itself(self: Any, answer: Any) -> Any:
        return self if answer is client else answer  # `with client as c`, and methods that return self

    class StandIn:
        __dict__ = property(lambda self: vars(client))

        def __getattr__(self, name: str) -> Any:
            return getattr(client, name)

        def __setattr__(self, name: str, value: Any) -> None:
            setattr(client, name, value)

        def __delattr__(self, name: str) -> None:
            delattr(client, name)

        @property  # type: ignore[misc]
        def __class__(self) -> type[Any]:
            return type(client)

        def __repr__(self) -> str:
            return f"<{client!r}, on the ports of a kit>"

        def __reduce_ex__(self, protocol: Any) -> Any:
            raise TypeError(f"a {type(client).__name__} on the ports of a kit cannot be pickled: it belongs to an episode")

    def handed_on(name: str) -> Any:
        def special(self: Any, *args: Any, **options: Any) -> Any:
            answer = getattr(client, name)(*args, **options)
            if name == "__aenter__":
                return _entered(self, answer, client)
            return itself(self, answer)

        return special

    for name in dir(type(client)):
        if name.startswith("__") and name.endswith("__") and name[2:-2] not in _OWN and name != "__repr__":
            value = getattr(type(client), name)
            setattr(StandIn, name, handed_on(name) if callable(value) else value)
    for name in ("__copy__", "__deepcopy__"):  # a copy of the client's own would leave the ports
        setattr(StandIn, name, lambda self, *memo: self)
    setattr(StandIn, _PORTS, frozenset(replaced))
    for name, method in replaced.items():
        setattr(StandIn, name, staticmethod(method) if callable(method) and not isinstance(method, type) else method)
    return StandIn


async def _entered(self: Any, entering: Any, client: Any) -> Any:
    answer = await entering
    return self if answer is client else answer


def _kind(client: Any) -> str:
    name = getattr(client, "__name__", None)
    return name if isinstance(name, str) else type(client).__name__


def _near(name: str, client: Any) -> str:
    near = get_close_matches(name, [other for other in dir(client) if not other.startswith("__")], 1)
    return (
        f": did you mean {near[0]}?"
        if near
        else f": its methods are {', '.join(n for n in dir(client) if not n.startswith('_')) or 'none'}"
    )
