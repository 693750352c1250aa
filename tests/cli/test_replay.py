"""`fencecheck replay`: still fails, no longer fails, stale case."""

from __future__ import annotations

import itertools
import json
import os
import sys
from pathlib import Path

import pytest

from .made import FENCED, HEAD, NAIVE, RUN, fencecheck, sentence

NUMBERS = itertools.count()


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("naive.py").write_text(NAIVE)
    fencecheck("check", "naive.py:Naive", "--max-events", 1, "--save", "cases")
    return next(path for path in Path("cases").glob("*.json") if json.loads(path.read_text())["code"] == "stale-act")


def variant(name: str, text: str) -> str:
    Path(f"{name}.py").write_text(text)
    return f"{name}.py:Naive"


def test_it_still_fails(case: Path) -> None:
    result = fencecheck("replay", case)
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "Naive · still fails · stale-act\n  stale-act: ship went out made from order/1 r1 while r2 was current.\n"
    )
    assert "before point 2, act ship: orders commits order/1 r2" in result.stdout


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ("true", "interleaving, the smallest when it was saved: 1 event"),
        ("false", "interleaving, of which nothing could be left out when it was saved: 1 event"),
        ("null", "interleaving: 1 event"),
    ],
)
def test_it_says_of_the_size_what_the_case_says(case: Path, stored: str, said: str) -> None:
    case.write_text(case.read_text().replace('"smallest": true', f'"smallest": {stored}'))
    assert f"\n  {said}\n" in fencecheck("replay", case).stdout


def test_it_no_longer_fails(case: Path) -> None:
    result = fencecheck("replay", case, "--system", variant("fenced", HEAD + FENCED))
    assert result.exit_code == 0
    assert result.stdout == "Naive · no longer fails: Naive does not show stale-act in this interleaving any more\n"


def test_an_unrelated_port_call_changes_nothing(case: Path) -> None:
    more = RUN.replace("        order =", '        self.kit.point("metrics")\n        self.kit.pause("queue")\n        order =')
    result = fencecheck("replay", case, "--system", variant("more", HEAD + more))
    assert result.exit_code == 1
    assert "before point 4, act ship: orders commits order/1 r2" in result.stdout


@pytest.mark.parametrize("start", [".", "agents", "elsewhere/deep"])
@pytest.mark.parametrize("save", ["cases", "tests/cases"])
@pytest.mark.parametrize("system", ["agents/naive_{}.py:Naive", "pack_{}.naive:Naive"])
def test_it_replays_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str, save: str, system: str) -> None:
    """Saved from one folder of a repository, replayed from another one; nothing of where the repository stands is stored."""
    number = next(NUMBERS)
    for folder in ("agents", f"pack_{number}", "elsewhere/deep"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / f"pack_{number}" / "__init__.py").touch()
    for file in (f"agents/naive_{number}.py", f"pack_{number}/naive.py"):
        (tmp_path / file).write_text(NAIVE)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.chdir(tmp_path / start)
    named = system.format(number)
    from_here = os.path.relpath(tmp_path, Path.cwd())
    if named.startswith("pack"):
        monkeypatch.chdir(tmp_path)  # where a module can be imported from
        from_here = "."
    fencecheck("check", named if named.startswith("pack") else f"{from_here}/{named}", "--max-events", 1, "--save", f"{from_here}/{save}")
    (found,) = (path for path in (tmp_path / save).glob("*.json") if json.loads(path.read_text())["code"] == "stale-act")
    assert json.loads(found.read_text())["system"] == named
    for name in [name for name in sys.modules if name.startswith(f"pack_{number}")]:
        del sys.modules[name]
    monkeypatch.setattr("sys.path", [path for path in sys.path if not path.startswith(str(tmp_path))])
    for folder in (".", "elsewhere/deep", save):
        monkeypatch.chdir(tmp_path / folder)
        assert fencecheck("replay", os.path.relpath(found)).exit_code == 1
    monkeypatch.chdir("/")
    assert fencecheck("replay", found).exit_code == 1


def test_a_file_of_the_same_name_here_is_not_the_one_that_is_meant(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "naive.py").write_text("raise ValueError('not this one')")
    monkeypatch.chdir(tmp_path / "other")
    assert fencecheck("replay", Path("..") / case).exit_code == 1


def test_the_seed_of_a_drawn_case_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("naive.py").write_text(NAIVE)
    for engine, seed in (("explore", 7), ("exhaust", None)):
        options = () if seed is None else ("--seed", seed)
        fencecheck("check", "naive.py:Naive", "--engine", engine, *options, "--save", engine)
        assert {json.loads(path.read_text())["seed"] for path in Path(engine).glob("*.json")} == {seed}


def test_a_stale_case(case: Path) -> None:
    text = NAIVE.replace('"ship"', '"send"')
    result = fencecheck("replay", case, "--system", variant("renamed", text))
    assert result.exit_code == 3
    assert "stale case: Naive no longer has 'act ship #1', before which an event of the case lands: save the case anew" in " ".join(
        result.stdout.split()
    )


def test_a_case_that_was_cut_off(case: Path) -> None:
    case.write_text(case.read_text()[:100])
    assert sentence("replay", case) == f"{case}: ends in the middle: it was cut off, so write or copy it again"


def test_a_case_of_a_newer_version(case: Path) -> None:
    case.write_text(case.read_text().replace('"fencecheck_case": 2', '"fencecheck_case": 3'))
    assert sentence("replay", case) == f"{case}: written by a newer fencecheck (format 3, this one reads up to 2): upgrade fencecheck"


def test_a_case_of_another_system(case: Path) -> None:
    assert sentence("replay", case, "--system", "planfence") == (
        "the case is of the system 'naive.py:Naive', whose scenario does not fit planfence: name the right system"
    )


def test_no_case() -> None:
    assert sentence("replay", "none.json") == "none.json: there is no such file: name a case file that fencecheck wrote"


def test_a_file_that_is_no_case(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]")
    assert sentence("replay", tmp_path / "x.json").startswith(f"{tmp_path / 'x.json'}: not a fencecheck case")


def test_the_system_is_gone(case: Path) -> None:
    Path("naive.py").unlink()
    assert sentence("replay", case) == "there is no file 'naive.py': check the path before the colon"


def test_a_finding_that_does_not_exist_is_not_one_that_has_gone(case: Path) -> None:
    case.write_text(case.read_text().replace('"code": "stale-act"', '"code": "stale-acts"'))
    assert sentence("replay", case).startswith("the case is of the finding 'stale-acts', which there is not: use stale-act, ")


@pytest.mark.parametrize("dropped", [["send", "order/1"], ["ship", "order/2"]])
def test_a_dropped_declaration_that_the_system_no_longer_has(case: Path, dropped: list[str]) -> None:
    case.write_text(json.dumps({**json.loads(case.read_text()), "dropped": [dropped]}))
    result = fencecheck("replay", case, "--system", variant("fenced", HEAD + FENCED))
    assert result.exit_code == 3
    assert (
        f"stale case: Naive no longer has the declared key {dropped[1]!r} of {dropped[0]!r}, which the case names: save the case anew"
        in " ".join(result.stdout.split())
    )
