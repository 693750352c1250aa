"""The pytest entry point. It stands outside the package, so that a run that does not ask for fencecheck imports nothing of it."""

from __future__ import annotations

import pytest

ASKED: dict[str, str | None] = {"profile": None, "save": None}
"""What the command line asks of suites too, which have no other way to it: a test of a suite takes no fixture."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("fencecheck", "fencecheck: halt or current")
    group.addoption(
        "--fencecheck-system",
        action="append",
        default=[],
        metavar="SYSTEM",
        help="check this system: package.module:Class, path/to/file.py:Class or a built-in name; may be given several times",
    )
    group.addoption(
        "--fencecheck-level",
        choices=("at-validation", "at-one-instant", "at-act"),
        default="at-validation",
        help="the promise that is checked (default: at-validation)",
    )
    group.addoption("--fencecheck-max-events", type=int, metavar="K", help="most events in an interleaving")
    group.addoption("--fencecheck-engine", choices=("exhaust", "explore"), help="the search (default: both)")
    group.addoption("--fencecheck-examples", type=int, metavar="N", help="how many interleavings explore draws")
    group.addoption("--fencecheck-max-time", type=float, metavar="S", help="seconds after which a check begins no further episode")
    group.addoption("--fencecheck-kinds", metavar="KIND,...", help="only these kinds of event, such as update,switch")
    group.addoption("--fencecheck-per-kind", type=int, metavar="N", help="most episodes of exhaust for each further kind of event")
    group.addoption("--fencecheck-save", metavar="DIR", help="write a case and a pytest file for each violation there, for suites too")
    group.addoption(
        "--fencecheck-profile",
        choices=("fencecheck-pr", "fencecheck-nightly"),
        help="for explore, in suites too: the same interleavings each time, or other ones, with what failed before first",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Notes what suites are asked too, and loads the systems that were asked for."""
    ASKED.update({name: config.getoption(f"fencecheck_{name}") for name in ASKED})
    if config.getoption("fencecheck_system"):
        from fencecheck.pytest import Systems

        config.pluginmanager.register(Systems(config), "fencecheck-systems")
