"""Before any search: does the system act, and does one interleaving always give one history?"""

from __future__ import annotations

import pytest

from fencecheck.errors import CouldNotRun, Nondeterministic
from fencecheck.run.simulate import Runner
from fencecheck.search.check import check
from fencecheck.search.preflight import preflight

from . import systems_with_state as made

NEVER = "never acts, even without any event"


def test_a_system_with_nothing_wrong_is_checked_in_a_fresh_process_too() -> None:
    with Runner(made.Well) as runner:
        assert preflight(runner) == ["deterministic (checked, in a fresh process too)"]
        assert preflight(runner, fresh_process=False) == ["deterministic (checked in this process)"]


def test_a_system_that_no_other_process_can_load_is_checked_here_only() -> None:
    class Inside(made.Well):
        pass

    with Runner(Inside) as runner:
        assert preflight(runner) == ["deterministic (checked in this process only)"]


def test_arguments_and_texts_may_differ() -> None:
    with Runner(made.Stamps) as runner:
        assert preflight(runner) == ["deterministic (alike in the few runs that were compared, but it asks chance)"]


def test_state_at_class_level_is_a_leak_of_the_adapter() -> None:
    made.Caches.cache.clear()
    with Runner(made.Caches) as runner, pytest.raises(CouldNotRun) as caught:
        preflight(runner)
    assert not isinstance(caught.value, Nondeterministic)
    act = "Act(agent='agent', action='go', args={'to': 'x version 1'}, basis={'x': 'x@1'})"
    assert str(caught.value) == (
        "Caches leaks state from one episode into the next: entry 0 is Read(agent='agent', key='x', version='x@1') in one and "
        f"{act} in the other: build all state in setup(), none at class or module level"
    )


def test_a_leak_is_nondeterminism_where_no_fresh_process_tells_them_apart() -> None:
    made.Caches.cache.clear()
    with Runner(made.Caches) as runner, pytest.raises(Nondeterministic) as caught:
        preflight(runner, fresh_process=False)
    assert str(caught.value).startswith("Caches is not deterministic: two runs of one interleaving differ: entry 0 is Read(")


def test_chance_is_nondeterminism() -> None:
    with Runner(made.Tosses) as runner, pytest.raises(Nondeterministic) as caught:
        preflight(runner)
    assert str(caught.value).startswith("Tosses is not deterministic: two runs of one interleaving differ: entry ")


def test_the_order_of_a_set_is_nondeterminism_that_only_a_fresh_process_shows() -> None:
    with Runner(made.Hashes) as runner:
        assert preflight(runner, fresh_process=False) == ["deterministic (checked in this process)"]
        with pytest.raises(Nondeterministic) as caught:
            preflight(runner)
    assert str(caught.value).startswith("Hashes is not deterministic: a fresh process does otherwise: entry ")


CALL = "so there is nothing to judge: call kit.act(...) where the system calls the outside"


@pytest.mark.parametrize(
    ("system", "why"),
    [
        (made.NeverActs, f"run() returned, {CALL}"),
        (made.Halts, f"it halted (not today), {CALL}"),
        (made.Waits, f"it was stuck (waits for nothing: 3 points, the most that an episode may have (max_points)), {CALL}"),
        (made.IsRefused, "it halted, so there is nothing to judge: its act had no effect"),
    ],
)
def test_a_system_that_never_acts_is_no_pass(system: type[made.Well], why: str) -> None:
    with pytest.raises(CouldNotRun) as caught:
        check(system, fresh_process=False)
    assert str(caught.value) == f"{system.__name__} {NEVER}: {why}"
    assert caught.value.exit_status == 2


def test_a_system_that_breaks_in_a_fresh_process_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with Runner(made.Well) as runner:
        monkeypatch.setattr("fencecheck.search.preflight.reference", lambda system: "no.such.module:System")
        with pytest.raises(CouldNotRun) as caught:
            preflight(runner)
    assert str(caught.value) == (
        "Well runs here but not in a fresh process: there is no module 'no.such.module' on the import path: "
        "check the name, or give path/to/file.py:Class"
    )
