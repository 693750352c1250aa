"""Values of keys: realistic texts, and the values that a scenario leaves to a strategy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from fencecheck.model import Scenario
from fencecheck.strategies._arguments import BadArgument, check_count, check_scenario
from fencecheck.worlds import FAMILIES, Family, keys_of, text_for

_BACKEND = "fencecheck-no-constants"
VERSIONS = 8
"""Values that are drawn for each key: more updates than a smallest interleaving has."""


def values(family: Family = "delivery", key: str | None = None) -> SearchStrategy[str]:
    """Realistic values of a key: addresses, time windows, fares, made by Faker from a drawn seed, so that they are replayed exactly.

    In `Scenario(values={key: values(...)})` all values that are drawn differ; elsewhere use `st.lists(values(), unique=True)`.

    Args:
        family: `delivery`, `booking` or `deployment`.
        key: the key; by default the requirement of the family. A key that the family does not name gets notes.

    Raises:
        BadArgument: there is no such family, or the key is no text.
    """
    if family not in FAMILIES:
        raise BadArgument(f"values(): there is no family {family!r}: use {', '.join(FAMILIES)}")
    if key is not None and not isinstance(key, str):
        raise BadArgument(f"values(): key must be a text, not {key!r}")
    name = keys_of(family, 1)[0] if key is None else key
    return st.integers(0, 2**32 - 1).map(lambda seed: text_for(family, name, seed=seed))


def concrete(scenario: Scenario, seed: int = 0) -> Scenario:
    """The scenario with each strategy in `values` replaced by a tuple of values drawn from it, all different. For use before a run.

    The same scenario and seed give the same values in every process, as long as the version of Hypothesis stays the same. No value
    occurs twice in the scenario, and no text is part of another one wherever a strategy can give enough of them. A strategy may give
    fewer than eight values: further versions get a made-up text.

    Raises:
        BadArgument: an argument cannot be used, or nothing new can be drawn from a strategy.
    """
    check_scenario("concrete", scenario)
    check_count("concrete", "seed", seed, 0)
    open_keys = [key for key, drawn in scenario.values.items() if isinstance(drawn, SearchStrategy)]
    if not open_keys:
        return scenario
    known = _CLOSED.get((id(scenario), seed))
    if known is not None and known[0] is scenario:
        return known[1]
    closed = _closed(scenario, open_keys, seed)
    if len(_CLOSED) >= _MOST_CLOSED:
        _CLOSED.clear()
    _CLOSED[id(scenario), seed] = (scenario, closed)
    return closed


_CLOSED: dict[tuple[int, int], tuple[Scenario, Scenario]] = {}
"""What `concrete` made of which scenario: a run asks for it again in each example, and to draw it takes a tenth of a second."""
_MOST_CLOSED = 100


def _closed(scenario: Scenario, open_keys: list[str], seed: int) -> Scenario:
    taken = [value for key, drawn in scenario.values.items() if key not in open_keys for value in drawn]
    found = {}
    for number, key in enumerate(open_keys):
        found[key] = _distinct(key, scenario.values[key], taken, seed * len(open_keys) + number)
        taken += found[key]
    return replace(scenario, values={**scenario.values, **found})


def _distinct(key: str, strategy: SearchStrategy[Any], taken: list[Any], number: int) -> tuple[Any, ...]:
    """Values that can be told apart, from each other and from `taken`."""
    sample, chosen = _sample(key, strategy, number), list[Any]()
    for differ in (_far_apart, _unequal):
        for value in sample:
            if len(chosen) < VERSIONS and all(differ(value, other) for other in (*taken, *chosen)) and value != "":
                chosen.append(value)
    if not chosen:
        raise BadArgument(f"concrete(): the strategy for {key!r} gives no value that is not empty and differs from all others")
    return tuple(chosen)


def _far_apart(one: Any, two: Any) -> bool:
    """Whether two values cannot be taken for each other, not even as parts of texts."""
    if isinstance(one, str) and isinstance(two, str):
        return one not in two and two not in one
    return _unequal(one, two)


def _unequal(one: Any, two: Any) -> bool:
    return bool(one != two)


class _NoConstants(HypothesisProvider):
    """Hypothesis's own source of choices, without the constants of whatever modules happen to be loaded: one seed, one sample."""

    def _maybe_draw_constant(self, *args: Any, **kwargs: Any) -> None:
        return None


AVAILABLE_PROVIDERS[_BACKEND] = f"{__name__}.{_NoConstants.__name__}"


def _sample(key: str, strategy: SearchStrategy[Any], number: int) -> list[Any]:
    """Values in the order in which Hypothesis draws them from this seed: nothing is stored, and nothing is read from a database.

    On a thread of its own, since Hypothesis refuses a test inside a test, and `concrete` may well be called in one.
    """
    try:
        with ThreadPoolExecutor(1) as aside:
            return aside.submit(_collect, strategy, number).result()
    except HypothesisException as error:
        raise BadArgument(f"concrete(): nothing can be drawn from the strategy for {key!r}: {error}") from error


def _collect(strategy: SearchStrategy[Any], number: int) -> list[Any]:
    drawn: list[Any] = []

    @settings(
        max_examples=10 * VERSIONS,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        backend=_BACKEND,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @seed(number)
    @given(strategy)
    def collect(value: Any) -> None:
        drawn.append(value)

    collect()
    return drawn
