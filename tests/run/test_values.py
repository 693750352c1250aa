"""What goes in and out by value: any type, and nothing that a system does to a value reaches what the kit holds of it."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from fencecheck.errors import BadInput
from fencecheck.history import Act, Declared, Ended, Validated
from fencecheck.interleaving import Event, Update
from fencecheck.judge import judge
from fencecheck.model import Action, Scenario
from fencecheck.run.simulate import Runner
from fencecheck.run.world import snapshot

from .faces import RUNTIMES, WORLD, Face, X, Y, run, system

each_runtime = pytest.mark.parametrize("runtime", RUNTIMES)


def world(*values: Any) -> Scenario:
    return Scenario(owners={"a": [X]}, actions=[Action("go", [X])], values={X: values})


# -- nothing is shared -------------------------------------------------------------------------------------------------------------


@each_runtime
def test_arguments_are_those_of_the_call_whatever_becomes_of_them(runtime: str) -> None:
    async def body(io: Face) -> None:
        args: dict[str, Any] = {"to": {"city": "Tokyo"}, "items": ["tea", ["cup"]], "tags": {"new"}, "pair": ("a", ["b"])}
        await io.act("go", args)
        args["to"]["city"] = "Osaka"
        args["items"][1].append("pot")
        args["tags"].clear()
        args["pair"][1].clear()
        args.clear()

    (effect,) = run(body, runtime).effects
    assert effect.args == {"to": {"city": "Tokyo"}, "items": ["tea", ["cup"]], "tags": {"new"}, "pair": ("a", ["b"])}


@each_runtime
@pytest.mark.parametrize("port", ["read", "memory", "record"])
def test_what_a_system_does_to_a_value_changes_no_version(runtime: str, port: str) -> None:
    got: list[Any] = []

    async def body(io: Face) -> None:
        record = await getattr(io, port)("x@1" if port == "record" else X)
        record.value["city"].append("spoilt")
        got.append((await io.read(X)).value)

    with Runner(system(body, runtime, world({"city": ["Tokyo"]}, {"city": ["Osaka"]}))) as runner:
        for _ in range(2):
            assert runner.run().records["x@1"].value == {"city": ["Tokyo"]}
    assert got == [{"city": ["Tokyo"]}] * 2  # in the second episode too


@each_runtime
def test_a_derived_record_says_what_it_said_when_it_was_written(runtime: str) -> None:
    async def body(io: Face) -> None:
        draft = {"to": ["Tokyo"]}
        plan = await io.derive(draft)
        draft["to"].append("draft")
        plan.value["to"].append("plan")
        assert (await io.record(plan)).value == {"to": ["Tokyo"]}

    assert run(body, runtime).records["p1"].value == {"to": ["Tokyo"]}


def test_a_plan_that_is_changed_after_it_was_derived_goes_out_as_it_is() -> None:
    async def body(io: Face) -> None:
        record = await io.read(X)
        plan = await io.derive({"to": record.value}, [record])
        plan.value["to"] = "coffee"
        await io.act("go", plan.value, plan=plan)

    history = run(body, "sync", (Event(2, Update(X)),))
    assert history.effects[0].args == {"to": "coffee"}
    assert "provenance-mismatch" in {finding.code for finding in judge(history).findings}


def test_a_store_of_the_systems_own_does_not_hold_the_scenarios_values() -> None:
    async def body(io: Face) -> None:
        await io.point()

    def setup(self: Any, kit: Any) -> None:
        self.kit, self.rows = kit, {}

    def publish(self: Any, key: str, value: Any) -> int:
        self.rows[key] = (self.rows.get(key, (0,))[0] + 1, value)
        value["city"] = "spoilt"
        return int(self.rows[key][0])

    def true_head(self: Any, key: str) -> Any:
        return self.rows[key][0] if key in self.rows else None

    scenario = world({"city": "Tokyo"}, {"city": "Osaka"})
    history = run(body, "sync", (Event(0, Update(X)),), scenario=scenario, setup=setup, publish=publish, true_head=true_head)
    assert [history.records[id].value for id in history.versions[X]] == [{"city": "Tokyo"}, {"city": "Osaka"}]


# -- values of every type ----------------------------------------------------------------------------------------------------------

VALUES: list[tuple[Any, Any]] = [
    (1, 2),
    (1.5, 2.5),
    (True, False),
    ({"street": "a", "no": 1}, {"street": "a", "no": 2}),
    (["a", "b"], ["b", "a"]),
    (("a", 1), ("a", 2)),
    (None, "something"),
    ("", " "),
]


@each_runtime
@pytest.mark.parametrize(("first", "second"), VALUES, ids=repr)
def test_a_version_is_recognised_by_its_value_in_the_arguments(runtime: str, first: Any, second: Any) -> None:
    async def body(io: Face) -> None:
        record = await io.read(X)
        await io.act("go", {"order": {"value": record.value}})

    with Runner(system(body, runtime, world(first, second))) as runner:
        assert judge(runner.run()).findings == []
        after = runner.run((), (Event(1, Update(X)),))
        assert {finding.code for finding in judge(after).findings} == {"stale-act"}


# -- arguments of act --------------------------------------------------------------------------------------------------------------


class Array:
    """Compares as arrays do: to an array, which is neither true nor false."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


