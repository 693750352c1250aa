"""The protocol as a specification: what clears, what is remade, what halts. Each rule through every driver."""

from __future__ import annotations

import itertools

import pytest

from fencecheck.fence import Halt

from .world import Rec, World

A, B = "order/42/requirement", "order/42/payment"
a1, a2, a3 = Rec("a1", A), Rec("a2", A, supersedes="a1"), Rec("a3", A, supersedes="a2")
b1, b2 = Rec("b1", B), Rec("b2", B, supersedes="b1")


def test_a_plan_whose_premises_are_current_clears_with_its_basis(drive) -> None:
    world = World(a1, b1, heads={A: "a1", B: "b1"})
    cleared = drive(world).clear(plan := Rec("p", parents=("a1", "b1")), [B, A])
    assert (cleared.plan, cleared.basis, cleared.replanned) == (plan, {B: "b1", A: "a1"}, False)
    assert list(cleared.basis) == [B, A]
    assert world.marks == [{B: "b1", A: "a1"}]
    # Lineage first, owners last. On a pool the questions of one kind run in any order.
    assert [port for port, _ in world.log] == ["fetch", "fetch", "head", "head"]
    assert {name for _, name in world.log} == {"a1", "b1", A, B}


def test_fresh_memory_does_not_count_and_the_plan_is_remade_once(drive) -> None:
    world = World(a1, a2, heads={A: "a2"})
    seen = drive(world).act(Rec("p", parents=("a1",)), [A], lambda cleared: (cleared.plan.id, cleared.basis, cleared.replanned))
    assert seen == ("p'", {A: "a2"}, True)
    assert world.calls("replan") == [{A: a2}]
    assert world.marks == [{A: "a2"}]


def test_a_key_that_changes_again_during_the_replan_halts(drive, halted) -> None:
    world = World(a1, a2, heads={A: "a2"})

    def replan(plan: Rec, changed: dict[str, Rec]) -> Rec:
        world.commit(a3)
        return Rec("p2", parents=("a2",))

    world.replan = replan
    assert halted(world, Rec("p", parents=("a1",)), [A]) == ("changed-again", A)
    assert len(world.calls("replan")) == 1


def test_another_key_that_changes_during_the_replan_halts_too(drive, halted) -> None:
    world = World(a1, a2, b1, b2, heads={A: "a2", B: "b1"})

    def replan(plan: Rec, changed: dict[str, Rec]) -> Rec:
        world.commit(b2)
        return Rec("p2", parents=("a2", "b1"))

    world.replan = replan
    assert halted(world, Rec("p", parents=("a1", "b1")), [A, B]) == ("changed-again", B)


def test_a_replan_that_changes_nothing_halts(halted) -> None:
    world = World(a1, a2, heads={A: "a2"})
    world.replan = lambda plan, changed: plan
    assert halted(world, Rec("p", parents=("a1",)), [A]) == ("changed-again", A)


def test_only_the_changed_records_are_handed_to_the_replan(drive) -> None:
    world = World(a1, a2, b1, heads={A: "a2", B: "b1"})
    drive(world).clear(Rec("p", parents=("a1", "b1")), [A, B])
    assert world.calls("replan") == [{A: a2}]


def test_an_undeclared_key_is_neither_asked_nor_a_reason_to_replan(drive) -> None:
    world = World(a1, b1, heads={A: "a1", B: "b9"})
    assert not drive(world).clear(Rec("p", parents=("a1", "b1")), [A]).replanned
    assert world.calls("head") == [A]


def test_with_nothing_declared_the_lineage_is_walked_and_no_owner_asked(drive, halted) -> None:
    world = World(a1)
    assert drive(world).clear(Rec("p", parents=("a1",)), []).basis == {}
    assert world.log == [("fetch", "a1")]
    assert halted(World(), Rec("p", parents=("a1",)), []) == ("missing-parent", "a1")


def test_a_key_declared_twice_is_asked_once(drive) -> None:
    world = World(a1, heads={A: "a1"})
    drive(world).clear(Rec("p", parents=("a1", "a1")), [A, A])
    assert world.log == [("fetch", "a1"), ("head", A)]


def test_a_single_string_is_not_a_list_of_keys(drive) -> None:
    with pytest.raises(TypeError, match=r"write \['order/42/requirement'\]"):
        drive(World()).clear(Rec("p"), A)


def test_a_plan_must_be_a_record(drive) -> None:
    with pytest.raises(TypeError, match="must be a record"):
        drive(World()).clear(None, [A])


# The lineage


