"""Interleavings drawn and shrunk by Hypothesis, for what exhaustion cannot reach: larger worlds, more events, mixed kinds.

Hypothesis adapts what it draws, so its examples are no independent sample: they are counted, and carry no confidence bound.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase
from hypothesis.errors import Flaky, HypothesisWarning
from hypothesis.strategies import SearchStrategy

from fencecheck.errors import Nondeterministic
from fencecheck.history import History, first_difference
from fencecheck.interleaving import Event, Interleaving, What
from fencecheck.judge import Finding, Level, counts_at, judge
from fencecheck.model import Scenario
from fencecheck.run.elsewhere import Elsewhere
from fencecheck.run.loading import reference
from fencecheck.run.simulate import Runner
from fencecheck.search.again import Again
from fencecheck.search.budget import Budget
from fencecheck.search.drawing import Drawing
from fencecheck.search.minimal import one_minimal
from fencecheck.search.placing import Dropped, asks_declared, every, push_right
from fencecheck.search.preflight import difference
from fencecheck.search.tally import Shown, Tally
from fencecheck.strategies import interleavings, large_scenarios

REPLANNED = 2
"""Events land before twice as many points as an episode without events has: an episode with one replan has about as many."""
TRIES = 10
"""How often an interleaving is run again to see in what its episodes differ."""
MOST_WORLDS = 256
"""Worlds that are kept ready."""

Size = tuple[int, int, int, int, int]
"""Of a world: keys, declared keys, owners, depth, executors."""


class _Found(Exception):
    """Ends an example that shows a finding."""


class _TimeIsUp(BaseException):
    """Ends the drawing and the shrinking. Not an `Exception`, which Hypothesis would take for what an example shows."""


class Explored:
    """What drawing came to.

    Args:
        tally: the counts of the episodes that the examples come to, each once; of a failing finding, what shrinking came to.
        drawn: how many examples that were, until one failed.
        largest: of each measure of a world the largest that was drawn; None where the world was given.
        again: some of the episodes, to be run a second time.
    """

    def __init__(self, tally: Tally, drawn: int, largest: Size | None, again: Again) -> None:
        self.tally, self.drawn, self.largest, self.again = tally, drawn, largest, again


def explore_into(
    runner: Runner, drawn: Drawing, level: Level, fail_on: frozenset[str], assume_broken: frozenset[str], budget: Budget | None = None
) -> Explored:
    """Draws examples until one fails, shrinks it, and adds up what was seen.

    Args:
        drawn: how many of what.
        level, fail_on: what counts as failing.
        assume_broken: assumptions that events may break.
        budget: the time after which nothing more is drawn or shrunk; by default there is no such time.

    Raises:
        Nondeterministic: one interleaving came to two episodes.
    """
    hunt = _Hunt(runner, level, fail_on, assume_broken, budget)
    spaces = _Spaces(hunt, drawn.max_events)
    examples = spaces.drawn(runner.scenario) if drawn.worlds == "default" else large_scenarios().flatmap(spaces.drawn)
    kept = _kept(runner, drawn, (level, *sorted(fail_on), *sorted(assume_broken)))

    @settings(  # after the seed, which would leave out the database
        max_examples=drawn.examples,
        database=kept,
        derandomize=False,
        deadline=None,
        phases=[*([] if kept is None else [Phase.reuse]), Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @seeded(drawn.seed)
    @given(examples)
    def property_(interleaving: Interleaving) -> None:
        hunt.run(interleaving)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)
        try:
            property_()
        except (_Found, _TimeIsUp):
            hunt.keep_smallest()
        except Flaky as flaky:
            raise hunt.nondeterministic() from flaky
    return Explored(hunt.tally, hunt.drawn, None if drawn.worlds == "default" else hunt.largest, hunt.again)


def _size(scenario: Scenario) -> Size:
    declared = scenario.declared(scenario.actions[0])
    return len(scenario.keys), len(declared), len(scenario.owners), scenario.depth, len(scenario.agents)


class _Spaces:
    """The interleavings of each world that is drawn: of what the system can receive, over as many points as it has there."""

    def __init__(self, hunt: _Hunt, max_events: int) -> None:
        self._hunt, self._max_events = hunt, max_events
        self._made: dict[Size, SearchStrategy[Interleaving]] = {}

    def drawn(self, scenario: Scenario) -> SearchStrategy[Interleaving]:
        """What is drawn in that world."""
        size = _size(scenario)
        if size not in self._made:
            if len(self._made) >= MOST_WORLDS:
                self._made.clear()
            self._made[size] = self._drawn(scenario)
        return self._made[size]

    def _drawn(self, scenario: Scenario) -> SearchStrategy[Interleaving]:
        runner, there = self._hunt.runner, self._hunt.world(scenario)
        if not there.horizon:
            return st.builds(Interleaving, st.just(scenario))
        return interleavings(
            scenario,
            max_events=self._max_events,
            kinds=runner.kinds,
            horizon=REPLANNED * there.horizon,
            drop_declarations=runner.drops and bool(asks_declared(there.empty)),
            assume_broken=self._hunt.assume_broken,
            tasks=there.lanes,
            turns=there.turns,
        )


class _OfOneSearch(ExampleDatabase):
    """A part of a database: what one search keeps there is no example of another."""

    def __init__(self, database: ExampleDatabase, name: str) -> None:
        super().__init__()
        self._database, self._name = database, name.encode()

    def _own(self, key: bytes) -> bytes:
        return self._name + b" " + key

    def save(self, key: bytes, value: bytes) -> None:
        self._database.save(self._own(key), value)

    def fetch(self, key: bytes) -> Iterable[bytes]:
        return self._database.fetch(self._own(key))

    def delete(self, key: bytes, value: bytes) -> None:
        self._database.delete(self._own(key), value)


def _kept(runner: Runner, drawn: Drawing, judged_by: tuple[str, ...]) -> ExampleDatabase | None:
    """Where failing examples are kept, if the profile keeps them."""
    if drawn.profile is None:
        return None
    database = settings.get_profile(drawn.profile).database
    if database is None:
        return None
    system = reference(runner.system) or runner.name
    return _OfOneSearch(database, repr((system, drawn.worlds, drawn.max_events, _size(runner.scenario), runner.kinds, judged_by)))


class _Hunt:
    def __init__(
        self, runner: Runner, level: Level, fail_on: frozenset[str], assume_broken: frozenset[str], budget: Budget | None = None
    ) -> None:
        self.runner, self.level, self.fail_on, self.assume_broken, self.budget = runner, level, fail_on, assume_broken, budget or Budget()
        self.drawn = 0
        self.tally, self.again = Tally(), Again()
        self.code: str | None = None
        self.last: tuple[Finding, Interleaving, History] | None = None
        self.largest: Size = (0, 0, 0, 0, 0)
        self._worlds: dict[Size, Elsewhere] = {}
        self._seen: set[tuple[Size, Dropped, tuple[Event, ...]]] = set()

    def world(self, scenario: Scenario) -> Elsewhere:
        """The system in that world."""
        size = _size(scenario)
        if size not in self._worlds:
            if len(self._worlds) >= MOST_WORLDS:
                self._worlds.clear()
            self._worlds[size] = Elsewhere(self.runner, scenario)
        return self._worlds[size]

    def run(self, interleaving: Interleaving) -> None:
        """Runs one example; once a finding was seen, only that finding fails an example, so that it is this one that is shrunk.

        Before that, an example that was drawn before is not run again, and one that differs only in what did not fire is not counted again.
        """
        dropped, events, size = interleaving.dropped, interleaving.events, _size(interleaving.scenario)
        if not self.budget.left():
            raise _TimeIsUp
        self.drawn += self.code is None
        if self.code is None and (size, dropped, events) in self._seen:
            return
        history = self.world(interleaving.scenario).run(dropped, events)
        judgement = judge(history)
        if self.code is None:
            self.largest = tuple(map(max, self.largest, size))  # type: ignore[assignment]
            if (size, dropped, history.fired) not in self._seen:
                self.tally.add(dropped, events, judgement, history.fired)
                self.again.keep(self.world(interleaving.scenario), dropped, events, history)
            self._seen |= {(size, dropped, events), (size, dropped, history.fired)}
        for finding in judgement.findings:
            fails = finding.code in self.fail_on and counts_at(finding.code, self.level)
            if fails and self.code in (None, finding.code):
                self.code = finding.code
                self.last = (finding, interleaving, history)
                raise _Found(finding.code)

    def nondeterministic(self) -> Nondeterministic:
        """What to say where an interleaving failed once and then did not."""
        said = f"{self.runner.name} is not deterministic: one interleaving failed once and then did not"
        if self.last is None:
            return Nondeterministic(said)
        finding, interleaving, before = self.last
        for _ in range(TRIES):
            after = self.world(interleaving.scenario).run(interleaving.dropped, interleaving.events)
            at = first_difference(before, after)
            if at is not None:
                return Nondeterministic(f"{said}: {difference(before, after, at)}")
        return Nondeterministic(f"{said} show {finding.code}: its arguments or records differ from run to run")

    def keep_smallest(self) -> None:
        """Keeps the last failing example, which is the one that shrinking came to, without what is not needed and in its standard placement."""
        if self.last is None:
            return
        finding, interleaving, _ = self.last
        there = self.world(interleaving.scenario)
        dropped, events = interleaving.dropped, interleaving.events
        for code in self.tally.failing(self.level, self.fail_on):
            del self.tally.shown[code]  # seen on the way, and not shrunk
        fired = there.run(dropped, events).fired
        if self._fails(there, dropped, fired):
            dropped, events = self._fewer(there, dropped, fired)
            events = self._simplified(there, dropped, events)
            pushed = push_right(there.run(dropped, events), events)
            events = pushed if self._fails(there, dropped, pushed) else events
        dropped, events = one_minimal(lambda dropped, events: self._fails(there, dropped, events), dropped, events)
        finding = next(iter(self._findings(there, dropped, events)), finding)
        drawn = None if there.scenario is self.runner.scenario else there.scenario
        self.tally.shown[finding.code] = Shown(finding, dropped, events, scenario=drawn)

    def _fails(self, there: Elsewhere, dropped: Dropped, events: tuple[Event, ...]) -> bool:
        return bool(self._findings(there, dropped, events))

    def _findings(self, there: Elsewhere, dropped: Dropped, events: tuple[Event, ...]) -> list[Finding]:
        """Those of the code that is shrunk."""
        return [finding for finding in judge(there.run(dropped, events)).findings if finding.code == self.code]

    def _fewer(self, there: Elsewhere, dropped: Dropped, events: tuple[Event, ...]) -> tuple[Dropped, tuple[Event, ...]]:
        """Leaves out an event or a dropped declaration where another event then fails in some other place.

        Either can make points or take some away, so that without it what comes after has to land elsewhere. Hypothesis tries one at a time.
        """
        smaller = [(dropped[:i] + dropped[i + 1 :], events) for i in range(len(dropped))]
        smaller += [(dropped, events[:i] + events[i + 1 :]) for i in range(len(events))]
        for less, others in smaller:
            for i, event in enumerate(others):
                rest = others[:i] + others[i + 1 :]
                here = self._first_place(there, less, rest, event.what, REPLANNED * there.horizon)
                if here is not None:
                    return self._fewer(there, less, _sorted(rest, Event(here, event.what)))
        return dropped, events

    def _first_place(
        self, there: Elsewhere, dropped: Dropped, others: tuple[Event, ...], what: What, end: int, number: int = 1
    ) -> int | None:
        """The first point before `end` at which so many of `what`, beside these others, fail."""
        return next((at for at in range(end) if self._fails(there, dropped, _sorted(others, *[Event(at, what)] * number))), None)

    def _simplified(self, there: Elsewhere, dropped: Dropped, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Replaces each event, together with those equal to it or alone, by the simplest that fails in its place.

        Hypothesis changes what an event is and where it lands one at a time, and so stops where both would have to change at once.
        """
        simplest = every(there.scenario, self.runner.kinds, there.horizon, self.assume_broken, there.lanes)
        together = [tuple(other for other in events if other != event) for event in events]
        alone = [events[:i] + events[i + 1 :] for i in range(len(events))]
        for event, others in zip(events * 2, together + alone, strict=True):
            rank = simplest.index(event.what) if event.what in simplest else len(simplest)
            for what in simplest[:rank]:
                number = len(events) - len(others)
                here = self._first_place(there, dropped, others, what, event.at + there.horizon, number)
                if here is not None:
                    return self._simplified(there, dropped, _sorted(others, *[Event(here, what)] * number))
        return events


def _sorted(events: tuple[Event, ...], *more: Event) -> tuple[Event, ...]:
    return tuple(sorted((*events, *more), key=lambda event: event.at))
