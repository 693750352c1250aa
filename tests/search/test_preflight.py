"""Before any search: does it act, and does one interleaving give one history, here and in a fresh process?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fencecheck.errors import CouldNotRun, Nondeterministic
from fencecheck.mutants import ALL as MUTANTS
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.simulate import Runner
from fencecheck.search.preflight import preflight
from fencecheck.systems import ALL
from fencecheck.worlds import world

from .files import agent

ROOT = Path(__file__).parent.parent.parent
FRESH = ["deterministic (checked, in a fresh process too)"]
HERE = ["deterministic (checked in this process)"]
ACT = """
order = kit.read("x", timeout=1)
kit.act("ship", {"to": order.value}, basis={"x": order.id})
"""


def checked(system: object, *, fresh_process: bool = True) -> list[str]:
    with Runner(system) as runner:  # type: ignore[arg-type]
        return preflight(runner, fresh_process=fresh_process)


def said(system: object, kind: type[CouldNotRun] = CouldNotRun, *, fresh_process: bool = True) -> str:
    with pytest.raises(CouldNotRun) as caught:
        checked(system, fresh_process=fresh_process)
    assert type(caught.value) is kind
    return str(caught.value)


# -- nothing wrong -----------------------------------------------------------------------------------------------------------------


def test_what_was_checked(tmp_path: Path) -> None:
    system = agent(tmp_path, ACT)
    assert checked(system) == FRESH
    assert checked(system, fresh_process=False) == HERE


def test_a_system_that_a_fresh_process_cannot_load_is_checked_here() -> None:
    class Local(ALL["planfence"]):  # type: ignore[misc,name-defined]
        pass

    assert checked(Local) == ["deterministic (checked in this process only)"]


@pytest.mark.parametrize("name", [*ALL, *MUTANTS])
def test_what_is_built_in_is_deterministic(name: str) -> None:
    assert checked((ALL | MUTANTS)[name], fresh_process=False) == HERE


def test_a_generated_scenario_goes_to_the_fresh_process_too() -> None:
    with Runner(ALL["planfence"], world(keys=3, depth=3, family="booking", seed=5)) as runner:
        assert preflight(runner) == FRESH


def test_times_and_random_ids_in_arguments_are_no_difference(tmp_path: Path) -> None:
    run = """
    order = kit.read("x", timeout=1)
    args = {"to": order.value, "sent": time.time_ns(), "id": str(uuid.uuid4())}
    kit.act("ship", args, basis={"x": order.id}, idempotency_key=args["id"])
    kit.halted(args["id"])
    """
    assert checked(agent(tmp_path, run, "import time, uuid")) == FRESH


def test_state_in_setup_is_no_leak(tmp_path: Path) -> None:
    after = """
    def setup(self, kit):
        super().setup(kit)
        self.seen = []
    """
    run = 'self.seen.append(1)\nfor _ in self.seen:\n    kit.point("seen")\n' + ACT
    assert checked(agent(tmp_path, run, after=after)) == FRESH


# -- it never acts -----------------------------------------------------------------------------------------------------------------

NEVER = "Agent never acts, even without any event: {}, so there is nothing to judge: call kit.act(...) where the system calls the outside"


@pytest.mark.parametrize(
    ("run", "how"),
    [
        ("pass", "run() returned"),
        ('kit.halted("no budget")', "it halted (no budget)"),
        ('raise Halt("no budget")', "it halted (Halt: no budget)"),
        (
            "while True: kit.point()",
            "it was stuck (waits for nothing: 2000 points, the most that an episode may have (max_points))",
        ),
    ],
)
def test_a_system_that_never_acts(tmp_path: Path, run: str, how: str) -> None:
    assert said(agent(tmp_path, run)) == NEVER.format(how)


@pytest.mark.parametrize(
    ("run", "detail"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("kit.read([])", "TypeError: unhashable type: 'list'"),
        ("import json; json.loads('')", "json.decoder.JSONDecodeError"),
        ("raise StopIteration", "StopIteration"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise BaseException('of their own')", "BaseException: of their own"),
        ("raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})", r"Odd (whose text cannot be made)"),
    ],
)
def test_a_system_that_crashes_before_it_acts(tmp_path: Path, run: str, detail: str) -> None:
    """The place is that of the system's own line, also where a library or a port raised."""
    system = agent(tmp_path, run)
    before, _, right = said(system).partition(", so there is nothing to judge: ")
    assert right == "correct that first, in the system or in its adapter"
    assert before.startswith(f"Agent crashes before it acts, even without any event: {detail.split('.')[-1]}")
    assert re.search(rf"\({system.__module__}\.py:18\)$", before)


def test_a_setup_that_does_not_keep_the_kit(tmp_path: Path) -> None:
    after = """
    def setup(self, kit):
        self.seen = []
    """
    assert said(agent(tmp_path, ACT, after=after)).endswith("so there is nothing to judge: call super().setup(kit) in setup()")


def test_a_system_that_changes_its_scenario(tmp_path: Path) -> None:
    sentence = "Agent changes its scenario while it runs, which all episodes share: change a copy of it"
    assert said(agent(tmp_path, "kit.scenario.values.clear()\n" + ACT)) == sentence


def test_a_system_whose_act_never_has_an_effect(tmp_path: Path) -> None:
    said_so = said(agent(tmp_path, 'kit.act("ship", expect={"x": kit.derive("another").id})'))
    assert said_so == (
        "Agent never acts, even without any event: it halted (PreconditionFailed: ship: x is not as expected), so there is nothing to judge: "
        "its act had no effect"
    )