@pytest.mark.parametrize("depth", [1, 2, 4, 8, 64, 300])
def test_the_walk_goes_as_far_up_as_the_lineage_does(drive, depth: int) -> None:
    chain = [Rec(f"d{i}", parents=(f"d{i - 1}",) if i else ("a1",)) for i in range(depth - 1)]
    plan = Rec("p", parents=(chain[-1].id if chain else "a1",))
    world = World(a1, a2, *chain, heads={A: "a1"})
    driven = drive(world)
    assert driven.clear(plan, [A]).basis == {A: "a1"}
    assert len(world.calls("fetch")) == depth
    world.heads[A] = "a2"
    assert driven.clear(plan, [A]).replanned


def test_a_diamond_is_read_once(drive) -> None:
    world = World(a1, Rec("l", parents=("a1",)), Rec("r", parents=("a1", "l")), heads={A: "a1"})
    assert drive(world).clear(Rec("p", parents=("l", "r", "a1")), [A]).basis == {A: "a1"}
    assert sorted(world.calls("fetch")) == ["a1", "l", "r"]


def test_many_stacked_diamonds_do_not_multiply(drive) -> None:
    layers = [(f"{side}{i}", (f"l{i - 1}", f"r{i - 1}") if i else ("a1", "a2")) for i in range(200) for side in "lr"]
    world = World(a1, a2, *(Rec(id, parents=parents) for id, parents in layers), heads={A: "a2"})
    assert drive(world).clear(Rec("p", parents=("l199", "r199")), [A]).replanned  # rests on two versions: also the walk per key is linear
    assert len(world.calls("fetch")) == 402 + 1


def test_parents_decoded_as_a_list_are_fine(drive) -> None:
    world = World(a1, Rec("d", parents=["a1"]), heads={A: "a1"})
    assert drive(world).clear(Rec("p", parents=["d"]), [A]).basis == {A: "a1"}


def test_a_plan_that_is_itself_a_version_of_the_key_is_its_own_premise(drive) -> None:
    world = World(a1, heads={A: "p"})
    assert drive(world).clear(Rec("p", A, parents=("a1",)), [A]).basis == {A: "p"}


def test_an_older_version_behind_a_newer_one_does_not_count(drive) -> None:
    world = World(a1, Rec("a2", A, parents=("a1",)), heads={A: "a2"})
    cleared = drive(world).clear(Rec("p", parents=("a2",)), [A])
    assert (cleared.basis, cleared.replanned) == ({A: "a2"}, False)


def test_superseding_is_not_deriving_and_its_link_is_not_walked(drive, halted) -> None:
    world = World(a1, Rec("c", "other", supersedes="a1"), heads={A: "a1"})
    assert halted(world, Rec("p", parents=("c",), supersedes="a1"), [A]) == ("not-in-lineage", A)
    assert world.calls("fetch") == ["c"]


@pytest.mark.parametrize("parents", [("a1", "a2"), ("a2", "a1"), ("d", "a2"), ("d", "a1", "a2")])
def test_two_versions_of_a_key_in_one_lineage_are_a_change(drive, parents: tuple[str, ...]) -> None:
    world = World(a1, a2, Rec("d", parents=("a1",)), heads={A: "a2"})
    driven = drive(world)
    cleared = driven.clear(Rec("p", parents=parents), [A])
    assert (cleared.plan.id, cleared.basis) == ("p'", {A: "a2"})
    assert world.calls("replan") == [{A: a2}]
    assert world.calls("fetch").count("a2") == 2  # once for each plan: what the first walk read is not read again as a head


def test_two_versions_of_a_key_after_the_replan_halt(halted) -> None:
    world = World(a1, a2, heads={A: "a2"})
    world.replan = lambda plan, changed: Rec("p2", parents=("a1", "a2"))
    assert halted(world, Rec("p", parents=("a1",)), [A]) == ("changed-again", A)


def test_an_older_version_reached_also_past_the_newer_one_counts(drive) -> None:
    world = World(a1, Rec("a2", A, parents=("a1",)), Rec("d", parents=("a1",)), heads={A: "a2"})
    assert drive(world).clear(Rec("p", parents=("a2", "d")), [A]).replanned


def test_a_declared_key_that_is_not_in_the_lineage_halts(halted) -> None:
    assert halted(World(a1, heads={A: "a1", B: "b1"}), Rec("p", parents=("a1",)), [A, B]) == ("not-in-lineage", B)
    assert halted(World(heads={A: "a1"}), Rec("p"), [A]) == ("not-in-lineage", A)


