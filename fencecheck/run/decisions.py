"""Decisions held fixed: what a planner decided is recorded for each distinct input, and given again wherever that input comes.

So a model is called once for each distinct input, and a search over interleavings is repeatable and costs nothing.
"""

from __future__ import annotations

import contextvars
import hashlib
import inspect
import math
import os
import threading
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import msgspec.inspect

from fencecheck.errors import BadInput
from fencecheck.run.aio import on_trio
from fencecheck.run.current import current
from fencecheck.run.raised import said
from fencecheck.run.recording import MOST_DEEP, Decision, Recording, deeper_than, shown
from fencecheck.run.world import snapshot

Mode = Literal["record", "replay", "auto"]
MODES = ("record", "replay", "auto")
VARIABLE = "FENCECHECK_DECISIONS"
"""The environment variable that gives the mode where the code gives none."""
REDACTED = "<redacted>"

_ASKED: ContextVar[frozenset[str]] = ContextVar("fencecheck_asked", default=frozenset())
"""The inputs whose decision is being made."""

F = TypeVar("F", bound=Callable[..., Any])


class UnseenDecision(BadInput):
    """An input for which nothing was recorded, while decisions are only replayed. Exit status 2."""


class Decisions:
    """Records what a planner decides, and replays it: a decorator for plain and async functions.

    An input is the arguments by name, as canonical JSON, whatever the order of keys. What is stored is plain JSON; what a call returns is what
    is stored, as the type that the function is annotated with, so that recording and replaying give the same. What it raises is not recorded.

    Args:
        path: the file of decisions. It is made when the first is recorded, and made to be read, kept in a repository and merged.
        mode: `replay` never calls the function; `auto` calls it for an input that is not recorded; `record` calls it once in each process for
            each input, and replaces what was recorded. By default that of the environment variable FENCECHECK_DECISIONS, or `auto`.
        redact: names of arguments, and of keys at any depth, whose values are secrets: not stored, in inputs nor outputs. Inputs that differ in
            them are different ones all the same, since the digest is of the whole. (Of a short secret a digest can be guessed: ignore it.)
        ignore: names of arguments and keys that make no difference to the decision: neither stored nor compared, such as a request id.
        key: from the arguments to what is stored and compared in their place.
        name: what the decisions are called in the file; by default the name of the function.

    Raises:
        BadInput: an argument is no such thing.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        mode: Mode | None = None,
        redact: Iterable[str] = (),
        ignore: Iterable[str] = (),
        key: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        chosen = mode if mode is not None else os.environ.get(VARIABLE, "auto")
        if chosen not in MODES:
            where = f"the environment variable {VARIABLE}" if mode is None else "Decisions: mode"
            raise BadInput(f"{where} must be one of {', '.join(MODES)}, not {chosen!r}")
        for option, names in (("redact", redact), ("ignore", ignore)):
            if isinstance(names, str):
                raise BadInput(f"Decisions: {option} must be a list of names, not the single string {names!r}; write [{names!r}]")
        self.mode = chosen
        self._recording = Recording(Path(path))
        self._redact, self._ignore = (frozenset(map(_folded, names)) for names in (redact, ignore))
        self._key, self._name = key, name
        self._made: set[str] = set()  # what this process recorded
        self._calling: dict[str, threading.Lock] = {}
        self._awaiting: dict[tuple[str, Any], Any] = {}

    def __call__(self, function: F) -> F:
        """`function`, with its decisions held fixed."""
        if not callable(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise BadInput(f"Decisions holds the decisions of a function fixed, and {function!r} is none that returns one")
        planner = _Planner(self, function)

        @wraps(function)
        async def awaited(*args: Any, **options: Any) -> Any:
            found = planner.asked(args, options)
            if found.decided:
                return found.given()
            here = (found.id, _loop())  # a lock belongs to one loop
            try:
                with found.asking():
                    async with self._awaiting.setdefault(here, _async_lock()):  # two tasks ask once
                        if not found.look():
                            kit = current()
                            if kit is not None and kit._system.runtime in ("asyncio", "trio"):
                                # time is virtual here and sockets are refused, so the model is asked on a loop of its own, in no time
                                found.decide(_elsewhere(kit._system.runtime, lambda: function(*args, **options)))
                            else:
                                found.decide(await function(*args, **options))
            finally:
                self._awaiting.pop(here, None)
            return found.given()

        @wraps(function)
        def called(*args: Any, **options: Any) -> Any:
            found = planner.asked(args, options)
            if not found.decided:
                with found.asking(), self._calling.setdefault(found.id, threading.Lock()):  # two threads ask once
                    if not found.look():
                        found.decide(function(*args, **options))
            return found.given()

        return typing.cast(F, awaited if inspect.iscoroutinefunction(function) else called)


class _Planner:
    """One decorated function."""

    def __init__(self, decisions: Decisions, function: Callable[..., Any]) -> None:
        self.decisions, self.function = decisions, function
        qualname = str(getattr(function, "__qualname__", type(function).__qualname__))
        self.name = decisions._name or qualname.rpartition("<locals>.")[2]
        self.returns = _annotated(function)
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):
            self.signature = None

    def asked(self, args: tuple[Any, ...], options: dict[str, Any]) -> _Question:
        """The question that these arguments ask, with its answer where that is recorded.

        Raises:
            UnseenDecision: it is not, and decisions are only replayed.
            BadInput: an argument is nothing that JSON can hold.
        """
        decisions = self.decisions
        input = _plain(self._input(args, options), f"an argument of {self.name}()", "pass plain data, or give Decisions(key=...)")
        input = _without(input, decisions._ignore)
        digest = hashlib.sha256(msgspec.json.encode([self.name, input], order="sorted")).hexdigest()[:32]
        found = _Question(self, digest, _redacted(input, decisions._redact))
        if not found.look() and decisions.mode == "replay":
            raise _refused(found.unseen())
        return found

    def _input(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if self.decisions._key is not None:
            return self.decisions._key(*args, **options)
        if self.signature is None:
            return {"arguments": args, **options}
        try:
            bound = self.signature.bind(*args, **options)
        except TypeError as error:
            raise TypeError(f"{self.name}() {error}") from None
        bound.apply_defaults()
        return {name: value for i, (name, value) in enumerate(bound.arguments.items()) if i > 0 or name not in ("self", "cls")}


class _Question:
    """One input, and what was decided."""

    def __init__(self, planner: _Planner, id: str, input: Any) -> None:
        self.planner, self.id, self.input = planner, id, input
        self.decided: Decision | None = None

    def look(self) -> bool:
        """Whether it is recorded, by this process where the mode is `record`."""
        decisions = self.planner.decisions
        if decisions.mode != "record" or self.id in decisions._made:
            with _told():
                self.decided = decisions._recording.find(self.id)
        return self.decided is not None

    @contextmanager
    def asking(self) -> Iterator[None]:
        """The function is called inside, which must not wait for its own answer.

        Raises:
            BadInput: it calls itself with the same input.
        """
        asked = _ASKED.get()
        if self.id in asked:
            who = f"{self.planner.name}() calls itself with the same input, {shown(self.input)}"
            raise _refused(BadInput(f"Decisions: {who}, so that it would wait for its own decision: call what it decorates instead"))
        token = _ASKED.set(asked | {self.id})
        try:
            yield
        finally:
            _ASKED.reset(token)

    def decide(self, output: Any) -> None:
        """Records what the function returned."""
        planner, decisions = self.planner, self.planner.decisions
        plain = _plain(output, f"what {planner.name}() returned", "let it return plain data, a dataclass or a model")
        decision = Decision(planner.name, self.id, self.input, _redacted(plain, decisions._redact))
        over = decisions.mode == "record" and self.id not in decisions._made
        with _told():
            (self.decided,) = decisions._recording.add([decision], over=over)
        decisions._made.add(self.id)

    def given(self) -> Any:
        """What the function is taken to have returned; new for each call, so that nobody changes what is recorded."""
        assert self.decided is not None
        output, kind = snapshot(self.decided.output), self.planner.returns
        try:
            return msgspec.convert(output, kind, dec_hook=_model)
        except Exception as error:
            where = self.planner.decisions._recording.path
            raise _refused(
                BadInput(
                    f"{where}: the decision of {self.planner.name} for {shown(self.input)} is none any more ({error}): record it again"
                )
            ) from error

    def unseen(self) -> UnseenDecision:
        """The sentence that names it."""
        recording = self.planner.decisions._recording
        return UnseenDecision(
            f"{recording.path} holds no decision of {self.planner.name} for {shown(self.input)} (it holds {len(recording)}): record it with "
            "mode='auto', and give the scenario fixed values=, so that there are few inputs"
        )


def _refused(error: BadInput) -> BadInput:
    """Ends the episode too, where one runs: a system may swallow what its planner raises."""
    kit = current()
    if kit is not None:
        kit._refuse(error)
    return error


@contextmanager
def _told() -> Iterator[None]:
    """A file that cannot be read or written ends the episode too."""
    try:
        yield
    except BadInput as error:
        raise _refused(error) from error.__cause__


def _elsewhere(runtime: str, make: Callable[[], Any]) -> Any:
    """What an async function returns on a stock loop, in a thread of its own; the caller's loop stands still meanwhile."""
    came: list[Any] = []
    failed: list[BaseException] = []

    async def awaited() -> Any:
        return await make()

    def carry_out() -> None:
        try:
            if runtime == "trio":
                import trio

                came.append(trio.run(awaited))
            else:
                import asyncio

                came.append(asyncio.run(awaited()))
        except BaseException as error:
            failed.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(carry_out,), daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return came[0]


