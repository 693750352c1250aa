"""Levels and findings as data: what each finding means, which class it is of, and from which level on it counts."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

Level = Literal["at-validation", "at-one-instant", "at-act"]
LEVELS: tuple[Level, ...] = get_args(Level)
"""From the weakest promise to the strongest; each includes the violations of those before it."""

FindingClass = Literal["safety", "robustness", "usefulness", "inconclusive"]


class Meaning(Struct, frozen=True):
    """What a finding code stands for.

    Args:
        kind: safety and `stuck` fail a check; the others fail one where asked.
        level: the weakest level at which it is a finding.
        says: one clause for people.
        right: what a system that keeps the promise would have done.
    """

    kind: FindingClass
    level: Level
    says: str
    right: str


REPLAN_OR_HALT = "replan once from the current version and validate again, or halt"

FINDINGS: dict[str, Meaning] = {  # in the order in which a report names them
    "stale-act": Meaning(
        "safety", "at-validation", "an action went out made from a version that was not current when it was validated", REPLAN_OR_HALT
    ),
    "unverified-act": Meaning("safety", "at-validation", "an action went out though an input could not be verified", "halt"),
    "provenance-mismatch": Meaning(
        "safety",
        "at-validation",
        "what went out was not made from what the plan or the basis says",
        "send the arguments of the plan that was validated",
    ),
    "unbounded-replan": Meaning("safety", "at-validation", "the system replanned more often than allowed", "replan once, then halt"),
    "raced-act": Meaning(
        "safety",
        "at-act",
        "an input changed between validation and act",
        "pass the expected version on to a tool that checks it with its own update",
    ),
    "torn-validation": Meaning(
        "safety",
        "at-one-instant",
        "the inputs were not all current at the moment of validation",
        "read all owners at one instant, or let the tool check",
    ),
    "stuck": Meaning(
        "robustness", "at-validation", "the system neither acted nor halted", "give each wait a timeout and halt when it runs out"
    ),
    "crash": Meaning(
        "robustness", "at-validation", "an exception that is not a halt ended the run", "name it in halt_exceptions if it means to halt"
    ),
    "needless-replan": Meaning("usefulness", "at-validation", "the system replanned though nothing it depends on had changed", "act"),
    "needless-halt": Meaning("usefulness", "at-validation", "the system halted though nothing it depends on had changed or failed", "act"),
    "duplicate-act": Meaning(
        "usefulness",
        "at-validation",
        "an action had more effects than it was meant to have",
        "send a stable idempotency key with each attempt",
    ),
    "no-evidence": Meaning(
        "inconclusive",
        "at-validation",
        "nothing shows what the action was made from",
        "pass plan=, basis= or arguments that carry values of one version only, or define versions_in(args)",
    ),
}
ALWAYS_FAIL = frozenset({code for code, meaning in FINDINGS.items() if meaning.kind == "safety"} | {"stuck"})


def counts_at(code: str, level: Level) -> bool:
    """Whether `code` is a finding at `level`."""
    return LEVELS.index(FINDINGS[code].level) <= LEVELS.index(level)
