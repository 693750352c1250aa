"""Plots: every interval that the table has, in a file that appears whole and is the same each time."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from fencecheck.errors import BadInput
from fencecheck.measure import Options, compare, depth, omission
from fencecheck.report.plots import look, write_plot
from tests.measure.slow_systems import OwnWorld


class SetupFails(OwnWorld):
    """Its database is never up."""

    def setup(self, kit):  # type: ignore[no-untyped-def]
        raise ConnectionError("the database is not up")


SVG = "{http://www.w3.org/2000/svg}"


def texts(path: Path) -> str:
    """What an SVG says: matplotlib draws letters as shapes, and keeps the text as a comment."""
    import re

    return " ".join(re.findall(r"<!-- (.*?) -->", path.read_text("utf-8")))


@pytest.fixture(scope="module")
def curve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plots") / "curve.svg"
    write_plot(omission("planfence", grid=[0, 0.5, 1], options=Options(episodes=30)), path)
    return path


def test_axes_have_units_and_the_title_says_what_it_is_of(curve: Path) -> None:
    said = texts(curve)
    assert "probability p with which an optional declaration is dropped" in said
    assert "episodes with unsafe acts (%)" in said
    assert "omission: 30 independent episodes each, exact 95% intervals, seed 0" in said
    assert "closed form" in said


def test_each_point_has_its_interval(curve: Path) -> None:
    groups = [group.get("id", "") for group in ElementTree.parse(curve).iter(f"{SVG}g")]
    assert any(name.startswith("LineCollection") for name in groups), "the bars of the intervals"


def test_the_same_result_gives_the_same_file(tmp_path: Path, curve: Path) -> None:
    write_plot(omission("planfence", grid=[0, 0.5, 1], options=Options(episodes=30)), tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").read_bytes() == curve.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["curve.svg"]


def test_what_is_compared_stands_side_by_side(tmp_path: Path) -> None:
    write_plot(compare(["fresh-read", "planfence"], options=Options(episodes=3)), tmp_path / "it.svg")
    said = texts(tmp_path / "it.svg")
    assert "fresh-read" in said
    assert "planfence" in said
    assert "recovered by" in said


def test_no_system_looks_like_another() -> None:
    assert len({look(number) for number in range(49)}) == 49


def test_a_depth_has_its_own_tick_and_a_system_its_name_also_where_it_is_the_only_one(tmp_path: Path) -> None:
    write_plot(depth(["planfence"], depths=[1, 2, 64], options=Options(episodes=3)), tmp_path / "it.svg")
    said = texts(tmp_path / "it.svg").split()
    assert {"1", "2", "64", "planfence"} <= set(said)


def test_what_could_not_be_run_leaves_a_gap(tmp_path: Path) -> None:
    result = omission(SetupFails, grid=[0, 1], options=Options(episodes=2, tries=1))
    assert result.not_run == 4
    write_plot(result, tmp_path / "it.svg")
    assert "SetupFails" in texts(tmp_path / "it.svg")


def test_no_file_is_left_where_it_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be written"):
        write_plot(compare(["planfence"], options=Options(episodes=3)), tmp_path / "no" / "it.svg")
