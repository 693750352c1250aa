"""`check`: one system, one engine, one report."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Literal

from fencecheck.errors import BadInput, Nondeterministic
from fencecheck.history import first_difference
from fencecheck.interleaving import Interleaving
from fencecheck.judge import ALWAYS_FAIL, FINDINGS, LEVELS, Judgement, Level, judge
from fencecheck.model import Scenario
from fencecheck.run.loading import reference
from fencecheck.run.simulate import Runner, SystemLike
from fencecheck.search.exhaust import Episode, episodes, order_of
from fencecheck.search.placing import push_right
from fencecheck.search.preflight import preflight, still_the_same
from fencecheck.search.prove import Proof, prove
from fencecheck.search.report import Bound, Failure, Report, VerdictName
from fencecheck.search.tally import Shown, Tally

Engine = Literal["exhaust", "explore"]
MAX_EVENTS = 2
EXAMPLES = 1_000


def check(
    system: SystemLike,
    *,
    engine: Engine = "exhaust",
    scenario: Scenario | None = None,
    level: Level = "at-validation",
    max_events: int | None = None,
    examples: int = EXAMPLES,
    seed: int = 0,
    fail_on: Iterable[str] = (),
    assume_broken: Iterable[str] = (),
    fresh_process: bool = True,
    complete: bool = False,
) -> Report:
    """Checks one system against *halt or current*.

    Args:
        system: an adapter class, or a function that makes an adapter.
        engine: `exhaust` runs every interleaving of up to `max_events` events; `explore` draws `examples` of them with Hypothesis.
        scenario: the world, for a system that takes a generated one.
        level: the promise: `at-validation`, `at-one-instant` or `at-act`.
        max_events: most events in an interleaving; 2 for exhaust and 8 for explore by default.
        examples: how many examples `explore` draws.
        seed: where `explore` begins.
        fail_on: codes of findings that fail the check besides safety and `stuck`, such as `duplicate-act`.
        assume_broken: assumptions that may be broken, such as `honest-owners`.
        fresh_process: whether to compare with a run in a fresh process first.
        complete: whether `exhaust` goes on, where nothing failed, to any number of updates, refusing owners, restores and missing parents.

    Raises:
        BadInput: an argument is out of range.
        CouldNotRun: the system cannot be judged.
    """
    fails = _fail_on(fail_on)
    proof: Proof | None = None
    _validate(engine, level, max_events, examples)
    started = time.perf_counter()
    with Runner(system, scenario) as runner:
        assumed = preflight(runner, fresh_process=fresh_process)
        unjudged = _unjudged(runner)
        before = runner.run()
        broken = frozenset(assume_broken)
        if engine == "exhaust":
            most = MAX_EVENTS if max_events is None else max_events
            tally = _exhaust(runner, most, level, fails, broken)
            bound = Bound("events", most)
            if complete and not tally.failing(level, fails):
                proof = _prove(runner, most, tally, level, fails)
        else:
            from fencecheck.search.explore import explore_into

            tally = explore_into(runner, examples, seed, 8 if max_events is None else max_events, level, fails, broken)
            bound = Bound("examples", examples)
        still_the_same(runner, before)
        failing = sorted(tally.failing(level, fails).items(), key=lambda item: list(FINDINGS).index(item[0]))
        failures = [_failure(runner, code, shown) for code, shown in failing]
        report = _report(runner, tally, failures, level, engine, bound, fails, unjudged)
    report.assumed = [
        *assumed,
        "reaches the world through ports only (not checkable)",
        "compares versions for identity only (not checkable)",
    ]
    report.seed = seed if engine == "explore" else None
    report.proof = proof
    report.seconds = time.perf_counter() - started
    return report


def exhaust(system: SystemLike, max_events: int = MAX_EVENTS, **options: object) -> Report:
    """`check` with every interleaving of up to `max_events` events."""
    return check(system, engine="exhaust", max_events=max_events, **options)  # type: ignore[arg-type]


def explore(system: SystemLike, examples: int = EXAMPLES, **options: object) -> Report:
    """`check` with `examples` interleavings drawn by Hypothesis."""
    return check(system, engine="explore", examples=examples, **options)  # type: ignore[arg-type]


def _fail_on(codes: Iterable[str]) -> frozenset[str]:
    for code in codes:
        if code not in FINDINGS:
            raise BadInput(f"there is no finding {code!r}: fail_on takes {', '.join(FINDINGS)}")
    return ALWAYS_FAIL | frozenset(codes)


def _validate(engine: str, level: str, max_events: int | None, examples: int) -> None:
    if engine not in ("exhaust", "explore"):
        raise BadInput(f"there is no engine {engine!r}: use exhaust or explore")
    if level not in LEVELS:
        raise BadInput(f"there is no level {level!r}: use {', '.join(LEVELS)}")
    if max_events is not None and max_events < 0:
        raise BadInput(f"the number of events is 0 or more, not {max_events}")
    if examples < 1:
        raise BadInput(f"the number of examples is 1 or more, not {examples}")


def _exhaust(runner: Runner, most: int, level: Level, fails: frozenset[str], broken: frozenset[str]) -> Tally:
    """Every interleaving, until all of the size of the first failure have been run."""
    tally = Tally(order_of(runner, broken))
    stop_after = most
    for episode in episodes(runner, most, assume_broken=broken):
        if episode.size > stop_after:
            break
        if not episode.new:
            continue
        tally.add(episode.dropped, episode.events, judge(episode.history), episode.events)
        if stop_after == most and tally.failing(level, fails):
            stop_after = episode.size
    return tally


def _prove(runner: Runner, most: int, tally: Tally, level: Level, fails: frozenset[str]) -> Proof:
    def add(episode: Episode, judgement: Judgement) -> bool:
        tally.add(episode.dropped, episode.events, judgement, episode.events)
        return bool(tally.failing(level, fails))

    return prove(runner, add, known=most)


def _failure(runner: Runner, code: str, shown: Shown) -> Failure:
    """The interleaving run once more, for its source lines: what does not fail again is not reported as a failure."""
    history = runner.run(shown.dropped, shown.events)
    events = push_right(history, history.fired)
    again = runner.run(shown.dropped, events, lines=True)
    findings = [finding for finding in judge(again).findings if finding.code == code]
    if not findings:
        events = shown.events
        again = runner.run(shown.dropped, events, lines=True)
        findings = [finding for finding in judge(again).findings if finding.code == code]
    if not findings or first_difference(again, runner.run(shown.dropped, events)) is not None:
        raise Nondeterministic(
            f"{runner.name} is not deterministic: {code} was seen once and not when the same interleaving was run again: {list(events)!r}"
        )
    return Failure(code, findings[0], Interleaving(runner.scenario, shown.dropped, events), again, shown.number)


def _unjudged(runner: Runner) -> str:
    """Why nothing that goes out can be found stale, or nothing: where no call declares a key, there is nothing to judge it by."""
    effects = runner.run().effects
    for effect in effects:
        action = runner.scenario.action(effect.action)
        if effect.declared if effect.declared is not None else action and runner.scenario.declared(action):
            return ""
    return f"{effects[0].action} declares no key that it depends on, so nothing was tested: give its Action depends_on=[...]"


def _report(
    runner: Runner,
    tally: Tally,
    failures: list[Failure],
    level: Level,
    engine: Engine,
    bound: Bound,
    fails: frozenset[str],
    unjudged: str,
) -> Report:
    verdict, why = _verdict(tally, failures, unjudged)
    levels = [name for name in LEVELS if not tally.failing(name, fails)]
    return Report(
        runner.name,
        verdict,
        level,
        engine,
        bound,
        tally.episodes,
        dict(tally.counts),
        tally.fired,
        failures,
        missing=runner.missing,
        beyond={code: shown.number for code, shown in tally.beyond(level).items()},
        noticed={code: shown.number for code, shown in tally.shown.items() if code not in fails and FINDINGS[code].kind != "safety"},
        strongest=levels[-1] if levels else None,
        why=why,
        placements="every point" if runner.own_store else "dependent points",
        reference=reference(runner.system),
        runtime=runner.runtime_name,
        own_scenario=not runner.takes_scenario,
    )


def _verdict(tally: Tally, failures: list[Failure], unjudged: str) -> tuple[VerdictName, str]:
    if failures:
        return "violated", ""
    if unjudged:
        return "inconclusive", unjudged
    if not tally.fired:
        return "inconclusive", "no event fired, so nothing was tested: allow at least one event"
    if "no-evidence" in tally.shown:
        return "inconclusive", tally.shown[
            "no-evidence"
        ].finding.message + " Pass plan= or basis= to kit.act, or arguments that carry the values."
    return "held", ""
