"""The figures of "Fresh Memory, Stale Plans" as campaigns, on the built-in systems and on a team's own."""

from __future__ import annotations

import pytest

from fencecheck.errors import BadInput
from fencecheck.measure import Options, Result, compare, depth, omission, width
from fencecheck.measure.cells import Cell, Place
from fencecheck.measure.distribution import Distribution
from fencecheck.measure.experiments import closed_form
from fencecheck.report.measured import measured_lines
from tests.measure.slow_systems import Blind, Crashes, OwnWorld, TwoActions, Undeclared

OPTIONAL = tuple(("deliver", key) for key in "bcd")


def count(result: Result, system: str, name: str) -> tuple[int, int]:
    (cell,) = (cell for cell in result.cells if cell.labels["system"] == system)
    rate = cell.rate(name)
    return rate.count, rate.episodes


@pytest.fixture(scope="module")
def table() -> Result:
    return compare(["fresh-read", "central", "planfence"])


class TestCompare:
    """Table 2 of the paper: one requirement changes between planning and act, in 10 worlds of each of 3 families."""

    def test_who_reads_the_latest_record_only_acts_stale_each_time(self, table: Result) -> None:
        assert count(table, "fresh-read", "completed") == (0, 30)
        assert count(table, "fresh-read", "stale") == (30, 30)
        assert count(table, "fresh-read", "recovered") == (0, 30)

    @pytest.mark.parametrize("system", ["central", "planfence"])
    def test_who_validates_provenance_completes_by_replanning(self, table: Result, system: str) -> None:
        assert count(table, system, "completed") == (30, 30)
        assert count(table, system, "stale") == (0, 30)
        assert count(table, system, "recovered") == (30, 30)
        assert count(table, system, "needless_replans") == (0, 30)

    def test_none_of_30_is_at_most_a_tenth(self, table: Result) -> None:
        (planfence,) = (cell for cell in table.cells if cell.labels["system"] == "planfence")
        assert planfence.rate("stale").interval()[1] == pytest.approx(0.095, abs=0.0001)

    def test_the_families_have_as_many_each(self, table: Result) -> None:
        assert table.drawn == ("trip/7/requirement or order/42/requirement or release/9/requirement changes once, right after planning",)
        assert [cell.episodes for cell in compare(["planfence"], options=Options(episodes=31)).cells] == [33]

    def test_each_episode_has_a_world_of_its_own_and_each_system_has_the_same_ones(self, table: Result) -> None:
        assert [cell.different for cell in table.cells] == [30] * 3
        central, planfence = (
            Cell(system, {}, system, Distribution(changes=0), Place(family="booking"), "each") for system in ("central", "planfence")
        )
        worlds = [central.place_of(1, number) for number in range(200)]
        assert len(set(worlds)) == 200
        assert worlds == [planfence.place_of(1, number) for number in range(200)]
        assert not set(worlds) & {central.place_of(2, number) for number in range(200)}

    def test_episodes_that_are_alike_are_told(self) -> None:
        assert compare([OwnWorld], options=Options(episodes=20)).cells[0].different == 1
        assert depth(["planfence"], depths=[2], options=Options(episodes=40)).cells[0].different == 2, "one for each key"

    def test_a_team_s_own_system_beside_them(self) -> None:
        result = compare([OwnWorld, "planfence"], options=Options(episodes=6))
        assert count(result, "OwnWorld", "stale") == (6, 6)
        assert count(result, "planfence", "stale") == (0, 6)

    def test_two_of_one_name_are_told_apart(self) -> None:
        class Other(OwnWorld):
            name = "planfence"

        result = compare(["planfence", Other], options=Options(episodes=3))
        assert [cell.labels["system"] for cell in result.cells] == ["planfence", "planfence 2"]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"systems": []}, "name at least one system, in a list"),
            ({"systems": "planfence"}, "name at least one system, in a list"),
            ({"systems": ["planfence", "planfence"]}, "planfence is asked for twice: once is enough"),
            ({"systems": ["planfence"], "families": ["orders"]}, "there is no family 'orders': use delivery, booking, deployment"),
            ({"systems": ["planfence"], "families": []}, "name at least one family: booking, delivery, deployment"),
            (
                {"systems": [OwnWorld], "families": ["delivery"]},
                "families are of generated worlds, and each system here brings its own scenario: leave them out",
            ),
            ({"systems": [OwnWorld], "families": ["orders"]}, "there is no family 'orders': use delivery, booking, deployment"),
            ({"systems": ["planfence"], "changing": ["a"]}, "changing names keys of one family: name that family alone too"),
            (
                {"systems": ["planfence"], "changing": ["order/42/windw"], "families": ["delivery"]},
                "changing: no owner holds the key 'order/42/windw': did you mean order/42/window?",
            ),
        ],
    )
    def test_what_cannot_be_compared(self, arguments: dict[str, object], said: str) -> None:
        with pytest.raises(BadInput, match=said):
            compare(**arguments)  # type: ignore[arg-type]


