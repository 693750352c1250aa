"""A fence around the node that acts: PlanFence right before the dispatch, and the graph's own way to plan again or to halt."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import partial
from typing import Annotated, Any, Literal, TypedDict
from uuid import UUID

from langgraph.config import get_config
from langgraph.graph import END
from langgraph.types import Command

from fencecheck.errors import BadInput
from fencecheck.fence import Halt, PlanFence, Reason
from fencecheck.fence.aio import PlanFence as AsyncPlanFence
from fencecheck.integrations.keys import Premise, Version, fetched
from fencecheck.integrations.langgraph_ports import EPISODE


class Note(TypedDict, total=False):
    """What the fence notes in the state.

    Args:
        replans: how often it had the graph plan again since it last let an act out or halted.
        changed: the keys that had changed then.
        halted: why it halted, in one sentence; absent while it has not.
        step: the step of the graph in which it noted that.
    """

    replans: int
    changed: list[str]
    halted: str
    step: str


def merged(old: Note, new: Note) -> Note:
    """What the state says after `new`: that alone, or both where several fence nodes ran in one step, side by side."""
    if "step" not in new or old.get("step") != new["step"]:
        return new
    both: Note = {**old, **new, "replans": max(old["replans"], new["replans"])}
    changed = [*old.get("changed", ()), *new.get("changed", ())]
    halted = [note["halted"] for note in (old, new) if "halted" in note]
    if changed:
        both["changed"] = list(dict.fromkeys(changed))
    if halted:
        both["halted"] = "; ".join(dict.fromkeys(halted))
    return both


class FenceState(TypedDict, total=False):
    """To be inherited by the state of a graph that has a fence node."""

    fence: Annotated[Note, merged]


_NAMES = (str, int, float, date, UUID)
"""What a store may name a version by: a number, a tag, the time of the last change."""


def _version(key: str, own: Any) -> Any:
    """The id as the fence knows it; what is none is left as it is, for the fence to refuse."""
    if not isinstance(own, _NAMES) or isinstance(own, bool) or own == "":
        return own
    return Version(key, own)


class _Changed(Exception):
    """Some premises are not current: raised where PlanFence would have the plan remade."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = list(keys)
        super().__init__(", ".join(self.keys))


def fence_node(
    act: Callable[..., Any],
    *,
    head: Callable[[str], Any],
    depends_on: Iterable[str] | Callable[[Any], Iterable[str]],
    versions: str = "versions",
    replan: str | None = None,
    then: str = END,
    halt: str = END,
    action: str | None = None,
    timeout_s: float | None = None,
    validated: Callable[[Mapping[str, Any]], object] | None = None,
) -> Callable[..., Any]:
    """The node `act`, called only if each fact on which it depends is still in the version that the plan was made from.

    "Fresh Memory, Stale Plans" (arXiv, 2026-09-03). Fence and act are one node on purpose: with a checkpoint between them, a process that is
    restarted there sends a plan whose check is as old as the checkpoint. Where a fact has changed, the graph goes to the node `replan`, once;
    where it has changed again, or cannot be verified, to `halt`, and the state says why in `state["fence"]["halted"]`. Give the node no
    edges of its own: it goes to `then` when it has acted.

    A node that is sent to by `Send` sees what it is sent, not the state: send it `fence` too, as the state has it (`state.get("fence", {})`), so
    that replanning stays bounded. Sent without it, it does not replan but halts.

    Args:
        act: the node that acts, as it is: it takes the state, and the runtime or the config if it wants them. Async if it is.
        head: key to the id of the version that the key's owner says is current; async where `act` is.
        depends_on: D(a), the keys on which the act depends, or a function of the state to them.
        versions: the entry of the state that holds what the plan was made from, as key to the id of the version that was read.
        replan: the node to plan again in, after which the graph comes here again; None halts at the first change.
        then: the node to go to after the act.
        halt: the node to go to instead of acting.
        action: the name of the scenario's action, where declarations that an application forgot are to be tried too.
        timeout_s: seconds for each owner. Only an async `head`, or one with a parameter `timeout`, can be given up.
        validated: called with key to version at the moment of clearance, for an audit log.

    Returns: the node, for `add_node`. The state must have the entries `versions` and `fence` (`FenceState`).

    Raises:
        TypeError: `act` is a plain function and `head` an async one.
    """
    fence = _Fence(act, head, depends_on, versions, (replan, then, halt), action, timeout_s, validated)
    if inspect.iscoroutinefunction(act) or inspect.iscoroutinefunction(getattr(act, "__call__", None)):  # noqa: B004

        async def awaited(state: Any, **injected: Any) -> Any:
            return await fence.awaited(state, injected)

        made: Any = awaited
    elif inspect.iscoroutinefunction(head):
        raise TypeError("fence_node: head is async and act is not: make act an async function, or give a plain head")
    else:

        def called(state: Any, **injected: Any) -> Any:
            return fence.called(state, injected)

        made = called
    return _like(made, act, fence.ways)


