"""What the adapters of all frameworks do alike between a tool and the kit: keep what is wrong with the adapter, and read several keys at once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from fencecheck.errors import FencecheckError
from fencecheck.history import Read
from fencecheck.run.faults import MALFORMED
from fencecheck.run.kit import _AGENT, Kit

Asked = tuple[Any, dict[str, Any]]
"""The answer of the tool itself and the version of each key that it shows; or None, and the record of each key, where the kit answers."""


@contextmanager
def kept(kit: Kit) -> Iterator[None]:
    """What says that the episode cannot be judged ends it, even where a framework makes a tool's answer of each exception."""
    try:
        yield
    except FencecheckError as error:
        kit._refuse(error)
        raise


def read_all(kit: Kit, keys: tuple[str, ...], timeout_s: float | None, via: Callable[[], Any] | None) -> Asked:
    """Each key at a point of its own; the last of them calls `via`, the tool itself, whose one answer is about all."""
    steps = _asking(kit, keys, via)
    question = next(steps)
    while True:
        answer = kit.read(question[0], timeout=timeout_s, via=question[1])
        try:
            question = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


async def read_all_later(kit: Kit, keys: tuple[str, ...], timeout_s: float | None, via: Callable[[], Any] | None) -> Asked:
    """The same, to await."""
    steps = _asking(kit, keys, via)
    question = next(steps)
    while True:
        answer = await kit.aio.read(question[0], timeout=timeout_s, via=question[1])
        try:
            question = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def _asking(kit: Kit, keys: tuple[str, ...], via: Any) -> Generator[tuple[str, Any], Any, Asked]:
    read: dict[str, Any] = {}
    for key in keys[:-1]:
        read[key] = yield key, None
        if via is not None and read[key] is MALFORMED:
            return MALFORMED, {}
    answer = yield keys[-1], via
    if via is None:
        return None, read | {keys[-1]: answer}
    return answer, {} if answer is MALFORMED else _shown(kit, keys, answer, read)


def _shown(kit: Kit, keys: tuple[str, ...], answer: Any, read: dict[str, Any]) -> dict[str, str]:
    """The version of each key that the answer shows, or was made from.

    What was asked first may have changed by the time that the tool itself is called, which is what it reads: such a key was read again.
    """
    versions: dict[str, str] = {}
    for key in keys:
        version = kit._recognised(key, answer) or kit._world.heads.get(key)
        if version is None:  # removed meanwhile
            continue
        versions[key] = version
        if key in read and version != kit._version(read[key]):
            kit._log.append(Read(_AGENT.get(kit._fallback), key, version, "ok", kit._in_event))
    return versions
