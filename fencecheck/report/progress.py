"""A bar on standard error for what takes long: how much is done, how fast, and how long it still takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
from rich.text import Text


class _Rate(ProgressColumn):
    """Episodes a second, or seconds for each where they are slow."""

    def render(self, task: Task) -> Text:
        """The rate of the last while."""
        speed = task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:,.0f}/s" if speed >= 2 else f"{1 / speed:,.1f} s each")


@contextmanager
def bar() -> Iterator[Callable[[int, int], None]]:
    """Shows a bar while it is open; what it yields is called with (done so far, of how many)."""
    console = Console(stderr=True, highlight=False, markup=False)
    columns = (BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("episodes", total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)