def test_a_missing_parent_halts_before_any_owner_is_asked(halted) -> None:
    for gone in (None, OSError("disk"), TimeoutError()):
        world = World(a1, Rec("d", parents=("gone",)), heads={A: "a1"})
        world.records["gone"] = gone
        assert halted(world, Rec("p", parents=("a1", "d")), [A]) == ("missing-parent", "gone")
        assert not world.calls("head")


def test_a_missing_parent_of_the_new_plan_halts(halted) -> None:
    world = World(a1, a2, heads={A: "a2"})
    world.replan = lambda plan, changed: Rec("p2", parents=("a2", "gone"))
    assert halted(world, Rec("p", parents=("a1",)), [A]) == ("missing-parent", "gone")


@pytest.mark.parametrize(
    ("records", "parents", "about"),
    [
        ([Rec("x", parents=("x",))], ("x", "a1"), "x"),
        ([Rec("x", parents=("y",)), Rec("y", parents=("x",))], ("a1", "x"), "x"),
        ([Rec("x", parents=("p",))], ("a1", "x"), "p"),
        ([], ("a1", "p"), "p"),
        ([Rec("x", parents=("y", "a1")), Rec("y", parents=("z", "a1")), Rec("z", parents=("y",))], ("x", "a1"), "y"),
    ],
)
def test_a_cycle_halts(halted, records: list[Rec], parents: tuple[str, ...], about: str) -> None:
    assert halted(World(a1, *records, heads={A: "a1"}), Rec("p", parents=parents), [A]) == ("cycle", about)


def test_a_cycle_through_several_versions_of_a_key_halts(halted) -> None:
    world = World(Rec("a1", A, parents=("a2",)), Rec("a2", A, parents=("a1",)), heads={A: "a2"})
    assert halted(world, Rec("p", parents=("a1", "a2")), [A])[0] == "cycle"


class Endless(dict):
    """Records that always name another parent."""

    def __init__(self, width: int) -> None:
        self.fresh = (f"n{i}" for i in itertools.count())
        self.width = width

    def get(self, id: str, default: object = None) -> Rec:
        return Rec(id, parents=tuple(itertools.islice(self.fresh, self.width)))


@pytest.mark.parametrize("width", [1, 3])
def test_a_lineage_without_end_halts_at_the_limit(halted, width: int) -> None:
    world = World(heads={A: "a1"})
    world.records = Endless(width)
    assert halted(world, Rec("p", parents=("x",)), [A], max_records=100) == ("lineage-too-large", "p")
    assert len(world.calls("fetch")) <= 100


def test_the_limit_counts_ancestors_and_is_inclusive(drive, halted) -> None:
    world = World(a1, Rec("d", parents=("a1",)), heads={A: "a1"})
    assert drive(world, max_records=2).clear(Rec("p", parents=("d",)), [A])
    assert halted(World(a1, Rec("d", parents=("a1",))), Rec("p", parents=("d",)), [A], max_records=1)[0] == "lineage-too-large"


@pytest.mark.parametrize(
    "record",
    [
        Rec("other", A),
        Rec(7, A),
        Rec("x", ["unhashable"]),
        Rec("x", A, parents="a1"),
        Rec("x", A, parents=None),
        Rec("x", A, parents=([],)),
        "x",
        7,
    ],
)
def test_a_record_that_is_not_what_was_asked_for_halts(halted, record: object) -> None:
    world = World(heads={A: "x"})
    world.records["x"] = record
    assert halted(world, Rec("p", parents=("x",)), [A]) == ("malformed-answer", "x")


# The owners


def test_an_owner_that_refuses_halts_with_its_exception_as_the_cause(drive, halted) -> None:
    refusal = ConnectionError("connection reset")
    world = World(a1, b1, heads={A: "a1", B: refusal})
    with pytest.raises(Halt, match=r"owner-unavailable: the owner of 'order/42/payment' did not answer \(ConnectionError: ") as caught:
        drive(world).clear(Rec("p", parents=("a1", "b1")), [A, B])
    assert caught.value.__cause__ is refusal
    assert halted(world, Rec("p", parents=("a1", "b1")), [B, A]) == ("owner-unavailable", B)


def test_all_owners_are_asked_and_the_first_declared_failure_is_named(halted) -> None:
    world = World(a1, b1, heads={A: KeyError("a"), B: TimeoutError("b")})
    assert halted(world, Rec("p", parents=("a1", "b1")), [B, A]) == ("owner-timeout", B)
    assert sorted(world.calls("head")) == sorted([B, A])


