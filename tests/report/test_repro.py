"""The pytest file of a failure: it fails before the fix and passes after it, wherever the system came from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fencecheck import Scenario, Update
from fencecheck.codec import AnchoredEvent, Case, load_case
from fencecheck.report.repro import code, save
from fencecheck.run.loading import load
from fencecheck.search.check import check
from fencecheck.worlds import world

ROOT = Path(__file__).parents[2]
SYSTEM = """
from fencecheck import Action, AgentSystem, Scenario

class Naive(AgentSystem):
    scenario = Scenario(owners={{"orders": ["order/1"]}}, actions=[Action("ship", depends_on=["order/1"])])

    def run(self):
        order = self.kit.read("order/1", timeout=1)
        plan = self.kit.derive({{"to": order.value}}, parents=[order])
        {middle}
        self.kit.act("ship", plan.value, plan=plan)
"""
BROKEN, FIXED = (
    "pass",
    'if self.kit.head("order/1", timeout=1) != order.id: return self.kit.halted("changed")\n        self.kit.validated(["order/1"])',
)


def pytest_on(path: Path, where: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    return subprocess.run(command, cwd=where, capture_output=True, text=True, check=False, env=environment)


def saved(name: str, into: Path) -> Path:
    found = check(load(name), max_events=1, fresh_process=False)
    save(found, into, name)
    stale = next(failure for failure in found.failures if failure.code == "stale-act")
    assert stale.case is not None
    assert stale.test is not None
    assert Path(stale.case).is_file()
    return Path(stale.test)


@pytest.mark.parametrize("name", ["naive.py:Naive", "shop.naive:Naive"])
def test_it_fails_before_the_fix_and_passes_after_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    file = tmp_path / ("naive.py" if name.startswith("naive") else "shop/naive.py")
    file.write_text(SYSTEM.format(middle=BROKEN))
    test = saved(name, Path("cases"))
    for module in ("naive", "shop", "shop.naive"):
        sys.modules.pop(module, None)

    before = pytest_on(test, tmp_path)
    assert before.returncode == 1, before.stdout + before.stderr
    assert "ship went out made from order/1 r1 while r2 was current." in before.stdout
    assert "right would be: replan once from the current version and validate again, or halt." in before.stdout
    assert "Traceback" not in before.stdout

    file.write_text(SYSTEM.format(middle=FIXED))
    after = pytest_on(test.resolve(), tmp_path / "cases")
    assert after.returncode == 0, after.stdout + after.stderr

    file.write_text(
        SYSTEM.format(middle=BROKEN).replace('self.kit.act("ship"', 'self.kit.act("send"').replace('Action("ship"', 'Action("send"')
    )
    stale = pytest_on(test, tmp_path)
    assert stale.returncode == 1
    assert "stale case: Naive no longer has 'act ship #1', before which an event of the case lands: save the case anew" in stale.stdout


def test_of_a_built_in_system(tmp_path: Path) -> None:
    test = saved("fresh-read", tmp_path)
    done = pytest_on(test, tmp_path)
    assert done.returncode == 1
    assert "deliver went out made from order/42/requirement r1 while r2 was current." in done.stdout


def test_a_system_that_is_gone_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gone.py").write_text(SYSTEM.format(middle=BROKEN))
    test = saved("gone.py:Naive", Path("cases"))
    Path("gone.py").unlink()
    done = pytest_on(test, tmp_path)
    assert done.returncode == 1
    assert "fencecheck: there is no file" in done.stdout
    assert "Traceback" not in done.stdout


def test_the_source_rebuilds_the_case(tmp_path: Path) -> None:
    found = check(load("fresh-read"), max_events=1, fresh_process=False)
    save(found, tmp_path, "fresh-read")
    case, test = found.failures[0].case, found.failures[0].test
    assert case is not None
    assert test is not None
    scope: dict[str, object] = {"__file__": test}
    exec(compile(Path(test).read_text(), test, "exec"), scope)
    assert scope["CASE"] == load_case(case)
    assert scope["SYSTEM"] == "fresh-read"
    assert all(len(line) <= 140 for line in Path(test).read_text().splitlines())


def test_a_file_below_the_working_directory_is_stored_by_its_path_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here.py").write_text(SYSTEM.format(middle=BROKEN))
    test = saved(f"{tmp_path}/here.py:Naive", Path("cases"))
    assert str(tmp_path) not in test.read_text()
    assert load_case(next(Path("cases").glob("*.json"))).system == "here.py:Naive"


@pytest.mark.parametrize(
    "value",
    [
        (),
        ("one",),
        {"a": ["x" * 60, "y" * 60, 'quote " and \\ backslash and \n newline']},
        world(keys=4, declared=2),
        Case("0", "s", None, (), (AnchoredEvent("read k", 1, Update("k", "removed")),) * 3, "at-act", "raced-act", None, "m" * 100),
    ],
)
def test_code_evaluates_to_what_it_was_made_from(value: object) -> None:
    from fencecheck import Action

    names = {"Action": Action, "AnchoredEvent": AnchoredEvent, "Case": Case, "Scenario": Scenario, "Update": Update}
    assert eval(code(value), names) == value