class TestOmission:
    """Appendix C: four true dependencies, one always declared, the others each dropped with probability p."""

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_the_published_scenario_follows_its_closed_form(self, seed: int) -> None:
        result = omission("planfence", options=Options(episodes=700, seed=seed))
        for cell in result.cells:
            low, high = cell.rate("unsafe").interval(0.999, among=len(result.cells))
            assert cell.expected == pytest.approx(3 * cell.labels["p"] / 4)
            assert low <= cell.expected + 1e-12
            assert cell.expected - 1e-12 <= high

    def test_half_forgotten_is_beside_the_published_figure(self) -> None:
        (cell,) = omission("planfence", grid=[0.5], options=Options(episodes=3_000)).cells
        assert cell.expected == 0.375
        assert cell.rate("unsafe").value == pytest.approx(0.374, abs=0.03)
        assert cell.rate("unsafe") == cell.rate("omitted") == cell.rate("stale")

    def test_nothing_forgotten_is_safe_and_all_forgotten_is_not(self) -> None:
        none, every = omission("planfence", grid=[0, 1], options=Options(episodes=400)).cells
        assert none.rate("unsafe").count == 0
        assert 250 < every.rate("unsafe").count < 350

    @pytest.mark.parametrize("changes", [1, 2, 3, 4])
    def test_more_changes_by_the_same_road(self, changes: int) -> None:
        (cell,) = omission("planfence", grid=[0.3], changes=changes, options=Options(episodes=1_500)).cells
        low, high = cell.rate("unsafe").interval(0.999)
        assert cell.expected is not None
        assert low < cell.expected < high

    def test_what_if_declarations_are_nine_tenths_complete(self) -> None:
        """Of ten true dependencies none always declared, each forgotten once in ten times."""
        result = omission("planfence", grid=[0.1], true=10, always=0, options=Options(episodes=2_000))
        low, high = result.cells[0].rate("unsafe").interval(0.999)
        assert low < 0.1 < high
        assert result.cells[0].expected == pytest.approx(0.1)

    def test_keys_that_change_can_be_chosen(self) -> None:
        only = omission("planfence", grid=[1], changing=["order/42/requirement"], options=Options(episodes=50)).cells[0]
        assert only.rate("unsafe").count == 0, "the one that is always declared"
        assert only.expected == 0
        unrelated = omission("planfence", grid=[1], true=2, keys=4, changing=["order/42/payment"], options=Options(episodes=50)).cells[0]
        assert unrelated.rate("unsafe").count == 0

    def test_which_are_always_declared_can_be_chosen(self) -> None:
        kept = ["order/42/window", "order/42/contact", "order/42/payment"]
        (cell,) = omission("planfence", grid=[1], always=kept, options=Options(episodes=200)).cells
        assert cell.expected == 0.25

    @pytest.mark.parametrize(
        ("arguments", "what"),
        [({"true": 4}, "how many keys its act depends on"), ({"keys": 4}, "how many keys there are"), ({"depth": 2}, "its depth")],
    )
    def test_a_system_of_its_own_world_has_its_own_size(self, arguments: dict[str, int], what: str) -> None:
        with pytest.raises(BadInput, match=f"OwnWorld brings its own scenario: {what} cannot be chosen for it"):
            omission(OwnWorld, **arguments)  # type: ignore[arg-type]

    def test_all_declarations_of_a_system_of_its_own_world_can_be_forgotten(self) -> None:
        (drawn,) = omission(OwnWorld, grid=[0.5], options=Options(episodes=1)).drawn
        declared = ", ".join(key for action in OwnWorld.scenario.actions for key in OwnWorld.scenario.declared(action))
        assert f"each of the declarations of {declared} is dropped" in drawn

    def test_a_system_of_its_own_world(self) -> None:
        (cell,) = omission(OwnWorld, grid=[0.5], always=0, options=Options(episodes=20)).cells
        assert cell.rate("stale").count == 20, "it has no fence, so all that is forgotten makes no difference"

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"grid": []}, "name at least one value for p, in a list"),
            ({"grid": [0.5, 1.5]}, r"p lies between 0 and 1, and is not 1\.5"),
            ({"grid": [0.5, 0.5]}, "planfence p=0.5 is asked for twice: once is enough"),
            ({"always": 5}, "from 0 to 4 dependencies can always be declared, not 5"),
            (
                {"always": ["order/42/requirment"]},
                "always: no owner holds the key 'order/42/requirment': did you mean order/42/requirement",
            ),
            ({"changes": 5}, "from 0 to 4 keys can change in an episode, not 5"),
            ({"true": 5, "keys": 4}, "the act cannot depend on 5 of 4 keys: true is at most as large as keys"),
            ({"keys": 3}, "the act cannot depend on 4 of 3 keys: true is at most as large as keys"),
            ({"true": 17}, "true must be a whole number from 1 to 16, not 17"),
            ({"keys": 0}, "keys must be a whole number from 1 to 16, not 0"),
            ({"grid": 0.5}, "name at least one value for p, in a list"),
            ({"always": "order/42/window"}, r"always: give the keys in a list, such as \['order/42/window'\]"),
            ({"changing": "order/42/window"}, r"changing: give the keys in a list, such as \['order/42/window'\]"),
        ],
    )
    def test_what_cannot_be_measured(self, arguments: dict[str, object], said: str) -> None:
        with pytest.raises(BadInput, match=said):
            omission("planfence", **arguments)  # type: ignore[arg-type]


