"""What a campaign comes to: counts and rates for each cell, as a value that the terminal, JSON, CSV and plots only render."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fencecheck.measure.cells import Cell, Place, Plan, Row
from fencecheck.measure.distribution import Distribution
from fencecheck.measure.statistics import CONFIDENCE, Counted, Rate, rate_of
from fencecheck.measure.store import Store

_UNKNOWN = "findings LIKE '%no-evidence%'"
COUNTED: dict[str, str] = {
    "completed": f"outcome = 'completed' AND NOT unsafe AND NOT {_UNKNOWN}",
    "unsafe": "unsafe",
    "unknown": f"{_UNKNOWN} AND NOT unsafe",
    "stale": "stale",
    "omitted": "omitted > 0",
    "recovered": "recovered",
    "halted_changed": "outcome = 'halted-changed'",
    "halted_unverified": "outcome = 'halted-unverified'",
    "halted_needless": "outcome = 'halted-needless'",
    "crashed": "outcome = 'crashed'",
    "stuck": "outcome = 'stuck'",
    "duplicates": "duplicates > 0",
    "refused": "refused > 0",
    "needless_replans": "needless_replans > 0",
    "fired": "fired > 0",
}
"""Of how many episodes: name to the condition over a row. `unsafe`, `stale` and the like are as in `Row`; an episode whose acts all went out, one
of them unsafe, is not completed, as in the paper's Table 2. `unknown` are those with an act of which nothing shows what it was made from, and
none that is unsafe: they are counted as neither, and leave a campaign inconclusive."""
SUMMED: dict[str, str] = {"questions": "questions", "acts": "effects"}
"""Sums over the episodes."""
_RUN = "outcome <> 'not-run'"


class CellResult(Struct, frozen=True):
    """What was counted in one cell.

    Args:
        key: names the cell.
        labels: column to value.
        distributions: how its episodes were drawn, in words.
        counted: the counts.
        not_run: episodes that the harness could not run, which are in no count; `why`, of one of them.
        unsafe: the first unsafe episode, or None.
        changes: keys that change in an episode.
        different: how many of the episodes differ from one another in what was drawn.
        expected: the closed form of the rate of unsafe acts, where there is one.
    """

    key: str
    labels: dict[str, Any]
    distributions: tuple[str, ...]
    counted: Counted
    not_run: int = 0
    why: str = ""
    unsafe: Row | None = None
    changes: int = 0
    different: int = 0
    expected: float | None = None

    @property
    def episodes(self) -> int:
        """How many were run and judged."""
        return self.counted.episodes

    def rate(self, name: str) -> Rate:
        """The rate of what is counted under a name of `COUNTED`."""
        return rate_of(self.counted, name)

    def mean(self, name: str) -> float:
        """The mean for each episode of what is summed under a name of `SUMMED`."""
        return self.counted.sums[name] / self.counted.episodes if self.counted.episodes else float("nan")


class Result(Struct, frozen=True):
    """What a campaign came to.

    Args:
        name: what was measured.
        about: clauses on how to read it, in order.
        drawn: how the episodes were drawn, in words, each way once.
        worlds: in what worlds they took place, in words.
        seed, level: as in `Plan`.
        confidence: of each interval.
        cells: in the order of the plan.
        axis: the label by which the cells of one system form a curve, or nothing.
        seconds: how long it took, without what was there before.
    """

    name: str
    about: tuple[str, ...]
    drawn: tuple[str, ...]
    worlds: tuple[str, ...]
    seed: int
    level: str
    cells: tuple[CellResult, ...]
    confidence: float = CONFIDENCE
    axis: str = ""
    seconds: float = 0.0

    @property
    def not_run(self) -> int:
        """Episodes that the harness could not run."""
        return sum(cell.not_run for cell in self.cells)

    @property
    def inconclusive(self) -> str:
        """Why nothing can be said, or nothing."""
        for cell in self.cells:
            if not cell.episodes:
                return f"{cell.key}: no episode was run"
            if cell.changes and not cell.counted.sums["fired"]:
                return f"{cell.key}: no event fired, so nothing was tested"
            if unknown := cell.rate("unknown").count:
                return (
                    f"{cell.key}: in {unknown:,} of {cell.episodes:,} episodes nothing shows which version of a key an act was made from, so none "
                    "can be called safe: pass plan= or basis= to kit.act, or arguments that carry the values"
                )
        return ""

    @property
    def exit_status(self) -> int:
        """0 measured, 2 where the harness failed in an episode, 3 where nothing can be said of a cell."""
        return 2 if self.not_run else 3 if self.inconclusive else 0


def result_of(
    store: Store,
    episodes: int,
    *,
    about: Iterable[str] = (),
    axis: str = "",
    confidence: float = CONFIDENCE,
    expected: Iterable[float | None] = (),
    seconds: float = 0.0,
) -> Result:
    """What the episodes of a campaign come to; cells with the same labels are counted together.

    Args:
        episodes: how many of each, or of those that share them.
        expected: for each cell the closed form of its rate of unsafe acts, or None.
    """
    plan = store.plan
    forms = list(expected) or [None] * len(plan.cells)
    together: dict[str, list[int]] = {}
    for number, cell in enumerate(plan.cells):
        together.setdefault(repr(cell.labels), []).append(number)
    cells = tuple(_cell(store, episodes, numbers, forms[numbers[0]]) for numbers in together.values())
    drawn = _drawn(plan, "p" if axis == "p" else "")
    return Result(plan.name, tuple(about), drawn, _worlds(plan), plan.seed, plan.level, cells, confidence, axis, seconds)


def _drawn(plan: Plan, drop: str) -> tuple[str, ...]:
    """How the episodes are drawn, each way once; those that differ in the keys only, which the families of worlds name otherwise, together."""
    alike: dict[Distribution, list[tuple[str, ...]]] = {}
    for cell in plan.cells:
        drawn = replace(cell.distribution, changing=("",) * len(cell.distribution.changing), drop=0.0 if drop else cell.distribution.drop)
        if cell.distribution.changing not in alike.setdefault(drawn, []):
            alike[drawn].append(cell.distribution.changing)
    return tuple(drawn.said(drop, " or ".join(map(", ".join, changing))) for drawn, changing in alike.items())


def _worlds(plan: Plan) -> tuple[str, ...]:
    """Where the episodes take place: the generated worlds, in one clause, and who brings a scenario of its own."""
    places = [cell.place for cell in plan.cells if cell.place is not None]
    lines = []
    if places:
        said = {field: _either([str(getattr(place, field)) for place in places]) for field in Place.__struct_fields__}
        drawn = any(cell.values == "each" for cell in plan.cells)
        values = "other values in each episode, the same ones for each system" if drawn else f"values of seed {said['seed']}"
        lines.append(
            f"{said['family']}; the act depends on {said['declared']} of {said['keys']} keys, owners {said['owners']}, depth {said['depth']}; "
            f"{values}"
        )
    own = dict.fromkeys(str(cell.labels["system"]) for cell in plan.cells if cell.place is None)
    return (*lines, *(f"the scenario of {name}" for name in own))


def _either(values: list[str]) -> str:
    *others, last = dict.fromkeys(values)
    return f"{', '.join(others)} or {last}" if others else last


def _different(store: Store, cell: Cell, number: int, count: int) -> int:
    """How many of a cell's episodes differ in what was drawn. Each is another one where each has values of its own."""
    if cell.values == "each":
        return store.sums(number, count, {"run": _RUN})["run"]
    return store.different(number, count, _DRAWN, _RUN)


