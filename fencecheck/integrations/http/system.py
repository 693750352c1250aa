"""`HttpSystem`: the adapter of a system in another process, in whatever language, which reaches the world over HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from fencecheck.errors import BadInput, FencecheckError
from fencecheck.integrations.http import ports, wire
from fencecheck.integrations.http.process import PORT, Process
from fencecheck.integrations.http.service import LOOPBACK, Ended, Episode, Pending, Service
from fencecheck.run.adapter import AgentSystem, name_of
from fencecheck.run.faults import EpisodeOver
from fencecheck.run.kit import Kit

REFUSALS = ("reset", "503")
OWN_ORDER = "the order of requests that are under way together is the system's own"
_MOST_SHOWN = 200
_DIES_S = 1.0
_PART_OF_A_WAIT = 0.8
_REQUESTS_FOR_EACH_POINT = 4  # statements and what is refused are requests too, and no points


class SystemFailed(Exception):
    """The start URL was answered with an error, or not at all: the system crashed."""


class HttpSystem(AgentSystem):
    """A system that runs in a process of its own. Give it a `scenario`, a `command` and a `start_url`, and no methods.

    Once per worker the process is launched and the service begins to listen. For each episode the start URL is sent a POST with a JSON
    object: `base_url`, which the URLs of all requests of this episode begin with; `token`, the bearer token that each must carry;
    `episode`, a name of the episode that is the same after a restart; `restarted`, whether this is one; `agents` and `actions` of the
    scenario. The system runs one episode and answers: with any 2xx status when it is done, and with `{"halted": "why"}` where it halted
    without posting that to `/halted`. Any other status, or none, is a crash.

    Class attributes:
        command: the program and its arguments. `{port}` stands for a free port, which is in the variable PORT too. Empty for a system that
            runs already: it cannot be restarted, and must answer at a fixed `start_url`.
        start_url: what is posted to; `{port}` likewise.
        folder: where the command is run; by default that of the file that defines the class.
        env: variables for the command besides those of this process.
        ready_s: seconds until the process has to listen, and at most four fifths of `timeout_s`.
        output: a file, from that folder, to whose end what the process writes is added; by default it is thrown away, but for what is told
            of a crash.
        timeout_s: seconds that may pass between two requests of an episode; then it is `stuck`.
        refusal: what an owner that refuses does: `reset` (the connection, since a closed port would not let anybody see what was asked) or `503`.
        host: the address of the service. Any but a loopback address lets others on the network in, who need the token.
    """

    command: ClassVar[Sequence[str]] = ()
    start_url: ClassVar[str] = f"http://{LOOPBACK}:{PORT}/start"
    folder: ClassVar[str | Path | None] = None
    env: ClassVar[Mapping[str, str]] = {}
    ready_s: ClassVar[float] = 20.0
    output: ClassVar[str | Path | None] = None
    refusal: ClassVar[str] = "reset"
    host: ClassVar[str] = LOOPBACK
    own_order = OWN_ORDER
    restart: ClassVar[Any] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.command:
            cls.restart = None  # nobody can relaunch what somebody else has launched
        elif cls.restart is None:
            cls.restart = HttpSystem._relaunch

    # -- once per worker --------------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Starts the service, and the process."""
        self.service: Service | None = None
        self.process: Process | None = None
        self.episodes = 0
        self._refuse_attributes()
        self.service = Service(self.host).start()
        if self.command:
            folder = self._folder()
            output = None if self.output is None else folder / self.output
            ready_s = min(self.ready_s, _PART_OF_A_WAIT * self.timeout_s)  # else it were stuck before it is told what it lacks
            self.process = Process(name_of(self), self.command, self.start_url, folder, self.env, ready_s, output, self.service.address[0])
            self.process.launch()

    def shutdown(self) -> None:
        """Kills the process and stops the service."""
        if self.process is not None:
            self.process.close()
        if self.service is not None:
            self.service.stop()

    def _refuse_attributes(self) -> None:
        name = name_of(self)
        if isinstance(self.command, str) or not all(isinstance(part, str) for part in self.command):
            raise BadInput(f'{name}: command must be a list such as ["node", "agent.js"], not {self.command!r}')
        if self.command and os.name != "posix":
            raise BadInput(f"{name}: processes are launched on POSIX systems only: start it yourself, leave command empty, give start_url")
        if not self.command and PORT in self.start_url:
            raise BadInput(f"{name}: without a command, start_url must say where the system listens, and holds {PORT}: give the port")
        if self.refusal not in REFUSALS:
            raise BadInput(f"{name}: refusal must be one of {', '.join(REFUSALS)}, not {self.refusal!r}")

    def _folder(self) -> Path:
        if self.folder is not None:
            return Path(self.folder)
        file = getattr(sys.modules.get(type(self).__module__), "__file__", None)
        return Path(file).resolve().parent if file else Path.cwd()

    # -- one episode ------------------------------------------------------------------------------------------------------------------

    def setup(self, kit: Kit) -> None:
        """A new episode; a process that has gone, or that the last one left stuck, is launched anew."""
        super().setup(kit)
        worker = self.worker
        worker.episodes += 1
        self.restarts = 0
        if worker.process is not None:
            worker.process.tidy()
            if not worker.process.alive:
                worker.process.kill()
                worker.process.launch()

    def _relaunch(self) -> None:
        """A `Restart` event: the process is killed and launched again. What it wrote to disk is there, what it held is gone."""
        self.restarts += 1
        self.worker.process.kill()
        self.worker.process.launch()

    def run(self) -> None:
        """Posts to the start URL, and answers what is asked until it answers in its turn."""
        service, process = self.worker.service, self.worker.process
        episode = service.begin()
        try:
            service.post(process.url if process is not None else self.start_url, self._start(episode), episode)
            for _ in range(_REQUESTS_FOR_EACH_POINT * self.max_points):
                if self._step(episode.next(self.timeout_s)):
                    return
            raise EpisodeOver(
                f"an answer of {self._url()}, which still asked after {_REQUESTS_FOR_EACH_POINT * self.max_points:,} requests"
            )
        except EpisodeOver:
            if process is not None:
                process.kill()  # it still works on what is over
            raise
        finally:
            service.end(episode)

    def _start(self, episode: Episode) -> bytes:
        """What is posted to the start URL."""
        return msgspec.json.encode(
            {
                "base_url": episode.base_url,
                "token": self.worker.service.token,
                "episode": f"{self.worker.episodes}",
                "restarted": self.restarts > 0,
                "agents": self.kit.scenario.agents,
                "actions": [action.name for action in self.kit.scenario.actions],
            }
        )

    def _step(self, came: Pending | Ended | None) -> bool:
        """Answers a request. True where it was none, but the end."""
        if came is None:
            raise EpisodeOver(f"nothing: no request came for {self.timeout_s:g} s, and no answer of {self._url()}")
        if isinstance(came, Ended):
            self._end(came)
            return True
        serve(self.kit, came, self.refusal)
        return False

    def _end(self, came: Ended) -> None:
        """The start URL was answered.

        Raises:
            SystemFailed: with an error, or the connection broke.
        """
        text = came.body.decode("utf-8", "replace")
        if came.status == 0:
            process = self.worker.process
            raise SystemFailed((process.ended(_DIES_S) if process is not None else "") or f"{self._url()} did not answer ({text})")
        if not 200 <= came.status < 300:
            raise SystemFailed(f"{self._url()} answered {came.status}{f': {text[:_MOST_SHOWN]}' if text else ''}")
        try:
            said = msgspec.json.decode(came.body) if came.body else None
        except (msgspec.DecodeError, RecursionError):
            return
        if isinstance(said, dict) and said.get("halted"):
            self.kit.halted("" if said["halted"] is True else str(said["halted"]))

    def _url(self) -> str:
        return str(self.start_url)


def serve(kit: Kit, pending: Pending, refusal: str) -> None:
    """Answers one request by its port. Whatever ends the episode resets its connection."""
    try:
        pending.answer(ports.answer(kit, pending.call, refusal=refusal))
    except FencecheckError as error:
        pending.answer(wire.problem(400, str(error)))
        raise
    except BaseException:
        pending.answer(wire.RESET)
        raise
