"""A system in another world than the one that it was checked in first: the same worker, runtime and watchdog, so that a world costs one episode."""

from __future__ import annotations

from fencecheck.history import History
from fencecheck.interleaving import Event
from fencecheck.model import Scenario
from fencecheck.run.simulate import Runner, extent
from fencecheck.run.world import Prepared


class Elsewhere:
    """Runs episodes of a runner's system in one world.

    Args:
        runner: of a system that takes a generated scenario, unless the world is its own.
        scenario: the world.

    Attributes:
        empty: the episode without events, which is run first.
        horizon, lanes, turns: as of a runner, in this world.
    """

    def __init__(self, runner: Runner, scenario: Scenario) -> None:
        self.scenario = scenario
        self._runner = runner
        self._prepared = None if scenario is runner.scenario else Prepared(scenario)
        self.empty = self.run()
        self.horizon, self.lanes, self.turns = extent(self.empty)

    def run(self, dropped: tuple[tuple[str, str], ...] = (), events: tuple[Event, ...] = (), *, lines: bool = False) -> History:
        """Runs one episode: see `Runner.run`."""
        return self._runner.run(dropped, events, lines=lines, prepared=self._prepared)
