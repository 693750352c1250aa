"""The fence node as a team runs it in production: a plain LangGraph graph, and no episode."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite", reason="langgraph is not installed: pip install 'fencecheck[langgraph]'")

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from fencecheck.errors import BadInput
from fencecheck.integrations.langgraph import FenceState, fence_node

KEY = "order/42/address"


class State(FenceState, total=False):
    versions: dict[str, Any]
    sent: str
    told: str


class World:
    """A store of one fact, and what was sent."""

    def __init__(self) -> None:
        self.version: Any = 1
        self.changes_while_planning = 0
        self.planned = 0
        self.audit: list[Any] = []

    def plan(self, state: State) -> State:
        self.planned += 1
        read = self.version
        if self.changes_while_planning:
            self.changes_while_planning -= 1
            self.version += 1
        return {"versions": {KEY: read}}

    def head(self, key: str) -> Any:
        assert key == KEY
        return self.version

    def send(self, state: State) -> State:
        return {"sent": f"as of version {state['versions'][KEY]}"}

    def graph(self, **options: Any) -> Any:
        options = {"head": self.head, "depends_on": [KEY], **options}
        builder = StateGraph(State).add_node("plan", self.plan).add_node("send", fence_node(options.pop("act", self.send), **options))
        builder.add_node("tell", lambda state: {"told": state.get("fence", {}).get("halted", "sent")})
        return builder.add_edge(START, "plan").add_edge("plan", "send").compile(checkpointer=InMemorySaver())


CONFIG: Any = {"configurable": {"thread_id": "1"}}


def test_what_is_current_goes_out() -> None:
    assert World().graph().invoke({}, CONFIG) == {"versions": {KEY: 1}, "sent": "as of version 1", "fence": {"replans": 0, "step": "#2"}}


def test_what_changed_once_is_planned_again_and_goes_out() -> None:
    world = World()
    world.changes_while_planning = 1
    state = world.graph(replan="plan", then="tell").invoke({}, CONFIG)
    assert (world.planned, state["sent"], state["told"], state["fence"]["replans"]) == (2, "as of version 2", "sent", 0)


def test_what_changed_twice_halts() -> None:
    world = World()
    world.changes_while_planning = 2
    state = world.graph(replan="plan", halt="tell").invoke({}, CONFIG)
    assert world.planned == 2
    assert "sent" not in state
    assert state["told"] == state["fence"]["halted"] == f"changed-again: the key {KEY!r} changed again after the one replan"


def test_without_a_node_to_plan_again_in_a_change_halts() -> None:
    world = World()
    world.changes_while_planning = 1
    state = world.graph().invoke({}, CONFIG)
    assert "sent" not in state
    assert state["fence"]["halted"] == f"changed: {KEY} changed since the plan was made"


def test_the_next_act_may_replan_again() -> None:
    world = World()
    graph = world.graph(replan="plan")
    for _ in range(2):
        world.changes_while_planning = 1
        assert "halted" not in graph.invoke({}, CONFIG)["fence"]
    assert world.planned == 4


def test_after_a_halt_the_next_run_may_replan_again() -> None:
    world = World()
    graph = world.graph(replan="plan")
    world.changes_while_planning = 2
    assert "halted" in graph.invoke({}, CONFIG)["fence"]
    world.changes_while_planning = 1
    assert graph.invoke({}, CONFIG)["fence"]["replans"] == 0


@pytest.mark.parametrize("version", [7, 1.5, "tag", datetime(2026, 9, 3), UUID(int=1)])
def test_what_names_a_version(version: Any) -> None:
    world = World()
    world.version = version
    assert "halted" not in world.graph().invoke({}, CONFIG)["fence"]


def test_a_node_may_answer_with_several_updates() -> None:
    def send(state: State) -> Any:
        return [{"sent": "yes"}, {"told": "yes"}]

    state = World().graph(act=send).invoke({}, CONFIG)
    assert (state["sent"], state["told"], state["fence"]["replans"]) == ("yes", "yes", 0)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (RuntimeError("down"), "owner-unavailable"),
        (TimeoutError(), "owner-timeout"),
        (None, "malformed-answer"),
        (object(), "malformed-answer"),
    ],
)
def test_an_owner_that_does_not_answer_halts(answer: Any, reason: str) -> None:
    def head(key: str) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    state = World().graph(head=head, replan="plan").invoke({}, CONFIG)
    assert "sent" not in state
    assert state["fence"]["halted"].startswith(f"{reason}: ")


def test_a_plan_that_does_not_say_what_it_was_made_from_halts() -> None:
    state = World().graph(versions="nothing").invoke({}, CONFIG)
    assert "sent" not in state
    assert state["fence"]["halted"].startswith("not-in-lineage: ")


def test_keys_can_follow_from_the_state_and_stores_may_number_each_key_for_itself() -> None:
    def plan(state: State) -> State:
        return {"versions": {"a": 1, "b": 1, "unrelated": 7}}

    fenced = fence_node(
        lambda state: {"sent": "yes"}, head={"a": 1, "b": 1}.__getitem__, depends_on=lambda state: sorted(state["versions"])[:2]
    )
    builder = StateGraph(State).add_node("plan", plan).add_node("send", fenced).add_edge(START, "plan").add_edge("plan", "send")
    assert builder.compile().invoke({})["sent"] == "yes"


def test_what_was_validated_can_be_audited() -> None:
    world = World()
    world.graph(validated=world.audit.append).invoke({}, CONFIG)
    assert world.audit == [{KEY: 1}]


def test_the_time_of_an_owner_is_handed_on() -> None:
    given = []

    def head(key: str, timeout: float) -> int:
        given.append(timeout)
        return 1

    World().graph(head=head, timeout_s=2.5).invoke({}, CONFIG)
    assert given == [2.5]


def test_the_node_gets_the_runtime_if_it_wants_it() -> None:
    def send(state: State, runtime: Runtime[str]) -> State:
        return {"sent": f"by {runtime.context}"}

    assert World().graph(act=send).invoke({}, CONFIG, context="the courier")["sent"] == "by the courier"


def test_a_node_that_says_itself_where_to_go() -> None:
    def send(state: State) -> Any:
        return Command(goto="tell", update={"sent": "yes"})

    assert World().graph(act=send).invoke({}, CONFIG)["told"] == "sent"


def test_a_node_that_says_itself_where_to_go_may_replan_again_for_its_next_act() -> None:
    def send(state: State) -> Any:
        return Command(goto="tell", update={"sent": "yes"})

    world = World()
    graph = world.graph(act=send, replan="plan")
    for _ in range(2):
        world.changes_while_planning = 1
        assert graph.invoke({}, CONFIG)["fence"]["replans"] == 0


def test_it_may_keep_its_state_in_an_object() -> None:
    @dataclass
    class Kept:
        versions: dict[str, Any] = field(default_factory=dict)
        fence: Any = None
        sent: str = ""

    fenced = fence_node(lambda state: {"sent": "yes"}, head=lambda key: 1, depends_on=[KEY])
    builder = StateGraph(Kept).add_node("plan", lambda state: {"versions": {KEY: 1}}).add_node("send", fenced)
    assert builder.add_edge(START, "plan").add_edge("plan", "send").compile().invoke(Kept())["sent"] == "yes"


def test_the_ways_are_drawn() -> None:
    drawn = World().graph(replan="plan", then="tell", halt=END).get_graph()
    assert {(edge.source, edge.target) for edge in drawn.edges if edge.source == "send"} == {
        ("send", "plan"),
        ("send", "tell"),
        ("send", "__end__"),
    }


# -- async ------------------------------------------------------------------------------------------------------------


def test_async() -> None:
    world = World()
    world.changes_while_planning = 1

    async def head(key: str) -> Any:
        await asyncio.sleep(0)
        return world.head(key)

    async def send(state: State) -> State:
        return world.send(state)

    state = asyncio.run(world.graph(act=send, head=head, replan="plan").ainvoke({}, CONFIG))
    assert (world.planned, state["sent"]) == (2, "as of version 2")


def test_an_async_owner_that_does_not_answer_in_time_halts() -> None:
    world = World()

    async def head(key: str) -> Any:
        await asyncio.get_running_loop().create_future()

    async def send(state: State) -> State:
        raise AssertionError

    state = asyncio.run(world.graph(act=send, head=head, timeout_s=0.01).ainvoke({}, CONFIG))
    assert state["fence"]["halted"].startswith("owner-timeout: ")


def test_a_plain_act_cannot_have_an_async_head() -> None:
    async def head(key: str) -> Any:
        raise AssertionError

    with pytest.raises(TypeError, match="head is async and act is not"):
        World().graph(head=head)


def test_one_key_is_a_list_too() -> None:
    with pytest.raises(BadInput, match=r"depends_on is a list of keys: write \['order/42/address'\]"):
        World().graph(depends_on=KEY)
