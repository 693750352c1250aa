"""Bad input: one sentence on standard error, exit status 2, never a traceback, and before any long run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .made import HEAD, NAIVE, RUN, fencecheck, sentence


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def module(name: str, text: str, attribute: str = "Naive") -> str:
    Path(f"{name}.py").write_text(text)
    return f"{name}.py:{attribute}"


def test_an_unknown_system() -> None:
    assert re.fullmatch(
        r"there is no system 'nothing': give package\.module:Class, path/to/file\.py:Class or a name that `fencecheck systems` lists",
        sentence("check", "nothing"),
    )


def test_no_system() -> None:
    assert sentence("check") == "Missing argument 'SYSTEM...'."


def test_an_unknown_module() -> None:
    assert (
        sentence("check", "no.such:Class")
        == "there is no module 'no.such' on the import path: check the name, or give path/to/file.py:Class"
    )


def test_an_unknown_file() -> None:
    assert sentence("check", "no/such.py:Class") == "there is no file 'no/such.py': check the path before the colon"


@pytest.mark.parametrize(
    ("name", "right"),
    [
        (":", "package.module:Class or path/to/file.py:Class"),
        (":Class", "package.module:Class or path/to/file.py:Class"),
        ("m0:", "m0:Class, with the class"),
        ("delivery.py:", "delivery.py:Class, with the class"),
    ],
)
def test_half_a_name(name: str, right: str) -> None:
    assert sentence("check", name) == f"{name!r} names no system: give {right}"


def test_a_function_that_makes_no_adapter() -> None:
    said = sentence("check", "json:loads")
    assert said.startswith("loads cannot be made without arguments: TypeError: loads() missing ")
    assert said.endswith(": give an adapter class, or a function that makes an adapter")


@pytest.mark.parametrize("name", [".m0", "/dev/null", "a b"])
def test_what_is_no_name_of_a_module(name: str) -> None:
    said = sentence("check", f"{name}:Class")
    assert said == f"{name!r} is no name of a module: give package.module:Class, or path/to/file.py:Class"


def test_a_file_without_its_class() -> None:
    module("m0", NAIVE)
    assert sentence("check", "m0.py") == "m0.py is a file, which defines Naive: name the class too, as m0.py:Class"


def test_an_unknown_class() -> None:
    assert sentence("check", module("m1", NAIVE, "Other")) == "m1.py has no Other: it defines Naive"


def test_a_module_that_fails_to_import_shows_its_own_error() -> None:
    assert sentence("check", module("m2", "x = 1\nraise ValueError('no key is set')\n")) == (
        "m2.py fails to import: ValueError: no key is set (line 2)"
    )
    assert sentence("check", module("m3", "import nothing_there\n")).startswith(
        "m3.py fails to import: ModuleNotFoundError: No module named 'nothing_there'"
    )
    assert sentence("check", module("m4", "def f(:\n")).startswith("m4.py fails to import: SyntaxError:")


def test_a_module_that_exits_does_not_decide_the_status() -> None:
    assert sentence("check", module("m5", "import sys\nsys.exit(0)\n")) == "m5.py fails to import: SystemExit: 0 (line 2)"


def test_a_run_that_exits_does_not_decide_the_status() -> None:
    result = fencecheck("check", module("m6", HEAD + "\n    def run(self):\n        raise SystemExit(0)\n"))
    assert result.exit_code == 2
    assert result.stderr == "fencecheck: the system under test called sys.exit(0): guard that with if __name__ == '__main__'\n"


def test_a_class_without_run() -> None:
    assert sentence("check", module("m7", HEAD)) == "Naive has no run(): define run(self), which carries out one episode"


def test_what_is_no_adapter() -> None:
    assert sentence("check", module("m8", "class Naive: pass\n")) == (
        "Naive is not an adapter: let it inherit from fencecheck.AgentSystem and define run()"
    )
    assert sentence("check", module("m9", "Naive = 3\n")) == "m9.py:Naive is a int, not an adapter class"


def test_a_coroutine_from_a_sync_runtime() -> None:
    assert sentence("check", module("m10", HEAD + "\n    async def run(self):\n        pass\n")) == (
        "Naive: run() returned a coroutine but its runtime is 'sync', so it would never run: set runtime = 'asyncio' or 'trio'"
    )


def test_an_action_on_an_unknown_key() -> None:
    said = sentence("check", module("m11", NAIVE.replace('depends_on=["order/1"]', 'depends_on=["order/2"]')))
    assert said == (
        "m11.py fails to import: BadInput: action 'ship' depends on the key 'order/2', which no owner holds (keys: order/1): "
        "did you mean 'order/1'? Else add it to owners (line 5)"
    )


def test_a_system_that_never_acts() -> None:
    assert sentence("check", module("m12", HEAD + "\n    def run(self):\n        pass\n")) == (
        "Naive never acts, even without any event: run() returned, so there is nothing to judge: "
        "call kit.act(...) where the system calls the outside"
    )


@pytest.mark.parametrize("hook", ["setup(self, kit)", "teardown(self)", "publish(self, key, value)", "restart(self)", "replan(self, task)"])
def test_a_hook_that_fails(hook: str) -> None:
    more = f"\n    def {hook}:\n        raise RuntimeError('the pool is closed')\n"
    if hook.startswith("publish"):
        more += "\n    def true_head(self, key):\n        return None\n"
    name = hook.partition("(")[0]
    said = sentence("check", module(f"hook_{name}", NAIVE + more))
    assert re.fullmatch(rf"Naive: {name}\(\) failed: RuntimeError: the pool is closed( \(hook_{name}\.py:\d+\))?", said)


@pytest.mark.parametrize("raised", ["BaseException('stop')", "GeneratorExit"])
def test_what_is_no_exception_of_the_tool_leaves_no_traceback(raised: str) -> None:
    assert sentence("check", module(f"m_{raised[0]}", f"raise {raised}\n")).startswith(f"m_{raised[0]}.py fails to import: {raised[:13]}")
    setup = f"\n    def setup(self, kit):\n        raise {raised}\n"
    assert sentence("check", module(f"n_{raised[0]}", NAIVE + setup)).startswith(f"unexpected {raised[:13]}")


@pytest.mark.parametrize("hook", ["open", "shutdown"])
def test_a_worker_that_breaks(hook: str) -> None:
    broken = f"\n    def {hook}(self):\n        raise KeyError('no pool')\n"
    said = sentence("check", module(f"w_{hook}", NAIVE + broken))
    assert re.fullmatch(rf"Naive: {hook}\(\) failed: KeyError: 'no pool' \(w_{hook}\.py:\d+\)", said)


def test_a_thread_that_works_on_does_not_hold_the_process() -> None:
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n"
    name = module("threaded", thread + NAIVE)
    command = [sys.executable, "-m", "fencecheck", "check", name, "--max-events", "0"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=30, check=False)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("Naive · inconclusive")


def test_a_sentence_has_an_end() -> None:
    assert len(sentence("check", module("m_long", "raise ValueError('x' * 100_000)\n"))) < 2_100


def test_a_system_that_is_not_deterministic() -> None:
    now_and_then = RUN.replace("self.kit.act(", "next(N) % 2 or self.kit.pause(); self.kit.act(")
    text = "import itertools\nN = itertools.count()\n" + HEAD + now_and_then
    assert re.match(r"Naive (is not deterministic|leaks state from one episode into the next): ", sentence("check", module("m13", text)))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--max-events", "-1"], "Invalid value for '--max-events': -1 is not in the range x>=0."),
        (["--max-events", "two"], "Invalid value for '--max-events': 'two' is not a valid integer range."),
        (["--examples", "0"], "Invalid value for '--examples': 0 is not in the range x>=1."),
        (["--level", "best"], "Invalid value for '--level': 'best' is not one of 'at-validation', 'at-one-instant', 'at-act'."),
        (["--keys", "1", "--declared", "2"], "--declared must be a whole number from 1 to 1, not 2"),
        (["--declared", "5"], "--declared must be a whole number from 1 to 4, not 5"),
        (["--keys", "0"], "--keys must be a whole number from 1 to 16, not 0"),
        (["--depth", "0"], "--depth must be a whole number from 1 to 64, not 0"),
    ],
)
def test_options_out_of_range(arguments: list[str], said: str) -> None:
    assert sentence("check", "planfence", *arguments) == said


def test_an_unknown_finding() -> None:
    assert sentence("check", "planfence", "--fail-on", "slow").startswith("there is no finding 'slow': --fail-on takes stale-act, ")


def test_an_unknown_option_and_an_unknown_command() -> None:
    assert sentence("check", "planfence", "--fast").startswith("No such option")
    assert sentence("chek").startswith("No such command 'chek'.")
    assert sentence("--fast").startswith("No such option")


def test_sizes_for_a_system_with_its_own_scenario() -> None:
    assert sentence("check", module("m14", NAIVE), "--keys", 3) == (
        "Naive brings its own scenario: keys, declared keys and depth cannot be chosen for it"
    )


def test_what_cannot_be_written_is_said_before_the_run() -> None:
    Path("file").touch()
    assert sentence("check", "planfence", "--save", "file/cases") == (
        "file/cases cannot be written (not a directory): name a directory that can be written"
    )
    assert sentence("check", "planfence", "--json", "no/such/out.json") == "no/such/out.json cannot be written (no such file or directory)"
    assert sentence("check", "planfence", "--json", ".") == ". cannot be written (is a directory): name a file"
    twice = sentence("check", "planfence", "--store", "it", "--json", "it")
    assert twice == "it is asked for twice, and would be written over: name a file for each"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user without every right")
def test_what_may_not_be_written() -> None:
    Path("closed").mkdir(mode=0o500)
    assert sentence("check", "planfence", "--save", "closed") == "closed cannot be written (permission denied)"


def test_a_bad_system_among_good_ones_stops_before_the_run() -> None:
    assert sentence("check", "planfence", "nothing").startswith("there is no system 'nothing'")
