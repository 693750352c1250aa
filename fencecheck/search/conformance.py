"""Is an adapter what a search takes it for? Each way in which it is not, with what to do.

A wrong adapter gives a verdict that means nothing: it acts past the ports, so that nothing lands; its mark is void; its hook never fires. This
runs the few episodes that show such things. Whether the system behind it is right is not asked here: that is what `check` is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fencecheck.errors import BadInput, FencecheckError, Nondeterministic, listed
from fencecheck.history import Declared, Derive, History, Validated, labelled
from fencecheck.interleaving import Replan, What
from fencecheck.judge import judge
from fencecheck.judge.evidence import Evidence, lineage
from fencecheck.model import Scenario
from fencecheck.run.adapter import OPTIONAL, name_of
from fencecheck.run.faults import EpisodeOver, Fault, Restarted
from fencecheck.run.raised import place
from fencecheck.run.simulate import Runner, SystemLike
from fencecheck.search.marks import void_marks
from fencecheck.search.past import MOST_POINTS, past_of
from fencecheck.search.placing import alone
from fencecheck.search.preflight import preflight, refuse_inaction, still_the_same
from fencecheck.search.problem import Problem
from fencecheck.search.spies import Notes, listening, watched

_WEAK = (int, float, bool, type(None))
_SHOWN_VERSIONS = 4


def check_adapter(system: SystemLike, *, scenario: Scenario | None = None, fresh_process: bool = True) -> None:
    """Says all that is wrong with an adapter: one call for a test of its own, `def test_adapter(): check_adapter(MySystem)`.

    Args:
        system: an adapter class, or a function that makes an adapter.
        scenario: the world, for a system that takes a generated one.
        fresh_process: whether to compare with a run in a fresh process too.

    Raises:
        AssertionError: something is wrong, with every problem and its fix.
    """
    found = problems(system, scenario=scenario, fresh_process=fresh_process)
    if found:
        raise AssertionError("\n".join(told(name_of(system), found)))


def told(name: str, found: list[Problem]) -> list[str]:
    """The problems as lines of text."""
    if not found:
        return [f"{name}: nothing is wrong with the adapter"]
    count = f"{len(found)} problem{'s' if len(found) > 1 else ''}"
    return [f"{name}: {count} in the adapter", *(line for problem in found for line in str(problem).splitlines())]


def problems(system: SystemLike, *, scenario: Scenario | None = None, fresh_process: bool = True) -> list[Problem]:
    """All that is wrong with an adapter. Arguments as for `check_adapter`."""
    try:
        Runner(system, scenario).close()
    except FencecheckError as error:
        return [_of_error(error)]
    found = _Found(system, scenario)
    try:
        with Runner(system, scenario) as runner:
            preflight(runner, fresh_process=fresh_process)
            if runner.chance and not runner.chance_is_harmless:
                found.add(Problem("chance", f"run() asks chance ({runner.chance}), so that no run need come out twice", _FIXES["chance"]))
    except FencecheckError as error:
        found.add(_of_error(error))
    found.look()
    return list(found.problems.values())


def _of_error(error: FencecheckError) -> Problem:
    """What the runner or the preflight said, as a problem: its sentence ends with what to do."""
    text = str(error)
    code = next((code for part, code in _SENTENCES.items() if part in text), None)
    if code is None:
        code = "nondeterminism" if isinstance(error, Nondeterministic) else "unusable" if isinstance(error, BadInput) else "fails"
    if code in _FIXES:
        return Problem(code, text, _FIXES[code])
    message, _, fix = text.rpartition(": ")
    if code in _SENTENCES.values() or fix.startswith(_IMPERATIVES):
        return Problem(code, message, fix) if message else Problem(code, text, "")
    at = _AT.search(text)
    return Problem(code, text, f"correct it at {at[1]}" if at is not None and code == "fails" else "")


_SENTENCES = {
    "which nothing refers to": "misnamed-hook",
    "leaks state from one episode": "state-leak",
    "changes its scenario while it runs": "state-leak",
    "never acts, even without any event": "never-acts",
    "crashes before it acts": "never-acts",
    "the id of an earlier version with another value": "publish",
    "commit the version, and let both return its id": "publish",
    "return the id of the version that it committed": "publish",
    "did not answer with the current version": "past-the-world",
    "shows no version of": "past-the-world",
    "but not publish()": "publish",
    "but not true_head()": "publish",
}
"""What a sentence of the runner says, to the code of the problem."""
_FIXES = {
    "nondeterminism": "take clocks, chance and the order of sets out of run(), or seed them in setup()",
    "chance": "seed it in setup(), or say chance_is_harmless = True if it changes nothing that the system does",
}


_IMPERATIVES = (
    "call", "commit", "correct", "define", "did you mean", "give", "guard", "let", "list", "name", "pass", "return", "set", "take", "use", "write",
)  # fmt: skip
"""How the part of a sentence begins that says what to do."""
_AT = re.compile(r"\((\S+\.py:\d+)\)$")


class _Found:
    """The search for problems."""

    def __init__(self, system: SystemLike, scenario: Scenario | None) -> None:
        self.system, self.scenario, self.notes = system, scenario, Notes()
        self.problems: dict[tuple[str, str], Problem] = {}
        self.histories: list[History] = []

    def add(self, *found: Problem) -> None:
        for problem in found:
            same_code = any(code == problem.code for code, _ in self.problems)
            if not (same_code and problem.code in ("state-leak", "nondeterminism", "never-acts")):
                self.problems.setdefault((problem.code, problem.message), problem)

    def look(self) -> None:
        """Runs the episodes, and looks at what they show."""
        with Runner(watched(self.system, self.notes), self.scenario) as runner:
            try:
                with listening(self.notes):
                    first = runner.run()
                refuse_inaction(runner, first)
            except FencecheckError as error:
                self.add(_of_error(error), *self._past())
                return
            self.histories.append(first)
            self.add(*self._past(), *_values(first), *void_marks(first), *_no_evidence(first), *_other_keys(first))
            self._events(runner, first)
            self.add(*self._gaps(), *self._declared(), *self._hooks(runner))
            try:
                still_the_same(runner, first)
            except FencecheckError as error:
                self.add(_of_error(error))

    def _past(self) -> Iterator[Problem]:
        notes = self.notes
        for function, where in notes.past.items():
            yield Problem(
                "past-the-port",
                f"{function}() is what a port calls, and {where} calls it past any port, where no event lands and no fault is injected",
                "call it through the port there too, with via=, or hand the system a client of kit.wrap()",
            )
        for hook, where in notes.by_run.items():
            yield Problem(
                "past-the-port",
                f"{where} calls {hook}() itself, which is for fencecheck to call: past any port, where no event lands and no fault is injected",
                "ask by a port: kit.head(key, via=...) for what is current",
            )
        for where, port in notes.discarded.items():
            yield Problem(
                "discarded-answer",
                f"{where} throws away what kit.{port}(via=...) returned, so that what the system goes by is read elsewhere",
                f"go on with what kit.{port}() returns, which is what via= returned, and do not read it a second time",
            )
        if notes.in_setup:
            yield Problem(
                "port-in-setup",
                f"setup() calls {_ports(notes.in_setup)}, though no episode has begun that anything could land in",
                "call ports in run()",
            )
        for hook in ("true_head", "versions_in", "version_of"):
            if hook in notes.asked:
                why = "can be faulted, and is no more than the owner's answer" if hook == "true_head" else "is a call of its own"
                yield Problem(
                    f"{hook.replace('_', '-')}-by-port",
                    f"{hook}() calls {_ports(notes.asked[hook])}, which {why}",
                    f"let {hook}() look into the store itself, past all ports",
                )

    def _gaps(self) -> Iterator[Problem]:
        """What no port call was seen to do, each with the functions that did it instead."""
        for what, action, key in past_of(self.histories).gaps:
            handed = [f"{function}() at {where}" for where, function in self.notes.handed.get(key, {}).items()]
            by = f"; past any port, {listed(handed)} {'does' if len(handed) == 1 else 'do'}" if handed else ""
            if what == "any":
                message = (
                    f"{action} depends on {key}, and no port call asks for it, so that no event can land between reading and acting{by}"
                )
            elif what == "read":
                message = f"{action} carries the value of {key}, and no port call reads it, so that its owner cannot fail there{by}"
            elif self.notes.past or self.notes.by_run:
                continue  # which is why, and was told
            else:
                message = (
                    f"{action}: between planning, or the last wait, and validated() no port call asks an owner for {key}, so that it shows nothing"
                    + (by and f"; past any port, {listed(handed)} may")
                )
            yield Problem("unasked-mark" if what == "check" else "past-the-port", message, _BY_PORT[what])

    # -- one event at a time -----------------------------------------------------------------------------------------

    def _events(self, runner: Runner, first: History) -> None:
        stuck: dict[str, None] = {}
        halts: dict[type, list[tuple[BaseException, What]]] = {}
        for event in alone(runner.scenario, runner.kinds, min(len(labelled(first)), MOST_POINTS)):
            before = len(self.notes.raised)
            try:
                history = runner.run((), event)
            except FencecheckError as error:
                self.add(_of_error(error))
                continue
            self.histories.append(history)
            ended = history.ended
            if ended.how == "crashed":
                for raised, on_purpose in self.notes.raised[before:]:
                    if _meant_to_halt(runner, raised, on_purpose):
                        halts.setdefault(Fault if isinstance(raised, Fault) else type(raised), []).append((raised, event[-1].what))
            elif ended.how == "stuck" and "with no timeout" in ended.detail:
                stuck.setdefault(ended.detail)
        self.add(*(_no_halt(kind, raised) for kind, raised in halts.items()))
        for detail in stuck:
            self.add(
                Problem("no-timeout", f"run() waits for {detail.removeprefix('waits for ')}", "pass timeout=SECONDS, as a client has one")
            )

    def _declared(self) -> Iterator[Problem]:
        entries = [entry for history in self.histories for entry in history.entries]
        listed = any(not action.declares_by_arguments for action in self.histories[0].scenario.actions)  # else a call names its keys itself
        if listed and any(type(entry) is Validated for entry in entries) and not any(type(entry) is Declared for entry in entries):
            yield Problem(
                "undeclared",
                "run() validates, and never asks kit.declared(action), so that dropped declarations have no effect on what it validates",
                "validate the keys that kit.declared(action) returns, right before the act",
            )

    def _hooks(self, runner: Runner) -> Iterator[Problem]:
        for hook in OPTIONAL:
            if not callable(getattr(runner._probe, hook, None)) or hook in ("open", "shutdown", "publish", "true_head"):
                continue
            if not self.notes.hooks.get(hook):
                yield Problem(
                    "silent-hook", f"{hook}() is defined, and was never called{_WHY_SILENT.get(hook, '')}", _SILENT.get(hook, _LEAVE_OUT)
                )
        derives = any(type(entry) is Derive and not entry.in_event for history in self.histories for entry in history.entries)
        replanned = [history for history in self.histories if any(isinstance(event.what, Replan) for event in history.fired)]
        if (
            replanned
            and derives
            and not any(type(entry) is Derive and entry.in_event for history in replanned for entry in history.entries)
        ):
            yield Problem(
                "silent-hook",
                "replan() derives no plan, so that nothing shows what it planned",
                "let replan() read and call kit.derive() as run() does, and put the plan where run() looks for it",
            )


_BY_PORT = {
    "any": "read it by kit.read(key, via=...), compare it by kit.head(key, via=...), or hand the system a client of kit.wrap()",
    "read": "read it by kit.read(key, via=...), or hand the system a client of kit.wrap()",
    "check": "ask by kit.head(key), with via= where your own code asks, compare, and call kit.validated() right after",
}
"""What to do about what no port call does."""
_LEAVE_OUT = "see that what it is for can happen in the scenario, or leave it out"
_WHY_SILENT = {
    "replan": ": no Replan event of the scenario's tasks fired",
    "restart": ": no agent of the scenario makes a port call",
    "deliver": ": no Deliver event changed what an agent remembers",
    "lose": ": no record could be taken away",
    "version_of": ": no port call with via= recognises an answer",
    "versions_in": ": no act reached it",
}
_SILENT = {
    "restart": "name the agents that run in Scenario(agents=[...]), as kit.agent() does",
    "replan": "name what can be planned anew in Scenario(tasks=[...])",
}


def _ports(names: set[str]) -> str:
    return listed(f"kit.{name}()" for name in sorted(names))


def _meant_to_halt(runner: Runner, error: BaseException, on_purpose: bool) -> bool:
    """Whether an exception that left `run` looks as if it meant to halt, and is not named as one; else it is a bug, which is the system's."""
    if isinstance(error, (EpisodeOver, Restarted, FencecheckError, *runner._probe.halt_exceptions)):
        return False
    return isinstance(error, Fault) or on_purpose or type(error).__module__ != "builtins"


