"""The slow, plain second judge: ARCHITECTURE.md, "The judge, exactly", one small function per sentence.

It keeps no state, is quadratic or worse, and works every question out anew from the entries. The fast judge is tested against it, so it
shares nothing with it but the values. Where the specification can be read in two ways, the reading taken is said at the function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencecheck.history import Act, Derive, Ended, Fetch, Halted, Head, History, Landed, Memory, Pause, Read, Truth, Validated, is_point
from fencecheck.interleaving import Replan, Restart, Update
from fencecheck.model import Action

Found = tuple[str, int, str | None]


@dataclass(frozen=True)
class SlowVerdict:
    """What the slow judge says: findings as (code, index of the entry, key or None), each with its evidence, and the counts by the names of
    `Judgement`."""

    evidence: dict[Found, tuple[int, ...]]
    counts: dict[str, Any]

    @property
    def findings(self) -> frozenset[Found]:
        """The findings without their evidence."""
        return frozenset(self.evidence)

    @property
    def codes(self) -> set[str]:
        """The codes found."""
        return {code for code, _, _ in self.findings}


def slow_judge(history: History) -> SlowVerdict:
    """Judge one history."""
    found: set[Found] = set()
    for i in effects(history):
        found |= findings_of_effect(history, i)
    found |= {("duplicate-act", i, None) for i in duplicates(history)}
    found |= {("unbounded-replan", i, None) for i in unbounded_replans(history)}
    found |= {("needless-replan", i, None) for i in needless_replans(history)}
    found |= findings_of_end(history)
    return SlowVerdict({one: shown_by(history, *one) for one in found}, counts(history))


def counts(history: History) -> dict[str, Any]:
    """The fields of `Judgement` beside the findings."""
    pairs = [(i, x) for i in effects(history) for x in declared(history, i)]
    return {
        "outcome": outcome(history),
        "effects": len(effects(history)),
        "replans": len(replans(history)),
        "needless_replans": len(needless_replans(history)),
        "duplicates": len(duplicates(history)),
        "refused": sum(type(e) is Act and e.outcome in ("refused", "precondition-failed", "key-reused", "halted") for e in history.entries),
        "misreported": sum(is_misreported(history, i, x) for i, x in pairs),
        "value_current": sum(is_value_current(history, i, x) for i, x in pairs),
        "omitted": sum(is_omitting(history, i) for i in effects(history)),
        "unshown": sum(is_unshown(history, i) for i in effects(history)),
        "unmarked": sum(is_unmarked(history, i) for i in effects(history)),
        "overtaken": sum(is_overtaken(history, i) for i in effects(history)),
        "recovered": outcome(history) == "completed" and bool(replans(history)),
    }


# The effect and its keys


def effects(history: History) -> list[int]:
    """Indices of the effects."""
    return [i for i, e in enumerate(history.entries) if type(e) is Act and e.effect]


def action_of(history: History, act: Act) -> Action:
    """The action of the scenario that is carried out."""
    action = history.scenario.action(act.action)
    assert action is not None, f"{act.action} is no action of the scenario"
    return action


def depended(history: History, i: int) -> tuple[str, ...]:
    """D*: the true dependencies of the effect at i. Where they depend on the arguments, `Act.depends_on` says them."""
    act = history.entries[i]
    return act.depends_on if act.depends_on is not None else action_of(history, act).depends_on


def declared(history: History, i: int) -> tuple[str, ...]:
    """D: the declared keys of the effect at i, minus the dropped. What `declared` does not say is all of D*."""
    act = history.entries[i]
    action = action_of(history, act)
    said = act.declared if act.declared is not None else action.declared
    said = said if said is not None else depended(history, i)
    return tuple(dict.fromkeys(x for x in said if (act.action, x) not in history.dropped))


# What shows a finding


def shown_by(history: History, code: str, i: int, x: str | None) -> tuple[int, ...]:
    """The entries that show a finding at i, in order, i itself among them."""
    before: list[int | None] = []
    if code == "unbounded-replan":
        [one] = [replan for replan in replans(history) if replan.at == i]
        earlier = [replan.at for replan in replans(history) if replan.agent == one.agent and replan.at < i]
        before = [*earlier[len(earlier) - (one.number - 1) :]]
    elif code == "unverified-act" and x is None:
        before = [bad_fetches(history, i)[-1]]
    elif code == "unverified-act":
        before = [j for j in answers(history, i) if history.entries[j].key == x][-1:] if has_failed_answer(history, i, str(x)) else []
    elif code == "stale-act" and x not in (history.entries[i].expect or {}):
        answer = judged_by(history, i, str(x))
        before = [answer if answer is not None else mark(history, i)]
    elif code == "torn-validation" or code == "raced-act":
        before = [mark(history, i)]
    return (*[j for j in before if j is not None], i)


# Evidence


def key_of(history: History, version: str | None) -> str | None:
    """The key of the record `version`, None where there is no record or no key."""
    record = history.records.get(version)
    return record.key if record is not None else None


def are_equal(history: History, one: str, two: str) -> bool:
    """Equal versions: the same id, or two records of the same key, neither removed, with equal values."""
    if one == two:
        return True
    a, b = history.records.get(one), history.records.get(two)
    if a is None or b is None or a.key is None or a.key != b.key or a.removed or b.removed:
        return False
    return a.value == b.value


def subtrees(args: Any) -> Iterator[Any]:
    """`args` itself and everything in it: values of mappings, items of lists, tuples and sets; the keys of a mapping are not part of it."""
    yield args
    inner = args.values() if isinstance(args, Mapping) else args if isinstance(args, list | tuple | set | frozenset) else ()
    for item in inner:
        yield from subtrees(item)


def versions_in_args(history: History, i: int, x: str) -> set[str]:
    """V(x). `Act.versions`, where it is not None, replaces it for every key."""
    act = history.entries[i]
    if act.versions is not None:
        return set(act.versions.get(x, ()))
    candidates = [v for v in history.versions.get(x, []) if v in history.records and not history.records[v].removed]
    found = {v for v in candidates if any(is_that(history.records[v].value, part) for part in subtrees(act.args))}
    if versions_in_basis(history, i, x) or versions_in_lineage(history, act.plan, x):
        return {v for v in found if not is_weak(history.records[v].value)}
    ambiguous = any(not are_equal(history, one, two) for one in found for two in found)
    return set() if ambiguous else found


def is_weak(value: Any) -> bool:
    """A value that can be among the arguments by chance."""
    return value is None or type(value) in (bool, int, float)


def is_that(value: Any, part: Any) -> bool:
    """Whether a part of the arguments is that value: 1 is not True."""
    return value == part and (not is_weak(value) or type(value) is type(part))


def versions_in_basis(history: History, i: int, x: str) -> set[str]:
    """B(x), as a set of at most one."""
    basis = history.entries[i].basis or {}
    return {basis[x]} if x in basis else set()


def lineage(history: History, plan: str | None) -> set[str]:
    """Every id reached from `plan`, itself included, without stopping."""
    reached: set[str] = set()
    ahead = [plan] if plan is not None else []
    while ahead:
        at = ahead.pop()
        if at not in reached:
            reached.add(at)
            ahead += history.records[at].parents if at in history.records else ()
    return reached


def is_complete(history: History, plan: str | None) -> bool:
    """Whether there is a plan and every id of its lineage is a record."""
    return plan is not None and all(record in history.records for record in lineage(history, plan))


def versions_in_lineage(history: History, plan: str | None, x: str) -> set[str]:
    """L(x): the first x-version on each path up from `plan`, itself included."""
    found: set[str] = set()
    passed: set[str] = set()
    ahead = [plan] if plan is not None else []
    while ahead:
        at = ahead.pop()
        if key_of(history, at) == x:
            found.add(at)
        elif at not in passed:
            passed.add(at)
            ahead += history.records[at].parents if at in history.records else ()
    return found


def evidence(history: History, i: int, x: str) -> list[set[str]]:
    """The kinds of evidence of x that are present, each a set of versions."""
    kinds = [
        versions_in_args(history, i, x),
        versions_in_basis(history, i, x),
        versions_in_lineage(history, history.entries[i].plan, x),
    ]
    return [kind for kind in kinds if kind]


def admits(history: History, i: int, x: str, h: str | None) -> bool:
    """Whether the evidence of x admits version h. Evidence that is not there admits anything."""
    if h is None:
        return not evidence(history, i, x)
    in_lineage = versions_in_lineage(history, history.entries[i].plan, x)
    in_basis = versions_in_basis(history, i, x)
    in_args = versions_in_args(history, i, x)
    return (
        all(are_equal(history, v, h) for v in in_lineage)
        and all(are_equal(history, v, h) for v in in_basis)
        and (not in_args or any(are_equal(history, v, h) for v in in_args))
    )


def excludes(history: History, i: int, x: str, h: str | None) -> bool:
    """Evidence of x is present and does not admit h."""
    return bool(evidence(history, i, x)) and not admits(history, i, x, h)


def is_by_value(history: History, i: int, x: str, h: str | None) -> bool:
    """Whether h is admitted by value: a version of the lineage or the basis is not h itself."""
    named = versions_in_lineage(history, history.entries[i].plan, x) | versions_in_basis(history, i, x)
    return admits(history, i, x, h) and any(v != h for v in named)


# Truth


def written(history: History, act: Act) -> list[tuple[str, str]]:
    """Key and version of what an act committed."""
    return list(zip(action_of(history, act).writes, act.wrote, strict=False))


def wrote(history: History, j: int, agent: str) -> list[tuple[str, str]]:
    """Key and version of what the entry at j says that an act of `agent` committed."""
    match history.entries[j]:
        case Truth(key=key, version=version, by=by) if by == agent:
            return [(key, version)]
        case Act() as act if act.agent == agent:
            return written(history, act)
    return []


def committed(history: History, j: int) -> list[tuple[str, str]]:
    """Key and version of what the entry at j committed."""
    match history.entries[j]:
        case Landed(what=Update(key=key), fired=True, version=str(version)):
            return [(key, version)]
        case Act() as act:
            return written(history, act)
        case Derive(id=id):
            key = key_of(history, id)
            return [(key, id)] if key is not None else []
        case Truth(key=key, version=version):
            return [(key, version)]
        case _:
            return []


def truth(history: History, x: str, j: int) -> str | None:
    """The version of x that is current at index j: the last committed before it, else the first."""
    before = [version for k in range(j) for key, version in committed(history, k) if key == x]
    first = history.versions.get(x) or [None]
    return before[-1] if before else first[0]


# Window, mark and answers


def is_by(entry: Any, agent: str, *kinds: type) -> bool:
    """An entry of one of `kinds` that `agent` made itself, not within a Replan event."""
    return type(entry) in kinds and entry.agent == agent and not getattr(entry, "in_event", False)


def is_restart_of(entry: Any, agent: str) -> bool:
    """A fired restart of `agent`."""
    return type(entry) is Landed and entry.fired and type(entry.what) is Restart and entry.what.agent == agent


def planning_point(history: History, i: int) -> int:
    """Where the effect at i was planned; -1 where nothing shows it."""
    act = history.entries[i]
    made_of = lineage(history, act.plan)
    derives = [j for j in range(i) if type(history.entries[j]) is Derive and history.entries[j].id in made_of]
    if derives:
        return derives[-1]
    named = {v for x in declared(history, i) for kind in evidence(history, i, x) for v in kind}
    supplied = [j for j in range(i) if supplies(history.entries[j], act.agent) in named]
    return supplied[-1] if supplied else -1


def supplies(entry: Any, agent: str) -> str | None:
    """The version that an ok read, a memory or an ok fetch by `agent` gave it."""
    if is_by(entry, agent, Read) and entry.answer == "ok":
        return entry.version
    if is_by(entry, agent, Memory):
        return entry.version
    if is_by(entry, agent, Fetch) and entry.answer == "ok":
        return entry.id
    return None


def window_start(history: History, i: int) -> int:
    """The largest of -1, the planning point and the agent's last pause, restart or act before i."""
    agent = history.entries[i].agent
    breaks = [j for j in range(i) if is_by(history.entries[j], agent, Pause, Act) or is_restart_of(history.entries[j], agent)]
    return max([-1, planning_point(history, i), *breaks])


