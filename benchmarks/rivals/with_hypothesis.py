"""Hypothesis: a `RuleBasedStateMachine` with a rule for each task, which takes that task's next step, and the promise as an invariant.

It knows no tasks: who runs the steps is the state machine itself, so that the race is a model of the system and not the system.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Coroutine
from typing import Any

from contest import LIMIT, Found, Mode, tell
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from workload import Race


class Steps(RuleBasedStateMachine):
    """Both tasks, stepped by hand."""

    rounds, safe = 1, False
    begun = 0
    failed_after: int | None = None
    taken: int

    def __init__(self) -> None:
        super().__init__()
        type(self).begun += 1
        type(self).taken = 0
        self.race = Race(self.rounds, self.safe)
        self.tasks: list[Coroutine[Any, Any, None] | None] = [self.race.agent(), self.race.updater()]
        for task in (0, 1):
            self.step(task)  # up to the first await

    def step(self, task: int) -> None:
        coroutine = self.tasks[task]
        assert coroutine is not None
        try:
            coroutine.send(None)
        except StopIteration:
            self.tasks[task] = None

    @precondition(lambda self: self.tasks[0] is not None)
    @rule()
    def agent(self) -> None:
        type(self).taken += 1
        self.step(0)

    @precondition(lambda self: self.tasks[1] is not None)
    @rule()
    def updater(self) -> None:
        type(self).taken += 1
        self.step(1)

    @precondition(lambda self: self.tasks == [None, None])
    @rule()
    def ended(self) -> None:
        """A machine without a rule to call is an error."""

    @invariant()
    def promised(self) -> None:
        if not self.race.holds:
            if type(self).failed_after is None:
                type(self).failed_after = self.begun
            raise AssertionError("the act of every round was stale")

    def teardown(self) -> None:
        for task in self.tasks:
            if task is not None:
                task.close()


def machine(rounds: int, safe: bool, number: int) -> type[Steps]:
    return seed(number)(type("Steps", (Steps,), {"rounds": rounds, "safe": safe}))


def run(steps: type[Steps], examples: int) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=8 * steps.rounds + 2,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    with contextlib.redirect_stdout(io.StringIO()):
        run_state_machine_as_test(steps, settings=chosen)


def hunt(rounds: int, number: int) -> Found | None:
    steps = machine(rounds, False, number)
    try:
        run(steps, LIMIT)
    except AssertionError:
        assert steps.failed_after is not None
        return Found(steps.failed_after, steps.taken)
    return None


def episodes(count: int) -> int:
    steps = machine(1, True, 0)
    run(steps, count)
    return steps.begun


if __name__ == "__main__":
    note = "its own stepping of the two coroutines: it knows no tasks"
    tell("hypothesis", [Mode("state machine", hunt, episodes, None, "steps", True, note)])
