"""fencecheck beside other testers of concurrent Python, on one race that each can express: episodes a second, episodes until the bug, size of the
case, and what is claimed of the safe race.

    python benchmarks/rivals.py [--python PYTHON] [--only TOOL ...] [--seeds N] [--seeds-two N] [--seconds S] [--repeats N]

An agent of six awaits, of which three reach the store (read, check, act), and an updater of two, of which one does: `rivals/workload.py`. With two
rounds the race is run twice in a row, and the bug is that both acts were stale. fencecheck and Hypothesis run in this interpreter, the others in the
one given by `--python`, into which they have been installed; one that is not there is named and left out. Each tool is used as it documents
(`rivals/with_*.py`), and only what its own reports say is printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "rivals"
sys.path.insert(0, str(HERE))

from contest import LIMIT, PROOF_LIMIT, options  # noqa: E402

OURS = ("fencecheck", "hypothesis")
OTHERS = ("detangle", "simloop", "simloom", "frontrun")


def figures(tool: str, python: str | None, chosen: argparse.Namespace) -> dict[str, Any] | str:
    """What its script printed, or why there is nothing."""
    if python is None:
        return "no interpreter that has it was given by --python"
    there = subprocess.run([python, "-c", f"import {tool}"], capture_output=True, text=True, check=False)
    if there.returncode:
        return f"cannot be imported there: {there.stderr.strip().splitlines()[-1]}"
    passed = [f"--{name.replace('_', '-')}={getattr(chosen, name)}" for name in ("seeds", "seeds_two", "seconds", "repeats")]
    done = subprocess.run([python, str(HERE / f"with_{tool}.py"), *passed], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def bug(figure: dict[str, Any], seeded: bool, unit: str) -> str:
    """After how many episodes the bug was found, and what the case is like."""
    counts = sorted(LIMIT + 1 if count is None else count for count in figure["episodes"])
    if not counts:
        return "not searched"
    if counts[0] > LIMIT:
        return "bug not found"
    case = f"case of {statistics.median_low(figure['sizes'])} {unit}"
    if not seeded:
        return f"bug after {counts[0]:,}, {case}"
    shown = [f"{count:,}" if count <= LIMIT else f"over {LIMIT:,}" for count in (statistics.median_low(counts), counts[-1])]
    return f"bug after {shown[0]}, at worst {shown[1]} ({len(counts)} seeds), {case}"


def safe(figure: dict[str, Any]) -> str:
    """What is claimed of the safe race."""
    proven = figure["proven"]
    if proven is None:
        return "safe race: nothing is claimed"
    if not proven["claim"]:
        return f"safe race: open after {proven['episodes']:,}"
    return f"safe race: {proven['claim']}, in {proven['episodes']:,}"


def lines(tool: str, found: dict[str, Any] | str) -> list[str]:
    """The part of the table about one tool."""
    if isinstance(found, str):
        return [f"{tool}: not measured, {found}"]
    out = [f"{tool} {found['version']}, Python {found['python']}"]
    for mode in found["modes"]:
        note = f"  ({mode['note']})" if mode["note"] else ""
        out.append(f"  {mode['name']:29} {mode['per_second']:8,.0f} episodes/s{note}")
        for rounds, figure in mode["rounds"].items():
            name = "one round " if rounds == "1" else "two rounds"
            out.append(f"    {name}  {bug(figure, mode['seeded'], mode['unit'])}; {safe(figure)}")
    return out


def main() -> None:
    """Prints the table, tool by tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="an interpreter (3.12 or later) that has the other tools")
    parser.add_argument("--only", nargs="+", choices=(*OURS, *OTHERS), default=(*OURS, *OTHERS), metavar="TOOL")
    options(parser)
    chosen = parser.parse_args()
    print(f"given up after {LIMIT:,} episodes without the bug, and after {PROOF_LIMIT:,} of the safe race; episodes/s of processor time")
    for tool in chosen.only:
        print("\n".join(lines(tool, figures(tool, sys.executable if tool in OURS else chosen.python, chosen))), flush=True)


if __name__ == "__main__":
    main()
