"""Before any search: does the system act at all, and does one interleaving always give one history?

The empty interleaving is run, one with an update that fires, the empty one again, and the empty one in a fresh process with another hash
seed. A difference within this process that the fresh process does not share is a state leak of the adapter; any other is nondeterminism.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fencecheck.errors import BadInput, CouldNotRun, Nondeterministic
from fencecheck.history import Act, Entry, History, first_difference, is_point, label
from fencecheck.interleaving import Event, Update
from fencecheck.run.loading import reference
from fencecheck.run.outside import listening
from fencecheck.run.simulate import Runner
from fencecheck.run.unknown import asked

FRESH_TIMEOUT_S = 120
_TYPO = 0.85
"""How alike a key that nobody holds and one that somebody does must be, for the first to be a slip of the pen."""


def preflight(runner: Runner, *, fresh_process: bool = True) -> list[str]:
    """Checks `runner`'s system.

    Args:
        fresh_process: whether to run it in a process of its own too.

    Returns:
        What was checked, and what could not be, as clauses for the report.

    Raises:
        CouldNotRun: it never acts, or one run leaves something behind for the next.
        Nondeterministic: two runs of one interleaving differ.
    """
    if runner.runtime_name == "asyncio-native":  # whose time is real, and listening slows
        first = runner.run()
        with listening() as outside:
            runner.run()
    else:
        with listening() as outside:
            first = runner.run()
    runner.outside, runner.chance = outside.told(), outside.told_of_chance()
    runner.refuse_changes()
    refuse_inaction(runner, first)
    for key in runner.scenario.keys:
        if "update" in runner.kinds:
            runner.run((), (Event(0, Update(key)),))
    again = runner.run()
    elsewhere = in_fresh_process(runner) if fresh_process else None
    at = first_difference(first, again)
    if at is not None:
        what = difference(first, again, at)
        if elsewhere is not None and not runner.chance and first_difference(first, elsewhere) is None:
            raise CouldNotRun(
                f"{runner.name} leaks state from one episode into the next: {what}: build all state in setup(), none at class or module level"
            )
        raise Nondeterministic(f"{runner.name} is not deterministic: two runs of one interleaving differ: {what}{past_its_ports(runner)}")
    plain = [_called_plain([*runner.plain])] if runner.plain else []
    if elsewhere is None:
        return ["deterministic (checked in this process only)" if fresh_process else "deterministic (checked in this process)", *plain]
    at = first_difference(first, elsewhere)
    if at is not None:
        raise Nondeterministic(
            f"{runner.name} is not deterministic: a fresh process does otherwise: {difference(first, elsewhere, at)}{past_its_ports(runner)}"
        )
    if runner.chance:  # a coin can fall alike each time
        if runner.chance_is_harmless:
            return ["deterministic (checked, but it asks chance, which its adapter calls harmless)", *plain]
        return ["deterministic (alike in the few runs that were compared, but it asks chance)", *plain]
    return ["deterministic (checked, in a fresh process too)", *plain]


def _called_plain(calls: list[str]) -> str:
    first = calls[0]
    port = first.partition(" ")[0].removeprefix("kit.")
    more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
    return f"lets no other task go on while it calls {first}{more} (write await kit.aio.{port})"


def still_the_same(runner: Runner, before: History) -> None:
    """Compares the episode without events after a search with how it was `before`: some state is left behind by faults only.

    Raises:
        CouldNotRun: it is another.
    """
    runner.refuse_changes()
    after = runner.run()
    at = first_difference(before, after)
    if at is not None:
        raise CouldNotRun(
            f"{runner.name} leaks state from one episode into the next: after the search the episode without events is another: "
            f"{difference(before, after, at)}: build all state in setup(), none at class or module level"
        )


def refuse_inaction(runner: Runner, history: History) -> None:
    """Says of a system that does nothing even without events that there is nothing to judge.

    Args:
        history: the last run of `runner`, of the empty interleaving.

    Raises:
        CouldNotRun: it has no effect, or asks for a key that is almost one.
    """
    if history.effects:
        slip = asked(history, _TYPO)
        if slip:
            raise CouldNotRun(f"{runner.name} asks for what there is none of: {slip}")
        return
    ended = history.ended
    if ended.how == "crashed":
        raise CouldNotRun(_crashes(runner, history))
    how = {"returned": "run() returned", "halted": "it halted", "stuck": "it was stuck"}[ended.how]
    detail = f" ({ended.detail})" if ended.detail else ""
    tried = any(type(entry) is Act for entry in history.entries)
    right = asked(history) or ("its act had no effect" if tried else "call kit.act(...) where the system calls the outside")
    right = "correct the name" if right in detail else right if tried else _store_is_full(runner) or right
    raise CouldNotRun(f"{runner.name} never acts, even without any event: {how}{detail}, so there is nothing to judge: {right}")


def _store_is_full(runner: Runner) -> str:
    """What to do where the system's own store was taken to hold a key from the beginning, so that nothing was published; or nothing."""
    held = [key for key in runner.scenario.keys if key not in runner._prepared.begun_empty] if runner.own_store else []
    if not held:
        return ""
    return (
        f"correct that, or, as true_head({held[0]!r}) answered before anything was published, let it return None while the store is empty"
    )


