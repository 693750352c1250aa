"""A team's LangChain tools and plain functions as ports of the kit, whatever graph calls them.

What is made here belongs to no episode: it asks at each call for the episode that runs in its context, which LangGraph hands on to its
threads and tasks. With none it is the team's own tool or function, unchanged.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool

from fencecheck.errors import BadInput, FencecheckError
from fencecheck.integrations.asking import Asked, kept, read_all, read_all_later
from fencecheck.integrations.keys import KeysOf, keys_of
from fencecheck.run.adapter import name_of
from fencecheck.run.faults import MALFORMED

if TYPE_CHECKING:
    from fencecheck.integrations.langgraph import GraphSystem

EPISODE: ContextVar[GraphSystem | None] = ContextVar("fencecheck_graph_episode", default=None)
"""The adapter whose episode runs, or None: in production there is never one."""


class NoAnswer(LookupError):
    """The fact that a tool was to read was removed, or its owner answered with garbage."""


class Port:
    """One tool or function on the kit: what it is called, and what of the world it meets."""

    def __init__(self, name: str, reads: KeysOf | None, call: bool | None, options: Mapping[str, Any], artifact: bool = False) -> None:
        self.name, self._reads, self._call, self._options, self._artifact = name, reads, call, options, artifact

    def __call__(self, args: Mapping[str, Any], given: Callable[[], Any]) -> Any:
        """Goes through the kit where an episode runs, else to `given`, the team's own call."""
        system = EPISODE.get()
        if system is None:
            return given()
        kit, via = system.kit, self._via(system, given)
        with kept(kit), system.as_agent():
            if self.name in system.acting:
                return self._shaped(kit.act(self.name, args, via=via, **self._said(system, args)), via)
            keys = self._keys(args)
            if not keys:
                kit.point(f"tool {self.name}")
                return given()
            asked = read_all(kit, keys, system.owner_timeout_s, via)
        return self._answer(system, asked, via)

    async def awaited(self, args: Mapping[str, Any], given: Callable[[], Any]) -> Any:
        """The same, to await; `given` may answer with an awaitable."""
        system = EPISODE.get()
        if system is None or system.runtime == "sync":
            answer = self(args, given)
            return await answer if inspect.isawaitable(answer) else answer
        kit, via = system.kit, self._via(system, given)
        with kept(kit), system.as_agent():
            if self.name in system.acting:
                return self._shaped(await kit.aio.act(self.name, args, via=via, **self._said(system, args)), via)
            keys = self._keys(args)
            if not keys:
                await kit.aio.point(f"tool {self.name}")
                answer = given()
                return await answer if inspect.isawaitable(answer) else answer
            asked = await read_all_later(kit, keys, system.owner_timeout_s, via)
        return self._answer(system, asked, via)

    def _via(self, system: GraphSystem, given: Callable[[], Any]) -> Callable[[], Any] | None:
        """The team's own call, where it is to be made: by default where the system has a store of its own."""
        call = system.own_store if self._call is None else self._call
        return given if call else None

    def _keys(self, args: Mapping[str, Any]) -> tuple[str, ...]:
        return keys_of(self._reads, args, f"reads[{self.name!r}]")

    def _said(self, system: GraphSystem, args: Mapping[str, Any]) -> dict[str, Any]:
        """What the port says of an act besides its arguments."""
        said: dict[str, Any] = {} if system.plan is None else {"plan": system.plan}
        for name, option in self._options.items():
            try:
                said[name] = option(args) if callable(option) else option
            except FencecheckError:
                raise
            except Exception as error:
                where = f"{name_of(system)}: {name}= of the port of {self.name!r}"
                raise BadInput(f"{where} fails for {dict(args)!r}: {type(error).__name__}: {error}") from error
        return said

    def _answer(self, system: GraphSystem, asked: Asked, via: Callable[[], Any] | None) -> Any:
        answer, records = asked
        if via is not None:
            if answer is MALFORMED:
                raise NoAnswer(f"{self.name} was answered with garbage")
            return answer
        for key, record in records.items():  # as a client would that knows what it asked for
            if getattr(record, "key", None) != key:
                raise NoAnswer(f"{self.name} was answered with {'garbage' if record is MALFORMED else 'another fact'}")
        read = records if len(records) > 1 else next(iter(records.values()))
        return self._shaped(system.answer(self.name, read), via)

    def _shaped(self, answer: Any, via: Callable[[], Any] | None) -> Any:
        """What the kit answered in place of the tool, in the form that LangChain wants of it."""
        return (answer, None) if self._artifact and via is None else answer


