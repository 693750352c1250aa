"""`check`: one system, one engine, one report."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from fencecheck.errors import BadInput, Nondeterministic
from fencecheck.history import first_difference
from fencecheck.interleaving import KINDS, TURNS, Interleaving, refuse_kind
from fencecheck.judge import ALWAYS_FAIL, FINDINGS, LEVELS, Judgement, Level, judge
from fencecheck.model import Scenario
from fencecheck.run.elsewhere import Elsewhere
from fencecheck.run.loading import reference
from fencecheck.run.simulate import Runner, SystemLike
from fencecheck.search.again import Again
from fencecheck.search.budget import WHOLE, Budget, Shard
from fencecheck.search.drawing import EXAMPLES, Drawing, Profile, Worlds, command, drawing, refuse_unknown, sizes_of
from fencecheck.search.exhaust import Episode, episodes, order_of
from fencecheck.search.kept import KeepingRunner, keeping, runner_for
from fencecheck.search.past import past_ports
from fencecheck.search.placing import push_right
from fencecheck.search.preflight import preflight, still_the_same
from fencecheck.search.prove import PER_KIND, Proof, prove
from fencecheck.search.report import Bound, Failure, Largest, Report, VerdictName
from fencecheck.search.tally import Shown, Tally

Engine = Literal["exhaust", "explore"]
MAX_EVENTS = 2
"""Most events of all kinds mixed."""


def check(
    system: SystemLike,
    *,
    engine: Engine = "exhaust",
    scenario: Scenario | None = None,
    level: Level = "at-validation",
    max_events: int | None = None,
    examples: int | None = None,
    seed: int | None = None,
    profile: Profile | None = None,
    worlds: Worlds = "default",
    fail_on: Iterable[str] = (),
    assume_broken: Iterable[str] = (),
    fresh_process: bool = True,
    max_time: float | None = None,
    shard: Shard = WHOLE,
    per_kind: int | None = None,
    kinds: Iterable[str] | None = None,
    store: Path | None = None,
) -> Report:
    """Checks one system against *halt or current*.

    Args:
        system: an adapter class, or a function that makes an adapter.
        engine: `exhaust` runs every interleaving of up to `max_events` events; by default up to 2 of all kinds, and then, where nothing failed,
            goes on to any number of updates, refusing owners, restores and missing parents, until nothing is left to try. `explore` draws some.
        scenario: the world, for a system that takes a generated one.
        level: the promise: `at-validation`, `at-one-instant` or `at-act`.
        max_events: most events in an interleaving; by default 8 for explore, 12 in large worlds, and for exhaust as above.
        examples, seed: how many examples `explore` draws (1,000), and where it begins (0; at random where the profile is nightly).
        profile, worlds: as in `Drawing`.
        fail_on, assume_broken: findings that fail it besides safety and `stuck`, and assumptions that may be broken (`honest-owners`).
        fresh_process: whether to compare with a run in a fresh process first.
        max_time: seconds after which no further episode is begun.
        shard: the share of the interleavings of up to `max_events` events that is run, for several processes that share them out.
        per_kind: where exhaust goes on to any number of events, the most episodes for each further kind of event (600); 0 leaves these out.
        kinds: the kinds of event to try, such as `update` or `dropped-declaration`; by default all that the system can receive.
        store: the file that keeps the episodes of `exhaust`, and holds those that were run before: `max_time` counts what is new.

    Raises:
        BadInput, CouldNotRun: an argument is out of range, or is not for this engine; the system cannot be judged.
    """
    fail_on, kinds = tuple(fail_on), None if kinds is None else tuple(kinds)
    refuse_options(
        engine, level=level, max_events=max_events, examples=examples, seed=seed, profile=profile, worlds=worlds, scenario=scenario,
        per_kind=per_kind, max_time=max_time, shard=shard, kinds=kinds, store=store,
    )  # fmt: skip
    budget = Budget(max_time)
    with runner_for(system, scenario, store) as runner:
        assumed = preflight(runner, fresh_process=fresh_process)
        runner.only(kinds)
        run = _Check(runner, level, _fail_on(fail_on), frozenset(assume_broken), budget, shard)
        with keeping(runner, store, budget):
            if engine == "exhaust":
                run.exhaust(max_events, PER_KIND if per_kind is None else per_kind)
            else:
                run.explore(drawing(examples, seed, max_events, profile, worlds))
        report = run.report(engine)
        report.again = run.again(scenario, fail_on, kinds)
    report.assumed, report.seconds = [*assumed, *run.assumed()], budget.spent
    return report


def exhaust(system: SystemLike, max_events: int = MAX_EVENTS, **options: object) -> Report:
    """`check` of `system` with every interleaving of up to `max_events` events; `options`, and what is raised, as there."""
    return check(system, engine="exhaust", max_events=max_events, **options)  # type: ignore[arg-type]


def explore(system: SystemLike, examples: int = EXAMPLES, **options: object) -> Report:
    """`check` of `system` with `examples` interleavings drawn by Hypothesis; `options`, and what is raised, as there."""
    return check(system, engine="explore", examples=examples, **options)  # type: ignore[arg-type]


def _fail_on(codes: Iterable[str]) -> frozenset[str]:
    for code in codes:
        if code not in FINDINGS:
            raise BadInput(f"there is no finding {code!r}: fail_on takes {', '.join(FINDINGS)}")
    return ALWAYS_FAIL | frozenset(codes)


def refuse_options(
    engine: str,
    *,
    level: str = "at-validation",
    max_events: int | None = None,
    examples: int | None = None,
    seed: int | None = None,
    profile: str | None = None,
    worlds: str = "default",
    scenario: Scenario | None = None,
    per_kind: int | None = None,
    max_time: float | None = None,
    shard: Shard = WHOLE,
    kinds: Iterable[str] | None = None,
    store: Path | None = None,
) -> None:
    """Says of what `check` is asked that it cannot be asked so: before any system is run.

    Raises:
        BadInput: an argument is out of range, or is not for this engine.
    """
    if engine not in ("exhaust", "explore"):
        raise BadInput(f"there is no engine {engine!r}: use exhaust or explore")
    if level not in LEVELS:
        raise BadInput(f"there is no level {level!r}: use {', '.join(LEVELS)}")
    if max_events is not None and max_events < 0:
        raise BadInput(f"the number of events is 0 or more, not {max_events}")
    if shard != WHOLE and (engine != "exhaust" or max_events is None):
        raise BadInput(
            "a shard is a share of every interleaving of up to so many events: use the engine exhaust and give max_events (--max-events K)"
        )
    if per_kind is not None and engine != "exhaust":
        raise BadInput("a number of episodes for each further kind is for the engine exhaust, which goes on to these")
    if per_kind is not None and per_kind < 0:
        raise BadInput(f"the number of episodes for each further kind is 0 or more, not {per_kind}")
    if max_time is not None and not max_time > 0:
        raise BadInput(f"the time is a number of seconds above 0, not {max_time}")
    if store is not None and engine != "exhaust":
        raise BadInput("a store is for the engine exhaust: what Hypothesis draws is drawn anew each time")
    if examples is not None and examples < 1:
        raise BadInput(f"the number of examples is 1 or more, not {examples}")
    for kind in kinds or ():
        refuse_kind(kind)
    refuse_unknown(engine, profile, worlds, scenario, examples, seed)


def _failure(runner: Runner, code: str, shown: Shown, smallest: bool) -> Failure:
    """The interleaving run once more, for its source lines: what does not fail again is not reported as a failure."""
    there = Elsewhere(runner, shown.scenario or runner.scenario)
    history = there.run(shown.dropped, shown.events)
    events = push_right(history, history.fired)
    again = there.run(shown.dropped, events, lines=True)
    findings = [finding for finding in judge(again).findings if finding.code == code]
    if not findings:
        events = shown.events
        again = there.run(shown.dropped, events, lines=True)
        findings = [finding for finding in judge(again).findings if finding.code == code]
    if not findings or first_difference(again, there.run(shown.dropped, events)) is not None:
        raise Nondeterministic(
            f"{runner.name} is not deterministic: {code} was seen once and not when the same interleaving was run again: {list(events)!r}"
        )
    return Failure(code, findings[0], Interleaving(there.scenario, shown.dropped, events), again, shown.number, smallest)


class _Check:
    """One check: what is promised, and what was found so far."""

    def __init__(self, runner: Runner, level: Level, fails: frozenset[str], broken: frozenset[str], budget: Budget, shard: Shard) -> None:
        self.runner, self.level, self.fails, self.broken, self.budget, self.shard = runner, level, fails, broken, budget, shard
        self.unjudged = _unjudged(runner)
        self.before = runner.run()
        self.past = past_ports(runner, self.before)
        self.tally = Tally(order_of(runner, broken))
        self.again_later = Again()
        self.bound = Bound("events", 0)
        self.proof: Proof | None = None
        self.drawn: Drawing | None = None

    def exhaust(self, max_events: int | None, per_kind: int) -> None:
        """Every interleaving, until all of the size of the first failure have been run; by default goes on until nothing is left to try."""
        most = MAX_EVENTS if max_events is None else max_events
        done = self._exhaust(most)
        self.bound = Bound("events", done)
        if max_events is None and done == most and not self._failing():
            self.proof = prove(self.runner, self._add, known=most, in_time=self.budget.left, per_kind=per_kind)
            if self.proof.complete and self.proof.base is not None:
                self.bound = Bound("complete", self.proof.base.events)

    def explore(self, drawn: Drawing) -> None:
        """Draws interleavings with Hypothesis until one fails."""
        from fencecheck.search.explore import explore_into

        if drawn.worlds != "default" and not self.runner.takes_scenario:
            raise BadInput(f"{self.runner.name} brings its own scenario: no other world can be drawn for it")
        explored = explore_into(self.runner, drawn, self.level, self.fails, self.broken, self.budget)
        self.tally, self.drawn, self.again_later = explored.tally, drawn, explored.again
        self.bound = Bound("examples", explored.drawn, explored.largest and Largest(*explored.largest))

    def _exhaust(self, most: int) -> int:
        """Up to how many events all were run."""
        stop_after = most
        for episode in episodes(self.runner, most, assume_broken=self.broken, shard=self.shard):
            if not self.budget.left():
                return max(episode.size - 1, 0)
            if episode.size > stop_after:
                return stop_after
            if episode.new and self._add(episode, judge(episode.history)) and stop_after == most:
                stop_after = episode.size
        return stop_after

    def _add(self, episode: Episode, judgement: Judgement) -> bool:
        self.tally.add(episode.dropped, episode.events, judgement, episode.events)
        self.again_later.keep(self.runner, episode.dropped, episode.events, episode.history)
        return bool(self._failing())

    def _failing(self) -> dict[str, Shown]:
        return self.tally.failing(self.level, self.fails)

    def assumed(self) -> list[str]:
        """What the verdict rests on besides determinism."""
        compared = self.proof.compared if self.proof is not None and self.proof.complete else 0
        how = f"checked: {compared:,} episodes were the same with other ones" if compared else "not checkable"
        past = "; ".join(part for part in (f"it asks {self.runner.outside}" if self.runner.outside else "", self.past.said) if part)
        ports = f"reaches the world through ports only ({f'not so: {past}' if past else 'not checkable'})"
        return [ports, f"compares versions and values for equality only ({how})"]

    def report(self, engine: Engine) -> Report:
        """What it came to."""
        runner, tally, level = self.runner, self.tally, self.level
        still_the_same(runner, self.before)
        failing = sorted(self._failing().items(), key=lambda item: list(FINDINGS).index(item[0]))
        failures = [_failure(runner, code, shown, self._is_smallest(shown)) for code, shown in failing]
        verdict, why = self._verdict(failures)
        self.again_later.compare(runner, self.budget.left)
        levels = [name for name in LEVELS if not tally.failing(name, self.fails)]
        fails = self.fails
        turns_count = runner.runtime_name != "sync" or runner.own_order != ""
        return Report(
            runner.name,
            verdict,
            level,
            engine,
            self.bound,
            tally.episodes,
            dict(tally.counts),
            tally.fired,
            failures,
            missing={kind: why for kind, why in runner.missing.items() if turns_count or KINDS[kind] not in TURNS},
            beyond={code: shown.number for code, shown in tally.beyond(level).items()},
            noticed={code: shown.number for code, shown in tally.shown.items() if code not in fails and FINDINGS[code].kind != "safety"},
            crash=tally.shown["crash"].finding.message if "crash" in tally.shown and "crash" not in fails else "",
            notes=self._notes(),
            omits=any(action.declared is not None and not {*action.depends_on} <= {*action.declared} for action in runner.scenario.actions),
            strongest=levels[-1] if levels else None,
            why=why,
            placements="every point" if runner.own_store else "dependent points",
            reference=reference(runner.system),
            runtime=runner.runtime_name,
            own_scenario=not runner.takes_scenario,
            proof=self.proof,
            shard=str(self.shard) if self.shard != WHOLE else None,
            kept=runner.told() if isinstance(runner, KeepingRunner) else "",
            seed=self.drawn.seed if self.drawn is not None else None,
            profile=self.drawn.profile if self.drawn is not None else None,
        )

    def _notes(self) -> list[str]:
        """What is to be known first, though it decides no verdict."""
        noticed = [finding for finding in judge(self.before).findings if FINDINGS[finding.code].kind in ("usefulness", "robustness")]
        alone = {finding.code: finding.message for finding in noticed if finding.code not in self.fails}
        said = [
            f"even without any event: {code}: {message} It fails no check unless asked with --fail-on {code}"
            for code, message in alone.items()
        ]
        unread = self.past.keys("read")
        if unread:
            read = (
                f"past its ports: no port call reads {', '.join(unread)}, whose value goes out, so no event lands there and no owner fails"
            )
            said.append(f"{read}; fencecheck check-adapter names the lines")
        return said

    def again(self, scenario: Scenario | None, fail_on: Iterable[str], kinds: Iterable[str] | None) -> str | None:
        """The command line that draws the same again; None where nothing was drawn, or no command line can name the system or its world."""
        system, sizes = reference(self.runner.system), sizes_of(scenario)
        if self.drawn is None or system is None or sizes is None:
            return None
        options = [
            *sizes,
            ("--level", None if self.level == LEVELS[0] else self.level),
            ("--kinds", None if kinds is None else ",".join(kinds)),
            *(("--fail-on", code) for code in fail_on),
            *(("--assume-broken", name) for name in sorted(self.broken)),
        ]
        return command(system, self.drawn, options)

    def _is_smallest(self, shown: Shown) -> bool:
        """Whether every interleaving of fewer events was run: not of those that were drawn, shared out, or larger by two than all kinds mixed."""
        return self.drawn is None and self.shard == WHOLE and shown.size <= max(self.bound.value or 0, MAX_EVENTS + 1)

    def _verdict(self, failures: list[Failure]) -> tuple[VerdictName, str]:
        if failures:
            return "violated", ""
        if self.unjudged:
            return "inconclusive", self.unjudged
        if self.past.why:
            return "inconclusive", f"{self.past.why}; fencecheck check-adapter names the lines"
        if self.runner.chance and not self.runner.chance_is_harmless:
            return "inconclusive", (
                f"it asks chance ({self.runner.chance}), which may fall otherwise the next time: seed it in setup(), or say "
                "chance_is_harmless = True in the adapter if it changes nothing that the system does"
            )
        if self.budget.ran_out and self.bound.kind == "events" and self.proof is None:
            before = "" if self.tally.episodes else " before any interleaving was run"
            return "inconclusive", f"the time was up{before}: allow more{', or fewer events' if self.tally.episodes else ''}"
        if self.budget.ran_out and self.drawn is not None:
            return "inconclusive", f"the time was up before {self.drawn.examples:,} were drawn: allow more, or fewer examples"
        if not self.tally.fired:
            return "inconclusive", "no event fired, so nothing was tested: allow at least one event"
        if "no-evidence" in self.tally.shown:
            message = self.tally.shown["no-evidence"].finding.message
            return "inconclusive", f"{message} Pass plan= or basis= to kit.act, or arguments that carry the values."
        return "held", ""


def _unjudged(runner: Runner) -> str:
    """Why nothing that goes out can be found stale, or nothing: where no call declares a key, there is nothing to judge it by."""
    effects = runner.run().effects
    for effect in effects:
        action = runner.scenario.action(effect.action)
        if effect.declared if effect.declared is not None else action and runner.scenario.declared(action):
            return ""
    return f"{effects[0].action} declares no key that it depends on, so nothing was tested: give its Action depends_on=[...]"
