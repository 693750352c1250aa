"""A hook or an attribute that is spelt wrongly is noticed; what a team calls its own things is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck import AgentSystem, Scenario
from fencecheck.errors import BadInput
from fencecheck.faults import Fault, OwnerUnavailable
from fencecheck.run.simulate import Runner

from .faces import WORLD

SLIPS: list[tuple[dict[str, Any], str, str]] = [
    ({"halt_exception": (LookupError,)}, "halt_exception", "halt_exceptions"),
    ({"haltexceptions": LookupError}, "haltexceptions", "halt_exceptions"),
    ({"fault_exception": {OwnerUnavailable: ValueError}}, "fault_exception", "fault_exceptions"),
    ({"run_time": "asyncio"}, "run_time", "runtime"),
    ({"max_point": 10}, "max_point", "max_points"),
    ({"time_out_s": 0.5}, "time_out_s", "timeout_s"),
    ({"publsh": lambda self, key, value: None}, "publsh()", "publish()"),
    ({"true_heads": lambda self, key: None}, "true_heads()", "true_head()"),
    ({"tearDown": lambda self: None}, "tearDown()", "teardown()"),
    ({"set_up": lambda self, kit: None}, "set_up()", "setup()"),
    ({"version_in": lambda self, args: {}}, "version_in()", "versions_in()"),
]
OWN: list[dict[str, Any]] = [
    {"halt_exception": "what we say"},  # of another kind
    {"scenarios": [WORLD]},
    {"halt_exceptions": (Fault,), "halt_exception": LookupError},  # the right one is there too
    {"_publsh": lambda self, key, value: None},
    {"delivery": lambda self: None},  # of other arguments
    {"restarts": 0},
    {"close": lambda self: None},
    {"plan": lambda self: None},
]


def system(**attributes: Any) -> type[AgentSystem]:
    return type("Mine", (AgentSystem,), {"scenario": WORLD, "run": lambda self: None, **attributes})


@pytest.mark.parametrize(("attributes", "is_there", "meant"), SLIPS)
def test_a_slip(attributes: dict[str, Any], is_there: str, meant: str) -> None:
    with pytest.raises(BadInput) as caught:
        Runner(system(**attributes))
    assert str(caught.value) == (
        f"Mine defines {is_there}, which nothing refers to: did you mean {meant}? If it is your own, begin its name with an underscore"
    )


@pytest.mark.parametrize("attributes", OWN)
def test_what_is_a_teams_own(attributes: dict[str, Any]) -> None:
    Runner(system(**attributes))


class Counts(AgentSystem):
    scenario = WORLD
    timeout = 5.0
    replaned: int = 0

    def run(self) -> None:
        self.replan_it("x")
        self.kit.head(next(iter(WORLD.keys)), timeout=self.timeout)

    def replan_it(self, task: str) -> None: ...

    def replann(self, task: str) -> None: ...


def test_what_is_referred_to_is_a_teams_own() -> None:
    with pytest.raises(BadInput, match=r"^Counts defines replann\(\), which nothing refers to: did you mean replan\(\)\?"):
        Runner(Counts)


def test_a_slip_beside_what_a_base_class_defines() -> None:
    base = system(halt_exceptions=(Fault,))
    with pytest.raises(BadInput, match=r"^Mine defines halt_exception, which nothing refers to: did you mean halt_exceptions\?"):
        Runner(type("Mine", (base,), {"halt_exception": (LookupError,)}))


def test_a_mixin_is_none_of_an_adapters_classes() -> None:
    class Mixin:
        def publsh(self, key: str, value: str) -> None: ...

    class Mixed(Mixin, AgentSystem):
        scenario: Scenario = WORLD  # type: ignore[misc]

        def run(self) -> None: ...

    Runner(Mixed)
