"""What stands for the landing once the episode is over: a late call, of a thread that was left running, reaches no other episode."""

from __future__ import annotations

import sys
import threading
from typing import Any

from fencecheck.run.faults import EpisodeOver
from fencecheck.run.lines import inside_run


class _Closed:
    def __getattr__(self, name: str) -> Any:
        raise over()


def over() -> BaseException:
    """What is raised by a late call. Its thread is ended as Python ends threads quietly: nobody could do anything about a traceback."""
    late = threading.current_thread() is not threading.main_thread() and not inside_run(sys._getframe())
    return SystemExit() if late else EpisodeOver("the episode is over")


CLOSED: Any = _Closed()
