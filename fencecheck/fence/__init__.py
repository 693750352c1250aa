"""The reference PlanFence, for use by itself: standard library only, and nothing from the rest of fencecheck.

An agent plans from versions of facts and acts later. The fence lets the act out only if the versions that the plan was made from are
the current ones, replans once if they are not, and halts on whatever it cannot verify. ("Fresh Memory, Stale Plans", Chen, Wang, Brinton;
arXiv, 2026-09-03.)

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Version:
...     id: str
...     key: str | None = None
...     value: str = ""
...     parents: tuple[str, ...] = ()
...     supersedes: str | None = None
...     removed: bool = False
>>> requirement = "order/42/requirement"
>>> store = {"r3": Version("r3", requirement, "Tokyo"), "r4": Version("r4", requirement, "Osaka", supersedes="r3")}
>>> heads = {requirement: "r4"}
>>> def replan(plan, changed):
...     new = changed[requirement]
...     return Version("p4", value=f"deliver to {new.value}", parents=(new.id,))
>>> fence = PlanFence(fetch=store.__getitem__, head=heads.__getitem__, replan=replan)
>>> p3 = Version("p3", value="deliver to Tokyo", parents=("r3",))
>>> fence.guard(p3, [requirement], act=lambda cleared: cleared.plan.value)
'deliver to Osaka'
>>> heads.clear()
>>> fence.guard(p3, [requirement], act=print)
Traceback (most recent call last):
fencecheck.fence.values.Halt: owner-unavailable: the owner of 'order/42/requirement' did not answer (KeyError: 'order/42/requirement')

`PlanFence` here is the one for plain functions. `fencecheck.fence.aio.PlanFence` and `fencecheck.fence.trio_.PlanFence` take async ones.
`protocol` is all of it without I/O, for any other way of asking.
"""

from fencecheck.fence.core import MAX_RECORDS, protocol, step
from fencecheck.fence.seen import Seen
from fencecheck.fence.sync import PlanFence
from fencecheck.fence.values import Ask, Cleared, Failure, Fetch, Halt, Reason, Record, Replan, Request, Steps

__all__ = [
    "MAX_RECORDS",
    "Ask",
    "Cleared",
    "Failure",
    "Fetch",
    "Halt",
    "PlanFence",
    "Reason",
    "Record",
    "Replan",
    "Request",
    "Seen",
    "Steps",
    "protocol",
    "step",
]