def test_a_crash_is_no_unsafe_act() -> None:
    (cell,) = omission(Crashes, grid=[0], options=Options(episodes=20)).cells
    assert cell.rate("crashed").count == 20
    assert cell.rate("unsafe").count == 0


class TestActsThatShowNothing:
    """Of an act that carries no version nobody can say that it was safe."""

    @pytest.mark.parametrize("p", [0, 1])
    def test_they_are_not_counted_as_safe(self, p: float) -> None:
        result = omission(Blind, grid=[p], options=Options(episodes=20))
        (cell,) = result.cells
        assert [cell.rate(name).count for name in ("unknown", "completed", "unsafe")] == [20, 0, 0]
        assert result.exit_status == 3
        assert "in 20 of 20 episodes nothing shows which version of a key an act was made from" in result.inconclusive

    def test_not_even_in_a_table(self) -> None:
        lines = [line.plain for line in measured_lines(compare([Blind], options=Options(episodes=20)), 100)]
        assert any(line.split()[:3] == ["blind", "0/20", "0/20"] for line in lines)
        assert not any("at most 13.9%  at most" in line for line in lines)


def test_keys_of_all_actions_change() -> None:
    result = omission(TwoActions, grid=[0], options=Options(episodes=60))
    assert "1 of stock, price changes once" in result.drawn[0]
    assert result.cells[0].rate("unsafe").count == 60


def test_there_is_no_closed_form_where_less_is_declared_than_depended_on() -> None:
    (cell,) = omission(Undeclared, grid=[0], always=0, options=Options(episodes=40)).cells
    assert cell.expected is None
    assert cell.rate("omitted").count > 0


def test_probabilities_that_differ_little_are_cells_of_their_own() -> None:
    result = omission("planfence", grid=[0.1, 0.1000000001], options=Options(episodes=2))
    assert [cell.key for cell in result.cells] == ["planfence p=0.1", "planfence p=0.1000000001"]


def test_the_closed_form_by_a_second_road() -> None:
    """Every choice of the changed keys and of the dropped declarations, weighed."""
    from itertools import combinations, product

    keys, p = "abcd", 0.3
    for changes in range(1, 5):
        chosen = list(combinations(keys, changes))
        unsafe = 0.0
        for changed in chosen:
            for dropped in product([False, True], repeat=3):
                weight = 1.0
                for is_dropped in dropped:
                    weight *= p if is_dropped else 1 - p
                gone = {key for key, is_dropped in zip("bcd", dropped, strict=True) if is_dropped}
                unsafe += weight * bool(gone & set(changed)) / len(chosen)
        assert closed_form(p, keys, changes, OPTIONAL) == pytest.approx(unsafe)


class TestDepthAndWidth:
    """Table 1 has parent chains of 1, 2, 4 and 8, and acts that depend on 1 of 8 shared keys to all of them."""

    def test_one_generation_is_all_that_direct_parents_see(self) -> None:
        result = depth(["direct-parents", "planfence"], depths=[1, 2, 4, 8, 64], options=Options(episodes=20))
        stale = {(cell.labels["system"], cell.labels["depth"]): cell.rate("stale").count for cell in result.cells}
        assert [stale["direct-parents", at] for at in (1, 2, 4, 8, 64)] == [0, 20, 20, 20, 20]
        assert [stale["planfence", at] for at in (1, 2, 4, 8, 64)] == [0] * 5

    def test_wider_acts_replan_more_often_and_ask_more(self) -> None:
        result = width(["planfence"], options=Options(episodes=300))
        recovered = [cell.rate("recovered").value for cell in result.cells]
        assert [cell.labels["width"] for cell in result.cells] == list(range(1, 9))
        for share, of in zip(recovered, range(1, 9), strict=True):
            assert share == pytest.approx(of / 8, abs=0.12)
        asked = [cell.mean("questions") for cell in result.cells]
        assert asked == sorted(asked)
        assert not any(cell.rate("needless_replans").count or cell.rate("stale").count for cell in result.cells)

    def test_systems_with_a_world_of_their_own_are_refused(self) -> None:
        with pytest.raises(BadInput, match="OwnWorld brings its own scenario: its depth cannot be chosen for it"):
            depth([OwnWorld])
        with pytest.raises(BadInput, match="OwnWorld brings its own scenario: how many keys its act depends on cannot be chosen for it"):
            width([OwnWorld])
