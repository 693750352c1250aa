"""The rules for one effect: was what it was made from current, verified, and what it says it was?"""

from __future__ import annotations

from fencecheck.history import Act, Derive, Fetch, Head, History, Landed, Memory, Pause, Read, Validated
from fencecheck.interleaving import Restart
from fencecheck.judge.evidence import Evidence
from fencecheck.judge.timeline import Timeline
from fencecheck.judge.verdict import Finding, Judgement
from fencecheck.model import Action


class Window:
    """From the last thing that voids a validation of the agent to its mark, or to the act where there is none.

    Attributes:
        start: index of its first entry, -1 for the beginning.
        mark: index of the `validated` that covers the declared keys, or None.
        last: key to the index of the agent's last answer in the window.
        good: key to the index of the last answer that did not fail.
        fetches: record id to the index of the agent's last fetch of it in the window.
    """

    __slots__ = ("_agent", "_answers", "_history", "_line", "end", "mark", "start")

    def __init__(self, history: History, line: Timeline, at: int, effect: Act, declared: tuple[str, ...], evidence: Evidence) -> None:
        self._history, self._line, self._agent = history, line, effect.agent
        self._answers: Answers | None = None
        self.mark: int | None = None
        self.end = at
        planned = _planning_point(history, line, at, effect, declared, evidence)
        entries, agent, i = history.entries, effect.agent, at - 1
        while i >= 0:
            entry = entries[i]
            kind = type(entry)
            if kind in _BOUNDS:
                if kind is Landed:
                    if _restarts(entry, agent):
                        break
                elif entry.agent == agent:  # type: ignore[union-attr]
                    if kind is not Validated:
                        break
                    if self.mark is None and covered(declared, entry.keys):  # type: ignore[union-attr]
                        self.mark = self.end = i
            if i == planned:
                break
            i -= 1
        self.start = i

    @property
    def last(self) -> dict[str, int]:
        return self._given()[0]

    @property
    def good(self) -> dict[str, int]:
        return self._given()[1]

    @property
    def fetches(self) -> dict[str, int]:
        return self._given()[2]

    def _given(self) -> Answers:
        """What the agent was answered in the window: looked up only where something changed or failed."""
        if self._answers is None:
            last, good, fetches = self._answers = {}, {}, {}
            entries, failed = self._history.entries, self._line.failed
            for i in range(self.end - 1, max(self.start, 0) - 1, -1):
                entry = entries[i]
                kind = type(entry)
                if kind not in _ANSWERS or entry.agent != self._agent or entry.in_event:  # type: ignore[union-attr]
                    continue
                if kind is Fetch:
                    fetches.setdefault(entry.id, i)  # type: ignore[union-attr]
                    continue
                last.setdefault(entry.key, i)  # type: ignore[union-attr]
                if i not in failed:
                    good.setdefault(entry.key, i)  # type: ignore[union-attr]
        return self._answers


Answers = tuple[dict[str, int], dict[str, int], dict[str, int]]
_BOUNDS = frozenset({Landed, Validated, Act, Pause})
_ANSWERS = frozenset({Read, Head, Fetch})
_PLANNING = frozenset({Derive, Read, Memory, Fetch})
_OF_AN_AGENT = frozenset({Validated, Read, Head, Fetch, Act, Pause})


def covered(declared: tuple[str, ...], keys: tuple[str, ...]) -> bool:
    """Whether a mark with these keys covers the declared ones."""
    return declared == keys or set(declared) <= set(keys)


def _restarts(entry: object, agent: str) -> bool:
    return type(entry) is Landed and entry.fired and type(entry.what) is Restart and entry.what.agent == agent


def _is_overtaken(history: History, start: int, agent: str, declared: tuple[str, ...]) -> bool:
    """Whether there is a mark that would have held, had the plan not been derived after it."""
    if start < 0 or type(history.entries[start]) is not Derive:
        return False
    for i in range(start - 1, -1, -1):
        entry = history.entries[i]
        kind = type(entry)
        if kind is Landed and _restarts(entry, agent):
            return False
        if kind in _OF_AN_AGENT and entry.agent == agent:  # type: ignore[union-attr]
            if kind is Act or kind is Pause:
                return False
            if kind is Validated and covered(declared, entry.keys):  # type: ignore[union-attr]
                return True
    return False


def _planning_point(history: History, line: Timeline, at: int, effect: Act, declared: tuple[str, ...], evidence: Evidence) -> int:
    """Index of the last derive of a record in the effect's lineage before it, else of the last read that supplied what it was made from."""
    derives = [i for id in evidence.ids if id in line.derived and (i := line.derived[id]) < at]
    if derives:
        return max(derives)
    supplied = {id for key in declared for id in evidence.shown(key)}
    for i in range(at - 1, -1, -1):
        entry = history.entries[i]
        kind = type(entry)
        if (kind is Read or kind is Memory or kind is Fetch) and entry.agent == effect.agent and not entry.in_event:  # type: ignore[union-attr]
            id = entry.id if kind is Fetch else entry.version  # type: ignore[union-attr]
            if id in supplied and getattr(entry, "answer", "ok") == "ok":
                return i
    return -1


