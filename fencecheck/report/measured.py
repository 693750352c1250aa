"""Results of campaigns: a table for a terminal, JSON and CSV, with an interval beside each rate."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fencecheck import __version__
from fencecheck.measure.result import COUNTED, SUMMED, CellResult, Result
from fencecheck.measure.statistics import Rate
from fencecheck.report.terminal import prose
from fencecheck.report.words import clean, count_of

_ENDINGS = ("halted_changed", "halted_unverified", "halted_needless", "crashed", "stuck")
COLUMNS: dict[str, tuple[str, ...]] = {
    "omission": ("unsafe", "crashed", "stuck"),
    "compare": ("completed", "stale", "recovered", *_ENDINGS, "duplicates", "refused", "needless_replans"),
    "depth": ("completed", "stale", "recovered", *_ENDINGS),
    "width": ("completed", "stale", "recovered", *_ENDINGS, "needless_replans"),
}
"""What a table shows of each campaign, of `COUNTED`. JSON and CSV have all of it."""
_ALWAYS = ("completed", "unsafe", "stale")
"""What a table shows even where it never happened."""
MEANS: dict[str, tuple[str, ...]] = {"compare": ("questions",), "width": ("questions",)}
HEADS = {
    "completed": "completed",
    "unsafe": "unsafe acts",
    "stale": "stale acts",
    "recovered": "recovered by replanning",
    "halted_changed": "halted, changed",
    "halted_unverified": "halted, could not verify",
    "halted_needless": "halted needlessly",
    "crashed": "crashed",
    "stuck": "stuck",
    "duplicates": "duplicate acts",
    "refused": "refused by the tool",
    "needless_replans": "needless replans",
    "questions": "owners asked, mean",
    "p": "p dropped",
}


def percent(share: float) -> str:
    """`9.5%`, `0.031%`: three digits where there are few."""
    value = 100 * share
    return f"{value:.1f}%" if value >= 0.95 or value == 0 else f"{value:.2g}%"


def bounds(rate: Rate, confidence: float) -> str:
    """`at most 9.5%`, `at least 90.5%`, `34.9 to 44.1%`."""
    low, high = rate.interval(confidence)
    if rate.count == 0:
        return f"at most {percent(high)}"
    if rate.count == rate.episodes:
        return f"at least {percent(low)}"
    return f"{percent(low).removesuffix('%')} to {percent(high)}"


def measured_lines(result: Result, width: int) -> list[Text]:
    """All that a terminal is told of a campaign."""
    lines = prose(_headline(result), width, "bold yellow" if result.exit_status else "bold", "", "  ")
    if result.inconclusive:
        lines += prose(clean(result.inconclusive), width)
    lines += [*_rendered(_table(result), width)]
    for text in _notes(result):
        lines += prose(clean(text), width, "", "  ", "    ")
    return lines


def _headline(result: Result) -> str:
    systems = dict.fromkeys(str(cell.labels["system"]) for cell in result.cells)
    each = dict.fromkeys(cell.episodes for cell in result.cells)
    of = " or ".join(f"{number:,}" for number in each)
    episodes = f"{of} independent episode{'' if of == '1' else 's'} {'each' if len(result.cells) > 1 else 'in all'}"
    return f"{result.name} · {', '.join(map(clean, systems))} · {episodes}"


def _table(result: Result) -> Table:
    (shown, _), means = columns_of(result), MEANS.get(result.name, ())
    labels = list(result.cells[0].labels)
    alone = len({cell.labels["system"] for cell in result.cells}) == 1 and len(labels) > 1
    labels = [label for label in labels if not (alone and label == "system")]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), collapse_padding=True)
    for label in labels:
        table.add_column(HEADS.get(label, label), justify="left" if label == "system" else "right")
    for name in (*shown, *means):
        table.add_column(HEADS[name], justify="right")
    expected = any(cell.expected is not None for cell in result.cells)
    if expected:
        table.add_column("closed form", justify="right")
    for cell in result.cells:
        values = [_label(cell.labels[label]) for label in labels]
        values += [_of(cell, name, result.confidence) for name in shown]
        values += [f"{cell.mean(name):.1f}" if cell.episodes else "" for name in means]
        values += [percent(cell.expected)] if cell.expected is not None else [""] if expected else []
        table.add_row(*("\n".join(map(clean, value.split("\n"))) for value in values))
    return table


def columns_of(result: Result) -> tuple[list[str], list[str]]:
    """What has a column, and what happened in no episode at all, which a sentence says."""
    names = COLUMNS.get(result.name, ("unsafe",))
    never = [name for name in names if not name.startswith(_ALWAYS) and not any(cell.rate(name).count for cell in result.cells)]
    return [name for name in names if name not in never], never


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _of(cell: CellResult, name: str, confidence: float) -> str:
    rate = cell.rate(name)
    if not rate.episodes:
        return "none run"
    if name in _ALWAYS and (unknown := cell.rate("unknown").count):
        return f"{rate.count:,}/{rate.episodes:,}\n{unknown:,} unknown"
    share = "" if rate.count in (0, rate.episodes) else f" = {percent(rate.value)}"
    return f"{rate.count:,}/{rate.episodes:,}{share}\n{bounds(rate, confidence)}"


def _rendered(table: Table, width: int) -> Iterator[Text]:
    out = io.StringIO()
    console = Console(
        file=out, width=max(width - 2, 40), highlight=False, markup=False, emoji=False, color_system=None, force_terminal=False
    )
    console.print(table)
    for line in out.getvalue().splitlines():
        yield Text(f"  {line.rstrip()}" if line.strip() else "")


def _notes(result: Result) -> Iterator[str]:
    yield from (f"drawn: {drawn}" for drawn in result.drawn)
    yield f"in worlds of: {'; '.join(result.worlds)}"
    yield from _alike(result)
    yield from result.about
    never = columns_of(result)[1]
    if never:
        rates = [cell.rate(name) for cell in result.cells for name in never if cell.episodes]
        most = f" (at most {percent(max(rate.interval(result.confidence)[1] for rate in rates))} each)" if rates else ""
        yield f"in no episode of any: {'; '.join(HEADS[name] for name in never)}{most}"
    yield (
        f"seed {result.seed}; an act is unsafe at level {result.level}; each interval is exact (Clopper-Pearson) at {100 * result.confidence:g}%, "
        "one-sided where none or all"
    )
    for cell in result.cells:
        if cell.not_run:
            yield f"{cell.key}: {count_of(cell.not_run, 'episode')} could not be run, and in no count: {cell.why}"


def _alike(result: Result) -> Iterator[str]:
    """Says how few things were drawn, where many episodes are alike."""
    few = [cell.different for cell in result.cells if cell.different < cell.episodes]
    if few:
        least, most = min(few), max(few)
        number = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        yield (
            f"different in what was drawn: {number} of the episodes of {'each row' if len(few) == len(result.cells) else 'a row'}; where a "
            "system decides nothing by chance, those that are alike come out alike"
        )


def as_object(result: Result) -> dict[str, Any]:
    """What `--json` writes."""
    return {
        "fencecheck": __version__,
        "measured": result.name,
        "seed": result.seed,
        "level": result.level,
        "confidence": result.confidence,
        "drawn": list(result.drawn),
        "worlds": list(result.worlds),
        "about": list(result.about),
        "seconds": round(result.seconds, 3),
        "cells": [_cell_object(cell, result.confidence) for cell in result.cells],
    }


def _cell_object(cell: CellResult, confidence: float) -> dict[str, Any]:
    return {
        "cell": cell.key,
        **cell.labels,
        "distributions": list(cell.distributions),
        "episodes": cell.episodes,
        "not_run": cell.not_run,
        "different": cell.different,
        "expected_unsafe": cell.expected,
        "rates": {name: _rate_object(cell.rate(name), confidence) for name in COUNTED},
        "means": {name: cell.mean(name) if cell.episodes else None for name in SUMMED},
    }


def _rate_object(rate: Rate, confidence: float) -> dict[str, Any]:
    low, high = rate.interval(confidence)
    return {"count": rate.count, "rate": rate.value if rate.episodes else None, "low": low, "high": high}


def as_csv(result: Result) -> str:
    """What `--csv` writes: a line for each cell."""
    out = io.StringIO()
    labels = list(result.cells[0].labels)
    names = [f"{name}{part}" for name in COUNTED for part in ("", "_low", "_high")]
    table = csv.writer(out, lineterminator="\n")
    table.writerow([*labels, "episodes", "not_run", "different", "expected_unsafe", *names, *SUMMED])
    for cell in result.cells:
        values: list[Any] = [
            *cell.labels.values(),
            cell.episodes,
            cell.not_run,
            cell.different,
            "" if cell.expected is None else cell.expected,
        ]
        for name in COUNTED:
            rate = cell.rate(name)
            values += [rate.count, *(f"{bound:.6g}" for bound in rate.interval(result.confidence))]
        table.writerow([*values, *(cell.counted.sums[name] for name in SUMMED)])
    return out.getvalue()
