"""Systems that keep their own store: on a plain dict, on an SQLite file, with version ids of their own making."""

from __future__ import annotations

import hashlib
import itertools
import re
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pytest

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.fence import Halt, PlanFence
from fencecheck.history import Act, Ended, Head, Landed, Read, Truth
from fencecheck.interleaving import Deliver, Event, MissingParent, Replan, Restart, Update
from fencecheck.judge import judge
from fencecheck.model import Action, Record, Scenario
from fencecheck.run import faults
from fencecheck.run.adapter import AgentSystem, missing_hooks
from fencecheck.run.faults import MALFORMED
from fencecheck.run.kit import Kit
from fencecheck.run.recognise import version_in
from fencecheck.run.simulate import Runner
from fencecheck.run.world import Prepared, World
from fencecheck.search.check import check

X, Y = "x", "y"
WORLD = Scenario(
    owners={"a": [X], "b": [Y]},
    actions=[Action("go", depends_on=[X, Y])],
    values={X: ("tea", "coffee", "cocoa"), Y: ("noon", "dusk", "dawn")},
)
UNSCHEDULED = dict.fromkeys(("switch", "advance"), "its runtime is sync")
CHECKS = {"fresh_process": False, "max_events": 1}


class Store:
    """Rows of key to (version, value); versions as `ids` makes them."""

    def __init__(self, ids: str) -> None:
        self.rows: dict[str, tuple[Any, Any]] = {}
        self.kind = ids
        self.serial = itertools.count(100)

    def id(self, key: str, value: Any) -> Any:
        old = self.rows.get(key)
        return {
            "row number": (old[0] if old else 0) + 1 if self.kind == "row number" else None,
            "serial": next(self.serial) if self.kind == "serial" else None,
            "hash": hashlib.sha256(repr((key, value)).encode()).hexdigest()[:8],
            "content": hashlib.sha256(repr(value).encode()).hexdigest()[:8],
        }[self.kind]

    def put(self, key: str, value: Any) -> Any:
        version = self.id(key, value)
        self.rows[key] = (version, value)
        return version


class Keeps(AgentSystem):
    """Reads both keys from its own store, waits, and acts. Validates where `validates`."""

    scenario = WORLD
    halt_exceptions = (faults.Fault,)
    ids = "serial"
    validates = True

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.store = Store(self.ids)

    def publish(self, key: str, value: Any) -> Any:
        return self.store.put(key, value)

    def true_head(self, key: str) -> Any:
        return self.store.rows.get(key, (None, None))[0]

    def run(self) -> None:
        rows = {key: self.kit.read(key, timeout=1.0, via=lambda key=key: self.store.rows[key]) for key in (X, Y)}
        if MALFORMED in rows.values():
            self.kit.halted("no rows")
            return
        self.kit.pause("approval")
        if self.validates:
            heads = {key: self.kit.head(key, timeout=1.0, via=lambda key=key: self.store.rows[key][0]) for key in (X, Y)}
            if any(heads[key] != rows[key][0] for key in heads):
                self.kit.halted("changed")
                return
            self.kit.validated(heads)
        self.kit.act("go", {key: value for key, (_, value) in rows.items()}, basis={key: version for key, (version, _) in rows.items()})


def kind(base: type[AgentSystem] = Keeps, **attributes: Any) -> type[AgentSystem]:
    return type(base.__name__, (base,), attributes)


@pytest.mark.parametrize("ids", ["serial", "row number", "hash", "content"])
def test_versions_are_named_in_the_order_in_which_they_were_committed(ids: str) -> None:
    with Runner(kind(ids=ids)) as runner:
        history = runner.run((), (Event(1, Update(X)), Event(2, Update(Y)), Event(3, Update(X))))
    assert history.versions == {X: ["x@1", "x@2", "x@3"], Y: ["y@1", "y@2"]}
    assert history.own_store
    assert history.entries == [
        Read("agent", X, "x@1"),
        Landed(1, Update(X), True, "x@2"),
        Read("agent", Y, "y@1"),
        Landed(2, Update(Y), True, "y@2"),
        history.entries[4],
        Landed(3, Update(X), True, "x@3"),
        Head("agent", X, "x@3"),
        Head("agent", Y, "y@2"),
        history.entries[8],
        Ended("halted", "changed"),
    ]
    assert {id: record.value for id, record in history.records.items()} == {
        "x@1": "tea",
        "x@2": "coffee",
        "x@3": "cocoa",
        "y@1": "noon",
        "y@2": "dusk",
    }


