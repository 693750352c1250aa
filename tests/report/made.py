"""Histories and reports made by hand, for what reports say of them."""

from __future__ import annotations

from typing import Any

from fencecheck.history import Act, Derive, Ended, Entry, History, Landed, Read
from fencecheck.interleaving import Event, Interleaving, Update
from fencecheck.judge import Finding
from fencecheck.model import Action, Record, Scenario
from fencecheck.search.report import Bound, Failure, Report

REQ, WIN = "order/42/requirement", "order/42/window"
SCENARIO = Scenario(
    owners={"orders": [REQ], "calendar": [WIN]},
    actions=[Action("ship", depends_on=[REQ])],
    values={REQ: ["2-21 Shibuya, Tokyo", "3-1 Umeda, Osaka"], WIN: ["9 to 11", "11 to 13"]},
)
RECORDS = {
    f"{REQ}@1": Record(f"{REQ}@1", REQ, "2-21 Shibuya, Tokyo"),
    f"{REQ}@2": Record(f"{REQ}@2", REQ, "3-1 Umeda, Osaka", supersedes=f"{REQ}@1"),
    f"{WIN}@1": Record(f"{WIN}@1", WIN, "9 to 11"),
    "p1": Record("p1", None, {"to": "2-21 Shibuya, Tokyo"}, (f"{REQ}@1",)),
}
VERSIONS = {REQ: [f"{REQ}@1", f"{REQ}@2"], WIN: [f"{WIN}@1"]}


def history(*entries: Entry, **fields: Any) -> History:
    """A history of these entries in the world above."""
    return History(SCENARIO, list(entries), dict(RECORDS), {key: list(ids) for key, ids in VERSIONS.items()}, **fields)


def stale() -> History:
    """The plan goes out though its input changed."""
    return history(
        Read("planner", REQ, f"{REQ}@1"),
        Derive("planner", "p1"),
        Landed(2, Update(REQ), True, f"{REQ}@2"),
        Read("executor", REQ, f"{REQ}@2"),
        Act("executor", "ship", {"to": "2-21 Shibuya, Tokyo"}, "p1"),
        Ended("returned"),
        lines={0: "delivery.py:12", 1: "delivery.py:13", 3: "delivery.py:40", 4: "delivery.py:41"},
    )


FINDING = Finding("stale-act", 4, REQ, (4,), f"ship went out made from {REQ}@1 while {REQ}@2 was current.")


def report(verdict: str = "held", **fields: Any) -> Report:
    """A report with plausible figures."""
    given: dict[str, Any] = {
        "counts": {"completed": 919, "recovered": 140, "halted_changed": 114, "halted_unverified": 1401, "refused": 72},
        "fired": {"update": 977, "outage": 438},
        "failures": [],
        "assumed": ["deterministic (checked)"],
        "seconds": 0.71,
        **fields,
    }
    return Report("planfence", verdict, "at-validation", "exhaust", Bound("events", 2), 2436, **given)  # type: ignore[arg-type]


def failure(**fields: Any) -> Failure:
    """The failure of the history above."""
    return Failure("stale-act", FINDING, Interleaving(SCENARIO, (), (Event(2, Update(REQ)),)), stale(), **{"number": 4, **fields})
