"""The command that looks for hidden dependencies. Only click is imported here at first."""

from __future__ import annotations

from pathlib import Path

import click

from fencecheck.report.streams import print_lines, progress


@click.command()
@click.argument("system")
@click.option(
    "--values",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    metavar="N",
    help="Other values of each key to try, of the scenario.",
)
@click.option("--together", type=click.IntRange(1, 3), default=2, show_default=True, metavar="N", help="Of how many keys at once.")
@click.option("--episodes", type=click.IntRange(1), default=20_000, show_default=True, metavar="N", help="Most episodes.")
@click.option("--removed", is_flag=True, help="Also try what comes of it when a key has been removed.")
@click.option("--keys", type=int, metavar="N", help="Keys of the generated scenario (4).")
@click.option("--declared", type=int, metavar="M", help="How many of them the action depends on (2).")
@click.option("--depth", type=int, metavar="D", help="Generations between a plan and what it rests on (2).")
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write what was found there, with both runs.")
def dependencies(
    system: str,
    values: int,
    together: int,
    episodes: int,
    removed: bool,
    keys: int | None,
    declared: int | None,
    depth: int | None,
    json_file: Path | None,
) -> None:
    """Find what acts really depend on: real but undeclared, and declared but of no consequence.

    Each key has another value from the beginning, undeclared ones too; the system plans and acts, and what goes out is compared.

    Exit status: 0 all that was found is declared, 1 a real dependency is not, 2 could not run or bad input, 3 inconclusive.
    """
    from fencecheck.cli import _exit, _load, _no_exit, _scenario
    from fencecheck.measure.dependencies import dependencies as found_in
    from fencecheck.report import json
    from fencecheck.report.dependencies import as_object, dependency_lines

    loaded, scenario = _load(system), _scenario(keys, declared, depth)
    if json_file is not None:
        json.refuse_unwritable(json_file)
    with progress(f"changing keys of {system}"), _no_exit():
        found = found_in(loaded, scenario, values=values, together=together, episodes=episodes, removed=removed)
    if json_file is not None:
        json.write(json_file, json.encoded(as_object(found)))
    print_lines(lambda width: dependency_lines(found, width))
    _exit([found.exit_status])
