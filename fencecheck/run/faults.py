"""What a port raises or returns when the world answers badly.

They are part of an episode: a system under test is expected to meet them. `AgentSystem.fault_exceptions` maps them to the exceptions that
a team's own clients raise.
"""

from __future__ import annotations


class Fault(Exception):
    """Base of all faults that the kit injects."""


class OwnerUnavailable(Fault):
    """The owner of a key refused to answer."""


class OwnerTimeout(Fault, TimeoutError):
    """The owner of a key did not answer within the timeout that the system gave."""


class RecordMissing(Fault, LookupError):
    """A record cannot be read."""


class NotRemembered(Fault, LookupError):
    """The agent's memory holds nothing of this key, since it was restarted."""


class ToolRefused(Fault):
    """The tool refused the call: nothing was done."""


class PreconditionFailed(ToolRefused):
    """What the call expected is not so (as 412 in RFC 9110, section 15.5.13): nothing was done."""


class IdempotencyKeyReused(ToolRefused):
    """The idempotency key was used before, with other arguments: nothing was done."""


class ReplyLost(Fault):
    """The tool did its work and the reply was lost."""


class Malformed:
    """What an owner answers that answers garbage: neither a record nor a version id."""

    def __repr__(self) -> str:
        return "<malformed answer>"


MALFORMED = Malformed()


class Restarted(BaseException):
    """The agent's process is restarted: unwinds `run`, which is called again. Not an `Exception`, so that no handler swallows it."""


class EpisodeOver(BaseException):
    """The episode cannot go on: a wait that never ends, or more points than the cap. Unwinds `run`."""


class Overdue(EpisodeOver):
    """The system ran on for so long without a port call that it was ended from outside."""

    def __init__(self, why: str, place: str) -> None:
        super().__init__(f"{why}, at {place}")
