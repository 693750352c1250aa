"""JSON and JSONL of the values, and case files. Whatever cannot be read is refused with one sentence.

**Interleaving**: one JSON object, `{"fencecheck_interleaving": 1, "scenario": ..., "dropped": [...], "events": [...]}`.
**Case file**: one JSON object, `{"fencecheck_case": 2, ...}`, the fields of `Case`. Format 1 has no `smallest`.

**History**: JSONL. Line 1 is the header, `{"fencecheck_history": 1, "scenario": ..., "dropped": [...], "own_store": ..., "versions": ...,
"records": <count>, "entries": <count>}` and, where they were noted, the source `lines`, who was `waiting` and the `timers`. Then one line for each
record, as in `History.records`; then one for each entry, in order of time. `type` says what a line is. The counts tell a history that was cut off.

What JSON cannot hold: a tuple comes back as a list. In a history (values of the scenario and of records, arguments of acts) any other such value is
stored as its `repr`, since a history is evidence: equal values stay equal. In an interleaving or a case it is refused, since a replay would run with
another value. An `Action.depends_on` that is a function becomes `"keys_of": null`; what it returned is in the acts.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, astuple, replace

from fencecheck.errors import BadInput
from fencecheck.history import Act, Entry, History, arrivals
from fencecheck.interleaving import Event, Interleaving, Update, What, refuse_unknown_how
from fencecheck.model import Record, Scenario

FORMATS = {"interleaving": 1, "history": 1, "case": 2}
"""The version of each format here that is written. Older ones are read, a newer one is refused."""

T = TypeVar("T")
Data = bytes | str


class AnchoredEvent(Struct, frozen=True, repr_omit_defaults=True, forbid_unknown_fields=True):
    """An event of a stored case: `what` lands right before the point that is the `occurrence`-th (from 1) called `label`."""

    label: str
    occurrence: int
    what: What

    def __post_init__(self) -> None:
        if self.occurrence < 1:
            raise BadInput(f"the occurrences of a point are counted from 1, not {self.occurrence}")


class Case(Struct, frozen=True, repr_omit_defaults=True, forbid_unknown_fields=True):
    """A finding and the smallest interleaving that shows it, as stored in a case file.

    Args:
        fencecheck: the version of fencecheck that wrote it.
        system: the system under test, as it was named on the command line.
        scenario: the world; None where the system brings its own.
        dropped: dropped declarations, as pairs of action name and key.
        events: the events that fired, each anchored on a point.
        level: the level at which it is a violation.
        code: the code of the finding.
        key: the key that it is about; None if about none.
        message: the finding in a sentence.
        seed: the seed of the search that found it, if it had one.
        smallest: whether every interleaving of fewer events was run when it was found; None where the file is older than the field.
    """

    fencecheck: str
    system: str
    scenario: Scenario | None
    dropped: tuple[tuple[str, str], ...]
    events: tuple[AnchoredEvent, ...]
    level: str
    code: str
    key: str | None
    message: str
    seed: int | None = None
    smallest: bool | None = None


class _InterleavingFile(Struct, forbid_unknown_fields=True):
    fencecheck_interleaving: int
    scenario: Scenario
    dropped: tuple[tuple[str, str], ...] = ()
    events: tuple[Event, ...] = ()


class _CaseFile(Case, frozen=True, kw_only=True, forbid_unknown_fields=True):
    fencecheck_case: int


class _Header(Struct, omit_defaults=True, forbid_unknown_fields=True):
    fencecheck_history: int
    scenario: Scenario
    versions: dict[str, list[str]]
    records: Annotated[int, msgspec.Meta(ge=0)]
    entries: Annotated[int, msgspec.Meta(ge=0)]
    dropped: tuple[tuple[str, str], ...] = ()
    own_store: bool = False
    lines: dict[int, str] = {}
    waiting: dict[int, tuple[int, ...]] = {}
    timers: tuple[int, ...] = ()


_ALIKE = ("dropped", "own_store", "lines", "waiting", "timers")  # the last fields of a history, and of its header


class _RecordLine(Record, frozen=True, tag="record", omit_defaults=True, forbid_unknown_fields=True):
    """A record as a line of a history."""


# -- interleavings -------------------------------------------------------------------------------------------------------------------


def encode_interleaving(interleaving: Interleaving) -> bytes:
    """The interleaving as one JSON object.

    Raises:
        BadInput: a value of the scenario is a Hypothesis strategy, or something else that JSON cannot hold.
    """
    stored = _InterleavingFile(FORMATS["interleaving"], _exactly(interleaving.scenario), interleaving.dropped, interleaving.events)
    return _encode(stored)


def decode_interleaving(data: Data, *, name: str = "the interleaving") -> Interleaving:
    """The interleaving that `encode_interleaving` wrote.

    Args:
        data: the JSON text.
        name: what errors call it, such as the path of the file.

    Raises:
        BadInput: it cannot be read, with one sentence that says where and what to do.
    """
    stored = _convert(_object(data, "interleaving", name), _InterleavingFile, name)
    _check_values(stored.scenario, name)
    for event in stored.events:
        if isinstance(event.what, Update):
            refuse_unknown_how(event.what, stored.scenario, f"{name}: ")
    return Interleaving(stored.scenario, stored.dropped, stored.events)


# -- histories -----------------------------------------------------------------------------------------------------------------------


def encode_history(history: History) -> bytes:
    """The history as JSONL: header, records, entries.

    Raises:
        BadInput: a value of the scenario is a Hypothesis strategy.
    """
    header = _Header(
        FORMATS["history"],
        _by_repr(history.scenario),
        history.versions,
        len(history.records),
        len(history.entries),
        *(getattr(history, field) for field in _ALIKE),
    )
    records = [_RecordLine(**{**asdict(record), "value": _plain(record.value)}) for record in history.records.values()]
    entries = [_storable(entry) if type(entry) is Act else entry for entry in history.entries]
    return b"".join(_encode(line) + b"\n" for line in (header, *records, *entries))


def decode_history(data: Data, *, name: str = "the history") -> History:
    """The history that `encode_history` wrote.

    Args:
        data: the JSONL text.
        name: what errors call it, such as the path of the file.

    Raises:
        BadInput: it cannot be read, with one sentence that says in which line and what to do.
    """
    _refuse_other(data, "history", name)
    lines = _bytes(data, name).splitlines()
    first = f"{name}, line 1"
    header = _convert(_object(lines[0] if lines else b"", "history", first), _Header, first)
    _check_values(header.scenario, first)
    expected = header.records + header.entries
    if len(lines) - 1 < expected:
        raise BadInput(f"{name}: ends after line {len(lines)} of {expected + 1}: it was cut off, so write or copy it again")
    if len(lines) - 1 > expected:
        raise BadInput(f"{name}, line {expected + 2}: goes on after its last line: remove what follows, or correct the counts in line 1")
    places = [f"{name}, line {number}" for number in range(2, expected + 2)]
    kinds: list[Any] = [_RecordLine] * header.records + [Entry] * header.entries
    stored: list[Any] = [_convert(_parse(line, place), kind, place) for line, kind, place in zip(lines[1:], kinds, places, strict=True)]
    for entry, place in zip(stored, places, strict=True):
        if isinstance(getattr(entry, "what", None), Update):
            refuse_unknown_how(entry.what, header.scenario, f"{place}: ")
    records = {line.id: Record(*astuple(line)) for line in stored[: header.records]}
    return History(header.scenario, stored[header.records :], records, header.versions, *(getattr(header, field) for field in _ALIKE))


# -- cases ---------------------------------------------------------------------------------------------------------------------------


def anchored(history: History, events: Iterable[Event]) -> tuple[AnchoredEvent, ...]:
    """The events, each anchored on the point of `history` before which it landed, so that a port call added elsewhere moves none of them.

    Raises:
        BadInput: an event lies beyond the last point of the history, so that it never landed.
    """
    landings, points = arrivals(history)
    found = []
    for event in events:
        same = [i for i, (landed, _) in enumerate(landings) if landed == event]
        if not same and event.at >= len(points):
            raise BadInput(f"the event before point {event.at} never landed: the episode has {len(points)} points, so leave it out")
        text, occurrence = landings.pop(same[0])[1] if same else points[event.at]
        found.append(AnchoredEvent(text, occurrence, event.what))
    return tuple(found)


def encode_case(case: Case) -> bytes:
    """The case as a JSON object that people can read and compare: indented, its fields always in one order.

    Raises:
        BadInput: a value of the scenario is a Hypothesis strategy, or something else that JSON cannot hold.
    """
    scenario = _exactly(case.scenario) if case.scenario is not None else None
    stored = {"fencecheck_case": FORMATS["case"], **asdict(replace(case, scenario=scenario))}
    return msgspec.json.format(_encode(stored), indent=2) + b"\n"


def decode_case(data: Data, *, name: str = "the case") -> Case:
    """The case that `encode_case` wrote. `name` is what errors call it.

    Raises:
        BadInput: it cannot be read, with one sentence that says where and what to do.
    """
    stored = _convert(_object(data, "case", name), _CaseFile, name)
    if stored.scenario is not None:
        _check_values(stored.scenario, name)
    return Case(*(getattr(stored, field) for field in Case.__struct_fields__))


def save_case(case: Case, directory: Path | str) -> Path:
    """Writes the case into `directory`, which is made if need be, and returns the path: the system's name and six digits of a hash.

    The file appears whole or not at all, also where several processes write at once. The same case has the same name; the smallest is left there.

    Raises:
        BadInput: the directory cannot be written, or a value of the scenario cannot be stored.
    """
    data, directory = encode_case(case), Path(directory)
    slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\.py(?=:|$)", "", case.system.lower())).strip("-") or "case"
    same = encode_case(replace(case, fencecheck="", system=slug, seed=None, smallest=None))  # however it was found
    path = directory / f"{slug[:80]}-{hashlib.sha256(same).hexdigest()[:6]}.json"
    if not case.smallest and path.is_file() and b'"smallest": true' in path.read_bytes():
        return path
    draft = directory / f".{path.name}.{os.getpid()}-{threading.get_ident()}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(f"{directory}: the case cannot be written there ({_reason(error)}): name a directory that can be written") from error
    return path


def load_case(path: Path | str) -> Case:
    """The case that `save_case` wrote.

    Raises:
        BadInput: there is no such file, or it cannot be read, with one sentence that says where and what to do.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise BadInput(f"{path}: there is no such file: name a case file that fencecheck wrote") from error
    except OSError as error:
        raise BadInput(f"{path}: the case cannot be read ({_reason(error)}): name a case file that fencecheck wrote") from error
    return decode_case(data, name=str(path))


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _encode(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value, enc_hook=_null)
    except UnicodeEncodeError as error:
        raise BadInput(
            f"the text {error.object!r} is not Unicode, so it cannot be stored: correct the name or label that holds it"
        ) from error


