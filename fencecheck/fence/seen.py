"""What a fence remembers of the owners that it asked."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock


class Seen:
    """What a fence remembers of its owners between calls: the last verified head of each key and those known to be superseded.

    Safe to share between threads. Forgetting loses only the detection of owners that go back, which the paper assumes do not exist; so both
    bounds are safe, and keep the memory of a fence that lives long from growing.

    Args:
        max_keys: keys remembered; beyond that the one noted first is forgotten.
        max_ids: superseded versions remembered per key.
    """

    __slots__ = ("_lock", "_max_ids", "_max_keys", "_noted", "_past", "clock", "heads")

    def __init__(self, max_keys: int = 65_536, max_ids: int = 1_024) -> None:
        self.heads: dict[str, str] = {}
        self.clock = 0
        self._noted: dict[str, int] = {}
        self._past: dict[str, dict[str, None]] = {}
        self._max_keys = max_keys
        self._max_ids = max_ids
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"<Seen: {len(self.heads)} keys>"

    def older(self, key: str, head: str) -> bool:
        """Whether `head` is known to have been superseded."""
        past = self._past.get(key)
        return past is not None and head in past

    def note(self, key: str, head: str, asked: int, before: Sequence[str] = ()) -> None:
        """Remember that the owner answered `head`, a verified version of `key`, to a question put when the clock stood at `asked`.

        Args:
            key, head, asked: as above.
            before: versions that are certainly older than `head`.
        """
        with self._lock:
            past = self._past.get(key)
            if past is None:
                past = self._open(key)
                if not before:  # the first answer of all, made quick: an agent that lives for one plan sees no other kind
                    self.clock = self._noted[key] = self.clock + 1
                    self.heads[key] = head
                    return
            elif head in past:
                return
            last = self.heads.get(key)
            older = [version for version in before if version != head]
            # A head noted after the question was put may be the newer of the two.
            if last is not None and last != head and (last in older or self._noted[key] <= asked):
                older.append(last)
                last = None
            if last is None:
                self.clock = self._noted[key] = self.clock + 1
                self.heads[key] = head
            past.update(dict.fromkeys(older))
            while len(past) > self._max_ids:
                del past[next(iter(past))]

    def _open(self, key: str) -> dict[str, None]:
        if len(self._past) >= self._max_keys:
            oldest = next(iter(self._past))
            for table in (self._past, self.heads, self._noted):
                table.pop(oldest, None)
        past = self._past[key] = {}
        return past