@pytest.mark.parametrize("ids", ["serial", "row number", "hash", "content"])
@pytest.mark.parametrize("validates", [True, False])
def test_a_verdict_does_not_depend_on_what_the_stores_ids_look_like(ids: str, validates: bool) -> None:
    report = check(kind(ids=ids, validates=validates), **CHECKS)
    smallest = [(failure.code, failure.finding.key, failure.events) for failure in report.failures]
    if validates:
        assert (report.verdict, smallest, report.noticed) == ("held", [], {})
        assert set(report.beyond) == {"torn-validation", "raced-act"}
    else:
        assert smallest == [("stale-act", X, (Event(3, Update(X)),))]
    assert report.placements == "every point"


@pytest.mark.parametrize("ids", ["serial", "row number", "hash", "content"])
def test_what_the_basis_names_is_what_the_act_was_made_from(ids: str) -> None:
    with Runner(kind(ids=ids, validates=False)) as runner:
        history = runner.run((), (Event(2, Update(X)),))
    assert history.effects[0].basis == {X: "x@1", Y: "y@1"}
    assert [(f.code, f.key) for f in judge(history).findings] == [("stale-act", X)]


@pytest.mark.parametrize("ids", ["serial", "hash"])
def test_a_value_that_comes_back(ids: str) -> None:
    with Runner(kind(ids=ids)) as runner:
        history = runner.run((), (Event(2, Update(X)), Event(2, Update(X, "earlier"))))
    judgement = judge(history)
    assert judgement.findings == []
    # a serial is another version, and the system halts; a hash is the same one
    assert history.ended.how == ("halted" if ids == "serial" else "returned")
    assert judgement.outcome == ("halted-changed" if ids == "serial" else "completed")


def test_what_the_system_commits_itself_is_seen_as_a_truth() -> None:
    def run(self: Any) -> None:
        self.kit.point()
        self.store.put(X, "by the system")
        self.kit.point()
        self.kit.point()

    with Runner(kind(run=run)) as runner:
        history = runner.run((), (Event(2, Update(X)),))
    assert [entry.__struct_config__.tag for entry in history.entries] == ["point", "truth", "point", "landed", "point", "ended"]
    assert history.entries[1] == Truth(X, "x@2")
    assert history.versions[X] == ["x@1", "x@2", "x@3"]


def test_an_act_is_judged_by_the_truth_before_its_own_write() -> None:
    def run(self: Any) -> None:
        version, value = self.kit.read(X, via=lambda: self.store.rows[X])
        for text in ("one", None, "three"):
            version, _ = self.kit.act(
                "go", {"was": value, "note": None}, basis={X: version}, via=lambda text=text: (self.store.put(X, text), text)
            )
            value = text

    scenario = Scenario(owners={"a": [X]}, actions=[Action("go", [X], writes=[X], times=3)])
    with Runner(kind(run=run, scenario=scenario)) as runner:
        history = runner.run()
    written = [(entry.version, entry.by) for entry in history.entries if type(entry) is Truth]
    assert written == [("x@2", "agent"), ("x@3", "agent"), ("x@4", "agent")]
    assert judge(history).findings == []


def test_what_was_read_before_an_own_write_is_stale_after_it() -> None:
    """What the system writes itself is not known by its value, and is not the same as anything else."""

    def run(self: Any) -> None:
        self.store.put(X, "first")
        version, _ = self.kit.read(X, via=lambda: self.store.rows[X])
        self.store.put(X, "second")
        self.kit.act("go", {"note": None}, basis={X: version})

    with Runner(kind(run=run, scenario=Scenario(owners={"a": [X]}, actions=[Action("go", [X])]))) as runner:
        history = runner.run()
    assert [entry.version for entry in history.entries if type(entry) is Truth] == ["x@2", "x@3"]
    assert history.effects[0].basis == {X: "x@2"}
    judgement = judge(history)
    assert ([(f.code, f.key) for f in judgement.findings], judgement.value_current) == ([("stale-act", X)], 0)


