"""PlanFence around the tools of an agent whose framework carries only arguments from the model to the tool.

The facts that a call was proposed from are the versions that the conversation had read by then; the framework's own saved history, or a
ledger saved with it, holds them. Right before the tool is called, and so after any approval, the owners of the keys that the call depends on
are asked for their heads. All as read: the tool is called. One has changed: the model is told so once, reads again and proposes anew, which
is the one replan; a second change is a halt, as is whatever cannot be verified. ("Fresh Memory, Stale Plans", arXiv, 2026-09-03.)

A model that has read again can still repeat what it had decided before. So a call does not go out either whose arguments hold a text that only
an earlier answer held: whole texts, compared by their digests, since what was read may be long or not for everybody.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypedDict

from fencecheck.fence.aio import PlanFence
from fencecheck.fence.values import Halt, Reason

KeysOf = str | Iterable[str] | Callable[[Mapping[str, Any]], str | Iterable[str] | None]
"""The keys that a tool is about: one, several, or a function from the call's arguments to them, None where that call is about no key. In a key
that is given as a text `{name}` stands for the argument of that name."""
ASK_AGAIN = "Not done, since what it was decided from has changed: "
"""How the sentence that a model is given begins; by it the one replan is known again in a saved history."""


def keys_of(about: KeysOf | None, args: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys that a call with these arguments is about."""
    found = about(args) if callable(about) else about
    several = () if found is None else (found,) if isinstance(found, str) else tuple(found)
    return several if callable(about) else tuple(key.format_map(args) for key in several)


class Fact(TypedDict):
    """What a conversation has read of a key: plain data, to be saved with it.

    `version` is the one read last, `says` the digests of the texts in that answer, `said` those of the texts in earlier answers only.
    """

    version: str
    says: list[str]
    said: list[str]


Facts = dict[str, Fact]


class ReadAgain(Exception):
    """The call must not go out as it is; `str()` of it is what the model is told. Raised once, then it is a `Halt`."""


class _Version(str):
    """The id of a version as the fence sees it: owners may number the versions of each key for themselves."""

    __slots__ = ("key", "own")
    key: str
    own: str

    def __new__(cls, key: str, own: str) -> _Version:
        made = super().__new__(cls, f"{own} of {key}")
        made.key, made.own = key, own
        return made


class _Record:
    """A fact that the conversation read, or the call that was proposed from such facts."""

    supersedes: str | None = None
    removed = False

    def __init__(self, id: str, key: str | None = None, parents: tuple[str, ...] = (), value: Any = None, told: bool = False) -> None:
        self.id, self.key, self.parents, self.value, self.told = id, key, parents, value, told


