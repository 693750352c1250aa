"""`Decisions`: what a planner decided is recorded for each distinct input, and replayed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fencecheck import AgentSystem, Event, Scenario, Update, check
from fencecheck.decisions import Decisions, UnseenDecision, merge
from fencecheck.errors import BadInput
from fencecheck.run.simulate import Runner

from .faces import VIRTUAL, WORLD, X


class Model:
    """A planner that counts how often it was really asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def plan(self, order: Any, api_key: str = "") -> dict[str, Any]:
        self.asked.append(order)
        return {"drink": order, "at": "noon"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decisions.json"


def entries(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text("utf-8"))["decisions"]  # type: ignore[no-any-return]


# -- recording and replaying -----------------------------------------------------------------------------------------------------------


def test_a_model_is_asked_once_for_each_distinct_input(path: Path) -> None:
    model = Model()
    plan = Decisions(path, mode="auto")(model.plan)
    assert [plan("tea"), plan("coffee"), plan("tea"), plan(order="tea")] == [
        {"drink": d, "at": "noon"} for d in ("tea", "coffee", "tea", "tea")
    ]
    assert model.asked == ["tea", "coffee"]


def test_another_process_replays_what_was_recorded(path: Path) -> None:
    Decisions(path, mode="auto")(Model().plan)("tea")
    model = Model()
    assert Decisions(path, mode="replay")(model.plan)("tea") == {"drink": "tea", "at": "noon"}
    assert Decisions(path, mode="auto")(model.plan)("tea") == {"drink": "tea", "at": "noon"}
    assert model.asked == []


def test_the_file_is_for_people(path: Path) -> None:
    Decisions(path)(Model().plan)("tea")
    (entry,) = entries(path)
    assert len(entry.pop("id")) == 32
    assert entry == {"of": "Model.plan", "input": {"order": "tea", "api_key": ""}, "output": {"drink": "tea", "at": "noon"}}
    assert path.read_text("utf-8").startswith('{\n  "fencecheck_decisions": 1,\n  "decisions": [\n    {\n')


def test_recording_anew_replaces_what_was_recorded(path: Path) -> None:
    Decisions(path, mode="auto", name="plan")(lambda order: f"old {order}")("tea")
    answers = iter(["new", "newer"])
    plan = Decisions(path, mode="record", name="plan")(lambda order: next(answers))
    assert [plan("tea"), plan("tea")] == ["new", "new"]
    assert [entry["output"] for entry in entries(path)] == ["new"]


def test_what_a_model_raises_is_not_recorded(path: Path) -> None:
    def plan(order: str) -> str:
        raise TimeoutError("no answer")

    with pytest.raises(TimeoutError):
        Decisions(path)(plan)("tea")
    assert not path.exists()


def test_the_order_of_keys_and_of_recording_makes_no_difference(path: Path) -> None:
    inputs = [{"a": 1, "b": [2, {"c": 3, "d": 4}]}, {"z": 1}, {"y": 2}]
    turned = [{"y": 2}, {"b": [2, {"d": 4, "c": 3}], "a": 1}, {"z": 1}]
    files = []
    for number, given in enumerate((inputs, turned)):
        model, file = Model(), path.with_name(f"{number}.json")
        plan = Decisions(file)(model.plan)
        for order in given:
            plan(order)
        files.append(file.read_text("utf-8"))
    assert files[0] == files[1]
    replay = Decisions(path.with_name("0.json"), mode="replay")(Model().plan)
    for order in turned:
        replay(order)


# -- types -----------------------------------------------------------------------------------------------------------------------------


@dataclass
class Plan:
    drink: str
    steps: tuple[int, ...] = ()


def test_what_comes_back_is_of_the_type_that_the_function_returns(path: Path) -> None:
    def plan(order: str) -> Plan:
        return Plan(order, (1, 2))

    for _ in range(2):
        assert Decisions(path)(plan)("tea") == Plan("tea", (1, 2))


def test_a_pydantic_model_comes_back_as_one(path: Path) -> None:
    pydantic = pytest.importorskip("pydantic")

    class Order(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        drink: str

    def plan(order: Order) -> list[Order]:  # type: ignore[valid-type]
        return [order]

    plan.__annotations__ = {"order": Order, "return": list[Order]}
    for _ in range(2):
        assert Decisions(path)(plan)(Order(drink="tea")) == [Order(drink="tea")]


def test_recording_and_replaying_give_the_same_and_nobody_changes_it(path: Path) -> None:
    plan = Decisions(path)(lambda order: {"steps": (1, 2)})
    first = plan("tea")
    assert first == {"steps": [1, 2]}
    first["steps"].append(3)
    assert plan("tea") == {"steps": [1, 2]}


def test_a_method_is_not_recorded_with_its_object(path: Path) -> None:
    class Planner:
        @Decisions(path)
        def plan(self, order: str) -> str:
            return f"plan for {order}"

    assert Planner().plan("tea") == Planner().plan("tea") == "plan for tea"
    assert entries(path)[0]["input"] == {"order": "tea"}


# -- secrets ---------------------------------------------------------------------------------------------------------------------------


def test_secrets_are_not_stored_and_still_tell_inputs_apart(path: Path) -> None:
    def plan(order: Any, api_key: str) -> dict[str, Any]:
        return {"drink": order["drink"], "headers": {"API-Key": api_key}}

    decisions = Decisions(path, redact=["api_key", "token"])
    for secret in ("s3cret-1", "s3cret-2"):
        decisions(plan)({"drink": "tea", "auth": [{"Token": secret}]}, api_key=secret)
    text = path.read_text("utf-8")
    assert "s3cret" not in text
    assert len(entries(path)) == 2
    assert entries(path)[0]["input"] == {"order": {"drink": "tea", "auth": [{"Token": "<redacted>"}]}, "api_key": "<redacted>"}
    assert entries(path)[0]["output"] == {"drink": "tea", "headers": {"API-Key": "<redacted>"}}
    replayed = Decisions(path, mode="replay", redact=["api_key", "token"])(plan)
    assert replayed({"drink": "tea", "auth": [{"Token": "s3cret-1"}]}, api_key="s3cret-1")["drink"] == "tea"
    with pytest.raises(UnseenDecision) as raised:
        replayed({"drink": "tea", "auth": []}, api_key="s3cret-3")
    assert "s3cret" not in str(raised.value)


def test_what_is_ignored_makes_no_difference(path: Path) -> None:
    model = Model()
    Decisions(path, ignore=["api_key"])(model.plan)("tea", api_key="of one machine")
    assert Decisions(path, mode="replay", ignore=["api_key"])(model.plan)("tea", api_key="of another")["drink"] == "tea"
    assert entries(path)[0]["input"] == {"order": "tea"}


def test_a_key_stands_for_the_arguments(path: Path) -> None:
    class Client:
        model = "small"

    plan = Decisions(path, key=lambda client, order: [client.model, order])(lambda client, order: f"plan for {order}")
    assert plan(Client(), "tea") == plan(Client(), "tea") == "plan for tea"
    assert [entry["input"] for entry in entries(path)] == [["small", "tea"]]


# -- async, tasks and threads ------------------------------------------------------------------------------------------------------------


def test_an_async_function_is_held_fixed_too_and_tasks_ask_once(path: Path) -> None:
    asked = []

    @Decisions(path)
    async def plan(order: str) -> str:
        asked.append(order)
        await asyncio.sleep(0)
        return f"plan for {order}"

    async def main() -> list[str]:
        return await asyncio.gather(plan("tea"), plan("tea"), plan("coffee"))

    assert asyncio.run(main()) == ["plan for tea", "plan for tea", "plan for coffee"]
    assert sorted(asked) == ["coffee", "tea"]


def test_threads_ask_once(path: Path) -> None:
    asked, met = [], threading.Barrier(3, timeout=60)

    @Decisions(path)
    def plan(order: str) -> str:
        asked.append(order)
        return order

    def ask() -> None:
        met.wait()
        plan("tea")

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked == ["tea"]


RECORDS = """
import sys
from fencecheck.decisions import Decisions
plan = Decisions("decisions.json", mode=sys.argv[2], name="plan")(lambda order: f"plan for {order}")
print("ready", flush=True)
sys.stdin.readline()
for number in range(15):
    plan(f"{sys.argv[1]} {number}")
    plan(f"both {number}")
"""


@pytest.mark.parametrize("mode", ["auto", "record"])
def test_two_processes_that_record_at_once_lose_nothing(mode: str, tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", RECORDS, name, mode], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name in ("one", "two")
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in running:
        process.communicate()
        assert process.returncode == 0
    expected = {f"{name} {number}" for name in ("one", "two", "both") for number in range(15)}
    assert {entry["input"]["order"] for entry in entries(tmp_path / "decisions.json")} == expected
    assert [file.name for file in tmp_path.iterdir()] == ["decisions.json"]


# -- in a search -----------------------------------------------------------------------------------------------------------------------


def planning(planner: Any, world: Scenario = WORLD) -> type[AgentSystem]:
    class Agent(AgentSystem):
        scenario = world

        def run(self) -> None:
            order = self.kit.read(X, timeout=1.0)
            if getattr(order, "key", None) != X or order.removed:
                return self.kit.halted("no order")
            try:
                made = planner(order.value)
            except Exception:
                made = {"drink": "water"}
            if self.kit.head(X, timeout=1.0) != order.id:
                return self.kit.halted("it has changed")
            self.kit.validated([X])
            self.kit.act("go", made, basis={X: order.id})
            return None

    return Agent


def test_a_search_asks_once_for_each_value_that_the_scenario_lists(path: Path) -> None:
    """The values are fixed, so the inputs are few, however many interleavings there are."""
    model, again = Model(), Model()
    drinks = [f"drink {number}" for number in range(9)]
    scenario = Scenario(owners=WORLD.owners, actions=WORLD.actions, values={X: drinks})
    report = check(planning(Decisions(path)(model.plan), scenario), fresh_process=False)
    assert (report.verdict, report.bound.kind, report.episodes > 100) == ("held", "complete", True)
    assert set(model.asked) <= set(drinks)
    assert len(model.asked) == len(set(model.asked))
    replayed = check(planning(Decisions(path, mode="replay")(again.plan), scenario), fresh_process=False)
    assert (replayed.verdict, replayed.episodes) == ("held", report.episodes)
    assert again.asked == []


def test_an_unseen_input_ends_a_check_even_where_the_system_swallows_it(path: Path) -> None:
    Decisions(path)(Model().plan)("tea")
    agent = planning(Decisions(path, mode="replay")(Model().plan))
    with pytest.raises(UnseenDecision) as raised:
        check(agent, fresh_process=False, max_events=1)
    assert raised.value.exit_status == 2
    assert str(raised.value) == (
        f'{path} holds no decision of Model.plan for {{"api_key":"","order":"coffee"}} (it holds 1): record it with mode=\'auto\', '
        "and give the scenario fixed values=, so that there are few inputs"
    )


@pytest.mark.parametrize("runtime", VIRTUAL)
def test_where_time_is_virtual_a_model_is_asked_on_a_loop_of_its_own(path: Path, runtime: str) -> None:
    """It may use real sockets and real time there, and the episode sees none of it."""

    @Decisions(path)
    async def plan(order: str) -> str:
        if runtime == "trio":
            import trio

            await trio.sleep(0.001)
        else:
            reader, writer = await asyncio.open_connection(*address)
            await reader.read()
            writer.close()
        return f"plan for {order}"

    async def run(self: Any) -> None:
        order = await self.kit.aio.read(X)
        await self.kit.aio.act("go", {"drink": await plan(order.value)}, basis={X: order.id})

    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        answers = threading.Thread(target=lambda: server.accept()[0].close())
        answers.start() if runtime == "asyncio" else None
        with Runner(type("Mine", (AgentSystem,), {"scenario": WORLD, "run": run, "runtime": runtime})) as runner:
            histories = [runner.run((), (Event(9, Update(X)),)) for _ in range(2)]
        answers.join() if runtime == "asyncio" else None
    assert [history.ended.how for history in histories] == ["returned"] * 2, histories[0].ended
    assert histories[1].effects[0].args == {"drink": "plan for tea"}


# -- files and mistakes ------------------------------------------------------------------------------------------------------------------


def test_files_are_merged(path: Path) -> None:
    other = path.with_name("other.json")
    for file, orders in ((path, ("tea", "coffee")), (other, ("coffee", "cocoa"))):
        for order in orders:
            Decisions(file, name="plan")(lambda order: f"plan for {order}")(order)
    assert merge(path, other) == 3
    assert [entry["input"]["order"] for entry in entries(path)] == ["cocoa", "coffee", "tea"]
    Decisions(other, mode="record", name="plan")(lambda order: "another")("tea")
    with pytest.raises(BadInput, match=r'hold different decisions of plan for \{"order":"tea"\}: remove one$'):
        merge(path, other)


FILES = {
    "[]": "is no file of decisions: name another, which recording will make",
    '{"fencecheck_case": 1}': "is no file of decisions: name another, which recording will make",
    '{"fencecheck_decisions": 9, "decisions": []}': ": written by a newer fencecheck (format 9, this one reads up to 1): upgrade fencecheck",
    '{"fencecheck_decisions": 1, "decis': "is damaged (Input data was truncated): restore it, or remove it and record again",
    '{"fencecheck_decisions": 1, "decisions": [{}]}': "is damaged (Object missing required field `of` - at `$.decisions[0]`): restore it",
}


@pytest.mark.parametrize(("text", "sentence"), FILES.items(), ids=range(len(FILES)))
def test_a_file_that_is_none_gets_one_sentence(text: str, sentence: str, path: Path) -> None:
    path.write_text(text)
    with pytest.raises(BadInput) as raised:
        Decisions(path)(Model().plan)("tea")
    assert sentence in str(raised.value)
    assert str(raised.value).startswith(str(path))
    assert path.read_text() == text


def nested(depth: int) -> Any:
    data: Any = "tea"
    for _ in range(depth):
        data = [data]
    return data


@pytest.mark.parametrize("depth", [300, 900, 100_000])
@pytest.mark.parametrize("redact", [[], ["api_key"]])
def test_what_is_nested_too_deep_is_told_and_by_whom(depth: int, redact: list[str], path: Path) -> None:
    """At 900 levels it can be encoded and not be copied."""
    decisions = Decisions(path, name="plan", redact=redact)
    with pytest.raises(BadInput, match=r"^an argument of plan\(\) is nested more than 200 deep(, or holds itself)?: pass plain data"):
        decisions(lambda order: "tea")(nested(depth))
    with pytest.raises(BadInput, match=r"^what plan\(\) returned is nested more than 200 deep(, or holds itself)?: let it return plain"):
        decisions(lambda: nested(depth))()


def test_what_is_nested_deep_is_kept(path: Path) -> None:
    assert Decisions(path, name="plan")(lambda order: order)(nested(190)) == nested(190)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_nobody_waits_for_a_pipe(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(BadInput, match=r"cannot be read \(is no plain file\): name a file of decisions$"):
        Decisions(path)(Model().plan)("tea")


def test_a_path_that_is_none_gets_one_sentence() -> None:
    with pytest.raises(BadInput, match=r"cannot be read \(embedded null byte\): name a file of decisions$"):
        Decisions("a\0b")(Model().plan)("tea")


KILLED = """
import os
from fencecheck.decisions import Decisions
os.replace = lambda *paths: os.kill(os.getpid(), 9)
Decisions("decisions.json", name="plan")(lambda order: order)("tea")
"""


def test_what_a_killed_process_was_writing_is_thrown_away(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path).returncode == -9
    assert [path.name.startswith(".decisions.json.") for path in tmp_path.iterdir()] == [True]
    assert Decisions(tmp_path / "decisions.json", name="plan")(lambda order: "again")("tea") == "again"
    assert [path.name for path in tmp_path.iterdir()] == ["decisions.json"]


def test_a_folder_that_cannot_be_written_gets_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot be written \(no such file or directory\): name a file in a folder that can be$"):
        Decisions(tmp_path / "none" / "decisions.json")(Model().plan)("tea")


MISTAKES: dict[str, tuple[Any, str]] = {
    "no mode": (lambda path: Decisions(path, mode="rec"), "Decisions: mode must be one of record, replay, auto, not 'rec'"),  # type: ignore[arg-type]
    "a single name": (
        lambda path: Decisions(path, redact="key"),
        "Decisions: redact must be a list of names, not the single string 'key'; write ['key']",
    ),
    "no function": (lambda path: Decisions(path)(3), "Decisions holds the decisions of a function fixed, and 3 is none that returns one"),  # type: ignore[type-var]
    "an argument that is no data": (
        lambda path: Decisions(path)(Model().plan)(object()),
        "an argument of Model.plan() holds a object, which JSON cannot hold: pass plain data, or give Decisions(key=...)",
    ),
    "an answer that is no data": (
        lambda path: Decisions(path, name="plan")(lambda: object())(),
        "what plan() returned holds a object, which JSON cannot hold: let it return plain data, a dataclass or a model",
    ),
}


@pytest.mark.parametrize(("make", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_gets_one_sentence(make: Any, sentence: str, path: Path) -> None:
    with pytest.raises(BadInput) as raised:
        make(path)
    assert str(raised.value) == sentence


def test_a_decision_that_fits_no_more_is_told(path: Path) -> None:
    Decisions(path, name="plan")(lambda order: {"drink": order})("tea")

    def plan(order: str) -> Plan:
        raise AssertionError

    text = path.read_text("utf-8").replace('"drink": "tea"', '"dish": "tea"')
    path.write_text(text, "utf-8")
    with pytest.raises(BadInput, match=r"the decision of plan for .* is none any more \(.*`drink`\): record it again$"):
        Decisions(path, name="plan", mode="replay")(plan)("tea")


def test_the_environment_says_how_where_the_code_does_not(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCECHECK_DECISIONS", "replay")
    with pytest.raises(UnseenDecision):
        Decisions(path)(Model().plan)("tea")
    assert Decisions(path, mode="auto")(Model().plan)("tea")
    monkeypatch.setenv("FENCECHECK_DECISIONS", "never")
    with pytest.raises(BadInput, match=r"^the environment variable FENCECHECK_DECISIONS must be one of record, replay, auto, not 'never'$"):
        Decisions(path)


# -- what would go wrong in silence ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("wrap", [lambda n: n, lambda n: [{"deep": n}]], ids=["alone", "inside"])
def test_what_is_no_number_is_no_input_and_no_decision(number: float, wrap: Any, path: Path) -> None:
    """JSON would hold it as null, and `None` is another input."""
    with pytest.raises(BadInput, match="infinite, or not a number"):
        Decisions(path, mode="auto")(Model().plan)(wrap(number))
    with pytest.raises(BadInput, match="infinite, or not a number"):
        Decisions(path, mode="auto", name="plan")(lambda order: wrap(number))("tea")


def test_a_planner_that_waits_for_its_own_decision_is_told(path: Path) -> None:
    decisions = Decisions(path, mode="auto")

    @decisions
    def plan(order: str) -> str:
        return plan(order) if order == "tea" else order

    @decisions
    async def plan_awaited(order: str) -> str:
        return await plan_awaited(order)

    assert plan("coffee") == "coffee"
    with pytest.raises(BadInput, match=r"plan\(\) calls itself with the same input"):
        plan("tea")
    with pytest.raises(BadInput, match=r"plan_awaited\(\) calls itself with the same input"):
        asyncio.run(plan_awaited("tea"))


def test_loops_of_several_threads_do_not_share_a_lock(path: Path) -> None:
    together = threading.Barrier(3)

    @Decisions(path, mode="auto")
    async def plan(order: str) -> str:
        await asyncio.sleep(0)
        return order

    async def twice() -> list[str]:
        together.wait(30)
        return list(await asyncio.gather(plan("tea"), plan("tea")))

    answers: list[list[str]] = []
    threads = [threading.Thread(target=lambda: answers.append(asyncio.run(twice()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [["tea", "tea"]] * 3


def test_a_file_that_is_a_link_stays_one(tmp_path: Path) -> None:
    kept, link = tmp_path / "kept.json", tmp_path / "link.json"
    kept.write_text('{"fencecheck_decisions": 1, "decisions": []}')
    link.symlink_to(kept)
    Decisions(link, mode="auto")(Model().plan)("tea")
    assert link.is_symlink()
    assert len(entries(kept)) == 1
