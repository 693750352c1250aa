from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from fencecheck.fence import Cleared, Halt

from .world import DRIVERS, Driven, Rec, World


@pytest.fixture(params=DRIVERS)
def drive(request: pytest.FixtureRequest) -> Any:
    """`drive(world, **settings)`: a fence over it, once for each driver."""
    made: list[Driven] = []

    def make(world: World, **settings: Any) -> Driven:
        made.append(Driven(request.param, world, **settings))
        return made[-1]

    yield make
    for driven in made:
        driven.close()


@pytest.fixture
def halted(drive: Any) -> Callable[..., tuple[str, str]]:
    """`halted(world, plan, keys, **settings)`: reason and subject of the halt; that nothing was marked or acted is checked on the way."""

    def check(world: World, plan: Rec, keys: Iterable[str], **settings: Any) -> tuple[str, str]:
        acts: list[Cleared[Rec]] = []
        with pytest.raises(Halt) as caught:
            drive(world, **settings).act(plan, keys, acts.append)
        assert not acts
        assert not world.marks
        return caught.value.reason.value, caught.value.about

    return check
