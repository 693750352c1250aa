"""The coding agent that the compared file systems share: it reads a file, thinks, and writes the whole file back from what it had read.

What differs between them is the stamp by which they know that the file is as they read it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from fencecheck.integrations.files import FileSystem

NOTES = "notes.md"


class Changed(Exception):
    """The file is not as it was read."""


class Editor(FileSystem):
    """Adds a line to the notes, if their stamp is what it was when it read them."""

    files = {NOTES: ""}
    halt_exceptions: ClassVar[tuple[type[BaseException], ...]] = (*FileSystem.halt_exceptions, Changed)

    def run(self) -> None:
        content, before = self.kit.read(NOTES, via=self.read_tool)
        self.kit.point("the model thinks")
        self.refuse_changed(before)
        self.write(NOTES, f"{content}- done by the agent\n")

    def read_tool(self) -> tuple[str, Any]:
        """The content, and its stamp."""
        return (self.root / NOTES).read_bytes().decode(), self.stamp()

    def refuse_changed(self, before: Any) -> None:
        """Raises `Changed` where the stamp is another than `before`."""
        if self.kit.head(NOTES, via=self.stamp) != before:
            raise Changed("the notes were saved meanwhile: read them again")
        self.kit.validated([NOTES])

    def stamp(self) -> Any:
        """What it compares."""
        raise NotImplementedError
