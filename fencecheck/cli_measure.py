"""The commands that measure: how often, compared with what, and how sure. Only click is imported here at first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fencecheck.report.streams import print_lines

if TYPE_CHECKING:
    from fencecheck.measure import Options, Result

LEVELS = ("at-validation", "at-one-instant", "at-act")
WHERES = ("after-planning", "before-the-act", "anywhere")
_FILES = click.Path(path_type=Path, dir_okay=False)


class _Numbers(click.ParamType[tuple[float, ...]]):
    """`0,0.5,1`."""

    name = "numbers"

    def __init__(self, kind: type[int] | type[float]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """The numbers of a text."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self._kind(part) for part in str(value).split(","))
        except ValueError:
            numbers = "whole numbers, such as 1,2,4" if self._kind is int else "numbers, such as 0,0.5,1"
            self.fail(f"{value!r} is no list of {numbers}")


def common(command: Callable[..., None]) -> Callable[..., None]:
    """The options of everything that is measured."""
    for option in reversed(_COMMON):
        command = option(command)
    return command


_COMMON = (
    click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Where the streams of chance begin."),
    click.option("--level", type=click.Choice(LEVELS), default="at-validation", help="The promise by which an act is unsafe."),
    click.option("--where", type=click.Choice(WHERES), default="after-planning", show_default=True, help="Where the change lands."),
    click.option("--confidence", type=float, default=0.95, show_default=True, metavar="C", help="Of each interval."),
    click.option("--workers", type=click.IntRange(1), default=1, metavar="N", help="Processes that run episodes (1)."),
    click.option("--store", type=_FILES, metavar="FILE", help="Keep the episodes there, and go on from those that it holds."),
    click.option(
        "--tries", type=click.IntRange(1), default=3, metavar="N", help="How often what the harness failed at is tried in all (3)."
    ),
    click.option("--json", "json_file", type=_FILES, metavar="FILE", help="Write the result there as one JSON object."),
    click.option("--csv", "csv_file", type=_FILES, metavar="FILE", help="Write the result there as a table."),
    click.option("--plot", "plot_file", type=_FILES, metavar="FILE", help="Draw the result there: .png or .svg."),
)
_OUTPUTS = ("json_file", "csv_file", "plot_file")
_OPTIONS = ("seed", "level", "confidence", "workers", "store", "tries")


