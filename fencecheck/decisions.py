"""Decisions held fixed, so that a real model is called once for each distinct input: the public name of `fencecheck.run.decisions`.

    from fencecheck.decisions import Decisions

    @Decisions("decisions.json", redact=["api_key"])
    def plan(order: dict[str, str], api_key: str) -> Plan: ...

How many distinct inputs there are is the scenario's to say. A planner that is given values is asked once for each value that comes up: those that
`values=` lists, from the first on, and made-up ones beyond the list. With nine listed for each key, a check of any number of updates comes to no
other (it also tries the values in other orders, to see whether the system goes by more than equality). A planner that is given version ids, times
or random ids is asked anew in each interleaving: leave these out with `ignore=` or `key=`.
"""

from __future__ import annotations

from fencecheck.run.decisions import Decisions, Mode, UnseenDecision
from fencecheck.run.recording import merge

__all__ = ["Decisions", "Mode", "UnseenDecision", "merge"]