def mark(history: History, i: int) -> int | None:
    """The last `Validated` by the agent in the window whose keys cover D."""
    agent, need = history.entries[i].agent, set(declared(history, i))
    inside = range(max(window_start(history, i), 0), i)
    marks = [j for j in inside if is_by(history.entries[j], agent, Validated) and need <= set(history.entries[j].keys)]
    return marks[-1] if marks else None


def window(history: History, i: int) -> range:
    """The indices of the window: its start is in it, its end is not."""
    end = mark(history, i)
    return range(max(window_start(history, i), 0), i if end is None else end)


def answers(history: History, i: int) -> list[int]:
    """The agent's answers in the window of the effect at i."""
    return [j for j in window(history, i) if is_by(history.entries[j], history.entries[i].agent, Read, Head)]


def fails(history: History, j: int) -> bool:
    """Whether the answer at j fails: not ok, of an unknown version, or of one older than the agent was served, or wrote, before."""
    asked = history.entries[j]
    order = history.versions.get(asked.key, [])
    newest = -1
    for earlier, entry in enumerate(history.entries[:j]):
        if is_by(entry, asked.agent, Act) or type(entry) is Truth:
            mine = wrote(history, earlier, asked.agent)
            newest = max([newest, *(order.index(version) for key, version in mine if key == asked.key and version in order)])
        elif is_by(entry, asked.agent, Read, Head) and entry.key == asked.key and not is_bad(entry, order, newest):
            newest = order.index(entry.version)
    return is_bad(asked, order, newest)


