"""A run as numbered lines: who did what, where each event landed, which version went out and which was current."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from fencecheck.history import (
    Act,
    Declared,
    Derive,
    Ended,
    Entry,
    Fetch,
    Halted,
    Head,
    History,
    Landed,
    Memory,
    Pause,
    Read,
    Seam,
    Truth,
    Validated,
    is_point,
)
from fencecheck.report.words import Names, act_in_words, call_in_words, clean, event_in_words

MARK = "▸"
MOST_LINES = 60
NEAR = 4
"""Lines kept on either side of an event and of the finding, in a run of more than `MOST_LINES`."""


class Row(NamedTuple):
    """One line of a run.

    Args:
        number: of the point; None for a statement, an event, and what an event did itself.
        who: the agent, or `event`.
        verb: the port.
        about: what it touched.
        detail: the answer.
        source: `file:line` of the call, or an empty text.
        marked: whether it is an event or what the finding is about.
    """

    number: int | None
    who: str
    verb: str
    about: str
    detail: str
    source: str = ""
    marked: bool = False
    style: str = ""


def rows(history: History, at: int | None = None) -> list[Row]:
    """The lines of a run.

    Args:
        at: index of the entry that a finding is about.
    """
    names, found, number = Names(history), [], 0
    for i, entry in enumerate(history.entries):
        point = is_point(entry)
        source = clean(history.lines.get(i, ""))
        if type(entry) is Landed:
            if entry.fired:
                found.append(Row(None, "event", "", event_in_words(names, entry), names.value(entry.version), "", True, "bold yellow"))
        elif not _is_repeated(history, i):
            verb, about, detail = _SAID[type(entry)](names, i, entry)
            agent = clean(getattr(entry, "agent", ""))
            inside = getattr(entry, "in_event", False)
            style = "bold red" if i == at else "dim" if inside or not point else ""
            found.append(Row(number if point else None, f"({agent})" if inside else agent, verb, about, detail, source, i == at, style))
        number += point
    return found


def _is_repeated(history: History, i: int) -> bool:
    """Whether an entry adds nothing to the line above it: a halt that is said twice."""
    entry, before = history.entries[i], history.entries[i - 1] if i else None
    return type(entry) is Ended and entry.how == "halted" and type(before) is Halted and before.reason == entry.detail


# -- what each kind of entry says: verb, about, detail --------------------------------------------------------------------------------

_ANSWERS = {
    "refused": "refused",
    "hang": "no answer",
    "malformed": "a malformed answer",
    "missing": "cannot be read",
    "corrupt": "served otherwise than it was written",
}


def _answer(names: Names, i: int, entry: Any) -> tuple[str, str, str]:
    verb = entry.__struct_config__.tag
    if entry.answer == "wrong-key":
        return verb, clean(entry.key), f"{names.full(entry.version)}, another key" if entry.version else "an answer for another key"
    if entry.answer != "ok":
        return verb, clean(entry.key), _ANSWERS[entry.answer]
    value = f" {names.value(entry.version)}" if verb == "read" else ""
    return verb, clean(entry.key), names.version(entry.version) + value


def _memory(names: Names, i: int, entry: Any) -> tuple[str, str, str]:
    return "memory", clean(entry.key), f"{names.version(entry.version)} {names.value(entry.version)}".rstrip()


def _fetch(names: Names, i: int, entry: Any) -> tuple[str, str, str]:
    record = names.history.records.get(entry.id)
    if entry.answer != "ok":
        return "record", names.full(entry.id), _ANSWERS[entry.answer]
    parents = f"from {names.records(record.parents)}" if record is not None and record.parents else names.value(entry.id)
    return "record", names.full(entry.id), parents


def _derive(names: Names, i: int, entry: Any) -> tuple[str, str, str]:
    record = names.history.records.get(entry.id)
    return "derive", names.full(entry.id), f"from {names.records(record.parents)}" if record is not None and record.parents else ""


def _act(names: Names, i: int, entry: Any) -> tuple[str, str, str]:
    return "act", call_in_words(names, entry), act_in_words(names, i, entry)


def _seam(names: Names, i: int, entry: Any) -> tuple[str, str, str]:
    return entry.__struct_config__.tag, clean(entry.label), ""


def _declared(names: Names, i: int, entry: Any) -> tuple[str, str, str]:
    return "declared", clean(entry.action), ", ".join(names.key(key) for key in entry.keys) or "no key"


def _validated(names: Names, i: int, entry: Any) -> tuple[str, str, str]:
    return "validated", ", ".join(names.key(key) for key in entry.keys) or "no key", ""


def _halted(names: Names, i: int, entry: Any) -> tuple[str, str, str]:
    return "halted", names.readable(entry.reason), ""


def _truth(names: Names, i: int, entry: Any) -> tuple[str, str, str]:
    return "", f"the store now holds {names.full(entry.version)}", ""


def _ended(names: Names, i: int, entry: Any) -> tuple[str, str, str]:
    return "end", entry.how, names.readable(entry.detail)


_SAID: dict[type[Entry], Callable[[Names, int, Any], tuple[str, str, str]]] = {
    Read: _answer,
    Head: _answer,
    Memory: _memory,
    Fetch: _fetch,
    Derive: _derive,
    Act: _act,
    Pause: _seam,
    Seam: _seam,
    Declared: _declared,
    Validated: _validated,
    Halted: _halted,
    Truth: _truth,
    Ended: _ended,
}


# -- layout --------------------------------------------------------------------------------------------------------------------------


def run_lines(history: History, at: int | None, width: int, indent: int = 3) -> list[Text]:
    """The run, laid out so that no line is wider than `width` cells."""
    return _laid_out(_near(rows(history, at)), width, indent)


def _near(found: list[Row]) -> list[Row | int]:
    """All rows of a short run; of a long one those near to a mark, the start and the end, with the number left out between them."""
    if len(found) <= MOST_LINES:
        return list(found)
    marks = [i for i, row in enumerate(found) if row.marked] + [0, len(found) - 1]
    kept: list[Row | int] = []
    left = 0
    for i, row in enumerate(found):
        if any(abs(i - mark) <= NEAR for mark in marks):
            kept += [left, row] if left else [row]
            left = 0
        else:
            left += 1
    return kept


def _laid_out(found: list[Row | int], width: int, indent: int) -> list[Text]:
    real = [row for row in found if isinstance(row, Row)]
    digits = max([len(str(row.number)) for row in real if row.number is not None], default=1)
    who = min(max([cell_len(row.who) for row in real], default=0), 14)
    verb = max([cell_len(row.verb) for row in real], default=0)
    about = min(max([cell_len(row.about) for row in real if row.detail and row.verb not in ("act", "")], default=0), max(width // 3, 8))
    margin = " " * (indent + 2 + digits + 2)
    lines: list[tuple[str, str, str]] = []
    for row in found:
        if not isinstance(row, Row):
            lines.append((f"{margin}… {row} further lines", "", "dim"))
            continue
        mark = f"{MARK} " if row.marked else "  "
        start = " " * indent + mark + ("" if row.number is None else str(row.number)).rjust(digits) + "  " + _padded(row.who, who) + "  "
        start += _padded(row.verb, verb) + "  " if row.verb or row.who != "event" else ""
        body = start + _padded(row.about, about) if cell_len(row.about) <= about else start + row.about
        whole = f"{body}  {row.detail}" if row.detail else body.rstrip()
        below: list[str] = []
        room = width - (cell_len(row.source) + 2 if row.source else 0)
        if cell_len(whole) > room and row.detail and (row.marked or row.verb in ("act", "end", "derive")):
            whole, below = body.rstrip(), wrapped(row.detail, width, " " * cell_len(start))
        lines.append((whole, row.source, row.style))
        lines += [(text, "", row.style) for text in below]
    return _with_sources(lines, width)


def _padded(text: str, cells: int) -> str:
    return text + " " * (cells - cell_len(text)) if cell_len(text) <= cells else fit(text, cells)


def fit(text: str, cells: int) -> str:
    """`text` in at most so many cells of a terminal."""
    return text if cell_len(text) <= cells else set_cell_size(text, max(cells - 1, 0)).rstrip() + "…"


def _with_sources(lines: list[tuple[str, str, str]], width: int) -> list[Text]:
    """Lines with their sources in one column; where there is no room, it is made."""
    sizes = [(cell_len(line), cell_len(source)) for line, source, _ in lines if source]
    fitting = [(line, source) for line, source in sizes if line + 2 + source <= width]
    longest = max([cells for _, cells in fitting], default=0)
    column = min(max([cells for cells, _ in fitting], default=0) + 2, width - longest)
    done = []
    for line, source, style in lines:
        room = width - cell_len(source) - 2
        if not source:
            done.append(Text(fit(line, width), style))
            continue
        line = fit(line, max(room, 8))
        gap = " " * max(column - cell_len(line), 2)
        done.append(Text.assemble((line, style), (gap + source, "cyan")))
    return done


def wrapped(text: str, width: int, first: str = "  ", rest: str | None = None) -> list[str]:
    """`text` in lines of at most `width` cells, with these indents. A word wider than that stands on a line of its own, whole.

    A no-break space holds two words together.
    """
    rest = first if rest is None else rest
    lines, line = [], first
    fresh = True
    for word in text.split(" "):
        if not fresh and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line, fresh = rest, True
        line += word if fresh else f" {word}"
        fresh = False
    return [done.replace("\xa0", " ") for done in (*lines, line)]
