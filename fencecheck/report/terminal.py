"""Reports for a terminal, and for pytest. Lines are made by pure functions of a value and a width; `emit` prints them.

No line is wider than the width, but for a single word that is, such as a path to copy. What the encoding of the stream cannot print is
replaced: the signs of ours by ASCII ones of the same width, what a system said by escapes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import IO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from fencecheck.history import History
from fencecheck.judge import FINDINGS, LEVELS, Finding
from fencecheck.report.proof import proof_in_words, shares
from fencecheck.report.timeline import MARK, fit, run_lines, wrapped
from fencecheck.report.words import Names, clean, count_of, interleaving_in_words, size_in_words
from fencecheck.search.replay import Replay
from fencecheck.search.report import Failure, Largest, Report

WIDTH = 120
"""Cells of a line where the output is no terminal."""
_STYLES = {"held": "bold green", "violated": "bold red", "inconclusive": "bold yellow"}
_ASCII = str.maketrans({"·": "-", MARK: ">", "…": "~"})


def together(text: str) -> str:
    """`text` as one word, which is not broken over two lines."""
    return text.replace(" ", "\xa0")


def prose(text: str, width: int, style: str = "", first: str = "  ", rest: str | None = None) -> list[Text]:
    """Text in lines that fit."""
    return [Text(line, style) for line in wrapped(text, width, first, rest)]


# -- a report ------------------------------------------------------------------------------------------------------------------------


def report_lines(report: Report, width: int = WIDTH) -> list[Text]:
    """All that is to be said of one check."""
    lines = prose(headline(report), width, _STYLES[report.verdict], "", "  ")
    if report.why:
        lines += prose(clean(report.why), width)
    for note in report.notes:
        lines += prose(clean(note), width, "bold yellow", "  ", "    ")
    for failure in report.failures:
        lines += failure_lines(report, failure, width)
    for text in summary(report):
        lines += prose(text, width, "", "  ", "    ")
    return lines


def headline(report: Report) -> str:
    """`planfence · held · at-validation · every interleaving of up to 2 events`."""
    name = clean(report.system)
    if report.verdict == "violated":
        return f"{name} · violated · {', '.join(failure.code for failure in report.failures)} at {report.level}"
    return f"{name} · {report.verdict} · {report.level} · {bound_in_words(report)}"


def bound_in_words(report: Report) -> str:
    """How far the search went."""
    value = report.bound.value
    if report.bound.kind == "events":
        share = f"share {report.shard} of " if report.shard else ""
        return f"{share}every interleaving of up to {count_of(value, 'event')}" if value else "the run without events"
    if report.bound.kind == "examples":
        drawn = f"{value:,} interleavings drawn by Hypothesis" if value is not None else "interleavings drawn by Hypothesis"
        return drawn + ("" if report.bound.worlds is None else f", in worlds of up to {worlds_in_words(report.bound.worlds)}")
    kinds = f" for {count_of(len(report.proof.kinds), 'kind')} of event" if report.proof is not None else ""
    return f"complete{kinds}, any number of each" if kinds else "complete"


def worlds_in_words(largest: Largest) -> str:
    """`16 keys (9 declared), 6 owners, depth 8 and 4 executors`."""
    owners, executors = count_of(largest.owners, "owner"), count_of(largest.executors, "executor")
    return f"{count_of(largest.keys, 'key')} ({largest.declared} declared), {owners}, depth {largest.depth} and {executors}"


def failure_lines(report: Report, failure: Failure, width: int = WIDTH) -> list[Text]:
    """One finding: in words, its smallest interleaving, the run, what would be right, how to run it again."""
    called = "smallest interleaving" if failure.smallest else "smallest interleaving found, of which nothing can be left out"
    lines = finding_lines(failure.finding, failure.history, width, called)
    kept = [("replay", f"fencecheck replay {failure.case}")] if failure.case else _drawn_again(report)
    kept += [("as test", failure.test)] if failure.test else []
    seen = f"{failure.number:,} of {count_of(report.episodes, 'episode')}"
    kept = [("seen in", seen), *kept] if report.engine == "exhaust" else kept
    return [*lines, *(Text(f"  {name.ljust(8)} {value}") for name, value in kept), Text("")]


def _drawn_again(report: Report) -> list[tuple[str, str]]:
    """How a failure of a run with a profile is seen again without a case: on another machine, as CI forgets its files."""
    if report.profile is None or report.again is None:
        return []
    return [("replay", report.again)]


def finding_lines(finding: Finding, history: History, width: int, called: str) -> list[Text]:
    """A finding in words, the interleaving that shows it, the run as numbered lines, and what would be right.

    Args:
        called: what the interleaving is called.
    """
    names = Names(history)
    lines = prose(f"{finding.code}: {names.readable(finding.message)}", width, "bold", "  ", "    ")
    lines += [Text(""), *prose(f"{called}: {size_in_words(history)}", width)]
    for where, what in interleaving_in_words(names):
        lines += prose(f"{where}: {what}", width, "yellow", "    ", "      ")
    lines += [Text(""), *run_lines(history, finding.at, width), Text("")]
    return lines + prose(f"right would be: {FINDINGS[finding.code].right}.", width, "green", "  ", "    ")


# -- the counts ----------------------------------------------------------------------------------------------------------------------

_COUNTED = (
    ("completed", "completed"),
    ("recovered", "of these recovered by replanning"),
    ("halted_changed", "halted since something changed"),
    ("halted_unverified", "halted since something could not be verified"),
    ("halted_needless", "halted needlessly"),
    ("duplicates", "duplicate acts"),
    ("refused", "refused by the tool"),
    ("needless_replans", "needless replans"),
)
_COUNTED_IF_ANY = (
    ("crashed", "crashed"),
    ("stuck", "stuck"),
    ("value_current", "current by value, not by version"),
    ("omitted", ""),
    ("misreported", "current only as an owner misreported it"),
    ("unmarked", "no validated() seen"),
    ("overtaken", "of these a derive came after validated()"),
)


_OMITTED = {
    "dropped": "stale in a key whose declaration an event dropped, which no fence can see",
    "declared=": "stale in a key that is not declared, as declared= leaves it out or an event dropped it, which no fence can see",
}
"""An omitted dependency with its cause."""


def summary(report: Report) -> list[str]:
    """What was run and seen, one text for each kind of thing."""
    points = "every point" if report.placements == "every point" else "each point that depends on it"
    placed = f"an event lands before {points}"
    of_what = shares(report.proof, report.episodes) if report.proof is not None else ""
    ran = f"{count_of(report.episodes, 'episode')}, {report.seconds:.1f} s{of_what}; {placed if report.engine == 'exhaust' else _drawn(report)}"
    assumed = [f"assumed: {clean(', '.join(report.assumed))}"] if report.assumed else []
    violated = report.verdict == "violated"  # which rests on nothing but its run
    return [
        ran,
        *([] if violated else assumed),
        *(proof_in_words(report.proof) if report.proof is not None and report.verdict == "held" else []),
        *([counts_in_words(report.counts, report.omits), _fired(report)] if report.episodes else []),
        *([f"could not be delivered: {_missing(report.missing)}"] if report.missing else []),
        *([f"not promised at this level: {beyond_in_words(report.beyond)}"] if report.beyond else []),
        *([f"noticed, which fails no check unless asked with --fail-on: {_noticed(report)}"] if report.noticed else []),
        *([f"holds at the weaker level {report.strongest}"] if violated and report.strongest else []),
        *([clean(report.kept)] if report.kept else []),
        *(assumed if violated else []),
    ]


def _fired(report: Report) -> str:
    return "kinds of event that fired, in episodes: " + (_numbers(report.fired) or "none")


def _drawn(report: Report) -> str:
    """Why there are fewer episodes than were drawn."""
    drawn = report.bound.value or 0
    again = drawn - report.episodes
    why = f", {again:,} of them the same as one before but for events that changed nothing, which count once" if again > 0 else ""
    return f"{count_of(drawn, 'interleaving')} drawn{why}"


def counts_in_words(counts: dict[str, int], omits: bool = False) -> str:
    """In how many episodes each outcome came about that a team counts apart; those that did not are left out.

    Args:
        omits: whether an action declares less than it depends on.
    """
    said = [f"{words} {counts.get(name, 0):,}" for name, words in _COUNTED if counts.get(name) or name == "completed"]
    causes = _OMITTED["declared=" if omits else "dropped"]
    more = [(name, causes if name == "omitted" else words) for name, words in _COUNTED_IF_ANY]
    return "in episodes: " + dotted([*said, *(f"{words} {counts[name]:,}" for name, words in more if counts.get(name))])


def _numbers(counts: dict[str, int]) -> str:
    return dotted(f"{name} {number:,}" for name, number in sorted(counts.items(), key=lambda item: -item[1]))


def dotted(items: Iterable[str]) -> str:
    """Items with dots between them, each of which stays on one line."""
    return " ".join(f"·\xa0{together(item)}" if number else together(item) for number, item in enumerate(items))


def _missing(missing: dict[str, str]) -> str:
    kinds: dict[str, list[str]] = {}
    for kind, hook in missing.items():
        kinds.setdefault(f"define {hook}" if hook.endswith("()") else hook, []).append(kind)
    return ", ".join(f"{' and '.join(named)} ({why})" for why, named in kinds.items())


def _noticed(report: Report) -> str:
    said = ", ".join(f"{code} in {count_of(number, 'episode')}" for code, number in report.noticed.items())
    return f"{said}. The first: {clean(report.crash)}" if report.crash else said


def beyond_in_words(beyond: dict[str, int]) -> str:
    """Which stronger levels fail, weakest first, and by what."""
    said = []
    for level in LEVELS:
        codes = [code for code in beyond if FINDINGS[code].level == level]
        said += [f"{level} fails in {count_of(beyond[code], 'episode')} ({code})" for code in codes]
    return ", ".join(said)


# -- several systems -----------------------------------------------------------------------------------------------------------------


def comparison_lines(reports: Iterable[Report], width: int = WIDTH) -> list[Text]:
    """A table of several systems: verdict, first finding, its size, episodes, and how they came out."""
    head = ("system", "verdict", "finding", "events", "episodes", "completed", "recovered", "halted")
    body = [_compared(report) for report in reports]
    widths = [max(cell_len(row[i]) for row in (head, *body)) for i in range(len(head))]
    gap = "  " if sum(widths) + 2 * len(widths) <= width else " "
    lines = []
    for number, row in enumerate((head, *body)):
        cells = [_aligned(text, widths[i], right=i > 2) for i, text in enumerate(row)]
        style = "bold" if number == 0 else _STYLES[row[1]].removeprefix("bold ")
        lines.append(Text(fit("  " + (gap.join(cells).rstrip()), width), style))
    return lines


def _compared(report: Report) -> tuple[str, ...]:
    counts, failure = report.counts, report.failures[0] if report.failures else None
    halted = sum(counts.get(f"halted_{why}", 0) for why in ("changed", "unverified", "needless"))
    return (
        clean(report.system),
        report.verdict,
        failure.code if failure else "-",
        str(failure.interleaving.size) if failure else _any(report),
        *(f"{number:,}" for number in (report.episodes, counts.get("completed", 0), counts.get("recovered", 0), halted)),
    )


def _any(report: Report) -> str:
    """Up to how many events it held."""
    if report.bound.kind == "complete":
        return "any"
    return f"up to {report.bound.value}" if report.bound.kind == "events" else "-"


def _aligned(text: str, cells: int, *, right: bool) -> str:
    space = " " * (cells - cell_len(text))
    return space + text if right else text + space


# -- a replay ------------------------------------------------------------------------------------------------------------------------


_CALLED = {
    None: "interleaving",
    False: "interleaving, of which nothing could be left out when it was saved",
    True: "interleaving, the smallest when it was saved",
}


def replay_lines(system: str, replay: Replay, width: int = WIDTH) -> list[Text]:
    """What came of a stored case."""
    if replay.finding is None:
        style = "bold green" if replay.status == "no longer fails" else "bold yellow"
        return prose(f"{clean(system)} · {Names(replay.history).readable(replay.message)}", width, style, "", "  ")
    title = prose(f"{clean(system)} · still fails · {replay.finding.code}", width, "bold red", "", "  ")
    return title + finding_lines(replay.finding, replay.history, width, _CALLED[replay.smallest])


# -- printing ------------------------------------------------------------------------------------------------------------------------


def plain(lines: Iterable[Text], encoding: str | None = "utf-8") -> str:
    """The lines as text without colour that can be printed in `encoding`."""
    return "\n".join(printable(line.plain.rstrip(), encoding) for line in lines)


def printable(text: str, encoding: str | None) -> str:
    """`text` with whatever `encoding` lacks replaced."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        ascii_signs = text.translate(_ASCII)
        try:
            return ascii_signs.encode(encoding or "ascii", "backslashreplace").decode(encoding or "ascii")
        except LookupError:
            return ascii_signs.encode("ascii", "backslashreplace").decode("ascii")
    return text


def width_of(stream: IO[str]) -> int:
    """Cells of a line: those of the terminal; where it is none, those that COLUMNS says, else 120."""
    if stream.isatty():
        return max(Console(file=stream).width, 60)
    columns = os.environ.get("COLUMNS", "")
    return max(int(columns), 60) if columns.isascii() and columns.isdigit() else WIDTH


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leaves to the caller what rich would end the process for."""
        raise BrokenPipeError(errno.EPIPE, "nobody reads")


def emit(lines: Iterable[Text], stream: IO[str]) -> None:
    """Prints lines, in colour where the stream is a terminal and NO_COLOR is not set.

    Raises:
        BrokenPipeError: the reader of the stream has gone.
    """
    console = _Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True, width=width_of(stream))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    for line in lines:
        text = printable(line.plain, encoding)
        console.print(Text(text, line.style, spans=line.spans if text == line.plain else None), soft_wrap=True)
