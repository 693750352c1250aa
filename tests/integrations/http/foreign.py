"""Systems in another process, played by functions of the test on threads of their own: real requests to the real service."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import httpx

from fencecheck import Action, Scenario
from fencecheck.integrations.http import HttpSystem
from fencecheck.run.simulate import Runner

ADDRESS, WINDOW = "order/42/address", "order/42/window"
WORLD = Scenario(
    owners={"orders": [ADDRESS], "calendar": [WINDOW]},
    actions=[Action("ship", depends_on=[ADDRESS])],
    values={ADDRESS: ["Tokyo", "Osaka", "Nagoya"], WINDOW: ["Monday", "Tuesday", "Thursday"]},
    agents=["planner", "executor"],
)


class World:
    """The service as a client in another language sees it.

    Args:
        start: what was posted to the start URL.
        waits: seconds that it says it waits; None for a client that says nothing.
    """

    def __init__(self, start: dict[str, Any], waits: float | None = 5.0) -> None:
        self.start = start
        headers = {"authorization": f"Bearer {start['token']}"} | ({} if waits is None else {"fencecheck-timeout": str(waits)})
        self.http = httpx.Client(base_url=start["base_url"], headers=headers, timeout=60, trust_env=False, verify=False)  # no TLS here

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, **options: Any) -> httpx.Response:
        """One request."""
        content = None if body is None else json.dumps(body)
        return self.http.request(method, path, content=content, headers=headers, **options)

    def key(self, method: str, key: str = ADDRESS, body: Any = None, headers: dict[str, str] | None = None) -> httpx.Response:
        """A request about a key."""
        return self.ask(method, f"/keys/{quote(key, safe='')}", body, headers)

    def act(self, args: dict[str, Any] | None = None, headers: dict[str, str] | None = None, **body: Any) -> httpx.Response:
        """A call of the tool."""
        return self.ask("POST", "/actions/ship", {"args": args or {"to": "Tokyo"}, **body}, headers)


Agent = Callable[[World], Any]


@contextmanager
def running(agent: Agent, scenario: Scenario = WORLD, waits: float | None = 5.0, **attributes: Any) -> Iterator[Runner]:
    """A runner of an `HttpSystem` whose process is a server of this test: for each episode `agent` is called.

    What it returns, a status or an object, is answered to the start URL.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            start = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = agent(World(start, waits))
            body = b"" if answer is None or isinstance(answer, int) else json.dumps(answer).encode()
            try:
                self.send_response(answer if isinstance(answer, int) else 200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # the episode was over before

        def log_message(self, *about: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    made = type("Made", (HttpSystem,), {"scenario": scenario, "start_url": f"http://127.0.0.1:{server.server_port}/start", **attributes})
    try:
        with Runner(made) as runner:
            yield runner
    finally:
        server.shutdown()
        server.server_close()