def test_values_that_do_not_compare_are_no_evidence_and_hide_none() -> None:
    async def body(io: Face) -> None:
        read = await io.read(X)
        await io.pause()
        await io.act("go", {"embedding": Array(), "to": read.value})

    for scenario in (world("tea", "coffee"), world(("tea", 1), ("coffee", 2))):
        stale = judge(run(body, "sync", (Event(1, Update(X)),), scenario=scenario))
        assert [finding.code for finding in stale.findings] == ["stale-act"]


@each_runtime
@pytest.mark.parametrize(
    ("args", "sent"),
    [
        (None, {}),
        ({}, {}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (MappingProxyType({"a": [1]}), {"a": [1]}),
    ],
)
def test_arguments_are_any_mapping_or_none(runtime: str, args: Any, sent: dict[str, Any]) -> None:
    async def body(io: Face) -> None:
        await io.act("go", args)

    (effect,) = run(body, runtime).effects
    assert effect.args == sent
    assert type(effect.args) is dict


@each_runtime
@pytest.mark.parametrize(("args", "kind"), [(["tea"], "list"), ("tea", "str"), (3, "int"), (("tea",), "tuple")])
def test_arguments_that_are_no_mapping_are_refused(runtime: str, args: Any, kind: str) -> None:
    async def body(io: Face) -> None:
        await io.act("go", args)

    with pytest.raises(BadInput) as caught:
        run(body, runtime)
    assert str(caught.value) == f"Made acts 'go' with a {kind}: args is a mapping of names to what goes out"


@each_runtime
@pytest.mark.parametrize("option", ["basis", "expect"])
def test_a_basis_without_versions_is_refused(runtime: str, option: str) -> None:
    async def body(io: Face) -> None:
        await io.act("go", {}, **{option: [X]})

    with pytest.raises(BadInput) as caught:
        run(body, runtime)
    assert str(caught.value) == "Made: basis= and expect= are mappings of key to version id, not a list"


def test_a_basis_may_hold_the_records_themselves() -> None:
    async def body(io: Face) -> None:
        record = await io.read(X)
        await io.act("go", {}, basis={X: record}, expect={X: record})

    (effect,) = run(body, "sync").effects
    assert (effect.basis, effect.expect) == ({X: "x@1"}, {X: "x@1"})


@each_runtime
def test_validated_takes_keys_or_a_basis_but_no_text(runtime: str) -> None:
    async def body(io: Face) -> None:
        io.validated([X, Y])
        io.validated({X: "x@1"})
        io.validated(key for key in (Y,))
        io.validated(X)

    with pytest.raises(BadInput) as caught:
        run(body, runtime)
    assert str(caught.value) == "Made calls validated('x'): it takes a list of keys; write ['x']"

    async def well(io: Face) -> None:
        io.validated([X, Y])
        io.validated({X: "x@1"})
        io.validated(key for key in (Y,))

    assert [entry.keys for entry in run(well, runtime).entries if type(entry) is Validated] == [(X, Y), (X,), (Y,)]


@each_runtime
def test_an_action_that_the_scenario_does_not_list_is_refused(runtime: str) -> None:
    async def body(io: Face) -> None:
        await io.act("send", {})

    with pytest.raises(BadInput) as caught:
        run(body, runtime)
    assert str(caught.value) == "Made acts 'send', which its scenario does not list (actions: go): add Action('send', ...)"


# -- keys that depend on the arguments ---------------------------------------------------------------------------------------------

FILES = Scenario(
    owners={"disk": ["a.txt", "b.txt"]},
    actions=[Action("write", depends_on=lambda args: [args["path"]])],
)


@each_runtime
def test_keys_by_arguments_are_those_of_the_call_without_what_was_dropped(runtime: str) -> None:
    async def body(io: Face) -> None:
        assert io.declared("write", {"path": "a.txt"}) == ("a.txt",)
        assert io.declared("write", {"path": "b.txt"}) == ()
        await io.act("write", {"path": "b.txt"})

    history = run(body, runtime, dropped=(("write", "b.txt"),), scenario=FILES)
    assert [entry.keys for entry in history.entries if type(entry) is Declared] == [("a.txt",), ()]
    (effect,) = history.effects
    assert (effect.depends_on, effect.declared) == (("b.txt",), ("b.txt",))


def test_declared_keys_that_are_fewer_than_the_true_ones() -> None:
    scenario = Scenario(owners={"a": [X, Y]}, actions=[Action("go", [X, Y], declared=[X])])

    async def body(io: Face) -> None:
        assert io.declared("go") == (X,)
        await io.act("go", {"x": (await io.read(X)).value, "y": (await io.read(Y)).value})

    history = run(body, "sync", (Event(2, Update(Y)),), scenario=scenario)
    assert judge(history).findings == []
    assert history.ended == Ended("returned")
    assert [entry.depends_on for entry in history.entries if type(entry) is Act] == [None]  # the scenario says it


@pytest.mark.parametrize("unused", [("go", "nothing"), ("nothing", X)])
def test_dropping_what_is_not_declared_changes_nothing(unused: tuple[str, str]) -> None:
    async def body(io: Face) -> None:
        assert io.declared("go") == (X,)

    assert run(body, "sync", dropped=(unused,), scenario=WORLD).ended == Ended("returned")


# -- values that a system changes --------------------------------------------------------------------------------------------------


@dataclass
class Order:
    to: str = "tea"
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Address:
    city: str


class Handle:
    """Equal to nothing but itself."""


def change(value: Any) -> None:
    match value:
        case Order():
            value.lines.append("changed")
        case dict():
            value["changed"] = True
        case tuple():
            change(value[0])
        case SimpleNamespace():
            value.to = "changed"
        case _:
            value.append(1)


CHANGEABLE = {
    "a dataclass": Order,
    "inside a dict": lambda: {"order": Order()},
    "inside a tuple": lambda: (Order(), "x"),
    "a mapping of another type": lambda: OrderedDict(to="tea"),
    "bytes that change": lambda: bytearray(b"tea"),
    "a queue": lambda: deque(["tea"]),
    "an object": lambda: SimpleNamespace(to="tea"),
}


@pytest.mark.parametrize("make", CHANGEABLE.values(), ids=CHANGEABLE)
def test_what_a_system_does_to_a_value_stays_with_it(make: Any) -> None:
    scenario = Scenario(owners={"a": [X]}, actions=[Action("go", [X])], values={X: [make(), "later"]})

    async def body(io: Face) -> None:
        sent = {"read": (await io.read(X)).value, "remembered": (await io.memory(X)).value, "derived": make()}
        await io.derive(sent["derived"])
        for value in sent.values():
            change(value)
        await io.act("go", sent)
        for value in sent.values():
            change(value)

    with Runner(system(body, "sync", scenario)) as runner:
        first, again = runner.run(), runner.run()
    assert (first.records["x@1"].value, first.records["p1"].value) == (make(), make())
    changed = make()
    change(changed)
    for history in (first, again):
        assert history.effects[0].args == {"read": changed, "remembered": changed, "derived": changed}


@pytest.mark.parametrize(
    "value", ["tea", 3, ("tea", 3), Address("Tokyo"), frozenset({"tea"}), Handle()], ids=lambda value: type(value).__name__
)
def test_a_value_that_is_sent_as_it_was_read_is_recognised(value: Any) -> None:
    scenario = Scenario(owners={"a": [X]}, actions=[Action("go", [X])], values={X: [value, "later"]})

    async def body(io: Face) -> None:
        await io.act("go", {"order": (await io.read(X)).value})

    assert [finding.code for finding in judge(run(body, "sync", (Event(1, Update(X)),), scenario=scenario)).findings] == ["stale-act"]


def test_what_cannot_change_is_handed_out_itself() -> None:
    for value in ("tea", 3, ("tea", ("x", 3)), frozenset({"tea"}), None):
        assert snapshot(value) is value
