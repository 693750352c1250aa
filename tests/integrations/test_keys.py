"""How a team says which keys a call is about, and what is said where that cannot be."""

from __future__ import annotations

import pytest

from fencecheck.errors import BadInput, CouldNotRun
from fencecheck.integrations.keys import KeysOf, Version, keys_of

ARGS = {"order": 42, "of": {"id": 7}}


@pytest.mark.parametrize(
    ("about", "keys"),
    [
        ("order/{order}/address", ("order/42/address",)),
        (["order/{order}", "customer/{of[id]}"], ("order/42", "customer/7")),
        (lambda given: f"{{as it is}}/{given['order']}", ("{as it is}/42",)),
        (lambda given: ["order/42", "customer/7"], ("order/42", "customer/7")),
        (lambda given: None, ()),
        (None, ()),
    ],
)
def test_keys_are_written_with_the_names_of_arguments_or_come_from_a_function(about: KeysOf | None, keys: tuple[str, ...]) -> None:
    assert keys_of(about, ARGS, "reads['get']") == keys


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ("order/{id}", r"^reads\['get'\] is 'order/\{id\}', but the call has no argument 'id' \(its arguments: order, of\)$"),
        ("order/{order.id}", r"^reads\['get'\] fails for .*: AttributeError"),
        (lambda given: given["id"], r"^reads\['get'\] fails for \{'order': 42, 'of': \{'id': 7\}\}: KeyError: 'id'$"),
        (7, r"^reads\['get'\] fails for .*: TypeError"),
    ],
)
def test_keys_that_do_not_follow_from_the_arguments_are_told_in_one_sentence(about: KeysOf, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        keys_of(about, ARGS, "reads['get']")


def test_what_a_function_says_in_a_sentence_of_its_own_stays() -> None:
    def about(args: object) -> str:
        raise CouldNotRun("no store")

    with pytest.raises(CouldNotRun, match=r"^no store$"):
        keys_of(about, ARGS, "reads['get']")


def test_a_version_names_its_key_and_the_owners_own_id() -> None:
    version = Version("order/42", 3)
    assert (version, version.key, version.own) == ("3 of order/42", "order/42", 3)
    assert version != Version("order/43", 3)
