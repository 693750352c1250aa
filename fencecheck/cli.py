"""The command line. Exit status: 0 held, 1 violated, 2 could not run or bad input, 3 inconclusive.

Only click is imported here at first: each command loads what it needs, so that `--help` is instant.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from fencecheck import __version__
from fencecheck.cli_dependencies import dependencies
from fencecheck.cli_measure import compare, measure
from fencecheck.errors import BadInput, CouldNotRun, FencecheckError
from fencecheck.report.streams import UNWRITTEN, echo, print_lines, progress, throw_away

if TYPE_CHECKING:
    from fencecheck.model import Scenario
    from fencecheck.run.simulate import SystemLike
    from fencecheck.search.report import Report

LEVELS = ("at-validation", "at-one-instant", "at-act")
ENGINES = ("exhaust", "explore")
ASSUMPTIONS = ("honest-owners",)
PROFILES = ("fencecheck-pr", "fencecheck-nightly")
WORLDS = ("default", "large")
EXPECTED = {
    "planfence": "held",
    "central": "held",
    "direct-parents": "violated",
    "fresh-read": "violated",
    "if-match": "held",
    "idempotency-key": "violated",
}
"""What `demo` checks, and the verdicts that it expects, with the default world."""
_WORST = (0, 3, 1, 2)
_INTERRUPTED = 130
_LONGEST = 2_000
"""Most characters of a sentence: what a system raises may hold a whole document."""
_LAST_WORK_S = 1.0


class _Group(click.Group):
    """Turns every error into one sentence on standard error."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **options: Any) -> Any:  # type: ignore[override]
        """Runs the command line and exits with its status."""
        standalone = options.pop("standalone_mode", True)
        try:
            status = super().main(args, prog_name or "fencecheck", standalone_mode=False, **options)
        except click.exceptions.ClickException as error:
            status = error.exit_code
            if type(error).__name__ == "NoArgsIsHelpError":
                error.show()
            else:
                _say(error.format_message())
        except click.exceptions.Abort:
            _say("interrupted")
            status = _INTERRUPTED
        except FencecheckError as error:
            _say(str(error))
            status = error.exit_status
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            _say(_unexpected(error))
            status = 2
        if standalone:
            code = status if isinstance(status, int) else 0
            if args is None:
                _leave_threads_behind(code)
            sys.exit(code)
        return status

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command; what it exits with itself is its status."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.exceptions.Abort from None


def _leave_threads_behind(status: int) -> None:
    """Ends the process where a system left a thread that works on, for which Python would wait, for ever maybe, when all has been said."""
    left = [thread for thread in threading.enumerate() if not thread.daemon and thread is not threading.current_thread()]
    for thread in left:
        thread.join(_LAST_WORK_S / len(left))
    if any(thread.is_alive() for thread in left):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
        os._exit(status)


def _say(message: str) -> None:
    """One sentence on standard error. Where that cannot be written either, the exit status is all that is left to say it."""
    try:
        text = " ".join(message.split())
        click.echo(f"fencecheck: {text[:_LONGEST]}{'…' if text[_LONGEST:] else ''}", err=True)
    except OSError:
        throw_away(sys.stderr)


def _unexpected(error: BaseException) -> str:
    """One sentence for an exception that nobody foresaw: most come from the code of the system under test."""
    from fencecheck.run.raised import said

    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"unexpected {said(error)}{where}"


@contextmanager
def _no_exit() -> Iterator[None]:
    """A system under test that calls `sys.exit` or `os._exit` must not decide the exit status, nor where relative paths lead by going elsewhere."""
    process, folder, ends = os.getpid(), os.getcwd(), os._exit

    def refused(status: int) -> NoReturn:
        if os.getpid() == process:  # a child that it forked may end as it likes
            _say(
                f"the system under test called os._exit({status!r}), and nothing can be judged after that: take it out, or raise an exception"
            )
            status = 2
        ends(status)

    os._exit = refused
    try:
        yield
    except SystemExit as error:
        raise CouldNotRun(f"the system under test called sys.exit({error.code!r}): guard that with if __name__ == '__main__'") from error
    finally:
        os._exit = ends
        with suppress(OSError):
            os.chdir(folder)


