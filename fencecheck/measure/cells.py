"""What a campaign is: cells, each so many independent episodes of one system in one kind of world, drawn from one distribution.

All of it are values: a campaign is stored with its results, and a worker is told all that it has to know.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from fencecheck.judge import Level
from fencecheck.measure.distribution import Distribution, stream
from fencecheck.model import Scenario

_SEEDS = 2**31
"""From how many seeds the values of a drawn world come."""


class Place(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A generated world, by the arguments of `worlds.world`."""

    keys: int = 4
    declared: int = 2
    depth: int = 2
    owners: int = 2
    family: str = "delivery"
    seed: int = 0

    def world(self) -> Scenario:
        """The scenario."""
        from fencecheck.worlds import world

        return world(
            keys=self.keys,
            declared=self.declared,
            depth=self.depth,
            owners=self.owners,
            family=self.family,  # type: ignore[arg-type]
            seed=self.seed,
        )

    def other(self, seed: int, number: int) -> Place:
        """The same kind of world, with values that are drawn.

        Args:
            seed: that of the campaign.
            number: which of them; the same one for all systems.
        """
        return replace(self, seed=int(stream(seed, f"world {self.family}", number).random() * _SEEDS))


class Cell(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Episodes that are counted together.

    Args:
        key: names the cell in its campaign, and its streams.
        labels: column to value, as a table shows the cell.
        system: how a worker loads the system.
        distribution: how each episode is drawn.
        place: the kind of generated world; None for a system that brings its own scenario.
        values: whose the values of that world are: of `all` episodes, or drawn for `each`.
        share: among how many cells with these labels the episodes are shared out.
    """

    key: str
    labels: dict[str, Any]
    system: str
    distribution: Distribution
    place: Place | None = None
    values: Literal["all", "each"] = "all"
    share: int = 1

    def episodes(self, asked: int) -> int:
        """How many it has, where so many are asked for with its labels."""
        return -(-asked // self.share)

    def place_of(self, seed: int, number: int) -> Place | None:
        """Where an episode of a campaign of that seed takes place; None in the system's own scenario."""
        return self.place if self.place is None or self.values == "all" else self.place.other(seed, number)


class Plan(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A whole campaign, but for how many episodes each cell has.

    Args:
        name: what is measured, such as `omission`.
        seed: where all streams begin.
        level: the promise by which an act is unsafe.
        cells: what is compared.
        sources: system to a digest of its source files, so that results of two versions are not mixed.
    """

    name: str
    seed: int
    level: Level
    cells: tuple[Cell, ...]
    sources: dict[str, str] = {}


class Row(Struct, frozen=True, array_like=True, gc=False):
    """One episode, as it is stored.

    Args:
        cell: number of its cell.
        number: its own, from 0, which its stream goes by.
        outcome: how it came out, as the judge says; `not-run` where the harness failed, which says nothing of the system.
        unsafe: whether an act went out of which there is a safety finding at the campaign's level, or which rests on a changed key that is not
            declared.
        stale: whether an act went out that rests on a version that was not current, declared or not.
        omitted: acts that rest on a changed key that is not declared.
        effects, replans, needless_replans, duplicates, refused: as in the judge's `Judgement`.
        recovered: whether it completed after a replan.
        needless_halt: whether it halted though nothing had changed or failed.
        questions: how often an owner was asked.
        fired: how many events fired.
        findings: the codes of all findings at the level, in order, with a space between; `no-evidence` also where it is of a key that is not
            declared.
        dropped, events: what was drawn, as JSON.
        detail: what the harness failed of, or how a system crashed or was stuck.
    """

    cell: int
    number: int
    outcome: str
    unsafe: bool = False
    stale: bool = False
    omitted: int = 0
    effects: int = 0
    replans: int = 0
    needless_replans: int = 0
    duplicates: int = 0
    refused: int = 0
    recovered: bool = False
    needless_halt: bool = False
    questions: int = 0
    fired: int = 0
    findings: str = ""
    dropped: str = "[]"
    events: str = "[]"
    detail: str = ""


NOT_RUN = "not-run"
