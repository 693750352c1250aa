"""What a system asks past its ports: clocks, chance, sleeps, sockets, other processes. None of it can be repeated.

Heard by a profile function in one episode of the preflight, so that no episode of a search pays for it, nothing is patched, and it does not
matter how a name was imported. What runs inside a port (`via=`), a hook, `setup`, `teardown`, `open` or `shutdown` may ask what it likes, as
may a planner whose decisions are held fixed, and what the event loops ask is not the system's. Code in other languages is not heard.
"""

from __future__ import annotations

import _socket
import datetime
import gc
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from fencecheck.run.raised import is_library

_RUN = Path(__file__).parent
_PORTS = frozenset(str(_RUN / name) for name in ("kit.py", "aio.py", "landing.py", "tools.py", "decisions.py"))
_SIMULATE = str(_RUN / "simulate.py")
_BESIDE = frozenset({"_episode", "whole", "_call_once", "awaited"})
"""The functions of `simulate` that call `setup` and `teardown`, `open` and `shutdown`."""
_QUIET = frozenset({"asyncio", "trio", "outcome", "concurrent", "threading", "queue", "selectors", "logging", "fencecheck"})
"""Packages that ask for themselves."""
_GLOBAL = random.random.__self__  # type: ignore[attr-defined]  # the generator that the functions of `random` share
_FUNCTIONS = {
    "time": {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep"},
    "posix": {"urandom", "getrandom", "fork", "system", "posix_spawn", "posix_spawnp"},
    "nt": {"urandom", "system"},
    "select": {"select"},
    "_socket": {"getaddrinfo", "gethostbyname"},
    "_posixsubprocess": {"fork_exec"},
    "_winapi": {"CreateProcess"},
    "_uuid": {"generate_time_safe", "UuidCreate"},
}
_OF_SOCKETS = frozenset({"connect", "connect_ex", "bind", "accept", "send", "sendall", "sendto", "recv", "recv_into", "recvfrom"})
_NAMES = frozenset({"now", "utcnow", "today", "random", "getrandbits", "seed", "poll"}).union(_OF_SOCKETS, *_FUNCTIONS.values())
_CHANCE, _IDS = ("random.", "secrets."), "secrets.token_"
"""Functions that answer by chance, where the system itself calls them; and those of them that make what only names something."""
_MOST_TOLD = 3


class Outside:
    """What was heard.

    Attributes:
        heard: each as `uuid.uuid4 in agent.py:12`, in order.
        chance: those of them with which the system itself can decide what it does: not an id or a token, nor what a framework asks for its own.
    """

    def __init__(self) -> None:
        self.heard: dict[str, None] = {}
        self.chance: dict[str, None] = {}
        self._seeded = False

    def told(self) -> str:
        """The first few of it, or nothing."""
        return _first(self.heard)

    def told_of_chance(self) -> str:
        """The first few of what is asked of chance, or nothing."""
        return _first(self.chance)

    def __call__(self, frame: FrameType, event: str, what: Any) -> None:
        if event != "c_call" or what.__name__ not in _NAMES:
            return
        name = _asked(what)
        if name == "random.seed":
            self._seeded = frame.f_locals.get("a") is not None
        elif name is not None and not (self._seeded and name.startswith("random.")):
            caller = _caller(frame)
            if caller is not None:
                function, place = caller
                said = f"{function or name} in {place}"
                self.heard.setdefault(said)
                if said.startswith(_CHANCE) and not said.startswith(_IDS):
                    self.chance.setdefault(said)


def _first(heard: dict[str, None]) -> str:
    said = list(heard)
    more = f" and {len(said) - _MOST_TOLD} more" if len(said) > _MOST_TOLD else ""
    return ", ".join(said[:_MOST_TOLD]) + more


@contextmanager
def listening() -> Iterator[Outside]:
    """Hears what is asked inside, unless somebody profiles the process already."""
    outside = Outside()
    if sys.getprofile() is not None:
        yield outside
        return
    collects = gc.isenabled()
    gc.disable()  # what is called when garbage is collected looks as if the system called it
    sys.setprofile(outside)
    threading.setprofile(outside)
    try:
        yield outside
    finally:
        threading.setprofile(None)
        sys.setprofile(None)
        if collects:
            gc.enable()


def _asked(function: Any) -> str | None:
    """The name under which people know a function that is implemented in C, if it is one of those."""
    name, owner = function.__name__, function.__self__
    if name in _FUNCTIONS.get(function.__module__ or "", ()):
        return f"{'os' if function.__module__ in ('posix', 'nt') else function.__module__.lstrip('_')}.{name}"
    if owner is _GLOBAL:
        return f"random.{name}"
    if isinstance(owner, type):
        return f"datetime.{name}" if issubclass(owner, datetime.date) else None
    if isinstance(owner, _socket.socket) and name in _OF_SOCKETS:
        return f"socket.{name}"
    return f"select.{name}" if type(owner).__module__ == "select" else None


def _caller(frame: FrameType) -> tuple[str, str] | None:
    """The function of a library that the system called, if it did, and the place in the system. None: it was not the system that asked."""
    if str(frame.f_globals.get("__name__", "")).partition(".")[0] in _QUIET:
        return None
    library, own = "", ""
    inside: FrameType | None = frame
    while inside is not None:
        code = inside.f_code
        if code.co_filename in _PORTS or (code.co_filename == _SIMULATE and code.co_name in _BESIDE):
            return None
        if code.co_filename.startswith(str(_RUN)) and code.co_name in ("_run", "_awaited_run", "_pass", "_in_turn", "run"):
            break
        if not own and is_library(code.co_filename):
            library = f"{inside.f_globals.get('__name__')}.{code.co_qualname}"
        elif not own:
            own = f"{Path(code.co_filename).name}:{inside.f_lineno}"
        inside = inside.f_back
    return (library.replace("random.Random.", "random."), own) if own else None
