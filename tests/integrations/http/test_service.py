"""What the service does with strangers, with what comes late, and with clients that are slow or too large."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from fencecheck import Event, Outage
from fencecheck.errors import BadInput
from fencecheck.history import History, Read
from fencecheck.integrations.http import service as module
from fencecheck.integrations.http.service import MOST_BYTES, Service

from .foreign import ADDRESS, World, running


def reads(history: History) -> list[Read]:
    return [entry for entry in history.entries if type(entry) is Read]


def connection(world: World) -> socket.socket:
    """A connection to the service, without any HTTP."""
    where = urlsplit(world.start["base_url"])
    return socket.create_connection((where.hostname or "", where.port or 0), timeout=60)


def one(agent: Any, **attributes: Any) -> History:
    with running(agent, **attributes) as runner:
        return runner.run()


@pytest.mark.parametrize("given", [None, "Bearer wrong", "Bearer", "Basic {token}", "{token}", "Bearer {token}x"])
def test_a_request_without_the_token_of_this_run_is_refused_and_not_recorded(given: str | None) -> None:
    answers = []

    def agent(world: World) -> None:
        headers = {} if given is None else {"authorization": given.format(token=world.start["token"])}
        answers.append(httpx.get(f"{world.start['base_url']}/keys/{ADDRESS}", headers=headers, trust_env=False))

    history = one(agent)
    assert (answers[0].status_code, answers[0].headers["www-authenticate"]) == (401, "Bearer")
    assert len(history.entries) == 1


def test_the_token_may_be_called_bearer_in_small_letters() -> None:
    history = one(lambda world: world.key("GET", headers={"authorization": f"bearer {world.start['token']}"}))
    assert len(reads(history)) == 1


def test_a_late_call_reaches_no_other_episode() -> None:
    worlds: list[World] = []
    late: list[httpx.Response] = []

    def agent(world: World) -> None:
        late.extend(earlier.key("GET") for earlier in worlds)
        worlds.append(world)
        world.key("HEAD")

    with running(agent) as runner:
        histories = [runner.run(), runner.run()]
        late.append(worlds[1].key("GET"))  # no episode is on
    assert [(answer.status_code, answer.json()["detail"]) for answer in late] == [(410, "this episode is over: nothing is recorded")] * 2
    assert [reads(history) for history in histories] == [[], []]
    assert worlds[0].start["base_url"] != worlds[1].start["base_url"]


def test_a_call_that_is_under_way_when_the_episode_ends_is_not_left_waiting() -> None:
    """The system answers its start URL while a call of its own hangs, or before that one arrives."""
    ended: list[Any] = []
    threads: list[threading.Thread] = []

    def agent(world: World) -> None:
        def ask() -> None:
            try:
                ended.append(world.key("GET").status_code)
            except httpx.HTTPError:
                ended.append("reset")

        threads.append(threading.Thread(target=ask))
        threads[0].start()

    with running(agent, waits=None) as runner:
        runner.run((), (Event(0, Outage("orders", "hang")),))
        threads[0].join(60)
    assert ended in (["reset"], [410])


def test_a_body_of_100_mb_is_refused_and_the_run_goes_on() -> None:
    answers = []

    def agent(world: World) -> None:
        answers.append(world.http.post("/records", content=b" " * 100_000_000))
        answers.append(world.key("GET"))

    history = one(agent)
    assert [answer.status_code for answer in answers] == [413, 200]
    assert answers[0].json()["detail"] == f"a body has at most {MOST_BYTES:,} bytes"
    assert len(reads(history)) == 1


def test_the_largest_body_is_taken() -> None:
    value = "x" * (MOST_BYTES - len('{"value": ""}'))
    history = one(lambda world: world.ask("POST", "/records", {"value": value}))
    assert history.records["p1"].value == value


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes the service give up on slow clients at once. To be called when all that must not be slow has been sent."""
    return lambda: monkeypatch.setattr(module, "PATIENCE_S", 0.1)


@pytest.mark.parametrize("sent", [b"", b"GET /keys", b"GET / HTTP/1.1\r\nhost: x\r\nx-slow: "])
def test_a_client_that_is_slow_with_its_head_is_sent_away_and_keeps_nobody_waiting(sent: bytes, impatient: Callable[[], None]) -> None:
    gone = []

    def agent(world: World) -> None:
        world.key("GET")  # over a connection that is kept
        impatient()
        with connection(world) as slow:
            slow.sendall(sent)
            world.key("GET")
            try:
                gone.append(slow.recv(1))
            except ConnectionResetError:
                gone.append(b"")

    history = one(agent)
    assert gone == [b""]
    assert len(reads(history)) == 2


