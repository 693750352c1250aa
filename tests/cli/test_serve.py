"""`fencecheck serve`: a service for somebody who develops an agent."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.curl import carried_out

from .made import NAIVE, sentence

ROOT = Path(__file__).parents[2]
KEY = "order/42/requirement"


class Served:
    """A running `fencecheck serve`."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [sys.executable, "-u", "-m", "fencecheck", "serve", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.said: list[str] = []
        for line in self.process.stdout:
            self.said.append(line.rstrip())
            if line == "Ctrl-C ends it.\n":  # the last line of the introduction
                break
        self.base, token = self.said[0].split()[-1], self.said[1].split()[-1]
        headers = {"authorization": f"Bearer {token}", "fencecheck-timeout": "5"}
        self.http = httpx.Client(base_url=self.base, headers=headers, timeout=60, trust_env=False)

    def post(self, path: str, body: Any = None) -> httpx.Response:
        """A POST to the service itself."""
        return self.http.post(self.base.partition("/episodes")[0] + path, json=body)

    def ended(self) -> tuple[int, str]:
        """Interrupts it: its exit status, and what it said of errors."""
        self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("served"), "--token", "t0ken")
    yield made
    assert made.ended() == (130, "fencecheck: interrupted\n")


def test_it_says_where_and_how(served: Served) -> None:
    assert re.fullmatch(r"base URL  http://127\.0\.0\.1:\d+/episodes/current", served.said[0])
    assert served.said[1] == "token     t0ken"
    assert served.said[2].startswith(f"keys      {KEY}, ")
    assert served.said[3] == f"actions   deliver (depends on {KEY}, order/42/window)"


def commands(served: Served, after: str) -> list[str]:
    """The commands of the part of the introduction that begins with that line."""
    part = served.said[served.said.index(after) + 2 :]
    return [line.strip() for line in part[: part.index("")] if line.startswith("  curl ")]


WALK = "In another shell, one after the other: a plan that goes out in time, and one that does not."


def walked(served: Served) -> list[tuple[int, Any]]:
    answers = [carried_out(command) for command in commands(served, WALK)]
    return [(answer.status_code, answer.json()) for answer in answers]


def test_its_commands_lead_to_a_success_a_refusal_and_a_finding(served: Served) -> None:
    answers = walked(served)
    assert [status for status, _ in answers] == [200, 200, 201, 200, 200, 200, 200, 201, 202, 412, 200, 200]
    assert answers[4][1] == {"outcome": "completed", "effects": 1, "fired": [], "findings": []}
    assert answers[8][1] == {"event": {"type": "update", "key": KEY, "how": "fresh"}, "lands": "right before the next call"}
    found = answers[-1][1]
    assert (found["outcome"], found["effects"], found["fired"]) == ("completed", 1, ["update"])
    assert [finding["code"] for finding in found["findings"]] == ["stale-act"]


def test_so_do_the_rest(served: Served) -> None:
    answers = [carried_out(command).status_code for command in commands(served, "What else can be asked:")]
    assert answers == [200, 200, 200, 200, 204, 204, 204, 200, 200, 204, 202, 202, 202, 202, 202]
    served.post("/reset")


def test_an_event_lands_before_the_next_call_and_a_reset_says_what_was_found(served: Served) -> None:
    order = served.http.get(f"/keys/{KEY}").json()
    window = served.http.get("/keys/order/42/window").json()
    plan = served.http.post("/records", json={"value": {"to": order["value"]}, "parents": [order["id"], window["id"]]}).json()
    assert served.post("/events", {"type": "update", "key": KEY}).status_code == 202
    assert served.http.post("/actions/deliver", json={"args": plan["value"], "plan": plan["id"]}).status_code == 200
    found = served.post("/reset").json()
    assert (found["outcome"], found["effects"], found["fired"]) == ("completed", 1, ["update"])
    assert [finding["code"] for finding in found["findings"]] == ["stale-act"]
    assert served.http.get(f"/keys/{KEY}").json()["id"] == f"{KEY}@1"


def test_an_outage_lasts_until_it_is_over(served: Served) -> None:
    served.post("/events", {"type": "outage", "owner": "orders", "how": "malformed"})
    assert "etag" not in served.http.get(f"/keys/{KEY}").headers
    served.post("/events", {"type": "restore", "owner": "orders"})
    assert served.http.get(f"/keys/{KEY}").json()["key"] == KEY
    served.post("/reset")


