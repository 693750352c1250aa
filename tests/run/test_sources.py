"""Which files a system's code is: its own and those of its project that it imports."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fencecheck.run.loading import load
from fencecheck.run.sources import digest_of
from fencecheck.systems import ALL

SYSTEM = "from fencecheck import AgentSystem\n{}\nclass Mine(AgentSystem):\n    def run(self):\n        import late_one\n"


def project(folder: Path, name: str, imports: str) -> Path:
    """A system, a module, a package with two modules, and a module that a function imports."""
    files = {
        f"{name}.py": SYSTEM.format(imports),
        f"{name}_one.py": "import json\nLIMIT = 3\n",
        f"{name}_kit/__init__.py": "",
        f"{name}_kit/first.py": "from . import second\n",
        f"{name}_kit/second.py": "NUMBER = 2\n",
        "late_one.py": "",
    }
    for file, text in files.items():
        path = folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder / f"{name}.py"


@pytest.mark.parametrize(
    ("name", "imports", "changed", "another"),
    [
        ("src_a", "", "src_a.py", True),
        ("src_b", "import src_b_one", "src_b_one.py", True),
        ("src_c", "from src_c_one import LIMIT", "src_c_one.py", True),
        ("src_d", "from src_d_kit import first", "src_d_kit/second.py", True),
        ("src_e", "import src_e_kit.first", "src_e_kit/__init__.py", True),
        ("src_f", "import src_f_kit", "src_f_kit/first.py", False),
        ("src_g", "try:\n    import src_g_one\nexcept ImportError:\n    pass", "src_g_one.py", True),
        ("src_h", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import src_h_one", "src_h_one.py", False),
        ("src_i", "", "late_one.py", False),
    ],
)
def test_what_a_system_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, imports: str, changed: str, another: bool
) -> None:
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    system = load(f"{project(tmp_path, name, imports)}:Mine")
    before = digest_of(system)
    path = tmp_path / changed
    path.write_text(path.read_text() + "\nMORE = 1\n")
    assert (digest_of(system) != before) is another


def test_it_is_the_same_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "modules", sys.modules.copy())
            found.add(digest_of(load(f"{project(folder, 'src_j', 'import src_j_one')}:Mine")))
    assert len(found) == 1


def test_what_comes_from_no_file_has_none() -> None:
    assert not digest_of(type("Made", (), {"__module__": "of_nothing"}))
    assert digest_of(ALL["planfence"]) != digest_of(ALL["central"])
