"""Adapters written to files, and the command line run in this process."""

from __future__ import annotations

from click.testing import CliRunner, Result

from fencecheck.cli import main

HEAD = """
from fencecheck import Action, AgentSystem, Scenario, faults

class Naive(AgentSystem):
    scenario = Scenario(owners={"orders": ["order/1"]}, actions=[Action("ship", depends_on=["order/1"])])
    halt_exceptions = (faults.Fault, ValueError)

    def order(self):
        order = self.kit.read("order/1", timeout=1)
        if getattr(order, "key", None) != "order/1":
            raise ValueError("no order")
        return order
"""
RUN = """
    def run(self):
        order = self.order()
        plan = self.kit.derive({"to": order.value}, parents=[order])
        self.kit.act("ship", plan.value, plan=plan)
"""
FENCED = """
    def run(self):
        order = self.order()
        plan = self.kit.derive({"to": order.value}, parents=[order])
        if self.kit.head("order/1", timeout=1) != order.id:
            return self.kit.halted("changed")
        self.kit.validated(["order/1"])
        self.kit.act("ship", plan.value, plan=plan)
"""
NAIVE = HEAD + RUN


def fencecheck(*arguments: object) -> Result:
    """Runs the command line; the result has `stdout`, `stderr` and `exit_code`."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert "Traceback" not in result.output
    return result


def sentence(*arguments: object) -> str:
    """What standard error says of bad input: one line, with the exit status 2 and nothing on standard output."""
    result = fencecheck(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("fencecheck: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("fencecheck: ").rstrip("\n")
