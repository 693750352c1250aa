"""A temporary directory that one worker uses for all its episodes, and that is gone when it ends.

Also where it was killed, as far as possible: each directory is locked while its process lives, and whoever makes one first removes those that
nobody holds any more. Where the platform has no `flock`, that part is left out.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on POSIX
    fcntl = None  # type: ignore[assignment]

PREFIX = "fencecheck-files-"
_LOCK = "lock"


class Directory:
    """Makes the directory below the system's folder for temporary files (`TMPDIR`).

    Attributes:
        root: where the files of an episode are.
    """

    root: Path

    def __init__(self) -> None:
        self._make()

    def _make(self) -> None:
        self._top, self._lock = _made_and_locked()
        self._finalizer = weakref.finalize(self, _remove, self._top, self._lock, os.getpid())
        self._is = _identity(self._top)
        self.root = self._top / "root"
        self.root.mkdir()
        new = self.root / "new"
        new.touch()
        self._mode = new.stat().st_mode

    def clear(self, keep: Iterable[str] = ()) -> None:
        """Removes everything in it, whatever an episode left there, but for plain files that were made as the first one was.

        Nothing outside is touched: what leads out of it is removed itself. Where the directory is not the one that was made any more, another
        is made.

        Args:
            keep: paths relative to `root` of files that may stay, as they will be written anew: on a disk, removing a file takes fifty times as
                long as writing one.
        """
        if _identity(self._top) != self._is:
            self._finalizer()
            self._make()
        paths = {os.path.join(self.root, path) for path in keep}
        try:
            if os.path.islink(self.root):
                os.unlink(self.root)
            self._empty(str(self.root), paths)
        except (OSError, RecursionError):  # a folder without permissions, or one of many in each other, or the root itself is gone
            _remove_tree(self.root)
            self.root.mkdir()

    def _empty(self, folder: str, keep: set[str]) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    self._empty(entry.path, keep)
                    if not any(path.startswith(entry.path + os.sep) for path in keep):
                        os.rmdir(entry.path)
                elif entry.path not in keep or self._is_special(entry.stat(follow_symlinks=False)):
                    os.unlink(entry.path)

    def _is_special(self, about: os.stat_result) -> bool:
        """Whether it is a link, or has permissions or names that a new file would not have."""
        return about.st_nlink != 1 or about.st_mode != self._mode

    def close(self) -> None:
        """Removes the directory."""
        self._finalizer()


def _made_and_locked() -> tuple[Path, int]:
    _sweep()
    while True:
        top = Path(os.path.realpath(tempfile.mkdtemp(prefix=PREFIX)))
        lock = os.open(top / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        if _locks(lock) and top.exists():
            return top, lock
        os.close(lock)  # somebody took it for one that was left behind


def _locks(lock: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sweep() -> None:
    """Removes what killed processes left behind: the directories whose lock can be had."""
    if fcntl is None:
        return
    for top in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            lock = os.open(top / _LOCK, os.O_RDWR)
        except OSError:  # somebody else's, or one that is just being made
            continue
        try:
            if _locks(lock):
                _remove_tree(top)
        finally:
            os.close(lock)


def _remove(top: Path, lock: int, owner: int) -> None:
    if os.getpid() == owner:  # a forked child holds the same lock, and leaves the directory to its parent
        _remove_tree(top)
        os.close(lock)


def _identity(top: Path) -> tuple[int, int] | None:
    """Which directory stands there, whatever its name; None for none."""
    try:
        found = os.lstat(top)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def _remove_tree(top: Path) -> None:
    with suppress(RecursionError):
        shutil.rmtree(top, ignore_errors=True)
    if top.is_dir() and not top.is_symlink():  # a folder that may not be looked into, or folders in each other by the hundred
        _flatten(top)
        shutil.rmtree(top, ignore_errors=True)
    elif os.path.lexists(top):
        top.unlink()


def _flatten(top: Path) -> None:
    """Brings each folder in it right below it, so that no path is too long and nothing has to recurse."""
    os.chmod(top, 0o700)
    todo = [top]
    moved = count()
    while todo:
        folder = todo.pop()
        for name in os.listdir(folder):
            found = folder / name
            if found.is_symlink() or not found.is_dir():
                continue
            os.chmod(found, 0o700)
            if folder != top:
                found = found.rename(top / f"fencecheck-{next(moved)}")
            todo.append(found)
