"""The adapter: one process for many episodes, what it is told, how an episode ends, and what happens when the process dies."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

import httpx
import pytest

from fencecheck import Event, Outage, Restart, ToolFault, check
from fencecheck.errors import BadInput, CouldNotRun, Nondeterministic
from fencecheck.history import Halted, History
from fencecheck.integrations.http import HttpSystem, SystemFailed
from fencecheck.interleaving import What
from fencecheck.judge import judge
from fencecheck.run.adapter import missing_hooks
from fencecheck.run.simulate import Runner

from .foreign import ADDRESS, WINDOW, WORLD, World, running
from .test_orphans import until

OVER = "the order of requests that are under way together is the system's own"


def deliver(world: World) -> Any:
    """Reads, plans, acts; halts on whatever is no answer."""
    try:
        order = world.key("GET")
        if order.status_code != 200 or order.json()["key"] != ADDRESS or order.json()["removed"]:
            return {"halted": "no order"}
        plan = world.ask("POST", "/records", {"value": {"to": order.json()["value"]}, "parents": [order.json()["id"]]}).json()
        world.act(plan["value"], plan=plan["id"])
    except (httpx.HTTPError, ValueError) as error:
        return {"halted": str(error)}
    return None


def ended(agent: Any, *events: tuple[int, What], **attributes: Any) -> History:
    with running(agent, **attributes) as runner:
        return runner.run((), tuple(Event(at, what) for at, what in events))


def test_a_check_finds_what_it_finds_in_process() -> None:
    with running(deliver) as runner:
        report = check(runner.system, fresh_process=False, max_events=1)
    assert (report.verdict, report.failures[0].code) == ("violated", "stale-act")
    assert {kind: why for kind, why in report.missing.items() if kind in ("switch", "advance")} == {"switch": OVER, "advance": OVER}


def test_nothing_is_called_complete_since_the_order_of_requests_is_the_systems_own() -> None:
    def halts(world: World) -> Any:
        order = world.key("GET")
        if world.key("HEAD").headers.get("etag") != order.headers.get("etag"):
            return {"halted": "changed"}
        world.ask("POST", "/validated", {"keys": [ADDRESS]})
        return world.act({"to": order.json()["value"]}, basis={ADDRESS: order.json()["id"]}).status_code and None

    with running(halts) as runner:
        report = check(runner.system, fresh_process=False, kinds=["update"])
    assert (report.verdict, report.bound.kind, report.bound.value) == ("held", "events", 2)
    assert report.proof is not None
    assert report.proof.why == OVER


def test_an_order_that_differs_from_run_to_run_is_told_and_why_that_may_be() -> None:
    """As of two calls under way together, whichever arrives first."""
    runs: list[World] = []

    def agent(world: World) -> None:
        runs.append(world)
        for key in (ADDRESS, WINDOW) if len(runs) % 2 else (WINDOW, ADDRESS):
            world.key("GET", key)
        world.act()

    said = f"two runs of one interleaving differ: .*; {OVER}, which may be why"
    with running(agent) as runner, pytest.raises(Nondeterministic, match=said):
        check(runner.system, fresh_process=False)


def test_what_the_start_url_is_told() -> None:
    starts: list[dict[str, Any]] = []
    with running(lambda world: starts.append(world.start)) as runner:
        runner.run()
        runner.run()
    assert [sorted(start) for start in starts] == [["actions", "agents", "base_url", "episode", "restarted", "token"]] * 2
    assert [(start["agents"], start["actions"], start["restarted"]) for start in starts] == [(["planner", "executor"], ["ship"], False)] * 2
    assert [start["episode"] for start in starts] == ["1", "2"]
    assert starts[0]["token"] == starts[1]["token"]


@pytest.mark.parametrize(
    ("answer", "how", "detail"),
    [
        (None, "returned", ""),
        (204, "returned", ""),
        ({"done": True}, "returned", ""),
        ({"halted": False}, "returned", ""),
        ({"halted": "changed"}, "halted", "changed"),
        ({"halted": True}, "halted", ""),
        (["anything"], "returned", ""),
        (404, "crashed", "SystemFailed: {url} answered 404"),
        (500, "crashed", "SystemFailed: {url} answered 500"),
        (302, "crashed", "SystemFailed: {url} answered 302"),
    ],
)
def test_how_an_episode_ends(answer: Any, how: str, detail: str) -> None:
    with running(lambda _: answer) as runner:
        history = runner.run()
        url = runner._probe.start_url  # type: ignore[attr-defined]
    assert (history.ended.how, history.ended.detail) == (how, detail.format(url=url))


def test_an_error_of_the_start_url_can_mean_a_halt() -> None:
    with running(lambda _: 503, halt_exceptions=(SystemFailed,)) as runner:
        assert runner.run().ended.how == "halted"


def test_a_halt_that_was_posted_before_is_not_said_twice() -> None:
    history = ended(lambda world: world.ask("POST", "/halted", {"reason": "changed"}) and None)
    assert [entry.reason for entry in history.entries if type(entry) is Halted] == ["changed"]
    assert history.ended.how == "halted"


def test_a_system_that_asks_nothing_and_does_not_answer_is_stuck_and_the_next_episode_is_not() -> None:
    released = threading.Event()
    with running(lambda _: released.wait(60) and None) as runner:
        system: Any = runner.system
        system.timeout_s = 0.2
        stuck = runner.run()
        released.set()
        system.timeout_s = 60.0
        after = runner.run()
    assert (stuck.ended.how, after.ended.how) == ("stuck", "returned")
    assert "no request came for 0.2 s" in stuck.ended.detail


def test_a_client_that_waits_for_ever_is_stuck_and_is_let_go() -> None:
    let_go: SimpleQueue[object] = SimpleQueue()

    def agent(world: World) -> None:
        try:
            let_go.put(world.key("GET").status_code)
        except httpx.HTTPError as error:
            let_go.put(error)

    with running(agent, waits=None) as runner:
        cast(Any, runner.system).timeout_s = 0.3
        history = runner.run((), (Event(0, Outage("orders", "hang")),))
        assert let_go.get(timeout=60) != 200
    assert history.ended.how == "stuck"


def test_more_points_than_an_episode_may_have() -> None:
    def agent(world: World) -> None:
        for _ in range(9):
            world.key("HEAD")

    assert ended(agent, max_points=5).ended.detail == "waits for nothing: 5 points, the most that an episode may have (max_points)"


def test_a_client_that_never_stops_asking_for_what_it_is_refused() -> None:
    """None of it is a point, so that the most points that an episode may have are never reached."""

    def agent(world: World) -> None:
        while world.ask("POST", "/records", {"nonsense": 1}).status_code == 400:
            pass

    assert ended(agent, max_points=5).ended.detail.endswith("which still asked after 20 requests")


def test_an_action_that_the_scenario_does_not_list_is_told_to_both() -> None:
    answers: list[httpx.Response] = []
    with running(lambda world: answers.append(world.ask("POST", "/actions/shipp", {}))) as runner, pytest.raises(BadInput) as raised:
        runner.run()
    assert "acts 'shipp', which its scenario does not list" in str(raised.value)
    assert (answers[0].status_code, answers[0].json()["detail"]) == (400, str(raised.value))


def test_a_value_that_has_no_form_in_json() -> None:
    from msgspec.structs import replace

    strange = replace(WORLD, values={ADDRESS: [object(), object()]})
    with running(deliver, strange) as runner, pytest.raises(CouldNotRun, match="a value of the scenario cannot be sent as JSON"):
        runner.run()


# -- a real process -----------------------------------------------------------------------------------------------------------------------

AGENT = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.request import Request, urlopen
from pathlib import Path

class Agent(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    started = 0

    def do_POST(self):
        start = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Agent.started += 1
        def ask(path, body=None):
            headers = {"authorization": "Bearer " + start["token"], "fencecheck-timeout": "5"}
            with urlopen(Request(start["base_url"] + path, body and json.dumps(body).encode(), headers), timeout=60) as answer:
                return answer.read()
        body = json.dumps(run(ask, start) or {}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *about):
        pass
"""
SERVES = '\nHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Agent).serve_forever()\n'