def _loop() -> Any:
    """The event loop that runs."""
    if on_trio():
        import trio

        return trio.lowlevel.current_trio_token()
    import asyncio

    return asyncio.get_running_loop()


def _async_lock() -> Any:
    if on_trio():
        import trio

        return trio.Lock()
    import asyncio

    return asyncio.Lock()


def _annotated(function: Any) -> Any:
    """The type that the function says it returns, or `Any` where it says nothing that helps."""
    try:
        kind = typing.get_type_hints(function).get("return", Any)
    except Exception:  # a name that only a type checker knows
        return Any
    try:
        known = msgspec.inspect.type_info(kind)
    except Exception:
        return Any
    return kind if not isinstance(known, msgspec.inspect.CustomType) or hasattr(kind, "model_validate") else Any


def _model(kind: Any, plain: Any) -> Any:
    return kind.model_validate(plain)


def _plain(value: Any, what: str, right: str) -> Any:
    """The value as JSON holds it.

    Raises:
        BadInput: it cannot.
    """

    def other(part: Any) -> Any:
        dump = getattr(part, "model_dump", None)
        if callable(dump) and not isinstance(part, type):
            return dump(mode="json")
        raise BadInput(f"{what} holds a {type(part).__name__}, which JSON cannot hold: {right}")

    try:
        plain = msgspec.to_builtins(value, enc_hook=other, str_keys=True, order="sorted")
        if deeper_than(plain, MOST_DEEP):
            raise BadInput(f"{what} is nested more than {MOST_DEEP} deep: {right}")
        if _holds_no_number(plain):  # which JSON would hold as null, so that it were one input with None
            raise BadInput(f"{what} holds a number that is infinite, or not a number, which JSON cannot hold: {right}")
        return msgspec.json.decode(msgspec.json.encode(plain))
    except BadInput as error:
        raise _refused(error) from None
    except RecursionError as error:
        raise _refused(BadInput(f"{what} is nested more than {MOST_DEEP} deep, or holds itself: {right}")) from error
    except Exception as error:
        raise _refused(BadInput(f"{what} is nothing that JSON can hold ({said(error)}): {right}")) from error


def _holds_no_number(plain: Any) -> bool:
    todo = [plain]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            todo.extend(part.values())
        elif isinstance(part, list | tuple):
            todo.extend(part)
        elif isinstance(part, float) and not math.isfinite(part):
            return True
    return False


def _folded(name: str) -> str:
    return str(name).casefold().replace("-", "_")


def _redacted(value: Any, names: frozenset[str]) -> Any:
    """The value with what stands under these names at any depth left out; that it was there is said."""
    if not names:
        return value
    if isinstance(value, Mapping):
        return {key: REDACTED if _folded(key) in names else _redacted(part, names) for key, part in value.items()}
    return [_redacted(part, names) for part in value] if isinstance(value, list) else value


def _without(value: Any, names: frozenset[str]) -> Any:
    if not names:
        return value
    if isinstance(value, Mapping):
        return {key: _without(part, names) for key, part in value.items() if _folded(key) not in names}
    return [_without(part, names) for part in value] if isinstance(value, list) else value