def is_bad(answer: Read | Head, order: list[str], newest: int) -> bool:
    """Whether an answer fails after one was served that stands at `newest` in `order`."""
    return answer.answer != "ok" or answer.version not in order or order.index(answer.version) < newest


def judged_by(history: History, i: int, x: str) -> int | None:
    """Index of the answer that x is judged by, None where it is judged by the truth."""
    if x in (history.entries[i].expect or {}) or mark(history, i) is None:
        return None
    good = [j for j in answers(history, i) if history.entries[j].key == x and not fails(history, j)]
    return good[-1] if good else None


def instant(history: History, i: int, x: str) -> str | None:
    """The version against which x is judged."""
    marked, answer = mark(history, i), judged_by(history, i, x)
    if x in (history.entries[i].expect or {}) or marked is None:
        return truth(history, x, i)
    return history.entries[answer].version if answer is not None else truth(history, x, marked)


# Findings of an effect


def findings_of_effect(history: History, i: int) -> set[Found]:
    """All findings of the effect at i."""
    rules = {
        "stale-act": is_stale,
        "unverified-act": is_unverified,
        "no-evidence": has_no_evidence,
        "torn-validation": is_torn,
        "raced-act": is_raced,
    }
    found: set[Found] = {(code, i, x) for code, rule in rules.items() for x in declared(history, i) if rule(history, i, x)}
    found |= {("provenance-mismatch", i, x) for x in depended(history, i) if is_mismatched(history, i, x)}
    if has_unverified_lineage(history, i):
        found.add(("unverified-act", i, None))
    return found


