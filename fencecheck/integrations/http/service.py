"""The service: an HTTP server on a thread of its own, which hands each request to the thread of the episode that is on.

The server's thread decides nothing. A request waits in the inbox of its episode, in order of arrival, until the episode's own thread calls
the port and hands the answer back; so each event lands in the port call, as anywhere else, and a late request can reach no other episode.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import struct
import sys
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

import h11
import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.integrations.http import wire
from fencecheck.integrations.http.ports import ROUTES, Call
from fencecheck.integrations.http.wire import Answer

LOOPBACK = "127.0.0.1"
MOST_BYTES = 1_048_576
"""Most bytes of a request's body."""
PATIENCE_S = 30.0
"""Seconds within which a request has to be there, its head and then its body."""
_KEEP_ALIVE_S = 86_400  # a connection that the server closes while a request is on its way is a fault that nobody injected
_STOP_S = 10.0
_OVER = "this episode is over: nothing is recorded"
_RESETS = struct.pack("ii", 1, 0)  # SO_LINGER of no time: closing resets
BY_HAND = "current"
"""What stands for the token of whichever episode is on, where the service is started by hand."""


class Pending:
    """A call that waits for its answer.

    Attributes:
        call: what was asked.
    """

    def __init__(self, call: Call, answered: asyncio.Future[Answer]) -> None:
        self.call, self._answered = call, answered

    def answer(self, answer: Answer) -> None:
        """Sends the answer, from whichever thread; the first one counts."""
        self._answered.get_loop().call_soon_threadsafe(self._settle, answer)

    def _settle(self, answer: Answer) -> None:
        if not self._answered.done():
            self._answered.set_result(answer)


class Ended:
    """The start URL has answered, or cannot any more.

    Args:
        status: the status code, or 0.
        body: what was answered, or why nothing was.
    """

    def __init__(self, status: int, body: bytes) -> None:
        self.status, self.body = status, body


class Episode:
    """An episode as the service sees it.

    Args:
        token: names it in the URLs of its requests, so that a late one reaches no other.
        base_url: what these URLs begin with.
    """

    def __init__(self, token: str, base_url: str) -> None:
        self.token, self.base_url = token, base_url
        self.inbox: SimpleQueue[Pending | Ended] = SimpleQueue()
        self.over = asyncio.Event()  # looked at by the server's thread alone
        self.starting: asyncio.Task[None] | None = None

    def next(self, timeout_s: float | None) -> Pending | Ended | None:
        """What comes next, or None where nothing did for so many seconds."""
        try:
            return self.inbox.get(timeout=timeout_s)
        except Empty:
            return None


