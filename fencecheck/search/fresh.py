"""Runs the empty interleaving of one system in this, fresh, process: `python -m fencecheck.search.fresh SYSTEM SCENARIO OUT`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from fencecheck import codec
from fencecheck.errors import FencecheckError
from fencecheck.history import History
from fencecheck.run.loading import load
from fencecheck.run.simulate import Runner


def main(system: str, scenario: str, out: str, *, run: Callable[[Runner], History] = Runner.run) -> int:
    """Writes the history to `out`; 0, or 2 with one sentence on standard error.

    Args:
        run: what is run.
    """
    try:
        world = None if scenario == "-" else codec.decode_interleaving(Path(scenario).read_bytes()).scenario
        with Runner(load(system), world) as runner:
            history = run(runner)
        Path(out).write_bytes(codec.encode_history(history))
    except FencecheckError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


def leave(status: int) -> None:
    """Ends the process, not held by a thread that the system left to work on."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    leave(main(*sys.argv[1:]))