def process(tmp_path: Path, body: str, **attributes: Any) -> type[HttpSystem]:
    """A system of a Python file of its own, whose `run(ask, start)` has this body."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    (tmp_path / "agent.py").write_text(f"{AGENT}\ndef run(ask, start):\n{lines}\n{SERVES}")
    command = [sys.executable, "-S", "agent.py"]
    return type("Foreign", (HttpSystem,), {"scenario": WORLD, "command": command, "folder": tmp_path, **attributes})


def test_the_process_is_launched_once_and_reset_between_episodes(tmp_path: Path) -> None:
    with Runner(process(tmp_path, 'ask("/point", {"label": f"{os.getpid()} {Agent.started}"})')) as runner:
        labels = [runner.run().entries[0].label for _ in range(3)]  # type: ignore[union-attr]
    assert len({label.split()[0] for label in labels}) == 1
    assert [label.split()[1] for label in labels] == ["1", "2", "3"]


def test_a_restart_kills_the_process_and_launches_another(tmp_path: Path) -> None:
    body = """
Path(f"durable-{start['episode']}").open("a").write(f"{os.getpid()} {start['restarted']} {Agent.started}\\n")
ask("/keys/order/42/address")
ask("/actions/ship", {"args": {"to": "Tokyo"}})
"""
    with Runner(process(tmp_path, body)) as runner:
        history = runner.run((), (Event(1, Restart("planner")),))
    runs = [line.split() for line in (tmp_path / "durable-1").read_text().splitlines()]
    assert [run[1:] for run in runs] == [["False", "1"], ["True", "1"]]
    assert runs[0][0] != runs[1][0]
    assert not alive(int(runs[0][0]))
    assert (history.ended.how, len(history.effects), len(history.fired)) == ("returned", 1, 1)


def alive(pid: int) -> bool:
    """Whether the process runs; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_process_that_is_killed_in_the_middle_of_an_episode_is_a_crash_and_the_run_goes_on(tmp_path: Path) -> None:
    body = """
ask("/keys/order/42/address")
if not Path("killed").exists():
    Path("killed").touch()
    os.kill(os.getpid(), 9)
ask("/actions/ship", {"args": {"to": "Tokyo"}})
"""
    with Runner(process(tmp_path, body)) as runner:
        killed, after = runner.run(), runner.run()
    assert (killed.ended.how, killed.ended.detail) == ("crashed", "SystemFailed: its process was killed by SIGKILL")
    assert [finding.code for finding in judge(killed).findings] == ["crash"]
    assert (after.ended.how, len(after.effects)) == ("returned", 1)


