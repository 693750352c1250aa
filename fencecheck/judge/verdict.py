"""What the judge says of one history: values only."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from fencecheck.judge.levels import ALWAYS_FAIL, Level, counts_at

EpisodeOutcome = Literal["stuck", "crashed", "completed", "halted-unverified", "halted-changed", "halted-needless"]


class Finding(Struct, frozen=True, repr_omit_defaults=True):
    """One thing that is wrong in a history.

    Args:
        code: a key of `levels.FINDINGS`.
        at: index of the entry that it is about: the effect, the derive, the end.
        key: the key that it is about, if one.
        evidence: indices of the entries that show it, in order, `at` included.
        message: a sentence for people.
    """

    code: str
    at: int
    key: str | None = None
    evidence: tuple[int, ...] = ()
    message: str = ""


class Judgement(Struct):
    """All findings of one history at every level, and what is counted beside them.

    Args:
        outcome: how the episode came out, as a team counts it.
        findings: all of them, of all levels and classes.
        effects, replans, needless_replans, duplicates, refused: numbers in this episode.
        misreported: keys judged current only since an owner misreported its head.
        value_current: keys current by value though not by version.
        omitted: effects that rest on a changed key which is not declared.
        unshown: effects of which nothing shows which version of some true, undeclared key they were made from.
        unmarked: effects before which no `validated()` was seen.
        overtaken: those of them whose plan was derived after one.
        recovered: whether it completed after a replan.
    """

    outcome: EpisodeOutcome
    findings: list[Finding]
    effects: int = 0
    replans: int = 0
    needless_replans: int = 0
    duplicates: int = 0
    refused: int = 0
    misreported: int = 0
    value_current: int = 0
    omitted: int = 0
    unshown: int = 0
    unmarked: int = 0
    overtaken: int = 0
    recovered: bool = False

    def violations(self, level: Level, fail_on: frozenset[str] = ALWAYS_FAIL) -> list[Finding]:
        """The findings that fail a check at `level`."""
        return [f for f in self.findings if f.code in fail_on and counts_at(f.code, level)]
