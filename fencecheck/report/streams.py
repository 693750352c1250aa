"""What the command line writes, and what becomes of it where nobody reads or nothing can be written.

Only click is imported here at first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

UNWRITTEN = "fencecheck.unwritten"
"""Where a command notes why its output could not be written, which is said at its end: the files are still wanted."""


def print_lines(lines: Callable[[int], Any]) -> None:
    """Prints the lines that are made for the width of standard output."""
    from fencecheck.report.terminal import emit, width_of

    if sys.stdout is not None:  # closed by who called
        with _reader_may_go():
            emit(lines(width_of(sys.stdout)), sys.stdout)


def echo(text: str = "") -> None:
    """Prints one line."""
    with _reader_may_go():
        click.echo(text)


@contextmanager
def _reader_may_go() -> Iterator[None]:
    """A reader that goes, as `| head` does, ends the printing and nothing else: the verdict and the files are still wanted.

    So does a disk that is full; but that is said.
    """
    try:
        yield
        sys.stdout.flush() if sys.stdout is not None else None
    except BrokenPipeError:
        throw_away(sys.stdout)
    except ValueError:
        click.get_current_context().meta[UNWRITTEN] = "standard output was closed by the system under test: leave it open"
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        click.get_current_context().meta[UNWRITTEN] = f"standard output cannot be written ({reason}): send it elsewhere, or use --json FILE"
        throw_away(sys.stdout)


def throw_away(stream: IO[str]) -> None:
    """From now on, what is written to a stream goes nowhere; so does what it still holds, at the end of the process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextmanager
def progress(text: str) -> Iterator[None]:
    """Says on a terminal what takes so long, and takes it back."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False)
    with console.status(f"{text} …"):
        yield
