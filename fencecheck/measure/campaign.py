"""Runs a campaign: works out which episodes are not there yet, has them run, here or by an executor, and stores each as a row.

Episodes follow from their numbers alone (`distribution.stream`), so who runs them, in which order and how often makes no difference to what
is stored. Work is handed out in pieces; one that takes long gives back what it has not begun, so that little is lost with a process that is
killed, and a slow system's every episode is stored as soon as it is over.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from fencecheck.errors import CouldNotRun, FencecheckError
from fencecheck.measure.cells import NOT_RUN, Row
from fencecheck.measure.store import Store
from fencecheck.measure.worker import Work, carry_out, close_all

PIECE = 500
"""Most episodes of a piece of work: a tenth of a second of the fastest systems, and a transaction of the store."""
_PIECES_EACH = 4
"""How many pieces each worker has at least, where there are so many episodes: a slow system's few are shared out."""
PIECE_S = 0.5
TRIES = 3
"""How often a piece of work is handed out in all where a worker is lost with it, and an episode begun that the harness could not run."""

Told = Callable[[int], None]
"""Called with the number of episodes that have just been stored."""


def run(
    store: Store,
    episodes: int,
    *,
    systems: dict[str, Any] | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    tries: int = TRIES,
    told: Told | None = None,
) -> None:
    """Fills `store` up to `episodes` episodes in each cell of its plan, or in the cells that share them.

    Args:
        systems: name to the system itself, for those that another process cannot load by name: with one worker, here.
        workers: processes; 1 runs here.
        executor: who carries the work out instead, such as `distributed.Client(...).get_executor()`. It is not shut down.
        tries: how often what the harness, not the system, failed at is tried in all.

    Raises:
        BadInput: the system cannot be loaded or the store not be written.
        CouldNotRun: the system never acts, or workers are lost again and again. What is stored stays.
    """
    store.forget(NOT_RUN)
    if executor is not None:
        workers = max(workers, getattr(executor, "_max_workers", None) or _WORKERS_UNKNOWN)
    pieces = _Pieces(store, episodes, workers, tries, systems or {})
    if executor is None and workers == 1:
        try:
            for work in pieces:
                _keep(store, pieces, work, carry_out(work), told)
        finally:
            close_all()
    elif executor is not None:
        _by(store, pieces, executor, workers, told)
    else:
        _in_processes(store, pieces, workers, told)
    if any(pieces.missing()):
        raise AssertionError(f"a piece of work was lost: {next(pieces.missing())}")


