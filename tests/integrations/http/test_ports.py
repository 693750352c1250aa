"""Each port and each fault in its HTTP form, over real connections, and what the history says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import httpx
import pytest

from fencecheck import AgentSystem, CorruptParent, Deliver, Event, MissingParent, Outage, ToolFault, Update, faults
from fencecheck.history import Act, Derive, Head, History, Read, first_difference
from fencecheck.interleaving import What
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.simulate import Runner, simulate

from .foreign import ADDRESS, WINDOW, WORLD, Agent, World, running


class Shared:
    """One runner for all tests of this file that need no other: its system plays whichever agent is there."""

    agent: Agent
    runner: Runner


@pytest.fixture(scope="module", autouse=True)
def _shared() -> Iterator[None]:
    with running(lambda world: Shared.agent(world)) as Shared.runner:
        yield


def told(agent: Callable[[World], Any], *events: tuple[int, What], scenario: Scenario = WORLD, **attributes: Any) -> tuple[Any, History]:
    """What `agent` returned in one episode with these events, or the exception that it ended with, and the history."""
    answers: list[Any] = []

    def once(world: World) -> None:
        try:
            answers.append(agent(world))
        except Exception as error:
            answers.append(error)

    Shared.agent = once
    needs_another = attributes or scenario is not WORLD
    with running(once, scenario, **attributes) if needs_another else nullcontext(Shared.runner) as runner:
        history = runner.run((), tuple(Event(at, what) for at, what in events))
    return answers[0], history


def entries(history: History, kind: type) -> list[Any]:
    return [entry for entry in history.entries if type(entry) is kind]


def by_http(world: World) -> None:
    """Every port once, over HTTP."""
    planner, executor = ({"fencecheck-agent": name} for name in WORLD.agents)
    order = world.key("GET", headers=planner).json()
    plan = world.ask("POST", "/records", {"value": {"to": order["value"]}, "parents": [order["id"]]}, planner).json()
    assert world.ask("GET", f"/memory/{ADDRESS}", headers=planner).json() == order
    assert world.ask("POST", "/pause", {"label": "approval"}, executor).status_code == 204
    assert world.ask("POST", "/point", {"label": "queue"}, executor).status_code == 204
    assert world.ask("GET", f"/records/{plan['id']}", headers=executor).json() == plan
    assert world.ask("POST", "/declared/ship", headers=executor).json() == {"keys": [ADDRESS]}
    assert world.key("HEAD", headers=executor).headers["etag"] == f'"{order["id"]}"'
    assert world.key("PUT", WINDOW, {"value": "Friday"}, executor).json()["id"] == f"{WINDOW}@2"
    assert world.ask("POST", "/validated", {"keys": [ADDRESS]}, executor).status_code == 204
    assert world.act(plan["value"], executor, plan=plan["id"], basis={ADDRESS: order["id"]}).json() == {"status": "done"}
    assert world.ask("POST", "/halted", {"reason": "enough"}, executor).status_code == 204


class InProcess(AgentSystem):
    """The same calls by the plain ports."""

    scenario = WORLD

    def run(self) -> None:
        kit = self.kit
        with kit.agent("planner"):
            order = kit.read(ADDRESS)
            plan = kit.derive({"to": order.value}, [order])
            kit.memory(ADDRESS)
        with kit.agent("executor"):
            kit.pause("approval")
            kit.point("queue")
            kit.record(plan)
            kit.declared("ship")
            kit.head(ADDRESS)
            kit.derive("Friday", [], WINDOW)
            kit.validated([ADDRESS])
            kit.act("ship", plan.value, plan=plan, basis={ADDRESS: order.id})
            kit.halted("enough")


def test_every_port_leaves_the_history_that_the_plain_one_leaves() -> None:
    failed, history = told(by_http)
    assert failed is None
    with Runner(InProcess) as runner:
        plain = runner.run()
    assert first_difference(history, plain) is None
    assert entries(history, Act) == entries(plain, Act)
    assert history.records == plain.records


def test_a_record_is_json_with_its_id_as_the_entity_tag() -> None:
    answer, _ = told(lambda world: world.key("GET"))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["etag"] == f'"{ADDRESS}@1"'
    assert answer.json() == {
        "id": f"{ADDRESS}@1", "key": ADDRESS, "value": "Tokyo", "parents": [], "supersedes": None, "removed": False,
    }  # fmt: skip


STRANGE = ["a b", "straße/ä", 'say "hi"', "100%", "a?b#c", "a//b", "a/../b", "~tilde", "x;y,z"]


@pytest.mark.parametrize("key", STRANGE)
def test_any_key_can_be_asked_for_and_its_entity_tag_given_back(key: str) -> None:
    scenario = Scenario(owners={"o": [key]}, actions=[Action("ship", depends_on=[key])])

    def agent(world: World) -> tuple[Any, ...]:
        read, head = world.key("GET", key), world.key("HEAD", key)
        tag = head.headers["etag"]
        return read.json()["key"], read.headers["etag"] == tag, world.act(headers={"if-match": tag}).status_code

    answer, _ = told(agent, scenario=scenario)
    assert answer == (key, True, 200)


# -- outages ----------------------------------------------------------------------------------------------------------------------------


def test_an_owner_that_refuses_resets_the_connection_and_is_seen_to_be_asked() -> None:
    error, history = told(lambda world: world.key("GET"), (0, Outage("orders")))
    assert isinstance(error, httpx.ReadError)
    assert [(read.key, read.answer) for read in entries(history, Read)] == [(ADDRESS, "refused")]


def test_or_answers_503_where_that_is_asked_for() -> None:
    answer, history = told(lambda world: world.key("GET"), (0, Outage("orders")), refusal="503")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert answer.json()["detail"] == f"orders refuses for {ADDRESS}"
    assert [read.answer for read in entries(history, Read)] == ["refused"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_an_owner_that_hangs_answers_nothing_until_the_client_gives_up(method: str) -> None:
    def agent(world: World) -> Any:
        try:
            world.http.request(method, f"/keys/{ADDRESS}", timeout=0.2)
        except httpx.ReadTimeout:
            return world.key("GET", WINDOW).status_code

    answer, history = told(agent, (0, Outage("orders", "hang")), waits=None)
    assert answer == 200
    assert [entry.answer for entry in (*entries(history, Head), *entries(history, Read))] == ["hang", "ok"]


def test_a_client_that_says_how_long_it_waits_is_told_at_once_that_it_has() -> None:
    answer, history = told(lambda world: world.key("GET"), (0, Outage("orders", "hang")))
    assert answer.status_code == 504
    assert [read.answer for read in entries(history, Read)] == ["hang"]


def test_a_malformed_answer_is_json_that_ends_in_the_middle() -> None:
    answer, history = told(lambda world: world.key("GET"), (0, Outage("orders", "malformed")))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        answer.json()
    assert "etag" not in answer.headers
    assert [read.answer for read in entries(history, Read)] == ["malformed"]


def test_a_malformed_head_is_no_entity_tag() -> None:
    answer, _ = told(lambda world: world.key("HEAD"), (0, Outage("orders", "malformed")))
    assert answer.headers["etag"] == f'"{ADDRESS}'


def test_an_answer_for_another_key() -> None:
    answers, _ = told(lambda world: [world.key("GET"), world.key("HEAD")], (0, Outage("orders", "wrong-key")))
    assert [answers[0].json()["key"], *(answer.headers["etag"] for answer in answers)] == [WINDOW, f'"{WINDOW}@1"', f'"{WINDOW}@1"']


def test_an_older_head() -> None:
    answer, _ = told(lambda world: world.key("HEAD"), (0, Update(ADDRESS)), (0, Outage("orders", "older-head")))
    assert answer.headers["etag"] == f'"{ADDRESS}@1"'


# -- what cannot be read ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "events"),
    [
        ("/keys/nobody/owns/this", []),
        (f"/keys/{ADDRESS}", [MissingParent(ADDRESS)]),
        (f"/records/{ADDRESS}@1", [MissingParent(ADDRESS)]),
        ("/records/undefined", []),
        ("/memory/nobody/owns/this", []),
    ],
)
def test_what_is_missing_is_not_found(path: str, events: list[What]) -> None:
    answer, _ = told(lambda world: world.ask("GET", path), *((0, event) for event in events))
    assert (answer.status_code, answer.json()["title"]) == (404, "Not Found")


def test_a_removed_key_is_a_record_that_says_so() -> None:
    answer, _ = told(lambda world: world.key("GET"), (0, Update(ADDRESS, "removed")))
    assert (answer.json()["removed"], answer.json()["value"], answer.headers["etag"]) == (True, None, f'"{ADDRESS}@2"')


def test_a_corrupt_record_is_served_as_corrupted() -> None:
    def agent(world: World) -> Any:
        plan = world.ask("POST", "/records", {"value": "x", "parents": [f"{ADDRESS}@1"]}).json()
        return world.ask("GET", f"/records/{plan['id']}").json()

    answer, _ = told(agent, (1, CorruptParent(0, "dangling")))
    assert answer["parents"] == [f"{ADDRESS}@1", "p1/dangling"]


def test_what_is_delivered_is_remembered() -> None:
    answer, _ = told(lambda world: world.ask("GET", f"/memory/{ADDRESS}"), (0, Update(ADDRESS)), (0, Deliver(ADDRESS)))
    assert answer.json()["value"] == "Osaka"


# -- tools: RFC 9110, section 13.1.1, and idempotency keys --------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "status"), [("refuse", 503), ("precondition-failed", 412)])
def test_a_tool_that_does_nothing(how: Any, status: int) -> None:
    answer, history = told(lambda world: world.act(), (0, ToolFault("ship", how)))
    assert answer.status_code == status
    assert history.effects == ()


def test_a_lost_reply_is_an_effect_and_a_reset() -> None:
    error, history = told(lambda world: world.act(), (0, ToolFault("ship", "lost-reply")))
    assert isinstance(error, httpx.ReadError)
    assert [(act.outcome, act.effect) for act in entries(history, Act)] == [("lost-reply", True)]


R1, R2, W1 = f'"{ADDRESS}@1"', f'"{ADDRESS}@2"', f'"{WINDOW}@1"'
CONDITIONS = [
    ("*", 200),
    (R1, 200),
    (f",{R1} ,,", 200),
    (f"{R2}, {R1}", 412),  # no version has the first, so nobody knows which key was meant
    (f"{R1}, {W1}", 200),  # several keys: each must hold
    (f'{R1}, "{WINDOW}@7"', 412),
    (R2, 412),
    (f"W/{R1}", 412),  # the strong comparison: a weak tag equals nothing
    (f"W/{R1}, {R1}", 200),
    ('"no-such-version"', 412),
    ('""', 412),
]


@pytest.mark.parametrize(("condition", "status"), CONDITIONS)
def test_a_call_goes_out_only_if_its_condition_holds(condition: str, status: int) -> None:
    answer, history = told(lambda world: world.act(headers={"if-match": condition}))
    assert answer.status_code == status
    assert len(history.effects) == (status == 200)


def test_tags_of_one_key_are_alternatives() -> None:
    answers, _ = told(lambda world: [world.key("HEAD"), world.act(headers={"if-match": f"{R1}, {R2}"})], (0, Update(ADDRESS)))
    assert answers[1].status_code == 200


def test_the_condition_is_checked_with_the_effect() -> None:
    """An update that lands right before the call is seen, though the client asked before."""
    answer, history = told(lambda world: [world.key("HEAD"), world.act(headers={"if-match": R1})][1], (1, Update(ADDRESS)))
    assert answer.status_code == 412
    assert [(act.outcome, act.expect) for act in entries(history, Act)] == [("precondition-failed", {ADDRESS: f"{ADDRESS}@1"})]


@pytest.mark.parametrize("condition", [f"{ADDRESS}@1", f"{R1} {R1}", '"open', "", ",", "w/" + R1])
def test_a_condition_that_is_none_is_a_bad_request_and_no_call(condition: str) -> None:
    answer, history = told(lambda world: world.act(headers={"if-match": condition}))
    assert answer.status_code == 400
    assert entries(history, Act) == []


def test_several_lines_of_a_condition_are_one_list() -> None:
    """RFC 9110, section 5.3: the second line alone would hold."""
    lines = [("if-match", '"no-such-version"'), ("if-match", R1)]
    answer, _ = told(lambda world: world.http.post("/actions/ship", json={"args": {"to": "Tokyo"}}, headers=lines))
    assert answer.status_code == 412


UNLESS = [("*", 412), (R1, 412), (f"W/{R1}", 412), (f"{R2}, {R1}", 412), (R2, 200), (None, 200)]


@pytest.mark.parametrize(("condition", "status"), UNLESS)
def test_a_write_that_is_to_make_a_new_key_overwrites_none(condition: str | None, status: int) -> None:
    """RFC 9110, section 13.1.2: the method must not be performed where the condition is false."""
    headers = {} if condition is None else {"if-none-match": condition}
    answers, history = told(lambda world: [world.key("PUT", key, {"value": "Kobe"}, headers) for key in (ADDRESS, "approval/1")])
    assert [answer.status_code for answer in answers] == [status, 200]
    assert len(entries(history, Derive)) == 1 + (status == 200)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_who_knows_the_current_version_is_told_that_it_is(method: str) -> None:
    def agent(world: World) -> list[httpx.Response]:
        return [world.key(method, headers={"if-none-match": tag}) for tag in (R1, f"W/{R1}", R2, "*")]

    answers, history = told(agent)
    assert [answer.status_code for answer in answers] == [304, 304, 200, 304]
    assert [answer.headers["etag"] for answer in answers] == [R1] * 4
    assert len(history.entries) == 5
    changed, _ = told(lambda world: world.key(method, headers={"if-none-match": R1}), (0, Update(ADDRESS)))
    assert (changed.status_code, changed.headers["etag"]) == (200, R2)


def test_a_conditional_write_is_one_step() -> None:
    def agent(world: World) -> list[int]:
        first = world.key("PUT", ADDRESS, {"value": "Kobe"}, {"if-match": R1})
        second = world.key("PUT", ADDRESS, {"value": "Nara"}, {"if-match": R1})
        return [first.status_code, second.status_code, second.headers["etag"]]

    answers, history = told(agent)
    assert answers == [200, 412, R2]
    assert [type(entry) for entry in history.entries[:-1]] == [Head, Derive, Head]
    assert [record.value for record in history.records.values() if record.key == ADDRESS] == ["Tokyo", "Kobe"]


def test_an_update_right_before_a_conditional_write_is_not_overwritten() -> None:
    answer, history = told(lambda world: world.key("PUT", ADDRESS, {"value": "Kobe"}, {"if-match": R1}), (0, Update(ADDRESS)))
    assert (answer.status_code, answer.headers["etag"]) == (412, R2)
    assert entries(history, Derive) == []


@pytest.mark.parametrize("how", ["refuse", "malformed"])
def test_nothing_is_written_where_the_owner_does_not_answer(how: Any) -> None:
    _, history = told(lambda world: world.key("PUT", ADDRESS, {"value": "Kobe"}, {"if-match": "*"}), (0, Outage("orders", how)))
    assert entries(history, Derive) == []


def test_a_used_idempotency_key_has_the_same_reply_and_no_second_effect() -> None:
    def agent(world: World) -> list[Any]:
        again = {"idempotency-key": '"k1"'}
        return [world.act(headers=again), world.act(headers={"idempotency-key": "k1"}), world.act({"to": "Kobe"}, again)]

    answers, history = told(agent)
    assert [answer.status_code for answer in answers] == [200, 200, 422]
    assert answers[0].content == answers[1].content
    assert [act.outcome for act in entries(history, Act)] == ["done", "repeated", "key-reused"]
    assert len(history.effects) == 1


def test_a_retry_after_a_lost_reply_finds_the_reply() -> None:
    def agent(world: World) -> Any:
        key = {"idempotency-key": "k1"}
        try:
            world.act(headers=key)
        except httpx.ReadError:
            return world.act(headers=key).json()

    answer, history = told(agent, (0, ToolFault("ship", "lost-reply")))
    assert answer == {"status": "done"}
    assert len(history.effects) == 1


# -- requests that cannot be understood ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "content", "headers"),
    [
        ("POST", "/records", b"{", {}),
        ("POST", "/records", b"{}", {}),
        ("POST", "/records", b'{"value": 1, "parent": []}', {}),
        ("POST", "/records", b'{"value": 1, "parents": "r1"}', {}),
        ("POST", "/records", b"\xff\xfe", {}),
        ("POST", "/records", b"[" * 100_000, {}),
        ("POST", "/validated", b'{"keys": "order/42/address"}', {}),
        ("POST", "/actions/ship", b'{"args": []}', {}),
        ("POST", "/actions/ship", b"{}", {"idempotency-key": '""'}),
        ("POST", "/actions/ship", b"{}", {"idempotency-key": '"k1", "k2"'}),
        ("POST", "/actions/ship", b"{}", {"if-none-match": "*"}),
        ("GET", f"/keys/{ADDRESS}", b"", {"if-none-match": "r1"}),
        ("GET", f"/keys/{ADDRESS}", b"", {"fencecheck-timeout": "soon"}),
        ("GET", f"/keys/{ADDRESS}", b"", {"fencecheck-timeout": "-1"}),
        ("GET", f"/keys/{ADDRESS}", b"", {"fencecheck-timeout": "nan"}),
    ],
)
def test_what_cannot_be_understood_is_a_bad_request_and_no_point(method: str, path: str, content: bytes, headers: dict[str, str]) -> None:
    answer, history = told(lambda world: world.http.request(method, path, content=content, headers=headers))
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    assert len(history.entries) == 1


def test_a_method_or_a_place_that_there_is_not() -> None:
    asked = [("DELETE", f"/keys/{ADDRESS}"), ("GET", "/nothing"), ("GET", "/keys")]
    answers, history = told(lambda world: [world.ask(*each) for each in asked])
    assert [answer.status_code for answer in answers] == [405, 404, 404]
    assert {answer.headers["content-type"] for answer in answers} == {"application/problem+json"}
    assert answers[0].headers["allow"] == "GET, HEAD, PUT"
    assert "GET keys/..., HEAD keys/..., PUT keys/..., " in answers[1].json()["detail"]
    assert len(history.entries) == 1


def test_the_line_of_the_source_is_the_one_that_the_client_says() -> None:
    said = {"fencecheck-line": "agent%E2%84%963.js:12", "fencecheck-agent": "%E8%A8%88%E7%94%BB"}
    agent: Agent = lambda world: world.key("GET", headers=said)  # noqa: E731
    with running(agent) as runner:
        history = runner.run(lines=True)
    assert history.lines == {0: "agent№3.js:12"}
    assert [read.agent for read in entries(history, Read)] == ["計画"]


def test_faults_that_the_adapter_maps_to_exceptions_of_its_own_are_answered_all_the_same() -> None:
    answer, _ = told(lambda world: world.key("GET", "nobody"), fault_exceptions={faults.Fault: ValueError})
    assert answer.status_code == 404


def test_record_has_no_field_that_the_wire_lacks() -> None:
    answer, _ = told(lambda world: world.key("GET"))
    assert tuple(answer.json()) == Record.__struct_fields__


def test_simulate_runs_such_a_system_too() -> None:
    from fencecheck import Interleaving

    with running(by_http) as runner:
        assert len(simulate(runner.system, Interleaving(WORLD)).effects) == 1
