"""Reads a file, thinks, and writes the whole file back: whatever was saved meanwhile is gone."""

from __future__ import annotations

from typing import Any

from fencecheck.systems.editor import Editor


class FileNaive(Editor):
    """Writes back the whole file that it read, and looks at nothing before."""

    name = "file-naive"

    def refuse_changed(self, before: Any) -> None:
        """It does not look."""

    def stamp(self) -> None:
        """Nor does it keep anything to compare."""
