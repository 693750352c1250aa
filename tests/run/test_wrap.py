"""`kit.wrap`: a team's whole client as ports."""

from __future__ import annotations

import copy
import pickle
import re
import types
from collections.abc import Callable
from typing import Any

import pytest

from fencecheck import Action, AgentSystem, Event, Outage, Scenario, Update, check, faults
from fencecheck.errors import BadInput
from fencecheck.history import Act, Head, History, Read
from fencecheck.run.simulate import Runner

ADDRESS, STOCK = "order/42/address", "stock/tea"
SCENARIO = Scenario(
    owners={"orders": [ADDRESS], "warehouse": [STOCK]},
    actions=[Action("ship", depends_on=[ADDRESS])],
    values={ADDRESS: ["Tokyo", "Osaka", "Nara", "Kobe"], STOCK: ["one crate", "two crates", "no crate"]},
)


class Gone(Exception):
    """What the client raises where a service does not answer."""


class Api:
    """A team's client: reads and writes beside what is neither."""

    base = "v1"

    def __init__(self) -> None:
        self.rows: dict[str, tuple[int, str]] = {}
        self.sent: list[tuple[str, str]] = []
        self.closed = False

    def get_order(self, order_id: str, *, field: str = "address") -> dict[str, Any]:
        version, value = self.rows[f"order/{order_id}/{field}"]
        return {"version": f"{order_id}-{version}", field: value}

    def order_version(self, order_id: str) -> str:
        return f"{order_id}-{self.rows[f'order/{order_id}/address'][0]}"

    def ship_order(self, order_id: str, to: str, request: str | None = None) -> str:
        self.sent.append((order_id, to))
        return f"parcel {len(self.sent)}"

    def describe(self) -> str:
        return f"client of {self.base}"

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *exc: object) -> None:
        self.closed = True

    def __len__(self) -> int:
        return len(self.rows)


class OfApi(AgentSystem):
    """What the systems below share: the store of the client is the store of the world."""

    scenario = SCENARIO
    halt_exceptions = (Gone,)
    fault_exceptions = {faults.Fault: Gone}

    def setup(self, kit: Any) -> None:
        super().setup(kit)
        self.api = Api()

    def publish(self, key: str, value: Any) -> str:
        self.api.rows[key] = (self.api.rows.get(key, (0, ""))[0] + 1, value)
        return self.true_head(key)

    def true_head(self, key: str) -> Any:
        row = self.api.rows.get(key)
        return None if row is None else f"{key.split('/')[1]}-{row[0]}"


def made(body: Callable[[Any], Any], base: type[AgentSystem] = OfApi, **attributes: Any) -> type[AgentSystem]:
    return type("Mine", (base,), {"run": body, **attributes})


def run(body: Callable[[Any], Any], *events: Event, **attributes: Any) -> History:
    return Runner(made(body, **attributes)).run((), events)


def agent(api: Any) -> None:
    """The team's own code, which knows nothing of a kit."""
    order = api.get_order("42")
    api.ship_order("42", to=order["address"])


READS: dict[str, Any] = {
    "a format of the arguments by number": {"get_order": "order/{0}/address"},
    "a format of them by name": {"get_order": "order/{order_id}/address"},
    "a function of them": {"get_order": lambda order_id, field="address": f"order/{order_id}/{field}"},
    "a list, where one key has them all among its parts": ["get_order"],
}


@pytest.mark.parametrize("reads", READS.values(), ids=READS)
def test_calls_of_named_methods_are_ports(reads: Any) -> None:
    system: Any = None

    def body(self: Any) -> None:
        nonlocal system
        system = self
        agent(self.kit.wrap(self.api, reads=reads, writes={"ship_order": "ship"}))

    entries = run(body).entries
    assert Read("agent", ADDRESS, f"{ADDRESS}@1") in entries
    assert [(entry.action, entry.args) for entry in entries if type(entry) is Act] == [("ship", {"order_id": "42", "to": "Tokyo"})]
    assert system.api.sent == [("42", "Tokyo")]


def test_what_such_a_client_hides_is_found() -> None:
    def body(self: Any) -> None:
        api = self.kit.wrap(self.api, reads=["get_order"], writes={"ship_order": "ship"}, timeout=5.0)
        order = api.get_order("42")
        self.kit.pause("approval")
        api.ship_order("42", order["address"])

    report = check(made(body), fresh_process=False, max_events=1)
    assert report.verdict == "violated"
    assert report.failures[0].interleaving.events == (Event(2, Update(ADDRESS)),)


def test_events_land_and_faults_are_raised_as_the_clients_own() -> None:
    def body(self: Any) -> None:
        api = self.kit.wrap(self.api, reads=["get_order"], heads=["order_version"], writes={"ship_order": "ship"}, timeout=5.0)
        first = api.get_order("42")
        assert api.order_version("42") != first["version"]
        agent(api)

    history = run(body, Event(1, Update(ADDRESS)), Event(2, Outage("orders")))
    assert [type(entry) for entry in history.entries if type(entry) in (Read, Head)] == [Read, Head, Read]
    assert (history.ended.how, history.ended.detail) == ("halted", "Gone: orders refuses for order/42/address")


