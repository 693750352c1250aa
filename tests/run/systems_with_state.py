"""Systems that another process can load, each with something that an adapter should not have."""

from __future__ import annotations

import random
import time
from typing import Any

from fencecheck.model import Action, Scenario
from fencecheck.run.adapter import AgentSystem

ONE = Scenario(owners={"a": ["x"]}, actions=[Action("go", depends_on=["x"])])


class Well(AgentSystem):
    """Nothing is wrong with it."""

    scenario = ONE

    def run(self) -> None:
        record = self.kit.read("x", timeout=1.0)
        self.kit.act("go", {"to": getattr(record, "value", None)}, basis={"x": record.id} if hasattr(record, "id") else None)


class Caches(Well):
    """Keeps at class level what it read once."""

    cache: dict[str, Any] = {}

    def run(self) -> None:
        if "x" not in self.cache:
            self.cache["x"] = self.kit.read("x")
        self.kit.act("go", {"to": self.cache["x"].value}, basis={"x": self.cache["x"].id})


class Tosses(Well):
    """Asks a source of chance that knows no seed."""

    def run(self) -> None:
        for _ in range(random.SystemRandom().randrange(1_000)):
            self.kit.point()
        super().run()


class Hashes(Well):
    """Does things in the order of a set, which another hash seed changes."""

    def run(self) -> None:
        for label in {f"label {i}" for i in range(20)}:
            self.kit.point(label)
        super().run()


class Stamps(Well):
    """Sends times, random ids and free texts: they differ, and harmlessly."""

    def run(self) -> None:
        record = self.kit.read("x")
        args = {"to": record.value, "at": time.time_ns(), "id": random.random()}
        self.kit.act("go", args, basis={"x": record.id}, idempotency_key=str(random.random()))
        self.kit.halted(f"done at {time.time_ns()}")


class NeverActs(Well):
    def run(self) -> None:
        self.kit.read("x")


class Halts(Well):
    def run(self) -> None:
        self.kit.halted("not today")


class Breaks(Well):
    def run(self) -> None:
        raise ValueError("no model")


class Waits(Well):
    max_points = 3

    def run(self) -> None:
        while True:
            self.kit.point()


class IsRefused(Well):
    def run(self) -> None:
        try:
            self.kit.act("go", {}, expect={"x": self.kit.derive("another").id})
        except Exception:
            self.kit.halted()
