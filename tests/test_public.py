"""What is public says what it is for and names its arguments; what a module exports is listed."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from typing import Any

import pytest

from fencecheck import Kit

MODULES = [
    "fencecheck",
    "fencecheck.errors",
    "fencecheck.faults",
    "fencecheck.fence",
    "fencecheck.measure",
    "fencecheck.pytest",
    "fencecheck.strategies",
]
MADE_BY_US = (Kit,)
"""Classes that nobody else makes."""


def exported() -> Iterator[tuple[str, Any]]:
    for module in MODULES:
        for name in import_module(module).__all__:
            yield f"{module}.{name}", getattr(import_module(module), name)


def described() -> Iterator[tuple[str, Any, str]]:
    """Each public function, class and method, with what is said of it; a method may leave arguments to its class."""
    for name, what in exported():
        if inspect.isfunction(what):
            yield name, what, inspect.getdoc(what) or ""
        elif inspect.isclass(what):
            of_class = what.__doc__ or ""
            yield name, what, of_class
            for called, method in vars(what).items():
                if inspect.isfunction(method) and not called.startswith("_"):
                    said = inspect.getdoc(method) or ""
                    yield f"{name}.{called}", method, said and f"{said}\n{of_class}"


def parameters(what: Any) -> list[str]:
    if inspect.isclass(what) and (issubclass(what, BaseException | Enum) or what in MADE_BY_US):
        return []
    return [name for name in inspect.signature(what).parameters if name not in ("self", "args", "kwargs")]


@pytest.mark.parametrize(("name", "what", "said"), list(described()), ids=[name for name, _, _ in described()])
def test_it_says_what_it_is_for_and_names_its_arguments(name: str, what: Any, said: str) -> None:
    assert said, f"{name} has no docstring"
    if any(words in said for words in ("See `", "as there", "rguments and errors as for `")):
        return  # the same as another one's, which is checked too
    unnamed = [parameter for parameter in parameters(what) if parameter not in said]
    assert not unnamed, f"the docstring of {name} does not name {', '.join(unnamed)}"


@pytest.mark.parametrize("module", MODULES)
def test_everything_that_is_listed_is_there(module: str) -> None:
    listed = import_module(module).__all__
    assert listed
    assert len(set(listed)) == len(listed)
    done = subprocess.run([sys.executable, "-c", f"from {module} import *"], capture_output=True, text=True, check=False)
    assert done.stderr == ""
