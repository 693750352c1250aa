"""The codec: what is written is read back as it was, and whatever cannot be read is refused with one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from fencecheck.codec import (
    AnchoredEvent,
    Case,
    anchored,
    decode_case,
    decode_history,
    decode_interleaving,
    encode_case,
    encode_history,
    encode_interleaving,
    load_case,
    save_case,
)
from fencecheck.errors import BadInput
from fencecheck.history import Act, Derive, Ended, Entry, Fetch, Head, History, Landed, Pause, Read
from fencecheck.interleaving import Event, Interleaving, MissingParent, Restore, Update
from fencecheck.model import Action, Record, Scenario
from fencecheck.strategies import events, interleavings, scenarios
from fencecheck.worlds import world

KEY = "order/42/requirement"
SMALL = Scenario(owners={"orders": [KEY]}, actions=[Action("ship", depends_on=[KEY])], values={KEY: ["Tokyo", "Osaka"]})
INTERLEAVING = Interleaving(SMALL, [("ship", KEY)], [(2, Update(KEY)), (3, MissingParent(KEY))])
HISTORY = History(
    SMALL,
    [
        Read("planner", KEY, "r1"),
        Derive("planner", "p1"),
        Landed(2, Update(KEY), version="r2"),
        Head("executor", KEY, "r2"),
        Act("executor", "ship", {"to": "Tokyo"}, plan="p1", basis={KEY: "r1"}),
        Ended("returned"),
    ],
    {
        "r1": Record("r1", KEY, "Tokyo"),
        "r2": Record("r2", KEY, "Osaka", supersedes="r1"),
        "p1": Record("p1", value=["go", {"to": "Tokyo"}], parents=("r1",)),
    },
    {KEY: ["r1", "r2"]},
    (("ship", KEY),),
    lines={4: "delivery.py:41"},
)
CASE = Case(
    "0.1.0",
    "shop.agents:OrderAgents",
    None,
    (("ship", KEY),),
    (AnchoredEvent(f"head {KEY}", 2, Update(KEY)),),
    "at-validation",
    "stale-act",
    KEY,
    "ship went out made from r1 while r2 was current",
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(codec="utf-8")),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), inside, max_size=3),
    max_leaves=5,
)
texts = st.text(st.characters(codec="utf-8"), max_size=5)


def entries_of(kind: type[Struct]) -> st.SearchStrategy[Any]:
    """Entries of a kind, all of whose fields vary."""
    given_fields: dict[str, Any] = {"args": json_values} if kind is Act else {}
    return st.builds(kind, **{field: given_fields.get(field, ...) for field in kind.__struct_fields__ if kind is not Landed})


@st.composite
def any_histories(draw: st.DrawFn) -> History:
    scenario = draw(scenarios())
    landed = st.builds(Landed, at=st.integers(0), what=events(scenario).map(lambda event: event.what), fired=st.booleans(), version=texts)
    kinds = [kind for kind in Entry.__args__ if kind is not Landed]
    entries = draw(st.lists(st.one_of(landed, *(entries_of(kind) for kind in kinds)), max_size=8))
    records = draw(st.lists(st.builds(Record, texts, st.none() | texts, json_values, st.lists(texts).map(tuple)), max_size=4))
    return History(
        scenario,
        entries,
        {record.id: record for record in records},
        draw(st.dictionaries(texts, st.lists(texts))),
        draw(interleavings(scenario)).dropped,
        draw(st.booleans()),
        draw(st.dictionaries(st.integers(0), texts)),
    )


def changed(encoded: bytes, change: Callable[[Any], Any]) -> bytes:
    found = json.loads(encoded)
    change(found)
    return json.dumps(found).encode()


def refused(decode: Callable[..., Any], data: bytes | str, name: str = "file") -> str:
    with pytest.raises(BadInput) as raised:
        decode(data, name=name)
    return str(raised.value)


# -- round trips


@given(scenarios().flatmap(interleavings))
def test_an_interleaving_comes_back_as_it_was(interleaving: Interleaving) -> None:
    encoded = encode_interleaving(interleaving)
    assert decode_interleaving(encoded) == interleaving
    assert decode_interleaving(encoded.decode()) == interleaving


@given(any_histories())
def test_a_history_comes_back_as_it_was(history: History) -> None:
    assert decode_history(encode_history(history)) == history


@given(st.data())
def test_a_case_comes_back_as_it_was(data: st.DataObject) -> None:
    interleaving = data.draw(scenarios().flatmap(interleavings))
    anchors = tuple(AnchoredEvent(data.draw(texts), data.draw(st.integers(1)), event.what) for event in interleaving.events)
    scenario = data.draw(st.sampled_from([None, interleaving.scenario]))
    free = [data.draw(texts) for _ in range(5)]
    case = Case(
        *free[:2], scenario, interleaving.dropped, anchors, *free[2:4], data.draw(st.none() | texts), free[4], data.draw(st.integers(0))
    )
    assert decode_case(encode_case(case)) == case


@given(json_values)
def test_scenario_values_are_any_json_values(value: Any) -> None:
    scenario = Scenario(owners={"o": ["k"]}, actions=[Action("a", ["k"])], values={"k": [value]})
    assert decode_interleaving(encode_interleaving(Interleaving(scenario))).scenario == scenario


# -- the form


def test_the_form_of_an_interleaving() -> None:
    assert json.loads(encode_interleaving(INTERLEAVING)) == {
        "fencecheck_interleaving": 1,
        "scenario": {
            "owners": {"orders": [KEY]},
            "actions": [{"name": "ship", "depends_on": [KEY], "tool": "ship"}],
            "values": {KEY: ["Tokyo", "Osaka"]},
        },
        "dropped": [["ship", KEY]],
        "events": [
            {"at": 2, "what": {"type": "update", "key": KEY, "how": "fresh"}},
            {"at": 3, "what": {"type": "missing-parent", "place": KEY}},
        ],
    }


def test_the_form_of_a_history() -> None:
    header, *lines = [json.loads(line) for line in encode_history(HISTORY).splitlines()]
    assert list(header) == ["fencecheck_history", "scenario", "versions", "records", "entries", "dropped", "lines"]
    assert (header["fencecheck_history"], header["records"], header["entries"]) == (1, 3, 6)
    assert [line["type"] for line in lines] == ["record"] * 3 + ["read", "derive", "landed", "head", "act", "ended"]
    assert lines[1] == {"type": "record", "id": "r2", "key": KEY, "value": "Osaka", "supersedes": "r1"}
    assert decode_history(encode_history(HISTORY)) == HISTORY


def test_a_dependency_that_is_a_function_is_stored_as_null() -> None:
    scenario = Scenario(owners={"o": ["k"]}, actions=[Action("a", lambda args: [args["path"]])])
    encoded = encode_interleaving(Interleaving(scenario))
    assert b'{"name":"a","tool":"a","keys_of":null,"by_arguments":true}' in encoded
    (stored,) = decode_interleaving(encoded).scenario.actions
    assert (stored.name, stored.keys_of, stored.by_arguments) == ("a", None, True)


class NoRepr:
    def __repr__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (("a", ("b",)), ["a", ["b"]]),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (b"x", "b'x'"),
        (date(2027, 1, 2), "datetime.date(2027, 1, 2)"),
        ({1: "x"}, {"1": "x"}),
        ({1: "x", "1": "y"}, "{1: 'x', '1': 'y'}"),
        ("\ud800", "'\\ud800'"),
        ({"to": {"Osaka"}}, {"to": "{'Osaka'}"}),
        (2**70, 2**70),
        pytest.param(2**20_000, hex(2**20_000), id="a huge number"),
        (NoRepr(), "<NoRepr, whose repr raises ZeroDivisionError>"),
    ],
)
def test_arguments_that_json_cannot_hold_are_stored_by_repr(value: Any, stored: Any) -> None:
    history = History(SMALL, [Act("agent", "ship", value)], {"p": Record("p", value=value)}, {})
    read = decode_history(encode_history(history))
    assert read.entries == [Act("agent", "ship", stored)]
    assert read.records == {"p": Record("p", value=stored)}


def test_arguments_that_hold_themselves_are_stored_by_repr() -> None:
    value: list[Any] = []
    value.append(value)
    assert decode_history(encode_history(History(SMALL, [Act("agent", "ship", value)], {}, {}))).entries == [
        Act("agent", "ship", "[[...]]")
    ]


# -- what cannot be written


def test_values_of_a_strategy_are_not_written() -> None:
    scenario = Scenario(owners={"o": ["k"]}, actions=[Action("a", ["k"])], values={"k": st.text()})
    for encode in (encode_interleaving, lambda one: encode_history(History(one.scenario, [], {}, {}))):
        with pytest.raises(BadInput) as raised:
            encode(Interleaving(scenario))
        assert str(raised.value) == (
            "the values of 'k' are a Hypothesis strategy, which cannot be stored: "
            "draw them first, with fencecheck.strategies.concrete(scenario)"
        )


def test_an_interleaving_with_values_that_json_cannot_hold_is_not_written() -> None:
    scenario = Scenario(owners={"o": ["k"]}, actions=[Action("a", ["k"])], values={"k": ["x", date(2027, 1, 2)]})
    with pytest.raises(BadInput) as raised:
        encode_interleaving(Interleaving(scenario))
    assert str(raised.value) == (
        "the value of version 2 of 'k' is a date that JSON cannot hold: use texts, numbers, true, false, null, lists and objects"
    )


def test_text_that_is_not_unicode_is_not_written() -> None:
    with pytest.raises(BadInput) as raised:
        encode_history(History(SMALL, [Pause("agent", "\ud800")], {}, {}))
    assert str(raised.value) == "the text '\\ud800' is not Unicode, so it cannot be stored: correct the name or label that holds it"


# -- what cannot be read


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda o: o.update(colour="red"), "file: unknown field 'colour': remove it or correct its name"),
        (lambda o: o["scenario"].update(depht=2), "file: unknown field 'depht' in scenario: remove it or correct its name"),
        (lambda o: o["events"][1].update(after=2), "file: unknown field 'after' in events[1]: remove it or correct its name"),
        (lambda o: o["events"][0]["what"].update(x=2), "file: unknown field 'x' in events[0].what: remove it or correct its name"),
        (lambda o: o["events"][0].update(at="2"), "file: field events[0].at must be a whole number, not a text: correct it"),
        (
            lambda o: o["events"][1]["what"].update(place=[]),
            "file: field events[1].what.place must be a whole number or a text, not a list: correct it",
        ),
        (lambda o: o["scenario"].update(owners=[]), "file: field scenario.owners must be an object, not a list: correct it"),
        (lambda o: o["dropped"][0].pop(), "file: field dropped[0] must be a list of length 2, not 1: correct it"),
        (lambda o: o["events"][0].pop("at"), "file: field 'at' is missing in events[0]: add it"),
        (lambda o: o.pop("scenario"), "file: field 'scenario' is missing: add it"),
        (lambda o: o["events"][0]["what"].pop("type"), "file: field 'type' is missing in events[0].what: add it"),
        (lambda o: o["events"][0]["what"].update(type="updat"), "file: field events[0].what.type cannot be 'updat': correct it"),
        (lambda o: o["events"][0]["what"].update(how="old"), "file: Update: how must be one of fresh, earlier, removed, not 'old'"),
        (lambda o: o["events"][0].update(at=-1), "file: an event lands at point 0 or later, not at -1"),
        (
            lambda o: o["events"][0].update(what={"type": "missing-parent", "place": -1}),
            "file: MissingParent: places in a lineage are counted from 0, not -1",
        ),
        (
            lambda o: o["events"][0].update(what={"type": "corrupt-parent", "place": -1}),
            "file: CorruptParent: places in a lineage are counted from 0, not -1",
        ),
        (lambda o: o["scenario"].update(depth=0), "file: the lineage depth of a scenario is 1 or more, not 0"),
        (
            lambda o: o["scenario"].update(values={KEY: 3}),
            f"file: the values of {KEY!r} must be a list, one for each version, or a Hypothesis strategy, not 3",
        ),
        (
            lambda o: o["scenario"]["actions"][0].update(keys_of="f"),
            "file: field scenario.actions[0].keys_of must be null: a function cannot be stored",
        ),
        (
            lambda o: o.update(fencecheck_interleaving=2),
            "file: written by a newer fencecheck (format 2, this one reads up to 1): upgrade fencecheck",
        ),
        (lambda o: o.update(fencecheck_interleaving="1"), "file: field fencecheck_interleaving must be 1, not '1': correct it"),
        (lambda o: o.update(fencecheck_interleaving=True), "file: field fencecheck_interleaving must be 1, not True: correct it"),
        (
            lambda o: o.pop("fencecheck_interleaving"),
            "file: not a fencecheck interleaving, since it has no field 'fencecheck_interleaving': give a file that fencecheck wrote",
        ),
    ],
)
def test_a_changed_interleaving_is_refused_with_its_field(change: Callable[[Any], Any], sentence: str) -> None:
    assert refused(decode_interleaving, changed(encode_interleaving(INTERLEAVING), change)) == sentence


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "file: empty: write or copy it again"),
        (b" \n", "file: empty: write or copy it again"),
        (b"hello", "file: not JSON (invalid character at byte 0): give a file that fencecheck wrote"),
        (b'{"a":1}x', "file: not JSON (trailing characters at byte 8): give a file that fencecheck wrote"),
        (b'"\xff"', "file: not JSON (invalid UTF-8 encoded string): give a file that fencecheck wrote"),
        ("\ud800", "file: not JSON (a text that is not Unicode): give a file that fencecheck wrote"),
        pytest.param(b"[" * 100_000, "file: nested too deeply: give a file that fencecheck wrote", id="deep"),
        (b"[1]", "file: not a fencecheck interleaving, since it has no field 'fencecheck_interleaving': give a file that fencecheck wrote"),
        (encode_interleaving(INTERLEAVING)[:-20], "file: ends in the middle: it was cut off, so write or copy it again"),
        (encode_history(HISTORY), "file: this is a fencecheck history, not an interleaving: give an interleaving"),
        (encode_case(CASE), "file: this is a fencecheck case, not an interleaving: give an interleaving"),
    ],
)
def test_what_is_no_interleaving_is_refused(data: bytes | str, sentence: str) -> None:
    assert refused(decode_interleaving, data) == sentence


@given(st.data())
def test_every_cut_of_an_interleaving_is_refused(data: st.DataObject) -> None:
    encoded = encode_interleaving(INTERLEAVING)
    assert refused(decode_interleaving, encoded[: data.draw(st.integers(0, len(encoded) - 1))]).startswith("file: e")


@given(st.data())
def test_every_cut_of_a_history_is_refused(data: st.DataObject) -> None:
    encoded = encode_history(HISTORY).rstrip()
    assert "cut off" in refused(decode_history, encoded[: data.draw(st.integers(1, len(encoded) - 1))])


@given(st.binary())
def test_whatever_is_read_gives_a_value_or_one_sentence(data: bytes) -> None:
    for decode in (decode_interleaving, decode_history, decode_case):
        assert "\n" not in refused(decode, data)


@pytest.mark.parametrize(
    ("line", "change", "sentence"),
    [
        (0, lambda o: o.update(x=1), "h.jsonl, line 1: unknown field 'x': remove it or correct its name"),
        (
            0,
            lambda o: o.update(fencecheck_history=9),
            "h.jsonl, line 1: written by a newer fencecheck (format 9, this one reads up to 1): upgrade fencecheck",
        ),
        (0, lambda o: o.update(records=-1), "h.jsonl, line 1: field records cannot be read (expected `int` >= 0): correct it"),
        (0, lambda o: o.update(entries=7), "h.jsonl: ends after line 10 of 11: it was cut off, so write or copy it again"),
        (
            0,
            lambda o: o.update(entries=5),
            "h.jsonl, line 10: goes on after its last line: remove what follows, or correct the counts in line 1",
        ),
        (1, lambda o: o.update(x=1), "h.jsonl, line 2: unknown field 'x': remove it or correct its name"),
        (1, lambda o: o.update(parents=[1]), "h.jsonl, line 2: field parents[0] must be a text, not a whole number: correct it"),
        (4, lambda o: o.update(type="reed"), "h.jsonl, line 5: field type cannot be 'reed': correct it"),
        (4, lambda o: o.update(answer="maybe"), "h.jsonl, line 5: field answer cannot be 'maybe': correct it"),
        (6, lambda o: o["what"].update(how="x"), "h.jsonl, line 7: Update: how must be one of fresh, earlier, removed, not 'x'"),
        (8, lambda o: o.pop("agent"), "h.jsonl, line 9: field 'agent' is missing: add it"),
    ],
)
def test_a_changed_history_is_refused_with_its_line(line: int, change: Callable[[Any], Any], sentence: str) -> None:
    lines = encode_history(HISTORY).splitlines()
    lines[line] = changed(lines[line], change)
    assert refused(decode_history, b"\n".join(lines), "h.jsonl") == sentence


def test_a_case_is_no_history() -> None:
    assert refused(decode_history, encode_case(CASE)) == "file: this is a fencecheck case, not a history: give a history"
    assert refused(decode_history, b"") == "file, line 1: empty: write or copy it again"


# -- case files


def test_a_case_file_is_named_after_its_system_and_content(tmp_path: Path) -> None:
    path = save_case(CASE, tmp_path / "new" / "cases")
    assert path.parent == tmp_path / "new" / "cases"
    assert path.name.startswith("shop-agents-orderagents-")
    assert len(path.stem.rpartition("-")[2]) == 6
    assert load_case(path) == CASE
    assert save_case(CASE, path.parent) == path
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_the_form_of_a_case_file(tmp_path: Path) -> None:
    assert save_case(CASE, tmp_path).read_text() == (
        f"""{{
  "fencecheck_case": 2,
  "fencecheck": "0.1.0",
  "system": "shop.agents:OrderAgents",
  "scenario": null,
  "dropped": [
    [
      "ship",
      "{KEY}"
    ]
  ],
  "events": [
    {{
      "label": "head {KEY}",
      "occurrence": 2,
      "what": {{
        "type": "update",
        "key": "{KEY}",
        "how": "fresh"
      }}
    }}
  ],
  "level": "at-validation",
  "code": "stale-act",
  "key": "{KEY}",
  "message": "ship went out made from r1 while r2 was current",
  "seed": null,
  "smallest": null
}}
"""
    )


def test_a_case_can_bring_a_generated_scenario(tmp_path: Path) -> None:
    case = Case("0.1.0", "planfence", world(), (), (), "at-validation", "stale-act", None, "no", 7)
    assert load_case(save_case(case, tmp_path)) == case


def test_a_case_of_an_older_format_says_nothing_of_its_size() -> None:
    def older(case: dict[str, Any]) -> None:
        case.update(fencecheck_case=1)
        del case["smallest"]

    assert decode_case(changed(encode_case(replace(CASE, smallest=True)), older)) == CASE
    assert CASE.smallest is None


def test_an_unwritable_directory_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(BadInput) as raised:
        save_case(CASE, file)
    assert str(raised.value) == f"{file}: the case cannot be written there (file exists): name a directory that can be written"


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BadInput) as raised:
        save_case(CASE, tmp_path)
    assert (
        str(raised.value) == f"{tmp_path}: the case cannot be written there (no space left on device): name a directory that can be written"
    )
    assert list(tmp_path.iterdir()) == []


def test_case_files_that_cannot_be_read_are_refused_with_one_sentence(tmp_path: Path) -> None:
    def sentence(data: bytes | None) -> str:
        path = tmp_path / "case.json"
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(BadInput) as raised:
            load_case(path if data is not None else tmp_path / "none.json")
        return str(raised.value).replace(str(tmp_path), "T")

    assert sentence(None) == "T/none.json: there is no such file: name a case file that fencecheck wrote"
    assert sentence(encode_case(CASE)[:100]) == "T/case.json: ends in the middle: it was cut off, so write or copy it again"
    newer = changed(encode_case(CASE), lambda o: o.update(fencecheck_case=3, more="fields"))
    assert sentence(newer) == "T/case.json: written by a newer fencecheck (format 3, this one reads up to 2): upgrade fencecheck"
    assert sentence(encode_history(HISTORY)) == "T/case.json: this is a fencecheck history, not a case: give a case"
    assert (
        sentence(b"{}") == "T/case.json: not a fencecheck case, since it has no field 'fencecheck_case': give a file that fencecheck wrote"
    )
    unanchored = changed(encode_case(CASE), lambda o: o["events"][0].update(occurrence=0))
    assert sentence(unanchored) == "T/case.json: the occurrences of a point are counted from 1, not 0"
    with pytest.raises(BadInput, match=r"the case cannot be read \(is a directory\): name a case file that fencecheck wrote$"):
        load_case(tmp_path)


# -- anchors


def test_events_are_anchored_on_the_points_before_which_they_landed() -> None:
    history = History(SMALL, [Head("a", KEY), Fetch("a", "p"), Head("a", KEY), Ended("returned")], {"p": Record("p")}, {})
    wanted = [Event(1, Restore("orders")), Event(2, Update(KEY))]
    assert anchored(history, wanted) == (
        AnchoredEvent("record derived", 1, Restore("orders")),
        AnchoredEvent(f"head {KEY}", 2, Update(KEY)),
    )
    with pytest.raises(BadInput) as raised:
        anchored(history, [Event(3, Update(KEY))])
    assert str(raised.value) == "the event before point 3 never landed: the episode has 3 points, so leave it out"
