"""Some episodes of a search, run a second time after it: one interleaving is to give one history, not only where there are no events.

Which ones does not depend on chance: every so many, more thinly the more there are.
"""

from __future__ import annotations

from collections.abc import Callable

from fencecheck.errors import Nondeterministic
from fencecheck.history import History, first_difference
from fencecheck.interleaving import Event
from fencecheck.run.elsewhere import Elsewhere
from fencecheck.run.simulate import Runner
from fencecheck.search.placing import Dropped
from fencecheck.search.preflight import difference, past_its_ports

EVERY = 4
"""One episode of so many is run again, as long as they are few."""
MOST = 64


class Again:
    """The episodes that are to be run a second time."""

    def __init__(self) -> None:
        self._kept: list[tuple[Runner | Elsewhere, Dropped, tuple[Event, ...], History]] = []
        self._seen, self._every = 0, EVERY

    def keep(self, where: Runner | Elsewhere, dropped: Dropped, events: tuple[Event, ...], history: History) -> None:
        """Notes an episode, if its turn has come."""
        self._seen += 1
        if self._seen % self._every:
            return
        self._kept.append((where, dropped, events, history))
        if len(self._kept) > MOST:
            self._kept, self._every = self._kept[1::2], 2 * self._every

    def compare(self, runner: Runner, in_time: Callable[[], bool]) -> None:
        """Runs them a second time. Not of a system in whose runs real time or an order of its own has a say.

        Args:
            in_time: whether there is time left.

        Raises:
            Nondeterministic: one of them came out otherwise.
        """
        if runner.runtime_name == "asyncio-native" or runner.own_order:
            return
        for where, dropped, events, before in self._kept:
            if not in_time():
                return
            after = where.run(dropped, events)
            at = first_difference(before, after)
            if at is not None:
                raise Nondeterministic(
                    f"{runner.name} is not deterministic: an interleaving of the search came out otherwise when it was run again: "
                    f"{difference(before, after, at)}{past_its_ports(runner)}"
                )
