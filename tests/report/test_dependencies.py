"""How hidden dependencies read: what is found, and the two runs that show it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from fencecheck.measure.dependencies import ActionDependencies, Dependencies, Dependency, Ran, Unused
from fencecheck.report.dependencies import as_object, dependency_lines
from fencecheck.report.json import encoded

BEFORE = Ran({}, {"a": "A1", "b": "B1"}, ({"to": "A1", "by": "van", "note": "B1"},), went_out=("ship",))
AFTER = Ran({"b": "B2"}, {"a": "A1", "b": "B2"}, ({"to": "A1", "by": "van", "note": "B2"},), went_out=("ship",), agents=("agent",))
HIDDEN = Dependency(("b",), BEFORE, AFTER, declared=False, believed=False)


def found(*dependencies: Dependency, idle: tuple[Unused, ...] = (), **fields: Any) -> Dependencies:
    return Dependencies("shop", (ActionDependencies("ship", ("a",), ("a",), dependencies, idle),), 2, 3, 2, 12, **fields)


def told(result: Dependencies, width: int = 240) -> str:
    return "\n".join(line.plain.rstrip() for line in dependency_lines(result, width))


def evidence(one: Dependency) -> list[str]:
    """The lines below `not declared`."""
    lines = told(found(one)).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("  not declared"))
    return [line.strip() for line in lines[start:] if not line.startswith("  1") and not line.startswith("  what ")]


def test_two_runs_side_by_side_with_the_arguments_that_differ() -> None:
    assert evidence(HIDDEN) == [
        "not declared: b",
        'one run: b = "B1"',
        'ship(note="B1", ...)',
        'the other: b = "B2"',
        'ship(note="B2", ...)',
        'both found a = "A1"',
    ]


def test_what_does_not_go_out_says_how_the_run_ended() -> None:
    halted = replace(AFTER, sent=(), went_out=(), ended="halted: b forbids it")
    assert evidence(replace(HIDDEN, after=halted))[2:5] == [
        'ship(to="A1", by="van", note="B1")',
        'the other: b = "B2"',
        "nothing goes out (halted: b forbids it)",
    ]
    assert evidence(replace(HIDDEN, after=replace(AFTER, sent=(), went_out=("bill",))))[4] == "ship does not go out"


def test_of_several_calls_those_that_differ() -> None:
    twice = replace(HIDDEN, before=replace(BEFORE, sent=({"n": 1}, {"n": 2})), after=replace(AFTER, sent=({"n": 1}, {"n": 3})))
    assert evidence(twice)[2] == "ship(n=2) and 1 call as in the other run"
    more = replace(HIDDEN, before=replace(BEFORE, sent=({"n": 1},)), after=replace(AFTER, sent=({"n": 1}, {"n": 3})))
    assert (evidence(more)[2], evidence(more)[4]) == ("1 call as in the other run", "ship(n=3) and 1 call as in the other run")


def test_long_values_are_shown_from_where_they_part() -> None:
    one, two = "x" * 5_000 + " and A", "x" * 5_000 + " and B, which is no longer seen"
    parted = replace(
        HIDDEN,
        before=replace(BEFORE, looked={"b": one}, sent=({"text": one},)),
        after=replace(AFTER, values={"b": two}, sent=({"text": two},)),
    )
    assert evidence(parted)[1:5] == [
        'one run: b = …xxx and A"',
        'ship(text=…xxx and A")',
        "the other: b = …xxx and B, which is no lon…",
        "ship(text=…xxx and B, which is no lon…)",
    ]


def test_another_place_among_what_goes_out() -> None:
    sent = ({"to": "A1"},)
    moved = replace(
        HIDDEN,
        before=replace(BEFORE, sent=sent, went_out=("ship", "bill")),
        after=replace(AFTER, sent=sent, went_out=("bill", "ship")),
    )
    assert (evidence(moved)[2], evidence(moved)[4]) == ("ship, then bill", "bill, then ship")


@pytest.mark.parametrize(
    ("one", "named", "value"),
    [
        (replace(HIDDEN, after=replace(AFTER, values={"b": None}, removed=("b",))), "b", "b is removed"),
        (replace(HIDDEN, after=replace(AFTER, made_up=("b",))), "b", 'b = "B2", made up'),
        (
            replace(HIDDEN, by_version=True, after=replace(AFTER, values={"b": "B1"})),
            "the version of b",
            'b = "B1", in another version',
        ),
        (
            replace(
                HIDDEN,
                keys=("b", "c"),
                before=replace(BEFORE, values={"c": "C2"}),
                after=replace(AFTER, values={"c": "C2", "b": "B2"}),
            ),
            "b (beside another value of c)",
            'b = "B2", c = "C2"',
        ),
    ],
    ids=["removed", "made up", "version", "beside"],
)
def test_how_the_key_is_not_as_it_was(one: Dependency, named: str, value: str) -> None:
    lines = evidence(one)
    assert lines[0] == f"not declared: {named}"
    assert f"the other: {value}" in lines


@pytest.mark.parametrize(
    ("result", "said", "status"),
    [
        (found(HIDDEN), "shop · 1 real dependency is not declared", 1),
        (found(HIDDEN, HIDDEN), "shop · 2 real dependencies are not declared", 1),
        (found(HIDDEN, ran_out=True), "shop · 1 real dependency is not declared", 1),
        (found(ran_out=True), "shop · inconclusive: more episodes to run than allowed", 3),
        (found(never=("ship",)), "shop · inconclusive: ship never went out", 3),
        (found(untried={"b": "KeyError: 'x'"}), "shop · inconclusive: no other value of b could be tried", 3),
        (
            found(chance="random.random in a.py:1"),
            "shop · inconclusive: it asks chance (random.random in a.py:1), which may fall otherwise the next time",
            3,
        ),
        (found(replace(HIDDEN, declared=True)), "shop · every dependency that was found is declared", 0),
        (found(), "shop · every dependency that was found is declared", 0),
    ],
)
def test_the_verdict_comes_first(result: Dependencies, said: str, status: int) -> None:
    assert told(result).splitlines()[0] == said
    assert result.exit_status == status


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (found(HIDDEN), "add to depends_on of ship: b; until then no check sees it stale, and no fence can"),
        (found(replace(HIDDEN, declared=True)), "add to depends_on of ship what is declared and real, and not in it: b"),
        (
            found(idle=(Unused("a", 3, True), Unused("c", 3, False))),
            "declared, and made no difference: a (in 3 other values), c (never asked about)",
        ),
        (found(untried={"b": "KeyError: 'x'"}), "crashes on a made-up value of b (KeyError: 'x'), which says nothing"),
        (found(outside="time.time in shop.py:3"), "what the system asks past its ports (time.time in shop.py:3) was not changed"),
        (found(), "12 episodes, up to 3 other values of each of 2 keys from the beginning, up to 2 keys at once: nothing else was found"),
    ],
)
def test_what_is_said_besides(result: Dependencies, said: str) -> None:
    assert said in told(result)


def test_what_is_in_depends_on_is_not_advised() -> None:
    assert "add to" not in told(found(replace(HIDDEN, believed=True)))


def test_no_line_is_wider_than_the_terminal() -> None:
    result = found(HIDDEN, idle=(Unused("a", 3, True),), outside="time.time in shop.py:3")
    assert all(len(line) <= 60 for line in told(result, 60).splitlines())


def test_json_has_both_runs_whole() -> None:
    (action,) = json.loads(encoded(as_object(found(HIDDEN, idle=(Unused("a", 3, False),)))))["actions"]
    assert action["undeclared"] == action["not_in_depends_on"] == ["b"]
    assert action["idle"] == [{"key": "a", "tried": 3, "asked_about": False}]
    assert action["found"][0]["after"] == {
        "values": {"b": "B2"},
        "removed": [],
        "made_up": [],
        "looked_at": {"a": "A1", "b": "B2"},
        "sent": [{"to": "A1", "by": "van", "note": "B2"}],
        "agents": ["agent"],
        "went_out": ["ship"],
        "ended": "",
    }


def test_what_json_does_not_have_is_written_in_words() -> None:
    odd = replace(HIDDEN, after=replace(AFTER, sent=({"to": {1, 2}, 3: b"x"},)))
    (action,) = json.loads(encoded(as_object(found(odd))))["actions"]
    assert action["found"][0]["after"]["sent"] == [{"to": "{1, 2}", "3": "b'x'"}]


def test_what_was_asked_about_to_no_end_that_was_seen_is_told() -> None:
    result = replace(found(), idle=(Unused("c", 2, True),))
    assert "asked about, not declared, and made no difference: c (in 2 other values)" in told(result)
    assert as_object(result)["idle"] == [{"key": "c", "tried": 2, "asked_about": True}]
    assert "asked about, not declared" not in told(found())
