"""Systems by name: built in, `package.module:Class`, `path/to/file.py:Class`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencecheck import mutants, systems
from fencecheck.errors import BadInput
from fencecheck.run.loading import built_in, load, reference
from fencecheck.run.simulate import Runner

ADAPTER = """
from fencecheck import Action, AgentSystem, Scenario

class Agent(AgentSystem):
    scenario = Scenario(owners={"orders": ["x"]}, actions=[Action("ship", ["x"])])

    def run(self):
        self.kit.act("ship", {"to": self.kit.read("x").value})

class Outer:
    class Inner(Agent):
        pass

    deeper = Inner

def made():
    return Agent()

NUMBER = 3
"""


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In an empty directory; what is imported there is forgotten."""
    monkeypatch.chdir(tmp_path)
    modules, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def said(name: str) -> str:
    with pytest.raises(BadInput) as caught:
        load(name)
    return str(caught.value)


def acts(name: str) -> bool:
    with Runner(load(name)) as runner:
        return len(runner.run().effects) == 1


# -- what is found -----------------------------------------------------------------------------------------------------------------


def test_what_is_built_in() -> None:
    assert built_in() == systems.ALL | systems.ON_FILES | mutants.ALL
    for name, system in built_in().items():
        assert load(name) is system
        assert reference(system) == name


def test_a_class_of_a_file(tmp_path: Path) -> None:
    Path("shop.py").write_text(ADAPTER)
    assert acts("shop.py:Agent")
    assert acts(f"{tmp_path}/shop.py:Agent")
    assert load("shop.py:Agent") is load(f"{tmp_path}/shop.py:Agent")
    assert reference(load("shop.py:Agent")) == f"{tmp_path}/shop.py:Agent"


def test_a_class_of_a_module_of_the_working_directory() -> None:
    Path("stores").mkdir()
    Path("stores/__init__.py").touch()
    Path("stores/branch.py").write_text(ADAPTER)
    assert acts("stores.branch:Agent")
    assert reference(load("stores.branch:Agent")) == "stores.branch:Agent"


def test_an_attribute_inside_a_class() -> None:
    Path("shop.py").write_text(ADAPTER)
    assert acts("shop.py:Outer.Inner")
    assert acts("shop.py:Outer.deeper")
    assert load("shop.py:Outer.Inner").__qualname__ == "Outer.Inner"
    assert reference(load("shop.py:Outer.Inner")) == f"{Path.cwd()}/shop.py:Outer.Inner"


def test_a_function_that_makes_an_adapter() -> None:
    Path("shop.py").write_text(ADAPTER)
    assert acts("shop.py:made")


def test_a_file_that_imports_its_neighbour() -> None:
    Path("agents").mkdir()
    Path("agents/base_of_agents.py").write_text(ADAPTER)
    Path("agents/mine.py").write_text("from base_of_agents import Agent\nclass Mine(Agent):\n    pass\n")
    before = list(sys.path)
    assert acts("agents/mine.py:Mine")
    assert sys.path == before


def test_two_files_of_one_name() -> None:
    for folder in ("one", "two"):
        Path(folder).mkdir()
        Path(folder, "shop.py").write_text(ADAPTER + f"\nAgent.name = '{folder}'\n")
    one, two = load("one/shop.py:Agent"), load("two/shop.py:Agent")
    assert (Runner(one).name, Runner(two).name) == ("one", "two")
    assert load("one/shop.py:Agent") is one


def test_a_file_with_the_name_of_a_module_that_is_loaded() -> None:
    Path("json.py").write_text(ADAPTER)
    import json

    assert acts("json.py:Agent")
    assert sys.modules["json"] is json


def test_a_class_of_a_function_has_no_reference() -> None:
    def make() -> type:
        class Inside(systems.ALL["planfence"]):  # type: ignore[misc]
            pass

        return Inside

    assert reference(make()) is None
    assert reference(lambda: None) is None


# -- what is not -------------------------------------------------------------------------------------------------------------------


def test_no_such_name() -> None:
    assert said("nothing") == (
        "there is no system 'nothing': give package.module:Class, path/to/file.py:Class or a name that `fencecheck systems` lists"
    )


def test_no_such_file() -> None:
    assert said("no/such.py:Agent") == "there is no file 'no/such.py': check the path before the colon"
    Path("folder.py").mkdir()
    assert said("folder.py:Agent") == "there is no file 'folder.py': check the path before the colon"


def test_no_such_module() -> None:
    for name in ("nowhere", "nowhere.at.all", "fencecheck.nowhere"):
        assert said(f"{name}:Agent") == f"there is no module {name!r} on the import path: check the name, or give path/to/file.py:Class"


def test_no_such_attribute() -> None:
    Path("shop.py").write_text(ADAPTER)
    assert said("shop.py:Agnet") == "shop.py has no Agnet: it defines Agent"
    assert said("shop.py:Outer.Nothing") == "shop.py has no Outer.Nothing: it defines Agent"
    Path("empty.py").write_text("")
    assert said("empty.py:Agent") == "empty.py has no Agent: it defines no adapter (AgentSystem subclass)"


def test_what_cannot_be_called() -> None:
    Path("shop.py").write_text(ADAPTER)
    assert said("shop.py:NUMBER") == "shop.py:NUMBER is a int, not an adapter class"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1 / 0\n", "ZeroDivisionError: division by zero (line 1)"),
        ("import os\n\nos.environ['NO_SUCH_KEY']\n", "KeyError: 'NO_SUCH_KEY' (line 3)"),
        ("import not_installed_at_all\n", "ModuleNotFoundError: No module named 'not_installed_at_all' (line 1)"),
        ("raise SystemExit(0)\n", "SystemExit: 0 (line 1)"),
    ],
)
def test_a_file_that_fails_to_import_says_where(text: str, why: str) -> None:
    Path("broken.py").write_text(text)
    for _ in range(2):  # it is not half loaded
        assert said("broken.py:Agent") == f"broken.py fails to import: {why}"


def test_a_module_that_fails_to_import() -> None:
    Path("broken_module.py").write_text("import not_installed_at_all\n")
    assert said("broken_module:Agent") == (
        "module 'broken_module' fails to import: ModuleNotFoundError: No module named 'not_installed_at_all'"
    )
    Path("broken_too.py").write_text("1 / 0\n")
    assert said("broken_too:Agent") == "module 'broken_too' fails to import: ZeroDivisionError: division by zero"


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one() -> None:
    with pytest.raises(BadInput, match=r"there is no system 'planfenc': did you mean planfence\? Else give "):
        load("planfenc")
