"""`dependencies`: what it prints, writes and exits with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .made import HEAD, fencecheck, sentence

HIDDEN = HEAD.replace('["order/1"]}', '["order/1", "order/1/paid"]}') + (
    """
    def run(self):
        order = self.order()
        paid = self.kit.read("order/1/paid").value
        plan = self.kit.derive({"to": order.value, "note": f"paid: {paid}", "by": "van"}, parents=[order])
        self.kit.act("ship", plan.value, plan=plan)
"""
)


@pytest.fixture
def hidden(tmp_path: Path) -> str:
    path = tmp_path / "hidden.py"
    path.write_text(HIDDEN)
    return f"{path}:Naive"


def test_a_hidden_one_is_told_with_both_runs(hidden: str) -> None:
    result = fencecheck("dependencies", hidden)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "Naive · 1 real dependency is not declared",
        "  ship depends on order/1, order/1/paid",
        "  add to depends_on of ship: order/1/paid; until then no check sees it stale, and no fence can",
        "",
        "  not declared: order/1/paid",
        '    one run: order/1/paid = "order/1/paid version 1"',
        '      ship(note="paid: order/1/paid version 1", ...)',
        '    the other: order/1/paid = "order/1/paid version 2"',
        '      ship(note="paid: order/1/paid version 2", ...)',
        '    both found order/1 = "order/1 version 1"',
        "  3 episodes, up to 3 other values of each of 2 keys from the beginning, up to 2 keys at once: nothing else was found",
        "  what is found is real: each run that shows it came out the same twice",
        "  what made no difference made none in these values; what the system asks past its ports was not changed",
    ]


def test_json_has_both_runs_whole(hidden: str, tmp_path: Path) -> None:
    assert fencecheck("dependencies", hidden, "--json", tmp_path / "it.json").exit_code == 1
    found = json.loads((tmp_path / "it.json").read_text())
    (action,) = found["actions"]
    assert (action["declared"], action["undeclared"], action["unused"]) == (["order/1"], ["order/1/paid"], [])
    paid = action["found"][1]
    assert paid["key"] == "order/1/paid"
    assert paid["before"]["sent"] == [{"to": "order/1 version 1", "note": "paid: order/1/paid version 1", "by": "van"}]
    assert paid["after"]["looked_at"]["order/1/paid"] == "order/1/paid version 2"


def test_a_key_that_is_gone_is_tried_on_request(tmp_path: Path) -> None:
    path = tmp_path / "gone.py"
    path.write_text(HIDDEN.replace('f"paid: {paid}"', "paid is None"))
    assert fencecheck("dependencies", f"{path}:Naive").exit_code == 0
    result = fencecheck("dependencies", f"{path}:Naive", "--removed")
    assert result.exit_code == 1
    assert "    the other: order/1/paid is removed\n      ship(note=True, ...)\n" in result.stdout


def test_all_declared() -> None:
    result = fencecheck("dependencies", "planfence", "--keys", "3", "--declared", "3")
    assert result.exit_code == 0
    assert result.stdout.startswith("planfence · every dependency that was found is declared\n")


def test_a_budget_that_is_too_small_is_inconclusive() -> None:
    result = fencecheck("dependencies", "planfence", "--episodes", "5")
    assert result.exit_code == 3
    assert "inconclusive: more episodes to run than allowed" in result.stdout
    assert "allow more with --episodes" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["planfense"], "did you mean planfence?"),
        (["planfence", "--together", "4"], "4 is not in the range 1<=x<=3"),
        (["planfence", "--json", "no/such/file"], "no/such/file cannot be written"),
        (["file-naive", "--keys", "3"], "brings its own scenario"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], said: str) -> None:
    assert said in sentence("dependencies", *arguments)