def _no_halt(kind: type, raised: list[tuple[BaseException, What]]) -> Problem:
    """Says so of all exceptions of one kind."""
    error, what = raised[0]
    how = f"{type(what).__name__}({getattr(what, 'how', '')})".replace("()", "")
    at = place(error)
    names = list(dict.fromkeys(type(one).__name__ for one, _ in raised))
    fix = f"name it: halt_exceptions = ({kind.__name__},)"
    if kind is Fault:
        fix = "name fencecheck.faults.Fault in halt_exceptions, or map it in fault_exceptions to what the system's own client raises"
    return Problem(
        "unnamed-halt",
        f"run() is left by {listed(names)}, first after {how}{f' ({at})' if at else ''}, which halt_exceptions does not name, so that it "
        "counts as a crash",
        f"if it means to halt, {fix}",
    )


# -- what one history shows ------------------------------------------------------------------------------------------------------------


def _values(history: History) -> Iterator[Problem]:
    """Values that do not tell versions apart, where nothing else says what went out was made from."""
    scenario = history.scenario
    by_value = {effect.action for effect in history.effects if effect.plan is None and effect.basis is None and effect.versions is None}
    keys = [key for action in scenario.actions if action.name in by_value for key in (action.depends_on or scenario.keys)]
    for key in dict.fromkeys(keys):
        values = [scenario.value_of(key, number) for number in range(1, max(len(scenario.values.get(key, ())), _SHOWN_VERSIONS) + 1)]
        twice = next((value for i, value in enumerate(values) if any(value == other for other in values[:i])), None)
        fix = "list other values, one for each version, pass plan= or basis= to kit.act, or define versions_in(args)"
        if twice is not None:
            yield Problem("values", f"{twice!r} is the value of two versions of {key!r}, so that an act that carries it names neither", fix)
        elif all(type(value) in _WEAK for value in values):
            yield Problem("values", f"the values of {key!r} are such as {values[0]!r}, which can be among arguments by chance", fix)


