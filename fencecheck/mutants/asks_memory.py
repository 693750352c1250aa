"""Compares with what the agent remembers instead of asking the owner."""

from __future__ import annotations

from typing import Any

from fencecheck.mutants.plain import PlainFence


class AsksMemory(PlainFence):
    """Compares with what the agent remembers instead of asking the owner."""

    name = "asks-memory"

    def ask(self, key: str) -> Any:
        return self.kit.memory(key).id
