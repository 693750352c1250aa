"""A team's LangGraph graph, checked as it is: its nodes, its tools and the waits for a person become points.

`GraphSystem` runs the compiled graph from `start()` to its end: it answers each `interrupt` and passes each breakpoint, each of them a
pause before which events can land, and after a restart goes on from the checkpoint with a graph that is built anew. Tools become ports by
`self.port(tool)`. `fence_node` is the fence to put around the node that acts; it works in production, where no episode runs.

What of LangGraph is used is public: `invoke` and `ainvoke` with callbacks in their config, `get_state`, and the checkpointers.
"""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Interrupt
from langsmith import tracing_context

from fencecheck.errors import BadInput
from fencecheck.fence import Halt
from fencecheck.integrations.keys import KeysOf
from fencecheck.integrations.langgraph_fence import FenceState, fence_node
from fencecheck.integrations.langgraph_nodes import node_of, watch
from fencecheck.integrations.langgraph_ports import EPISODE, NoAnswer, in_place, port
from fencecheck.model import Record
from fencecheck.run.adapter import AgentSystem, has_own_store, name_of
from fencecheck.run.faults import MALFORMED, Fault
from fencecheck.run.kit import Kit

__all__ = ["FenceState", "GraphSystem", "NoAnswer", "fence_node"]

Step = tuple[str, Any]
"""What the graph or the person is to be asked: `call` the graph, its `state`, a `pause`, or to `ask` the person."""