def _null(value: Any) -> None:
    """The function of `Action.keys_of` is all that msgspec does not know by now."""
    if not callable(value):
        raise TypeError(f"{type(value).__name__} cannot be stored")


def _by_repr(scenario: Scenario) -> Scenario:
    """The scenario with whatever JSON cannot hold replaced by its repr."""
    _refuse_strategies(scenario)
    return replace(scenario, values={key: tuple(_plain(value) for value in values) for key, values in scenario.values.items()})


def _exactly(scenario: Scenario) -> Scenario:
    """The scenario, if JSON can hold all its values."""
    stored = _by_repr(scenario)
    for key, values in scenario.values.items():
        for number, (value, plain) in enumerate(zip(values, stored.values[key], strict=True), 1):
            if not _same(value, plain):
                raise BadInput(
                    f"the value of version {number} of {key!r} is a {type(value).__name__} that JSON cannot hold: "
                    "use texts, numbers, true, false, null, lists and objects"
                )
    return stored


def _refuse_strategies(scenario: Scenario) -> None:
    hypothesis = sys.modules.get("hypothesis.strategies")
    for key, values in scenario.values.items():
        if hypothesis is not None and isinstance(values, hypothesis.SearchStrategy):
            raise BadInput(
                f"the values of {key!r} are a Hypothesis strategy, which cannot be stored: "
                "draw them first, with fencecheck.strategies.concrete(scenario)"
            )


