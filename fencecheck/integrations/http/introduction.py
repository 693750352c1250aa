"""What `fencecheck serve` prints: commands that work when they are pasted one after the other, from a first read to a finding."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from fencecheck.integrations.http import wire
from fencecheck.integrations.http.service import BY_HAND, Service
from fencecheck.model import Action, Scenario

_Shown = tuple[str, str, str]
"""What a command is for (nothing where that of the one before still says it), its options, and its URL."""


def introduction(service: Service, scenario: Scenario) -> Iterator[str]:
    """What somebody needs to know who has just started the service."""
    base = f"{service.url}/episodes/{BY_HAND}"
    yield f"base URL  {base}"
    yield f"token     {service.token}"
    yield f"keys      {', '.join(scenario.keys)}"
    actions = [f"{each.name} (depends on {', '.join(each.depends_on) or 'its arguments'})" for each in scenario.actions]
    yield f"actions   {', '.join(actions)}"
    walk = Walk(service.url, base, scenario)
    curl = f"curl -sS -H {shlex.quote(f'authorization: Bearer {service.token}')}"
    yield ""
    yield "In another shell, one after the other: a plan that goes out in time, and one that does not."
    yield ""
    yield from _commands(curl, walk.from_read_to_finding())
    yield ""
    yield "What else can be asked:"
    yield ""
    yield from _commands(curl, walk.what_else())
    yield ""
    yield "Ctrl-C ends it."


def _commands(curl: str, shown: Iterable[_Shown]) -> Iterator[str]:
    for what, options, url in shown:
        if what:
            yield f"  # {what}"
        yield "  " + " ".join(part for part in (curl, options, shlex.quote(url)) if part)


class Walk:
    """The commands for one scenario: with its own keys, its first values and its first action whose keys are known.

    Args:
        url: of the service.
        base: of the episode that is on.
        scenario: the world.
    """

    def __init__(self, url: str, base: str, scenario: Scenario) -> None:
        self.url, self.base, self.scenario = url, base, scenario
        self.action: Action = next((action for action in scenario.actions if not action.by_arguments), scenario.actions[0])
        self.keys = self.action.depends_on or scenario.keys[:1]
        values = {key: scenario.value_of(key, 1) for key in self.keys}
        short = {key: key.rpartition("/")[2] for key in self.keys}
        names = short if len(set(short.values())) == len(short) else {key: key for key in self.keys}
        self.args: dict[str, Any] = {"path": self.keys[0]} if self.action.by_arguments else {}  # as tools that work on files call it
        self.args.update({names[key]: value for key, value in values.items()})
        self.first = [f"{key}@1" for key in self.keys]
        tags = ", ".join(map(wire.etag, self.first))
        self.condition = f"-H {shlex.quote(f'if-match: {tags}')}"

    def from_read_to_finding(self) -> Iterator[_Shown]:
        """Two worlds: in one the plan is current, in the other it is not."""
        name = self.action.name
        yield from self._plan("1. the current record of a key; its ETag is its id", "2. a plan, and what it was made from")
        yield f"3. {name}, only if that is still current: 200, it is done", f"-i {self.condition} {self._call()}", self._at("actions", name)
        yield '4. a new world; of the old one it says "completed", and no finding', "-X POST", f"{self.url}/reset"
        yield from self._plan("5. the same plan in the new world", "")
        yield "6. an event, right before the next call: somebody changes the key", self._update(), f"{self.url}/events"
        yield f"7. {name}, if it is still current: 412, nothing is done", f"-i {self.condition} {self._call()}", self._at("actions", name)
        yield f"8. {name}, come what may: 200, it is done, with what was true before", f"-i {self._call()}", self._at("actions", name)
        yield '9. what was found: "stale-act"', "-X POST", f"{self.url}/reset"

    def what_else(self) -> Iterator[_Shown]:
        """Each port that the walk does not call, and the other events."""
        key, action = self.keys[0], self.action.name
        args = _data({"args": self.args} if self.action.by_arguments else {})
        yield "the id of the current record alone", "-I", self._at("keys", key)
        yield "a record by its id", "", self._at("records", self.first[0])
        yield "what the agent remembers", "", self._at("memory", key)
        yield "the keys that a tool is declared to depend on", args, self._at("declared", action)
        yield (
            "the mark, right before an act: these keys have just been validated",
            f"-i {_data({'keys': self.keys})}",
            f"{self.base}/validated",
        )
        yield "a wait of unknown length, and any other seam", f"-i {_data({'label': 'approval'})}", f"{self.base}/pause"
        yield "", f"-i {_data({'label': 'queue'})}", f"{self.base}/point"
        yield (
            "a tool, and once only: the same key has the same reply",
            f"-H 'idempotency-key: 1' {self._without_plan()}",
            self._at("actions", action),
        )
        new = f"-X PUT -H {shlex.quote(f'if-match: {wire.etag(self.first[0])}')} {_data({'value': 'x'})}"
        yield "a new version of a key, if it is still this one", new, self._at("keys", key)
        yield "it halts", f"-i {_data({'reason': 'changed'})}", f"{self.base}/halted"
        for what, event in self._events():
            yield what, _data(event), f"{self.url}/events"

    def _events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        owner = next(owner for owner, keys in self.scenario.owners.items() if self.keys[0] in keys)
        yield "further events: an owner that does not answer, and that does again", {"type": "outage", "owner": owner, "how": "refuse"}
        yield "", {"type": "restore", "owner": owner}
        yield "a tool that is done and whose reply is lost", {"type": "tool-fault", "tool": self.action.name, "how": "lost-reply"}
        yield (
            "a record that cannot be read any more, and one with parents that are not its own",
            {"type": "missing-parent", "place": self.keys[0]},
        )
        yield "", {"type": "corrupt-parent", "place": 0, "how": "dangling"}

    def _plan(self, reads: str, plans: str) -> Iterator[_Shown]:
        for i, key in enumerate(self.keys):
            yield reads if i == 0 else "", "-i", self._at("keys", key)
        yield plans, _data({"value": self.args, "parents": self.first}), f"{self.base}/records"

    def _call(self) -> str:
        return _data({"args": self.args, "plan": "p1"})

    def _without_plan(self) -> str:
        return _data({"args": self.args})

    def _update(self) -> str:
        return _data({"type": "update", "key": self.keys[0]})

    def _at(self, place: str, about: str) -> str:
        return f"{self.base}/{place}/{quote(about, safe='')}"


def _data(body: object) -> str:
    return "-d " + shlex.quote(msgspec.json.encode(body).decode())