@click.group("fencecheck", cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="fencecheck", message="%(prog)s %(version)s")
def main() -> None:
    """Does an agent that plans first and acts later halt, or act on what is current?

    Runs an agent system over generated interleavings of updates, replans, outages, missing parents and dropped declarations, and hands
    back the smallest one that breaks it.

    Exit status: 0 held, 1 violated, 2 could not run or bad input, 3 inconclusive.
    """
    try:
        Path.cwd()
    except OSError as error:
        raise BadInput("the working directory is gone: change into one that exists") from error


# -- check ---------------------------------------------------------------------------------------------------------------------------


@main.command()
@click.argument("systems", metavar="SYSTEM...", nargs=-1, required=True)
@click.option("--engine", type=click.Choice(ENGINES), default="exhaust", help="Every interleaving, or drawn ones.")
@click.option(
    "--max-events",
    type=click.IntRange(0),
    metavar="K",
    help="Most events; else exhaust goes on to any number, explore draws 8, or 12 in large worlds.",
)
@click.option("--examples", type=click.IntRange(1), metavar="N", help="How many interleavings explore draws (1,000); explore only.")
@click.option("--level", type=click.Choice(LEVELS), default="at-validation", help="The promise that is checked.")
@click.option("--seed", type=int, metavar="S", help="Where explore begins (0; nightly: at random); explore only.")
@click.option(
    "--profile", type=click.Choice(PROFILES), help="For explore: the same each time, or other ones with what failed before first."
)
@click.option("--worlds", type=click.Choice(WORLDS), default="default", help="For explore: large draws the scenario too, up to 16 keys.")
@click.option("--keys", type=int, metavar="N", help="Keys of the generated scenario (4).")
@click.option("--declared", type=int, metavar="M", help="How many of them the action depends on (2).")
@click.option("--depth", type=int, metavar="D", help="Generations between a plan and what it rests on (2).")
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write the results there as one JSON object.")
@click.option("--save", type=click.Path(path_type=Path), metavar="DIR", help="Write a case and a pytest file for each violation there.")
@click.option("--fail-on", multiple=True, metavar="CODE", help="A finding that fails the check besides safety, such as duplicate-act.")
@click.option("--assume-broken", multiple=True, type=click.Choice(ASSUMPTIONS), help="An assumption that may be broken.")
@click.option("--max-time", type=click.FloatRange(0, min_open=True), metavar="S", help="Seconds after which no further episode is begun.")
@click.option("--per-kind", type=click.IntRange(0), metavar="N", help="Most episodes for each further kind of event (600); exhaust only.")
@click.option("--kinds", metavar="KIND,...", help="Only these kinds of event, such as update,switch.")
@click.option(
    "--store",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep the episodes of exhaust there, and go on from those that it holds.",
)
@click.option("--shard", metavar="I/N", help="Run the I-th of N shares of the interleavings of up to --max-events.")
def check(
    systems: tuple[str, ...],
    engine: str,
    max_events: int | None,
    examples: int | None,
    level: str,
    seed: int | None,
    profile: str | None,
    worlds: str,
    keys: int | None,
    declared: int | None,
    depth: int | None,
    json_file: Path | None,
    save: Path | None,
    fail_on: tuple[str, ...],
    assume_broken: tuple[str, ...],
    max_time: float | None,
    per_kind: int | None,
    kinds: str | None,
    shard: str | None,
    store: Path | None,
) -> None:
    """Check systems against halt or current.

    SYSTEM is a built-in name (see `fencecheck systems`), package.module:Class or path/to/file.py:Class.
    """
    from fencecheck.judge import FINDINGS
    from fencecheck.report import json
    from fencecheck.search.budget import WHOLE
    from fencecheck.search.budget import shard as read_shard

    if unknown := [code for code in fail_on if code not in FINDINGS]:
        raise BadInput(f"there is no finding {unknown[0]!r}: --fail-on takes {', '.join(FINDINGS)}")
    loaded = {name: _load(name) for name in systems}
    scenario = _scenario(keys, declared, depth)
    for system in loaded.values():
        _usable(system, scenario)
    json.refuse_one_file([path for path in (json_file, store) if path is not None])
    if json_file is not None:
        json.refuse_unwritable(json_file)
    if save is not None:
        json.refuse_unwritable_folder(save)
    options = {
        "engine": engine, "scenario": scenario, "level": level, "max_events": max_events, "seed": seed, "profile": profile,
        "worlds": worlds, "fail_on": fail_on, "assume_broken": assume_broken, "max_time": max_time,
        "shard": WHOLE if shard is None else read_shard(shard),
        "kinds": None if kinds is None else [kind.strip() for kind in kinds.split(",")],
        "examples": examples, "per_kind": per_kind, "store": store,
    }  # fmt: skip
    if store is not None and len(systems) > 1:
        raise BadInput("a store holds the episodes of one system: check the others by themselves")
    reports, errors = _check_all(loaded, options, save)
    if json_file is not None:
        json.write(json_file, json.encoded(json.as_object(reports, errors)))
    _exit([*(report.exit_status for report in reports), *(2 for _ in errors)])


