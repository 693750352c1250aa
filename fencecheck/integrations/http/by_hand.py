"""The service started by hand, to develop an agent against: one world, events on request, and a reset that says what was found."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NoReturn
from urllib.parse import quote

import msgspec

from fencecheck.errors import BadInput, FencecheckError
from fencecheck.history import History, is_point
from fencecheck.integrations.http import wire
from fencecheck.integrations.http.service import BY_HAND, LOOPBACK, Pending, Service
from fencecheck.integrations.http.system import serve
from fencecheck.interleaving import What
from fencecheck.model import Scenario
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.simulate import Runner

_NO_END = 1_000_000_000


class _Hand:
    """What goes on from one episode to the next.

    Args:
        service: begun already.
        refusal: what an owner that refuses does.

    Attributes:
        reset: the request that ends the episode, once it is there.
        found: what it is answered with, once the next episode has begun.
    """

    def __init__(self, service: Service, refusal: str) -> None:
        self.service, self.refusal = service, refusal
        self.reset: Pending | None = None
        self.found: object = None


class _ByHand(AgentSystem):
    """An episode that goes on until it is reset."""

    max_points = _NO_END

    def __init__(self, hand: _Hand) -> None:
        self.hand = hand

    def run(self) -> None:
        hand = self.hand
        episode = hand.service.begin()
        if hand.reset is not None:
            hand.reset.answer(wire.json(hand.found))
            hand.reset = None
        try:
            while hand.reset is None:
                came = episode.next(None)
                if isinstance(came, Pending):
                    self._answer(came)
        finally:
            hand.service.end(episode)

    def _answer(self, came: Pending) -> None:
        if came.call.port == "reset":
            self.hand.reset = came
        elif came.call.port == "events":
            try:
                self._land(wire.body(came.call.body, What))  # type: ignore[arg-type]
                came.answer(wire.Answer(202))
            except (wire.BadRequest, FencecheckError) as error:
                came.answer(wire.problem(400, str(error)))
        else:
            with suppress(FencecheckError):  # which the client was told
                serve(self.kit, came, self.hand.refusal)
            self.kit._refused = None

    def _land(self, what: What) -> None:
        """The event lands before the next point, whichever that is."""
        kit = self.kit
        kit._landing._pending.append((sum(map(is_point, kit._log)), what))
        kit._next = 0


def serve_by_hand(
    scenario: Scenario,
    say: Callable[[str], None],
    told: Callable[[History], object],
    *,
    host: str = LOOPBACK,
    port: int = 0,
    token: str | None = None,
    refusal: str = "reset",
) -> NoReturn:
    """Serves one world after the other, until interrupted.

    Args:
        scenario: the world.
        say: prints a line of the introduction.
        told: what a reset is answered with, of the episode that it ends.
        host, port, token: as in `Service`.
        refusal: what an owner that refuses does: `reset` the connection, or answer `503`.

    Raises:
        BadInput: the service cannot listen there, or no header can carry the token.
    """
    if token is not None and not (token and token.isascii() and token.isprintable() and token.strip() == token):
        raise BadInput("--token must be a text without blanks at its ends, which a header can carry: leave it out for one that is made up")
    service = Service(host, port, token, by_hand=True).start()
    try:
        for line in introduction(service, scenario):
            say(line)
        hand = _Hand(service, refusal)
        runner = Runner(lambda: _ByHand(hand), scenario)
        while True:
            hand.found = told(runner.run())
    finally:
        service.stop()


def introduction(service: Service, scenario: Scenario) -> Iterator[str]:
    """What somebody needs to know who has just started the service."""
    base = f"{service.url}/episodes/{BY_HAND}"
    key, action = scenario.keys[0], scenario.actions[0]
    yield f"base URL  {base}"
    yield f"token     {service.token}"
    yield f"keys      {', '.join(scenario.keys)}"
    actions = [f"{each.name} (depends on {', '.join(each.depends_on) or 'its arguments'})" for each in scenario.actions]
    yield f"actions   {', '.join(actions)}"
    yield ""
    yield "In another shell:"
    yield ""
    curl = f"curl -sS -H {shlex.quote(f'authorization: Bearer {service.token}')}"
    at = quote(key, safe="")
    for what, options, url in (
        ("the current record of a key; its ETag is its id", "-i", f"{base}/keys/{at}"),
        ("the id alone", "-I", f"{base}/keys/{at}"),
        ("a record by its id", "", f"{base}/records/{quote(f'{key}@1', safe='')}"),
        ("a plan, and what it was made from", "-d " + _quoted({"value": {"to": "Tokyo"}, "parents": [f"{key}@1"]}), f"{base}/records"),
        (
            "a new version of a key, if it is still this one",
            f"-X PUT -H {_if_match(key)} -d " + _quoted({"value": "x"}),
            f"{base}/keys/{at}",
        ),
        ("what the agent remembers", "", f"{base}/memory/{at}"),
        ("the keys that a tool is declared to depend on", "-X POST", f"{base}/declared/{quote(action.name, safe='')}"),
        ("the mark, a halt, a wait, any other seam", "-d " + _quoted({"keys": [key]}), f"{base}/validated"),
        ("", "-d " + _quoted({"reason": "changed"}), f"{base}/halted"),
        ("", "-d " + _quoted({"label": "approval"}), f"{base}/pause"),
        ("", "-d " + _quoted({"label": "queue"}), f"{base}/point"),
        (
            "a tool, on condition, and once only",
            f"-H {_if_match(key)} -H 'idempotency-key: 1' -d " + _quoted({"args": {"to": "Tokyo"}, "plan": "p1"}),
            f"{base}/actions/{quote(action.name, safe='')}",
        ),
        ("an event, before the next call", "-d " + _quoted({"type": "update", "key": key}), f"{service.url}/events"),
        ("a new world; says what was found in this one", "-X POST", f"{service.url}/reset"),
    ):
        if what:
            yield f"  # {what}"
        yield "  " + " ".join(part for part in (curl, options, shlex.quote(url)) if part)


def _quoted(body: object) -> str:
    return shlex.quote(msgspec.json.encode(body).decode())


def _if_match(key: str) -> str:
    return shlex.quote(f"if-match: {wire.etag(f'{key}@1')}")