def judge_effect(history: History, line: Timeline, at: int, effect: Act, action: Action, into: Judgement) -> None:
    """Adds to `into` what is to be said of the effect at the index `at`."""
    true_keys = tuple(dict.fromkeys(effect.depends_on)) if effect.depends_on is not None else action.depends_on
    declared = _declared(history, effect, action, true_keys)
    walked = line.lineage(effect.plan) if effect.plan is not None else ([], False)
    evidence = Evidence(history, effect, true_keys if declared == true_keys else dict.fromkeys((*true_keys, *declared)), walked)
    window = Window(history, line, at, effect, declared, evidence)
    expected = effect.expect or {}
    found = into.findings
    if window.mark is None and not expected.keys() >= set(declared):
        into.unmarked += 1
        into.overtaken += _is_overtaken(history, window.start, effect.agent, declared)
    for key in declared:
        _judge_key(history, line, at, key, evidence, window, key in expected, into)
    bad = [i for id in evidence.ids if (i := window.fetches.get(id, -1)) in line.failed] if line.failed and window.last else []
    if bad:
        id = history.entries[max(bad)].id  # type: ignore[union-attr]
        message = f"{action.name} went out though the record {id} of its lineage could not be verified."
        found.append(Finding("unverified-act", at, None, (max(bad), at), message))
    found += [_mismatch(action.name, at, key, evidence) for key in true_keys if evidence.contradictory(key)]
    if declared != true_keys:
        _count_hidden(
            line, window.mark if window.mark is not None else at, [key for key in true_keys if key not in declared], evidence, into
        )


def _count_hidden(line: Timeline, instant: int, hidden: list[str], evidence: Evidence, into: Judgement) -> None:
    """Counts an effect by its true keys that are not declared: of none of them the fence can be blamed."""
    shown = [key for key in hidden if evidence.present(key)]
    into.omitted += any(not evidence.admits(key, line.truth(key, instant)) for key in shown)
    into.unshown += len(shown) < len(hidden) and not evidence.complete


def _declared(history: History, effect: Act, action: Action, true_keys: tuple[str, ...]) -> tuple[str, ...]:
    keys = action.declared if action.declared is not None else true_keys
    if effect.declared is not None:
        keys = tuple(dict.fromkeys(effect.declared))
    if not history.dropped:
        return keys
    return tuple(key for key in keys if (action.name, key) not in history.dropped)


def _judge_key(
    history: History, line: Timeline, at: int, key: str, evidence: Evidence, window: Window, expected: bool, into: Judgement
) -> None:
    if line.quiet(key) and evidence.kinds[key][0] and evidence.admits(key, line.truth(key, at)):
        return
    effect: Act = history.entries[at]  # type: ignore[assignment]
    found = into.findings
    if not expected and window.last.get(key) in line.failed:
        i = window.last[key]
        found.append(
            Finding("unverified-act", at, key, (i, at), f"{effect.action} went out though the last answer for {key} was a failure.")
        )
    elif evidence.complete and not evidence.kinds[key][0]:
        found.append(
            Finding("unverified-act", at, key, (at,), f"{effect.action} went out though its plan's lineage holds no version of {key}.")
        )
    if not evidence.present(key):
        if not evidence.complete:
            found.append(Finding("no-evidence", at, key, (at,), f"nothing shows which version of {key} {effect.action} was made from."))
        return
    mark = window.mark
    shown_at = None if expected or mark is None else window.good.get(key, mark)
    current, misreported = line.truth(key, at if shown_at is None else shown_at), False
    if shown_at is not None and shown_at != mark:
        real, current = current, history.entries[shown_at].version  # type: ignore[union-attr]
        misreported = current != real and not evidence.admits(key, real)
    if not evidence.admits(key, current):
        why = _why_unmarked(history, at, effect.agent) if mark is None and not expected else ""
        found.append(_stale(effect.action, at, key, evidence, current, shown_at, why))
        return
    if current is not None and evidence.by_value(key, current):
        into.value_current += 1
    if misreported:
        into.misreported += 1
        return
    if mark is not None and not expected and not evidence.admits(key, line.truth(key, mark)):
        message = f"{key} was no longer current at the moment at which {effect.action} was validated."
        found.append(Finding("torn-validation", at, key, (mark, at), message))
        return
    now = line.truth(key, at)
    if now != current and not evidence.admits(key, now):
        message = f"{key} changed to {now} between the validation of {effect.action} and its act."
        found.append(Finding("raced-act", at, key, (mark if mark is not None else at, at), message))


def _why_unmarked(history: History, at: int, agent: str) -> str:
    """What made the last `validated` of the agent before an act void, in a clause; nothing where there is none, or it does not cover the keys."""
    entries = history.entries
    mark = next((i for i in range(at - 1, -1, -1) if type(entry := entries[i]) is Validated and entry.agent == agent), None)
    between = [] if mark is None else [e for e in entries[mark + 1 : at] if _restarts(e, agent) or getattr(e, "agent", None) == agent]
    acted = next((entry for entry in between if type(entry) is Act), None)
    waited = next((entry for entry in between if type(entry) is Pause), None)
    if acted is not None:
        return f": its validated() was spent by the act {acted.action} before it, and each act needs one of its own"
    if any(type(entry) is Landed for entry in between):
        return f": its validated() came before {agent} was restarted"
    if waited is not None:
        return f": its validated() came before the wait {waited.label}".rstrip()
    return ": its validated() came before what it was made from" if any(type(entry) in _PLANNING for entry in between) else ""


def _stale(action: str, at: int, key: str, evidence: Evidence, current: str | None, shown_at: int | None, why: str) -> Finding:
    made_from = " and ".join(map(str, dict.fromkeys(evidence.shown(key))))
    message = f"{action} went out made from {made_from} while {current} was current{why}."
    return Finding("stale-act", at, key, (shown_at, at) if shown_at is not None else (at,), message)


def _mismatch(action: str, at: int, key: str, evidence: Evidence) -> Finding:
    above, said, sent = evidence.kinds[key]
    says = [
        f"{name} {' and '.join(ids)}"
        for name, ids in (("the lineage says", above), ("the basis says", said), ("the arguments carry", sent))
        if ids
    ]
    return Finding("provenance-mismatch", at, key, (at,), f"{action}: of {key}, {', '.join(says)}.")
