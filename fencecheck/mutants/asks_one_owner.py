"""Asks for the first declared key and takes the others to be as current."""

from __future__ import annotations

from typing import Any

from fencecheck.mutants.plain import PlainFence


class AsksOneOwner(PlainFence):
    """Asks for the first declared key and takes the others to be as current."""

    name = "asks-one-owner"

    def ask(self, key: str) -> Any:
        return super().ask(key) if key == self.declared()[0] else self.inputs[key].id