class _Pieces:
    """The work that is left, in order of cell and number. What comes back goes first."""

    def __init__(self, store: Store, episodes: int, workers: int, tries: int, systems: dict[str, Any]) -> None:
        self._store, self._episodes, self._tries, self._systems = store, episodes, tries, systems
        self._left = list(self.missing())
        left = sum(stop - start for _, start, stop in self._left)
        self._piece = max(1, min(PIECE, left // (workers * _PIECES_EACH)))
        self._back: deque[Work] = deque()
        self._new = self._made()

    def __iter__(self) -> _Pieces:
        return self

    def __next__(self) -> Work:
        return self._back.popleft() if self._back else next(self._new)

    def give_back(self, work: Work) -> None:
        self._back.append(work)

    def missing(self) -> Iterator[tuple[int, int, int]]:
        """What is not stored: the number of a cell, and from where to where its episodes are missing."""
        for number, cell in enumerate(self._store.plan.cells):
            for start, stop in self._store.missing(number, cell.episodes(self._episodes)):
                yield number, start, stop

    def _made(self) -> Iterator[Work]:
        plan = self._store.plan
        for number, start, stop in self._left:
            cell = plan.cells[number]
            for first in range(start, stop, self._piece):
                last = min(first + self._piece, stop)
                yield Work(cell, number, plan.seed, plan.level, first, last, PIECE_S, self._tries, self._systems.get(cell.system))


def _keep(store: Store, pieces: _Pieces, work: Work, rows: list[Row], told: Told | None) -> None:
    """Stores what came of a piece of work."""
    store.add(rows)
    if told is not None:
        told(len(rows))
    done = work.start + len(rows)
    if done < work.stop:
        pieces.give_back(replace(work, start=done))


_WORKERS_UNKNOWN = 8
"""Workers that an executor is taken to have which does not say."""
_MOST_WAITING = 3
"""Pieces handed out for each worker: one that it does, and more for it to go on with."""


def _by(store: Store, pieces: _Pieces, executor: Executor, workers: int, told: Told | None) -> None:
    """Has somebody else's executor do all pieces."""
    try:
        _hand_out(store, pieces, executor, _MOST_WAITING * workers, told)
    except BrokenExecutor as error:
        raise CouldNotRun(
            f"the executor takes no more work ({type(error).__name__}: {error}): what is stored stays, so go on from it with another"
        ) from error


def _hand_out(store: Store, pieces: _Pieces, executor: Executor, most: int, told: Told | None) -> None:
    """Has an executor do all pieces, a few at a time.

    Raises:
        BrokenExecutor: it is good for nothing any more. What it had not done was given back.
    """
    running: dict[Future[list[Row]], Work] = {}
    lost: dict[tuple[int, int], int] = {}
    try:
        while True:
            while len(running) < most and (work := next(pieces, None)) is not None:
                running[_submitted(pieces, executor, work)] = work
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                error = CancelledError("it was cancelled") if future.cancelled() else future.exception()
                if isinstance(error, FencecheckError | BrokenExecutor) or (error is not None and not isinstance(error, Exception)):
                    raise error
                work = running.pop(future)
                if error is None:
                    _keep(store, pieces, work, future.result(), told)
                else:
                    _again(pieces, work, lost, error)
    except BrokenExecutor:
        for work in running.values():
            pieces.give_back(work)
        raise
    finally:
        for future in running:
            future.cancel()


def _submitted(pieces: _Pieces, executor: Executor, work: Work) -> Future[list[Row]]:
    try:
        return executor.submit(carry_out, work)
    except RuntimeError as error:  # a worker died since the last piece, or the executor was shut down
        pieces.give_back(work)
        raise error if isinstance(error, BrokenExecutor) else BrokenExecutor(str(error)) from error


def _again(pieces: _Pieces, work: Work, lost: dict[tuple[int, int], int], error: Exception) -> None:
    """Gives a piece back whose worker was lost, or says that it was lost too often."""
    about = (work.cell_number, work.start)
    lost[about] = lost.get(about, 0) + 1
    if lost[about] >= work.tries:
        raise CouldNotRun(
            f"{work.cell.key}: the worker was lost {lost[about]} times with episode {work.start} or one after it "
            f"({type(error).__name__}: {error}): what is stored stays, so go on from it once that is mended"
        ) from error
    pieces.give_back(work)


def _in_processes(store: Store, pieces: _Pieces, workers: int, told: Told | None) -> None:
    """The same in processes of our own, which are made anew where one of them died."""
    deaths = 0
    stored = 0

    def counted(number: int) -> None:
        nonlocal stored
        stored += number
        if told is not None:
            told(number)

    while True:
        before = stored
        try:
            with _processes(workers) as executor:
                _hand_out(store, pieces, executor, _MOST_WAITING * workers, counted)
            return
        except BrokenExecutor as error:
            deaths = 1 if stored > before else deaths + 1
            if deaths >= TRIES:
                raise CouldNotRun(
                    f"a worker process died {deaths} times and nothing was stored in between: run with one worker to see what ends it; "
                    "a script that measures needs `if __name__ == '__main__':` around it"
                ) from error


@contextmanager
def _processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")  # a fork would share what the system holds open here
    executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_prepared)
    try:
        yield executor
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _prepared() -> None:
    """In a worker process: Ctrl-C is for the one who handed out the work, and without that one there is no more to do."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_campaign, daemon=True).start()


def _end_with_the_campaign() -> None:
    """Ends this process when the one that started it is gone: a worker would wait for its next piece of work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
