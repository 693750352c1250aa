"""Hypothesis settings profiles for CI, which any test of one's own can load: `settings.load_profile("fencecheck-pr")`."""

from __future__ import annotations

from hypothesis import settings


def register() -> None:
    """Makes the profiles known to Hypothesis.

    `fencecheck-pr` draws the same examples each time and keeps nothing, so that a pull request fails by what it changes alone; a failure
    prints how to run it again. `fencecheck-nightly` draws others each time, and keeps what failed in Hypothesis's example database, from
    which the next run tries it first. Neither has a deadline: on a shared machine it would fail tests at random.
    """
    default = settings.get_profile("default")
    settings.register_profile("fencecheck-pr", default, derandomize=True, database=None, deadline=None, print_blob=True)
    settings.register_profile("fencecheck-nightly", default, derandomize=False, deadline=None, print_blob=True)