def _crashes(runner: Runner, history: History) -> str:
    detail, unknown = history.ended.detail, asked(history)
    at = f" ({runner.crashed_at})" if runner.crashed_at else ""
    right = unknown if unknown and unknown not in detail else "correct that first, in the system or in its adapter"
    if "can't be used in 'await' expression" in detail and len(history.entries) > 1 and is_point(history.entries[-2]):
        port = label(history.entries[-2], history.records).partition(" ")[0]
        right = f"kit.{port} is not to be awaited: write await kit.aio.{port}(...)"
    if not unknown:
        right = _store_is_full(runner) or right
    if "has no attribute 'kit'" in detail:
        right = "call super().setup(kit) in setup()"
    return f"{runner.name} crashes before it acts, even without any event: {detail}{at}, so there is nothing to judge: {right}"


def difference(one: History, two: History, at: int) -> str:
    """How two histories differ at the entry `at`."""

    def said(history: History) -> str:
        entry: Entry | None = history.entries[at] if at < len(history.entries) else None
        return repr(entry) if entry is not None else "the end"

    return f"entry {at} is {said(one)} in one and {said(two)} in the other"


def past_its_ports(runner: Runner) -> str:
    """What may be why two runs differ, as the end of a sentence."""
    asks = f"; past its ports it asks {runner.outside}" if runner.outside else ""
    return f"{asks}; {runner.own_order}, which may be why" if runner.own_order else asks


def in_fresh_process(runner: Runner, module: str = "fencecheck.search.fresh", *more: str, seed: int | None = None) -> History | None:
    """The empty interleaving as a new interpreter runs it, or None where it cannot load the system.

    Args:
        module: what runs there, with the name of the system, the file of its scenario, or `-`, and that of the history to be written.
        more: what it is told besides.
        seed: its hash seed; None: one that this process was not told to have.

    Raises:
        CouldNotRun: it does not run there, or does not end.
    """
    from fencecheck import codec

    name = reference(runner.system)
    if name is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.json"
        if runner.takes_scenario:
            from fencecheck.interleaving import Interleaving

            scenario.write_bytes(codec.encode_interleaving(Interleaving(runner.scenario)))
        out = Path(folder) / "history.jsonl"
        command = [sys.executable, "-m", module, name, str(scenario) if runner.takes_scenario else "-", str(out), *more]
        seed = seed or (1 if os.environ.get("PYTHONHASHSEED") != "1" else 2)
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        try:
            done = subprocess.run(command, capture_output=True, timeout=FRESH_TIMEOUT_S, env=environment, check=False)
        except subprocess.TimeoutExpired:
            raise CouldNotRun(f"{runner.name} runs here but does not end within {FRESH_TIMEOUT_S} s in a fresh process") from None
        if done.returncode != 0 or not out.is_file():
            last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
            raise CouldNotRun(f"{runner.name} runs here but not in a fresh process: {last}")
        try:
            return codec.decode_history(out.read_bytes())
        except BadInput:
            return None
