"""Agents that work on real files: a temporary directory is the owner, a path the key, the bytes on disk are the version.

What others do to the files meanwhile are updates: they save, truncate, rename, delete and touch them, also within one tick of the file system's
clock and with an older time. The agent's own tools do real `open()` and `os` calls below `root`, inside the ports.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from fencecheck.errors import BadInput
from fencecheck.integrations.file_contents import Contents, Files, contents_of
from fencecheck.integrations.file_directory import Directory
from fencecheck.model import Action, Scenario
from fencecheck.run import faults
from fencecheck.run.adapter import AgentSystem
from fencecheck.run.kit import Kit
from fencecheck.run.recognise import parts

HOWS: dict[str, str] = {
    "older-time": "with an older modification time",
    "same-tick": "with the modification time that it had",
    "same-tick-and-size": "with the modification time and the size that it had",
    "renamed-over": "by renaming another file over it",
    "truncated": "truncated to nothing",
    "renamed-away": "by renaming it",
    "touched": "with a new modification time only",
}
"""The ways in which a file changes besides a save, an earlier content saved again, and a deletion; simplest first."""
LOCAL = "a file on a local disk can be read"
FIRST_SAVED_NS = 1_700_000_000_000_000_000
"""Modification time of each file at the beginning of an episode, in nanoseconds since 1970: the past, so that what the agent writes is newer."""
BETWEEN_SAVES_NS = 2_000_000_000
"""By how much a save is later than the one before."""
MOST_BYTES = 67_108_864
"""Most bytes of a file."""
_LONGEST_NAME = 255  # bytes of a part of a path, on the file systems that people use
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # nobody need write to a pipe for it to be opened
OLDER_NS = 3_600_000_000_000
"""By how much an older time is older."""


def path_of(args: Mapping[str, Any]) -> list[str]:
    """The one key that a file tool depends on: the path that it is given, as the argument `path`."""
    return [os.path.normpath(args["path"])]


def writes(name: str = "write", *, times: int = 1) -> Action:
    """An action of a tool whose call carries what was made from the content of the file at its argument `path`."""
    return Action(name, depends_on=path_of, times=times)


def appends(name: str = "append", *, times: int = 1) -> Action:
    """An action of a tool that adds to a file whatever stands in it, and so depends on no version."""
    return Action(name, times=times)


class _Lazy:
    """A scenario that is made when it is first asked for, since its contents are made up by Faker."""

    def __init__(self, make: Callable[[], Scenario]) -> None:
        self._make, self._made = make, None

    def __get__(self, instance: Any, owner: Any) -> Scenario:
        if self._made is None:
            self._made = self._make()  # type: ignore[assignment]
        return self._made  # type: ignore[return-value]


class FileSystem(AgentSystem):
    """Base of adapters for agents that work on files. A subclass names its `files` and defines `run`.

    Class attributes:
        files: path, relative to `root`, to its content: `""` for made-up notes; a text, in which `{text}` stands for what differs between the
            versions, or to which a line is added that does; or a list of texts, one for each version.
        actions: the tools that write, made by `writes` and `appends`, or any `Action`. A file that is not in `files` depends on nothing.
        cannot_happen: as for any adapter: by default a file that is there can be read. Set it to `{}` for files on a share.

    Attributes:
        root: the directory that the agent works in, empty but for its files at the beginning of each episode.

    Raises:
        BadInput: `files` cannot be used, when it is first looked at.
    """

    files: ClassVar[Files] = {}
    actions: ClassVar[Sequence[Action]] = (writes(),)
    halt_exceptions: ClassVar[tuple[type[BaseException], ...]] = (OSError, faults.Fault)
    fault_exceptions: ClassVar[Mapping[type[BaseException], Any]] = {
        faults.OwnerTimeout: TimeoutError,
        faults.RecordMissing: FileNotFoundError,
        faults.ToolRefused: PermissionError,
        faults.Fault: OSError,
    }
    tools_can_halt = True
    cannot_happen: ClassVar[Mapping[str, str]] = dict.fromkeys(("outage", "restore", "missing-parent", "corrupt-parent"), LOCAL)
    root: Path
    _directory: Directory

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "scenario" not in cls.__dict__ and cls.files:
            cls.scenario = _Lazy(lambda: _scenario(cls.__qualname__, cls.files, cls.actions))  # type: ignore[assignment]

    def open(self) -> None:
        """Makes the directory, once for each worker. An override calls `super().open()`."""
        self._began_in = os.getcwd()
        self._directory = Directory()

    def shutdown(self) -> None:
        """Removes the directory. An override calls `super().shutdown()`."""
        os.chdir(self._began_in)  # an agent may have gone into the directory, and paths of whoever runs this are relative
        self._directory.close()

    def setup(self, kit: Kit) -> None:
        """Empties the directory and saves the first version of each file. An override calls `super().setup(kit)`."""
        super().setup(kit)
        if not self.files:
            raise BadInput(f"{type(self).__qualname__} names no files: files = {{'notes.md': ''}}")
        directory: Directory = self.worker._directory
        os.chdir(self.worker._began_in)
        directory.clear(self.files)
        self.root = directory.root
        self._paths = {path: os.path.join(self.root, path) for path in self.files}
        self._contents = {path: contents_of(path, given) for path, given in self.files.items()}
        self._saved_ns = dict.fromkeys(self.files, FIRST_SAVED_NS)
        self._seen: dict[str, dict[str, str]] = {path: {} for path in self.files}  # path to the versions that were there
        self._marks = {path: [mark for marks in about.marks for mark in marks] for path, about in self._contents.items()}
        self._known: dict[str, str] = {}  # path to the version that the agent read or wrote last
        for path, about in self._contents.items():
            self._begin_with(path, about.versions[0])

    def _begin_with(self, key: str, content: str) -> None:
        """Saves the first version, unless it is still there."""
        try:
            there = os.stat(self._paths[key]).st_mtime_ns == FIRST_SAVED_NS and self._content(key) == content
        except (OSError, UnicodeDecodeError):
            there = False
        if not there:
            self._save(key, content, FIRST_SAVED_NS)

    # -- the plain ports -----------------------------------------------------------------------------------------------

    def read(self, path: str) -> str:
        """The content of a file, for agents without a reading tool of their own. A point.

        Raises:
            OSError: it cannot be read.
        """
        content = self.kit.read(path, via=lambda: self._content(path))
        return str(content)

    def write(self, path: str, content: str, *, action: str = "write", **options: Any) -> Any:
        """Writes the whole file, for agents without a writing tool of their own. A point.

        Args:
            path: which file.
            content: what is to stand in it.
            action: the name of the action.
            options: as for `kit.act`.

        Raises:
            OSError: it cannot be written.
        """
        args = {"path": path, "content": content}
        return self.kit.act(action, args, via=lambda: (self.root / path).write_text(content, "utf-8", newline=""), **options)

    def version(self, content: str | bytes) -> str:
        """The id of the version that `content` is of a file: for `basis={path: ...}`, and pairs `(path, ...)` for the parents of a plan."""
        data = content.encode() if isinstance(content, str) else content
        return hashlib.blake2b(data, digest_size=8).hexdigest()

    def _content(self, path: str) -> str:
        with open(self.root / path, "rb", buffering=0) as file:
            return file.read().decode()

    # -- what others do to the files ---------------------------------------------------------------------------------

    def publish(self, key: str, value: Any) -> str:
        """Somebody saves the file in place, later than it was saved before."""
        self._refuse_outside(self._paths[key])
        self._save(key, str(value), self._last_saved(key) + BETWEEN_SAVES_NS)
        return self.version(str(value))

    def remove(self, key: str) -> None:
        """Somebody deletes the file, if it is there."""
        self._refuse_outside(os.path.dirname(self._paths[key]))
        self._last_saved(key)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._paths[key])

    def true_head(self, key: str) -> str | None:
        """What is on disk now: the hash of the content, None where no file is."""
        data = self._on_disk(key)
        if data is None:
            return None
        id = self.version(data)
        if id not in self._seen[key]:
            self._seen[key][id] = data.decode(errors="replace")
            self._known[key] = id  # nobody else wrote it
        return id

    def _on_disk(self, key: str) -> bytes | None:
        """What stands in the file; None where there is none, but a folder, a pipe or the like, for which nobody must wait.

        Raises:
            BadInput: it is too large.
        """
        try:
            file = os.open(self._paths[key], os.O_RDONLY | _AT_ONCE)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        try:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                return None
            if about.st_size > MOST_BYTES:
                size, most = (f"{count / 1_048_576:,.0f} MiB" for count in (about.st_size, MOST_BYTES))
                raise BadInput(f"{key!r} has grown to {size}, and is read at each point: keep the files of a scenario below {most}")
            return _whole(file, about.st_size)
        finally:
            os.close(file)

    def _refuse_outside(self, path: str) -> None:
        """Says that what is changed there would be changed elsewhere, since the agent has put a link into the path.

        Raises:
            BadInput: it would.
        """
        leads_to, root = os.path.realpath(path), str(self.root)
        if leads_to != root and not leads_to.startswith(root + os.sep):
            what = os.path.relpath(path, root)
            raise BadInput(
                f"the agent made {what!r} a link out of its directory, where nobody else's changes can be played: keep links in it"
            )

    def publish_how(self, key: str, how: str, value: Any) -> str | None:
        """Somebody changes the file in one of the ways of `HOWS`. Nothing that is not there can be changed so."""
        self._refuse_outside(self._paths[key])
        if not os.path.isfile(self._paths[key]):
            return None
        return _CHANGES[how](self, key, str(value), self._last_saved(key))

    def _save(self, key: str, content: str, saved_ns: int, path: str = "") -> None:
        """Writes the file, or another one at `path`. Cut to its length afterwards: ext4 flushes a file that is emptied and written anew."""
        path = path or self._paths[key]
        if "/" in key:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            os.ftruncate(file, os.write(file, content.encode()))
        finally:
            os.close(file)
        os.utime(path, ns=(saved_ns, saved_ns))
        self._saved_ns[key] = saved_ns
        self._seen[key][self.version(content)] = content

    def _last_saved(self, key: str) -> int:
        """When the file was saved last, be it gone by now."""
        with contextlib.suppress(OSError):
            self._saved_ns[key] = os.stat(self._paths[key]).st_mtime_ns
        return self._saved_ns[key]

    def _older(self, key: str, fresh: str, now: int) -> str:
        self._save(key, fresh, now - OLDER_NS)
        return fresh

    def _in_the_same_tick(self, key: str, fresh: str, now: int) -> str:
        self._save(key, fresh, now)
        return fresh

    def _of_the_same_size(self, key: str, fresh: str, now: int) -> str | None:
        """Each mark in the content is replaced by another one of the same length. None where there is none."""
        content = self._content(key)
        old = [mark for mark in self._marks[key] if mark in content]
        new = [mark for mark in self._marks[key] if mark in fresh]
        if not old or not new:
            return None
        for i, mark in enumerate(old):
            size = len(mark.encode())
            kept = new[i % len(new)].encode()[:size].decode(errors="ignore")
            cut = kept + "." * (size - len(kept.encode()))
            self._marks[key].append(cut)
            content = content.replace(mark, cut)
        return self._in_the_same_tick(key, content, now)

    def _renamed_over(self, key: str, fresh: str, now: int) -> str:
        draft = f"{self._paths[key]}.new"
        self._save(key, fresh, now + BETWEEN_SAVES_NS, draft)
        os.replace(draft, self._paths[key])
        return fresh

    def _truncated(self, key: str, fresh: str, now: int) -> str | None:
        if not os.path.getsize(self._paths[key]):
            return None
        self._save(key, "", now + BETWEEN_SAVES_NS)
        return ""

    def _renamed_away(self, key: str, fresh: str, now: int) -> str:
        os.replace(self._paths[key], f"{self._paths[key]}.moved")
        return ""

    def _touched(self, key: str, fresh: str, now: int) -> str:
        os.utime(self._paths[key], ns=(now + BETWEEN_SAVES_NS,) * 2)
        return self._content(key)

    # -- which version something was made from --------------------------------------------------------------------------

    def version_of(self, key: str, answer: Any) -> Any:
        """Which version a tool of the agent's own answered with.

        The content itself says so, or a text that only one version holds; any other answer, such as a time or a hash, is of what is on disk.
        """
        if key not in self._seen:
            raise BadInput(f"{key!r} is none of its files: add it to files, or read it without a port")
        for part in parts(answer):
            if isinstance(part, str | bytes):
                id = self.version(part)
                found = [id] if id in self._seen[key] else self._holding(key, _text(part))
                if found:
                    self._known[key] = found[-1]
                    return found[-1]
        head = self.true_head(key)
        return head if head is not None else (key, None)

    def versions_in(self, args: Mapping[str, Any]) -> dict[str, list[str]]:
        """Which versions of each file what goes out was made from: those that hold a text which stands in it and in no other version.

        Where no such text is in it, what the agent read or wrote last counts: there was nothing else to make it from.
        """
        texts = [_text(part) for part in parts(args) if isinstance(part, str | bytes)]
        if any(text.startswith(str(self.root)) for text in texts):
            raise BadInput("an argument is a path below root, which is another one in each process: give the path relative to root")
        whole = "\n".join(texts)
        found = {path: self._holding(path, whole) for path in self.files}
        made_from = {path: ids or [self._known[path]] for path, ids in found.items() if ids or path in self._known}
        for path, ids in made_from.items():
            for id in ids:
                if self.kit._landing.version(id, path) not in self.kit._world.records:
                    raise BadInput(
                        f"{path!r} was written and written again between two calls of ports, maybe by a thread or a process that the agent "
                        "started: write it in a port, and let run() wait for what it starts"
                    )
        return made_from

    def _holding(self, key: str, text: str) -> list[str]:
        """The versions that hold a mark which stands in `text`, in the order in which they were there."""
        marks = [mark for mark in self._marks[key] if mark in text]
        return [id for id, content in self._seen[key].items() if any(mark in content for mark in marks)] if marks else []


def _whole(file: int, size: int) -> bytes:
    parts = []
    while part := os.read(file, size + 1):
        parts.append(part)
    return b"".join(parts)


def _text(part: str | bytes) -> str:
    return part if isinstance(part, str) else part.decode(errors="replace")


_CHANGES: dict[str, Callable[[FileSystem, str, str, int], str | None]] = {
    "older-time": FileSystem._older,
    "same-tick": FileSystem._in_the_same_tick,
    "same-tick-and-size": FileSystem._of_the_same_size,
    "renamed-over": FileSystem._renamed_over,
    "truncated": FileSystem._truncated,
    "renamed-away": FileSystem._renamed_away,
    "touched": FileSystem._touched,
}


def _encodes(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _of_these(files: Files, action: Action) -> Action:
    """The action, which depends on those of the files only that are there at the beginning: nobody else writes one that the agent makes."""
    if action.keys_of is not path_of:
        return action
    return replace(action, keys_of=lambda args: [path for path in path_of(args) if path in files])


def _scenario(name: str, files: Files, actions: Sequence[Action]) -> Scenario:
    if not isinstance(files, Mapping) or not all(isinstance(path, str) for path in files):
        raise BadInput(f"{name}: files maps paths to their content: files = {{'notes.md': ''}}")
    for path in files:
        parts_of = path.split("/")
        if os.path.isabs(path) or os.path.normpath(path) != path or {".", ".."} & {*parts_of}:
            raise BadInput(f"{name}: the path {path!r} of files must be relative to root, without '.' and '..', such as 'src/app.py'")
        if "\0" in path or not _encodes(path) or max(len(os.fsencode(part)) for part in parts_of) > _LONGEST_NAME:
            raise BadInput(
                f"{name}: no file can have the path {path!r:.100} of files: each part is a text of at most {_LONGEST_NAME} bytes"
            )
        above = next((folder for folder in files if path.startswith(f"{folder}/")), None)
        if above is not None:
            raise BadInput(f"{name}: files has {above!r} and {path!r}, and nothing is both a file and a folder: rename one")
    for action in actions:
        if not isinstance(action, Action):
            raise BadInput(f"{name}: actions is a list of actions, such as [writes('write')], and holds {action!r}")
    contents: dict[str, Contents] = {path: contents_of(path, given) for path, given in files.items()}
    return Scenario(
        owners={"files": files},
        actions=[_of_these(files, action) for action in actions],
        values={path: about.versions for path, about in contents.items()},
        update_hows=HOWS,
    )
