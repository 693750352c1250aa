"""Well-formed but wild histories: a small world and agents that do most things right and anything wrong.

A history is played from plain numbers, `(world, steps, end)`: Hypothesis draws them in `histories()`, a seeded `random.Random` in
`random_history()`, so that both search the same space. Numbers are 0 to 11; low ones ask for the plain thing, high ones for the wild.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from fencecheck.history import History, How
from fencecheck.interleaving import CorruptParent, MissingParent, Outage, Restore, ToolFault, Update
from fencecheck.model import Action, Scenario

from .book import FRESH, Book

SIDES = 12
Step = tuple[str, int, int, int, int]

WEIGHTS = {
    "whole": 16,
    "unplanned": 5,
    "plan": 9,
    "check": 9,
    "act": 12,
    "update": 9,
    "read": 4,
    "head": 5,
    "memory": 5,
    "fetch": 3,
    "derive": 5,
    "mark": 3,
    "outage": 3,
    "restore": 2,
    "lose": 2,
    "tool_fault": 2,
    "pause": 2,
    "restart": 2,
    "replan_event": 2,
    "halted": 1,
    "declared": 1,
    "deliver": 2,
    "store": 2,
    "seam": 1,
}
KINDS = [kind for kind, weight in WEIGHTS.items() for _ in range(weight)]
HOWS: list[How] = [*["returned"] * 5, *["halted"] * 5, "crashed", "stuck"]  # type: ignore[list-item]
VALUES: list[Any] = [
    lambda n: f"place {n}",
    lambda n: {"city": f"town {n}", "zip": [n, n + 100]},
    lambda n: 1000 + n,
    lambda n: {"city": f"town {n}", "floor": n},
    lambda n: [f"street {n}", n],
    lambda n: frozenset({f"tag {n}", "urgent"}),
]
"""What the values of a key look like: texts, nested, numbers, flat, lists, sets."""


def histories() -> st.SearchStrategy[History]:
    """Histories as Hypothesis draws and shrinks them; the simplest is that of an agent that does nothing and returns."""
    side = st.integers(0, SIDES - 1)
    world = st.tuples(*[side] * 13)
    steps = st.lists(st.tuples(st.sampled_from(KINDS), side, side, side, side), max_size=14)
    return st.builds(play, world, steps, side)


def random_history(rng: random.Random) -> History:
    """A history of independent draws."""
    side = lambda: rng.randrange(SIDES)  # noqa: E731
    steps = [(rng.choice(KINDS), side(), side(), side(), side()) for _ in range(rng.randrange(2, 15))]
    return play([side() for _ in range(13)], steps, side())


def play(world: Sequence[int], steps: Sequence[Step], end: int) -> History:
    """The history in which these steps happen in this world."""
    player = Player(world)
    for kind, *numbers in steps:
        getattr(player, kind)(*numbers)
    return player.book.ended(HOWS[end])


def scenario_of(world: Sequence[int]) -> Scenario:
    """1 to 3 keys and agents, 1 or 2 owners and actions."""
    keys = ("a", "b", "c")[: 1 + world[0] % 3]
    split = 1 if world[1] % 2 and len(keys) > 1 else len(keys)
    owners = {"north": keys[:split], "south": keys[split:]}
    shared = world[11] >= 9
    shape = world[12] // 2
    values = {
        key: [VALUES[(shape + (0 if shared else n)) % len(VALUES)](version) for version in range(1, 30)] for n, key in enumerate(keys)
    }
    main = Action(
        "ship",
        depends_on=(lambda args: keys) if world[2] == 11 else keys[: 1 + world[2] % len(keys)],
        declared=keys[-1:] if world[3] == 11 else keys[:1] if world[3] >= 9 else None,
        writes=keys[-1:] if world[4] >= 8 else (),
        times=2 if world[5] >= 9 else 1,
        replans=(1, 0, 2)[world[6] % 3],
    )
    second = Action("bill", depends_on=keys[-1:], writes=keys[:1] if world[4] == 11 else (), replans=world[6] % 2)
    actions = [main, second] if world[7] >= 7 else [main]
    return Scenario(owners, actions, values=values, agents=("ann", "bob", "cat")[: 1 + (world[8] >= 5) + (world[8] >= 10)])


class Player:
    """A world in which steps happen, and what its agents remember of it."""

    def __init__(self, world: Sequence[int]) -> None:
        scenario = scenario_of(world)
        dropped = [(scenario.actions[0].name, scenario.keys[-1])] if world[9] >= 10 else []
        self.book = Book(scenario=scenario, dropped=dropped, own_store=world[10] >= 10)
        self.modes: dict[str, str] = {}
        self.lost: dict[str, Any] = {}
        self.fault: Any = None
        self.remembered: dict[str, str] = {}
        self.served: dict[str, dict[str, str]] = {agent: {} for agent in scenario.agents}
        self.plans: list[str] = []
        self.split = world[8] >= 8
        self.sends = ("inside", "whole", "in a set")[world[12] % 3]

    # Choices

    def key(self, n: int) -> str:
        return self.book.scenario.keys[n % len(self.book.scenario.keys)]

    def agent(self, n: int) -> str:
        agents = self.book.scenario.agents
        return agents[-1] if n >= 9 else agents[len(agents) // 2] if n >= 6 else agents[0]

    def action(self, n: int) -> Action:
        actions = self.book.scenario.actions
        return actions[-1] if n >= 7 else actions[0]

    def version(self, key: str, n: int) -> str:
        """A version of `key`, the newest first."""
        versions = self.book.versions[key]
        return versions[-1 - n % len(versions)]

    def lineage(self, plan: str) -> list[str]:
        """The records that a plan is made of, breadth first."""
        found = [plan]
        for id in found:
            parents = self.book.records[id].parents if id in self.book.records else ()
            found += [parent for parent in parents if parent not in found]
        return found

    # The world

    def update(self, a: int, b: int, c: int, d: int) -> None:
        if b >= 10:
            self.book.update(self.key(a), removed=True)
        elif b >= 7:
            again = self.version(self.key(a), 1 + c)
            self.book.update(self.key(a), again=again, removed=self.book.records[again].removed)
        elif b == 6 and c >= 8:
            self.book.land(Update(self.key(a)), fired=False, version=self.version(self.key(a), 1))
        else:
            self.book.update(self.key(a))

    def store(self, a: int, b: int, c: int, d: int) -> None:
        if self.book.own_store and b == 8:
            self.book.commit_unseen(self.key(a))
        elif self.book.own_store:
            value = self.book.value(self.version(self.key(a), 1)) if b >= 9 else FRESH
            writers = (None, *self.book.scenario.agents)
            self.book.store(self.key(a), value, by=writers[c % len(writers)])

    def deliver(self, a: int, b: int, c: int, d: int) -> None:
        self.book.deliver(self.key(a))
        self.remembered[self.key(a)] = self.book.current(self.key(a))

    def outage(self, a: int, b: int, c: int, d: int) -> None:
        owner = self.book.scenario.owner_of(self.key(a)) or ""
        how = ("older-head", "refuse", "malformed", "wrong-key", "hang", "older-head")[b % 6]
        self.modes[owner] = how
        self.book.land(Outage(owner, how))  # type: ignore[arg-type]

    def restore(self, a: int, b: int, c: int, d: int) -> None:
        owner = self.book.scenario.owner_of(self.key(a)) or ""
        self.book.land(Restore(owner), fired=self.modes.pop(owner, None) is not None)

    def lose(self, a: int, b: int, c: int, d: int) -> None:
        if not self.plans:
            return
        ids = self.lineage(self.plans[-1])
        id = ids[a % len(ids)]
        self.lost[id] = "corrupt" if b >= 8 else "missing"
        self.book.land(CorruptParent(1) if b >= 8 else MissingParent(1), record=id)

    def tool_fault(self, a: int, b: int, c: int, d: int) -> None:
        how = ("lost-reply", "refuse", "precondition-failed")[b % 3]
        self.fault = ("halted" if c >= 9 else "refused") if how == "refuse" else how
        self.book.land(ToolFault(self.action(a).tool, how))  # type: ignore[arg-type]

    def restart(self, a: int, b: int, c: int, d: int) -> None:
        self.book.restart(self.agent(a), fired=b < 10)

    def replan_event(self, a: int, b: int, c: int, d: int) -> None:
        agent = self.agent(a)
        self.book.replan_event(fired=b < 10)
        if b < 10:
            keys = self.action(c).declared_keys({})
            parents = [v for key in keys for v in [self.ask("read", key, agent, d, in_event=True)] if v]
            self.plans.append(self.book.derive(*parents, by=agent, in_event=True))
        if d >= 10:
            self.book.memory(self.key(d), self.version(self.key(d), 0), by=agent, in_event=True)
            self.book.fetch(self.plans[-1] if self.plans else "ghost", "missing", by=agent, in_event=True)

    # The agents

    def ask(self, port: str, key: str, agent: str, how: int, in_event: bool = False) -> str | None:
        """Read or head, as the owner answers now, or wildly."""
        call = getattr(self.book, port)
        mode = self.modes.get(self.book.scenario.owner_of(key) or "")
        if how == 11:
            call(key, "ghost", by=agent, in_event=in_event)
            return None
        if how == 10:
            mode = "refuse"
        if mode in ("refuse", "hang", "malformed", "wrong-key"):
            answer = "refused" if mode == "refuse" else mode
            call(key, "a1" if mode == "wrong-key" else None, answer=answer, by=agent, in_event=in_event)
            return None
        served = self.version(key, 1 if mode == "older-head" else how if how == 9 else 0)
        call(key, served, by=agent, in_event=in_event)
        if not in_event:
            self.served[agent][key] = served
        return served

    def read(self, a: int, b: int, c: int, d: int) -> None:
        self.ask("read", self.key(a), self.agent(b), c)

    def head(self, a: int, b: int, c: int, d: int) -> None:
        self.ask("head", self.key(a), self.agent(b), c)

    def memory(self, a: int, b: int, c: int, d: int) -> None:
        key, agent = self.key(a), self.agent(b)
        found = self.version(key, d) if c >= 9 else self.version(key, 0) if c >= 4 else self.remembered.get(key)
        self.book.memory(key, found, by=agent)
        if found:
            self.served[agent][key] = found

    def fetch(self, a: int, b: int, c: int, d: int) -> None:
        ids = self.lineage(self.plans[-1]) if self.plans and c < 9 else list(self.book.records)
        id = ids[a % len(ids)]
        self.book.fetch(id, self.lost.get(id, "missing" if c == 8 or id not in self.book.records else "ok"), by=self.agent(b))

    def derive(self, a: int, b: int, c: int, d: int) -> None:
        agent = self.planner(b)
        parents = self.parents(agent, a, d)
        if c >= 10:
            key = "note" if c == 10 else self.key(d)
            self.plans.append(self.book.derive(*parents, key=key, value=f"made {len(self.book.records)}", by=agent))
        else:
            self.plans.append(self.book.derive(*parents, by=agent))

    def parents(self, agent: str, a: int, d: int) -> list[str]:
        """What a record is derived from: what was served, the last plan, two versions of one key, a diamond, anything, nothing known."""
        everything = list(self.book.records)
        last = self.plans[-1:]
        if a < 4:
            return list(self.served[agent].values())
        if a < 6:
            return last
        if a == 6:
            return [*last, self.version(self.key(d), d // 3)]
        if a == 7:
            return self.plans[-2:]
        if a == 8:
            return [*last, *self.served[agent].values()]
        if a == 9:
            return [self.version(self.key(d), 0), self.version(self.key(d), 1)]
        if a == 10:
            return [everything[d % len(everything)], everything[-1 - d % len(everything)]]
        return [*last, "ghost"]

    def planner(self, n: int) -> str:
        """Who plans: where planners and executors are apart, any agent but the last."""
        agents = self.book.scenario.agents
        return agents[n % (len(agents) - 1)] if self.split else self.agent(n)

    def executor(self, n: int) -> str:
        """Who checks and acts: where planners and executors are apart, the last agent for the most part."""
        return self.agent(n + 9 if n < 9 else n - 9) if self.split else self.agent(n)

    def plan(self, a: int, b: int, c: int, d: int) -> None:
        """Read the keys of an action and derive a plan from them, over one to three generations."""
        agent = self.planner(b)
        read = {key: self.ask("read", key, agent, 0) for key in self.action(a).true_keys({})}
        plan = self.book.derive(*[version for version in read.values() if version], by=agent)
        for _ in range((0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2)[c]):
            plan = self.book.derive(plan, by=agent)
        if d >= 10:
            plan = self.book.derive(plan, *[version for version in read.values() if version][:1], by=agent)
        self.plans.append(plan)

    def check(self, a: int, b: int, c: int, d: int) -> None:
        """Ask for the head of each declared key and mark; an update between, a fetch of the lineage, no mark, or a partial one."""
        agent, action = self.executor(b), self.action(a)
        keys = self.book.scenario.declared(action, self.book.dropped)
        for n, key in enumerate(keys):
            self.ask("head", key, agent, 0)
            if n == 0 and c >= 9:
                self.update(c, d, 1, 1)
        if c in (7, 8) and self.plans:
            for id in self.lineage(self.plans[-1]):
                self.book.fetch(id, self.lost.get(id, "ok" if id in self.book.records else "missing"), by=agent)
        if d < 9:
            self.book.validated(*keys, by=agent) if keys else None
        elif d == 9:
            self.book.validated(*keys[:1], by=agent) if keys else None

    def whole(self, a: int, b: int, c: int, d: int) -> None:
        """Plan, check and act, with one thing happening in between."""
        self.plan(a, b, d, d)
        if c in (1, 2, 5):
            self.update(d, 0, 0, 0)
        if c == 2:
            self.outage(d, 0, 0, 0)
        if c == 5:
            self.update(d, 7, 0, 0)
        if c == 6:
            self.lose(d, d, 0, 0)
        if c == 9:
            self.replan_event(b, 0, a, d)
        if c == 11:
            self.outage(d, d, 0, 0)
        self.check(a, b, {3: 9, 6: 7}.get(c, 0), d if d < 9 else 0)
        if c == 4:
            self.update(d, d, d, 0)
        if c in (1, 2) and d >= 8:
            self.update(d, 7, 0, 0)
        if c == 7:
            self.pause(b, 0, 0, 0)
        if c == 8:
            self.restart(b, 0, 0, 0)
        if c == 10:
            self.plan(a, b, 0, 0)
            self.check(a, b, 0, 0)
        self.act(a, b, (c + d) % 9, d)

    def unplanned(self, a: int, b: int, c: int, d: int) -> None:
        """Act without a plan, on what was read, remembered or fetched; with a mark before or after, a change in between, or both."""
        key, agent = self.key(a), self.executor(b)
        if c % 3 == 0:
            self.mark(a, b, 0, 0)
        if d % 4 == 0:
            self.ask("read", key, agent, 0)
        elif d % 4 == 1:
            self.book.memory(key, self.version(key, 0), by=agent)
        elif d % 4 == 2:
            self.book.fetch(self.version(key, 0), by=agent)
        else:
            self.book.memory(key, by=agent)
        self.served[agent][key] = self.version(key, 0)
        if c >= 6:
            self.update(a, 0, 0, 0)
        if c % 3 == 1:
            self.mark(a, b, 0, 0)
        self.act(a, b, 5 if d < 8 else 6, 9 if c == 11 else 0)

    def mark(self, a: int, b: int, c: int, d: int) -> None:
        keys = self.book.scenario.keys
        self.book.validated(*(keys if c < 6 else keys[a % len(keys) :]), by=self.agent(b))

    def pause(self, a: int, b: int, c: int, d: int) -> None:
        self.book.pause(self.agent(a))

    def seam(self, a: int, b: int, c: int, d: int) -> None:
        self.book.point(self.agent(a))

    def halted(self, a: int, b: int, c: int, d: int) -> None:
        self.book.halted(self.agent(a))

    def declared(self, a: int, b: int, c: int, d: int) -> None:
        self.book.declared(self.action(a).name, self.agent(b))

    def act(self, a: int, b: int, c: int, d: int) -> None:
        action, agent = self.action(a), self.executor(b)
        more = {**self.how_said(action, agent, c, d), **self.how_sent(action, c, d)}
        if self.fault:
            more["outcome"], self.fault = self.fault, None
        self.book.act(action.name, by=agent, **more)

    def how_said(self, action: Action, agent: str, c: int, d: int) -> dict[str, Any]:
        """What says what the act was made from."""
        last = self.plans[-1] if self.plans else None
        served = self.served[agent]
        if c < 3:
            return {"plan": last}
        if c == 3:
            return {"plan": last, "args": self.args(self.versions_of(last))}
        if c == 4:
            return {"plan": last, "args": self.args(served), "basis": served}
        if c == 5:
            return {"basis": served}
        if c == 6:
            return {"args": self.args(served)}
        if c == 7:
            return {"plan": self.plans[d % len(self.plans)] if self.plans else "ghost", "args": self.args(served)}
        if c == 8:
            return {"args": self.args({key: self.version(key, d) for key in self.book.scenario.keys}), "basis": served}
        if c == 9:
            return {"plan": last, "versions": {key: tuple({self.version(key, d), self.version(key, d // 4)}) for key in list(served)[:2]}}
        if c == 10:
            named = self.version(self.key(d if d < 8 else d + 1), d // 4)
            return {"plan": ("ghost", self.version(self.key(d), d))[d % 2], "basis": {self.key(d): named}}
        return {}

    def how_sent(self, action: Action, c: int, d: int) -> dict[str, Any]:
        """How the tool is called, and what it says."""
        keys = self.book.scenario.keys
        if d == 6:
            return {"outcome": "lost-reply", "idempotency_key": "k"}
        if d in (7, 8):
            return {"idempotency_key": "k"}
        if d == 9:
            return {"expect": {key: self.book.current(key) for key in keys[: 1 + c % 3]}}
        if d == 10:
            return {"expect": {key: self.version(key, c % 2) for key in keys[-1:]}}
        if d == 11:
            return {"depends_on": keys[: 1 + c % 3], **({"declared": keys[-1:]} if c >= 8 else {})}
        return {}

    def versions_of(self, plan: str | None) -> dict[str, str]:
        """One version of each key that a plan is made of."""
        ids = self.lineage(plan) if plan else []
        return {self.book.records[id].key: id for id in ids if id in self.book.records and self.book.records[id].key in self.book.versions}  # type: ignore[misc]

    def args(self, versions: Mapping[str, str]) -> dict[str, Any]:
        """Arguments that carry the values of `versions`: in a dict and in a list within it, the first one whole, or in a set."""
        values = [self.book.value(version) for version in versions.values() if self.book.value(version) is not None]
        if self.sends == "whole" and values:
            return values[0]  # type: ignore[no-any-return]
        if self.sends == "in a set":
            plain = [value for value in values if not isinstance(value, dict | list)]
            return {"to": set(plain), "lines": tuple(value for value in values if value not in plain)}
        return {"to": values[0] if values else "nowhere", "lines": [{"is": value} for value in values[1:]], "count": 1}
