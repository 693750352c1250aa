"""LangGraph's SQLite checkpointer for async graphs in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver


class AwaitedSqliteSaver(SqliteSaver):
    """LangGraph's `SqliteSaver`, whose async methods answer at once, on the caller's thread.

    LangGraph's own `AsyncSqliteSaver` asks a thread and so takes real time, of which there is none on our loop.
    """

    async def aget_tuple(self, config: Any) -> Any:
        """As `get_tuple`."""
        return self.get_tuple(config)

    async def alist(self, config: Any, *, filter: Any = None, before: Any = None, limit: int | None = None) -> AsyncIterator[Any]:
        """As `list`."""
        for found in self.list(config, filter=filter, before=before, limit=limit):
            yield found

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """As `put`."""
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """As `put_writes`."""
        self.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        self.delete_thread(thread_id)