def test_a_store_that_is_seeded_by_the_system_keeps_its_versions() -> None:
    def setup(self: Any, kit: Kit) -> None:
        Keeps.setup(self, kit)
        self.store.put(X, "tea")
        self.store.put(X, "their own")

    with Runner(kind(setup=setup)) as runner:
        history = runner.run()
    assert history.versions == {X: ["x@1"], Y: ["y@1"]}
    assert history.effects[0].args == {X: "their own", Y: "noon"}
    assert judge(history).findings == []


def test_the_stores_own_ids_go_into_records_lineage_and_expectations() -> None:
    def run(self: Any) -> None:
        version, value = self.kit.read(X, via=lambda: self.store.rows[X])
        plan = self.kit.derive({"drink": value}, [version])
        assert self.kit.record(version, via=lambda: "a row") == "a row"
        assert self.kit.head(X) == self.store.rows[X][0]
        try:
            self.kit.act("go", plan.value, plan=plan, expect={X: version})
        except faults.PreconditionFailed:
            self.kit.halted("changed")

    with Runner(kind(run=run, scenario=Scenario(owners={"a": [X]}, actions=[Action("go", [X])]))) as runner:
        still, changed = runner.run(), runner.run((), (Event(4, Update(X)),))
    assert still.records["p1"].parents == ("x@1",)
    assert still.effects[0].expect == {X: "x@1"}
    assert judge(still).findings == []
    assert [entry.outcome for entry in changed.entries if type(entry) is Act] == ["precondition-failed"]
    assert changed.ended == Ended("halted", "changed")


def test_removing_needs_a_hook_and_is_left_out_without() -> None:
    def remove(self: Any, key: str) -> None:
        self.store.rows[key] = (f"gone {key}", None)

    with Runner(kind(remove=remove)) as runner:
        history = runner.run((), (Event(2, Update(X, "removed")),))
    assert history.records["x@2"] == Record("x@2", X, None, (), "x@1", removed=True)
    assert history.ended == Ended("halted", "changed")
    assert history.fired == (Event(2, Update(X, "removed")),)

    with Runner(Keeps) as runner:
        history = runner.run((), (Event(2, Update(X, "removed")),))
    assert history.fired == ()
    assert history.versions[X] == ["x@1"]


def test_hooks_are_told_what_happened() -> None:
    told: list[Any] = []
    hooks = {
        "deliver": lambda self, key, record: told.append((key, record.value)),
        "lose": lambda self, id: told.append(("lost", id)),
        "replan": lambda self, task: told.append(task),
        "restart": lambda self: told.append("restart"),
    }
    with Runner(kind(**hooks)) as runner:
        assert runner.missing == UNSCHEDULED
        first = runner.run((), tuple(Event(1, what) for what in (Update(X), Deliver(X), MissingParent(X), Replan("task"))))
        runner.run((), (Event(1, Restart("agent")),))
    assert told == [(X, "coffee"), ("lost", 102), "task", "restart"]
    assert len(first.fired) == 4


def test_kinds_that_cannot_be_received_are_named_with_their_hook() -> None:
    with Runner(Keeps) as runner:
        assert runner.missing == {"deliver": "deliver()", "replan": "replan()", "restart": "restart()"} | UNSCHEDULED
        assert "deliver" not in runner.kinds
        assert "update" in runner.kinds
    report = check(Keeps, **CHECKS)
    assert report.missing == {
        "deliver": "deliver()",
        "replan": "replan()",
        "restart": "restart()",
    }  # no call of a sync system waits beside another
    assert not {"deliver", "replan", "restart"} & set(report.fired)


@pytest.mark.parametrize(("there", "missing"), [("publish", "true_head"), ("true_head", "publish")])
def test_half_a_store_is_none(there: str, missing: str) -> None:
    half = type("Half", (AgentSystem,), {"scenario": WORLD, "run": lambda self: None, there: lambda self, *args: None})
    with pytest.raises(BadInput) as caught:
        Runner(half)
    assert str(caught.value) == f"Half defines {there}() but not {missing}(): a system with its own store needs both"
    with pytest.raises(BadInput):
        missing_hooks(half())


# -- what a store must not say ---------------------------------------------------------------------------------------------------------


def refused(events: tuple[Event, ...] = (Event(2, Update(X)),), **attributes: Any) -> str:
    with pytest.raises(CouldNotRun) as caught, Runner(kind(**attributes)) as runner:
        runner.run((), events)
    return str(caught.value)


