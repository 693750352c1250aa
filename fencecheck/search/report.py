"""What a check comes to: a value that the terminal, JSON and pytest only render."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, to_builtins

from fencecheck.history import History
from fencecheck.interleaving import Event, Interleaving
from fencecheck.judge import Finding, Level
from fencecheck.search.prove import Proof

VerdictName = Literal["held", "violated", "inconclusive"]
Placements = Literal["dependent points", "every point"]
EXIT_STATUS: dict[VerdictName, int] = {"held": 0, "violated": 1, "inconclusive": 3}


class Largest(Struct, frozen=True):
    """Of each measure of a world the largest that was drawn, though not all of them in one."""

    keys: int
    declared: int
    owners: int
    depth: int
    executors: int


class Bound(Struct, frozen=True):
    """How far a search went: up to so many events, so many examples, or to the end of the space (`complete`, at so many events).

    Args:
        worlds: how large the worlds were that were drawn, or None for one world.
    """

    kind: Literal["events", "examples", "complete"]
    value: int | None
    worlds: Largest | None = None


class Failure(Struct):
    """One finding that fails the check, with the smallest interleaving that was found for it.

    Args:
        history: that interleaving run once more, with source lines.
        number: how many episodes showed this finding.
        smallest: whether every interleaving of fewer events was run. Where it was not, none of its events can be left out, but there may be
            another one that is smaller.
        case: path of the case file, if one was written.
        test: path of the runnable pytest file, if one was written.
    """

    code: str
    finding: Finding
    interleaving: Interleaving
    history: History
    number: int = 1
    smallest: bool = True
    case: str | None = None
    test: str | None = None

    @property
    def events(self) -> tuple[Event, ...]:
        """Its events."""
        return self.interleaving.events


class Report(Struct):
    """The result of one check of one system.

    Args:
        system: its name.
        reference: how another process loads it, or None.
        verdict: held, violated or inconclusive.
        why: for an inconclusive verdict, why.
        level: the level that was asked for.
        strongest: the strongest level at which no violation was seen, or None.
        engine: exhaust or explore.
        placements: how events were placed: before each point that depends on them, or before every point.
        episodes: how many were judged.
        counts, fired: as in `Tally`.
        missing: kinds of event that could not be sent, with the hook that each needs.
        beyond: safety findings of stronger levels, with the number of episodes.
        noticed: findings that do not fail this check, with the number of episodes.
        crash: the first crash that was noticed, in words, or nothing.
        notes: what is to be known first: findings without any event, though they fail no check, and what goes past the ports.
        omits: whether an action declares less than it depends on.
        assumed: what the verdict rests on, each with how it was checked.
        runtime: the runtime of the system.
        own_scenario: whether the system brings its scenario.
        seed: where the search began, if it was drawn.
        profile: the Hypothesis profile, if one was asked for.
        again: the command line that draws the same again, where there is one.
        seconds: how long it took.
        proof: how far the search for any number of events came, where there was one.
        shard: the share that was run, such as `2/4`, or None for all.
        kept: what a store of episodes has to do with it, as a clause, or nothing.
    """

    system: str
    verdict: VerdictName
    level: Level
    engine: Literal["exhaust", "explore"]
    bound: Bound
    episodes: int
    counts: dict[str, int]
    fired: dict[str, int]
    failures: list[Failure]
    missing: dict[str, str] = {}
    beyond: dict[str, int] = {}
    noticed: dict[str, int] = {}
    crash: str = ""
    notes: list[str] = []
    omits: bool = False
    assumed: list[str] = []
    strongest: Level | None = None
    why: str = ""
    placements: Placements = "dependent points"
    reference: str | None = None
    runtime: str = "sync"
    own_scenario: bool = False
    seed: int | None = None
    profile: str | None = None
    again: str | None = None
    seconds: float = 0.0
    proof: Proof | None = None
    shard: str | None = None
    kept: str = ""

    @property
    def exit_status(self) -> int:
        """0 held, 1 violated, 3 inconclusive."""
        return EXIT_STATUS[self.verdict]

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` writes for this system."""
        return {
            "system": self.system,
            "verdict": self.verdict,
            "level": self.level,
            "engine": self.engine,
            "episodes": self.episodes,
            "bound": {name: value for name, value in to_builtins(self.bound).items() if name != "worlds" or value is not None},
            "counts": self.counts,
            "events_fired": self.fired,
            "findings": [{"code": f.code, "message": f.finding.message, "case": f.case, "smallest": f.smallest} for f in self.failures],
            "events_missing": self.missing,
            "strongest_level": self.strongest,
            "beyond": self.beyond,
            "noticed": self.noticed,
            "notes": self.notes,
            "assumed": self.assumed,
            "why": self.why,
            **({} if self.proof is None else {"proof": to_builtins(self.proof)}),
            **({} if self.shard is None else {"shard": self.shard}),
            **({} if self.profile is None else {"profile": self.profile, "seed": self.seed}),
        }
