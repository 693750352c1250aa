"""A request becomes a call of a port, and what the port does an answer: each fault in its HTTP form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from urllib.parse import unquote

from msgspec import Struct

from fencecheck.integrations.http import wire
from fencecheck.integrations.http.wire import Answer, BadRequest
from fencecheck.model import Record
from fencecheck.run import faults
from fencecheck.run.faults import Fault
from fencecheck.run.kit import Kit
from fencecheck.run.lines import ELSEWHERE


class Call(Struct):
    """A request that came in.

    Args:
        port: which port it is for, a name of `PORTS`.
        about: the key, record id or action in its URL.
        headers: its headers, names in lower case.
        body: as it came.
    """

    port: str
    about: str
    headers: Mapping[str, str]
    body: bytes


def answer(kit: Kit, call: Call, *, refusal: str) -> Answer:
    """Carries out one call on the thread of the episode, and says how it is answered.

    Args:
        refusal: what an owner that refuses does: `reset` the connection, or answer `503`.
    """
    try:
        agent, timeout = unquote(call.headers.get(wire.AGENT, "")), wire.seconds(call.headers.get(wire.TIMEOUT))
        wire.none_match(call.headers.get("if-none-match"), "")  # what is no condition is told before anything is done
        line = ELSEWHERE.set(unquote(call.headers.get(wire.LINE, "")))
        try:
            with kit.agent(agent) if agent else nullcontext():
                return PORTS[call.port](kit, call)
        finally:
            ELSEWHERE.reset(line)
    except BadRequest as error:
        return wire.problem(400, str(error))
    except Exception as error:
        fault = error if isinstance(error, Fault) else error.__cause__
        if not isinstance(fault, Fault):
            raise
        return _faulty(fault, refusal, timeout)


def _faulty(fault: Fault, refusal: str, timeout: float | None) -> Answer:
    if isinstance(fault, faults.OwnerTimeout):
        # a client that says how long it waits need not: the time is virtual
        return wire.HANG if timeout is None else wire.problem(504, str(fault))
    if isinstance(fault, faults.ReplyLost) or (isinstance(fault, faults.OwnerUnavailable) and refusal == "reset"):
        return wire.RESET
    for kind, status in _STATUS.items():
        if isinstance(fault, kind):
            return wire.problem(status, str(fault))
    return wire.problem(503, str(fault))


_STATUS: dict[type[Fault], int] = {
    faults.RecordMissing: 404,
    faults.NotRemembered: 404,
    faults.PreconditionFailed: 412,
    faults.IdempotencyKeyReused: 422,
}
"""Any other is 503: an owner that is unavailable, a tool that refuses."""


def _waits(call: Call) -> float:
    """Seconds until the port gives up on an owner that hangs. Nothing is waited for here: who does not say waits by its own clock."""
    return wire.seconds(call.headers.get(wire.TIMEOUT)) or 0.0


def _read(kit: Kit, call: Call) -> Answer:
    found = kit.read(call.about, timeout=_waits(call))
    if not isinstance(found, Record):
        return wire.broken(call.about)
    return wire.record(found) if _changed(call, found.id) else Answer(304, b"", {"etag": wire.etag(found.id)})


def _head(kit: Kit, call: Call) -> Answer:
    found = kit.head(call.about, timeout=_waits(call))
    tag = wire.etag(found) if isinstance(found, str) else wire.broken_etag(call.about)
    unchanged = isinstance(found, str) and not _changed(call, found)
    return Answer(304 if unchanged else 200, b"", {"etag": tag} if unchanged else {"content-type": wire.JSON, "etag": tag})


def _changed(call: Call, head: str) -> bool:
    """Whether the client knows another version than this one, or says nothing of what it knows."""
    return wire.none_match(call.headers.get("if-none-match"), head)


def _memory(kit: Kit, call: Call) -> Answer:
    return wire.record(kit.memory(call.about))


def _record(kit: Kit, call: Call) -> Answer:
    return wire.record(kit.record(call.about))


def _derive(kit: Kit, call: Call) -> Answer:
    new = wire.body(call.body, wire.NewRecord)
    return wire.record(kit.derive(new.value, new.parents), 201)


def _write(kit: Kit, call: Call) -> Answer:
    """Commits a version of a key; on a condition only where its head meets that, as one step: the owner is asked, and writes at once."""
    new = wire.body(call.body, wire.NewRecord)
    condition, others = call.headers.get("if-match"), call.headers.get("if-none-match")
    if condition is None and (others is None or call.about not in kit._world.owner_of):
        return wire.record(kit.derive(new.value, new.parents, call.about))
    tags = wire.if_match(condition)
    head = kit.head(call.about, timeout=_waits(call))
    if not isinstance(head, str):
        return wire.broken(call.about)
    if (tags is not None and head not in [tag.id for tag in tags if not tag.weak]) or not wire.none_match(others, head):
        return wire.problem(412, f"the current version of {call.about} is not as expected: nothing was written", {"etag": wire.etag(head)})
    with _at_once(kit):
        return wire.record(kit.derive(new.value, new.parents, call.about))


@contextmanager
def _at_once(kit: Kit) -> Iterator[None]:
    """What is called inside belongs to the call before it, as in a store that checks and writes in one step: nothing lands in between."""
    inside, kit._in_event = kit._in_event, True
    try:
        yield
    finally:
        kit._in_event = inside


def _act(kit: Kit, call: Call) -> Answer:
    acting = wire.body(call.body, wire.Acting)
    if "if-none-match" in call.headers:
        raise BadRequest("a tool knows the condition If-Match only: it has no versions that If-None-Match could be about")
    tags = wire.if_match(call.headers.get("if-match"))
    reply = kit.act(
        call.about,
        acting.args,
        plan=acting.plan,
        basis=acting.basis,
        expect=None if tags is None else wire.Expected(tags, kit._world),
        idempotency_key=wire.idempotency_key(call.headers.get("idempotency-key")),
    )
    return wire.json(reply)


def _declared(kit: Kit, call: Call) -> Answer:
    return wire.json({"keys": kit.declared(call.about, wire.body(call.body, wire.Asking).args)})


def _validated(kit: Kit, call: Call) -> Answer:
    kit.validated(wire.body(call.body, wire.Keys).keys)
    return Answer(204)


def _halted(kit: Kit, call: Call) -> Answer:
    kit.halted(wire.body(call.body, wire.Reason).reason)
    return Answer(204)


def _pause(kit: Kit, call: Call) -> Answer:
    kit.pause(wire.body(call.body, wire.Label).label)
    return Answer(204)


def _point(kit: Kit, call: Call) -> Answer:
    kit.point(wire.body(call.body, wire.Label).label)
    return Answer(204)


PORTS: dict[str, Callable[[Kit, Call], Answer]] = {
    "read": _read,
    "head": _head,
    "memory": _memory,
    "record": _record,
    "derive": _derive,
    "write": _write,
    "act": _act,
    "declared": _declared,
    "validated": _validated,
    "halted": _halted,
    "pause": _pause,
    "point": _point,
}
ROUTES: tuple[tuple[str, str, str], ...] = (
    ("GET", "keys/{about:path}", "read"),
    ("HEAD", "keys/{about:path}", "head"),
    ("PUT", "keys/{about:path}", "write"),
    ("GET", "memory/{about:path}", "memory"),
    ("GET", "records/{about:path}", "record"),
    ("POST", "records", "derive"),
    ("POST", "actions/{about:path}", "act"),
    ("POST", "declared/{about:path}", "declared"),
    ("POST", "validated", "validated"),
    ("POST", "halted", "halted"),
    ("POST", "pause", "pause"),
    ("POST", "point", "point"),
)
"""Method, path below the URL of the episode, and port. A key in a path is one segment, percent-encoded; its slashes may be left as they are."""
