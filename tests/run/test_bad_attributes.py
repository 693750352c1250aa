"""Attributes of a wrong kind are said before any episode, and not by a traceback from its middle."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck.errors import BadInput
from fencecheck.faults import Fault, OwnerTimeout
from fencecheck.report.terminal import report_lines
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check

from .faces import Face, X, system


async def body(kit: Face) -> None:
    await kit.act("go", {"with": (await kit.read(X)).value})


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        (
            "halt_exceptions",
            [LookupError],
            r"must be a tuple of exception classes, such as \(LookupError,\), not \[<class 'LookupError'>\]",
        ),
        ("halt_exceptions", LookupError, "must be a tuple of exception classes"),
        ("halt_exceptions", ("LookupError",), "must be a tuple of exception classes"),
        ("fault_exceptions", [Fault], "must map the classes of fencecheck.faults"),
        ("fault_exceptions", {"Fault": TimeoutError}, "must map the classes of fencecheck.faults"),
        ("fault_exceptions", {Fault: 5}, "must map Fault to an exception or a maker of one, not to 5"),
        ("max_points", "many", "must be a whole number from 1, not 'many'"),
        ("max_points", 0, "must be a whole number from 1, not 0"),
        ("timeout_s", None, "must be a number of seconds above 0, not None"),
        ("timeout_s", -1, "must be a number of seconds above 0, not -1"),
        ("cannot_happen", ["outage"], "must map kinds of event \\(update, .*\\) to why they make no sense for it, not be \\['outage'\\]"),
        ("cannot_happen", {"outages": "no"}, "must map kinds of event"),
        ("cannot_happen", {"outage": ""}, "must map kinds of event"),
    ],
)
def test_an_attribute_of_a_wrong_kind(attribute: str, value: Any, said: str) -> None:
    with pytest.raises(BadInput, match=f"^Made: {attribute} {said}"):
        Runner(system(body, "sync", **{attribute: value}))


def test_a_kind_that_cannot_happen_is_not_sent_and_the_report_says_why() -> None:
    local = system(body, "sync", cannot_happen={"outage": "it is always there"})
    with Runner(local) as runner:
        assert "outage" not in runner.kinds
        assert runner.missing["outage"] == "it is always there"
    report = check(local, fresh_process=False, max_events=1)
    assert "outage (it is always there)" in " ".join(" ".join(map(str, report_lines(report, 120))).split())
    with pytest.raises(BadInput, match="cannot receive outage: it is always there"):
        check(local, fresh_process=False, kinds=["outage"])


def test_attributes_of_the_right_kind() -> None:
    faults = {OwnerTimeout: TimeoutError("late"), Fault: lambda text: ValueError(text)}
    Runner(system(body, "sync", halt_exceptions=(LookupError, KeyboardInterrupt), fault_exceptions=faults, max_points=1, timeout_s=0.5))
