"""An action that declares no key can never be found stale: what was not tested must not look tested."""

from __future__ import annotations

import pytest

from fencecheck import Action, AgentSystem, Scenario, check

KEY = "order/1"


def system(*actions: Action) -> type[AgentSystem]:
    class Acts(AgentSystem):
        scenario = Scenario(owners={"orders": [KEY]}, actions=actions)

        def run(self) -> None:
            order = self.kit.read(KEY, timeout=1)
            self.kit.pause()
            for action in actions:
                self.kit.act(action.name, {"to": getattr(order, "value", "")})

    return Acts


NOTHING = [Action("ship"), Action("ship", depends_on=[KEY], declared=[]), Action("ship", depends_on=lambda _: [])]


@pytest.mark.parametrize("action", NOTHING, ids=["nothing", "declared", "by-arguments"])
def test_an_action_without_keys_is_inconclusive(action: Action) -> None:
    report = check(system(action), max_events=1)
    assert (report.verdict, report.exit_status) == ("inconclusive", 3)
    assert report.why == "ship declares no key that it depends on, so nothing was tested: give its Action depends_on=[...]"


@pytest.mark.parametrize("action", [Action("ship", depends_on=[KEY]), Action("ship", depends_on=lambda _: [KEY])])
def test_one_action_with_keys_is_judged_beside_one_without(action: Action) -> None:
    report = check(system(Action("log"), action), max_events=1)
    assert report.verdict == "violated"
    assert "stale-act" in [failure.code for failure in report.failures]