def _storable(act: Act) -> Act:
    """The act with nothing in it that JSON cannot hold, and texts for whatever a system named versions by."""

    def ids(named: dict[str, str] | None) -> dict[str, str] | None:
        return None if named is None else {key: id if isinstance(id, str) else repr(id) for key, id in named.items()}

    key = act.idempotency_key
    return replace(
        act,
        args=_plain(act.args),
        basis=ids(act.basis),
        expect=ids(act.expect),
        idempotency_key=key if key is None or isinstance(key, str) else repr(key),
    )


def _plain(value: Any) -> Any:
    """`value` with lists for tuples, and `repr` for whatever else JSON cannot hold."""
    try:
        return _plain_or_repr(value)
    except RecursionError:
        return _repr(value)


def _plain_or_repr(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value) if _is_unicode(value) else repr(value)
    if isinstance(value, int):
        return int(value) if value.bit_length() <= 10_000 else hex(value)  # Python prints no number with more decimal digits
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(value)
    if isinstance(value, list | tuple):
        return [_plain_or_repr(item) for item in value]
    if isinstance(value, dict):
        plain = {key if isinstance(key, str) and _is_unicode(key) else repr(key): _plain_or_repr(item) for key, item in value.items()}
        return plain if len(plain) == len(value) else repr(value)
    return _repr(value)


def _repr(value: Any) -> str:
    """Its `repr`, which is code of the system and may fail."""
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"


def _is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold the text; half of a surrogate pair, it cannot."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def _same(value: Any, plain: Any) -> bool:
    """Whether `plain` is `value`, but for tuples that became lists."""
    if isinstance(value, list | tuple):
        return isinstance(plain, list) and all(_same(a, b) for a, b in zip(value, plain, strict=True))
    if isinstance(value, dict):
        return isinstance(plain, dict) and all(key in plain and _same(item, plain[key]) for key, item in value.items())
    return bool(value == plain)


