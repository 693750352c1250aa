"""What a worker does: a run of episodes of one cell, each drawn from its own stream, run, judged and told as a row.

A function of its arguments, so that any `concurrent.futures.Executor` can carry it out, and lose it and carry it out again. Systems that a
worker has loaded stay open for its next piece of work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import lru_cache
from multiprocessing.util import Finalize
from typing import Any

import msgspec
from msgspec import Struct

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.history import Head, History, Read
from fencecheck.interleaving import Event
from fencecheck.judge import FINDINGS, Judgement, Level, judge
from fencecheck.measure.cells import NOT_RUN, Cell, Place, Row
from fencecheck.measure.distribution import Dropped, stream
from fencecheck.measure.planning import Planning, planning_of
from fencecheck.run.elsewhere import Elsewhere
from fencecheck.run.loading import load
from fencecheck.run.simulate import Runner, SystemLike
from fencecheck.search.preflight import refuse_inaction

_EMPTY_TRIES = 3
"""How often a system that decides by chance may fail to act without events before it is called one that never acts."""

_MOST_WORLDS = 8
"""Worlds of one kind whose planning is kept in mind: an episode that has a world of its own comes back to it only where it is tried again."""

UNSAFE = frozenset(code for code, meaning in FINDINGS.items() if meaning.kind == "safety") - {"unbounded-replan"}
"""The findings that are of an act which went out."""


class NeverActs(CouldNotRun):
    """The system does nothing, even without events: that is no failure of the harness, and trying again is of no use."""


class Work(Struct, frozen=True):
    """Episodes `start` to `stop` of a cell.

    Args:
        cell_number: that of the cell, for the rows.
        system: the system itself, where the work stays in this process; else it is loaded by the cell's name.
        budget_s: seconds after which no further episode is begun: what is left is given back.
        tries: how often an episode that the harness could not run is tried in all.
    """

    cell: Cell
    cell_number: int
    seed: int
    level: Level
    start: int
    stop: int
    budget_s: float
    tries: int = 3
    system: Any = None


def carry_out(work: Work) -> list[Row]:
    """The rows of the first episodes of `work`, at least one of them, in order.

    Raises:
        BadInput, CouldNotRun: the system cannot be loaded, or never acts: of no episode anything can be said.
    """
    cell = work.cell
    stage = _stage(work.system if work.system is not None else cell.system, cell)
    end = time.monotonic() + work.budget_s
    rows = []
    for number in range(work.start, work.stop):
        rows.append(_episode(work, stage, number))
        if time.monotonic() >= end:
            break
    return rows


def _episode(work: Work, stage: _Stage, number: int) -> Row:
    failed = ""
    for _ in range(work.tries):
        try:
            return _run(work, stage, number)
        except (BadInput, NeverActs):
            raise
        except CouldNotRun as error:
            failed = str(error)
    return Row(work.cell_number, number, NOT_RUN, detail=failed)


def _run(work: Work, stage: _Stage, number: int) -> Row:
    distribution, world = work.cell.distribution, stage.world(work.cell.place_of(work.seed, number))
    dropped, events = distribution.draw(stream(work.seed, work.cell.key, number), world.planning)
    history = world.run(dropped, events)
    return row_of(work.cell_number, number, history, judge(history), work.level, _text(dropped), _text(events))


def row_of(cell: int, number: int, history: History, judgement: Judgement, level: Level, dropped: str, events: str) -> Row:
    """What is kept of one judged episode."""
    codes = {finding.code for finding in judgement.findings}
    if judgement.unshown:
        codes.add("no-evidence")
    violated = any(finding.code in UNSAFE for finding in judgement.violations(level)) if codes else False
    questions = 0
    fired = 0
    for entry in history.entries:
        kind = type(entry)
        if kind is Head or kind is Read:
            questions += not entry.in_event  # type: ignore[union-attr]
    if events != "[]":
        fired = len(history.fired)
    return Row(
        cell, number, judgement.outcome,
        violated or judgement.omitted > 0, "stale-act" in codes or judgement.omitted > 0, judgement.omitted,
        judgement.effects, judgement.replans, judgement.needless_replans, judgement.duplicates, judgement.refused,
        judgement.recovered, "needless-halt" in codes, questions, fired,
        " ".join(sorted(codes)), dropped, events,
        history.ended.detail if judgement.outcome in ("crashed", "stuck") else "",
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _text(drawn: Dropped | tuple[Event, ...]) -> str:
    return msgspec.json.encode(drawn).decode()


class _World:
    """The system in one of the worlds of a cell."""

    def __init__(self, run: Callable[..., History], empty: History) -> None:
        self.run = run
        self._planning: dict[Dropped, Planning] = {(): planning_of(empty)}

    def planning(self, dropped: Dropped, act: bool) -> Planning:
        """Where the system plans, and acts if that is asked for, with these declarations dropped."""
        whole = self._planning[()]
        if not act and whole.settled:
            return whole
        known = self._planning.get(dropped)
        if known is None:
            history = self.run(dropped, ())
            known = self._planning[dropped] = planning_of(history) if history.effects else whole
        return known


class _Stage:
    """A loaded system, and the worlds that it was run in."""

    def __init__(self, system: SystemLike, cell: Cell) -> None:
        self._first = cell.place
        self._runner = Runner(system, None if cell.place is None else cell.place.world())
        self._runner.__enter__()
        self._worlds: dict[Place | None, _World] = {}

    def world(self, place: Place | None) -> _World:
        """The system in that world."""
        if place not in self._worlds:
            while len(self._worlds) >= _MOST_WORLDS:
                del self._worlds[next(iter(self._worlds))]
            self._worlds[place] = self._made(place)
        return self._worlds[place]

    def _made(self, place: Place | None) -> _World:
        elsewhere = None if place is None or place == self._first else Elsewhere(self._runner, place.world())
        run = self._runner.run if elsewhere is None else elsewhere.run
        empty = run() if elsewhere is None else elsewhere.empty
        for _ in range(_EMPTY_TRIES):
            if empty.effects:
                return _World(run, empty)
            empty = run()
        try:
            refuse_inaction(self._runner, empty)
        except CouldNotRun as error:
            raise NeverActs(str(error)) from error
        raise AssertionError("an episode without effects is refused")

    def close(self) -> None:
        self._runner.close()


_OPEN = threading.local()
_MOST_OPEN = 4
"""Systems, each in one kind of world, that a thread keeps open: the last ones."""
_LEFT: dict[int, _Stage] = {}
"""All that are open in this process, whatever thread opened them."""


def _stage(system: SystemLike | str, cell: Cell) -> _Stage:
    stages: dict[Any, _Stage] = _OPEN.__dict__.setdefault("stages", {})
    name = (system, cell.place)
    stage = stages.pop(name, None)
    if stage is None:
        while len(stages) >= _MOST_OPEN:
            _close(stages.pop(next(iter(stages))))
        if not _LEFT:
            Finalize(None, _close_left, exitpriority=10)  # a worker of somebody else's ends without a word to us
        stage = _Stage(load(system) if isinstance(system, str) else system, cell)
        _LEFT[id(stage)] = stage
    stages[name] = stage
    return stage


def _close(stage: _Stage) -> None:
    _LEFT.pop(id(stage), None)
    stage.close()


def close_all() -> None:
    """Closes the systems that this thread has open."""
    stages: dict[Any, _Stage] = _OPEN.__dict__.pop("stages", {})
    for stage in stages.values():
        _close(stage)


def _close_left() -> None:
    """Closes what is still open when the process ends."""
    for stage in list(_LEFT.values()):
        _close(stage)
