"""Writes a file back if the hash of its content, taken right before, is that of what it had read."""

from __future__ import annotations

import hashlib

from fencecheck.systems.editor import NOTES, Editor


class FileHash(Editor):
    """Compares a hash of the content right before it writes the file back."""

    name = "file-hash"

    def stamp(self) -> str:
        """SHA-256 of the bytes on disk."""
        return hashlib.sha256((self.root / NOTES).read_bytes()).hexdigest()
