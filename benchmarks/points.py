"""What `fencecheck.point("label")` costs in production, where no episode runs, beside a call of an empty function.

    python benchmarks/points.py [--calls N]

Both are called in the same loop, in turn, several rounds, and the best round of each counts. The ratio is what matters.
"""

from __future__ import annotations

import argparse
import timeit

from fencecheck import point


def empty(label: str = "") -> None:
    """Nothing."""


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=1_000_000, help="calls in a round")
    calls = parser.parse_args().calls
    best = {"empty": float("inf"), "point": float("inf")}
    for _ in range(7):
        for name, function in (("empty", empty), ("point", point)):
            best[name] = min(best[name], timeit.timeit("function('label')", globals={"function": function}, number=calls))
    for name, seconds in best.items():
        print(f"{name:<6} {seconds / calls * 1e9:6.1f} ns")
    print(f"ratio  {best['point'] / best['empty']:6.2f}")


if __name__ == "__main__":
    main()