def episodes(default: int, of: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option that says how many."""
    return click.option(
        "--episodes", type=click.IntRange(1), default=default, show_default=True, metavar="N", help=f"Independent episodes for each {of}."
    )


@click.group()
def measure() -> None:
    """Measure how often acts are unsafe, over independent episodes.

    Exit status: 0 measured, 2 could not run or bad input, 3 inconclusive.
    """


@measure.command()
@click.argument("system")
@click.option("--p", "grid", type=_Numbers(float), metavar="P,...", help="Probabilities with which a declaration is dropped (0,0.1,...,1).")
@click.option("--true", type=int, metavar="N", help="Keys that the act of a generated world really depends on (4).")
@click.option("--always", metavar="N|KEY,...", help="How many of them are always declared, or which (1; none in an own scenario).")
@click.option("--keys", type=int, metavar="N", help="Keys of the generated world (as many as the act depends on).")
@click.option("--changing", metavar="KEY,...", help="The keys that can change (those on which an action depends).")
@click.option("--changes", type=int, default=1, show_default=True, metavar="N", help="How many keys change in an episode.")
@click.option("--depth", type=int, metavar="D", help="Generations between a plan and what it rests on, in a generated world (2).")
@episodes(1_000, "probability")
@common
def omission(system: str, grid: tuple[float, ...] | None, always: str | None, changing: str | None, **options: Any) -> None:
    """Drop declarations with probability p: how often do unsafe acts go out?

    By default the published scenario: four true dependencies, one always declared, one of the four changed in each episode.
    """
    from fencecheck.measure import omission as measured
    from fencecheck.measure.experiments import GRID

    kept = int(always) if always is not None and always.isdigit() else None if always is None else _keys(always)
    chosen = GRID if grid is None else grid
    _measured(lambda how, rest: measured(_loaded(system), grid=chosen, always=kept, changing=_keys(changing), options=how, **rest), options)


@measure.command()
@click.argument("systems", metavar="SYSTEM...", nargs=-1, required=True)
@click.option("--depths", type=_Numbers(int), metavar="D,...", help="Generations between a plan and what it rests on (1,2,4,8).")
@episodes(1_000, "depth")
@common
def depth(systems: tuple[str, ...], depths: tuple[int, ...] | None, **options: Any) -> None:
    """Stale acts by the depth of a plan's lineage."""
    from fencecheck.measure import depth as measured
    from fencecheck.measure.experiments import DEPTHS

    named = [_loaded(system) for system in systems]
    _measured(lambda how, rest: measured(named, depths=depths or DEPTHS, options=how, **rest), options)


@measure.command()
@click.argument("systems", metavar="SYSTEM...", nargs=-1, required=True)
@click.option("--keys", type=int, default=8, show_default=True, metavar="N", help="Shared keys, one of which changes in each episode.")
@click.option("--widths", type=_Numbers(int), metavar="W,...", help="How many of them the act depends on (1 to all).")
@episodes(1_000, "width")
@common
def width(systems: tuple[str, ...], widths: tuple[int, ...] | None, **options: Any) -> None:
    """What becomes of acts by how many of the shared keys they depend on."""
    from fencecheck.measure import width as measured

    named = [_loaded(system) for system in systems]
    _measured(lambda how, rest: measured(named, widths=widths or (), options=how, **rest), options)


@click.command()
@click.argument("systems", metavar="SYSTEM...", nargs=-1, required=True)
@click.option("--families", metavar="FAMILY,...", help="Kinds of task of the generated worlds (booking,delivery,deployment).")
@click.option("--changing", metavar="KEY,...", help="The keys of which one changes (the first that the act depends on).")
@episodes(30, "system")
@common
def compare(systems: tuple[str, ...], families: str | None, changing: str | None, **options: Any) -> None:
    """Compare systems while one requirement changes between planning and act.

    SYSTEM is named as for `fencecheck check`. Exit status: 0 measured, 2 could not run or bad input, 3 inconclusive.
    """
    from fencecheck.measure import compare as measured

    named = [_loaded(system) for system in systems]
    chosen = None if families is None else _keys(families)
    _measured(lambda how, rest: measured(named, families=chosen, changing=_keys(changing), options=how, **rest), options)


def _keys(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text is not None else ()


def _loaded(system: str) -> Any:
    from fencecheck.cli import _load

    return _load(system)


def _measured(measured: Callable[[Options, dict[str, Any]], Result], options: dict[str, Any]) -> None:
    """Measures, prints, writes the files, and exits with the status."""
    from fencecheck.cli import _exit, _no_exit
    from fencecheck.measure import Options
    from fencecheck.report import json, plots
    from fencecheck.report import measured as rendered

    json_file, csv_file, plot_file = (options.pop(name) for name in _OUTPUTS)
    files = [path for path in (json_file, csv_file, plot_file) if path is not None]
    json.refuse_one_file([*files, *([options["store"]] if options["store"] else [])])
    for path in files:
        json.refuse_unwritable(path)
    if plot_file is not None:
        plots.refuse_format(plot_file)
    about = {name: options.pop(name) for name in _OPTIONS}
    with _told() as told, _no_exit():
        result = measured(Options(episodes=options.pop("episodes"), told=told, **about), options)
    if json_file is not None:
        json.write(json_file, json.encoded(rendered.as_object(result)))
    if csv_file is not None:
        json.write(csv_file, rendered.as_csv(result))
    if plot_file is not None:
        plots.write_plot(result, plot_file)
    print_lines(lambda wide: rendered.measured_lines(result, wide))
    _exit([result.exit_status])


@contextmanager
def _told() -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, with the rate and the time that is left."""
    import sys

    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, of: None
        return
    from fencecheck.report.progress import bar

    with bar() as told:
        yield told
