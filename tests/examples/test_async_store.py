"""A team's own async store: a real SQLite file behind a pool, an approval by a real webhook, and restarts while it is waited for."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiosqlite", reason="aiosqlite is not installed: pip install aiosqlite")

from fencecheck.history import Derive, History, Pause, labelled, points
from fencecheck.interleaving import Event, Outage, Restart, ToolFault, Update
from fencecheck.judge import judge
from fencecheck.run.loading import load
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check

EXAMPLE = Path(__file__).parents[2] / "examples" / "async_store" / "check_fulfilment.py"
Naive, Fenced = load(f"{EXAMPLE}:Naive"), load(f"{EXAMPLE}:Fenced")
ADDRESS, WINDOW = "order/42/address", "order/42/window"


@pytest.fixture(scope="module")
def naive() -> Iterator[Runner]:
    with Runner(Naive) as runner:
        yield runner


@pytest.fixture(scope="module")
def fenced() -> Iterator[Runner]:
    with Runner(Fenced) as runner:
        yield runner


def kinds(history: History, kind: type) -> list[Any]:
    return [entry for entry in history.entries if type(entry) is kind]


def after(history: History, label: str) -> int:
    """The point after the first of that label."""
    return labelled(history).index((label, 1)) + 1


def test_naive_is_violated_by_one_update_while_the_person_decides() -> None:
    report = check(Naive, max_events=1, kinds=["update"], fresh_process=False)
    failure = report.failures[0]
    assert (report.verdict, failure.code, failure.finding.key) == ("violated", "stale-act", ADDRESS)
    assert failure.events == (Event(5, Update(ADDRESS)),)
    assert failure.smallest


def test_fenced_is_held() -> None:
    report = check(Fenced, max_events=1, kinds=["update", "outage", "restart"], fresh_process=False)
    assert report.verdict == "held", report.failures
    assert report.counts["recovered"] > 0
    assert report.counts["crashed"] == report.counts["stuck"] == report.counts["duplicates"] == 0
    assert {"update", "outage", "restart"} == set(report.fired)


def test_the_fence_replans_once_and_halts_when_it_changes_again(fenced: Runner) -> None:
    at = after(fenced.run(), "pause approval")
    once = fenced.run((), (Event(at, Update(ADDRESS)),))
    assert once.effects[0].args == {"order": "42", "to": "3-1 Umeda, Osaka", "window": "Monday morning"}
    assert judge(once).recovered
    replanned = [number for number, (_, entry) in enumerate(points(once)) if type(entry) is Derive][-1]
    again = fenced.run((), (Event(at, Update(ADDRESS)), Event(replanned + 1, Update(WINDOW))))
    assert not again.effects
    assert again.ended.detail.startswith("Halt: changed-again")


@pytest.mark.parametrize("which", ["naive", "fenced"])
def test_a_restart_anywhere_goes_on_from_the_database(which: str, request: pytest.FixtureRequest) -> None:
    runner: Runner = request.getfixturevalue(which)
    for at in range(runner.horizon):
        history = runner.run((), (Event(at, Restart("agent")),))
        assert history.fired, at
        assert history.ended.how == "returned", history.ended
        assert len(history.effects) == 1
        assert len(kinds(history, Derive)) == 1, "what was planned was planned again"
        assert not judge(history).findings


def test_a_restart_while_the_approval_is_waited_for_waits_again_one_after_it_does_not(naive: Runner) -> None:
    at = after(naive.run(), "pause approval")
    waiting = naive.run((), (Event(at - 1, Restart("agent")),))
    approved = naive.run((), (Event(at, Restart("agent")),))
    assert len(kinds(waiting, Pause)) == len(kinds(approved, Pause)) == 1  # a call that was unwound never happened
    assert len(waiting.effects) == len(approved.effects) == 1


def test_an_update_and_a_restart_after_the_approval(naive: Runner, fenced: Runner) -> None:
    at = after(naive.run(), "pause approval")
    for runner, found in ((naive, ["stale-act"]), (fenced, [])):
        history = runner.run((), (Event(at, Update(ADDRESS)), Event(at, Restart("agent"))))
        assert len(history.fired) == 2
        assert [finding.code for finding in judge(history).violations("at-validation")] == found


def test_a_lost_reply_and_a_restart_send_no_second_parcel(naive: Runner) -> None:
    act = labelled(naive.run()).index(("act send", 1))
    history = naive.run((), (Event(act, ToolFault("send", "lost-reply")), Event(act + 1, Restart("agent"))))
    assert len(history.effects) == 1


def test_an_owner_that_does_not_answer_at_validation_stops_the_parcel(fenced: Runner) -> None:
    at = after(fenced.run(), "pause approval")
    for how in ("refuse", "hang", "malformed"):
        history = fenced.run((), (Event(at, Outage("calendar", how)),))
        assert history.ended.how == "halted", history.ended
        assert not history.effects


# -- the team's own code, without a kit ------------------------------------------------------------------------------------------------


def with_store(file: Path, body: Callable[[Any, Any], Awaitable[None]]) -> None:
    """Runs `body(pool, orders)` on a new file."""
    pool_class, orders_class = sys.modules["database"].Pool, sys.modules["orders"].Orders

    async def run() -> None:
        pool = await pool_class.open(str(file))
        try:
            orders = orders_class(pool)
            await orders.create()
            await body(pool, orders)
        finally:
            await pool.close()

    asyncio.run(run())


def test_an_approval_of_another_plan_or_a_second_one_is_refused(tmp_path: Path) -> None:
    import httpx

    async def body(pool: Any, orders: Any) -> None:
        inbox = sys.modules["approvals"].Inbox(orders)
        plan = await orders.save_plan({"to": "Tokyo"}, [], "42")
        waits = asyncio.create_task(inbox.approval("42", plan.id))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(inbox.app()), base_url="http://delivery") as client:
            statuses = [
                (await client.post("/approvals", json={"order": "42", "plan": said})).status_code for said in ("99", plan.id, plan.id)
            ]
        await waits
        assert statuses == [409, 200, 409]

    with_store(tmp_path / "orders.sqlite", body)


def test_a_task_that_is_cancelled_leaves_no_transaction_open(tmp_path: Path) -> None:
    async def body(pool: Any, orders: Any) -> None:
        async def holds() -> None:
            async with pool.transaction() as db:
                await db.fetch("INSERT INTO records (key, value) VALUES ($1, $2)", "a", '"x"')
                begun.set()
                await asyncio.Event().wait()

        begun = asyncio.Event()
        task = asyncio.create_task(holds())
        await begun.wait()
        task.cancel()
        await asyncio.wait([task])
        with pytest.raises(LookupError, match="there is no a"):
            await orders.current("a")
        assert (await orders.record(await orders.change("a", "y"))).value == "y"

    with_store(tmp_path / "orders.sqlite", body)
