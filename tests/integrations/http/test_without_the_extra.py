"""What somebody sees who has not installed the extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MAIN = "from fencecheck.cli import main; main({arguments!r})"
SYSTEM = "from fencecheck.integrations.http import HttpSystem\n"
SAID = "fencecheck.integrations.http needs the extra `http`: pip install 'fencecheck[http]'"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serve"], f"fencecheck: serve cannot be run: {SAID}\n"),
        (["check", "mine.py:System"], f"fencecheck: mine.py fails to import: ImportError: {SAID} (line 1)\n"),
    ],
)
@pytest.mark.parametrize("missing", ["starlette", "uvicorn", "httpx"])
def test_one_sentence_says_what_to_install(tmp_path: Path, missing: str, arguments: list[str], said: str) -> None:
    (tmp_path / "mine.py").write_text(SYSTEM)
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.modules[{missing!r}] = None; {MAIN.format(arguments=arguments)}"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
