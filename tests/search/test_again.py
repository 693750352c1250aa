"""A coin that falls alike in the few runs before a search: what asks chance is not called held, and what comes out otherwise is told."""

from __future__ import annotations

from email.utils import make_msgid
from pathlib import Path
from typing import Any

import pytest

from fencecheck import check
from fencecheck.conformance import problems
from fencecheck.errors import BadInput, Nondeterministic
from fencecheck.history import History
from fencecheck.run.simulate import Runner
from fencecheck.search.again import EVERY, MOST, Again
from fencecheck.systems import ALL as SYSTEMS

from .files import agent

FENCED = """
order = kit.read("x", timeout=1)
if getattr(order, "key", None) != "x" or order.removed or kit.head("x", timeout=1) != order.id:
    {halts}
kit.validated(kit.declared("ship"))
kit.act("ship", {{"to": order.value}}, basis={{"x": order.id}})
"""
HALTS = 'raise Halt("changed")'


def fenced(folder: Path, first: str = "", halts: str = HALTS, **rest: str) -> Any:
    return agent(folder, first + FENCED.format(halts=halts), "import random, secrets, uuid\nnumbers = iter(range(10**9))", **rest)


def told(system: Any, **options: Any) -> tuple[str, str]:
    report = check(system, max_events=1, fresh_process=False, **options)
    return report.verdict, report.why


# -- chance ------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asks", ["random.random()", "random.choice('ab')", "secrets.choice('ab')", "random.SystemRandom().random()"])
def test_what_asks_chance_is_inconclusive(tmp_path: Path, asks: str) -> None:
    verdict, why = told(fenced(tmp_path, asks))
    assert verdict == "inconclusive"
    name = {"secrets.choice('ab')": "random.choice", "random.SystemRandom().random()": "random.SystemRandom.random"}.get(
        asks, asks.partition("(")[0]
    )
    assert why.startswith(f"it asks chance ({name} in agents_")
    assert why.endswith("seed it in setup(), or say chance_is_harmless = True in the adapter if it changes nothing that the system does")


@pytest.mark.parametrize(
    "asks", ["random.Random(7).random()", "random.seed(7); random.random()", "uuid.uuid4()", "secrets.token_hex()", "pass"]
)
def test_what_asks_none_or_makes_an_id_is_held(tmp_path: Path, asks: str) -> None:
    assert told(fenced(tmp_path, asks)) == ("held", "")


def test_what_a_library_asks_for_its_own_is_no_decision_of_the_system() -> None:
    """Such as the id of a run: it is told where a report says what it assumes."""

    def run(self: Any) -> None:
        make_msgid()
        SYSTEMS["planfence"].run(self)

    system = type("Writes", (SYSTEMS["planfence"],), {"run": run})
    report = check(system, max_events=1, fresh_process=False)
    assert (report.verdict, "email.utils.make_msgid in test_again.py" in report.assumed[1]) == ("held", True)


def test_chance_that_is_seeded_in_setup_is_held(tmp_path: Path) -> None:
    seeds = "def setup(self, kit):\n    super().setup(kit)\n    random.seed(7)\n"
    assert told(fenced(tmp_path, "random.random()", after=seeds)) == ("held", "")


def test_an_adapter_may_say_that_it_is_harmless(tmp_path: Path) -> None:
    system = fenced(tmp_path, "random.random()", after="chance_is_harmless = True\n")
    assert told(system) == ("held", "")
    report = check(system, max_events=1)
    assert report.assumed[0] == "deterministic (checked, but it asks chance, which its adapter calls harmless)"
    with pytest.raises(BadInput, match="chance_is_harmless must be True or False, not 'yes'"):
        Runner(fenced(tmp_path, after="chance_is_harmless = 'yes'\n"))


def test_a_violation_is_one_all_the_same(tmp_path: Path) -> None:
    assert told(fenced(tmp_path, "random.random()", halts="pass"))[0] == "violated"


def test_check_adapter_tells_it(tmp_path: Path) -> None:
    (problem,) = problems(fenced(tmp_path, "random.random()"), fresh_process=False)
    assert (problem.code, problem.fix) == (
        "chance",
        "seed it in setup(), or say chance_is_harmless = True if it changes nothing that the system does",
    )


# -- run a second time -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"max_events": 2}, {"engine": "explore", "examples": 200}], ids=["exhaust", "explore"])
def test_what_comes_out_otherwise_only_after_an_event_is_told(tmp_path: Path, options: dict[str, Any]) -> None:
    """Each halt takes another number of points, which no run without events shows."""
    counts = f"kit.point(str(next(numbers)))\n    {HALTS}"
    with pytest.raises(Nondeterministic) as raised:
        check(fenced(tmp_path, halts=counts), fresh_process=False, **options)
    text = str(raised.value)
    assert text.startswith("Agent is not deterministic: an interleaving of the search came out otherwise when it was run again: entry ")
    assert "is Seam(agent='agent', label='" in text


def test_every_so_many_are_kept_and_never_too_many() -> None:
    again, history = Again(), History(None, [], {}, {})  # type: ignore[arg-type]
    for number in range(1, EVERY + 1):
        again.keep(None, (), (), history)  # type: ignore[arg-type]
        assert len(again._kept) == (number == EVERY)
    for _ in range(50 * MOST):
        again.keep(None, (), (), history)  # type: ignore[arg-type]
        assert len(again._kept) <= MOST
    assert len(again._kept) > MOST / 4
