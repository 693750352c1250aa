"""The system's own functions behind the ports: what is called when, and what they raise."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fencecheck.errors import CouldNotRun
from fencecheck.history import Act, Fetch, Head, Memory, Read
from fencecheck.interleaving import Event, MissingParent, Outage, ToolFault, Update
from fencecheck.run import faults
from fencecheck.run.faults import MALFORMED

from .faces import RUNTIMES, Face, X, Y, failure, run

each_runtime = pytest.mark.parametrize("runtime", RUNTIMES)


@pytest.mark.parametrize(
    ("runtime", "face"),
    [(runtime, face) for runtime in RUNTIMES for face in ("plain", "async") if (runtime, face) != ("sync", "async")],  # see below
)
def test_via_is_called_in_place_of_the_kit_once_the_events_have_landed(runtime: str, face: str) -> None:
    called: list[str] = []
    got: list[Any] = []

    def via(name: str, answer: Any) -> Any:
        def plain() -> Any:
            called.append(name)
            return answer

        async def awaited() -> Any:
            return plain()

        return plain if face == "plain" else awaited

    async def body(io: Face) -> None:
        got.append(await io.read(X, via=via("read", {"text": "coffee"})))
        got.append(await io.head(X, via=via("head", "x@2")))
        got.append(await io.memory(X, via=via("memory", {"text": "tea"})))
        got.append(await io.record("x@1", via=via("record", "a row")))
        got.append((await io.derive("plan", ["x@1"], via=via("derive", "ignored"))).id)
        got.append(await io.act("go", {}, via=via("act", "a reply")))

    history = run(body, runtime, (Event(0, Update(X)),))
    assert called == ["read", "head", "memory", "record", "derive", "act"]
    assert got == [{"text": "coffee"}, "x@2", {"text": "tea"}, "a row", "p1", "a reply"]
    assert history.entries[1:5] == [
        Read("agent", X, "x@2"),  # by the value inside
        Head("agent", X, "x@2"),  # by the id
        Memory("agent", X, "x@1"),
        Fetch("agent", "x@1"),
    ]


@each_runtime
def test_a_fault_comes_in_place_of_via(runtime: str) -> None:
    called: list[str] = []
    got: list[Any] = []

    async def body(io: Face) -> None:
        got.append(type(await failure(io.read(X, via=lambda: called.append("read")))))
        got.append(await io.head(Y, via=lambda: called.append("head")))
        got.append(type(await failure(io.act("go", {}, via=lambda: called.append("act")))))
        got.append(type(await failure(io.record("x@1", via=lambda: called.append("record")))))

    outages = (Event(0, Outage("a")), Event(0, Outage("b", "wrong-key")), Event(0, ToolFault("go")), Event(0, MissingParent(X)))
    run(body, runtime, outages)
    assert got == [faults.OwnerUnavailable, MALFORMED, faults.ToolRefused, faults.RecordMissing]
    assert called == []


@each_runtime
def test_what_via_raises_reaches_the_system_and_the_history_says_that_it_failed(runtime: str) -> None:
    class Theirs(Exception):
        pass

    def broken() -> None:
        raise Theirs

    got: list[Any] = []

    async def body(io: Face) -> None:
        for call in (io.read(X, via=broken), io.head(X, via=broken), io.memory(X, via=broken), io.record("x@1", via=broken)):
            got.append(type(await failure(call)))
        got.append(type(await failure(io.act("go", {}, idempotency_key="one", via=broken))))
        got.append(await io.act("go", {}, idempotency_key="one"))

    history = run(body, runtime)
    assert got == [Theirs] * 5 + [{"status": "done"}]
    assert history.entries[:4] == [
        Read("agent", X, None, "refused"),
        Head("agent", X, None, "refused"),
        Memory("agent", X, None),
        Fetch("agent", "x@1", "missing"),
    ]
    assert [(e.outcome, e.effect) for e in history.entries if type(e) is Act] == [("refused", False), ("done", True)]


@pytest.mark.parametrize("port", ["read", "act"])
def test_an_async_function_behind_a_plain_port(port: str) -> None:
    async def theirs() -> None: ...

    async def body(io: Face) -> None:
        await (io.read(X, via=theirs) if port == "read" else io.act("go", {}, via=theirs))

    with pytest.raises(CouldNotRun) as caught:
        run(body, "sync")
    assert re.fullmatch(
        rf"Made: kit\.{port} at faces\.py:\d+ is not awaited, and comes to an async hook or via= function: write `await kit\.aio\.{port}\(\.\.\.\)`",
        str(caught.value),
    )


class ClientDown(Exception):
    pass


class Late(Exception):
    pass


@each_runtime
def test_faults_are_raised_as_the_exceptions_of_the_systems_own_clients(runtime: str) -> None:
    mapped = {
        faults.OwnerTimeout: Late,  # the first that fits
        faults.OwnerUnavailable: lambda message: ClientDown(f"503: {message}"),
        faults.ToolRefused: ClientDown("an instance"),
    }
    got: list[BaseException | None] = []

    async def body(io: Face) -> None:
        got.append(await failure(io.read(X)))
        got.append(await failure(io.read(Y, timeout=0.02)))
        got.append(await failure(io.act("go", {}, expect={X: "x@7"})))
        got.append(await failure(io.record("nothing")))

    run(body, runtime, (Event(0, Outage("a")), Event(0, Outage("b", "hang"))), fault_exceptions=mapped)
    assert [type(error) for error in got] == [ClientDown, Late, ClientDown, faults.RecordMissing]
    assert [str(error) for error in got] == [
        "503: a refuses for x",
        "b does not answer for y",
        "an instance",
        "there is no record 'nothing': give the record, or its id",
    ]
    assert [type(error.__cause__) for error in got[:3] if error] == [
        faults.OwnerUnavailable,
        faults.OwnerTimeout,
        faults.PreconditionFailed,
    ]
