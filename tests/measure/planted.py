"""Generated agent systems of which it is known what each of their two actions really depends on."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any, NamedTuple

from fencecheck import Action, AgentSystem, Kit, Scenario
from fencecheck.model import Record

KEYS = tuple("abcdefgh")
ACTIONS = ("ship", "bill")
OF_ONE_ACTION = ("sent", "lineage", "remembered", "threshold", "version")
OF_BOTH = ("guard", "breaks", "order")
OF_NONE = ("read", "asked", "never")
STORES = ("kit", "asyncio", "seeded", "filled", "quiet")
"""Who holds the versions: the kit, in a sync or an asyncio system; or the system's own store, which the kit fills, or which is full by itself,
or which is full and read past the ports."""


class Planted(NamedTuple):
    """A system and the keys on which each action really depends."""

    system: type[AgentSystem]
    real: dict[str, set[str]]
    declared: dict[str, set[str]]
    believed: dict[str, set[str]]


class Plan(NamedTuple):
    """What a generated agent does.

    Args:
        ways: what it does with each key.
        of: the action for which it does it, where that is one.
        both: two keys that matter to that action only if neither has its first value.
        gate: a key that says whether the second one is looked at.
        depth: derived records between what was read and the act.
    """

    ways: dict[str, str]
    of: dict[str, str]
    both: tuple[str, ...]
    gate: tuple[str, ...]
    depth: int
    first: dict[str, int]

    def real(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {action: set() for action in ACTIONS}
        for key, way in self.ways.items():
            for action in ACTIONS:
                if way in OF_BOTH or (self.of[key] == action and way in (*OF_ONE_ACTION, "branch")):
                    found[action].add(key)
        for keys in (self.both, self.gate):
            for key in keys:
                found[self.of[keys[0]]].add(key)
        return found


def planted(number: int) -> Planted:
    """The system of that number: 1 to 8 keys, each of which does what agents do with what they read; declarations too small or too large."""
    chance = Random(number)
    keys = KEYS[: 1 + number % 8]
    ways = {key: chance.choice([*OF_ONE_ACTION, *OF_BOTH, *OF_NONE, *OF_NONE, "branch"]) for key in keys}
    of = {key: "bill" if way == "branch" else chance.choice(ACTIONS) for key, way in ways.items()}
    left = [key for key in keys if ways[key] in OF_NONE]
    chance.shuffle(left)
    both = tuple(left[:2]) if len(left) > 1 and chance.random() < 0.7 else ()
    gate = tuple(left[2:4]) if len(left) > 3 and chance.random() < 0.7 else ()
    values = {key: [10 * at + version for version in range(4)] for at, key in enumerate(keys, 1)}
    plan = Plan(ways, of, both, gate, 1 + number % 4, {key: numbers[0] for key, numbers in values.items()})
    declared = {action: [key for key in keys if chance.random() < 0.6] for action in ACTIONS}
    believed = {action: [key for key in keys if chance.random() < 0.8] if number % 3 else declared[action] for action in ACTIONS}
    world = Scenario(
        owners={"owner": keys},
        actions=[Action(action, depends_on=believed[action], declared=declared[action]) for action in ACTIONS],
        values=values,
    )
    system = _system(f"planted-{number}", world, plan, STORES[number // 8 % 5])
    return Planted(system, plan.real(), *({action: set(of) for action, of in said.items()} for said in (declared, believed)))


def _system(called: str, world: Scenario, plan: Plan, store: str) -> type[AgentSystem]:
    class Base(AgentSystem):
        name = called
        scenario = world
        first = plan.first

    class Sync(Base):
        def run(self) -> None:
            _at_once(_run(plan, _Now(self.kit, getattr(self, "rows", {}), getattr(self, "memory", {}), store == "quiet"), self.kit))

    class Awaited(Base):
        runtime = "asyncio"

        async def run(self) -> None:
            await _run(plan, self.kit.aio, self.kit)

    class OwnStore(Sync):
        full = store != "seeded"

        def setup(self, kit: Kit) -> None:
            super().setup(kit)
            self.rows = {key: [self.first[key]] for key in world.keys} if self.full else {key: [] for key in world.keys}
            self.memory: dict[str, Any] = {key: self.first[key] for key in world.keys} if self.full else {}

        def publish(self, key: str, value: Any) -> str:
            self.rows[key].append(value)
            self.memory.setdefault(key, value)
            return str(self.true_head(key))

        def true_head(self, key: str) -> str | None:
            return f"{key}-{len(self.rows[key])}" if self.rows[key] else None

        def deliver(self, key: str, record: Record) -> None:
            self.memory[key] = record.value

    return {"kit": Sync, "asyncio": Awaited}.get(store, OwnStore)


class _Now:
    """The ports of a sync system as awaited ones, through its own store if it has one."""

    def __init__(self, kit: Kit, rows: Mapping[str, list[Any]], memory: Mapping[str, Any], quiet: bool) -> None:
        self.kit, self.rows, self.remembered, self.quiet = kit, rows, memory, quiet

    def __getattr__(self, port: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def call(*args: Any) -> Any:
            return getattr(self.kit, port)(*args)

        return call

    async def read(self, key: str) -> Any:
        if not self.rows:
            return self.kit.read(key)
        value = self.rows[key][-1] if self.quiet else self.kit.read(key, via=lambda: self.rows[key][-1])
        return Record(f"{key}-{len(self.rows[key])}", key, value)

    async def memory(self, key: str) -> Any:
        if not self.rows:
            return self.kit.memory(key)
        return Record(key, key, self.kit.memory(key, via=lambda: self.remembered[key]))


def _at_once(body: Coroutine[Any, Any, None]) -> None:
    """Runs what never waits."""
    try:
        body.send(None)
    except StopIteration:
        return
    raise AssertionError("it waits")


async def _run(plan: Plan, ports: Any, kit: Kit) -> None:
    """One episode: look, make the two plans, send them."""
    sent: dict[str, dict[str, Any]] = {action: {"what": action} for action in ACTIONS}
    order, goes, through = list(ACTIONS), True, dict[str, Any]()
    for key, way in plan.ways.items():
        args, first = sent[plan.of[key]], plan.first[key]
        if way == "never" or key in (*plan.both, *plan.gate):
            continue
        if way == "asked":
            await ports.head(key)
            continue
        record = await (ports.memory if way == "remembered" else ports.read)(key)
        value = record.value
        if way in ("sent", "remembered"):
            args[key] = value
        elif way == "lineage":
            through[key] = value
        elif way == "threshold":
            args[f"much of {key}"] = value >= first + 2
        elif way == "version":
            args[f"revision of {key}"] = record.id
        elif way == "guard" and value == first + 1:
            kit.halted(f"{key} forbids it")
            return
        elif way == "breaks":
            {first + at: "known" for at in (0, 1, 2)}[value]
        elif way == "branch":
            goes = goes and value == first
        elif way == "order" and value == first + 1:
            order.reverse()
    if plan.both:
        values = [(await ports.read(key)).value != plan.first[key] for key in plan.both]
        sent[plan.of[plan.both[0]]]["both"] = all(values)
    if plan.gate and (await ports.read(plan.gate[0])).value != plan.first[plan.gate[0]]:
        sent[plan.of[plan.gate[0]]]["behind"] = (await ports.read(plan.gate[1])).value
    made = await ports.derive(through, [])
    for _ in range(plan.depth):
        made = await ports.derive((await ports.record(made.id)).value, [made.id])
    for key, value in made.value.items():
        sent[plan.of[key]][f"derived from {key}"] = value
    for action in order:
        if action == "ship" or goes:
            await ports.act(action, sent[action])
