"""The team's own application: an agent that deploys services, and a person who approves each deployment.

An agent of the OpenAI Agents SDK with three tools. `get_release` and `get_region` read, `deploy` acts and needs approval; they are plain
functions, which the SDK runs in threads. While it waits for the person, the run is what `RunState` has written down of it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

from agents import Agent, Model, ModelResponse, TResponseInputItem, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from fencecheck.integrations.openai_agents import Fence


class Clients(Protocol):
    """The services behind the tools."""

    def get(self, key: str) -> dict[str, Any]:
        """The current version of a fact, as `{"version": ..., "value": ...}`."""

    async def head(self, key: str) -> str:
        """The id of the current version."""

    def depends_on(self) -> tuple[str, ...]:
        """The facts on which a deployment is declared to depend."""

    def validated(self, basis: Mapping[str, str]) -> None:
        """Notes in the audit log which versions were current."""

    def roll_out(self, image: str, region: str) -> str:
        """Deploys the image; the number of the deployment."""


READS = {"get_release": "service/{service}/release", "get_region": "service/{service}/region"}
"""The tools that read, and the fact that each asks for."""


class ScriptedModel(Model):
    """The stand-in for the model: reads the release and the region, deploys, and starts again where it is told to."""

    async def get_response(
        self, system_instructions: str | None, input: str | list[TResponseInputItem], *_: Any, **__: Any
    ) -> ModelResponse:
        said: list[Any] = input if isinstance(input, list) else []
        names = {item["call_id"]: item["name"] for item in said if item.get("type") == "function_call"}
        answers = [(names[item["call_id"]], item["output"]) for item in said if item.get("type") == "function_call_output"]
        return ModelResponse(output=self.decide(answers), usage=Usage(), response_id=None)

    def decide(self, answers: list[tuple[str, str]]) -> list[Any]:
        number = len(answers)
        if not answers or answers[-1][1].startswith("Not done"):
            return [called(f"{tool}-{number}", tool, service="shop") for tool in READS]
        if answers[-1][0] == "get_region":
            try:
                release, region = (ast.literal_eval(output)["value"] for _, output in answers[-2:])
            except (SyntaxError, ValueError):  # what the SDK makes of an error is no dict
                return [message("The release or the region cannot be read.")]
            return [called(f"deploy-{number}", "deploy", image=release, region=region)]
        return [message(answers[-1][1])]

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def called(id: str, tool: str, **args: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(call_id=id, name=tool, arguments=json.dumps(args), type="function_call")


def message(text: str) -> ResponseOutputMessage:
    content = [ResponseOutputText(text=text, type="output_text", annotations=[])]
    return ResponseOutputMessage(id="message", content=content, role="assistant", status="completed", type="message")  # type: ignore[arg-type]


def build(clients: Clients) -> Agent[Any]:
    """The agent."""

    @function_tool
    def get_release(service: str) -> dict[str, Any]:
        """The image that is released for a service."""
        return clients.get(READS["get_release"].format(service=service))

    @function_tool
    def get_region(service: str) -> dict[str, Any]:
        """The region in which a service is to run."""
        return clients.get(READS["get_region"].format(service=service))

    @function_tool(needs_approval=True)
    def deploy(image: str, region: str) -> str:
        """Rolls an image out in a region."""
        return clients.roll_out(image, region)

    return Agent("deployer", model=ScriptedModel(), tools=[get_release, get_region, deploy])


def build_fenced(clients: Clients) -> Agent[Any]:
    """The agent whose deployments go out only if what they were decided from is current, right before the roll-out."""
    fence = Fence(
        reads=READS,
        acts={"deploy": lambda args: clients.depends_on()},
        head=clients.head,
        validated=clients.validated,
        timeout_s=5.0,
    )
    return fence.around(build(clients))