def _check_all(loaded: dict[str, SystemLike], options: dict[str, Any], save: Path | None) -> tuple[list[Report], dict[str, str]]:
    """Checks and prints one after the other: a system that cannot be checked does not stop the others."""
    from fencecheck.report.terminal import report_lines

    reports: list[Report] = []
    errors: dict[str, str] = {}
    for number, (name, system) in enumerate(loaded.items()):
        try:
            report = _checked(name, system, **options)
            reports.append(report)
        except FencecheckError as error:
            errors[name] = str(error)
        except Exception as error:
            errors[name] = _unexpected(error)
        else:
            unsaved = _save(report, save, name) if save is not None and report.failures else None
            if number:
                echo()
            print_lines(lambda width, report=report: report_lines(report, width))  # type: ignore[misc]
            if unsaved is not None:
                errors[name] = unsaved
            elif save is None and report.failures:
                echo("  to keep this as a case and a test, add --save DIR")
        if name in errors:
            _say(errors[name])
    return reports, errors


def _save(report: Report, directory: Path, name: str) -> str | None:
    """Saves the failures; a report is worth printing even where its case cannot be stored."""
    from fencecheck.report.repro import save

    try:
        save(report, directory, name)
    except FencecheckError as error:
        return str(error)
    return None


def _checked(name: str, system: SystemLike, **options: Any) -> Report:
    from fencecheck.search.check import check

    with progress(f"checking {name}"), _no_exit():
        return check(system, **options)


def _load(name: str, near: Path | None = None) -> SystemLike:
    from fencecheck.run.loading import load

    with _no_exit():
        return load(name, near)


def _usable(system: SystemLike, scenario: Scenario | None) -> None:
    """Says what is wrong with an adapter, or with a scenario for it, before anything long is begun."""
    from fencecheck.run.simulate import Runner

    with _no_exit():
        Runner(system, scenario).close()


def _scenario(keys: int | None, declared: int | None, depth: int | None) -> Scenario | None:
    """The generated scenario that was asked for, or None for the default."""
    if keys is declared is depth is None:
        return None
    from fencecheck.worlds import world

    keys = 4 if keys is None else keys
    few = min(2, max(keys, 1))
    try:
        return world(keys=keys, declared=few if declared is None else declared, depth=2 if depth is None else depth, owners=few)
    except BadInput as error:
        raise BadInput(f"--{error}") from error


def _exit(statuses: Iterable[int] = ()) -> None:
    """Ends with the worst status: could not run or be written, then violated, then inconclusive."""
    context = click.get_current_context()
    unwritten = context.meta.get(UNWRITTEN)
    if unwritten is not None:
        _say(unwritten)
    context.exit(max([*statuses, 0 if unwritten is None else 2], key=_WORST.index))


@main.command("check-adapter")
@click.argument("systems", metavar="SYSTEM...", nargs=-1, required=True)
def check_adapter(systems: tuple[str, ...]) -> None:
    """Say what is wrong with adapters, each with what to do, before any verdict of theirs is believed.

    SYSTEM is named as for `fencecheck check`. Exit status: 0 nothing is wrong, 1 something is, 2 bad input.
    """
    from fencecheck.run.adapter import name_of
    from fencecheck.search.conformance import problems, told

    statuses = []
    for name in systems:
        system = _load(name)
        with progress(f"looking at {name}"), _no_exit():
            found = problems(system)
        for line in told(name_of(system), found):
            echo(line)
        statuses.append(1 if found else 0)
    _exit(statuses)


# -- replay --------------------------------------------------------------------------------------------------------------------------