@pytest.mark.parametrize("answer", [None, "", 1, b"a1", a1, ["a1"], True])
def test_a_malformed_answer_halts(halted, answer: object) -> None:
    world = World(a1, heads={A: answer})
    assert halted(world, Rec("p", parents=("a1",)), [A]) == ("malformed-answer", A)
    assert not world.calls("replan")


@pytest.mark.parametrize("parents", [("a1",), ("a1", "b1")])
def test_an_answer_for_another_key_halts(halted, parents: tuple[str, ...]) -> None:
    world = World(a1, b1, heads={A: "b1"})
    assert halted(world, Rec("p", parents=parents), [A]) == ("wrong-key", A)
    assert not world.calls("replan")


def test_an_answer_for_another_key_leaves_no_trace_once_the_owner_is_restored(drive) -> None:
    world = World(a1, b1, heads={A: "a1"})
    driven, plan = drive(world), Rec("p", parents=("a1",))
    assert driven.clear(plan, [A])
    world.heads[A] = "b1"
    assert driven.outcome(plan, [A])[1] == "wrong-key"
    world.heads[A] = "a1"
    assert driven.outcome(plan, [A])[0] == "cleared"


def test_an_answer_for_another_key_after_the_replan_is_not_called_a_change(halted) -> None:
    world = World(a1, a2, b1, heads={A: "a2"})
    world.replan = lambda plan, changed: world.heads.update({A: "b1"}) or Rec("p2", parents=("a2",))
    assert halted(world, Rec("p", parents=("a1",)), [A]) == ("wrong-key", A)


@pytest.mark.parametrize("gone", [None, OSError()])
def test_a_changed_record_that_cannot_be_read_halts(halted, gone: object) -> None:
    world = World(a1, heads={A: "a2"})
    world.records["a2"] = gone
    assert halted(world, Rec("p", parents=("a1",)), [A]) == ("missing-head", "a2")
    assert not world.calls("replan")


@pytest.mark.parametrize("record", [Rec("a3", A), "a2", object()])
def test_a_changed_record_that_is_not_what_was_asked_for_halts(halted, record: object) -> None:
    world = World(a1, heads={A: "a2"})
    world.records["a2"] = record
    assert halted(world, Rec("p", parents=("a1",)), [A]) == ("malformed-answer", "a2")


def test_a_removed_key_leaves_nothing_to_replan_from(halted) -> None:
    world = World(a1, b1, b2, Rec("a2", A, supersedes="a1", removed=True), heads={A: "a2", B: "b2"})
    assert halted(world, Rec("p", parents=("a1", "b1")), [B, A]) == ("removed", A)
    assert not world.calls("replan")


def test_a_plan_made_from_the_removal_of_a_key_clears(drive) -> None:
    world = World(Rec("a2", A, removed=True), heads={A: "a2"})
    assert drive(world).clear(Rec("p", parents=("a2",)), [A]).basis == {A: "a2"}


def test_a_key_that_is_removed_during_the_replan_changed_again(halted) -> None:
    world = World(a1, a2, heads={A: "a2"})

    def replan(plan: Rec, changed: dict[str, Rec]) -> Rec:
        world.commit(Rec("a3", A, removed=True))
        return Rec("p2", parents=("a2",))

    world.replan = replan
    assert halted(world, Rec("p", parents=("a1",)), [A]) == ("changed-again", A)


@pytest.mark.parametrize("new", [None, "p2", RuntimeError("no model"), TimeoutError()])
def test_a_replan_that_fails_halts(halted, new: object) -> None:
    world = World(a1, a2, heads={A: "a2"})

    def replan(plan: Rec, changed: dict[str, Rec]) -> object:
        if isinstance(new, Exception):
            raise new
        return new

    world.replan = replan
    assert halted(world, Rec("p", parents=("a1",)), [A]) == ("replan-failed", "p")


# Older heads


def test_a_head_older_than_one_answered_before_halts(drive) -> None:
    plain = [Rec("a1", A), Rec("a2", A)]  # no supersedes: only what was seen tells
    world = World(*plain, heads={A: "a1"})
    driven, old, new = drive(world), Rec("p", parents=("a1",)), Rec("q", parents=("a2",))
    assert driven.clear(old, [A])
    world.heads[A] = "a2"
    assert driven.clear(new, [A])
    world.heads[A] = "a1"
    assert driven.outcome(new, [A])[1:3] == ("older-head", A)
    assert driven.outcome(old, [A])[1:3] == ("older-head", A)  # although it equals the premise
    assert not world.calls("replan")
    world.heads[A] = "a2"
    assert driven.outcome(new, [A])[0] == "cleared"