def _other_keys(history: History) -> Iterator[Problem]:
    """Acts that are made from other keys than those on which they depend, though no event has landed: keys that were mistaken for one another."""
    right = "give each key the record that was read of it, or name in depends_on= what the action is made from"
    for effect in history.effects:
        for what, named in (("basis=", effect.basis), ("expect=", effect.expect)):
            for key, id in (named or {}).items():
                record = history.records.get(id)
                if record is not None and record.key not in (key, None):
                    message = f"{what} of {effect.action} gives for {key} a version of {record.key}, so that what went out cannot be judged"
                    yield Problem("other-key", message, right)
        action = history.scenario.action(effect.action)
        known = effect.depends_on if effect.depends_on is not None else action.depends_on if action is not None else ()
        walked = lineage(history.records, effect.plan) if effect.plan is not None else ([], False)
        evidence = Evidence(history, effect, dict.fromkeys((*known, *history.scenario.keys)), walked)
        others = [key for key in history.scenario.keys if key not in known and evidence.present(key)]
        bare = [key for key in known if not evidence.present(key)]
        if others and bare:
            shows = f"shows none of it, but {listed(others)}, on which it does not depend"
            yield Problem("other-key", f"{effect.action} depends on {listed(bare)}, and what goes out {shows}", right)


def _no_evidence(history: History) -> Iterator[Problem]:
    for finding in judge(history).findings:
        if finding.code == "no-evidence":
            yield Problem("no-evidence", finding.message.rstrip("."), "pass plan= or basis= to kit.act, or arguments that carry the values")