@main.command()
@click.argument("case", type=click.Path(path_type=Path))
@click.option("--system", metavar="SYSTEM", help="Run it on this system instead of the one that the case names.")
def replay(case: Path, system: str | None) -> None:
    """Run a saved case again.

    Exit status: 1 it still fails or is stuck, 0 it no longer fails, 3 it no longer fits the system or crashes, 2 could not run.
    """
    from fencecheck.codec import load_case
    from fencecheck.report.terminal import replay_lines
    from fencecheck.run.adapter import name_of
    from fencecheck.search.replay import replay

    stored = load_case(case)
    target = _load(system) if system is not None else _load(stored.system, case.parent)
    with _no_exit():
        result = replay(stored, target)
    print_lines(lambda width: replay_lines(name_of(target), result, width))
    _exit([result.exit_status])


# -- demo, systems, init ---------------------------------------------------------------------------------------------------------------


@main.command()
def demo() -> None:
    """Check the built-in systems, compare them, and show the counterexample of fresh-read.

    Exit status: 0 where each verdict is the expected one, else 1.
    """
    from fencecheck.report.terminal import comparison_lines, report_lines
    from fencecheck.systems import ALL

    echo("Six systems that plan first and act later, over any number of updates, outages and missing parents. Is what goes out current?\n")
    reports = {name: _checked(name, ALL[name], per_kind=0) for name in EXPECTED}
    print_lines(lambda width: comparison_lines(reports.values(), width))
    echo()
    print_lines(lambda width: report_lines(reports["fresh-read"], width))
    other = [f"{name} is {reports[name].verdict}, not {verdict}" for name, verdict in EXPECTED.items() if reports[name].verdict != verdict]
    echo()
    if other:
        echo(f"not as expected: {', '.join(other)}")
    else:
        echo("Each verdict is the expected one. Your own system: fencecheck init, then fencecheck check.")
    _exit([1 if other else 0])


@main.command()
def systems() -> None:
    """List the systems that are built in."""
    from fencecheck import mutants
    from fencecheck import systems as compared

    for title, listed in (
        ("Compared systems", compared.ALL),
        ("Coding agents, on real files", compared.ON_FILES),
        ("Known-bad fences", mutants.ALL),
    ):
        echo(f"{title}:")
        for name, system in listed.items():
            echo(f"  {name:<26} {(system.__doc__ or '').strip().splitlines()[0]}")
    _exit()


@main.command()
@click.argument("directory", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--framework", default="plain", metavar="NAME", help="What the agent is made of; --list names them all.")
@click.option("--list", "listed", is_flag=True, help="List the frameworks and write nothing.")
def init(directory: Path, framework: str, listed: bool) -> None:
    """Write an adapter that runs at once, its test and a workflow for continuous integration into DIR.

    The agent in it is a small one with the usual mistake: the check fails until that is put right.
    """
    from fencecheck.report import starter

    for line in starter.listed() if listed else starter.write_all(framework, directory):
        echo(line)
    _exit()


@main.command()
@click.argument("system", required=False)
@click.option("--keys", type=int, metavar="N", help="Keys of the generated scenario (4).")
@click.option("--declared", type=int, metavar="M", help="How many of them the action depends on (2).")
@click.option("--depth", type=int, metavar="D", help="Generations between a plan and what it rests on (2).")
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Where it listens (127.0.0.1); any other lets the network in.")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, metavar="PORT", help="The port (a free one).")
@click.option("--token", metavar="TOKEN", help="What each request has to carry (one that nobody can guess).")
@click.option("--refusal", type=click.Choice(("reset", "503")), default="reset", help="What an owner that refuses does.")
def serve(system: str | None, keys: int | None, declared: int | None, depth: int | None, **where: Any) -> None:
    """Serve owners, records and tools over HTTP, to develop an agent in any language against.

    SYSTEM, named as for `check`, says in which scenario; by default a generated one. Ctrl-C ends it.
    """
    from fencecheck.report.json import judged_in_short
    from fencecheck.run.simulate import Runner
    from fencecheck.systems import ALL

    try:
        from fencecheck.integrations.http.by_hand import serve_by_hand
    except ImportError as error:
        raise BadInput(f"serve cannot be run: {error}") from error
    with _no_exit():
        scenario = Runner(_load(system) if system is not None else ALL["planfence"], _scenario(keys, declared, depth)).scenario
    serve_by_hand(scenario, echo, judged_in_short, **where)


main.add_command(measure)
main.add_command(compare)
main.add_command(dependencies)
