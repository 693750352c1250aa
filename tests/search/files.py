"""Adapters written to files: what a fresh process can load too."""

from __future__ import annotations

import itertools
import textwrap
from pathlib import Path
from typing import Any

from fencecheck.run.loading import load

HEAD = """
from fencecheck import Action, AgentSystem, Scenario, faults

class Halt(Exception):
    pass

class Agent(AgentSystem):
    scenario = Scenario(
        owners={"orders": ["x"], "slots": ["y"]},
        actions=[Action("ship", ["x"])],
        values={"x": ["tea", "coffee", "cocoa"], "y": ["noon", "dusk", "dawn"]},
    )
    halt_exceptions = (faults.Fault, Halt)
"""
_number = itertools.count()


def agent(folder: Path, run: str, before: str = "", after: str = "") -> Any:
    """The class `Agent` of a new file in `folder`, whose method `run` has this body."""
    body = textwrap.indent(textwrap.dedent(run).strip("\n"), " " * 8)
    more = textwrap.indent(textwrap.dedent(after), " " * 4)
    path = folder / f"agents_{next(_number)}.py"
    path.write_text(f"{before}\n{HEAD}{more}\n    def run(self):\n        kit = self.kit\n{body}\n")
    return load(f"{path}:Agent")
