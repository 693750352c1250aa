"""A search for any number of events in plain words: what was tried, why nothing else can differ, how far each kind came, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable

from fencecheck.errors import listed as in_words
from fencecheck.interleaving import DROPPED
from fencecheck.report.words import clean, count_of
from fencecheck.search.closing import ONCE, Open
from fencecheck.search.prove import MOST_EVENTS_TOLD_APART, MOST_STATES, MOST_STATES_FURTHER, Proof, Reach

_ONCE = tuple(str(kind.__struct_config__.tag) for kind in ONCE)


def proof_in_words(proof: Proof) -> list[str]:
    """What was tried beyond so many events, why that is all that can differ, and what is left out; or why nothing more was tried."""
    if proof.base is None:
        more = proof.mixed + 1
        return [
            f"not tried with more events: {clean(proof.why)}; --max-events {more} tries every interleaving of up to {count_of(more, 'event')}"
        ]
    tried = f"tried: every interleaving of up to {count_of(proof.mixed, 'event')} of all kinds; then any number of {listed(proof.kinds)},"
    if not proof.base.complete:
        return [f"{tried} but not to the end: {_open(proof, proof.base)}"]
    number, most = count_of(proof.base.episodes, "episode"), count_of(proof.base.events, "event")
    return [
        f"{tried} until no further one led to anything new: {number} of up to {most} in all",
        _why(proof, number),
        *_further(proof),
        _left_out(proof),
    ]


def shares(proof: Proof, episodes: int) -> str:
    """Of what so many episodes were, in the order in which they were run; nothing where all were of the first sort."""
    if not proof.more + proof.more_further:
        return ""
    said = [f"{episodes - proof.more - proof.more_further:,} of up to {count_of(proof.mixed, 'event')} of all kinds"]
    said += [f"{proof.more:,} of more events of {count_of(len(proof.kinds), 'kind')}"] if proof.more else []
    said += [f"{proof.more_further:,} of more with one further kind"] if proof.more_further else []
    return f": {', '.join(said[:-1])} and {said[-1]}" if said[1:] else f": {said[0]}"


def _open(proof: Proof, base: Reach) -> str:
    why = {
        "episodes": f"{count_of(base.episodes, 'episode')} were not enough",
        "states": f"before one call there are more than {MOST_STATES:,} states of the world to try",
    }.get(base.ran_out, clean(proof.why))
    return f"{why}. Of these kinds all of up to {count_of(base.events, 'event')} were tried, in {count_of(base.episodes, 'episode')}"


def _why(proof: Proof, number: str) -> str:
    return (
        "why nothing else can differ, where what is assumed holds: an event is seen only by a call that asks for what it changed, so it lands "
        "before such calls only. Two runs that come to a call with the same answers so far, the same noted by the judge and the same state of "
        "owners and records (versions named by first use) go on alike, so one is enough. "
        f"So the {number} stand for the {proof.stands_for:,} interleavings of up to {proof.counted} such events before the "
        f"{count_of(proof.points, 'call')} of a run, and for all longer ones"
    )


def _further(proof: Proof) -> list[str]:
    done = [_kind(reach.kind) for reach in proof.further if reach.complete]
    said = [f"complete too with one further kind at a time, beside these or in the place of one: {listed(done)}"] if done else []
    reasons: dict[Open, list[Reach]] = {}
    for reach in proof.further:
        if not reach.complete:
            reasons.setdefault(reach.ran_out, []).append(reach)
    left = [f"{', '.join(map(_bounded, some))} ({_reason(why, proof)})" for why, some in reasons.items()]
    said += [f"with these only up to so many events: {'; '.join(left)}"] if left else []
    return said + ([f"further kinds were not finished: {clean(proof.why)}"] if proof.why else [])


def _reason(why: Open, proof: Proof) -> str:
    return {
        "episodes": f"{count_of(proof.per_kind, 'episode')} were not enough: --per-kind allows more",
        "states": f"more than {MOST_STATES_FURTHER:,} states of the world to try before one call",
        "versions": f"the number of updates matters there, so there is no end: at most {MOST_EVENTS_TOLD_APART}",
        "names": "here the system goes by more than whether versions and values are equal",
        "": "not finished",
    }[why]


def _bounded(reach: Reach) -> str:
    return f"{_kind(reach.kind)} {reach.events}".replace(" ", "\xa0")


def _kind(kind: str) -> str:
    """A kind, with how often it comes where that is not any number of times."""
    return f"one {kind}" if kind in _ONCE else kind


def _left_out(proof: Proof) -> str:
    counted = ". A dropped declaration counts as an event" if any(reach.kind == DROPPED for reach in proof.further) else ""
    return f"not tried: several further kinds together in more than {count_of(proof.mixed, 'event')}, and other scenarios{counted}"


def listed(items: Iterable[str]) -> str:
    """`a, b and c`, each on one line."""
    return in_words(item.replace(" ", "\xa0") for item in items)
