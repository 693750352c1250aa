"""Marks that count for nothing: `validated()` called where it does not stand between the last planning and the act."""

from __future__ import annotations

from collections.abc import Iterator

from fencecheck.history import Act, Derive, Entry, Fetch, History, Memory, Pause, Read, Validated, label
from fencecheck.judge.effects import Window, covered
from fencecheck.judge.evidence import Evidence
from fencecheck.judge.timeline import Timeline
from fencecheck.model import Action
from fencecheck.search.problem import Problem

_RIGHT = "ask the owners, call kit.validated(keys) and act, in this order, with no planning, waiting or reading between"


def void_marks(history: History) -> Iterator[Problem]:
    """The marks of `history` that count for nothing, one for each effect at most."""
    line = Timeline(history)
    for at in line.acts:
        effect = history.entries[at]
        assert type(effect) is Act
        action = history.scenario.action(effect.action)
        if effect.effect and action is not None:
            yield from _of_effect(history, line, at, effect, action)


def _of_effect(history: History, line: Timeline, at: int, effect: Act, action: Action) -> Iterator[Problem]:
    declared = effect.declared if effect.declared is not None else history.scenario.declared(action, history.dropped, effect.args)
    true_keys = effect.depends_on if effect.depends_on is not None else action.depends_on
    walked = line.lineage(effect.plan) if effect.plan is not None else ([], False)
    evidence = Evidence(history, effect, dict.fromkeys((*true_keys, *declared)), walked)
    window = Window(history, line, at, effect, declared, evidence)
    marks = [i for i in range(_previous_act(history, at) + 1, at) if type(history.entries[i]) is Validated]
    if window.mark is not None:
        own = [key for key in declared if window.last.get(key) == window.start and type(history.entries[window.start]) is Read]
        if own:
            yield Problem(
                "mark-of-own-read",
                f"{action.name}: validated() follows the read of {own[0]} from which it acts, and no owner was asked since, so that it shows nothing",
                "ask the owner once more, right before the act, and call kit.validated() where the answer is the version that was read",
            )
    elif marks:
        mark = history.entries[marks[-1]]
        assert type(mark) is Validated
        yield Problem("void-mark", f"{action.name}: {_why_void(history, marks[-1], mark, at, effect, declared, window.start)}", _RIGHT)


def _previous_act(history: History, at: int) -> int:
    agent = history.entries[at].agent  # type: ignore[union-attr]
    return next((i for i in range(at - 1, -1, -1) if type(entry := history.entries[i]) is Act and entry.agent == agent), -1)


def _why_void(history: History, at: int, mark: Validated, act: int, effect: Act, declared: tuple[str, ...], start: int) -> str:
    if mark.agent != effect.agent:
        return f"validated() is said by {mark.agent}, and {effect.agent} acts, whose own answers nobody compared"
    if not covered(declared, mark.keys):
        missing = ", ".join(key for key in declared if key not in mark.keys)
        return f"validated() names {', '.join(mark.keys) or 'no key'}, and not {missing}, on which the action depends"
    between = [entry for entry in history.entries[at + 1 : act] if getattr(entry, "agent", None) == effect.agent]
    pause = next((entry for entry in between if type(entry) is Pause), None)
    if pause is not None:
        return f"validated() stands before {_called(history, pause)}, a wait that makes it void"
    if start > at and isinstance(history.entries[start], Derive | Read | Memory | Fetch):
        planned = history.entries[start]
        what = "the plan is derived after it" if type(planned) is Derive else "what it acts from is read after it"
        return f"validated() stands before {_called(history, planned)}: {what}"
    return "validated() does not stand between the last planning and the act"


def _called(history: History, entry: Entry) -> str:
    return label(entry, history.records).strip()
