"""The systems that PlanFence was compared with ("Fresh Memory, Stale Plans", Table 2), and coding agents, each in a file of its own."""

from __future__ import annotations

from fencecheck.run.adapter import AgentSystem
from fencecheck.systems.central import Central
from fencecheck.systems.direct_parents import DirectParents
from fencecheck.systems.file_hash import FileHash
from fencecheck.systems.file_mtime import FileMtime
from fencecheck.systems.file_naive import FileNaive
from fencecheck.systems.fresh_read import FreshRead
from fencecheck.systems.planfence import PlanFenceSystem

ALL: dict[str, type[AgentSystem]] = {
    "planfence": PlanFenceSystem,
    "central": Central,
    "direct-parents": DirectParents,
    "fresh-read": FreshRead,
}
"""By the name that the command line uses: those that take any scenario."""

ON_FILES: dict[str, type[AgentSystem]] = {
    "file-naive": FileNaive,
    "file-mtime": FileMtime,
    "file-hash": FileHash,
}
"""Coding agents, which bring a scenario of their own: real files in a temporary directory."""