def test_a_client_that_is_slow_with_its_body_is_told_so(impatient: Callable[[], None]) -> None:
    answers = []

    def agent(world: World) -> None:
        head = f"POST {urlsplit(world.start['base_url']).path}/records HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n"
        impatient()
        with connection(world) as slow:
            slow.sendall(f"{head}authorization: Bearer {world.start['token']}\r\n\r\n{{".encode())
            answers.append(slow.recv(100))

    assert len(one(agent).entries) == 1
    assert answers[0].startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("rubbish", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])
def test_what_is_no_http_is_not_recorded(rubbish: bytes) -> None:
    def agent(world: World) -> None:
        with connection(world) as strange:
            strange.sendall(rubbish)
            strange.recv(1_000)
        world.key("GET")

    assert len(one(agent).entries) == 2


def test_a_client_that_resets_its_connection_in_the_middle_of_a_request() -> None:
    def agent(world: World) -> None:
        gone = connection(world)
        gone.sendall(f"POST {urlsplit(world.start['base_url']).path}/records HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{{".encode())
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.close()
        world.key("GET")

    assert len(one(agent).entries) == 2


def whole(world: World, request: str, body: bytes = b"", sends_no_more: bool = False) -> bytes:
    """All that is answered to a request, written by hand, up to the end of the connection."""
    head = f"{request} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {world.start['token']}\r\ncontent-length: {len(body)}\r\n"
    with connection(world) as sent:
        sent.sendall(f"{head}{'' if sends_no_more else 'connection: close'}\r\n".replace("\r\n\r\n", "\r\n").encode() + b"\r\n" + body)
        if sends_no_more:
            sent.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: sent.recv(65_536), b""))


def test_a_client_that_sends_nothing_more_is_answered() -> None:
    """Else an effect would have lost its reply with no event that says so."""
    answers = []

    def agent(world: World) -> None:
        path = urlsplit(world.start["base_url"]).path
        answers.append(whole(world, f"POST {path}/actions/ship", b'{"args": {"to": "Tokyo"}}', sends_no_more=True))
        answers.append(whole(world, f"GET {path}/keys/{ADDRESS}", sends_no_more=True))

    assert [type(entry).__name__ for entry in one(agent).entries] == ["Act", "Read", "Ended"]
    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 200"] * 2


def test_a_target_may_be_the_whole_url() -> None:
    answers = []
    history = one(lambda world: answers.append(whole(world, f"GET {world.start['base_url']}/keys/{ADDRESS}")))
    assert answers[0].startswith(b"HTTP/1.1 200 ")
    assert len(reads(history)) == 1


def test_a_body_that_is_nested_too_deep_is_a_bad_request() -> None:
    """At 900 levels it can be decoded and not be copied."""
    answers = []

    def agent(world: World) -> None:
        for depth in (150, 900, 100_000):
            answers.append(world.http.post("/records", content=b'{"value":' + b"[" * depth + b"]" * depth + b"}").status_code)

    assert len(one(agent).entries) == 2
    assert answers == [201, 400, 400]


def test_two_calls_that_are_under_way_together_are_both_answered() -> None:
    statuses: list[int] = []

    def agent(world: World) -> None:
        threads = [threading.Thread(target=lambda: statuses.append(world.key("GET").status_code)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert len(reads(one(agent))) == 8
    assert statuses == [200] * 8


# -- where it listens ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service().start()
    yield made
    made.stop()


def test_it_listens_on_loopback_at_a_free_port_with_a_token_of_its_own(service: Service) -> None:
    assert service.address[0] == "127.0.0.1"
    assert service.url == f"http://127.0.0.1:{service.address[1]}"
    with_another = Service()
    assert len({service.token, with_another.token}) == 2
    assert len(service.token) > 30
    with_another.stop()


def test_a_port_that_is_taken(service: Service) -> None:
    said = f"the service cannot listen at 127.0.0.1:{service.address[1]}: .*: choose another host or port"
    with pytest.raises(BadInput, match=said):
        Service(port=service.address[1])


def test_a_host_that_there_is_not() -> None:
    with pytest.raises(BadInput, match=r"the service cannot listen at no\.such.host.invalid:0: "):
        Service("no.such.host.invalid")


def test_it_can_be_stopped_twice(service: Service) -> None:
    service.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(service.url, trust_env=False)