def says(head: Any) -> Any:
    """A `publish` that commits, and returns what `head` makes of the key and the real id."""
    return lambda self, key, value: head(key, self.store.put(key, value))


def test_an_id_that_names_an_earlier_version() -> None:
    sentence = (
        "Keeps: publish('x', ...) returned 1, the id of an earlier version with another value, as true_head('x') still does: let both return that "
        "of the version that it committed"
    )

    def put(self: Any, key: str, value: Any) -> Any:
        self.store.rows[key] = (1, value)
        return 1

    assert refused(publish=put) == sentence


def test_an_update_that_reaches_no_store() -> None:
    def publish(self: Any, key: str, value: Any) -> Any:
        return self.store.put(key, value) if key not in self.store.rows else 99

    assert refused(publish=publish) == (
        "Keeps: publish('x', ...) returned 99, but true_head('x') then 100: commit the version, and let both return its id"
    )
    silent = "Keeps: publish('x', ...) returned None, and true_head('x') then too: let both return the id of the version that it committed"
    assert refused(publish=lambda self, key, value: None) == silent


def test_an_id_of_another_type_than_the_heads() -> None:
    assert refused(publish=says(lambda key, id: str(id))) == (
        "Keeps: publish('x', ...) returned '100', but true_head('x') then 100: commit the version, and let both return its id"
    )
    assert refused(publish=says(lambda key, id: [id])).endswith("which cannot be told from other ids: return a text or a number")


def test_an_id_of_the_same_content_is_no_mistake() -> None:
    with Runner(kind(ids="content")) as runner:
        history = runner.run((), (Event(1, Update(X)), Event(2, Update(X, "earlier"))))
    assert len(history.fired) == 2


@pytest.mark.parametrize("hook", ["true_head", "publish"])
@pytest.mark.parametrize("error", [faults.OwnerUnavailable, LookupError])
def test_a_hook_that_raises_before_the_run_is_named(hook: str, error: type[Exception]) -> None:
    def broken(self: Any, *args: Any) -> None:
        raise error("no such row")

    said = refused(halt_exceptions=(faults.Fault, LookupError), **{hook: broken})
    assert re.fullmatch(rf"Keeps: {hook}\(\) failed: {error.__name__}: no such row \(test_own_store\.py:\d+\)", said)


# -- ids of the store, whoever reads ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", ["serial", "row number", "hash"])
def test_a_record_carries_the_id_that_the_head_has(ids: str) -> None:
    def run(self: Any) -> None:
        order = self.kit.read(X)
        assert order.id == self.kit.head(X) == self.kit.memory(X).id == self.store.rows[X][0]
        plan = self.kit.derive({"drink": order.value}, [order])
        self.kit.pause()
        if self.kit.head(X) != order.id:
            self.kit.halted("changed")
            return
        self.kit.validated([X])
        self.kit.act("go", {}, plan=plan, expect={X: order.id})

    scenario = Scenario(owners={"a": [X], "b": [Y]}, actions=[Action("go", [X])])
    with Runner(kind(run=run, ids=ids, scenario=scenario)) as runner:
        still, changed = runner.run(), runner.run((), (Event(4, Update(X)),))
    assert still.records["p1"].parents == ("x@1",)
    assert still.effects[0].expect == {X: "x@1"}
    assert judge(still).findings == []
    assert changed.ended == Ended("halted", "changed")


def plans_from(*parents: Any) -> Any:
    """A system that plans from these parents, checks and acts. Each row numbers its versions from 1."""

    def run(self: Any) -> None:
        plan = self.kit.derive("plan", parents)
        self.kit.head(X)
        self.kit.head(Y)
        self.kit.validated([X, Y])
        self.kit.act("go", {}, plan=plan)

    return kind(run=run, ids="row number")


def test_a_pair_of_key_and_id_names_a_version_where_each_row_counts_for_itself() -> None:
    with Runner(plans_from((X, 1), (Y, 1))) as runner:
        still, changed = runner.run(), runner.run((), (Event(1, Update(Y)),))
    assert still.records["p1"].parents == ("x@1", "y@1")
    assert judge(still).findings == []
    assert [(found.code, found.key) for found in judge(changed).findings] == [("stale-act", Y)]