KEYS = "order/42/requirement, order/42/contact, order/42/window, order/42/payment"
TYPES = "the type of an event must be one of update, deliver, outage, restore, missing-parent, corrupt-parent, tool-fault, "
NO_EVENTS: list[tuple[Any, str]] = [
    ({"type": "flood"}, TYPES + "not 'flood'"),
    ({"type": ["update"]}, TYPES + "not ['update']"),
    ({"type": "restart"}, TYPES + "not 'restart'"),
    ({}, TYPES + 'such as {"type": "update", "key": "order/42/requirement"}'),
    (None, TYPES + 'such as {"type": "update", "key": "order/42/requirement"}'),
    ([], "the body of the request cannot be read: Expected `object`, got `array`"),
    ({"type": "update"}, f"update: key must be one of {KEYS}"),
    ({"type": "update", "key": "no-such"}, f"update: there is no key 'no-such': known are {KEYS}"),
    ({"type": "deliver", "key": KEY[:-1]}, f"deliver: there is no key '{KEY[:-1]}': did you mean '{KEY}'? known are {KEYS}"),
    ({"type": "update", "key": KEY, "how": "badly"}, "update: how must be one of fresh, earlier, removed, not 'badly'"),
    ({"type": "outage", "owner": "nobody"}, "outage: there is no owner 'nobody': known are orders, calendar"),
    (
        {"type": "outage", "owner": "orders", "how": "sulk"},
        "outage: how must be one of refuse, hang, malformed, wrong-key, older-head, not 'sulk'",
    ),
    ({"type": "restore", "owner": 7}, "restore: owner must be one of orders, calendar"),
    ({"type": "tool-fault", "tool": "ship"}, "tool-fault: there is no tool 'ship': known are deliver"),
    ({"type": "missing-parent", "place": "x"}, f"missing-parent: place is a number, or a key, and there is no key 'x': known are {KEYS}"),
    ({"type": "missing-parent", "place": -1}, "MissingParent: places in a lineage are counted from 0, not -1"),
    ({"type": "restore", "owner": "orders", "by": 1}, "restore: Object contains unknown field `by`"),
]


@pytest.mark.parametrize(("body", "said"), NO_EVENTS, ids=str)
def test_what_is_no_event_is_refused_with_what_would_be_one(served: Served, body: Any, said: str) -> None:
    answer = served.post("/events", body)
    assert (answer.status_code, answer.json()["detail"]) == (400, said)
    assert served.post("/reset").json()["fired"] == []


def test_what_it_cannot_do_it_says_and_goes_on(served: Served) -> None:
    refused = served.http.post("/actions/deliverr", json={})
    assert refused.status_code == 400
    assert "which its scenario does not list" in refused.json()["detail"]
    unknown = served.http.post("/records", json={"value": 1, "parents": ["r7"]})
    assert unknown.json()["detail"].startswith("the client calls derive(..., ['r7']): there is no record 'r7'")
    assert served.http.post("/validated", json={"keys": ["order/42/adress"]}).status_code == 400
    assert served.post("/reset").json()["outcome"] == "halted-needless"
    assert served.http.get(f"/keys/{KEY}").status_code == 200


@pytest.mark.parametrize("path", ["/events", "/reset"])
def test_nobody_without_the_token_says_what_happens(served: Served, path: str) -> None:
    url = served.base.partition("/episodes")[0] + path
    assert httpx.post(url, json={"type": "update", "key": KEY}, trust_env=False).status_code == 401


def test_the_scenario_of_a_system_and_a_token_that_nobody_can_guess(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(NAIVE)
    served = Served(tmp_path, "mine.py:Naive", "--refusal", "503")
    assert len(served.said[1].split()[-1]) > 30
    assert served.said[2:4] == ["keys      order/1", "actions   ship (depends on order/1)"]
    assert [status for status, _ in walked(served)] == [200, 201, 200, 200, 200, 201, 202, 412, 200, 200]
    served.post("/events", {"type": "outage", "owner": "orders"})
    assert served.http.get("/keys/order/1").status_code == 503
    assert served.ended() == (130, "fencecheck: interrupted\n")


def test_the_scenario_of_a_system_that_works_on_files(tmp_path: Path) -> None:
    """Its keys depend on the arguments, and its updates are carried out by a store that is not there."""
    served = Served(tmp_path, "file-naive")
    assert [status for status, _ in walked(served)] == [200, 201, 200, 200, 200, 201, 202, 412, 200, 200]
    assert served.ended() == (130, "fencecheck: interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "no.such.host.invalid"], "the service cannot listen at no.such.host.invalid:0: "),
        (["--token", ""], "--token must be a text without blanks at its ends"),
        (["--token", "two\nlines"], "--token must be a text without blanks at its ends"),
        (["no_such.py:System"], "there is no file 'no_such.py'"),
        (["--keys", "0"], "--keys must be"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], said: str) -> None:
    assert sentence("serve", *arguments).startswith(said)


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen at 127.0.0.1:{port}: " in sentence("serve", "--port", port)
