"""The process of a system in another language: launched, killed with all that it started, and never left behind."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from fencecheck.errors import BadInput, CouldNotRun

PORT = "{port}"
"""Stands in a command or a URL for the port that was chosen."""
_LOOK_S = 0.005
_GOES_S = 5.0
_MOST_SAID = 1_048_576
_ROUNDS = 10
_PROC = Path("/proc")
# Kills the process group once its own standard input ends, as it does when who holds the other end is gone, however that came; and then, twice
# since they may be starting others, those that left the group and still have the mark among their variables.
_GUARD = """
read -r _
kill -s KILL -- "-$1"
for _ in 1 2; do
    for at in /proc/[0-9]*; do
        if grep -qs "$2" "$at/environ"; then kill -s KILL "${at#/proc/}"; fi
    done
done
"""


class Process:
    """One process at a time, in a process group of its own.

    Args:
        name: of the system, for what is said of it.
        command: the program and its arguments; `{port}` stands for a free port, chosen anew for each launch.
        url: the URL that it will answer, likewise.
        folder: where it is run.
        environment: variables besides those of this process and PORT.
        ready_s: seconds until it has to listen.
        output: the file to whose end it writes; None for one that is thrown away.
        past: a host that it is to reach without any proxy.

    Raises:
        BadInput: that file cannot be written.

    Attributes:
        url: the URL at which it listens now.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        url: str,
        folder: Path,
        environment: Mapping[str, str],
        ready_s: float,
        output: Path | None = None,
        past: str = "",
    ) -> None:
        self._name, self._command, self._template = name, command, url
        self._folder, self._environment, self._ready_s = folder, environment, ready_s
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._keeps, self._past = output is not None, past
        self._mark = f"FENCECHECK_LAUNCHED_{secrets.token_hex(12)}"  # whoever the process starts inherits it
        self._said = _appended(name, output)
        self.url = url

    def launch(self) -> None:
        """Starts it and waits until it listens.

        Raises:
            BadInput: there is no such program, or something else listens there.
            CouldNotRun: it ended, or did not listen in time.
        """
        host, port = _host_and_port(self._name, self._template)
        if port is None:
            port = _free_port(host)
        elif _listens(host, port):
            raise BadInput(
                f"{self._name}: something listens at {host}:{port} already: write {PORT} in start_url, for a free port, or end that"
            )
        self.url = self._template.replace(PORT, str(port))
        command = [part.replace(PORT, str(port)) for part in self._command]
        if not self._keeps:
            self._said.truncate(0)
        try:
            self._process = subprocess.Popen(
                command,
                cwd=self._folder,
                env={**os.environ, **_past_proxies(self._past), "PORT": str(port), **self._environment, self._mark: ""},
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
                start_new_session=True,
            )
        except (TypeError, ValueError) as error:  # a byte of value 0 in it, or what is no text
            raise BadInput(f"{self._name}: command and env hold what no process can be given ({error}): let them be texts") from error
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            if self._folder is not None and not os.path.isdir(self._folder):
                raise BadInput(f"{self._name}: there is no folder {str(self._folder)!r}: correct folder") from error
            raise BadInput(f"{self._name}: the command {command[0]!r} cannot be run ({reason}): install it, or correct command") from error
        try:
            self._guard = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, "sh", str(self._process.pid), self._mark],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            self.kill()  # what nobody guards must not be left behind
            raise
        self._wait_until_it_listens(host, port)

    def _wait_until_it_listens(self, host: str, port: int) -> None:
        assert self._process is not None
        until = time.perf_counter() + self._ready_s
        while not _listens(host, port):
            if self._process.poll() is not None:
                how = self.ended()
                self.kill()
                raise CouldNotRun(f"{self._name}: {how} before it listened at {self.url}")
            if time.perf_counter() > until:
                said = self._last_line()
                self.kill()
                raise CouldNotRun(
                    f"{self._name}: it does not listen at {self.url} after {self._ready_s:g} s{said}: "
                    f"let it listen at the port in PORT, correct start_url, or raise ready_s and timeout_s"
                )
            time.sleep(_LOOK_S)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def ended(self, within_s: float = 0.0) -> str:
        """How it ended, in words with the last line that it wrote; nothing where it still runs.

        Args:
            within_s: seconds to wait for its end, since connections break first.
        """
        if self._process is None:
            return "it is not running"
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        status = self._process.poll()
        if status is None:
            return ""
        how = f"was killed by {_signal(-status)}" if status < 0 else f"ended with exit status {status}"
        return f"its process {how}{self._last_line()}"

    def tidy(self) -> None:
        """Throws away what it has written, where that is a lot."""
        if not self._keeps and os.fstat(self._said.fileno()).st_size > _MOST_SAID:
            self._said.truncate(0)

    def kill(self) -> None:
        """Kills it, with all that it started, and waits until it is gone."""
        process, guard, self._process, self._guard = self._process, self._guard, None, None
        if guard is not None:
            guard.kill()
            guard.wait()
            if guard.stdin is not None:
                guard.stdin.close()
        if process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GOES_S)
            for _ in range(_ROUNDS):  # one that is being killed may just have started another
                if not _kill_all(_with(self._mark.encode())):
                    break

    def close(self) -> None:
        """Kills it for good."""
        self.kill()
        self._said.close()

    def _last_line(self) -> str:
        size = os.fstat(self._said.fileno()).st_size
        tail = os.pread(self._said.fileno(), 4_096, max(size - 4_096, 0)).decode("utf-8", "replace")
        lines = [line.strip() for line in tail.splitlines() if line.strip()]
        told = next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "")
        return f" ({told[:200]})" if told else ""