@pytest.mark.parametrize("of", ["parents", "plan", "record"])
def test_an_id_that_several_keys_have_names_no_version(of: str) -> None:
    def run(self: Any) -> None:
        if of == "record":
            self.kit.record(1)
        self.kit.act("go", {}, plan=1 if of == "plan" else self.kit.derive("plan", [1]))

    said = "Keeps: 1 is a version of 'x' and of 'y', so it names neither: give ('x', 1), a pair of key and id, or a record that"
    with pytest.raises(BadInput, match=re.escape(said)):
        Runner(kind(run=run, ids="row number")).run()


def test_an_id_that_only_one_key_has_needs_no_key() -> None:
    def run(self: Any) -> None:
        self.kit.pause()
        self.kit.act("go", {}, plan=self.kit.derive("plan", [2, (Y, 1)]))

    with Runner(kind(run=run, ids="row number")) as runner:
        assert runner.run((), (Event(0, Update(X)),)).records["p1"].parents == ("x@2", "y@1")


def test_the_fence_holds_on_the_kits_own_reads() -> None:
    def run(self: Any) -> None:
        kit = self.kit
        make = lambda records: kit.derive({"drink": records[X].value}, list(records.values()))  # noqa: E731
        plan = make({X: kit.read(X, timeout=1.0)})
        kit.pause("approval")
        fence = PlanFence(kit.record, lambda key: kit.head(key, timeout=1.0), lambda plan, changed: make(changed), kit.validated)
        cleared = fence.clear(plan, kit.declared("go")).plan
        kit.act("go", cleared.value, plan=cleared)

    scenario = Scenario(owners={"a": [X], "b": [Y]}, actions=[Action("go", [X])], values={X: ("tea", "coffee", "cocoa")})
    system = kind(run=run, ids="hash", scenario=scenario, halt_exceptions=(faults.Fault, Halt))
    with Runner(system) as runner:
        judged = [judge(runner.run((), events)) for events in ((), (Event(2, Update(X)),))]
    assert [(found.outcome, found.recovered, found.findings) for found in judged] == [("completed", False, []), ("completed", True, [])]


# -- which version an answer carries ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        (2, "x@2"),
        ({"version": 1, "quantity": 2, "drink": "tea"}, "x@1"),
        ({"version": 2, "quantity": 1, "drink": "coffee"}, "x@2"),
        ({"version": 3, "drink": "tea"}, "x@3"),
        ({"version": 2, "active": True}, "x@2"),
        ({"active": True}, None),
        ({"version": 2}, "x@2"),
        ({"was": "tea", "drink": "coffee", "version": 2}, "x@2"),
        (True, None),
    ],
)
def test_numbers_are_ids_only_where_nothing_better_tells(answer: Any, version: str | None) -> None:
    """Three versions of x, numbered from 1: tea, coffee, tea again."""
    world = World(Prepared(WORLD), own_store=True)
    for value in ("tea", "coffee", "tea"):
        world.commit(X, value)
    names = {(X, number): f"x@{number}" for number in (1, 2, 3)}
    assert version_in(answer, X, world, names) == version


@pytest.mark.parametrize(("part", "version"), [(1, "x@1"), (True, None), (1.0, None), ("1", None)])
def test_a_number_is_that_kind_of_number(part: Any, version: str | None) -> None:
    world = World(Prepared(WORLD), own_store=True)
    world.commit(X, 1)
    assert version_in({"quantity": part}, X, world, {}) == version


def answering(answer: Any, **attributes: Any) -> type[AgentSystem]:
    """A system whose own client answers so."""

    def run(self: Any) -> None:
        self.kit.head(X, via=lambda: answer)
        self.kit.act("go", {})

    return kind(run=run, ids="row number", **attributes)


@pytest.mark.parametrize("answer", ["yes", True, {"changed": False}, None])
def test_an_answer_that_shows_no_version_is_no_answer_of_the_current_one(answer: Any) -> None:
    said = "Keeps: what via= of kit.head('x') answered shows no version of 'x': let it hold the version's id or its value, or define version_of"
    with pytest.raises(CouldNotRun, match=re.escape(said)):
        Runner(answering(answer)).run()


def test_the_adapter_can_say_which_version_an_answer_carries() -> None:
    system = answering("etag-1", version_of=lambda self, key, answer: int(answer[-1]))
    assert [e.version for e in Runner(system).run((), (Event(0, Update(X)),)).entries if type(e) is Head] == ["x@1"]
    with pytest.raises(CouldNotRun, match=r"^Keeps: version_of\(\) failed: ValueError: .* \(test_own_store.py:\d+\)$"):
        Runner(answering("etag-x", version_of=lambda self, key, answer: int(answer[-1]))).run()


