"""The service started by hand, to develop an agent against: one world, events on request, and a reset that says what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import ClassVar, NoReturn

import msgspec
from msgspec.structs import replace

from fencecheck.errors import BadInput, FencecheckError, alike
from fencecheck.history import History, is_point
from fencecheck.integrations.http import wire
from fencecheck.integrations.http.introduction import introduction
from fencecheck.integrations.http.service import LOOPBACK, Episode, Pending, Service
from fencecheck.integrations.http.system import serve
from fencecheck.interleaving import CORRUPT_HOWS, KINDS, OUTAGE_HOWS, TOOL_HOWS, UPDATE_HOWS, MissingParent, What
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
        on: the episode that is on, before its own thread knows of it.
        reset: the request that ends the episode, once it is there.
        found: what it is answered with, once the next episode has begun.
    """

    def __init__(self, service: Service, refusal: str) -> None:
        self.service, self.refusal = service, refusal
        self.on: Episode | None = service.begin()
        self.reset: Pending | None = None
        self.found: object = None


class _ByHand(AgentSystem):
    """An episode that goes on until it is reset. A subclass names the `hand`."""

    name = "the client"
    max_points = _NO_END
    hand: ClassVar[_Hand]

    def run(self) -> None:
        hand = self.hand
        episode, hand.on = hand.on or hand.service.begin(), None
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
                what = asked_for(came.call.body, self.kit.scenario)
            except (wire.BadRequest, BadInput) as error:
                came.answer(wire.problem(400, str(error)))
            else:
                self._land(what)
                came.answer(wire.json({"event": what, "lands": "right before the next call"}, 202))
        else:
            with suppress(FencecheckError):  # which the client was told
                serve(self.kit, came, self.hand.refusal)
            self.kit._refused = None

    def _land(self, what: What) -> None:
        """The event lands before the next point, whichever that is."""
        kit = self.kit
        kit._landing._pending.append((sum(map(is_point, kit._log)), what))
        kit._next = 0


def asked_for(body: bytes, scenario: Scenario) -> What:
    """The event that a body asks for.

    Raises:
        BadRequest: it is none, or one that cannot be sent by hand.
        BadInput: it names a key, an owner or a tool that there is not in this scenario.
    """
    said = wire.body(body, dict)
    kind = said.get("type")
    if kind not in SENT:
        shown = f"not {kind!r}" if "type" in said else 'such as {"type": "update", "key": ' + f'"{scenario.keys[0]}"' + "}"
        raise wire.BadRequest(f"the type of an event must be one of {', '.join(SENT)}, {shown}")
    for name, known in _NAMED.items():
        if name in KINDS[kind].__struct_fields__ and not isinstance(said.get(name), str):
            raise BadInput(f"{kind}: {name} must be one of {', '.join(known(scenario))}")
    if kind in _HOWS and said.get("how", _HOWS[kind][0]) not in _HOWS[kind]:
        raise BadInput(f"{kind}: how must be one of {', '.join(_HOWS[kind])}, not {said['how']!r}")
    try:
        what: What = msgspec.convert(said, What)
    except msgspec.ValidationError as error:
        raise wire.BadRequest(f"{kind}: {error}") from error
    for name, known in _NAMED.items():
        one = getattr(what, name, None)
        if isinstance(one, str):
            refuse_unknown(f"{kind}: there is no {name}", one, known(scenario))
    if isinstance(what, MissingParent) and isinstance(what.place, str):
        refuse_unknown(f"{kind}: place is a number, or a key, and there is no key", what.place, scenario.keys)
    return what


SENT: tuple[str, ...] = tuple(kind for kind in KINDS if kind not in ("switch", "advance", "restart", "replan"))
"""The kinds of event that can be sent by hand: all but those that need a scheduler or a hook of the system."""
_HOWS: dict[str, tuple[str, ...]] = {
    "update": UPDATE_HOWS,
    "outage": OUTAGE_HOWS,
    "corrupt-parent": CORRUPT_HOWS,
    "tool-fault": TOOL_HOWS,
}
_NAMED: dict[str, Callable[[Scenario], Iterable[str]]] = {
    "key": lambda scenario: scenario.keys,
    "owner": lambda scenario: scenario.owners,
    "tool": lambda scenario: [action.name for action in scenario.actions],
}


def refuse_unknown(what: str, one: str, known: Iterable[str]) -> None:
    """Says of a name that it is none of those that are known.

    Raises:
        BadInput: it is not.
    """
    if one not in known:
        like = alike(one, known)
        raise BadInput(f"{what} {one!r}: {f'did you mean {like!r}? ' if like is not None else ''}known are {', '.join(known)}")


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
        made = type("ByHand", (_ByHand,), {"hand": _Hand(service, refusal)})
        for line in introduction(service, scenario):  # from now on whoever asks is answered
            say(line)
        hand = made.hand  # type: ignore[attr-defined]
        runner = Runner(made, replace(scenario, update_hows={}))  # which a store of the system's own would carry out
        while True:
            hand.found = told(runner.run())
    finally:
        service.stop()