def test_what_one_call_learned_by_replanning_the_next_call_knows(drive) -> None:
    world = World(Rec("a1", A), Rec("a2", A), heads={A: "a2"})
    driven, plan = drive(world), Rec("p", parents=("a1",))
    assert driven.clear(plan, [A]).replanned
    world.heads[A] = "a1"
    assert driven.outcome(plan, [A])[1:3] == ("older-head", A)


def test_a_head_seen_in_a_halted_call_counts_as_seen(drive) -> None:
    world = World(a1, a2, a3, heads={A: "a2"})
    world.replan = lambda plan, changed: world.commit(a3) or Rec("p2", parents=("a2",))
    driven = drive(world)
    assert driven.outcome(Rec("p", parents=("a1",)), [A])[1] == "changed-again"
    world.heads[A] = "a2"
    assert driven.outcome(Rec("p2", parents=("a2",)), [A])[1:3] == ("older-head", A)


def test_a_head_that_the_lineage_shows_to_be_superseded_halts(halted) -> None:
    world = World(a1, a2, heads={A: "a1"})
    assert halted(world, Rec("p", parents=("a2",)), [A]) == ("older-head", A)
    assert halted(World(a1, a2, heads={A: "a1"}), Rec("p", parents=("a1", "a2")), [A]) == ("older-head", A)
    assert not world.calls("replan")


def test_a_head_superseded_further_back_halts_as_far_as_the_walk_has_read(halted) -> None:
    chain = [a1, Rec("a2", A, parents=("a1",), supersedes="a1"), Rec("a3", A, parents=("a2",), supersedes="a2")]
    assert halted(World(*chain, heads={A: "a1"}), Rec("p", parents=("a3",)), [A]) == ("older-head", A)


def test_an_owner_that_goes_back_after_the_replan_halts(halted) -> None:
    world = World(a1, a2, heads={A: "a2"})
    world.replan = lambda plan, changed: world.heads.update({A: "a1"}) or Rec("p2", parents=("a2",))
    assert halted(world, Rec("p", parents=("a1",)), [A]) == ("older-head", A)


def test_one_bad_answer_does_not_hide_what_another_owner_said(drive) -> None:
    world = World(Rec("a1", A), Rec("a2", A), b1, heads={A: "a1", B: "b1"})
    driven = drive(world)
    assert driven.clear(Rec("p", parents=("a1", "b1")), [A, B])
    world.heads.update({A: "a2", B: OSError()})
    assert driven.outcome(Rec("q", parents=("b1", "a2")), [B, A])[1] == "owner-unavailable"
    world.heads.update({A: "a1", B: "b1"})
    assert driven.outcome(Rec("p", parents=("a1", "b1")), [A, B])[1:3] == ("older-head", A)


# Acts


def test_what_the_act_raises_is_raised_unchanged_and_its_reply_returned(drive) -> None:
    driven, plan = drive(World(a1, heads={A: "a1"})), Rec("p", parents=("a1",))
    assert driven.act(plan, [A], lambda cleared: cleared.basis[A]) == "a1"

    def refuse(cleared: object) -> None:
        raise LookupError("refused by the tool")

    with pytest.raises(LookupError, match="refused by the tool"):
        driven.act(plan, [A], refuse)


def test_each_action_of_a_plan_is_validated_by_itself_and_has_its_own_replan(drive) -> None:
    world = World(a1, a2, a3, b1, b2, heads={A: "a2", B: "b1"})
    driven, acts = drive(world), []

    def act(cleared) -> str:
        acts.append((cleared.plan.id, cleared.basis))
        world.commit(b2)
        return cleared.plan.id

    act_ = driven.as_act(act)
    replies = driven.run("guard_each", Rec("p", parents=("a1", "b1")), [([A], act_), ([B], act_), ([A, B], act_)])
    assert acts == [("p'", {A: "a2"}), ("p''", {B: "b2"}), ("p''", {A: "a2", B: "b2"})]
    assert replies == ["p'", "p''", "p''"]
    assert world.marks == [basis for _, basis in acts]


def test_a_halt_among_several_actions_carries_the_replies_of_those_before(drive) -> None:
    world = World(a1, b1, heads={A: "a1", B: OSError()})
    driven, acts = drive(world), []
    act = driven.as_act(lambda cleared: acts.append(cleared.basis) or len(acts))
    with pytest.raises(Halt) as caught:
        driven.run("guard_each", Rec("p", parents=("a1", "b1")), [([A], act), ([B], act), ([A], act)])
    assert (caught.value.reason, caught.value.replies, acts) == ("owner-unavailable", (1,), [{A: "a1"}])
