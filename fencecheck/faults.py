"""What a port raises or returns when the world answers badly: the public name of `fencecheck.run.faults`."""

from __future__ import annotations

from fencecheck.run.faults import (
    MALFORMED,
    Fault,
    IdempotencyKeyReused,
    Malformed,
    NotRemembered,
    OwnerTimeout,
    OwnerUnavailable,
    PreconditionFailed,
    RecordMissing,
    ReplyLost,
    Restarted,
    ToolRefused,
)

__all__ = [
    "MALFORMED",
    "Fault",
    "IdempotencyKeyReused",
    "Malformed",
    "NotRemembered",
    "OwnerTimeout",
    "OwnerUnavailable",
    "PreconditionFailed",
    "RecordMissing",
    "ReplyLost",
    "Restarted",
    "ToolRefused",
]
