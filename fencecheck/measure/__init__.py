"""How often, compared with what, and how sure: independent episodes of a stated distribution, counted, with exact bounds.

Nothing here rests on an exhaustive search or on Hypothesis, whose episodes are no sample of anything. Bounds need scipy and plots
matplotlib: `pip install 'fencecheck[measure]'`.
"""

from __future__ import annotations

from fencecheck.measure.dependencies import Dependencies, dependencies
from fencecheck.measure.distribution import Distribution
from fencecheck.measure.experiments import Options, compare, depth, omission, width
from fencecheck.measure.result import CellResult, Result
from fencecheck.measure.statistics import Rate

__all__ = [
    "CellResult",
    "Dependencies",
    "Distribution",
    "Options",
    "Rate",
    "Result",
    "compare",
    "dependencies",
    "depth",
    "omission",
    "width",
]