class Connection(H11Protocol):
    """A connection that can be reset, and that gives up on a client which is slow to say what it wants.

    It puts itself into the state of its requests, which is how the application finds it.
    """

    def __init__(self, config: uvicorn.Config, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, {**app_state, "connection": self}, _loop)
        self._gives_up: asyncio.TimerHandle | None = None
        self._sends_no_more = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Part of a request has come, or several."""
        super().data_received(data)
        part_of_a_head = self.conn.their_state is h11.IDLE and self.conn.trailing_data[0] != b""
        if part_of_a_head and self._gives_up is None:
            self._expect_head()
        elif not part_of_a_head and self._gives_up is not None:
            self._gives_up.cancel()
            self._gives_up = None

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends nothing more. What it has asked is answered all the same: an answer that is lost is a fault that nobody injected."""
        self._sends_no_more = True
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

    def on_response_complete(self) -> None:
        """An answer is sent. Closes after the last one where the client sends nothing more."""
        super().on_response_complete()
        if self._sends_no_more and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone, or was sent away."""
        if self._gives_up is not None:
            self._gives_up.cancel()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._gives_up = self.loop.call_later(PATIENCE_S, self.reset)

    def reset(self) -> None:
        """Closes the connection as a process that dies does: with a reset, whatever was asked or half answered."""
        found = self.transport.get_extra_info("socket")
        if found is not None and not self.transport.is_closing():
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETS)
        self.transport.abort()


class Service:
    """The server of one worker. One episode is on at a time.

    Args:
        host: the address that it is bound to; everything but a loopback address lets others on the network in.
        port: the port, or 0 for a free one.
        token: what every request must carry as a bearer token; by default one that nobody can guess.
        by_hand: whether `current` names the episode that is on too, and `control` answers what is posted to `/reset` and the like.

    Raises:
        BadInput: it cannot be bound there.
    """

    def __init__(self, host: str = LOOPBACK, port: int = 0, token: str | None = None, by_hand: bool = False) -> None:
        self.token = secrets.token_urlsafe(24) if token is None else token
        self._by_hand = by_hand
        self._episode: Episode | None = None
        self._socket = _bound(host, port)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        shown = f"[{self.address[0]}]" if ":" in self.address[0] else self.address[0]
        self.url = f"http://{shown}:{self.address[1]}"
        self._server = uvicorn.Server(_config(self._application()))
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._serve, name="fencecheck-http", daemon=True)

    def start(self) -> Service:
        """Begins to listen."""
        self._thread.start()
        if not self._ready.wait(_STOP_S):
            raise CouldNotRun(f"the service at {self.url} did not begin to listen within {_STOP_S:g} s")
        return self

    def stop(self) -> None:
        """Sends everyone away and stops listening."""
        if self._thread.is_alive():
            self._server.should_exit = self._server.force_exit = True
            self._thread.join(_STOP_S)
        self._socket.close()

    def _serve(self) -> None:
        sys.setprofile(None)  # a search that listens to the system's thread would hear this one
        asyncio.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._client = httpx.AsyncClient(timeout=None, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
        served = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started and not served.done():
            await asyncio.sleep(0.001)
        self._ready.set()
        async with self._client:
            await served

    # -- episodes: called by their thread --------------------------------------------------------------------------------------------

    def begin(self) -> Episode:
        """The next episode is on."""
        token = secrets.token_urlsafe(12)
        episode = Episode(token, f"{self.url}/episodes/{token}")
        self._soon(lambda: self._set(episode))
        return episode

    def end(self, episode: Episode) -> None:
        """It is over: who still waits for an answer gets none, and what comes late is told so."""
        self._soon(lambda: self._over(episode))

    def post(self, url: str, body: bytes, episode: Episode) -> None:
        """Posts `body` to the start URL of a system; how that ends goes to the inbox of the episode."""
        self._soon(lambda: self._starting(url, body, episode))

    def _soon(self, what: Callable[[], None]) -> None:
        """Has it done by the server's thread, after all that was asked of it before."""
        self._loop.call_soon_threadsafe(what)

    def _set(self, episode: Episode) -> None:
        self._episode = episode

    def _over(self, episode: Episode) -> None:
        if self._episode is episode:
            self._episode = None
        episode.over.set()
        if episode.starting is not None:
            episode.starting.cancel()
        while not episode.inbox.empty():
            late = episode.inbox.get()
            if isinstance(late, Pending):
                late.answer(wire.problem(410, _OVER))

    def _starting(self, url: str, body: bytes, episode: Episode) -> None:
        async def posted() -> None:
            headers, said = {"content-type": wire.JSON, "accept-encoding": "identity"}, bytearray()
            try:
                async with self._client.stream("POST", url, content=body, headers=headers) as answer:
                    async for part in answer.aiter_bytes():
                        said += part
                        if len(said) > MOST_BYTES:
                            raise httpx.DecodingError(f"more than {MOST_BYTES:,} bytes came")
                episode.inbox.put(Ended(answer.status_code, bytes(said)))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                episode.inbox.put(Ended(0, f"{type(error).__name__}: {error}".removesuffix(": ").encode()))

        episode.starting = self._loop.create_task(posted())

    # -- requests: the server's thread ------------------------------------------------------------------------------------------------

    def _application(self) -> Any:
        routes = [Route(f"/episodes/{{episode}}/{path}", _Port(self, port), methods=[method]) for method, path, port in _heads_first()]
        if self._by_hand:
            routes += [Route(f"/{name}", _Port(self, name), methods=["POST"]) for name in CONTROLS]
        problems: Any = {404: _no_such_place, 405: _no_such_method}
        application = Starlette(routes=routes, exception_handlers=problems)
        application.router.redirect_slashes = False
        return _OwnTargets(application)

    def allows(self, request: Request) -> bool:
        """Whether the request carries the token of this run."""
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())

    def episode_of(self, request: Request) -> Episode | None:
        """The episode that the request is of, if that one is on."""
        episode, named = self._episode, request.path_params.get("episode", BY_HAND)
        if episode is not None and (named == episode.token or (self._by_hand and named == BY_HAND)):
            return episode
        return None

    async def answer(self, request: Request, port: str) -> Answer:
        """How a request is answered, once the thread of its episode has said so."""
        if not self.allows(request):
            return wire.problem(401, "give the token of this run: Authorization: Bearer TOKEN", {"www-authenticate": "Bearer"})
        try:
            async with asyncio.timeout(PATIENCE_S):
                body = await _body(request)
        except TimeoutError:
            return wire.problem(408, f"the body was not there within {PATIENCE_S:g} s", {"connection": "close"})
        if body is None:
            return wire.problem(413, f"a body has at most {MOST_BYTES:,} bytes", {"connection": "close"})
        episode = self.episode_of(request)
        if episode is None:
            return wire.problem(410, _OVER)
        answered: asyncio.Future[Answer] = self._loop.create_future()
        episode.inbox.put(Pending(Call(port, request.path_params.get("about", ""), _fields(request), body), answered))
        answer = await answered
        if answer.how == "hang":
            await _gone(request, episode)
        return answer


