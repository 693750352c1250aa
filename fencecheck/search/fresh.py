"""Runs the empty interleaving of one system in this, fresh, process: `python -m fencecheck.search.fresh SYSTEM SCENARIO OUT`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fencecheck import codec
from fencecheck.errors import FencecheckError
from fencecheck.run.loading import load
from fencecheck.run.simulate import Runner


def main(system: str, scenario: str, out: str) -> int:
    """Writes the history to `out`; 0, or 2 with one sentence on standard error."""
    try:
        world = None if scenario == "-" else codec.decode_interleaving(Path(scenario).read_bytes()).scenario
        with Runner(load(system), world) as runner:
            history = runner.run()
        Path(out).write_bytes(codec.encode_history(history))
    except FencecheckError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    status = main(*sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # not held by a thread that the system left to work on