def port(system: GraphSystem, tool: Any, reads: KeysOf | None, call: bool | None, options: Mapping[str, Any]) -> Any:
    """`tool` as a port: a LangChain tool as one of the same name, description and arguments, a function as one of the same signature.

    Raises:
        BadInput: it is neither.
    """
    if not isinstance(tool, BaseTool) and not callable(tool):
        raise BadInput(f"{name_of(system)}: port() takes a LangChain tool or a function, not {tool!r}")
    name = tool.name if isinstance(tool, BaseTool) else getattr(tool, "__name__", type(tool).__name__)
    reads = system.reads.get(name) if reads is None else reads
    if not isinstance(tool, BaseTool):
        return _function(Port(name, reads, call, options), tool)
    own = tool if isinstance(tool, StructuredTool) else _structured(tool)
    return _tool(Port(name, reads, call, options, own.response_format == "content_and_artifact"), own)


def in_place(system: GraphSystem, tool: Any) -> Callable[[], None]:
    """Makes a port of `tool` where it stands, for whoever holds it. Returns what puts it back.

    Raises:
        BadInput: it is not made of functions, which is what can be replaced.
    """
    if not isinstance(tool, StructuredTool):
        raise BadInput(
            f"{name_of(system)}: tools_in_place takes tools made by @tool, not {tool!r}: give the graph self.port(...) in its place"
        )
    before = {"func": tool.func, "coroutine": tool.coroutine}
    made = system.port(tool)
    tool.func, tool.coroutine = made.func, made.coroutine

    def put_back() -> None:
        tool.func, tool.coroutine = before["func"], before["coroutine"]

    return put_back


def _function(made: Port, own: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(own)

    def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    if inspect.iscoroutinefunction(own):

        @functools.wraps(own)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await made.awaited(arguments(args, kwargs), lambda: own(*args, **kwargs))

        return awaited

    @functools.wraps(own)
    def called(*args: Any, **kwargs: Any) -> Any:
        return made(arguments(args, kwargs), lambda: own(*args, **kwargs))

    return called


def _tool(made: Port, own: StructuredTool) -> BaseTool:
    plain, later = own.func, own.coroutine
    shown = frozenset(own.args)  # what the model writes; the rest is injected by LangGraph and never goes out

    def sent(kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in kwargs.items() if name in shown}

    def called(**kwargs: Any) -> Any:
        if plain is None:
            raise NotImplementedError(f"the tool {made.name!r} is async only")
        return made(sent(kwargs), lambda: plain(**kwargs))

    async def awaited(**kwargs: Any) -> Any:
        return await made.awaited(sent(kwargs), lambda: later(**kwargs) if later is not None else called_own(kwargs))

    def called_own(kwargs: dict[str, Any]) -> Any:
        assert plain is not None
        return plain(**kwargs)

    # LangChain reads from the signature what it has to inject
    return own.model_copy(
        update={
            "func": functools.wraps(plain)(called) if plain is not None else None,
            "coroutine": functools.wraps(later or plain)(awaited),  # type: ignore[arg-type]
        }
    )


def _structured(tool: BaseTool) -> StructuredTool:
    """A tool of a class of its own, as one of functions."""

    def called(**kwargs: Any) -> Any:
        return tool.invoke(kwargs)

    async def awaited(**kwargs: Any) -> Any:
        return await tool.ainvoke(kwargs)

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.get_input_schema(),
        func=called,
        coroutine=awaited,
        return_direct=tool.return_direct,
        handle_tool_error=tool.handle_tool_error,
        handle_validation_error=tool.handle_validation_error,
        tags=tool.tags,
        metadata=tool.metadata,
    )
