"""However fencecheck ends, the process that it launched ends too, with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
AGENT = """
import os, subprocess, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

class Agent(BaseHTTPRequestHandler):
    def do_POST(self):
        children = [subprocess.Popen(["sleep", "600"], start_new_session=apart) for apart in (False, True)]
        with open("pids.new", "w") as pids:
            pids.write(f"{os.getpid()} {children[0].pid} {children[1].pid}")
        os.rename("pids.new", "pids")
        time.sleep(600)

HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Agent).serve_forever()
"""
SYSTEM = """
import sys
from fencecheck import Action, Scenario
from fencecheck.integrations.http import HttpSystem

class Foreign(HttpSystem):
    scenario = Scenario(owners={"orders": ["order/42"]}, actions=[Action("ship", depends_on=["order/42"])])
    command = [sys.executable, "-S", "agent.py"]
    timeout_s = 600.0
"""


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def gone(pid: int) -> bool:
    """Whether the process has ended, waited for or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGINT, 130, b"fencecheck: interrupted\n"),
        (signal.SIGTERM, -signal.SIGTERM, b""),
        (signal.SIGKILL, -signal.SIGKILL, b""),
    ],
    ids=["SIGINT", "SIGTERM", "SIGKILL"],
)
def test_no_process_is_left_behind(tmp_path: Path, number: signal.Signals, status: int, said: bytes) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "system.py").write_text(SYSTEM)
    command = [sys.executable, "-m", "fencecheck", "check", "system.py:Foreign"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        until((tmp_path / "pids").exists)
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        assert not any(map(gone, pids))
        running.send_signal(number)
        out, err = running.communicate(timeout=90)
    finally:
        running.kill()
    assert (running.returncode, out, err) == (status, b"", said)
    until(lambda: all(map(gone, pids)))
