"""What `fencecheck init` writes: an adapter made of three functions, and its test."""

from __future__ import annotations

ADAPTER_FILE = "fencecheck_adapter.py"
TEST_FILE = "test_fencecheck_adapter.py"

ADAPTER = '''"""The adapter through which fencecheck runs an agent: put your own calls into the three functions.

    fencecheck check fencecheck_adapter.py:OrderAgent
"""

from collections.abc import Callable
from typing import Any

from fencecheck import Action, Record, Scenario, from_functions

ADDRESS = "order/42/address"

# The world: who owns which facts, and which of them the action depends on.
scenario = Scenario(
    owners={"orders": [ADDRESS]},
    actions=[Action("ship", depends_on=[ADDRESS])],
    values={ADDRESS: ["2-21 Shibuya, Tokyo", "3-1 Umeda, Osaka", "5-4 Sakae, Nagoya", "1-9 Tenjin, Fukuoka"]},
)


def plan(records: dict[str, Record]) -> dict[str, Any]:
    """From what was read to a plan. Here an agent would ask its model."""
    return {"to": records[ADDRESS].value}


def act(plan: dict[str, Any]) -> dict[str, Any]:
    """From the plan to the arguments that go out."""
    return plan


def validate(plan: dict[str, Any], basis: dict[str, str], head: Callable[[str], str]) -> bool:
    """Whether each version that the plan was made from is still the one that its owner calls current."""
    return all(head(key) == version for key, version in basis.items())


OrderAgent = from_functions(
    name="OrderAgent",
    scenario=scenario,
    plan=plan,
    act=act,
    validate=None,  # the mistake: what was planned goes out unchecked. The fix: validate=validate
)
'''

TEST = '''"""Fails until the agent halts or acts on what is current: see `validate` in fencecheck_adapter.py."""

from fencecheck_adapter import OrderAgent

from fencecheck.pytest import suite

test_order_agent = suite(OrderAgent)
'''
