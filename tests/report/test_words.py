"""Names, values, events and calls, in words."""

from __future__ import annotations

import pytest

from fencecheck.history import Act, Landed, Read
from fencecheck.interleaving import (
    CORRUPT_HOWS,
    OUTAGE_HOWS,
    TOOL_HOWS,
    Advance,
    CorruptParent,
    Deliver,
    MissingParent,
    Outage,
    Replan,
    Restart,
    Restore,
    Switch,
    ToolFault,
    Update,
    What,
)
from fencecheck.report.words import (
    Names,
    act_in_words,
    call_in_words,
    clean,
    count_of,
    event_in_words,
    interleaving_in_words,
    short_keys,
    shown,
    size_in_words,
    version_name,
)

from .made import FINDING, REQ, VERSIONS, WIN, history, stale


def test_a_version_is_called_by_its_place() -> None:
    assert version_name(f"{REQ}@2", VERSIONS) == "r2"
    assert version_name("p1", VERSIONS) == "p1"
    assert Names(stale()).full(f"{REQ}@2") == f"{REQ} r2"
    assert Names(stale()).record(f"{REQ}@2") == "requirement r2"


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (FINDING.message, f"ship went out made from {REQ} r1 while r2 was current."),
        (f"{REQ} changed to {REQ}@2 between", f"{REQ} changed to r2 between"),
        (f"{REQ}@1 and {WIN}@1 and {REQ}@2", f"{REQ} r1 and {WIN} r1 and {REQ} r2"),
        (f"{REQ}@12 is no version", f"{REQ}@12 is no version"),
        ("nothing of the kind", "nothing of the kind"),
    ],
)
def test_version_ids_in_a_message(said: str, read: str) -> None:
    assert Names(stale()).readable(said) == read


def test_keys_are_shortened_where_that_is_unambiguous() -> None:
    assert short_keys([REQ, WIN]) == {REQ: "requirement", WIN: "window"}
    assert short_keys(["a/x", "b/x", "c"]) == {"a/x": "a/x", "b/x": "b/x", "c": "c"}
    assert short_keys(["order/1", "x/"]) == {"order/1": "order/1", "x/": "x/"}


def test_values_are_short_and_on_one_line() -> None:
    assert shown("a\nb\x1b[31m") == '"a\\nb\\x1b[31m"'
    assert shown("x" * 60, 10) == '"xxxxxxxxx…"'
    assert shown({"a": 1, "b": ["c", ("d",)], "e": None}, 60) == '{"a": 1, "b": ["c", ("d",)], "e": None}'
    assert shown({3}) == "{3}"
    assert shown(10**5_000, 60) == "<int, whose repr raises ValueError>"
    assert clean("\ud800") == "\\ud800"


def test_counts() -> None:
    assert [count_of(n, "event") for n in (0, 1, 2, 1234)] == ["no event", "1 event", "2 events", "1,234 events"]


@pytest.mark.parametrize(
    ("what", "version", "record", "words"),
    [
        (Update(REQ), f"{REQ}@2", None, f"orders commits {REQ} r2"),
        (Update(REQ, "earlier"), f"{REQ}@2", None, f"orders commits {REQ} r2, an earlier value again"),
        (Update(REQ, "removed"), f"{REQ}@2", None, f"orders removes {REQ}"),
        (Deliver(REQ), f"{REQ}@2", None, f"{REQ} r2 reaches the memory of the agents"),
        (Replan("task"), None, None, "the planner makes a new plan for task"),
        (Outage("orders"), None, None, "from now on orders refuses to answer"),
        (Outage("orders", "hang"), None, None, "from now on orders does not answer"),
        (Restore("orders"), None, None, "from now on orders answers well again"),
        (MissingParent(1), None, "p1", "the record p1 can no longer be read"),
        (MissingParent(REQ), None, f"{REQ}@1", f"the record {REQ} r1 can no longer be read"),
        (CorruptParent(1, "cycle"), None, "p1", "the record p1 is served as its own ancestor"),
        (ToolFault("ship", "lost-reply"), None, None, "the next call of ship loses its reply, after the effect"),
        (Restart("agent"), None, None, "agent is restarted, what it held in memory is gone"),
    ],
)
def test_events(what: What, version: str | None, record: str | None, words: str) -> None:
    assert event_in_words(Names(stale()), Landed(2, what, True, version, record)) == words


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (Landed(3, Switch(2), due="point claim", runs="Both.help_out"), "task 2 (Both.help_out) goes first, ahead of point claim"),
        (Landed(3, Switch(0), due="act ship", runs="Both.run"), "the main task (Both.run) goes first, ahead of act ship"),
        (Landed(3, Switch(2)), "task 2 goes first"),
        (Landed(3, Advance(), due="head x"), "time passes to the next timer while head x waits"),
        (Landed(3, Advance()), "time passes to the next timer"),
    ],
)
def test_who_goes_first(entry: Landed, words: str) -> None:
    assert event_in_words(Names(stale()), entry) == words


def test_every_mode_of_every_event_has_words() -> None:
    names = Names(stale())
    modes: list[What] = [Outage("orders", how) for how in OUTAGE_HOWS]
    modes += [CorruptParent(1, how) for how in CORRUPT_HOWS]
    modes += [ToolFault("ship", how) for how in TOOL_HOWS]
    said = [event_in_words(names, Landed(0, what)) for what in modes]
    assert len(set(said)) == len(modes)


def test_the_interleaving_names_the_point_before_which_each_event_landed() -> None:
    assert interleaving_in_words(Names(stale())) == [(f"before point 2, read {REQ} #2", f"orders commits {REQ} r2")]
    assert size_in_words(stale()) == "1 event"
    dropped = history(Read("agent", REQ, f"{REQ}@1"), dropped=(("ship", REQ),))
    assert interleaving_in_words(Names(dropped)) == [("from the start", f"ship no longer declares {REQ}")]
    assert size_in_words(dropped) == "1 dropped declaration"
    assert size_in_words(history()) == "no event, the system does it alone"


def test_an_act_says_which_version_went_out_and_which_was_current() -> None:
    names, act = Names(stale()), stale().entries[4]
    assert isinstance(act, Act)
    assert call_in_words(names, act) == 'ship(to="2-21 Shibuya, Tokyo")'
    assert act_in_words(names, 4, act) == "made from requirement r1, current r2"


def test_an_act_from_what_is_current_and_one_from_nothing_known() -> None:
    current = Act("a", "ship", {"to": "2-21 Shibuya, Tokyo"}, "p1")
    assert act_in_words(Names(history(current)), 0, current) == "made from requirement r1, current"
    blind = Act("a", "ship", {"to": "elsewhere"}, outcome="lost-reply")
    assert act_in_words(Names(history(blind)), 0, blind) == (
        "done, and the reply was lost; nothing shows which requirement it was made from"
    )
    careful = Act("a", "ship", {}, "p1", expect={REQ: f"{REQ}@1"}, outcome="precondition-failed", effect=False)
    assert act_in_words(Names(history(careful)), 0, careful) == (
        "precondition failed, no effect; expects requirement r1; made from requirement r1, current"
    )


def test_arguments_that_are_no_mapping() -> None:
    assert call_in_words(Names(stale()), Act("a", "ship", ["x"])) == 'ship(args=["x"])'
    assert call_in_words(Names(stale()), Act("a", "ship")) == "ship()"
