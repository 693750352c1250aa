"""The adapters: `fencecheck check examples/openai_agents_deployment/check_deployments.py:NaiveDeployment`, and `:FencedDeployment`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments import READS, build, build_fenced

from fencecheck import Action, Kit, Scenario
from fencecheck.integrations.openai_agents import OpenAIAgentsSystem

RELEASE, REGION = "service/shop/release", "service/shop/region"


class Services:
    """The application's services: each fact with its versions, and what was rolled out."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.facts: dict[str, list[str]] = {}
        self.deployed: list[tuple[str, str]] = []

    def get(self, key: str) -> dict[str, Any]:
        return {"version": self.current(key), "value": self.facts[key][-1]}

    def current(self, key: str) -> str | None:
        return f"{key}#{len(self.facts[key])}" if key in self.facts else None

    async def head(self, key: str) -> str:
        return await self.kit.aio.head(key, via=lambda: self.current(key))  # type: ignore[no-any-return]

    def depends_on(self) -> tuple[str, ...]:
        return self.kit.declared("deploy")

    def validated(self, basis: Mapping[str, str]) -> None:
        self.kit.validated(basis)

    def roll_out(self, image: str, region: str) -> str:
        self.deployed.append((image, region))
        return f"deployment {len(self.deployed)}"


class NaiveDeployment(OpenAIAgentsSystem):
    """Deploys what was approved."""

    scenario = Scenario(
        owners={"registry": [RELEASE], "platform": [REGION]},
        actions=[Action("deploy", depends_on=[RELEASE, REGION])],
        values={
            RELEASE: ["shop:4.1.0", "shop:4.0.9", "shop:4.1.1", "shop:4.2.0"],
            REGION: ["eu-west", "ap-northeast", "us-east", "eu-north"],
        },
    )
    prompt = "Deploy the shop."
    reads = READS

    def setup(self, kit: Kit) -> None:
        super().setup(kit)
        self.services = Services(kit)

    def build(self) -> Any:
        return build(self.services)

    def publish(self, key: str, value: str) -> str | None:
        self.services.facts.setdefault(key, []).append(value)
        return self.services.current(key)

    def true_head(self, key: str) -> str | None:
        return self.services.current(key)


class FencedDeployment(NaiveDeployment):
    """Has each deployment cleared by PlanFence right before the roll-out."""

    def build(self) -> Any:
        return build_fenced(self.services)