def is_stale(history: History, i: int, x: str) -> bool:
    """stale-act."""
    return excludes(history, i, x, instant(history, i, x))


def is_unverified(history: History, i: int, x: str) -> bool:
    """unverified-act of a key: absent from a complete lineage, or its last answer failed."""
    act = history.entries[i]
    is_absent = is_complete(history, act.plan) and not versions_in_lineage(history, act.plan, x)
    return is_absent or has_failed_answer(history, i, x)


def has_failed_answer(history: History, i: int, x: str) -> bool:
    """Whether the agent's last answer for x in the window failed, and the tool did not check x either."""
    asked = [j for j in answers(history, i) if history.entries[j].key == x]
    return bool(asked) and x not in (history.entries[i].expect or {}) and fails(history, asked[-1])


def has_unverified_lineage(history: History, i: int) -> bool:
    """unverified-act without a key: some record of the lineage was last fetched and not ok."""
    return bool(answers(history, i)) and bool(bad_fetches(history, i))


def bad_fetches(history: History, i: int) -> list[int]:
    """The last fetches of records of the lineage in the window that are not ok."""
    act = history.entries[i]
    made_of = lineage(history, act.plan)
    last = {history.entries[j].id: j for j in window(history, i) if is_by(history.entries[j], act.agent, Fetch)}
    return sorted(j for id, j in last.items() if id in made_of and history.entries[j].answer != "ok")


def has_no_evidence(history: History, i: int, x: str) -> bool:
    """no-evidence."""
    return not evidence(history, i, x) and not is_complete(history, history.entries[i].plan)