# -- a leak, or chance -------------------------------------------------------------------------------------------------------------


def test_state_of_the_class_is_a_leak(tmp_path: Path) -> None:
    run = 'if self.seen:\n    kit.pause("seen before")\nself.seen.append(1)\n' + ACT
    assert said(agent(tmp_path, run, after="seen = []\n")) == (
        "Agent leaks state from one episode into the next: entry 0 is Read(agent='agent', key='x', version='x@1') in one and "
        "Pause(agent='agent', label='seen before') in the other: build all state in setup(), none at class or module level"
    )


def test_a_cache_of_the_module_is_a_leak(tmp_path: Path) -> None:
    run = """
    if "order" not in CACHE:
        CACHE["order"] = kit.read("x", timeout=1)
    kit.act("ship", {"to": CACHE["order"].value})
    """
    assert said(agent(tmp_path, run, "CACHE = {}")).startswith(
        "Agent leaks state from one episode into the next: entry 0 is Read(agent='agent', key='x', version='x@1') in one and Act("
    )


def test_a_leak_that_only_an_update_brings_is_found(tmp_path: Path) -> None:
    run = """
    order = kit.read("x", timeout=1)
    SEEN.add(order.value)
    for _ in SEEN:
        kit.point("seen")
    kit.act("ship", {"to": order.value})
    """
    assert said(agent(tmp_path, run, "SEEN = set()")).startswith("Agent leaks state from one episode into the next: entry 2 is Act(")


def test_what_cannot_be_told_apart_is_called_nondeterminism() -> None:
    class Local(AgentSystem):
        """No other process can load it."""

        scenario = ALL["planfence"].scenario
        seen: list[int] = []

        def run(self) -> None:
            for _ in self.seen:
                self.kit.point("seen")
            self.seen.append(1)
            self.kit.act("deliver")

    assert said(Local, Nondeterministic).startswith(
        "test_what_cannot_be_told_apart_is_called_nondeterminism.<locals>.Local is not deterministic: two runs of one interleaving differ: "
        "entry 0 is Act("
    )


def test_chance_is_nondeterminism(tmp_path: Path) -> None:
    run = "kit.pause(str(random.random()))\n" + ACT
    message = said(agent(tmp_path, run, "import random"), Nondeterministic)
    assert message.startswith("Agent is not deterministic: two runs of one interleaving differ: entry 0 is Pause(agent='agent', label='0.")
    assert " in one and Pause(agent='agent', label='0." in message
    assert re.search(r"'\) in the other; past its ports it asks random\.random in \w+\.py:\d+$", message)


def hash_order() -> str:
    """Names whose order in a set is another one with the hash seed that the fresh process gets."""
    fresh = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    for number in range(50):
        names = [f"{number}.{i}" for i in range(12)]
        code = f"print(list(set({names!r})))"
        environment = {**os.environ, "PYTHONHASHSEED": fresh}
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True).stdout.strip()
        if other != str(list(set(names))):
            return repr(names)
    raise AssertionError("no such names")


def test_the_order_of_a_set_is_nondeterminism_that_only_a_fresh_process_shows(tmp_path: Path) -> None:
    run = f"for name in set({hash_order()}):\n    kit.point(name)\n" + ACT
    system = agent(tmp_path, run)
    assert checked(system, fresh_process=False) == HERE
    message = said(system, Nondeterministic)
    assert message.startswith("Agent is not deterministic: a fresh process does otherwise: entry ")
    assert " is Seam(agent='agent', label='" in message


# -- the fresh process -------------------------------------------------------------------------------------------------------------


def test_a_system_that_breaks_in_a_fresh_process(tmp_path: Path) -> None:
    before = f"import os\nif os.getpid() != {os.getpid()}:\n    raise OSError('one licence, one process')"
    assert said(agent(tmp_path, ACT, before)) == (
        f"Agent runs here but not in a fresh process: {next(tmp_path.glob('*.py')).name} fails to import: "
        "OSError: one licence, one process (line 3)"
    )


def test_a_fresh_process_that_dies(tmp_path: Path) -> None:
    before = f"import os\nif os.getpid() != {os.getpid()}:\n    os._exit(3)"
    assert said(agent(tmp_path, ACT, before)) == "Agent runs here but not in a fresh process: no message"


def test_what_the_system_prints_there_is_not_in_the_way(tmp_path: Path) -> None:
    assert checked(agent(tmp_path, 'print("hello", file=sys.stderr)\nprint("hello")\n' + ACT, "import sys")) == FRESH


def test_values_that_json_cannot_hold_are_no_difference(tmp_path: Path) -> None:
    run = ACT + "kit.derive({1, 2}, [order])\nkit.derive((1, 2), [order])\nkit.derive(kit.scenario, [order])\n"
    assert checked(agent(tmp_path, run)) == FRESH


def test_chance_that_came_out_alike_is_not_called_checked(tmp_path: Path) -> None:
    first, *_ = checked(agent(tmp_path, "random.random()\n" + ACT, "import random"))
    assert first == "deterministic (alike in the few runs that were compared, but it asks chance)"


def test_what_asks_chance_is_not_called_a_leak(tmp_path: Path) -> None:
    """Two runs here differ and a fresh process is like the first, as they also are where a coin falls so."""
    run = "random.random()\nif self.seen:\n    kit.pause('seen before')\nself.seen.append(1)\n" + ACT
    message = said(agent(tmp_path, run, "import random", after="seen = []\n"), Nondeterministic)
    assert "Agent is not deterministic: " in message
    assert "leaks state" not in message