CONTROLS = ("reset", "events")
"""What is posted to a service that was started by hand, besides the ports."""


class _Port:
    """The application of one route. A class, so that starlette calls it as it is."""

    def __init__(self, service: Service, port: str) -> None:
        self.service, self.port = service, port

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        try:
            answer = await self.service.answer(request, self.port)
        except ClientDisconnect:
            return
        if answer.how != "answer":
            scope["state"]["connection"].reset()
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await _response(answer)(scope, receive, send)


class _OwnTargets:
    """The application, for requests whose target is a whole URL too, as clients send it to a proxy (RFC 9112, section 3.2.2)."""

    def __init__(self, application: Starlette) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and "://" in scope["path"].partition("?")[0] and not scope["path"].startswith("/"):
            scope["path"] = "/" + scope["path"].partition("://")[2].partition("/")[2]
        await self._application(scope, receive, send)


async def _no_such_place(request: Request, _: Exception) -> Response:
    places = ", ".join(dict.fromkeys(f"{method} {path.replace('{about:path}', '...')}" for method, path, _port in ROUTES))
    return _response(
        wire.problem(404, f"there is nothing at {request.url.path[:200]}: below the base URL of an episode there are {places}")
    )


async def _no_such_method(request: Request, _: Exception) -> Response:
    place = request.url.path.removeprefix("/episodes/").partition("/")[2].partition("/")[0]
    here = dict.fromkeys(method for method, pattern, _port in ROUTES if place == pattern.partition("/")[0])
    allowed = ", ".join(here) or "POST"
    return _response(wire.problem(405, f"{request.method} means nothing here: use {allowed}", {"allow": allowed}))


def _response(answer: Answer) -> Response:
    return Response(answer.body, answer.status, answer.headers)


def _fields(request: Request) -> dict[str, str]:
    """The header fields of a request; those of several lines as one list (RFC 9110, section 5.3)."""
    found: dict[str, str] = {}
    for name, value in request.scope["headers"]:
        text = value.decode("latin-1")
        field = name.decode("latin-1")
        found[field] = f"{found[field]}, {text}" if field in found else text
    return found


async def _body(request: Request) -> bytes | None:
    """The body, or None where it is too large: then it is read to its end and thrown away, so that the client hears why."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size <= MOST_BYTES:
            parts.append(part)
        else:
            parts.clear()
    return b"".join(parts) if size <= MOST_BYTES else None


async def _gone(request: Request, episode: Episode) -> None:
    """Waits until the client gives up, or the episode is over."""

    async def left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    waits = {asyncio.ensure_future(left()), asyncio.ensure_future(episode.over.wait())}
    _, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()


def _heads_first() -> list[tuple[str, str, str]]:
    """The routes, `HEAD` before `GET`, which starlette would let answer for it."""
    return sorted(ROUTES, key=lambda route: route[0] != "HEAD")


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, else asyncio leaves Nagle's algorithm on
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(128)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"the service cannot listen at {host}:{port}: {reason}: choose another host or port") from error
    return bound


def _config(application: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=1,
    )
