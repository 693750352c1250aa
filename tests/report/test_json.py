"""The object that `--json` writes, and files that appear whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fencecheck import __version__
from fencecheck.errors import BadInput
from fencecheck.report.json import as_object, encoded, refuse_unwritable, refuse_unwritable_folder, write

from .made import FINDING, failure, report


def test_the_object() -> None:
    found = as_object([report(), report("violated", failures=[failure(case="cases/a.json")])])
    assert list(found) == ["fencecheck", "systems"]
    assert found["fencecheck"] == __version__
    held, violated = found["systems"]
    assert {name: held[name] for name in ("system", "verdict", "level", "engine", "episodes", "bound", "findings")} == {
        "system": "planfence",
        "verdict": "held",
        "level": "at-validation",
        "engine": "exhaust",
        "episodes": 2436,
        "bound": {"kind": "events", "value": 2},
        "findings": [],
    }
    assert held["counts"]["completed"] == 919
    assert held["events_fired"] == {"update": 977, "outage": 438}
    assert violated["findings"] == [{"code": "stale-act", "message": FINDING.message, "case": "cases/a.json", "smallest": True}]
    assert as_object([report("violated", failures=[failure()])])["systems"][0]["findings"][0]["case"] is None
    assert json.loads(encoded(found)) == found


def test_systems_that_could_not_be_checked_are_named() -> None:
    assert as_object([], {"a.py:A": "it never acts"})["errors"] == [{"system": "a.py:A", "message": "it never acts"}]


def test_a_file_is_replaced_whole_and_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write(path, "one")
    write(path, "two")
    assert path.read_text() == "two"
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("one")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", "two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "two"


def test_a_device_is_written_to_and_not_replaced() -> None:
    write(Path(os.devnull), "x")
    assert not Path(os.devnull).is_file()


def test_what_cannot_be_written_is_said_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"none/out\.json cannot be written \(no such file or directory\)$"):
        refuse_unwritable(tmp_path / "none" / "out.json")
    with pytest.raises(BadInput, match=r"cannot be written \(is a directory\): name a file$"):
        refuse_unwritable(tmp_path)
    with pytest.raises(BadInput, match=r"file/cases cannot be written \(not a directory\): name a directory that can be written$"):
        refuse_unwritable_folder(tmp_path / "file" / "cases")
    with pytest.raises(BadInput, match=r"file cannot be written \(file exists\): name a directory that can be written$"):
        refuse_unwritable_folder(tmp_path / "file")
    with pytest.raises(BadInput, match=r"cannot be written \(no such file or directory\)$"):
        write(tmp_path / "none" / "out.json", "x")
    with pytest.raises(BadInput, match=r"^- is no file, and standard output has the report in words: name a file$"):
        refuse_unwritable(Path("-"))
    refuse_unwritable(tmp_path / "new.json")
    refuse_unwritable_folder(tmp_path / "a" / "b")
    assert sorted(os.listdir(tmp_path)) == ["a", "file"]