def test_an_argument_that_is_a_key_is_the_key() -> None:
    store = types.SimpleNamespace(look_up=lambda key: {"order/42/address": "Tokyo", "stock/tea": "one crate"}[key])
    history = run(lambda self: self.kit.wrap(store, reads=["look_up"]).look_up(STOCK))
    assert Read("agent", STOCK, f"{STOCK}@1") in history.entries


@pytest.mark.parametrize("runtime", ["asyncio", "trio"])
def test_async_methods_are_ports_to_await(runtime: str) -> None:
    class AsyncApi(Api):
        async def fetch(self, order_id: str) -> str:
            return self.rows[f"order/{order_id}/address"][1]

        async def send(self, to: str) -> str:
            return f"sent to {to}"

    class Async(OfApi):
        def setup(self, kit: Any) -> None:
            self.kit, self.api = kit, AsyncApi()

    async def body(self: Any) -> None:
        api = self.kit.wrap(self.api, reads={"fetch": ADDRESS}, writes={"send": "ship"})
        assert await api.send(await api.fetch("42")) == "sent to Osaka"

    with Runner(made(body, Async, runtime=runtime)) as runner:
        history = runner.run((), (Event(0, Update(ADDRESS)),))
    assert history.ended.how == "returned", history.ended
    assert history.effects[0].args == {"to": "Osaka"}


def test_all_else_is_the_clients_own() -> None:
    def body(self: Any) -> None:
        api = self.kit.wrap(self.api, reads=["get_order"])
        assert isinstance(api, Api)
        assert api.describe() == "client of v1"
        api.base = "v2"
        assert self.api.base == "v2"
        assert len(api) == 2
        with api as entered:
            assert entered.get_order("42")["address"] == "Tokyo"
        assert self.api.closed
        assert api.get_order.__name__ == "get_order"

    history = run(body)
    assert history.ended.how == "returned", history.ended
    assert [type(entry) for entry in history.entries if type(entry) is Read] == [Read]


def test_methods_may_lie_deeper_and_be_special() -> None:
    def body(self: Any) -> None:
        sdk = types.SimpleNamespace(orders=self.api, rows={ADDRESS: "Tokyo"})
        wrapped = self.kit.wrap(sdk, reads={"orders.get_order": "order/{0}/address", "rows.__getitem__": "{0}"})
        assert wrapped.orders.get_order("42")["address"] == wrapped.rows[ADDRESS] == "Tokyo"
        assert wrapped.orders.describe() == "client of v1"

    history = run(body)
    assert history.ended.how == "returned", history.ended
    assert [entry.key for entry in history.entries if type(entry) is Read] == [ADDRESS, ADDRESS]


def test_the_idempotency_key_is_no_argument_that_goes_out() -> None:
    def body(self: Any) -> None:
        api = self.kit.wrap(self.api, writes={"ship_order": "ship"}, idempotency_key="request")
        assert [api.ship_order("42", "Tokyo", request="r-1") for _ in range(2)] == ["parcel 1", "parcel 1"]

    acts = [entry for entry in run(body).entries if type(entry) is Act]
    assert [(act.outcome, act.idempotency_key, act.args) for act in acts] == [
        ("done", "r-1", {"order_id": "42", "to": "Tokyo"}),
        ("repeated", "r-1", {"order_id": "42", "to": "Tokyo"}),
    ]


async def _stream(self: Any) -> Any:
    yield 1


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "a method that is not there": ({"reads": ["get_ordr"]}, "kit.wrap: Api has no get_ordr: did you mean get_order?"),
    "what is no method": ({"reads": ["base"]}, "kit.wrap: base of Api is no method but 'v1'"),
    "a single name": ({"writes": "ship"}, "kit.wrap: writes must be a list of methods, not the single string 'ship'; write ['ship']"),
    "an action that is not there": ({"writes": ["ship_order"]}, "acts 'ship_order', which its scenario does not list"),
    "named twice": ({"reads": ["get_order"], "heads": ["get_order"]}, "'get_order' is named twice: a method is a read, a head or a write"),
    "no way to name a key": ({"reads": {"get_order": 3}}, "maps 'get_order' to 3: give a format such as 'order/{0}' or a function"),
    "a stream": ({"reads": {"stream": ADDRESS}}, "stream() is a generator, which is no single call: make what it calls a port instead"),
}


