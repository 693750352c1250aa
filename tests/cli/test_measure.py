"""`measure` and `compare`: what they print, write and exit with."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.measure import slow_systems

from .made import fencecheck, sentence

SYSTEMS = slow_systems.__file__


def test_compare_prints_the_table_of_the_paper() -> None:
    result = fencecheck("compare", "fresh-read", "central", "planfence")
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0][:5] == ["compare", "·", "fresh-read,", "central,", "planfence"]
    assert lines[2][:4] == ["fresh-read", "0/30", "30/30", "0/30"]
    assert lines[3] == ["at", "most", "9.5%", "at", "least", "90.5%", "at", "most", "9.5%"]
    assert lines[4][:4] == ["central", "30/30", "0/30", "30/30"]
    assert lines[6][:4] == ["planfence", "30/30", "0/30", "30/30"]


def test_omission_prints_the_closed_form_beside() -> None:
    result = fencecheck("measure", "omission", "planfence", "--p", "0,0.5,1", "--episodes", "200", "--seed", "1")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines() if "/200" in line]
    assert [(row[0], row[-1]) for row in rows] == [("0", "0.0%"), ("0.5", "37.5%"), ("1", "75.0%")]
    assert "is dropped with probability p" in " ".join(result.stdout.split())
    assert "closed form 3p/4" in result.stdout
    assert "seed 1;" in result.stdout


def test_files_hold_it_all(tmp_path: Path) -> None:
    names = {name: tmp_path / f"it.{name}" for name in ("json", "csv", "png", "svg", "store")}
    options = ["--json", names["json"], "--csv", names["csv"], "--plot", names["png"], "--store", names["store"]]
    assert fencecheck("measure", "depth", "direct-parents", "--depths", "1,2", "--episodes", "40", *options).exit_code == 0
    cells = json.loads(names["json"].read_text())["cells"]
    assert [(cell["depth"], cell["rates"]["stale"]["count"], cell["episodes"]) for cell in cells] == [(1, 0, 40), (2, 40, 40)]
    assert cells[0]["rates"]["stale"]["high"] == pytest.approx(1 - 0.05 ** (1 / 40))
    table = list(csv.DictReader(names["csv"].read_text().splitlines()))
    assert [(row["depth"], row["stale"], row["episodes"]) for row in table] == [("1", "0", "40"), ("2", "40", "40")]
    assert float(table[0]["stale_high"]) == pytest.approx(1 - 0.05 ** (1 / 40), abs=1e-6)
    assert names["png"].read_bytes().startswith(b"\x89PNG")
    assert (
        "40/40" in fencecheck("measure", "depth", "direct-parents", "--depths", "1,2", "--episodes", "40", "--store", names["store"]).stdout
    )


def test_width_counts_how_often_owners_are_asked() -> None:
    result = fencecheck("measure", "width", "planfence", "--keys", "3", "--episodes", "50")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines() if "/50" in line] == ["1", "2", "3"]
    assert "owners" in result.stdout


def test_what_the_harness_failed_at_is_told() -> None:
    result = fencecheck("compare", f"{SYSTEMS}:HarnessFails", "--tries", "1")
    assert result.exit_code == 2
    assert "could not be run, and in no count: harness-fails: setup() failed: ConnectionError" in " ".join(result.stdout.split())


def test_all_numbers_are_those_of_episodes_that_were_run() -> None:
    result = fencecheck("measure", "omission", f"{SYSTEMS}:OwnWorld", "--always", "0", "--p", "1", "--episodes", "30")
    assert result.exit_code == 0
    assert "30/30" in result.stdout
    assert "at least 90.5%" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["measure", "omission", "planfense"], "there is no system 'planfense': did you mean planfence?"),
        (["measure", "omission", "planfence", "--p", "0,x"], "'0,x' is no list of numbers, such as 0,0.5,1"),
        (["measure", "omission", "planfence", "--p", "2"], "p lies between 0 and 1, and is not 2.0"),
        (["measure", "omission", "planfence", "--p", "nan"], "p lies between 0 and 1, and is not nan"),
        (
            ["measure", "omission", "planfence", "--always", "order/42/windw"],
            "always: no owner holds the key 'order/42/windw': did you mean",
        ),
        (["measure", "depth", "planfence", "--depths", "1.5"], "'1.5' is no list of whole numbers, such as 1,2,4"),
        (["measure", "depth", "planfence", "--depths", "65"], "a depth lies between 1 and 64, and is not 65"),
        (["measure", "width", "planfence", "--keys", "17"], "keys must be a whole number from 1 to 16, not 17"),
        (["measure", "width", "planfence", "--keys", "4", "--widths", "5"], "a width lies between 1 and 4, and is not 5"),
        (["compare", "planfence", "--confidence", "95"], "a confidence lies between 0 and 1, such as 0.95, not 95.0"),
        (["compare", "planfence", "--plot", "it.pdf"], "it.pdf is no plot: name a file that ends in .png or .svg"),
        (["compare", "planfence", "--json", "no/such/it.json"], "no/such/it.json cannot be written"),
        (["compare", "planfence", "--csv", "-"], "- is no file, and standard output has the report in words: name a file"),
        (
            ["compare", "planfence", "--store", "it", "--csv", "./it"],
            "it is asked for twice, and would be written over: name a file for each",
        ),
        (["compare", "planfence", "--store", "no/such/it"], "no/such/it cannot be opened"),
        (["compare", "planfence", "planfence"], "planfence is asked for twice: once is enough"),
        (["compare", f"{SYSTEMS}:NeverActs"], "never-acts never acts, even without any event: it halted"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], said: str) -> None:
    assert said in sentence(*arguments)
