"""Systems that measure oddly, each loadable by another process."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from fencecheck import Action, AgentSystem, Scenario
from fencecheck.systems.fresh_read import FreshRead
from fencecheck.systems.planfence import PlanFenceSystem


class Slow(FreshRead):
    """Takes as long as a quick model."""

    name = "slow"

    def run(self) -> None:
        time.sleep(0.02)
        super().run()


class DiesOnce(PlanFenceSystem):
    """Kills its process in its first episodes, as often as the folder that the environment names is not yet told of it."""

    def run(self) -> None:
        told = Path(os.environ["FENCECHECK_TEST_TOLD"])
        for number in range(int(os.environ["FENCECHECK_TEST_DEATHS"])):
            mark = told / str(number)
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        super().run()


class HarnessFails(PlanFenceSystem):
    """Its setup fails in each episode whose first value of the requirement is an odd number of letters long, always or a few times."""

    name = "harness-fails"
    times = 1_000_000
    failed: dict[str, int] = {}

    def setup(self, kit):  # type: ignore[no-untyped-def]
        super().setup(kit)
        value = kit.scenario.value_of(kit.scenario.keys[0], 1)
        if len(value) % 2 and self.failed.get(value, 0) < self.times:
            self.failed[value] = self.failed.get(value, 0) + 1
            raise ConnectionError("the database is not up")


class OwnWorld(AgentSystem):
    """A team's own agent, without a fence and without derived records."""

    scenario = Scenario(
        owners={"orders": ["order/1/address", "order/1/note"]},
        actions=[Action("ship", depends_on=["order/1/address"])],
        values={"order/1/address": ["1 First Street", "2 Second Street", "3 Third Street"]},
    )

    def run(self) -> None:
        address = self.kit.read("order/1/address")
        self.kit.pause("approval")
        self.kit.act("ship", {"to": address.value})


class NeverActs(PlanFenceSystem):
    """Halts always."""

    name = "never-acts"

    def run(self) -> None:
        self.kit.halted("always")


class Opens(PlanFenceSystem):
    """Something dear is built once for each worker."""

    name = "opens"

    def open(self) -> None:
        self.tell("open")

    def shutdown(self) -> None:
        self.tell("shutdown")

    def tell(self, what: str) -> None:
        with Path(os.environ["FENCECHECK_TEST_TOLD"]).open("a", encoding="utf-8") as file:
            file.write(f"{what}\n")


class Crashes(PlanFenceSystem):
    """Falls over what it should replan from."""

    name = "crashes"

    def remake(self, plan, changed):  # type: ignore[no-untyped-def]
        raise NotCaught


class NotCaught(BaseException):
    """Nothing that a fence catches."""


class Undeclared(OwnWorld):
    """Depends on two keys and declares one."""

    name = "undeclared"
    scenario = Scenario(
        owners={"orders": ["a", "b"]},
        actions=[Action("ship", depends_on=["a", "b"], declared=["a"])],
        values={"a": ["A1", "A2", "A3"], "b": ["B1", "B2", "B3"]},
    )

    def run(self) -> None:
        read = {key: self.kit.read(key) for key in "ab"}
        self.kit.pause("approval")
        self.kit.act("ship", {key: record.value for key, record in read.items()})


class Blind(OwnWorld):
    """Sends arguments that show nothing of what they were made from."""

    name = "blind"

    def run(self) -> None:
        self.kit.read("order/1/address")
        self.kit.pause("approval")
        self.kit.act("ship", {"order": 1})


class TwoActions(OwnWorld):
    """Reserves by one key and charges by another, both planned at once."""

    name = "two-actions"
    scenario = Scenario(
        owners={"shop": ["stock", "price", "note"]},
        actions=[Action("reserve", depends_on=["stock"]), Action("charge", depends_on=["price"])],
        values={key: [f"{key} {number}" for number in range(3)] for key in ("stock", "price", "note")},
    )

    def run(self) -> None:
        read = {key: self.kit.read(key) for key in ("stock", "price")}
        self.kit.pause("approval")
        self.kit.act("reserve", {"of": read["stock"].value})
        self.kit.act("charge", {"of": read["price"].value})