# -- on a real file ------------------------------------------------------------------------------------------------------------------


class InSqlite(AgentSystem):
    """The rows are in an SQLite file; versions count up for each row. Its update is conditional on the version where `checked`."""

    scenario = Scenario(
        owners={"table": [X, Y]}, actions=[Action("go", [X, Y])], values={X: ("tea", "coffee", "cocoa"), Y: ("noon", "dusk", "dawn")}
    )
    halt_exceptions = (faults.Fault,)
    checked = True

    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()

    def shutdown(self) -> None:
        self.folder.cleanup()

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        path = Path(self.worker.folder.name) / "rows.sqlite"
        path.unlink(missing_ok=True)
        self.db = sqlite3.connect(path)
        self.db.execute("pragma synchronous = off")
        self.db.execute("pragma journal_mode = memory")
        self.db.execute("create table rows (key text primary key, version integer, value text)")
        self.db.execute("create table sent (key text, value text)")

    def teardown(self) -> None:
        self.db.close()

    def row(self, key: str) -> tuple[int, str]:
        found: tuple[int, str] = self.db.execute("select version, value from rows where key = ?", (key,)).fetchone()
        return found

    def publish(self, key: str, value: Any) -> Any:
        self.db.execute(
            "insert into rows values (?, 1, ?) on conflict (key) do update set version = version + 1, value = excluded.value", (key, value)
        )
        self.db.commit()
        return self.true_head(key)

    def true_head(self, key: str) -> Any:
        row = self.row(key)
        return f"{key}/{row[0]}" if row else None

    def send(self, rows: dict[str, tuple[int, str]]) -> bool:
        with self.db:
            for key, (version, value) in rows.items():
                if self.checked and self.row(key)[0] != version:
                    raise faults.PreconditionFailed(key)
                self.db.execute("insert into sent values (?, ?)", (key, value))
        return True

    def run(self) -> None:
        rows = {key: self.kit.read(key, timeout=1.0, via=lambda key=key: self.row(key)) for key in (X, Y)}
        if MALFORMED in rows.values():
            self.kit.halted("no rows")
            return
        self.kit.pause("approval")
        basis = {key: f"{key}/{version}" for key, (version, _) in rows.items()}
        expect = basis if self.checked else None
        self.kit.act("go", {key: value for key, (_, value) in rows.items()}, basis=basis, expect=expect, via=lambda: self.send(rows))


def test_a_row_that_is_written_back_unchecked_is_stale() -> None:
    report = check(kind(InSqlite, checked=False), **CHECKS)
    assert [(failure.code, failure.finding.key, failure.events) for failure in report.failures] == [
        ("stale-act", X, (Event(3, Update(X)),))
    ]


def test_a_row_whose_version_the_tool_checks_holds_at_every_level() -> None:
    for level in ("at-validation", "at-one-instant", "at-act"):
        report = check(InSqlite, level=level, **CHECKS)  # type: ignore[arg-type]
        assert (report.verdict, report.strongest, report.beyond, report.noticed) == ("held", "at-act", {}, {})
        assert report.counts["refused"] > 0
        assert report.counts["completed"] > 0


def test_a_store_that_all_episodes_share_leaks() -> None:
    """Its versions are named anew in each episode, so that two histories are alike; what it holds at the beginning is not."""

    class Shared(AgentSystem):
        scenario = WORLD
        store = Store("serial")

        def run(self) -> None:
            self.kit.act("go", {"x": self.kit.head(X, via=lambda: self.store.rows[X][0])})

        def publish(self, key: str, value: Any) -> Any:
            return self.store.put(key, value)

        def true_head(self, key: str) -> Any:
            return self.store.rows[key][0] if key in self.store.rows else None

    with Runner(Shared) as runner:
        runner.run()
        with pytest.raises(
            CouldNotRun, match="Shared leaks state from one episode into the next: when an episode begins, its store holds 100 "
        ):
            runner.run()
    Shared.store.rows.clear()
    with pytest.raises(CouldNotRun, match="build the store in setup"):
        check(Shared, **CHECKS)  # type: ignore[arg-type]
