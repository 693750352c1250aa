"""Interleavings drawn and shrunk by Hypothesis, for what exhaustion cannot reach: larger worlds, more events, mixed kinds.

Hypothesis adapts what it draws, so its examples are no independent sample: they are counted, and carry no confidence bound.
"""

from __future__ import annotations

import warnings

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import Flaky, HypothesisWarning

from fencecheck.errors import Nondeterministic
from fencecheck.history import History, first_difference
from fencecheck.interleaving import Event, Interleaving, What
from fencecheck.judge import Finding, Level, counts_at, judge
from fencecheck.run.simulate import Runner
from fencecheck.search.closing import Dropped
from fencecheck.search.placing import asks_declared, every, push_right
from fencecheck.search.preflight import difference
from fencecheck.search.tally import Shown, Tally
from fencecheck.strategies import interleavings

REPLANNED = 2
"""Events land before twice as many points as an episode without events has: an episode with one replan has about as many."""
TRIES = 10
"""How often an interleaving is run again to see in what its episodes differ."""


class _Found(Exception):
    """Ends an example that shows a finding."""


def explore_into(
    runner: Runner, examples: int, seed: int, max_events: int, level: Level, fail_on: frozenset[str], assume_broken: frozenset[str]
) -> Tally:
    """Draws examples until one fails, shrinks it, and adds up what was seen.

    Args:
        examples: how many to draw.
        seed: the same seed draws the same examples.
        max_events: most events in one.
        level, fail_on: what counts as failing.
        assume_broken: assumptions that events may break.

    Returns:
        The counts of the episodes that the examples come to, each once; of a failing finding, the smallest interleaving that shrinking came to.

    Raises:
        Nondeterministic: one interleaving came to two episodes.
    """
    hunt = _Hunt(runner, level, fail_on, assume_broken)
    drawn = interleavings(
        runner.scenario,
        max_events=max_events,
        kinds=runner.kinds,
        horizon=REPLANNED * runner.horizon,
        drop_declarations=runner.drops and bool(asks_declared(runner.run())),
        assume_broken=assume_broken,
        tasks=runner.lanes,
        turns=runner.turns,
    )

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(drawn)
    def property_(interleaving: Interleaving) -> None:
        hunt.run(interleaving)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)
        try:
            property_()
        except _Found:
            hunt.keep_smallest()
        except Flaky as flaky:
            raise hunt.nondeterministic() from flaky
    return hunt.tally


class _Hunt:
    def __init__(self, runner: Runner, level: Level, fail_on: frozenset[str], assume_broken: frozenset[str]) -> None:
        self.runner, self.level, self.fail_on, self.assume_broken = runner, level, fail_on, assume_broken
        self.tally = Tally()
        self.code: str | None = None
        self.last: tuple[Finding, Interleaving, History] | None = None
        self._seen: set[tuple[Dropped, tuple[Event, ...]]] = set()

    def run(self, interleaving: Interleaving) -> None:
        """Runs one example; once a finding was seen, only that finding fails an example, so that it is this one that is shrunk.

        Before that, an example that was drawn before is not run again, and one that differs only in what did not fire is not counted again.
        """
        dropped, events = interleaving.dropped, interleaving.events
        if self.code is None and (dropped, events) in self._seen:
            return
        history = self.runner.run(dropped, events)
        judgement = judge(history)
        if self.code is None:
            if (dropped, history.fired) not in self._seen:
                self.tally.add(dropped, events, judgement, history.fired)
            self._seen |= {(dropped, events), (dropped, history.fired)}
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
            after = self.runner.run(interleaving.dropped, interleaving.events)
            at = first_difference(before, after)
            if at is not None:
                return Nondeterministic(f"{said}: {difference(before, after, at)}")
        return Nondeterministic(f"{said} show {finding.code}: its arguments or records differ from run to run")

    def keep_smallest(self) -> None:
        """Keeps the last failing example, which is the one that shrinking came to, without what did not fire and in its standard placement."""
        assert self.last is not None
        finding, interleaving, _ = self.last
        dropped, events = interleaving.dropped, interleaving.events
        for code in self.tally.failing(self.level, self.fail_on):
            del self.tally.shown[code]  # seen on the way, and not shrunk
        fired = self.runner.run(dropped, events).fired
        if self._fails(dropped, fired):
            dropped, events = self._fewer(dropped, fired)
            events = self._simplified(dropped, events)
            pushed = push_right(self.runner.run(dropped, events), events)
            events = pushed if self._fails(dropped, pushed) else events
            finding = self._findings(dropped, events)[0]
        self.tally.shown[finding.code] = Shown(finding, dropped, events)

    def _fails(self, dropped: Dropped, events: tuple[Event, ...]) -> bool:
        return bool(self._findings(dropped, events))

    def _findings(self, dropped: Dropped, events: tuple[Event, ...]) -> list[Finding]:
        """Those of the code that is shrunk."""
        return [finding for finding in judge(self.runner.run(dropped, events)).findings if finding.code == self.code]

    def _fewer(self, dropped: Dropped, events: tuple[Event, ...]) -> tuple[Dropped, tuple[Event, ...]]:
        """Leaves out an event or a dropped declaration where another event then fails in some other place.

        Either can make points or take some away, so that without it what comes after has to land elsewhere. Hypothesis tries one at a time.
        """
        smaller = [(dropped[:i] + dropped[i + 1 :], events) for i in range(len(dropped))]
        smaller += [(dropped, events[:i] + events[i + 1 :]) for i in range(len(events))]
        for less, others in smaller:
            for i, event in enumerate(others):
                rest = others[:i] + others[i + 1 :]
                here = self._first_place(less, rest, event.what, REPLANNED * self.runner.horizon)
                if here is not None:
                    return self._fewer(less, _sorted(rest, Event(here, event.what)))
        return dropped, events

    def _first_place(self, dropped: Dropped, others: tuple[Event, ...], what: What, end: int, number: int = 1) -> int | None:
        """The first point before `end` at which so many of `what`, beside these others, fail."""
        return next((at for at in range(end) if self._fails(dropped, _sorted(others, *[Event(at, what)] * number))), None)

    def _simplified(self, dropped: Dropped, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Replaces each event, together with those equal to it or alone, by the simplest that fails in its place.

        Hypothesis changes what an event is and where it lands one at a time, and so stops where both would have to change at once.
        """
        simplest = every(self.runner.scenario, self.runner.kinds, self.runner.horizon, self.assume_broken, self.runner.lanes)
        together = [tuple(other for other in events if other != event) for event in events]
        alone = [events[:i] + events[i + 1 :] for i in range(len(events))]
        for event, others in zip(events * 2, together + alone, strict=True):
            rank = simplest.index(event.what) if event.what in simplest else len(simplest)
            for what in simplest[:rank]:
                number = len(events) - len(others)
                here = self._first_place(dropped, others, what, event.at + self.runner.horizon, number)
                if here is not None:
                    return self._simplified(dropped, _sorted(others, *[Event(here, what)] * number))
        return events


def _sorted(events: tuple[Event, ...], *more: Event) -> tuple[Event, ...]:
    return tuple(sorted((*events, *more), key=lambda event: event.at))
