"""The beginnings and ends of a graph's nodes as points, heard through LangChain's callbacks in the config of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler

from fencecheck.errors import BadInput
from fencecheck.run.adapter import name_of

if TYPE_CHECKING:
    from fencecheck.integrations.langgraph import GraphSystem


def node_of(metadata: Mapping[str, Any]) -> str:
    """The name of the node that a run with this metadata is in, or nothing; of a node of a subgraph `outer/inner`."""
    place = str(metadata.get("langgraph_checkpoint_ns") or "")
    return "/".join(part.partition(":")[0] for part in place.split("|"))


class _Nodes:
    """Which runs are nodes: the outermost run in each place of the checkpoint is the node itself, those inside are its parts."""

    run_inline = True  # on the thread and in the order of the graph
    raise_error = True

    def __init__(self, system: GraphSystem) -> None:
        self.system = system
        self.open: dict[UUID, tuple[str, str | None]] = {}

    def begins(self, run_id: UUID, metadata: Mapping[str, Any] | None) -> str | None:
        """The node that begins with this run, or None."""
        place = str((metadata or {}).get("langgraph_checkpoint_ns") or "")
        if not place or any(place == other for other, _ in self.open.values()):
            return None
        node: str | None = node_of(metadata or {})
        if str((metadata or {}).get("langgraph_node")).startswith("__"):
            node = None  # LangGraph's own: where edges of the start are decided
        self.open[run_id] = place, node
        return node

    def ends(self, run_id: UUID) -> str | None:
        """The node that this run was, or None."""
        return self.open.pop(run_id, ("", None))[1]

    def called(self, serialized: Any, name: Any) -> None:
        """Refuses a tool of the graph that is to read or act and is no port: it would do so unseen."""
        tool = name or (serialized or {}).get("name")
        if tool in self.system.unported:
            raise self.system.kit._refuse(
                BadInput(
                    f"{name_of(self.system)}: the graph calls the tool {tool!r}, which is no port, so that what it does goes unseen: "
                    f"give the graph self.port({tool}) in its place, or name it in tools_in_place"
                )
            )

    def planned(self, node: str, outputs: Any) -> tuple[Any, list[Any]] | None:
        """The plan that a node that plans has made, with its parents, or None."""
        entry = self.system.plans.get(node)
        if entry is None or not isinstance(outputs, Mapping):
            return None
        made_from = outputs.get(entry)
        if not isinstance(made_from, Mapping):
            raise BadInput(
                f"{name_of(self.system)}: plans names {entry!r} of the node {node!r}, which returned no mapping of key to version there"
            )
        value = {name: value for name, value in outputs.items() if name != entry}
        return value, list(made_from.items() if self.system.own_store else made_from.values())


class _Plain(_Nodes, BaseCallbackHandler):
    """Of a sync graph."""

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, metadata: dict[str, Any] | None = None, **more: Any) -> None:
        node = self.begins(run_id, metadata)
        if node is not None:
            self.point(node, f"node {node}")

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **more: Any) -> None:
        node = self.ends(run_id)
        if node is None:
            return
        planned = self.planned(node, outputs)
        if planned is not None:
            with self.system.as_agent(node):
                self.system.plan = self.system.kit.derive(*planned)
        self.point(node, f"end of node {node}")

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        self.ends(run_id)

    def on_tool_start(self, serialized: Any, input_str: str, *, name: Any = None, **more: Any) -> None:
        self.called(serialized, name)

    def point(self, node: str, label: str) -> None:
        if self.system.node_points:
            with self.system.as_agent(node):
                self.system.kit.point(label)


class _Awaited(_Nodes, AsyncCallbackHandler):
    """Of an async graph. A plain graph inside a thread has its callbacks run on a loop of their own, where nothing can be awaited for long."""

    def __init__(self, system: GraphSystem) -> None:
        super().__init__(system)
        self.loop = asyncio.get_running_loop()

    async def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, metadata: dict[str, Any] | None = None, **more: Any
    ) -> None:
        node = self.begins(run_id, metadata)
        if node is not None:
            await self.point(node, f"node {node}")

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **more: Any) -> None:
        node = self.ends(run_id)
        if node is None:
            return
        planned = self.planned(node, outputs)
        if planned is not None:
            with self.system.as_agent(node):
                kit = self.system.kit
                self.system.plan = await kit.aio.derive(*planned) if self.here() else kit.derive(*planned)
        await self.point(node, f"end of node {node}")

    async def on_chain_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:
        self.ends(run_id)

    async def on_tool_start(self, serialized: Any, input_str: str, *, name: Any = None, **more: Any) -> None:
        self.called(serialized, name)

    async def point(self, node: str, label: str) -> None:
        if not self.system.node_points:
            return
        with self.system.as_agent(node):
            if self.here():
                await self.system.kit.aio.point(label)
            else:
                self.system.kit.point(label)

    def here(self) -> bool:
        """Whether it is the loop of the episode that runs."""
        return asyncio.get_running_loop() is self.loop


def watch(system: GraphSystem) -> BaseCallbackHandler:
    """What to put among the callbacks of a run, so that each node of it begins and ends with a point."""
    return _Plain(system) if system.runtime == "sync" else _Awaited(system)