def test_what_a_process_last_said_is_in_the_message(tmp_path: Path) -> None:
    body = 'sys.stderr.write("ValueError: no such order\\n    at nowhere\\n"); sys.stderr.flush(); os._exit(3)'
    with Runner(process(tmp_path, body)) as runner:
        detail = runner.run().ended.detail
    assert detail == "SystemFailed: its process ended with exit status 3 (ValueError: no such order)"


def test_a_process_that_dies_without_any_event_could_not_run(tmp_path: Path) -> None:
    with pytest.raises(CouldNotRun, match=r"Foreign crashes before it acts, even without any event: .*exit status 3"):
        check(process(tmp_path, "os._exit(3)"), fresh_process=False)


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"command": ["no-such-program"]}, "the command 'no-such-program' cannot be run (no such file or directory): install it, or"),
        (
            {"command": [sys.executable, "-c", "raise SystemExit('no licence')"]},
            "its process ended with exit status 1 (no licence) before it",
        ),
        ({"command": ["sleep", "60"], "ready_s": 0.2}, "it does not listen at http://127.0.0.1:"),
        ({"command": "node agent.js"}, 'command must be a list such as ["node", "agent.js"], not \'node agent.js\''),
        ({"command": []}, "without a command, start_url must say where the system listens, and holds {port}"),
        ({"start_url": "127.0.0.1:{port}"}, "start_url must be a URL such as http://127.0.0.1:{port}/start, not '127.0.0.1:{port}'"),
        ({"refusal": "404"}, "refusal must be one of reset, 503, not '404'"),
        ({"output": "no/such/folder/agent.log"}, "agent.log' cannot be written (no such file or directory): name another file"),
        ({"folder": "/no/such/folder"}, "there is no folder '/no/such/folder': correct folder"),
        ({"command": ["no\0program"]}, "command and env hold what no process can be given (embedded null byte): let them be texts"),
    ],
)
def test_a_process_that_cannot_be_launched_is_one_sentence(tmp_path: Path, attributes: dict[str, Any], said: str) -> None:
    with pytest.raises((BadInput, CouldNotRun)) as raised, Runner(process(tmp_path, "pass", **attributes)) as runner:
        runner.run()
    assert str(raised.value).startswith("Foreign: ")
    assert said in str(raised.value)