def is_mismatched(history: History, i: int, x: str) -> bool:
    """provenance-mismatch: two kinds of evidence have no equal versions."""
    kinds = evidence(history, i, x)
    pairs = [(one, two) for n, one in enumerate(kinds) for two in kinds[n + 1 :]]
    return any(not any(are_equal(history, a, b) for a in one for b in two) for one, two in pairs)


def is_misreported(history: History, i: int, x: str) -> bool:
    """Counted: current by an answer that was not the truth when it was given, and not by that truth."""
    answer = judged_by(history, i, x)
    if answer is None or is_stale(history, i, x):
        return False
    real = truth(history, x, answer)
    return history.entries[answer].version != real and excludes(history, i, x, real)


def is_torn(history: History, i: int, x: str) -> bool:
    """torn-validation."""
    marked = mark(history, i)
    if marked is None or x in (history.entries[i].expect or {}) or is_stale(history, i, x) or is_misreported(history, i, x):
        return False
    return excludes(history, i, x, truth(history, x, marked))


def is_raced(history: History, i: int, x: str) -> bool:
    """raced-act."""
    if is_stale(history, i, x) or is_misreported(history, i, x) or is_torn(history, i, x):
        return False
    return excludes(history, i, x, truth(history, x, i))


def is_value_current(history: History, i: int, x: str) -> bool:
    """Counted: current by value, not by version."""
    return not is_stale(history, i, x) and is_by_value(history, i, x, instant(history, i, x))


def is_omitting(history: History, i: int) -> bool:
    """Counted: the effect rests on a changed key of D* that is not in D."""
    marked = mark(history, i)
    at = i if marked is None else marked
    hidden = [x for x in depended(history, i) if x not in declared(history, i)]
    return any(excludes(history, i, x, truth(history, x, at)) for x in hidden)


def is_unshown(history: History, i: int) -> bool:
    """Counted: nothing shows which version of some key of D* that is not in D the effect was made from."""
    return any(has_no_evidence(history, i, x) for x in depended(history, i) if x not in declared(history, i))


def is_unmarked(history: History, i: int) -> bool:
    """Counted: no mark, though some key of D is not checked by the tool."""
    return mark(history, i) is None and any(x not in (history.entries[i].expect or {}) for x in declared(history, i))


def is_overtaken(history: History, i: int) -> bool:
    """Counted: unmarked, as the plan was derived after a mark that covers D and that nothing else ends."""
    agent, planned = history.entries[i].agent, planning_point(history, i)
    if not is_unmarked(history, i) or planned < 0 or window_start(history, i) != planned or type(history.entries[planned]) is not Derive:
        return False
    breaks = [j for j in range(planned) if is_by(history.entries[j], agent, Pause, Act) or is_restart_of(history.entries[j], agent)]
    before = range(max([-1, *breaks]) + 1, planned)
    need = set(declared(history, i))
    return any(is_by(history.entries[j], agent, Validated) and need <= set(history.entries[j].keys) for j in before)


def duplicates(history: History) -> list[int]:
    """The effects of each action beyond its `times`."""
    beyond = []
    for action in history.scenario.actions:
        beyond += [i for i in effects(history) if history.entries[i].action == action.name][action.times :]
    return sorted(beyond)


# Replans


def agents(history: History) -> set[str]:
    """Every agent that made an entry."""
    return {e.agent for e in history.entries if hasattr(e, "agent")}


@dataclass(frozen=True)
class SlowReplan:
    """A replan: its derive, the number that it has since the last act, halt or restart, and where the plan that it leaves was derived."""

    at: int
    agent: str
    number: int
    left_at: int


def last_plan(history: History, agent: str, j: int) -> int | None:
    """Index of the derive of q: the agent's last derive before j, forgotten by a restart. Derives within a Replan event do not count."""
    for k in range(j - 1, -1, -1):
        if is_restart_of(history.entries[k], agent):
            return None
        if is_by(history.entries[k], agent, Derive):
            return k
    return None


def derives(history: History, agent: str) -> bool:
    """Whether `agent` derives anything in the whole history."""
    return any(is_by(e, agent, Derive) for e in history.entries)


