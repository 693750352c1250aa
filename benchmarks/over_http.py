"""How many judged episodes a second over HTTP, beside a bare server that answers the same requests of the same process, in one run.

    python benchmarks/over_http.py [--rounds N] [--episodes N]

The process is the agent of examples/javascript_orders. The bare server is starlette on uvicorn with the same settings, and answers from what it
holds: it knows no points, no events, no histories and no judge. Each is run in turn, in many short rounds, and the best round of each counts:
noise on a shared machine only slows. Processor time is that of the server's process, whatever else runs.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from urllib.parse import unquote

import httpx
import msgspec
import starlette
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import fencecheck
from fencecheck.integrations.http.process import Process
from fencecheck.integrations.http.service import _bound
from fencecheck.judge import judge
from fencecheck.model import Record
from fencecheck.run.loading import load
from fencecheck.run.simulate import Runner

EXAMPLE = Path(__file__).parents[1] / "examples" / "javascript_orders"


class BareServer:
    """Answers what the agents of the example ask, for a world in which nothing ever changes."""

    def __init__(self, scenario: Any) -> None:
        self.records = {f"{key}@1": Record(f"{key}@1", key, scenario.value_of(key, 1)) for key in scenario.keys}
        self.declared = {"keys": scenario.actions[0].depends_on}
        self.token = secrets.token_urlsafe(24)
        routes = [
            Route("/world/keys/{about:path}", self.head, methods=["HEAD"]),
            Route("/world/keys/{about:path}", self.key, methods=["GET"]),
            Route("/world/records/{about:path}", self.record, methods=["GET"]),
            Route("/world/records", self.derive, methods=["POST"]),
            Route("/world/declared/{about:path}", self.declares, methods=["POST"]),
            Route("/world/actions/{about:path}", self.act, methods=["POST"]),
            *(Route(f"/world/{name}", self.nothing, methods=["POST"]) for name in ("validated", "pause", "point", "halted")),
        ]
        self.socket = _bound("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.server = uvicorn.Server(
            uvicorn.Config(
                Starlette(routes=routes), http="h11", ws="none", loop="asyncio", lifespan="off", log_config=None, access_log=False,
                proxy_headers=False, server_header=False, date_header=False, timeout_keep_alive=86_400,
            )
        )  # fmt: skip
        self.loop: asyncio.AbstractEventLoop
        self.thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)
        self.ready = threading.Event()
        self.thread.start()
        self.ready.wait()

    async def serve(self) -> None:
        """The server's thread."""
        self.loop = asyncio.get_running_loop()
        self.client = httpx.AsyncClient(timeout=None, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
        served = asyncio.create_task(self.server.serve(sockets=[self.socket]))
        while not self.server.started:
            await asyncio.sleep(0.001)
        self.ready.set()
        await served

    def stop(self) -> None:
        """Stops listening."""
        self.server.should_exit = self.server.force_exit = True
        self.thread.join()

    def episode(self, url: str) -> None:
        """Has the agent run once."""
        start = msgspec.json.encode({"base_url": f"{self.url}/world", "token": self.token, "episode": "1", "restarted": False})
        answer = asyncio.run_coroutine_threadsafe(self.client.post(url, content=start), self.loop).result()
        assert answer.json() == {"done": True}, answer.text

    async def key(self, request: Request) -> Response:
        """A record by its key."""
        return self.answer(self.records[f"{request.path_params['about']}@1"])

    async def head(self, request: Request) -> Response:
        """Its id alone."""
        return Response(headers={"etag": f'"{request.path_params["about"]}@1"'}, media_type="application/json")

    async def record(self, request: Request) -> Response:
        """A record by its id."""
        return self.answer(self.records[unquote(request.path_params["about"])])

    async def derive(self, request: Request) -> Response:
        """A new plan."""
        body = msgspec.json.decode(await request.body())
        record = self.records["p1"] = Record("p1", None, body["value"], tuple(body["parents"]))
        return self.answer(record, 201)

    async def declares(self, request: Request) -> Response:
        """The declared keys."""
        return Response(msgspec.json.encode(self.declared), media_type="application/json")

    async def act(self, request: Request) -> Response:
        """The tool."""
        msgspec.json.decode(await request.body())
        return Response(msgspec.json.encode({"status": "done"}), media_type="application/json")

    async def nothing(self, request: Request) -> Response:
        """What has no answer."""
        msgspec.json.decode(await request.body())
        return Response(status_code=204)

    def answer(self, record: Record, status: int = 200) -> Response:
        """A record as JSON."""
        return Response(msgspec.json.encode(record), status, {"etag": f'"{record.id}"'}, "application/json")


def rates(once: Callable[[], object], episodes: int) -> tuple[float, float]:
    """How often a second, and how often a second of processor time, over so many episodes."""
    started, busy = perf_counter(), process_time()
    for _ in range(episodes):
        once()
    return episodes / (perf_counter() - started), episodes / (process_time() - busy)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--episodes", type=int, default=5, help="episodes of each in each round")
    options = parser.parse_args()
    print(
        f"fencecheck {fencecheck.__version__}, starlette {starlette.__version__}, uvicorn {uvicorn.__version__}, "
        f"Python {platform.python_version()}, {platform.machine()}; best of {options.rounds} rounds of {options.episodes} episodes"
    )
    for name in ("Naive", "Fenced"):
        system: Any = load(f"{EXAMPLE / 'system.py'}:{name}")
        bare = BareServer(system.scenario)
        process = Process(name, system.command, system.start_url, EXAMPLE, {}, 20.0)
        process.launch()
        with Runner(system) as runner:
            points = runner.horizon
            contestants: dict[str, Callable[[], object]] = {
                "fencecheck, judged": lambda: judge(runner.run()),
                "bare server": lambda: bare.episode(process.url),  # noqa: B023
            }
            measured: dict[str, list[tuple[float, float]]] = {each: [] for each in contestants}
            for _ in range(options.rounds):
                for each, once in contestants.items():
                    measured[each].append(rates(once, options.episodes))
        process.close()
        bare.stop()
        best = {each: [max(figures) for figures in zip(*found, strict=True)] for each, found in measured.items()}
        for each, (a_second, busy) in best.items():
            ours, ours_busy = best["fencecheck, judged"]
            print(
                f"  {name}, {points} points: {each:20} {a_second:7.1f} /s   {busy:7.1f} /s of processor time"
                f"   fencecheck / this: {ours / a_second:5.2f} and {ours_busy / busy:5.2f}"
            )


if __name__ == "__main__":
    main()