# -- what can be read ------------------------------------------------------------------------------------------------------------------


def _bytes(data: Data, name: str) -> bytes:
    if isinstance(data, bytes):
        return data
    try:
        return data.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"{name}: not JSON (a text that is not Unicode): {_GIVE}") from error


_GIVE = "give a file that fencecheck wrote"


def _parse(data: Data, place: str) -> Any:
    data = _bytes(data, place)
    if not data.strip():
        raise BadInput(f"{place}: empty: write or copy it again")
    try:
        return msgspec.json.decode(data)
    except RecursionError as error:
        raise BadInput(f"{place}: nested too deeply: {_GIVE}") from error
    except msgspec.DecodeError as error:
        text = str(error)
        if "truncated" in text:
            raise BadInput(f"{place}: ends in the middle: it was cut off, so write or copy it again") from error
        detail = text.removeprefix("JSON is malformed: ").replace(" (byte ", " at byte ").rstrip(")")
        raise BadInput(f"{place}: not JSON ({detail[:1].lower()}{detail[1:]}): {_GIVE}") from error


_KIND = re.compile(rb'\s*\{\s*"fencecheck_(interleaving|history|case)"')


def _refuse_other(data: Data, kind: str, place: str) -> None:
    other = _KIND.match(_bytes(data, place))
    if other is not None and other[1].decode() != kind:
        raise BadInput(f"{place}: this is a fencecheck {other[1].decode()}, not {_a(kind)}: give {_a(kind)}")


def _object(data: Data, kind: str, place: str) -> dict[str, Any]:
    """The JSON object in `data`, if it is a stored value of this kind, in a format that is known."""
    _refuse_other(data, kind, place)
    found, mark = _parse(data, place), f"fencecheck_{kind}"
    if not isinstance(found, dict) or mark not in found:
        raise BadInput(f"{place}: not {_a('fencecheck ' + kind)}, since it has no field {mark!r}: {_GIVE}")
    version, newest = found[mark], FORMATS[kind]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise BadInput(f"{place}: field {mark} must be {newest}, not {version!r}: correct it")
    if version > newest:
        raise BadInput(f"{place}: written by a newer fencecheck (format {version}, this one reads up to {newest}): upgrade fencecheck")
    return dict(found)


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _convert(found: Any, kind: type[T], place: str) -> T:
    """`found` as a value of `kind`.

    Raises:
        BadInput: it is none, with msgspec's reason in a sentence of ours.
    """
    try:
        return msgspec.convert(found, kind, str_keys=True)
    except BadInput as error:
        raise BadInput(f"{place}: {error}") from error
    except msgspec.ValidationError as error:
        raise BadInput(f"{place}: {_sentence(str(error))}") from error


_TYPES = {"int": "a whole number", "str": "a text", "array": "a list", "object": "an object", "bool": "true or false", "float": "a number"}


def _sentence(reason: str) -> str:
    """What msgspec says, as a sentence that ends with what to do."""
    reason, _, path = reason.partition(" - at `$")
    path = path.rstrip("`").lstrip(".")
    inside = f" in {path}" if path else ""
    field = f"field {path}" if path else "it"
    quoted = re.findall(r"`([^`]*)`", reason)
    if reason.startswith("Object contains unknown field"):
        return f"unknown field {quoted[0]!r}{inside}: remove it or correct its name"
    if reason.startswith("Object missing required field"):
        return f"field {quoted[0]!r} is missing{inside}: add it"
    if reason.startswith("Invalid "):
        value = reason.partition("value ")[2]
        return f"{field} cannot be {value}: correct it"
    if wrong := re.fullmatch(r"Expected `([^`]*)`(.*?), got `?([^`]*)`?", reason):
        expected = " or ".join(_TYPES.get(name.strip(), name.strip()) for name in wrong[1].split("|"))
        return f"{field} must be {expected}{wrong[2]}, not {_TYPES.get(wrong[3], wrong[3])}: correct it"
    return f"{field} cannot be read ({reason[:1].lower()}{reason[1:]}): correct it"


def _check_values(scenario: Scenario, place: str) -> None:
    """What the types of a scenario leave open: its `values` are lists, and no function was stored."""
    for key, values in scenario.values.items():
        if not isinstance(values, tuple):
            raise BadInput(f"{place}: field scenario.values of {key!r} must be a list: correct it")
    for number, action in enumerate(scenario.actions):
        if action.keys_of is not None:
            raise BadInput(f"{place}: field scenario.actions[{number}].keys_of must be null: a function cannot be stored")