def _past_proxies(host: str) -> dict[str, str]:
    """The variables by which HTTP clients know which hosts no proxy leads to: this one too."""
    if not host:
        return {}
    found = {name: os.environ.get(name, "") for name in ("no_proxy", "NO_PROXY")}
    return {name: f"{hosts},{host}" if hosts else host for name, hosts in found.items()}


def _with(mark: bytes) -> Iterator[int]:
    """The processes that have the mark among their variables, wherever the system tells those."""
    with suppress(OSError):
        for entry in _PROC.iterdir():
            if entry.name.isdecimal():
                with suppress(OSError):  # somebody else's, or it has just ended
                    if mark in (entry / "environ").read_bytes():
                        yield int(entry.name)


def _kill_all(pids: Iterator[int]) -> int:
    """How many there were to kill."""
    count = 0
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
            count += 1
    return count


def _appended(name: str, output: Path | None) -> IO[bytes]:
    """The file, or one without a name, at whose end whatever is written goes, also once it was cut short."""
    import fcntl  # on POSIX systems only, as launching is

    try:
        made = tempfile.TemporaryFile() if output is None else output.open("a+b")  # noqa: SIM115 (closed by whoever asked for it)
    except OSError as error:
        raise BadInput(f"{name}: output {str(output)!r} cannot be written ({(error.strerror or '').lower()}): name another file") from error
    fcntl.fcntl(made, fcntl.F_SETFL, fcntl.fcntl(made, fcntl.F_GETFL) | os.O_APPEND)
    return made


def _host_and_port(name: str, url: str) -> tuple[str, int | None]:
    """Where a URL leads, the port None where that is to be chosen."""
    import httpx

    chosen = PORT in url
    try:
        parsed = httpx.URL(url.replace(PORT, "1"))
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise BadInput(f"{name}: start_url must be a URL such as http://127.0.0.1:{PORT}/start, not {url!r}")
    return parsed.host, None if chosen else parsed.port or (443 if parsed.scheme == "https" else 80)


def _free_port(host: str) -> int:
    try:
        with socket.create_server((host, 0)) as taken:
            return int(taken.getsockname()[1])
    except OSError as error:
        raise BadInput(f"start_url: there is no port to be had at {host}: {error.strerror or error}: use 127.0.0.1") from error


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1.0).close()
    except OSError:
        return False
    return True


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
