"""The adapters: `fencecheck check examples/javascript_orders/system.py:Naive`, and `:Fenced`."""

from __future__ import annotations

from fencecheck import Action, Scenario
from fencecheck.integrations.http import HttpSystem

ADDRESS, WINDOW = "order/42/address", "order/42/window"


class Orders(HttpSystem):
    """What both variants share."""

    scenario = Scenario(
        owners={"orders": [ADDRESS], "calendar": [WINDOW]},
        actions=[Action("deliver", depends_on=[ADDRESS, WINDOW])],
        values={
            ADDRESS: ["2-21 Shibuya, Tokyo", "3-1 Umeda, Osaka", "5-4 Sakae, Nagoya", "1-8 Hakata, Fukuoka"],
            WINDOW: ["Monday 09:00 to 11:00", "Tuesday 14:00 to 16:00", "Thursday 10:00 to 12:00", "Friday 17:00 to 19:00"],
        },
    )


class Naive(Orders):
    """Sends the approved plan as it is."""

    command = ["node", "agent.js", "naive"]


class Fenced(Orders):
    """Has the approved plan cleared right before the delivery tool is called."""

    command = ["node", "agent.js", "fenced"]