_WHAT = {
    **{name: f"({condition}) AND {_RUN}" for name, condition in COUNTED.items()},
    **SUMMED,
    "run": _RUN,
    "not_run": f"NOT ({_RUN})",
}
_DRAWN = "dropped || events"


def _cell(store: Store, episodes: int, numbers: list[int], form: float | None) -> CellResult:
    cells = [store.plan.cells[number] for number in numbers]
    counts = [(number, cell.episodes(episodes)) for number, cell in zip(numbers, cells, strict=True)]
    sums = dict.fromkeys(_WHAT, 0)
    for number, count in counts:
        for name, value in store.sums(number, count, _WHAT).items():
            sums[name] += value
    lost = next((row for number, count in counts if (row := store.first(number, count, f"NOT ({_RUN})")) is not None), None)
    unsafe = next((row for number, count in counts if (row := store.first(number, count, "unsafe")) is not None), None)
    return CellResult(
        cells[0].key if len(cells) == 1 else " ".join(str(value) for value in cells[0].labels.values()),
        cells[0].labels,
        tuple(dict.fromkeys(cell.distribution.said() for cell in cells)),
        Counted(sums["run"], sums),
        sums["not_run"],
        lost.detail if lost is not None else "",
        unsafe,
        cells[0].distribution.changes,
        sum(_different(store, cell, number, count) for cell, (number, count) in zip(cells, counts, strict=True)),
        form,
    )