@pytest.mark.parametrize(("options", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_gets_one_sentence(options: dict[str, Any], sentence: str) -> None:
    def body(self: Any) -> None:
        type(self.api).stream = _stream  # type: ignore[attr-defined]
        self.kit.wrap(self.api, **options)

    with pytest.raises(BadInput) as raised:
        run(body)
    assert sentence in str(raised.value)


CALLS: dict[str, tuple[Any, str]] = {
    "several keys": ([], "call() at LINE could mean any of order/42/address, stock/tea: say which, as reads={'call': 'call/{0}'}"),
    "no key": (["7"], "call('7') at LINE could mean none of order/42/address, stock/tea: say which, as reads={'call': 'call/{0}'}"),
}


@pytest.mark.parametrize(("args", "sentence"), CALLS.values(), ids=CALLS)
def test_a_call_whose_key_is_not_known_is_told_even_where_it_is_swallowed(args: Any, sentence: str) -> None:
    def body(self: Any) -> None:
        client = self.kit.wrap(types.SimpleNamespace(call=lambda *args: None), reads=["call"])
        try:
            client.call(*args)
        except Exception:
            self.kit.act("ship")

    with pytest.raises(BadInput) as raised:
        run(body)
    assert re.sub(r"test_wrap\.py:\d+", "LINE", str(raised.value)) == f"kit.wrap: {sentence}"


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


FORMS: dict[str, tuple[Any, Any, str]] = {
    "an argument that there is not": ("{ordr}", "7", "'{ordr}' names no key for CALL: there is no argument 'ordr': did you mean {order}?"),
    "another one": ("order/{x}", "7", "'order/{x}' names no key for CALL: there is no argument 'x': they are order"),
    "too high a number": ("{1}", "7", "'{1}' names no key for CALL: there is no argument number 1: they are order, counted from 0"),
    "no such item": ("order/{0[x]}", {}, "'order/{0[x]}' names no key for CALL: KeyError: 'x'"),
    "no format": ("order/{", "7", "'order/{' names no key for CALL: ValueError: Single '{' encountered in format string"),
    "a function that fails": (lambda order: {}[order], "7", "its function names no key for CALL: KeyError: '7'"),
    "no key of an owner": ("ordr/{0}/address", "42", "CALL: no owner holds the key 'ordr/42/address': did you mean 'order/42/address'?"),
    "no text": (lambda order: [], "7", "CALL: no owner holds the key [] (keys: order/42/address, stock/tea)"),
    "an argument without a text": ("{0}", Unspeakable(), "'{0}' names no key for CALL: RuntimeError: no text"),
    "an argument of a megabyte": ("{0.x}", "y" * 1_000_000, "'{0.x}' names no key for CALL: AttributeError: 'str' object has no attribute 'x'"),
}  # fmt: skip


@pytest.mark.parametrize(("form", "argument", "sentence"), FORMS.values(), ids=FORMS)
def test_a_form_that_names_no_key(form: Any, argument: Any, sentence: str) -> None:
    with pytest.raises(BadInput, match=r"^kit.wrap: ") as raised:
        run(lambda self: self.kit.wrap(types.SimpleNamespace(call=lambda order: None), reads={"call": form}).call(argument))
    shown = "a Unspeakable" if isinstance(argument, Unspeakable) else f"{repr(argument)[:100]}{'…' * (len(repr(argument)) > 100)}"
    assert (
        re.sub(r"at test_wrap\.py:\d+", "at LINE", str(raised.value)) == f"kit.wrap: {sentence.replace('CALL', f'call({shown}) at LINE')}"
    )


def test_a_property_is_not_looked_at() -> None:
    class Lazy:
        @property
        def order(self) -> str:
            raise AssertionError("connects")

    with pytest.raises(BadInput, match=r"order of Lazy is a property, which is no call: make the method that it calls a port$"):
        run(lambda self: self.kit.wrap(Lazy(), reads={"order": ADDRESS}))


def test_one_call_is_not_counted_twice() -> None:
    def twice(self: Any) -> None:
        once = self.kit.wrap(self.api, reads={"get_order": "order/{0}/address"})
        self.kit.wrap(once, reads={"get_order": "order/{0}/address"})

    with pytest.raises(BadInput, match=r"get_order is a port of this client already, and would be two calls: wrap the client itself once$"):
        run(twice)


def test_a_method_that_calls_another_one_is_one_call() -> None:
    class Api:
        def ship(self, to: str) -> str:
            return f"{to} {self.get_order('42')}"

        def get_order(self, order_id: str) -> str:
            return "Tokyo"

    history = run(lambda self: self.kit.wrap(Api(), reads={"get_order": "order/{0}/address"}, writes=["ship"]).ship("Tokyo"))
    assert [type(entry) for entry in history.entries[:-1]] == [Act]


def test_a_copy_stays_on_the_ports_and_what_leaves_the_episode_is_told() -> None:
    class Copied:
        base = "v1"

        def __init__(self) -> None:
            self.retries = 3

        def __deepcopy__(self, memo: Any) -> Any:
            return Copied()

        def call(self, order: str) -> None: ...

    def body(self: Any) -> None:
        client = self.kit.wrap(Copied(), reads={"call": ADDRESS})
        assert copy.copy(client) is copy.deepcopy(client) is client
        assert vars(client) == {"retries": 3}
        with pytest.raises(TypeError, match=r"^a Copied on the ports of a kit cannot be pickled: it belongs to an episode$"):
            pickle.dumps(client)
        self.kit.act("ship")

    assert len(run(body).effects) == 1
