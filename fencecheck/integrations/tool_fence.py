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
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypedDict

from fencecheck.fence.aio import PlanFence
from fencecheck.fence.values import Halt, Reason
from fencecheck.integrations.keys import KeysOf, Premise, Version, fetched, keys_of
from fencecheck.run.current import current

ASK_AGAIN = "Not done, since what it was decided from has changed: "
"""How the sentence that a model is given begins; by it the one replan is known again in a saved history."""


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
        self._timeout_s, self._passthrough = timeout_s, (ReadAgain, Halt, *passthrough)
        self._made: tuple[Any, PlanFence[Premise]] | None = None

    def _fence(self) -> PlanFence[Premise]:
        """The fence remembers which versions were superseded as long as the process lives, but from one episode of a check to the next nothing."""
        episode = current()
        if self._made is None or self._made[0] is not episode:
            made = PlanFence(_fetch, self._head, self._replan, self._validated, self._timeout_s, passthrough=self._passthrough)
            self._made = episode, made
        return self._made[1]

    def note(self, facts: Facts, tool: str, args: Mapping[str, Any], answer: Any) -> None:
        """Adds to `facts` what an answer of the tool shows; nothing, where it shows no version, such as an error's text."""
        try:
            shown = [(key, self._version(key, answer)) for key in keys_of(self.reads.get(tool), args, f"reads[{tool!r}]")]
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
            BadInput: the keys do not follow from the call's arguments.
        """
        keys = keys_of(self.acts[tool], args, f"acts[{tool!r}] of the fence")
        for text in _texts(args):
            key = next((key for key in keys if key in facts and _digest(text) in facts[key]["said"]), None)
            if key is not None and told:
                raise Halt(Reason.REPLAN_FAILED, call_id, f"it still says {text!r}, which {key} said before")
            if key is not None:
                raise ReadAgain(f"{ASK_AGAIN}{key}, of which the call says {text!r} still. Decide anew.")
        parents = tuple(Version(key, fact["version"]) for key, fact in facts.items())
        await self._fence().clear(Premise(call_id, parents=parents, value=told), keys)

    async def _head(self, key: str) -> Any:
        asked = self._owner if inspect.iscoroutinefunction(self._owner) else None
        answer = await (asked(key) if asked is not None else asyncio.to_thread(self._owner, key))
        if inspect.isawaitable(answer):
            answer = await answer
        return Version(key, str(answer)) if _is_id(answer) else answer

    async def _replan(self, plan: Premise, changed: Mapping[str, Premise]) -> Premise:
        key, record = next(iter(changed.items()))
        if plan.value:  # the model was told before
            raise Halt(Reason.CHANGED_AGAIN, key, f"now {record.id!r}")
        raise ReadAgain(f"{ASK_AGAIN}{', '.join(changed)}. Read it again and decide anew.")

    def _validated(self, basis: Mapping[str, str]) -> None:
        if self._note is not None:
            self._note({key: id.own if isinstance(id, Version) else id for key, id in basis.items()})


async def _fetch(version: Any) -> Premise:
    return fetched(version)


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
