"""`fencecheck check-adapter`."""

from __future__ import annotations

from pathlib import Path

from .made import FENCED, HEAD, NAIVE, fencecheck, sentence


def test_nothing_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "naive.py").write_text(NAIVE)
    result = fencecheck("check-adapter", tmp_path / "naive.py:Naive", "planfence")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "Naive: nothing is wrong with the adapter\nplanfence: nothing is wrong with the adapter\n"


def test_each_problem_comes_with_its_fix(tmp_path: Path) -> None:
    (tmp_path / "fenced.py").write_text(HEAD + FENCED + "\n    def replan(self, task):\n        pass\n")
    result = fencecheck("check-adapter", tmp_path / "fenced.py:Naive")
    assert result.exit_code == 1
    assert result.stdout == (
        "Naive: 2 problems in the adapter\n"
        "undeclared: run() validates, and never asks kit.declared(action), so that dropped declarations have no effect on what it validates\n"
        "  fix: validate the keys that kit.declared(action) returns, right before the act\n"
        "silent-hook: replan() derives no plan, so that nothing shows what it planned\n"
        "  fix: let replan() read and call kit.derive() as run() does, and put the plan where run() looks for it\n"
    )


def test_a_system_that_is_not_there() -> None:
    assert sentence("check-adapter", "planfense").startswith("there is no system 'planfense': did you mean planfence?")
