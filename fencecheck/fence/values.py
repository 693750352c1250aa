"""What passes between the protocol and its driver: records, requests, answers, the clearance, and the halt with its reasons."""

from __future__ import annotations

from collections.abc import Generator
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeAlias, TypeVar


class Record(Protocol):
    """What the fence needs of a record: one immutable version of the fact that its key names, or something derived from such versions."""

    @property
    def id(self) -> str:
        """A text that names this version and no other, of whatever key: where rows are numbered for each key, the key is part of it."""

    @property
    def key(self) -> str | None:
        """The fact that it is a version of, or None."""

    @property
    def value(self) -> Any:
        """What it says. The fence never looks at it."""

    @property
    def parents(self) -> tuple[str, ...]:
        """Ids of the records that it was derived from."""

    @property
    def supersedes(self) -> str | None:
        """Id of the previous version of the same key, or None."""

    @property
    def removed(self) -> bool:
        """True for the tombstone that the removal of a key commits."""


R = TypeVar("R", bound=Record)


class Reason(StrEnum):
    """Why the fence halts. The value is what reports and logs carry."""

    MISSING_PARENT = "missing-parent"
    CYCLE = "cycle"
    LINEAGE_TOO_LARGE = "lineage-too-large"
    NOT_IN_LINEAGE = "not-in-lineage"
    OWNER_UNAVAILABLE = "owner-unavailable"
    OWNER_TIMEOUT = "owner-timeout"
    MALFORMED_ANSWER = "malformed-answer"
    WRONG_KEY = "wrong-key"
    OLDER_HEAD = "older-head"
    MISSING_HEAD = "missing-head"
    REMOVED = "removed"
    REPLAN_FAILED = "replan-failed"
    CHANGED_AGAIN = "changed-again"


_SENTENCES = {
    Reason.MISSING_PARENT: "record {!r} of the plan's lineage could not be read",
    Reason.CYCLE: "record {!r} is its own ancestor",
    Reason.LINEAGE_TOO_LARGE: "the lineage of plan {!r} has more records than the fence reads",
    Reason.NOT_IN_LINEAGE: "no version of the declared key {!r} is in the plan's lineage",
    Reason.OWNER_UNAVAILABLE: "the owner of {!r} did not answer",
    Reason.OWNER_TIMEOUT: "the owner of {!r} did not answer in time",
    Reason.MALFORMED_ANSWER: "what was answered for {!r} is not what was asked for",
    Reason.WRONG_KEY: "the owner of {!r} answered with a version of another key",
    Reason.OLDER_HEAD: "the owner of {!r} answered with a version that was superseded before",
    Reason.MISSING_HEAD: "the current record {!r} could not be read",
    Reason.REMOVED: "the key {!r} was removed, so there is nothing to replan from",
    Reason.REPLAN_FAILED: "plan {!r} could not be remade",
    Reason.CHANGED_AGAIN: "the key {!r} changed again after the one replan",
}


class Halt(Exception):
    """The action must not go out: something could not be verified, or changed again. `str()` of it is one sentence for a person.

    Args:
        reason: a `Reason`, or the text of one.
        about: the key or record id concerned.
        detail: more for the sentence, such as the two versions.

    The exception of the port that failed, if any, is the `__cause__`. `replies` holds the replies of the earlier actions of a `guard_each`.
    """

    def __init__(self, reason: Reason | str, about: str, detail: str = "") -> None:
        self.reason = Reason(reason)
        self.about = about
        self.detail = detail
        self.replies: tuple[Any, ...] = ()
        # The arguments as given, so that a halt survives pickling on its way out of a worker process.
        super().__init__(self.reason.value, about, detail)

    def __str__(self) -> str:
        sentence = _SENTENCES[self.reason].format(self.about)
        return f"{self.reason}: {sentence}" + (f" ({self.detail})" if self.detail else "")


class _Value:
    """Equality and repr over slots. Not a dataclass: a frozen one takes several times as long to construct."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


class Fetch(_Value):
    """Request: read the records of these `ids`. Answered by a dict from id to the record, or to a `Failure`."""

    __slots__ = ("ids",)

    def __init__(self, ids: tuple[str, ...]) -> None:
        self.ids = ids


class Ask(_Value):
    """Request: ask the owners of these keys, all of them, for the current version. Answered by a dict from key to the version's id, or to
    a `Failure`."""

    __slots__ = ("keys",)

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.keys = keys


class Replan(_Value, Generic[R]):
    """Request: make a new plan in place of `plan` from the changed records, by key. Answered by the new plan, or by a `Failure`."""

    __slots__ = ("changed", "plan")

    def __init__(self, plan: R, changed: dict[str, R]) -> None:
        self.plan = plan
        self.changed = changed


class Failure(_Value):
    """Answer: the port raised `error`, or did not answer in time (`timed_out`)."""

    __slots__ = ("error", "timed_out")

    def __init__(self, error: BaseException | None = None, timed_out: bool = False) -> None:
        self.error = error
        self.timed_out = timed_out or isinstance(error, TimeoutError)


class Cleared(_Value, Generic[R]):
    """The action may go out: every declared premise of `plan` was current when its owner answered.

    Args:
        plan: the plan that was validated; the new one where the fence replanned.
        basis: declared key to the version that the plan rests on, for instance to be passed on to a tool as the expected version.
        replanned: whether `plan` is a new one.
    """

    __slots__ = ("basis", "plan", "replanned")

    def __init__(self, plan: R, basis: dict[str, str], replanned: bool = False) -> None:
        self.plan = plan
        self.basis = basis
        self.replanned = replanned


Request: TypeAlias = Fetch | Ask | Replan[R]
Steps: TypeAlias = Generator[Request[R], Any, Cleared[R]]
