"""A search for any number of events in words: what was proved, why that is a proof, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterable

from fencecheck.report.words import clean, count_of
from fencecheck.search.prove import Proof

_WHY = (
    "why that is a proof: an event shows only in a call that touches what it changed, so it is tried before such calls alone; and where two "
    "runs come to a call with the same answers given, the same noted by the judge and the same state of owners and records (versions renamed "
    "by first use), they go on alike, so only one is gone on from. When no run came to anything new, nothing was left to try"
)
_OUT = "what it leaves out: several further kinds at once in more than 2 events, other scenarios, and what the assumptions rule out"


def proof_in_words(proof: Proof) -> list[str]:
    """What was proved for any number of events and why that is a proof; or why nothing was."""
    kinds = listed(proof.kinds)
    if proof.base is None:
        return [f"not tried with more events: {clean(proof.why)}"]
    if not proof.base.complete:
        return [
            f"not complete for any number of {kinds}: {clean(proof.why)}, with all of up to {count_of(proof.base.events, 'event')} done"
        ]
    after = f"It closed at {count_of(proof.base.events, 'event')} after {count_of(proof.base.episodes, 'episode')}"
    stand = f"which stand for {proof.stands_for:,} interleavings of up to {proof.counted} events, and for all longer ones"
    return [f"complete: any number of {kinds}. {after}, {stand}", *_further(proof), _WHY, _OUT]


def _further(proof: Proof) -> list[str]:
    done = [_kind(reach.kind) for reach in proof.further if reach.complete]
    left = [f"{_kind(reach.kind)}: {count_of(reach.events, 'event')}".replace(" ", "\xa0") for reach in proof.further if not reach.complete]
    said = [f"complete with one further kind at a time: {listed(done)}"] if done else []
    said += [f"not complete with these, but every interleaving of up to so many events: {', '.join(left)}"] if left else []
    return said + ([f"further kinds were not finished: {clean(proof.why)}"] if proof.why else [])


def _kind(kind: str) -> str:
    """A kind, with how often it comes where that is not any number of times."""
    return f"one {kind}" if kind in ("replan", "restart") else kind


def listed(items: Iterable[str]) -> str:
    """`a, b and c`, each on one line."""
    said = [item.replace(" ", "\xa0") for item in items]
    return " and ".join([*([", ".join(said[:-1])] if len(said) > 1 else []), *said[-1:]])
