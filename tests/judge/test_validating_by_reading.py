"""What counts as validating where a system asks its own store a second time: the same change between two questions, said of three systems."""

from __future__ import annotations

from typing import Any

import pytest

from fencecheck import Action, AgentSystem, Event, Scenario, Update
from fencecheck.judge import judge
from fencecheck.run.simulate import Runner

A, B = "a", "b"


class Rows(AgentSystem):
    """Reads both keys of its own store, asks for both again, and acts if they are the same."""

    scenario = Scenario(owners={"o": [A], "p": [B]}, actions=[Action("ship", depends_on=[A, B])])
    again = "read"
    derives = False

    def setup(self, kit: Any) -> None:
        super().setup(kit)
        self.rows: dict[str, list[tuple[str, str]]] = {}

    def publish(self, key: str, value: str) -> str:
        rows = self.rows.setdefault(key, [])
        rows.append((f"{key}-etag-{len(rows)}", value))
        return rows[-1][0]

    def true_head(self, key: str) -> str | None:
        return self.rows[key][-1][0] if key in self.rows else None

    def run(self) -> None:
        kit = self.kit
        rows = {key: kit.read(key, via=lambda key=key: self.rows[key][-1]) for key in (A, B)}
        args = {key: value for key, (_, value) in rows.items()}
        plan = kit.derive(args, [etag for etag, _ in rows.values()]) if self.derives else None
        for key in rows:
            getattr(kit, self.again)(key, via=lambda key=key: self.rows[key][-1][0])
        kit.validated([A, B])
        kit.act("ship", args, plan=plan, basis={key: etag for key, (etag, _) in rows.items()})


@pytest.mark.parametrize(
    ("system", "code"),
    [
        ({"again": "head"}, "torn-validation"),  # each was current when it was asked for
        ({"again": "read", "derives": True}, "torn-validation"),
        ({"again": "read"}, "stale-act"),  # it may have planned from what it read last, and validated nothing since
    ],
)
def test_a_key_that_changes_while_the_next_one_is_asked_for(system: dict[str, Any], code: str) -> None:
    runner = Runner(type("Mine", (Rows,), system))
    last_question = runner.horizon - 2
    history = runner.run((), (Event(last_question, Update(A)),))
    assert [finding.code for finding in judge(history).findings] == [code]
