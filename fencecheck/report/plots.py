"""Results of campaigns as plots, PNG or SVG: intervals shown, axes with units, colours that the colour-blind can tell apart.

matplotlib is imported where a plot is drawn. The same result gives the same file.
"""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any

from fencecheck.errors import BadInput
from fencecheck.measure.result import CellResult, Result
from fencecheck.report.measured import HEADS, columns_of

FORMATS = (".png", ".svg")
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""After Okabe and Ito, "Color universal design" (2008); what is told apart by colour is told apart by its mark too."""
_MARKS = ("o", "s", "^", "D", "v", "P", "X")
_AXES = {
    "p": "probability p with which an optional declaration is dropped",
    "depth": "generations between a plan and its facts",
    "width": "keys that an act depends on",
}
_BESIDE = 0.06
"""How far curves stand beside one another, so that equal rates do not hide each other: in steps of the axis, which doubles with each for a depth."""
_RATES = {"omission": "unsafe", "depth": "stale", "width": "recovered"}


def refuse_format(path: Path) -> None:
    """Says before a long run that no plot could be written after it.

    Raises:
        BadInput: the name says no format that there is, or matplotlib is not there.
    """
    if path.suffix.lower() not in FORMATS:
        raise BadInput(f"{path} is no plot: name a file that ends in {' or '.join(FORMATS)}")
    _matplotlib()


def write_plot(result: Result, path: Path) -> None:
    """Draws the rates of a result with their intervals into a file, which appears whole or not at all.

    Raises:
        BadInput: there is no such format, matplotlib is not there, or the file cannot be written.
    """
    refuse_format(path)
    figure = _matplotlib().figure.Figure(figsize=(7.5, 4.8), layout="constrained", dpi=150)
    axes = figure.add_subplot()
    if result.axis:
        _curves(axes, result)
    else:
        _bars(axes, result)
    axes.set_ylim(-3, 103)  # a mark at an end is a whole mark
    figure.legend(loc="outside right upper")  # inside it would hide intervals
    axes.grid(visible=True, axis="y", alpha=0.3)
    each = "/".join(f"{number:,}" for number in dict.fromkeys(cell.episodes for cell in result.cells))
    axes.set_title(
        f"{result.name}: {each} independent episodes each, exact {100 * result.confidence:g}% intervals, seed {result.seed}", fontsize=9
    )
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with _matplotlib().rc_context({"svg.hashsalt": "fencecheck"}):
            figure.savefig(draft, format=path.suffix[1:].lower(), metadata=_undated(path))
        os.replace(draft, path)
    except OSError as error:
        raise BadInput(f"{path} cannot be written ({(error.strerror or type(error).__name__).lower()})") from error
    finally:
        draft.unlink(missing_ok=True)


def _curves(axes: Any, result: Result) -> None:
    """A curve for each system, over the axis; the closed form as a line beside."""
    name = _RATES.get(result.name, "unsafe")
    by_system: dict[str, list[CellResult]] = {}
    for cell in result.cells:
        by_system.setdefault(str(cell.labels["system"]), []).append(cell)
    doubling = result.axis == "depth"
    for number, (system, cells) in enumerate(by_system.items()):
        x = [cell.labels[result.axis] for cell in cells]
        beside = (number - (len(by_system) - 1) / 2) * _BESIDE
        at = [place * 2**beside if doubling else place + beside for place in x]
        _points(axes, at, cells, name, result.confidence, number, system, "-")
        if cells[0].expected is not None:
            axes.plot(x, [100 * (cell.expected or 0) for cell in cells], color="#666666", linestyle="--", linewidth=1, label="closed form")
    axes.set_xlabel(_AXES.get(result.axis, result.axis))
    axes.set_ylabel(f"episodes with {HEADS[name]} (%)" if name != "recovered" else "episodes recovered by replanning (%)")
    if doubling:
        axes.set_xscale("log", base=2)
    if result.axis != "p":
        ticks = sorted({cell.labels[result.axis] for cell in result.cells})
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()


def look(number: int) -> tuple[str, str]:
    """Colour and mark of a system; the first seven differ in both, and the first 49 in one of them."""
    return _COLOURS[number % len(_COLOURS)], _MARKS[(number + number // len(_COLOURS)) % len(_MARKS)]


def _points(axes: Any, x: list[Any], cells: list[CellResult], name: str, confidence: float, number: int, label: str, line: str) -> None:
    colour, mark = look(number)
    rates = [cell.rate(name) for cell in cells]
    y = [100 * rate.value for rate in rates]
    ends = [rate.interval(confidence) for rate in rates]
    below = [at - 100 * low for at, (low, _) in zip(y, ends, strict=True)]
    above = [100 * high - at for at, (_, high) in zip(y, ends, strict=True)]
    axes.errorbar(
        x, y, yerr=[[max(0, by) for by in below], [max(0, by) for by in above]], label=label, capsize=3, linewidth=1, linestyle=line,
        color=colour, marker=mark, markersize=5,
    )  # fmt: skip


def _bars(axes: Any, result: Result) -> None:
    """For each of what is compared a group of points, one for each system."""
    names, _ = columns_of(result)
    count = len(result.cells)
    for number, cell in enumerate(result.cells):
        x = [at + (number - (count - 1) / 2) * 0.6 / max(count, 1) for at in range(len(names))]
        for at, (where, name) in enumerate(zip(x, names, strict=True)):
            _points(axes, [where], [cell], name, result.confidence, number, str(cell.labels["system"]) if not at else "", "none")
    axes.set_xticks(range(len(names)), [textwrap.fill(HEADS[name], 11) for name in names], fontsize=7)
    axes.set_ylabel("episodes (%)")


def _undated(path: Path) -> dict[str, Any]:
    return {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise BadInput("plots need matplotlib: pip install 'fencecheck[measure]'") from error
    return matplotlib