def holder(history: History, agent: str, j: int) -> str | None:
    """Whose plan `agent` goes by just before j: its own if it ever derives; else that of the agent that derived last and still has one."""
    if derives(history, agent):
        return agent
    holding = {a: k for a in agents(history) if (k := last_plan(history, a, j)) is not None}
    return max(holding, key=lambda a: holding[a], default=None)


def is_validation(history: History, agent: str, j: int) -> bool:
    """Whether the entry at j validates the plan of `agent`: a mark, or an answer for a key of a record in its lineage."""
    plan, entry = last_plan(history, agent, j), history.entries[j]
    if plan is None or getattr(entry, "agent", None) is None or holder(history, entry.agent, j) != agent:
        return False
    keys = {key_of(history, id) for id in lineage(history, history.entries[plan].id)}
    return is_by(entry, entry.agent, Validated) or (is_by(entry, entry.agent, Read, Head) and entry.key in keys)


def replans_of(history: History, agent: str) -> list[SlowReplan]:
    """The replans of one agent, in order."""
    found: list[SlowReplan] = []
    number, validated = 0, False
    for j, entry in enumerate(history.entries):
        by = getattr(entry, "agent", None)
        if is_restart_of(entry, agent):
            number, validated = 0, False
        elif by is None or holder(history, by, j) != agent:
            continue
        elif is_by(entry, by, Act, Halted):
            number, validated = 0, False
        elif is_validation(history, agent, j):
            validated = True
        elif is_by(entry, agent, Derive) and validated:
            validated = False
            if history.entries[last_plan(history, agent, j)].id in lineage(history, entry.id):
                continue  # it goes on from q
            number += 1
            found.append(SlowReplan(j, agent, number, last_plan(history, agent, j)))
    return found


def replans(history: History) -> list[SlowReplan]:
    """The replans of all agents."""
    return [replan for agent in sorted(agents(history)) for replan in replans_of(history, agent)]


def unbounded_replans(history: History) -> list[int]:
    """The derives with which a count first exceeds what is allowed: once for each time that it was counted from zero."""
    allowed = max(action.replans for action in history.scenario.actions)
    return [replan.at for replan in replans(history) if replan.number == allowed + 1]


# Need


def keys_needed(history: History, actions: Iterable[Action], agent: str, derived_at: int | None) -> set[str]:
    """D-union over `actions`; of those whose keys depend on the arguments, the keys that q rests on, all of them where there is no q."""
    found: set[str] = set()
    for action in actions:
        declared = set(history.scenario.declared(action, history.dropped))
        if action.by_arguments and derived_at is not None:
            declared = {x for x in declared if own_versions(history, agent, derived_at, x)}
        found |= declared
    return found


def keys_rested_on(history: History, actions: Iterable[Action]) -> set[str]:
    """D-union and the true dependencies of `actions`: all that they can depend on."""
    declared = {x for action in actions for x in history.scenario.declared(action, history.dropped)}
    return declared | {x for action in actions for x in action.depends_on}


def served(entry: Any, agent: str) -> tuple[str, str] | None:
    """Key and version that an ok answer or a memory gave to `agent`."""
    if is_by(entry, agent, Memory) and entry.version is not None:
        return entry.key, entry.version
    if is_by(entry, agent, Read, Head) and entry.answer == "ok" and entry.version is not None:
        return entry.key, entry.version
    return None


def own_versions(history: History, agent: str, derived_at: int | None, x: str) -> set[str]:
    """L(x) of q; for an agent that derived nothing, the first version of x that it was served, and then those that it wrote."""
    if derived_at is not None:
        return versions_in_lineage(history, history.entries[derived_at].id, x)
    given = [served(e, agent) for e in history.entries]
    first = set([pair[1] for pair in given if pair is not None and pair[0] == x][:1])
    return (
        first | {version for j in range(len(history.entries)) for key, version in wrote(history, j, agent) if key == x} if first else first
    )


def concerned(history: History, entry: Any, agent: str) -> str:
    """Whose entries count for `agent`: that of an agent that derives nothing in the whole history counts too, as it goes by another's plan."""
    by = getattr(entry, "agent", None)
    return by if by is not None and not derives(history, by) else agent


