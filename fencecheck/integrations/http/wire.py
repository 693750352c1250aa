"""What goes over the wire: entity tags and conditions of RFC 9110, problems of RFC 9457, and the bodies of requests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Literal, TypeVar
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

from fencecheck.errors import CouldNotRun
from fencecheck.model import Record
from fencecheck.run.recording import MOST_DEEP, deeper_than
from fencecheck.run.tools import Condition
from fencecheck.run.world import World

JSON = "application/json"
PROBLEM = "application/problem+json"
AGENT, TIMEOUT, LINE = "fencecheck-agent", "fencecheck-timeout", "fencecheck-line"
"""Request headers of ours, all of which may be left out: who calls, how many seconds it waits, from which line of its source."""
_ETAGC = "!#$&'()*+,/:;<=>?@[\\]^`{|}"  # what an entity tag may hold besides what is never quoted, without the % of the quoting
_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_HALF = 2
How = Literal["answer", "reset", "hang"]
B = TypeVar("B")


class BadRequest(Exception):
    """A request that cannot be understood: 400, and nothing is recorded."""


class Answer(Struct):
    """How a request is answered.

    Args:
        how: with what follows; by resetting the connection; or not at all.
        status: the status code.
        body: what is sent.
        headers: sent besides the length of the body.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}
    how: How = "answer"


RESET = Answer(how="reset")
HANG = Answer(how="hang")


def problem(status: int, detail: str, headers: Mapping[str, str] = {}) -> Answer:
    """An answer of RFC 9457 that says what is wrong."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return Answer(status, msgspec.json.encode(body), {"content-type": PROBLEM, **headers})


def json(value: Any, status: int = 200, headers: Mapping[str, str] = {}) -> Answer:
    """An answer that is JSON.

    Raises:
        CouldNotRun: the value has no form in JSON.
    """
    try:
        body = msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise CouldNotRun(f"a value of the scenario cannot be sent as JSON: {error}: use texts, numbers, lists and mappings") from error
    return Answer(status, body, {"content-type": JSON, **headers})


def record(found: Record, status: int = 200) -> Answer:
    """A record, with its id as the entity tag."""
    return json(found, status, {"etag": etag(found.id)})


def broken(key: str) -> Answer:
    """JSON that ends in the middle, as of an owner that answers garbage."""
    whole = msgspec.json.encode({"id": key, "key": key})
    return Answer(200, whole[: len(whole) // _HALF], {"content-type": JSON})


# -- entity tags and conditions: RFC 9110, sections 8.8.3 and 13.1.1 ------------------------------------------------------------------


def etag(id: str) -> str:
    """The strong entity tag of a version: its id, with what an entity tag must not hold quoted as in a URL."""
    return f'"{quote(id, safe=_ETAGC)}"'


def broken_etag(key: str) -> str:
    """What is no entity tag, since its second quote is missing."""
    return etag(key)[:-1]


class Tag(Struct, frozen=True):
    """An entity tag of a condition."""

    id: str
    weak: bool = False


def if_match(field: str | None, name: str = "If-Match") -> list[Tag] | None:
    """The tags of an `If-Match` field; None for no condition, and for `*`, which every current version meets.

    Args:
        name: of the field, for errors: that of `If-None-Match` is made alike.

    Raises:
        BadRequest: it is no list of entity tags.
    """
    if field is None or field.strip() == "*":
        return None
    tags = []
    rest = field.strip()
    while rest:
        if rest[0] == ",":  # an empty element counts for nothing (section 5.6.1)
            rest = rest[1:].lstrip()
            continue
        match = _TAG.match(rest)
        if match is None or (rest[match.end() :].strip() or ",")[0] != ",":
            raise BadRequest(f'{name} must be * or a list of entity tags in double quotes, such as "order/42@1", not {field}')
        tags.append(Tag(unquote(match[2]), match[1] is not None))
        rest = rest[match.end() :].lstrip()
    if not tags:
        raise BadRequest(f"{name} names no entity tag")
    return tags


def none_match(field: str | None, head: str) -> bool:
    """Whether the condition of an `If-None-Match` field holds (section 13.1.2): the current version is none of those, weakly compared.

    Raises:
        BadRequest: it is no list of entity tags.
    """
    if field is None:
        return True
    tags = if_match(field, "If-None-Match")
    return tags is not None and head not in [tag.id for tag in tags]


class Expected(Condition):
    """Key to the version that a call expects, for `kit.act(expect=)`, from the tags of its `If-Match`.

    Tags of one key are alternatives, as the section says of one representation: what is current counts, looked up at the moment of the
    effect. Each key is a representation of its own, so that all must hold. A weak tag equals nothing in the strong comparison (section
    8.8.3.2), nor does one that no version has.
    """

    def __init__(self, tags: list[Tag], world: World) -> None:
        self._heads = world.heads
        self._ids: dict[str, list[str]] = {}
        for tag in tags:
            known = world.records.get(tag.id)
            key = known.key if known is not None and known.key is not None else tag.id
            self._ids.setdefault(key, []).append(f"weak {tag.id}" if tag.weak else tag.id)

    def __getitem__(self, key: str) -> str:
        ids, head = self._ids[key], self._heads.get(key)
        return head if head in ids else ids[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def idempotency_key(field: str | None) -> str | None:
    """The key of an `Idempotency-Key` field, which may be quoted.

    Raises:
        BadRequest: it is empty, or there are several.
    """
    if field is None:
        return None
    key = field.strip()
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not key:
        raise BadRequest("Idempotency-Key is empty")
    if '"' in key:
        raise BadRequest(f"Idempotency-Key must be one key, not {field}")
    return key


# -- the bodies of requests -----------------------------------------------------------------------------------------------------------


class NewRecord(Struct, forbid_unknown_fields=True):
    """What is to be written: a value, and the ids of the records that it was made from."""

    value: Any
    parents: list[str] = []


class Acting(Struct, forbid_unknown_fields=True):
    """A call of a tool, as `Kit.act`."""

    args: dict[str, Any] = {}
    plan: str | None = None
    basis: dict[str, str] | None = None


class Asking(Struct, forbid_unknown_fields=True):
    """The arguments that the declared keys depend on."""

    args: dict[str, Any] | None = None


class Keys(Struct, forbid_unknown_fields=True):
    """The keys that were validated."""

    keys: list[str]


class Label(Struct, forbid_unknown_fields=True):
    """What a pause or a point is called."""

    label: str = ""


class Reason(Struct, forbid_unknown_fields=True):
    """Why a system halts."""

    reason: str = ""


def body(raw: bytes, kind: type[B]) -> B:
    """The body of a request; an empty one is an empty object.

    Raises:
        BadRequest: it is not that.
    """
    try:
        decoded = msgspec.json.decode(raw or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(f"the body of the request cannot be read: {error}") from error
    if raw.count(b"[") + raw.count(b"{") > MOST_DEEP and deeper_than(msgspec.to_builtins(decoded), MOST_DEEP):
        raise BadRequest(f"the body of the request is nested more than {MOST_DEEP} deep")
    return decoded


def seconds(field: str | None) -> float | None:
    """The seconds that a client waits for an answer, or None where it does not say.

    Raises:
        BadRequest: it is no number of seconds.
    """
    if field is None:
        return None
    try:
        number = float(field)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise BadRequest(f"{TIMEOUT} must be a number of seconds, not {field}")
    return number