def _like(node: Any, act: Callable[..., Any], ways: tuple[str, ...]) -> Callable[..., Any]:
    """The node with what LangGraph reads of it: from the signature what to inject, and where the node can go from what it returns."""
    state = inspect.Parameter("state", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    extra = list(inspect.signature(act).parameters.values())[1:]
    node.__signature__ = inspect.Signature([state, *(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in extra)])
    node.__annotations__ = {"return": Command[Literal[ways]]}  # type: ignore[valid-type]
    node.__name__ = node.__qualname__ = getattr(act, "__name__", "act")
    return node  # type: ignore[no-any-return]


class _Fence:
    """What the plain and the async node share."""

    def __init__(
        self,
        act: Callable[..., Any],
        head: Callable[..., Any],
        depends_on: Iterable[str] | Callable[[Any], Iterable[str]],
        versions: str,
        ways: tuple[str | None, str, str],
        action: str | None,
        timeout_s: float | None,
        validated: Callable[[Mapping[str, Any]], object] | None,
    ) -> None:
        if isinstance(depends_on, str):
            raise BadInput(f"fence_node: depends_on is a list of keys: write [{depends_on!r}]")
        self.act, self.action, self.versions, self.validated = act, action, versions, validated
        self.depends_on = depends_on if callable(depends_on) else tuple(depends_on)
        self.replan, self.then, self.halt = ways
        limited = timeout_s is not None and "timeout" in _parameters(head)
        self._head: Callable[[str], Any] = partial(head, timeout=timeout_s) if limited else head
        self._timeout_s = timeout_s
        self._made: tuple[Any, Any] | None = None

    @property
    def ways(self) -> tuple[str, ...]:
        """The nodes that it can go to."""
        return tuple(dict.fromkeys(way for way in (self.replan, self.then, self.halt) if way is not None))

    def called(self, state: Any, injected: Mapping[str, Any]) -> Any:
        """The plain node."""
        system = EPISODE.get()
        fence = self._of(system, lambda: PlanFence(fetched, self._asked, _replanned, self._mark, passthrough=(_Changed,)))
        try:
            fence.clear(*self._question(state, system))
        except (_Changed, Halt) as error:
            return self._not_now(state, error, system)
        return self._acted(self.act(state, **injected))

    async def awaited(self, state: Any, injected: Mapping[str, Any]) -> Any:
        """The async node."""
        system, limit = EPISODE.get(), self._timeout_s
        fence = self._of(
            system,
            lambda: AsyncPlanFence(_fetched_later, self._asked_later, _replanned_later, self._mark, limit, passthrough=(_Changed,)),
        )
        try:
            await fence.clear(*self._question(state, system))
        except (_Changed, Halt) as error:
            return self._not_now(state, error, system)
        return self._acted(await self.act(state, **injected))

    def _of(self, system: Any, make: Callable[[], Any]) -> Any:
        """The fence, which remembers the heads that it was answered as long as the graph lives, but from one episode to the next nothing."""
        if self._made is None or self._made[0] is not system:
            self._made = system, make()
        return self._made[1]

    def _question(self, state: Any, system: Any) -> tuple[Premise, tuple[str, ...]]:
        keys = tuple(self.depends_on(state) if callable(self.depends_on) else self.depends_on)
        if system is not None:
            if system.halted.get(self, _step())[0] != _step()[0]:
                del system.halted[self]  # it is asked anew; in one step several of its tasks may run, of which one has halted
            if self.action is not None:
                keys = system.still_declared(self.action, keys)
        made_from = _entry(state, self.versions) or {}
        return Premise("the plan", parents=tuple(_version(key, own) for key, own in made_from.items())), keys

    def _asked(self, key: str) -> Any:
        return _version(key, self._head(key))

    async def _asked_later(self, key: str) -> Any:
        answer = self._head(key)
        return _version(key, await answer if inspect.isawaitable(answer) else answer)

    def _mark(self, basis: Mapping[str, Any]) -> None:
        system = EPISODE.get()
        if system is not None:
            with system.as_agent():
                system.kit.validated(basis)
        if self.validated is not None:
            self.validated({key: version.own for key, version in basis.items()})

    def _acted(self, answer: Any) -> Any:
        several = answer if isinstance(answer, list | tuple) else (answer,)
        says_where = any(isinstance(part, Command) for part in several)
        noted: Command[Any] = Command(goto=() if says_where else self.then, update={"fence": {"replans": 0, **_noted()}})
        return [*(part for part in several if part is not None), noted]

    def _not_now(self, state: Any, error: _Changed | Halt, system: Any) -> Any:
        note = _entry(state, "fence")
        replans, bounded = (note or {}).get("replans", 0), note is not None or not _sent()
        if isinstance(error, Halt):
            why = str(error)
        elif self.replan is not None and not replans and bounded:
            return Command(goto=self.replan, update={"fence": {"replans": replans + 1, "changed": error.keys, **_noted()}})
        elif replans:
            why = str(Halt(Reason.CHANGED_AGAIN, error.keys[0]))
        else:
            why = f"changed: {', '.join(error.keys)} changed since the plan was made"
            if not bounded and self.replan is not None:
                why += "; it was sent here without the state's entry 'fence', and so is not planned again"
        if system is not None:
            before = system.halted.get(self)
            system.halted[self] = (_step()[0], why if before is None else f"{before[1]}; {why}")
        return Command(goto=self.halt, update={"fence": {"replans": 0, "halted": why, **_noted()}})


def _step() -> tuple[str, str]:
    """The step of the graph that runs, by a text that no other step of the conversation has, and how the node was reached in it."""
    try:
        metadata = get_config().get("metadata") or {}
    except RuntimeError:  # it is called by itself, outside of a graph
        return "", ""
    outer = str(metadata.get("langgraph_checkpoint_ns") or "").rpartition("|")[0]
    return f"{outer}#{metadata.get('langgraph_step')}", str((metadata.get("langgraph_path") or ("",))[0])


def _noted() -> Note:
    step = _step()[0]
    return {"step": step} if step else {}


def _sent() -> bool:
    """Whether the node was sent to by `Send`, and so does not see the state."""
    return _step()[1] == "__pregel_push"


async def _fetched_later(version: Any) -> Premise:
    return fetched(version)


def _replanned(plan: Premise, changed: Mapping[str, Premise]) -> Premise:
    raise _Changed(changed)


async def _replanned_later(plan: Premise, changed: Mapping[str, Premise]) -> Premise:
    raise _Changed(changed)


def _entry(state: Any, name: str) -> Any:
    return state.get(name) if isinstance(state, Mapping) else getattr(state, name, None)


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # a callable without a readable signature
        return {}
