"""The systems that PlanFence was compared with ("Fresh Memory, Stale Plans", Table 2), each in a file of its own."""

from __future__ import annotations

from fencecheck.run.adapter import AgentSystem
from fencecheck.systems.central import Central
from fencecheck.systems.direct_parents import DirectParents
from fencecheck.systems.fresh_read import FreshRead
from fencecheck.systems.planfence import PlanFenceSystem

ALL: dict[str, type[AgentSystem]] = {
    "planfence": PlanFenceSystem,
    "central": Central,
    "direct-parents": DirectParents,
    "fresh-read": FreshRead,
}
"""By the name that the command line uses."""