class GraphSystem(AgentSystem):
    """Base of the adapters of LangGraph graphs, sync (`runtime = "sync"`, the default) and async (`asyncio`, `asyncio-native`).

    Class attributes, besides those of `AgentSystem`:
        reads: names of tools that read to the key that each reads: `"order/{order}/address"`, in which `{order}` is the argument of that
            name; a list of such keys; or a function of the arguments. The tools that act are those named as actions of the scenario.
        agents: names of nodes to the agent of the scenario that runs them; all others are run by its first.
        tools_in_place: LangChain tools that the graph holds already, where it is not built by a function to which ports could be given: each is
            made a port where it stands, for as long as the check runs.
        plans: names of nodes that plan to the entry of what each returns that says what its plan was made from, as key to version id. The plan
            is then written as a record derived from these versions, and what acts carries out the last plan written. With it reports tell who
            recovered by replanning; without it the judge goes by the values in the arguments alone.
        saver: the checkpointer that `checkpointer()` gives: in memory, or a SQLite file.
        durable: whether what the checkpointer holds outlives a restart of the process.
        durability: LangGraph's own setting, when a checkpoint is saved: with `sync` always before the next step.
        node_points: whether the beginning and the end of each node are points of their own. A restart at the end of a node is one after its
            effects and before its checkpoint.
        thread_id: the thread of the one conversation that an episode is.
        owner_timeout_s: seconds that a port waits for an owner that never answers.

    Sync graphs run the nodes of one step in turn, in the threads of LangGraph: no two at once, so that each run can be repeated. On
    `asyncio` they run side by side in virtual time, and the order of their port calls is part of what is tried. (Of the functional API the
    same holds on `asyncio`; a sync `@entrypoint` must wait for each task before it starts the next.)
    """

    halt_exceptions: ClassVar[tuple[type[BaseException], ...]] = (Halt, Fault, NoAnswer)
    reads: ClassVar[Mapping[str, KeysOf]] = {}
    tools_in_place: ClassVar[Sequence[BaseTool]] = ()
    plans: ClassVar[Mapping[str, str]] = {}
    agents: ClassVar[Mapping[str, str]] = {}
    saver: ClassVar[Literal["memory", "sqlite"]] = "memory"
    durable: ClassVar[bool] = True
    durability: ClassVar[Literal["sync", "async", "exit"]] = "sync"
    node_points: ClassVar[bool] = True
    thread_id: ClassVar[str] = "fencecheck"
    owner_timeout_s: ClassVar[float] = 5.0
    ported: frozenset[str] = frozenset()
    unported: frozenset[str] = frozenset()
    opened: Any = None
    held: list[Any] = []

    # -- what a team writes ------------------------------------------------------------------------------------------

    def graph(self) -> Any:
        """The compiled graph, made by the team's own builder. Called for each life of the process: at the start and after each restart.

        Where it was compiled without a checkpointer, `checkpointer()` is put in. Must be overridden.
        """
        raise BadInput(f"{name_of(self)} has no graph(): define graph(self), which returns the compiled graph")

    def start(self) -> Any:
        """The input of the graph. Must be overridden."""
        raise BadInput(f"{name_of(self)} has no start(): define start(self), which returns the input of the graph")

    def resume(self, interrupt: Interrupt) -> Any:
        """What the person answers to an `interrupt`: a `Command`, or the value for `Command(resume=...)`. May be async in an async system."""
        return True

    def proceed(self, nodes: tuple[str, ...]) -> Any:
        """What the graph is called with after a breakpoint (`interrupt_before`, `interrupt_after`) before `nodes`: None goes on."""
        return None

    def context(self) -> Any:
        """The context of the run, for a graph with a `context_schema`."""
        return None

    def config(self) -> dict[str, Any]:
        """More for the config of each run, such as a `configurable` of the team's own."""
        return {}

    def answer(self, tool: str, read: Any) -> Any:
        """What a tool that reads answers, where the kit answers in its place.

        Args:
            tool: its name.
            read: the record that the owner answered with, or key to record where it reads several keys.

        Returns: by default the value, or key to value.

        Raises:
            NoAnswer: there is no value.
        """
        if isinstance(read, dict):
            return {key: self.answer(tool, record) for key, record in read.items()}
        if read is MALFORMED or (isinstance(read, Record) and read.removed):
            raise NoAnswer(f"{tool} found nothing" if read is not MALFORMED else f"{tool} was answered with garbage")
        return read.value

    # -- what it may use ---------------------------------------------------------------------------------------------

    def port(self, tool: Any, *, reads: KeysOf | None = None, call: bool | None = None, **options: Any) -> Any:
        """A LangChain tool, or a plain or async function, as a port: to be given to the graph in its place.

        One that is named as an action of the scenario acts, one that `reads` names reads; any other is called as ever, and is a point.

        Args:
            tool: the tool or function.
            reads: as in the attribute `reads`, for this one.
            call: whether the tool itself is called too. By default only in a system with a store of its own (`publish` and `true_head`);
                else the kit answers in its place (`answer`), and nothing goes out.
            options: of `kit.act` (`basis`, `plan`, `expect`, `idempotency_key`), each as a value or as a function of the arguments.

        Raises:
            BadInput: it is neither.
        """
        made = port(self, tool, reads, call, options)
        self.ported |= {str(getattr(tool, "name", None) or getattr(tool, "__name__", ""))}
        return made

    def ports(self, *tools: Any) -> list[Any]:
        """Several, each as by `port`."""
        return [self.port(tool) for tool in tools]

    def head(self, key: str) -> Any:
        """The id of the current version of `key`, as its owner says: for `fence_node`. To be awaited in an async system."""
        system = EPISODE.get() or self
        if self.runtime != "sync" and asyncio._get_running_loop() is not None:
            return system._head_later(key)
        with system.as_agent():  # also in the thread in which LangGraph runs a plain node of an async graph
            return system.kit.head(key, timeout=self.owner_timeout_s)

    async def _head_later(self, key: str) -> Any:
        with self.as_agent():
            return await self.kit.aio.head(key, timeout=self.owner_timeout_s)

    def checkpointer(self) -> Any:
        """The checkpointer of this episode."""
        return self._saver

    @contextmanager
    def as_agent(self, node: str | None = None) -> Iterator[None]:
        """What is called inside is done by the agent of `node`, by default of the node that runs."""
        if not self.agents:
            yield
            return
        if node is None:
            try:
                node = node_of(get_config().get("metadata") or {})
            except RuntimeError:  # no node runs
                node = ""
        parts = node.split("/")
        agent = next((self.agents[name] for name in (node, parts[-1], *parts[:-1]) if name in self.agents), None)
        with self.kit.agent(agent or self.kit.scenario.agents[0]):
            yield

    # -- a worker, an episode, a life --------------------------------------------------------------------------------

    def open(self) -> Any:
        """Opens the checkpoint file and makes ports of `tools_in_place`, once for each worker."""
        self.held = []
        try:
            for tool in self.tools_in_place:
                self.held.append(in_place(self, tool))
        except BaseException:  # what does not open is not shut down
            self._put_back()
            raise
        if self.saver == "sqlite" and self.runtime == "asyncio-native":
            return self._open_native()
        if self.saver == "sqlite":
            self.folder = tempfile.TemporaryDirectory()
            self.opened = sqlite_saver(Path(self.folder.name) / "checkpoints.sqlite", awaited=self.runtime != "sync")
        return None

    async def _open_native(self) -> None:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        self.folder = tempfile.TemporaryDirectory()
        self._opening = AsyncSqliteSaver.from_conn_string(str(Path(self.folder.name) / "checkpoints.sqlite"))
        self.opened = await self._opening.__aenter__()
        await self.opened.conn.execute("PRAGMA synchronous=OFF")

    def shutdown(self) -> Any:
        """Closes the file, and gives the tools back as they were."""
        self._put_back()
        if self.opened is None:
            return None
        if self.runtime == "asyncio-native":
            return self._shutdown_native()
        self.opened.conn.close()
        self.folder.cleanup()
        return None

    def _put_back(self) -> None:
        for put_back in self.held:
            put_back()

    async def _shutdown_native(self) -> None:
        await self._opening.__aexit__(None, None, None)
        self.folder.cleanup()

    def setup(self, kit: Kit) -> Any:
        """An empty checkpointer, and nothing of an earlier episode."""
        super().setup(kit)
        self.own_store = has_own_store(self)
        self.acting = frozenset(action.name for action in kit.scenario.actions)
        self.halted: dict[Any, tuple[str, str]] = {}  # fence to the step in which it halted, and why
        self.plan: Record | None = None  # the last that was written
        self._begun, self._own_saver = False, False
        self._asked: tuple[Any, ...] | None = None  # what a person was asked, who remembers it over a restart
        self._saver = InMemorySaver() if self.saver == "memory" else self.worker.opened
        if self._saver is None:
            raise BadInput(f"{name_of(self)}: open() opens the checkpoint file: let yours call super().open()")

    def teardown(self) -> Any:
        """Empties the checkpointer."""
        if self.saver == "memory":
            return None
        if self.runtime == "asyncio-native":
            return self._saver.adelete_thread(self.thread_id)
        self._saver.delete_thread(self.thread_id)
        return None

    def restart(self) -> Any:
        """The process dies: the graph is built anew, and goes on from the checkpoint where that is durable."""
        self.halted = {}
        if self.durable:
            return None
        self._asked, self._begun = None, False
        if self.saver == "memory":
            self._saver = InMemorySaver()
            return None
        return self.teardown()

    def run(self) -> Any:
        """One conversation, from `start()` or from the checkpoint to its end."""
        return self._run() if self.runtime == "sync" else self._run_awaited()

    def _run(self) -> None:
        graph, config = self._built()
        steps = self._steps()
        with self._running():
            step: Step | None = next(steps)
            while step is not None:
                step = _next(steps, self._taken(step, graph, config))

    async def _run_awaited(self) -> None:
        graph, config = self._built()
        steps = self._steps()
        with self._running():
            step: Step | None = next(steps)
            while step is not None:
                step = _next(steps, await self._awaited(step, graph, config))

    def _taken(self, step: Step, graph: Any, config: Any) -> Any:
        what, about = step
        if what == "call":
            return graph.invoke(about, config, context=self.context(), durability=self.durability)
        if what == "state":
            return graph.get_state(config)
        if what == "ask":
            return self.resume(about)
        with self.as_agent(about[0]):
            self.kit.pause(about[1])
        return None

    async def _awaited(self, step: Step, graph: Any, config: Any) -> Any:
        what, about = step
        if what == "call":
            return await graph.ainvoke(about, config, context=self.context(), durability=self.durability)
        if what == "state":
            return await graph.aget_state(config)
        if what == "ask":
            answer = self.resume(about)
            return await answer if inspect.isawaitable(answer) else answer
        with self.as_agent(about[0]):
            await self.kit.aio.pause(about[1])
        return None

    @contextmanager
    def _running(self) -> Iterator[None]:
        """What runs inside is of this episode, and is traced nowhere."""
        token = EPISODE.set(self)
        try:
            with tracing_context(enabled=False):
                yield
        finally:
            EPISODE.reset(token)

    def _built(self) -> tuple[Any, Any]:
        graph = self.graph()
        if not all(callable(getattr(graph, method, None)) for method in ("invoke", "ainvoke", "get_state")):
            raise BadInput(f"{name_of(self)}: graph() must return a compiled graph, not {graph!r}: write builder.compile(...)")
        ported = self.ported | getattr(self.worker, "ported", frozenset())
        for name in self.reads:
            if name not in ported:
                raise BadInput(
                    f"{name_of(self)}: reads names {name!r}, but the tools that were made ports are {', '.join(sorted(ported)) or 'none'}: "
                    "correct its name, or give the graph self.port(...) of it"
                )
        if getattr(graph, "checkpointer", None) in (None, False):
            graph = graph.copy(update={"checkpointer": self.checkpointer()})
        self._own_saver = graph.checkpointer is not self._saver
        own = self.config()
        # an @entrypoint waits in one thread for its tasks in others
        in_turn = self.runtime == "sync" and isinstance(graph, CompiledStateGraph)
        config: dict[str, Any] = {"max_concurrency": 1} if in_turn else {}
        config |= own | {"configurable": {"thread_id": self.thread_id} | own.get("configurable", {})}
        self.unported = self.acting - ported
        if self.node_points or self.plans or self.unported:
            config["callbacks"] = [*own.get("callbacks", ()), watch(self)]
        return graph, config

    def _steps(self) -> Generator[Step, Any, None]:
        """What is asked of the graph and of the person, in order; the sync and the async run carry it out."""
        given: Any = None
        if not self._begun:
            if self._own_saver and (yield "state", None).created_at is not None:
                raise BadInput(
                    f"{name_of(self)}: the checkpointer of the graph still holds an earlier episode: compile the graph with "
                    "self.checkpointer() or without one, or empty yours in teardown()"
                )
            self._begun, given = True, self.start()
        elif self._asked is None:
            snapshot = yield "state", None
            if snapshot.created_at is None:
                given = self.start()
            elif not snapshot.next:
                return  # it had ended
        while True:
            if self._asked is None:
                yield "call", given
                snapshot = yield "state", None
                if not snapshot.next:
                    if self.halted:
                        self.kit.halted("; ".join(why for _, why in self.halted.values()))
                    return
                self._asked = tuple(snapshot.tasks)
            given = yield from self._wait(self._asked)
            self._asked = None

    def _wait(self, tasks: tuple[Any, ...]) -> Generator[Step, Any, Any]:
        """The person is asked: what the graph is called with then."""
        questions = [(task.name, interrupt) for task in tasks for interrupt in task.interrupts]
        if not questions:
            nodes = tuple(task.name for task in tasks)
            yield "pause", (nodes[0], f"before {' and '.join(nodes)}")
            return self.proceed(nodes)
        answers = []
        for node, interrupt in questions:
            yield "pause", (node, node)
            answer = yield "ask", interrupt
            if answer is None:
                raise BadInput(f"{name_of(self)}: resume() returned None, which LangGraph takes for no answer: return what the person says")
            answers.append(answer if isinstance(answer, Command) else Command(resume=answer))
        if len(answers) == 1:
            return answers[0]
        if any(replace(answer, resume=None) != Command() for answer in answers):
            raise BadInput(
                f"{name_of(self)}: resume() returned a Command with more than resume= where {len(answers)} waits are answered at once, "
                "which LangGraph takes as one: return the value that resumes"
            )
        return Command(resume={interrupt.id: answer.resume for (_, interrupt), answer in zip(questions, answers, strict=True)})

    def still_declared(self, action: str, keys: tuple[str, ...]) -> tuple[str, ...]:
        """`keys` without those whose declaration for `action` this episode drops."""
        declares = self.kit.scenario.action(action)
        if declares is None or declares.declares_by_arguments:
            return keys
        kept = self.kit.declared(action)
        dropped = {key for key in declares.declared_keys() if key not in kept}
        return tuple(key for key in keys if key not in dropped)


def _next(steps: Generator[Step, Any, None], answer: Any) -> Step | None:
    """The step after `answer`, or None at the end."""
    try:
        return steps.send(answer)
    except StopIteration:
        return None


def sqlite_saver(path: Path, *, awaited: bool) -> Any:
    """A SQLite checkpointer on a file of its own.

    Args:
        path: the file.
        awaited: whether its async methods are to work too. They answer at once, on the caller's thread, as virtual time wants it.
    """
    from langgraph.checkpoint.sqlite import SqliteSaver

    from fencecheck.integrations.langgraph_saver import AwaitedSqliteSaver

    connection = sqlite3.connect(path, check_same_thread=False)
    made = (AwaitedSqliteSaver if awaited else SqliteSaver)(connection)
    made.setup()
    # nobody else opens the file, and power cuts are not what is tested
    for setting in ("synchronous=OFF", "locking_mode=EXCLUSIVE", "journal_mode=MEMORY"):
        connection.execute(f"PRAGMA {setting}")
    return made
