"""The guard that the frameworks share: what a conversation has read, the owners' heads, one chance to read again, then a halt."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from fencecheck.errors import BadInput
from fencecheck.fence import Halt, Reason
from fencecheck.integrations.tool_fence import ASK_AGAIN, Fact, Facts, ReadAgain, ToolFence

ADDRESS, SLOT = "order/42/address", "order/42/slot"
VERSIONS = {ADDRESS: "r1", SLOT: "s1"}


class Owners:
    """The owners of the two keys, and what the fence told of its clearances."""

    def __init__(self, **heads: Any) -> None:
        self.heads: dict[str, Any] = {ADDRESS: "r1", SLOT: "s1"}
        self.asked: list[str] = []
        self.cleared: list[Mapping[str, str]] = []

    async def head(self, key: str) -> Any:
        self.asked.append(key)
        answer = self.heads[key]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def fence(self, **settings: Any) -> ToolFence:
        given = {
            "reads": {"get_order": "order/{order}/address", "get_both": lambda args: [ADDRESS, SLOT]},
            "acts": {"ship": [ADDRESS, SLOT]},
            "head": self.head,
            "validated": self.cleared.append,
        }
        return ToolFence(**(given | settings))


def read(versions: Mapping[str, str]) -> Facts:
    """What a conversation holds that was answered these versions."""
    return {key: Fact(version=version, says=[], said=[]) for key, version in versions.items()}


def clear(fence: ToolFence, versions: Mapping[str, str] = VERSIONS, *, told: bool = False) -> None:
    asyncio.run(fence.clear("ship", {"to": "Tokyo"}, "call-1", read(versions), told=told))


def noted(fence: ToolFence, tool: str, args: Mapping[str, Any], *answers: Any) -> dict[str, str]:
    """The versions that the answers show, one after the other."""
    facts: Facts = {}
    for answer in answers:
        fence.note(facts, tool, args, answer)
    return {key: fact["version"] for key, fact in facts.items()}


def test_a_call_whose_facts_are_current_is_cleared_with_its_basis() -> None:
    owners = Owners()
    clear(owners.fence())
    assert owners.asked == [ADDRESS, SLOT]
    assert owners.cleared == [{ADDRESS: "r1", SLOT: "s1"}]
    assert all(type(id) is str for id in owners.cleared[0].values())


def test_a_change_is_told_to_the_model_once() -> None:
    owners = Owners()
    owners.heads[ADDRESS] = "r2"
    with pytest.raises(ReadAgain) as told:
        clear(owners.fence())
    assert str(told.value) == f"{ASK_AGAIN}{ADDRESS}. Read it again and decide anew."
    assert not owners.cleared


def test_a_change_after_that_is_a_halt() -> None:
    owners = Owners()
    owners.heads[ADDRESS] = "r2"
    with pytest.raises(Halt) as halt:
        clear(owners.fence(), told=True)
    assert (halt.value.reason, halt.value.about) == (Reason.CHANGED_AGAIN, ADDRESS)


def test_a_key_that_was_never_read_is_a_halt() -> None:
    with pytest.raises(Halt) as halt:
        clear(Owners().fence(), {ADDRESS: "r1"})
    assert (halt.value.reason, halt.value.about) == (Reason.NOT_IN_LINEAGE, SLOT)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ConnectionError("down"), Reason.OWNER_UNAVAILABLE),
        (None, Reason.MALFORMED_ANSWER),
        ({"id": "r1"}, Reason.MALFORMED_ANSWER),
        (True, Reason.MALFORMED_ANSWER),
        ("", Reason.MALFORMED_ANSWER),
    ],
)
def test_what_is_no_answer_is_a_halt(answer: Any, reason: Reason) -> None:
    owners = Owners()
    owners.heads[SLOT] = answer
    with pytest.raises(Halt) as halt:
        clear(owners.fence())
    assert halt.value.reason is reason
    assert not owners.cleared


def test_an_owner_that_does_not_answer_in_time_is_a_halt() -> None:
    async def never(key: str) -> str:
        await asyncio.Event().wait()
        return "r1"

    with pytest.raises(Halt) as halt:
        clear(Owners().fence(head=never, timeout_s=0.01))
    assert halt.value.reason is Reason.OWNER_TIMEOUT


def test_an_owner_that_goes_back_to_an_older_version_is_a_halt() -> None:
    owners = Owners()
    fence = owners.fence()
    clear(fence)
    owners.heads[ADDRESS] = "r2"
    clear(fence, VERSIONS | {ADDRESS: "r2"})
    owners.heads[ADDRESS] = "r1"
    with pytest.raises(Halt) as halt:
        clear(fence)
    assert halt.value.reason is Reason.OLDER_HEAD


def test_owners_may_number_the_versions_of_each_key_alike() -> None:
    owners = Owners()
    owners.heads = {ADDRESS: 1, SLOT: 1}
    fence = owners.fence()
    clear(fence, {ADDRESS: "1", SLOT: "1"})
    assert owners.cleared == [{ADDRESS: "1", SLOT: "1"}]
    owners.heads[SLOT] = 2
    with pytest.raises(ReadAgain, match="order/42/slot"):
        clear(fence, {ADDRESS: "1", SLOT: "1"})


def test_a_plain_head_is_asked_in_a_thread() -> None:
    threads = []

    def head(key: str) -> str:
        threads.append(threading.current_thread())
        return VERSIONS[key]

    clear(Owners().fence(head=head))
    assert len(threads) == 2
    assert threading.main_thread() not in threads


def test_exceptions_that_are_to_pass_do() -> None:
    class Cancelled(Exception):
        pass

    owners = Owners()
    owners.heads[ADDRESS] = Cancelled()
    with pytest.raises(Cancelled):
        clear(owners.fence(passthrough=(Cancelled,)))


# -- what an answer shows ---------------------------------------------------------------------------------------------


class Row:
    version = "r9"


def test_an_answer_shows_its_version() -> None:
    fence = Owners().fence()
    assert noted(fence, "get_order", {"order": 42}, {"version": "r1", "to": "Tokyo"}) == {ADDRESS: "r1"}
    assert noted(fence, "get_order", {"order": 43}, Row()) == {"order/43/address": "r9"}
    assert noted(fence, "get_both", {}, {"version": 3}) == {ADDRESS: "3", SLOT: "3"}


@pytest.mark.parametrize("answer", ["An error occurred", None, {}, {"version": None}, {"version": ["r1"]}])
def test_an_answer_that_shows_none_is_no_fact(answer: Any) -> None:
    assert noted(Owners().fence(), "get_order", {"order": 42}, answer) == {}


def test_a_team_says_how_versions_are_shown() -> None:
    fence = Owners().fence(version=lambda key, answer: answer["etags"].get(key))
    assert noted(fence, "get_both", {}, {"etags": {ADDRESS: "r1", SLOT: "s1"}}) == VERSIONS
    assert noted(fence, "get_both", {}, {"etags": {ADDRESS: "r1"}}) == {ADDRESS: "r1"}


def test_arguments_that_name_no_key_show_nothing() -> None:
    assert noted(Owners().fence(), "get_order", {}, {"version": "r1"}) == {}


def test_a_tool_that_neither_reads_nor_is_about_a_key_shows_nothing() -> None:
    fence = Owners().fence(reads={"search": lambda args: None})
    assert noted(fence, "search", {}, {"version": "r1"}) == {}
    assert noted(fence, "other", {}, {"version": "r1"}) == {}


def test_keys_that_do_not_follow_from_a_call_are_told_and_the_call_does_not_go_out() -> None:
    fence = Owners().fence(acts={"ship": "order/{order}/address"})
    with pytest.raises(BadInput, match=r"^acts\['ship'\] of the fence is 'order/\{order\}/address', but the call has no argument 'order'"):
        clear(fence)


def test_a_tool_cannot_read_and_act() -> None:
    with pytest.raises(ValueError, match="'ship' is in reads and in acts"):
        Owners().fence(reads={"ship": ADDRESS})


# -- what is repeated after reading again -----------------------------------------------------------------------------


def conversation(fence: ToolFence, *values: str) -> Facts:
    facts: Facts = {}
    for number, value in enumerate(values, 1):
        fence.note(facts, "get_order", {"order": 42}, {"version": f"r{number}", "to": {"lines": [value, "Japan"]}})
    return facts


def sends(to: str, *values: str, told: bool) -> None:
    owners = Owners()
    owners.heads[ADDRESS] = f"r{len(values)}"
    fence = owners.fence(acts={"ship": [ADDRESS]})
    asyncio.run(fence.clear("ship", {"to": [to, "Japan"]}, "call-2", conversation(fence, *values), told=told))


def test_a_call_that_repeats_what_was_superseded_is_not_cleared() -> None:
    with pytest.raises(ReadAgain, match=f"{ASK_AGAIN}{ADDRESS}, of which the call says 'Tokyo' still"):
        sends("Tokyo", "Tokyo", "Osaka", told=False)
    with pytest.raises(Halt) as halt:
        sends("Tokyo", "Tokyo", "Osaka", told=True)
    assert halt.value.reason is Reason.REPLAN_FAILED
    assert "'Tokyo'" in str(halt.value)


def test_a_value_that_came_back_is_current() -> None:
    sends("Osaka", "Tokyo", "Osaka", told=True)
    sends("Tokyo", "Tokyo", "Osaka", "Tokyo", told=True)


def test_what_a_conversation_has_read_can_be_written_down() -> None:
    facts = conversation(Owners().fence(), "Tokyo", "Osaka")
    assert json.loads(json.dumps(facts)) == facts
    assert "Tokyo" not in json.dumps(facts)
