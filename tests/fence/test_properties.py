"""Generated lineages and answers: the four drivers agree, and a plain recursive oracle agrees with them.

The oracle is an obviously correct reading of the rule, exponential and recursive. It judges one validation: clear, change or halt.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from fencecheck.fence import Ask, Cleared, Fetch, Halt, Replan, protocol, step

from .world import DRIVERS, Driven, Rec, World

KEYS = ("a", "b", "c")


def ancestors_ok(world: World, record: Rec, path: tuple[str, ...] = ()) -> bool:
    """Whether the lineage is complete, without a loop, and each record is what its id says."""
    if record.id in path:
        return False
    parents = [world.records.get(id) for id in record.parents]
    if any(parent is None or parent.id != id for id, parent in zip(record.parents, parents, strict=True)):
        return False
    return all(ancestors_ok(world, parent, (*path, record.id)) for parent in parents)


def reached(world: World, record: Rec, key: str) -> set[str]:
    if record.key == key:
        return {record.id}
    return set().union(*(reached(world, world.records[id], key) for id in record.parents))


def whole(world: World, record: Rec) -> list[Rec]:
    return [record, *(found for id in record.parents for found in whole(world, world.records[id]))]


def oracle(world: World, plan: Rec, keys: tuple[str, ...]) -> str:
    if not ancestors_ok(world, plan) or not all(reached(world, plan, key) for key in keys):
        return "halt"
    heads = {key: world.heads.get(key) for key in keys}
    if not all(isinstance(head, str) and head for head in heads.values()):
        return "halt"
    changed = {key: head for key, head in heads.items() if reached(world, plan, key) != {head}}
    for key, head in changed.items():
        record = world.records.get(head)
        if any(old.key == key and old.supersedes == head for old in whole(world, plan)):
            return "halt"
        if record is None or record.id != head or record.key != key or record.removed:
            return "halt"
    return "change" if changed else "clear"


@st.composite
def worlds(draw: st.DrawFn) -> tuple[World, Rec, tuple[str, ...]]:
    """Mostly sound lineages over a few versions of three keys, with now and then something that must not verify."""
    records: list[Rec] = []
    for place in range(draw(st.integers(1, 9))):
        key = draw(st.sampled_from([*KEYS, None]))
        before = [record.id for record in records]
        parents = draw(st.lists(st.sampled_from(before), max_size=3)) if before else []
        older = [record.id for record in records if record.key == key and key is not None]
        supersedes = older[-1] if older and draw(st.booleans()) else None
        records.append(Rec(f"r{place}", key, tuple(parents), supersedes, removed=key is not None and draw(st.integers(0, 9)) == 9))
    ids = [record.id for record in records]
    fault = draw(st.sampled_from(["none", "none", "none", "lost", "loop", "swapped"]))
    victim = draw(st.sampled_from(ids))
    table: dict[str, Rec | None] = {record.id: record for record in records}
    if fault == "lost":
        table[victim] = None
    elif fault == "loop":
        old = table[victim]
        table[victim] = Rec(victim, old.key, (*old.parents, draw(st.sampled_from([*ids, "p"]))), old.supersedes)
    elif fault == "swapped":
        table[victim] = table[draw(st.sampled_from(ids))]
    plan = Rec("p", parents=tuple(draw(st.lists(st.sampled_from(ids), min_size=1, max_size=4))))
    held = sorted({record.key for record in whole(World(*records), plan)} - {None})
    keys = KEYS if not held or draw(st.integers(0, 9)) == 9 else held
    declared = tuple(draw(st.lists(st.sampled_from(keys), min_size=1, max_size=3, unique=True)))
    heads: dict[str, Any] = {}
    for key in declared:
        versions = [record.id for record in records if record.key == key]
        answers = st.sampled_from(versions * 3 + ids + [None, "", "gone", 7]) if versions else st.sampled_from(ids)
        heads[key] = draw(st.one_of(st.just(versions[-1]), answers) if versions else answers)
    world = World(heads=heads)
    world.records = table
    return world, plan, declared


def first_verdict(world: World, plan: Rec, keys: tuple[str, ...]) -> str:
    steps = protocol(plan, keys)
    try:
        request = step(steps, None)
        while isinstance(request, Fetch | Ask):
            request = step(steps, {name: world.records.get(name) for name in request.ids} if isinstance(request, Fetch) else world.heads)
    except Halt as halt:
        event(halt.reason)
        return "halt"
    event(type(request).__name__)
    assert isinstance(request, Cleared | Replan)
    if isinstance(request, Cleared):
        assert request.basis == {key: world.heads[key] for key in keys}
        return "clear"
    assert {key: record.id for key, record in request.changed.items()} == {
        key: world.heads[key] for key in keys if reached(world, plan, key) != {world.heads[key]}
    }
    return "change"


@given(worlds())
def test_the_protocol_agrees_with_the_oracle(made: tuple[World, Rec, tuple[str, ...]]) -> None:
    world, plan, keys = made
    assert first_verdict(world, plan, keys) == oracle(world, plan, keys)


@given(worlds(), st.lists(st.sampled_from(["keep", "refuse", "next"]), max_size=3))
@example((World(Rec("r0", "a"), Rec("r1", "a"), heads={"a": "r1"}), Rec("p", parents=("r0",)), ("a",)), ["keep"])
def test_all_drivers_do_the_same(made: tuple[World, Rec, tuple[str, ...]], then: list[str]) -> None:
    """One fence each, several calls with heads that move on between them: same outcomes, same questions, same marks."""
    first, plan, keys = made
    seen: list[Any] = []
    for driver in DRIVERS:
        world = World(heads=first.heads)
        world.records = dict(first.records)
        driven = Driven(driver, world)
        outcomes = [driven.outcome(plan, keys)]
        for what in then:
            if what == "refuse":
                world.heads[keys[-1]] = OSError("down")
            elif what == "next":
                newest = [record.id for record in world.records.values() if record is not None and record.key == keys[0]]
                world.heads[keys[0]] = newest[len(world.log) % len(newest)] if newest else None
            outcomes.append(driven.outcome(plan, keys))
        driven.close()
        log = world.log if driver != "pool" else sorted(world.log, key=repr)
        seen.append((outcomes, world.marks, sorted(world.log, key=repr), log))
    for outcomes, marks, asked, _ in seen[1:]:
        assert (outcomes, marks, asked) == seen[0][:3]
    assert seen[2][3] == seen[3][3] == seen[0][3]


@given(worlds())
def test_questions_are_bounded_whatever_is_answered(made: tuple[World, Rec, tuple[str, ...]]) -> None:
    world, plan, keys = made
    Driven("sync", world).outcome(plan, keys)
    assert len(world.calls("replan")) <= 1
    assert len(world.calls("head")) <= 2 * len(keys)
    assert len(world.calls("fetch")) <= 2 * (len(world.records) + len(keys))


@pytest.mark.parametrize("verdict", ["clear", "change", "halt"])
def test_the_generated_worlds_are_of_every_kind(verdict: str) -> None:
    """A property that only ever saw halts would prove nothing."""
    from hypothesis import Phase, find, settings

    find(worlds(), lambda made: oracle(*made) == verdict, settings=settings(phases=[Phase.generate], max_examples=2000))
