"""The systems that PlanFence was compared with ("Fresh Memory, Stale Plans", Table 2), each in a file of its own.

With them what a team can add outside a fence, of the same paper: the expected version passed on to the tool, and idempotency keys; and coding agents.
"""

from __future__ import annotations

from fencecheck.run.adapter import AgentSystem
from fencecheck.systems.auditing import Auditing
from fencecheck.systems.batched_all_keys import BatchedAllKeys
from fencecheck.systems.central import Central
from fencecheck.systems.direct_parents import DirectParents
from fencecheck.systems.eager_sync import EagerSync
from fencecheck.systems.file_hash import FileHash
from fencecheck.systems.file_mtime import FileMtime
from fencecheck.systems.file_naive import FileNaive
from fencecheck.systems.fresh_read import FreshRead
from fencecheck.systems.idempotency_key import IdempotencyKey
from fencecheck.systems.if_match import IfMatch
from fencecheck.systems.planfence import PlanFenceSystem

ALL: dict[str, type[AgentSystem]] = {
    "planfence": PlanFenceSystem,
    "central": Central,
    "eager-sync": EagerSync,
    "batched-all-keys": BatchedAllKeys,
    "direct-parents": DirectParents,
    "fresh-read": FreshRead,
    "if-match": IfMatch,
    "idempotency-key": IdempotencyKey,
    "auditing": Auditing,
}
"""By the name that the command line uses: those that take any scenario."""

ON_FILES: dict[str, type[AgentSystem]] = {
    "file-naive": FileNaive,
    "file-mtime": FileMtime,
    "file-hash": FileHash,
}
"""Coding agents, which bring a scenario of their own: real files in a temporary directory."""
