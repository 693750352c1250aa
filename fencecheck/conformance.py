"""Is an adapter what a search takes it for? The public name of `fencecheck.search.conformance`.

from fencecheck.conformance import check_adapter

def test_adapter():
    check_adapter(MySystem)
"""

from __future__ import annotations

from fencecheck.search.conformance import check_adapter, problems
from fencecheck.search.problem import Problem

__all__ = ["Problem", "check_adapter", "problems"]
