"""The values of the core, what a fence remembers, and what the package may import."""

from __future__ import annotations

import ast
import doctest
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fencecheck.fence
from fencecheck.fence import Ask, Cleared, Failure, Fetch, Halt, Reason, Replan, Seen, protocol, step

from .world import Rec

FENCE = Path(fencecheck.fence.__file__).parent


def test_the_protocol_can_be_driven_by_hand() -> None:
    steps = protocol(Rec("p", parents=("d", "a1")), ["a"])
    assert step(steps, None) == Fetch(("d", "a1"))
    assert step(steps, {"d": Rec("d", parents=("a1",)), "a1": Rec("a1", "a")}) == Ask(("a",))
    assert step(steps, {"a": "a2"}) == Fetch(("a2",))
    a2 = Rec("a2", "a")
    assert step(steps, {"a2": a2}) == Replan(Rec("p", parents=("d", "a1")), {"a": a2})
    new = Rec("p2", parents=("a2",))
    assert step(steps, new) == Fetch(("a2",))
    assert step(steps, {"a2": a2}) == Ask(("a",))
    assert step(steps, {"a": "a2"}) == Cleared(new, {"a": "a2"}, True)


def test_an_answer_that_is_left_out_is_a_failure() -> None:
    steps = protocol(Rec("p", parents=("a1",)), ["a"])
    step(steps, None)
    with pytest.raises(Halt, match="missing-parent"):
        step(steps, {})
    steps = protocol(Rec("p", parents=("a1",)), ["a"])
    step(steps, None)
    step(steps, {"a1": Rec("a1", "a")})
    with pytest.raises(Halt, match="malformed-answer"):
        step(steps, {})


def test_values_are_equal_only_to_their_own_kind_and_show_their_fields() -> None:
    assert Fetch(("a",)) != Ask(("a",))
    assert Ask(("a",)) != Ask(("b",))
    assert repr(Fetch(("r3",))) == "Fetch(ids=('r3',))"
    assert repr(Cleared(1, {"a": "a1"})) == "Cleared(basis={'a': 'a1'}, plan=1, replanned=False)"  # type: ignore[type-var]
    assert repr(Failure(timed_out=True)) == "Failure(error=None, timed_out=True)"
    assert Failure(TimeoutError()).timed_out
    assert not Failure(OSError()).timed_out


@pytest.mark.parametrize("reason", Reason)
def test_a_halt_is_one_sentence_that_survives_pickling(reason: Reason) -> None:
    halt = Halt(reason, "order/42", "got 'r1'")
    assert str(halt).startswith(f"{reason.value}: ")
    assert "'order/42'" in str(halt)
    assert str(halt).endswith("(got 'r1')")
    again = pickle.loads(pickle.dumps(halt))
    assert (again.reason, again.about, str(again)) == (reason, "order/42", str(halt))
    assert Halt(reason.value, "x").reason is reason


def test_a_halt_names_only_known_reasons() -> None:
    with pytest.raises(ValueError, match="because"):
        Halt("because", "x")


def test_a_message_does_not_carry_values() -> None:
    steps = protocol(Rec("p", parents=("x",)), ["a"])
    step(steps, None)
    with pytest.raises(Halt) as halt:
        step(steps, {"x": Rec("y", value="secret")})
    assert str(halt.value) == "malformed-answer: what was answered for 'x' is not what was asked for (got a Rec)"


@pytest.mark.parametrize("answer", [3, Rec(3, "a")])  # type: ignore[arg-type]
def test_a_number_for_an_id_is_refused_by_a_sentence_that_says_what_an_id_is(answer: Any) -> None:
    steps = protocol(Rec("p", parents=("a1",)), ["a"])
    step(steps, None)
    if not isinstance(answer, Rec):
        step(steps, {"a1": Rec("a1", "a")})
    with pytest.raises(Halt) as halt:
        step(steps, {"a1": answer, "a": answer})
    assert halt.value.reason is Reason.MALFORMED_ANSWER
    assert str(halt.value).endswith(
        "(got the id 3, a number: the id of a record is a text that names one version of one key, such as 'order/42@3')"
    )


def test_an_answer_supersedes_only_those_that_arrived_before_its_question() -> None:
    seen = Seen()
    early = seen.clock
    seen.note("a", "a2", seen.clock)
    seen.note("a", "a1", early)  # asked before a2 was answered: either may be the newer
    assert not seen.older("a", "a1")
    assert not seen.older("a", "a2")
    assert seen.heads == {"a": "a2"}
    seen.note("a", "a3", seen.clock)
    assert seen.older("a", "a2")
    assert seen.heads == {"a": "a3"}
    seen.note("a", "a2", seen.clock)  # known to be superseded: changes nothing
    assert seen.heads == {"a": "a3"}


def test_a_head_known_to_be_older_gives_way_whenever_it_was_noted() -> None:
    seen = Seen()
    early = seen.clock
    seen.note("a", "a1", seen.clock)
    seen.note("a", "a2", early, ["a1"])  # asked before a1 was answered, but the plan in hand rested on a1
    assert seen.older("a", "a1")
    assert seen.heads == {"a": "a2"}


def test_two_overlapping_validations_do_not_spoil_each_other() -> None:
    seen, records = Seen(), {"a1": Rec("a1", "a"), "a2": Rec("a2", "a")}
    slow = protocol(Rec("p", parents=("a1",)), ["a"], memory=seen)
    step(slow, None)
    assert step(slow, records) == Ask(("a",))
    quick = protocol(Rec("q", parents=("a2",)), ["a"], memory=seen)
    step(quick, None)
    step(quick, records)
    assert isinstance(step(quick, {"a": "a2"}), Cleared)
    assert isinstance(step(slow, {"a": "a1"}), Cleared)  # true when it was answered
    later = protocol(Rec("q", parents=("a2",)), ["a"], memory=seen)
    step(later, None)
    step(later, records)
    assert isinstance(step(later, {"a": "a2"}), Cleared)


def test_what_a_fence_remembers_is_bounded() -> None:
    seen = Seen(max_keys=3, max_ids=2)
    for key in range(10):
        for version in range(10):
            seen.note(f"k{key}", f"r{version}", seen.clock)
    assert list(seen.heads) == ["k7", "k8", "k9"]
    assert [seen.older("k9", f"r{version}") for version in range(10)] == [False] * 7 + [True, True, False]
    assert not seen.older("k0", "r8")
    assert repr(seen) == "<Seen: 3 keys>"


def test_only_the_standard_library_is_imported_and_trio_only_by_its_driver() -> None:
    for path in FENCE.glob("*.py"):
        allowed = set(sys.stdlib_module_names) | ({"trio"} if path.name == "trio_.py" else set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path.name}:{node.lineno}: import by the full name"
                names = [node.module or ""]
            for name in names:
                ours = name == "fencecheck.fence" or name.startswith("fencecheck.fence.")
                assert ours or name.partition(".")[0] in allowed, f"{path.name}:{node.lineno}: fence/ may import the standard library only"


def test_importing_the_fence_imports_no_event_loop() -> None:
    code = "import sys, fencecheck.fence; print([m for m in ('asyncio', 'trio', 'msgspec', 'logging', 'hypothesis') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=FENCE.parent.parent)
    assert done.stdout.strip() == "[]"


def test_the_example_of_the_package_runs() -> None:
    result = doctest.testmod(fencecheck.fence)
    assert result.attempted > 5
    assert result.failed == 0
