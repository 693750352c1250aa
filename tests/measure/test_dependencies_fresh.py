"""What a system keeps from its first episode hides what it depends on: a fresh process tells."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from fencecheck import Action, AgentSystem, Scenario
from fencecheck.errors import CouldNotRun, Nondeterministic
from fencecheck.measure import dependencies

WORLD = Scenario(
    owners={"o": ["mode", "a", "b"]},
    actions=[Action("ship", depends_on=["a"])],
    values={"mode": ["near", "far"], "a": ["A1", "A2"], "b": ["B1", "B2"]},
)


class Keeps(AgentSystem):
    """Looks anew in each episode, and goes by what it found in the first one of its process."""

    scenario = WORLD
    kept: ClassVar[dict[str, Any]] = {}

    def first(self, key: str) -> Any:
        return self.kept.setdefault(key, self.kit.read(key).value)


class KeepsAll(Keeps):
    kept: ClassVar[dict[str, Any]] = {}

    def run(self) -> None:
        self.kit.act("ship", {"to": self.first("a"), "by": self.first("b")})


class KeepsTheBranch(Keeps):
    """Which key it looks at is for ever what the first episode chose."""

    kept: ClassVar[dict[str, Any]] = {}

    def run(self) -> None:
        self.kit.act("ship", {"to": self.kit.read("a" if self.first("mode") == "near" else "b").value})


class KeepsWhatIsHidden(Keeps):
    """With every key another one, what it keeps is not looked at."""

    kept: ClassVar[dict[str, Any]] = {}

    def run(self) -> None:
        kept, near = self.first("b"), self.kit.read("mode").value == "near"
        self.kit.act("ship", {"to": self.kit.read("a").value, "by": kept if near else "van"})


class KeepsAndHalts(Keeps):
    """With every key another one, nothing goes out."""

    kept: ClassVar[dict[str, Any]] = {}

    def run(self) -> None:
        kept = self.first("b")
        if self.kit.read("mode").value == "near":
            self.kit.act("ship", {"to": self.kit.read("a").value, "by": kept})


class KeepsThatItMay(Keeps):
    """Nothing goes out where the first episode does not allow it."""

    kept: ClassVar[dict[str, Any]] = {}

    def run(self) -> None:
        if self.first("mode") == "near":
            self.kit.act("ship", {"to": self.kit.read("a").value})


@pytest.mark.parametrize(
    ("system", "told"),
    [
        (KeepsAll, "with another value of mode, a, b, ship goes out with to='A1' in one and to='A2' in the other, a fresh process"),
        (KeepsTheBranch, "with another value of mode, a, b, ship goes out with to='A2' in one and to='B2' in the other, a fresh process"),
        (KeepsWhatIsHidden, "with another value of b, ship goes out with by='B1' in one and by='B2' in the other, a fresh process"),
        (KeepsAndHalts, "with another value of b, ship goes out with by='B1' in one and by='B2' in the other, a fresh process"),
        (KeepsThatItMay, "with another value of mode, a, b, what goes out is 1 in number in one and 0 in the other, a fresh process"),
    ],
)
def test_what_is_kept_is_refused(system: type[AgentSystem], told: str) -> None:
    with pytest.raises(CouldNotRun, match=f"{system.__name__} keeps what it found in its first episode: {told}"):
        dependencies(system)


def test_what_is_kept_is_not_seen_in_one_process() -> None:
    found = dependencies(KeepsWhatIsHidden, fresh_process=False).actions[0].found
    assert [one.keys for one in found] == [("mode",), ("a",)]


class OrderOfASet(AgentSystem):
    """Alike wherever there is one text, by chance where there are several: which the first value does not show."""

    scenario = Scenario(
        owners={"o": ["a"]}, actions=[Action("ship", depends_on=["a"])], values={"a": ["one", "one two three four five six seven eight"]}
    )

    def run(self) -> None:
        self.kit.act("ship", {"to": list(set(self.kit.read("a").value.split()))})


def test_an_order_that_is_chance_is_not_called_kept() -> None:
    with pytest.raises(
        Nondeterministic, match="OrderOfASet is not deterministic: of two fresh processes with different hash seeds, ship goes"
    ):
        dependencies(OrderOfASet)


class SendsAnObject(AgentSystem):
    """What is sent is written with its module and its address."""

    scenario = WORLD

    def run(self) -> None:
        self.kit.act("ship", {"to": self.kit.read("a").value, "with": NewObject()})


class NewObject:
    pass


def test_the_addresses_of_objects_say_nothing() -> None:
    assert dependencies(SendsAnObject).exit_status == 0


def test_nor_does_the_module_that_is_run_as_a_script(tmp_path: Path) -> None:
    script = tmp_path / "sends.py"
    script.write_text(
        "from fencecheck import Action, AgentSystem, Scenario\n"
        "from fencecheck.measure import dependencies\n"
        "class Box:\n    pass\n"
        "class Sends(AgentSystem):\n"
        "    scenario = Scenario(owners={'o': ['a', 'b']}, actions=[Action('ship', depends_on=['a'])])\n"
        "    def run(self):\n"
        "        self.kit.read('b')\n"
        "        self.kit.act('ship', {'to': self.kit.read('a').value, 'in': Box()})\n"
        "if __name__ == '__main__':\n    print(dependencies(Sends).exit_status)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


class OnlyReads(AgentSystem):
    """Keeps nothing, and looks at what it does not need."""

    scenario = WORLD

    def run(self) -> None:
        self.kit.read("mode")
        self.kit.act("ship", {"to": self.kit.read("a").value})


def test_one_that_keeps_nothing_is_not_refused() -> None:
    result = dependencies(OnlyReads)
    assert (result.exit_status, [one.key for one in result.idle]) == (0, ["mode"])
