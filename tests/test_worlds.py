"""Generated scenarios: their sizes, and values that are deterministic, realistic and can be told apart."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest

from fencecheck.errors import BadInput
from fencecheck.worlds import FAMILIES, keys_of, text_for, world


def test_the_default_world_has_the_size_that_the_measurements_use() -> None:
    scenario = world()
    assert scenario.owners == {
        "orders": ("order/42/requirement", "order/42/contact"),
        "calendar": ("order/42/window", "order/42/payment"),
    }
    assert [(a.name, a.depends_on) for a in scenario.actions] == [("deliver", ("order/42/requirement", "order/42/window"))]
    assert scenario.depth == 2
    assert {len(values) for values in scenario.values.values()} == {8}


def test_each_family_has_its_own_action_and_names() -> None:
    assert [world(family=family).actions[0].name for family in FAMILIES] == ["deliver", "book", "deploy"]
    assert keys_of("booking", 5) == ("trip/7/requirement", "trip/7/fare", "trip/7/hotel", "trip/7/traveller", "trip/7/note-5")
    assert keys_of("deployment", 1) == ("release/9/requirement",)
    assert keys_of("delivery", 16)[-1] == "order/42/note-16"


@pytest.mark.parametrize("owners", [2, 3, 7, 16])
def test_the_first_two_declared_keys_have_different_owners(owners: int) -> None:
    scenario = world(keys=16, declared=8, owners=owners)
    first, second = scenario.actions[0].depends_on[:2]
    assert scenario.owner_of(first) != scenario.owner_of(second)
    assert len(scenario.owners) == owners
    assert sorted(scenario.keys) == sorted(keys_of("delivery", 16))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_value_is_empty_or_part_of_another(family: str, seed: int) -> None:
    scenario = world(keys=16, declared=4, owners=4, family=family, seed=seed, versions=20)  # type: ignore[arg-type]
    values = [value for values in scenario.values.values() for value in values]
    assert len(values) == 16 * 20
    assert all(isinstance(value, str) and value for value in values)
    assert not [(a, b) for a, b in permutations(values, 2) if a in b]


def test_another_seed_gives_other_values_and_the_same_names() -> None:
    one, two = world(seed=0), world(seed=1)
    assert one.owners == two.owners
    assert not {v for values in one.values.values() for v in values} & {v for values in two.values.values() for v in values}


def test_more_versions_only_add_to_the_first_key() -> None:
    assert world(keys=1, declared=1, owners=1, versions=9).values["order/42/requirement"][:3] == world().values["order/42/requirement"][:3]


def test_the_same_arguments_give_the_very_same_scenario() -> None:
    assert world(seed=5) is world(seed=5)


def test_values_do_not_depend_on_the_process_or_its_hash_seed() -> None:
    code = "from fencecheck.worlds import world; print(world(keys=6, seed=3).values)"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert printed == {f"{world(keys=6, seed=3).values}\n"}


def test_global_random_state_is_neither_read_nor_written() -> None:
    from faker import Faker
    from faker.generator import random as faker_random  # the generator that all unseeded Fakers share

    random.seed(1)
    Faker.seed(1)
    before, faker_before = random.getstate(), faker_random.getstate()
    one = text_for("delivery", "order/42/requirement", seed=123)
    assert (random.getstate(), faker_random.getstate()) == (before, faker_before)
    random.seed(2)
    Faker.seed(2)
    assert text_for("delivery", "order/42/requirement", seed=123) == one


def test_importing_worlds_imports_neither_faker_nor_hypothesis() -> None:
    code = "import sys, fencecheck.worlds; print([m for m in ('faker', 'hypothesis') if m in sys.modules])"
    root = str(Path(__file__).parents[1])
    run = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keys": 0}, "keys must be a whole number from 1 to 16, not 0"),
        ({"keys": 17}, "keys must be a whole number from 1 to 16, not 17"),
        ({"keys": 2.0}, "keys must be a whole number from 1 to 16, not 2.0"),
        ({"keys": True}, "keys must be a whole number from 1 to 16, not True"),
        ({"declared": 5}, "declared must be a whole number from 1 to 4, not 5"),
        ({"depth": 0}, "depth must be a whole number from 1 to 64, not 0"),
        ({"owners": 5}, "owners must be a whole number from 1 to 4, not 5"),
        ({"versions": 0}, "versions must be a whole number from 1 to 100, not 0"),
        ({"seed": "x"}, "seed must be a whole number, not 'x'"),
        ({"family": "cooking"}, "there is no family 'cooking': use delivery, booking, deployment"),
        ({"family": ["delivery"]}, "there is no family ['delivery']: use delivery, booking, deployment"),
    ],
)
def test_bad_arguments_are_named_in_one_sentence(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput) as raised:
        world(**arguments)  # type: ignore[arg-type]
    assert str(raised.value) == message


def test_executors_are_agents_and_tasks() -> None:
    assert world().agents == ("agent",)
    assert world(executors=3).agents == ("agent", "agent-2", "agent-3")
    assert world(executors=3).tasks == ("task", "task-2", "task-3")
    with pytest.raises(BadInput, match=r"^executors must be a whole number from 1 to 16, not 17$"):
        world(executors=17)


def test_more_keys_leave_the_values_of_the_first_ones_as_they_are() -> None:
    small, large = world(keys=2), world(keys=16, declared=1, owners=6, depth=8)
    assert {key: large.values[key] for key in small.keys} == small.values
