"""Systems made from a seed: straight programs of port calls with branches on what was answered. Most of them are bad fences."""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar

from fencecheck.fence import Halt
from fencecheck.model import Action, Record, Scenario
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.faults import Fault
from fencecheck.run.kit import Kit

Op = tuple[Any, ...]
PORTS = ("read", "head", "memory", "record", "derive", "derive-key", "pause", "point", "validated", "compare", "value", "retry", "act")
WORTH = (5, 6, 4, 4, 4, 1, 1, 1, 3, 6, 2, 2, 2)


def scenario(rng: Random) -> Scenario:
    """Two keys of one owner or of two; the act depends on one or both, and may write one."""
    owners = rng.choice([{"a": ["x"], "b": ["y"]}, {"a": ["x", "y"]}])
    writes = rng.choice([[], [], [], ["x"], ["y"]])
    return Scenario(owners=owners, actions=[Action("go", rng.choice([["x"], ["x", "y"]]), writes=writes, times=2)])


def program(rng: Random, keys: tuple[str, ...], length: int) -> list[Op]:
    """A list of operations that ends in the act."""
    ops: list[Op] = [("read", rng.choice(keys)), ("derive", 3)]
    for port in rng.choices(PORTS, WORTH, k=length):
        ops.append((port, rng.choice(keys), rng.randrange(8), rng.random() < 0.5))
    ops.insert(rng.randrange(3), ("read", rng.choice(keys), 0, True))
    return [*ops, ("act", "x", rng.randrange(8), True)]


class Program(AgentSystem):
    """Runs the operations `ops` one after the other."""

    halt_exceptions = (Fault, Halt)
    ops: ClassVar[list[Op]]
    durable: ClassVar[bool]
    """Whether it goes on where it was after a restart."""

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.held: list[Record] = []
        self.plan: Record | None = None
        self.step = 0
        self.known: dict[str, Any] = {}

    def run(self) -> None:
        if not self.durable:
            self.held, self.known, self.step = [], {}, 0
        while self.step < len(self.ops):
            op = self.ops[self.step]
            go_on = getattr(self, "do_" + op[0].replace("-", "_"))(*op[1:])
            self.step += 1
            if go_on is False:
                self.step += 1  # the branch not taken

    def hold(self, record: Any) -> None:
        if not isinstance(record, Record):
            raise Halt("malformed-answer", "")
        self.held.append(record)
        if record.key is not None:
            self.known[record.key] = record.id

    def do_read(self, key: str, *_: Any) -> None:
        self.hold(self.kit.read(key, timeout=1.0))

    def do_memory(self, key: str, *_: Any) -> None:
        self.hold(self.kit.memory(key))

    def do_head(self, key: str, number: int, halts: bool) -> bool:
        head = self.kit.head(key, timeout=1.0)
        if isinstance(head, str) and key not in self.known:
            self.known[key] = head
        return bool(head == self.known.get(key))

    def do_compare(self, key: str, number: int, halts: bool) -> None:
        if self.kit.head(key, timeout=1.0) != self.known.get(key):
            if halts:
                raise Halt("changed-again", key)
            self.do_read(key)
            self.do_derive(number)

    def do_value(self, key: str, number: int, halts: bool) -> bool:
        values = [record.value for record in self.held if record.key == key]
        return self.kit.memory(key).value in values

    def do_record(self, key: str, number: int, halts: bool) -> bool:
        if not self.held:
            return True
        id = self.held[number % len(self.held)].id
        parents = self.held[number % len(self.held)].parents
        record = self.kit.record(parents[0] if parents and halts else id)
        return record.parents == parents

    def do_retry(self, key: str, number: int, halts: bool) -> None:
        try:
            self.do_read(key)
        except (Fault, Halt):
            self.do_read(key) if halts else None

    def do_derive(self, number: int, *_: Any) -> None:
        number = number if isinstance(number, int) else 3
        parents = self.held[-1 - number % 3 :]
        self.plan = self.kit.derive({r.id: r.value for r in parents if r.key}, parents)
        self.held.append(self.plan)

    def do_derive_key(self, key: str, number: int, halts: bool) -> None:
        self.hold(self.kit.derive(f"made {len(self.held)} of {key}", self.held[-1:], key))

    def do_declared(self, key: str, number: int, halts: bool) -> bool:
        return key in self.kit.declared("go")

    def do_pause(self, *_: Any) -> None:
        self.kit.pause()

    def do_point(self, *_: Any) -> None:
        self.kit.point()

    def do_validated(self, key: str, number: int, halts: bool) -> None:
        self.kit.validated(self.kit.scenario.keys if halts else [key])

    def do_act(self, key: str, number: int, plain: bool) -> None:
        basis = None if number % 4 else dict(self.known)
        expect = {key: self.known[key]} if number % 3 == 0 and key in self.known else None
        operation = "one" if number % 5 == 0 else None
        try:
            self.kit.act("go", self.plan.value if self.plan else {}, plan=self.plan, basis=basis, expect=expect, idempotency_key=operation)
        except Fault:
            if plain:
                raise


class ProgramWithHooks(Program):
    """One that can be told to plan again, and be restarted."""

    def replan(self, task: str) -> None:
        self.do_read("x")
        self.do_derive(0)

    def restart(self) -> None:
        if not self.durable:
            self.plan = None


class ProgramThatAsks(ProgramWithHooks):
    """One with hooks for a delivery and a loss that ask for a key once so many records are held."""

    about: ClassVar[str]
    asks: ClassVar[str]
    from_on: ClassVar[int]

    def told(self) -> None:
        if len(self.held) >= self.from_on:
            self.do_head(self.asks, 0, False)

    def deliver(self, key: str, record: Record) -> None:
        if key == self.about:
            self.told()

    def lose(self, id: str) -> None:
        if self.about == "y":
            self.told()


def system(seed: int, length: int = 5) -> type[AgentSystem]:
    """The system of that seed."""
    rng = Random(seed)
    made = scenario(rng)
    ops = program(rng, made.keys, length)
    durable = rng.random() < 0.5
    base = ProgramWithHooks if rng.random() < 0.7 else Program
    return type(f"Program{seed}", (base,), {"scenario": made, "ops": ops, "durable": durable, "__module__": __name__})


def asking_system(seed: int, length: int = 3) -> type[AgentSystem]:
    """The system of that seed, which besides asks what it declares, at most twice, and whose hooks may ask for more."""
    rng = Random(-1 - seed)
    given = system(seed, length)
    ops = list(given.ops)  # type: ignore[attr-defined]
    for number in range(rng.randrange(3)):
        ops.insert(rng.randrange(1, len(ops)), ("declared", rng.choice(given.scenario.keys), number, True))  # type: ignore[union-attr]
    hooks = {"about": rng.choice("xy"), "asks": rng.choice("xy"), "from_on": rng.randrange(4)}
    bases = (ProgramThatAsks,) if rng.random() < 0.8 else (given,)
    fields = {"scenario": given.scenario, "ops": ops, "durable": given.durable, "__module__": __name__}  # type: ignore[attr-defined]
    return type(f"Asking{seed}", bases, {**fields, **hooks})