class ToolFence:
    """What the guards of all frameworks share: which tools read and act, who owns the keys, and the fence.

    Args:
        reads: tools that read, each with the key that it answers: `"order/{order}/address"`, in which `{order}` is the argument of that name;
            a list of such keys; or a function from the arguments to keys.
        acts: tools that act, each with the keys that it depends on, given alike.
        head: key to the id of the version that its owner says is current: an async function, or a plain one, which is called in a thread.
        version: from a key and a reading tool's answer to the id of the version of the key that the answer shows; None where it shows
            none of that key, an exception where the answer shows nothing at all. By default the answer's `version`, as an item or as an
            attribute.
        validated: called with the basis, key to version id, at the moment of clearance: for an audit log, or `kit.validated`.
        timeout_s: seconds for each question to an owner; no answer by then is a halt.
        passthrough: exception types that are raised unchanged; any other `Exception` from `head` is a `Halt`.

    Raises:
        TypeError, ValueError: a setting cannot be meant.
    """

    def __init__(
        self,
        *,
        reads: Mapping[str, KeysOf],
        acts: Mapping[str, KeysOf],
        head: Callable[[str], Any],
        version: Callable[[str, Any], Any] | None = None,
        validated: Callable[[Mapping[str, str]], object] | None = None,
        timeout_s: float | None = None,
        passthrough: tuple[type[BaseException], ...] = (),
    ) -> None:
        both = reads.keys() & acts.keys()
        if both:
            raise ValueError(f"the tool {min(both)!r} is in reads and in acts: a tool that reads and acts is one that acts")
        self.reads, self.acts = dict(reads), dict(acts)
        self._owner, self._version = head, version or _shown
        self._note = validated
        self._fence: PlanFence[_Record] = PlanFence(
            self._fetch, self._head, self._replan, self._validated, timeout_s, passthrough=(ReadAgain, Halt, *passthrough)
        )

    def note(self, facts: Facts, tool: str, args: Mapping[str, Any], answer: Any) -> None:
        """Adds to `facts` what an answer of the tool shows; nothing, where it shows no version, such as an error's text."""
        try:
            shown = [(key, self._version(key, answer)) for key in keys_of(self.reads.get(tool), args)]
        except Exception:  # whatever was asked or answered, it shows no version
            return
        for key, version in shown:
            if _is_id(version):
                before, says = facts.get(key), [_digest(text) for text in _texts(answer)]
                said = [*before["said"], *before["says"]] if before is not None else []
                facts[key] = Fact(version=str(version), says=says, said=sorted({text for text in said if text not in says}))

    async def clear(self, tool: str, args: Mapping[str, Any], call_id: str, facts: Facts, *, told: bool) -> None:
        """Returns if the call may go out now.

        Args:
            tool, args, call_id: the call.
            facts: what the conversation had read when the model proposed the call.
            told: whether the model was asked to read again since the last act.

        Raises:
            ReadAgain: a fact has changed, and the model can propose anew.
            Halt: the call must not go out.
        """
        keys = keys_of(self.acts[tool], args)
        for text in _texts(args):
            key = next((key for key in keys if key in facts and _digest(text) in facts[key]["said"]), None)
            if key is not None and told:
                raise Halt(Reason.REPLAN_FAILED, call_id, f"it still says {text!r}, which {key} said before")
            if key is not None:
                raise ReadAgain(f"{ASK_AGAIN}{key}, of which the call says {text!r} still. Decide anew.")
        parents = tuple(_Version(key, fact["version"]) for key, fact in facts.items())
        await self._fence.clear(_Record(call_id, None, parents, args, told), keys)

    async def _fetch(self, id: str) -> _Record:
        # Versions are immutable and the conversation holds what was read of them, so there is nothing to ask anybody for.
        return _Record(id, id.key) if isinstance(id, _Version) else _Record(id)

    async def _head(self, key: str) -> Any:
        asked = self._owner if inspect.iscoroutinefunction(self._owner) else None
        answer = await (asked(key) if asked is not None else asyncio.to_thread(self._owner, key))
        if inspect.isawaitable(answer):
            answer = await answer
        return _Version(key, str(answer)) if _is_id(answer) else answer

    async def _replan(self, plan: _Record, changed: Mapping[str, _Record]) -> _Record:
        key, record = next(iter(changed.items()))
        if plan.told:
            raise Halt(Reason.CHANGED_AGAIN, key, f"now {record.id!r}")
        raise ReadAgain(f"{ASK_AGAIN}{', '.join(changed)}. Read it again and decide anew.")

    def _validated(self, basis: Mapping[str, str]) -> None:
        if self._note is not None:
            self._note({key: id.own if isinstance(id, _Version) else id for key, id in basis.items()})


def _is_id(found: Any) -> bool:
    return (isinstance(found, str) and bool(found)) or type(found) is int


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _texts(value: Any) -> Iterator[str]:
    """All texts inside mappings, lists and objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _texts(part)
    elif hasattr(value, "__dict__"):
        yield from _texts(vars(value))


def _shown(key: str, answer: Any) -> Any:
    return answer["version"] if isinstance(answer, Mapping) else answer.version