def is_reason(history: History, agent: str, derived_at: int | None, keys: set[str], rested_on: set[str], j: int) -> bool:
    """Whether the entry at j is a reason for `agent` to leave q."""
    entry = history.entries[j]
    if is_restart_of(entry, agent) or (type(entry) is Landed and entry.fired and type(entry.what) is Replan):
        return True
    by = concerned(history, entry, agent)
    given = served(entry, by)
    if given is not None and given[0] in keys and given[1] not in own_versions(history, agent, derived_at, given[0]):
        return True
    if is_by(entry, by, Read, Head):
        return entry.key in rested_on and (fails(history, j) or history.records[entry.version].removed)
    if is_by(entry, by, Fetch):
        made_of = lineage(history, history.entries[derived_at].id) if derived_at is not None else set()
        return entry.answer != "ok" and entry.id in made_of
    return is_by(entry, by, Act) and entry.outcome not in ("done", "halted")


def is_needed(history: History, agent: str, derived_at: int | None, end: int, keys: set[str], rested_on: set[str]) -> bool:
    """Whether leaving q at `end` was needed. Only a plan can lack a version of a key: where there is none, that is no reason."""
    start = derived_at + 1 if derived_at is not None else 0
    if any(is_reason(history, agent, derived_at, keys, rested_on, j) for j in range(start, end)):
        return True
    own = {x: own_versions(history, agent, derived_at, x) for x in keys}
    if history.own_store and any(own[x] and truth(history, x, end) not in own[x] for x in keys):
        return True
    return derived_at is not None and any(len(own[x]) != 1 for x in keys)


def needless_replans(history: History) -> list[int]:
    """Derives of the replans that nothing called for. Not judged where the keys of an action depend on its arguments."""
    actions = history.scenario.actions
    if any(action.by_arguments for action in actions):
        return []
    rested_on = keys_rested_on(history, actions)
    needless = []
    for replan in replans(history):
        keys = keys_needed(history, actions, replan.agent, replan.left_at)
        if not is_needed(history, replan.agent, replan.left_at, replan.at, keys, rested_on):
            needless.append(replan.at)
    return needless


# The end


def undone(history: History) -> list[Action]:
    """The actions that had no effect."""
    done = {history.entries[i].action for i in effects(history)}
    return [action for action in history.scenario.actions if action.name not in done]


def halting_agent(history: History) -> str:
    """The agent of the last `Halted`, else of the last point; the first of the scenario where there is none."""
    halts = [e.agent for e in history.entries if type(e) is Halted]
    made = [e.agent for e in history.entries if is_point(e)]
    return [history.scenario.agents[0], *made, *halts[-1:]][-1]


def is_halt(history: History) -> bool:
    """The episode ended `halted` or `returned` with an action that had no effect."""
    return history.ended.how in ("halted", "returned") and bool(undone(history))


def is_halt_needed(history: History) -> bool:
    """Whether the halt was needed."""
    agent = halting_agent(history)
    end = len(history.entries)
    held = holder(history, agent, end)
    derived_at = last_plan(history, held, end) if held is not None else None
    keys = keys_needed(history, undone(history), agent, derived_at)
    return is_needed(history, agent, derived_at, end, keys, keys_rested_on(history, undone(history)))


def has_failure(history: History) -> bool:
    """Whether an answer, fetch or act by any agent failed. An act that its idempotency key made a repeat did not."""
    for j, e in enumerate(history.entries):
        if getattr(e, "in_event", False):
            continue
        if type(e) in (Read, Head) and fails(history, j):
            return True
        if type(e) is Fetch and e.answer != "ok":
            return True
        if type(e) is Act and e.outcome not in ("done", "repeated", "precondition-failed", "halted"):
            return True
    return False


def outcome(history: History) -> str:
    """The first outcome that fits."""
    how = history.ended.how
    if how in ("stuck", "crashed"):
        return how
    if not undone(history):
        return "completed"
    if not is_halt_needed(history):
        return "halted-needless"
    return "halted-unverified" if has_failure(history) else "halted-changed"


def findings_of_end(history: History) -> set[Found]:
    """stuck, crash and needless-halt, at the last entry."""
    assert type(history.entries[-1]) is Ended
    at, how = len(history.entries) - 1, history.ended.how
    if how in ("stuck", "crashed"):
        return {("stuck" if how == "stuck" else "crash", at, None)}
    if is_halt(history) and not is_halt_needed(history):
        return {("needless-halt", at, None)}
    return set()
