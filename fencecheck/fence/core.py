"""PlanFence as a protocol without I/O: a generator that asks for what it needs and is told, and so contains every decision.

The rule. A plan names its parents: the records that it was derived from. Walking them finds, for each key x that an action declares,
F(x): the version of x that the plan rests on. H(x) is the version that x's owner says is current. The action may go out iff
F(x) = H(x) for every declared x; otherwise the plan is remade once from the current records and validated again, and whatever cannot be
verified is a halt. ("Fresh Memory, Stale Plans", Chen, Wang, Brinton; arXiv, 2026-09-03.)

Why it holds. Records are immutable, so what the walk read stays true and only the heads can move. The heads are asked last, after the
whole lineage is in hand, and nothing happens between the last answer and the clearance: each premise was current when its owner answered.

What is awkward.

- Between two versions of one key on one path only the nearer counts, for it was made with the other in view. So "reached" depends on
  the path. That needs a walk per key, which is paid for only where a key has several versions in one lineage.
- Superseding is not deriving. `supersedes` is never walked; it only shows that an answer is older than what the lineage holds.
- The lineage is data of others: it may dangle, loop, or grow without end. Each record is read once and their number is bounded. An edge
  that does not lead to a later generation is the only kind that can close a loop, so only then is there a search for one.
- An owner may answer with an id that is not a version of the key at all. It counts as seen only once its record was verified, else one
  wrong answer would make each later right one look older.
- Two validations can overlap. An answer then supersedes only those that had arrived before its question was put.
- The promise is bound to the answers. An update can land after them, and several owners are not read at one common instant.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any, NoReturn

from fencecheck.fence.seen import Seen
from fencecheck.fence.values import Ask, Cleared, Failure, Fetch, Halt, R, Reason, Replan, Request, Steps

MAX_RECORDS = 10_000


def protocol(plan: R, declared: Iterable[str], *, memory: Seen | None = None, max_records: int = MAX_RECORDS) -> Steps[R]:
    """Validate `plan` for one action, replanning at most once: a generator of requests that returns `Cleared`.

    Args:
        plan: the plan, in hand; it is not fetched, its ancestors are.
        declared: D(a), the keys that the action depends on. With none the lineage is still walked, but no owner is asked.
        memory: what earlier calls saw; none by default.
        max_records: ancestors read before the lineage counts as too large.

    Raises:
        Halt: whatever could not be verified, or changed again.
        TypeError: `declared` is a single string, or `plan` is not a record.

    >>> steps = protocol(plan, ["order/42"])        # doctest: +SKIP
    >>> next(steps)                                 # doctest: +SKIP
    Fetch(ids=('r3',))
    """
    if isinstance(declared, str):
        raise TypeError(f"the declared keys must be a list, not the single string {declared!r}; write [{declared!r}]")
    if not isinstance(getattr(plan, "id", None), str):
        raise TypeError(f"the plan must be a record with an id, not {plan!r}")
    keys = tuple(dict.fromkeys(declared))
    seen = Seen() if memory is None else memory
    replanned = False
    while True:
        lineage, basis, split = yield from _walk(plan, keys, max_records)
        asked = seen.clock
        answers = (yield Ask(keys)) if keys else {}
        changed = _compare(keys, answers, basis, split, lineage, seen, asked)
        if not changed:
            return Cleared(plan, basis, replanned)
        heads = yield from _current(changed, lineage, seen, asked)
        if replanned:
            key = next(iter(changed))
            raise Halt(Reason.CHANGED_AGAIN, key, f"now {changed[key]!r}")
        for key, head in heads.items():
            if head.removed:
                raise Halt(Reason.REMOVED, key)
        answer = yield Replan(plan, heads)
        if not isinstance(getattr(answer, "id", None), str):
            _halt(Reason.REPLAN_FAILED, plan.id, answer)
        plan = answer
        replanned = True


def step(steps: Steps[R], answer: Any) -> Request[R] | Cleared[R]:
    """Hand `answer` to the protocol `steps` (None to start it) and return its next request, or the clearance. All that a driver has to call.

    Raises:
        Halt: as `protocol` does.
    """
    try:
        return steps.send(answer)
    except StopIteration as done:
        cleared: Cleared[R] = done.value
        return cleared


def _walk(
    plan: R, keys: tuple[str, ...], max_records: int
) -> Generator[Request[R], Any, tuple[dict[str, R], dict[str, str], tuple[str, ...]]]:
    """The lineage by id, F(x) by key, and the keys of which the plan rests on two versions at once (F holds one of them)."""
    premises: dict[str, str | None] = dict.fromkeys(keys)
    repeated: dict[str, None] = {}
    looks_cyclic = False
    lineage = {plan.id: plan}
    generation = [plan]
    while True:
        ahead: dict[str, None] = {}
        for record in generation:
            try:
                key, parents = record.key, record.parents
                if key in premises:
                    if premises[key] is None:
                        premises[key] = record.id
                    else:
                        repeated[key] = None
                if parents.__class__ is not tuple:
                    parents = _listed(parents)
                for parent in parents:
                    if parent in lineage:
                        looks_cyclic = True
                    else:
                        ahead[parent] = None
            except (AttributeError, TypeError):  # no such field, or a key or parents that are no names
                _halt(Reason.MALFORMED_ANSWER, record.id, record)
        if not ahead:
            break
        if len(lineage) + len(ahead) > max_records + 1:
            raise Halt(Reason.LINEAGE_TOO_LARGE, plan.id, f"limit {max_records}")
        ids = tuple(ahead)
        generation = _accept(ids, (yield Fetch(ids)), lineage)
    if looks_cyclic:
        _refuse_cycle(plan, lineage)
    split = _resolve(plan, premises, repeated, lineage) if repeated else ()
    for key, version in premises.items():
        if version is None:
            raise Halt(Reason.NOT_IN_LINEAGE, key)
    return lineage, premises, split  # type: ignore[return-value]


def _accept(ids: tuple[str, ...], answers: Mapping[str, Any], lineage: dict[str, R]) -> list[R]:
    """The records answered for `ids`, which join the lineage."""
    generation: list[R] = []
    for name in ids:
        record: Any = answers.get(name)
        try:
            right = record.id == name
        except AttributeError:
            right = False
        if not right:
            _halt(Reason.MISSING_PARENT if record is None or isinstance(record, Failure) else Reason.MALFORMED_ANSWER, name, record)
        lineage[name] = record
        generation.append(record)
    return generation


def _resolve(plan: R, premises: dict[str, str | None], repeated: Iterable[str], lineage: Mapping[str, R]) -> tuple[str, ...]:
    """Put F(x) of the repeated keys into `premises`, and return those of them with two versions at once."""
    split: tuple[str, ...] = ()
    for key in repeated:
        reached = _reached(plan, key, lineage)
        premises[key] = reached[0]
        if len(reached) > 1:
            split = (*split, key)
    return split


def _reached(plan: R, key: str, lineage: Mapping[str, R]) -> list[str]:
    """Versions of `key` reached from the plan on a path with no other version of it before them, in the order of the walk."""
    reached, visited, stack = [], {plan.id}, [plan]
    while stack:
        record = stack.pop()
        if record.key == key:
            reached.append(record.id)
            continue
        for parent in reversed(record.parents):
            if parent not in visited:
                visited.add(parent)
                stack.append(lineage[parent])
    return reached


def _refuse_cycle(plan: R, lineage: Mapping[str, R]) -> None:
    on_path, done = {plan.id}, set()
    stack = [(plan.id, iter(plan.parents))]
    while stack:
        name, parents = stack[-1]
        for parent in parents:
            if parent in on_path:
                raise Halt(Reason.CYCLE, parent)
            if parent not in done:
                on_path.add(parent)
                stack.append((parent, iter(lineage[parent].parents)))
                break
        else:
            stack.pop()
            on_path.discard(name)
            done.add(name)


def _compare(
    keys: tuple[str, ...],
    answers: Mapping[str, Any],
    basis: Mapping[str, str],
    split: tuple[str, ...],
    lineage: Mapping[str, R],
    seen: Seen,
    asked: int,
) -> dict[str, str]:
    """The declared keys whose head is not the plan's premise, with that head.

    All answers are looked at before the first bad one halts: what the good ones say is worth remembering.
    """
    changed: dict[str, str] = {}
    halt: tuple[Reason, str, Any] | None = None
    heads = seen.heads
    for key in keys:
        head = answers.get(key)
        if not head or not isinstance(head, str):
            halt = halt or (_refusal(head), key, head)
        elif head == basis[key] and key not in split:
            if heads.get(key) == head:
                continue
            if seen.older(key, head):
                halt = halt or (Reason.OLDER_HEAD, key, head)
            else:
                seen.note(key, head, asked)  # verified: the walk found it as a version of this key
        elif seen.older(key, head) or any(record.key == key and record.supersedes == head for record in lineage.values()):
            halt = halt or (Reason.OLDER_HEAD, key, head)
        else:
            changed[key] = head
    if halt is not None:
        _halt(*halt)
    return changed


def _current(changed: Mapping[str, str], lineage: Mapping[str, R], seen: Seen, asked: int) -> Generator[Request[R], Any, dict[str, R]]:
    """The records of the changed heads by key, each verified and then remembered as seen.

    Also after the replan, where a change halts anyway: only then is "changed again" told from "answered for another key".
    """
    ids = tuple(dict.fromkeys(head for head in changed.values() if head not in lineage))
    answers = (yield Fetch(ids)) if ids else {}
    heads: dict[str, R] = {}
    halt: tuple[Reason, str, Any] | None = None
    for key, head in changed.items():
        record: Any = lineage[head] if head in lineage else answers.get(head)
        reason = _fault_of(record, key, head)
        if reason is not None:
            halt = halt or ((reason, key, head) if reason is Reason.WRONG_KEY else (reason, head, record))
            continue
        heads[key] = record
        # A plan's premises were committed before the plan, so an owner that now answers otherwise has superseded them all.
        seen.note(key, head, asked, [old.id for old in lineage.values() if old.key == key])
    if halt is not None:
        _halt(*halt)
    return heads


def _fault_of(record: Any, key: str, head: str) -> Reason | None:
    """What is wrong with `record` as the head `head` of `key`, or None."""
    if record is None or isinstance(record, Failure):
        return Reason.MISSING_HEAD
    try:
        version, of_key, _ = record.id, record.key, record.removed
    except AttributeError:
        return Reason.MALFORMED_ANSWER
    if version != head:
        return Reason.MALFORMED_ANSWER
    return None if of_key == key else Reason.WRONG_KEY


def _listed(parents: Any) -> tuple[str, ...]:
    """Parents as decoded from JSON are a list. A string is iterable too, and would be walked letter by letter."""
    if not isinstance(parents, tuple | list):
        raise TypeError
    return tuple(parents)


def _refusal(answer: Any) -> Reason:
    if not isinstance(answer, Failure):
        return Reason.MALFORMED_ANSWER
    return Reason.OWNER_TIMEOUT if answer.timed_out else Reason.OWNER_UNAVAILABLE


def _halt(reason: Reason, about: str, answer: Any) -> NoReturn:
    """Raise the halt for a bad answer, caused by the port's exception. Values stay out of the message: they may be long or private."""
    if isinstance(answer, Failure):
        detail = "" if answer.error is None else f"{type(answer.error).__name__}: {answer.error}".removesuffix(": ")
        raise Halt(reason, about, detail) from answer.error
    id = getattr(answer, "id", answer)
    shown = repr(answer) if answer is None or isinstance(answer, str) else f"a {type(answer).__name__}"
    if type(id) is int:
        shown = f"the id {id}, a number: the id of a record is a text that names one version of one key, such as 'order/42@3'"
    raise Halt(reason, about, f"got {shown}") from None