def test_what_a_slow_process_lacks_is_told_before_it_counts_as_stuck(tmp_path: Path) -> None:
    """As it does after `timeout_s` without a port call."""
    never = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    slow = process(tmp_path, "pass", command=never, timeout_s=0.5)()
    try:
        with pytest.raises(CouldNotRun, match=r"does not listen at http://127\.0\.0\.1:\d+/start after 0\.4 s: "):
            slow.open()
    finally:
        slow.shutdown()


@pytest.mark.parametrize("spared", [None, "other.example"])
def test_no_proxy_stands_between_the_process_and_the_service(spared: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, spared) if spared else monkeypatch.delenv(name, raising=False)
    body = """
Path("spared").write_text(os.environ["no_proxy"])
ask("/actions/ship", {"args": {"to": "Tokyo"}})
"""
    with Runner(process(tmp_path, body)) as runner:
        history = runner.run()
    assert (history.ended.how, len(history.effects)) == ("returned", 1)
    assert (tmp_path / "spared").read_text() == (f"{spared},127.0.0.1" if spared else "127.0.0.1")


def test_an_answer_without_an_end_fills_no_memory() -> None:
    with running(lambda world: {"halted": "x" * 2_000_000}) as runner:
        ended = runner.run().ended
    assert (ended.how, ended.detail.partition("(")[2]) == ("crashed", "DecodingError: more than 1,048,576 bytes came)")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the variables of a process are told in /proc")
def test_what_left_the_process_group_is_killed_too(tmp_path: Path) -> None:
    body = """
import subprocess
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
Path("child").write_text(str(child.pid))
"""
    with Runner(process(tmp_path, body)) as runner:
        runner.run()
        child = int((tmp_path / "child").read_text())
        assert alive(child)
    until(lambda: not alive(child))


def test_a_port_at_which_something_listens_already(tmp_path: Path) -> None:
    with running(deliver) as other:
        url = other._probe.start_url  # type: ignore[attr-defined]
        with (
            pytest.raises(BadInput, match=r"something listens at 127\.0\.0\.1:"),
            Runner(process(tmp_path, "pass", start_url=url)) as runner,
        ):
            runner.run()


def test_a_process_that_writes_a_lot_fills_no_disk(tmp_path: Path) -> None:
    with Runner(process(tmp_path, 'sys.stdout.write("x" * 3_000_000); sys.stdout.flush()')) as runner:
        for _ in range(3):
            runner.run()
        assert os.fstat(runner._opened.process._said.fileno()).st_size <= 3_000_000  # type: ignore[union-attr]


def test_what_a_process_writes_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "agent.log").write_text("yesterday\n")
    with Runner(process(tmp_path, 'print("today", flush=True)', output="agent.log")) as runner:
        runner.run()
        runner.run()
    assert (tmp_path / "agent.log").read_text() == "yesterday\ntoday\ntoday\n"


def test_nobody_can_restart_what_somebody_else_has_launched(tmp_path: Path) -> None:
    assert "restart" not in missing_hooks(process(tmp_path, "pass")())
    without = type("Without", (HttpSystem,), {"scenario": WORLD, "start_url": "http://127.0.0.1:1/start"})
    assert missing_hooks(without())["restart"] == "restart()"
    again = type("Again", (without,), {"command": ["true"]})
    assert "restart" not in missing_hooks(again())


def test_a_system_that_does_not_listen_crashes_before_it_acts() -> None:
    without = type("Without", (HttpSystem,), {"scenario": WORLD, "start_url": "http://127.0.0.1:1/start"})
    with pytest.raises(CouldNotRun, match=r"http://127\.0\.0\.1:1/start did not answer \(ConnectError"):
        check(without, fresh_process=False)


def test_a_tool_fault_reaches_a_real_process(tmp_path: Path) -> None:
    body = """
try:
    ask("/actions/ship", {"args": {"to": "Tokyo"}})
except Exception as error:
    return {"halted": type(error).__name__}
"""
    with Runner(process(tmp_path, body)) as runner:
        history = runner.run((), (Event(0, ToolFault("ship", "lost-reply")),))
    assert (history.ended.how, len(history.effects)) == ("halted", 1)
