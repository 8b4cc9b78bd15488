"""Matches in pages, in any order, through a filter; and each of them among the events around it."""

from __future__ import annotations

import re
from html import escape

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from cepkit_widgets import MatchBrowser
from cepkit_widgets.match_browser.state import BrowserState, order_of
from cepkit_widgets.matches import known as known_module
from cepkit_widgets.matches.known import KnownMatches
from cepkit_widgets.matches.look import Looker

FRAME = pd.DataFrame(
    {
        "ts": [0, 1, 2, 3, 4, 5, 6, 7],
        "type": list("AABXBCAB"),
        "x": [1.0, 5.0, 3.0, 0.0, 9.0, 10.0, 2.0, None],
        "note": ["<b>p</b>", "q", "r", "s", "t", "u", "v", "w"],
    }
)
STREAM = ck.events(FRAME, time="ts", type="type", unit="s")
PAIRS = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 seconds"


def browser(pattern=PAIRS, stream=STREAM):
    app = MatchBrowser(ck.detect(stream, pattern))
    assert app.error is None, app.error
    return app


def told(app, **message):
    """Send a message as the page does when its reader clicks or types."""
    app._asked(app, {**message, "n": app._answered + 1}, [])


def pairs(app):
    """The (a.x, b.x) of the rows of the table, in its order."""
    known = app._known
    order = [known.binding(int(i)) for i in app._order]
    return [(FRAME.x[b["a"][0]], FRAME.x[b["b"][0]]) for b in order]


ALL = {(1.0, 3.0), (1.0, 9.0), (5.0, 9.0)}


def test_all_matches_are_there():
    app = browser()
    assert set(pairs(app)) == ALL
    assert "all 3 matches" in app.html
    found = ck.detect(STREAM, PAIRS)
    assert len(app._order) == found.count()


@pytest.mark.parametrize(
    "pattern",
    [
        PAIRS,
        "PATTERN SEQ(A a, KL(B b), C c) WITHIN 10 seconds",
        "PATTERN OR(SEQ(A a, C c), SEQ(B b, C d)) WITHIN 10 seconds",
        "PATTERN SEQ(A a, NOT(X n), B b) WITHIN 10 seconds",
        "PATTERN SEQ(A a, B b) WITHIN 3 EVENTS",
        "PATTERN SEQ(A a, NEXT B b) WITHIN 10 seconds",
        "PATTERN SEQ(A a, FIRST B b) WITHIN 10 seconds",
        "PATTERN SEQ(A a, KL(FIRST B b), C c) WITHIN 10 seconds",
        "PATTERN SEQ(A a, KL(B b), C c) WHERE b.x > prev(b.x) WITHIN 10 seconds",
        "PATTERN SEQ(A a, OPT(B b), C c) WITHIN 10 seconds WITHIN 4 seconds FROM a TO c",
        "PATTERN SEQ(A a, B b) WITHIN 10 seconds STRATEGY skip-till-next-match",
    ],
)
def test_selected_matches_are_those_that_detect_finds(pattern):
    app = browser(pattern)
    for number in range(len(app._order)):
        told(app, set=f"mark:{number}", value=True)
    frame = app.selected
    assert list(frame.match) == list(range(len(app._order)))
    found = ck.detect(STREAM, pattern)
    mine, theirs = set(), set()
    for variable in found.variables:
        assert f"{variable}.x" in frame

    def notes(value):
        if isinstance(value, list):
            return tuple(value)
        return () if value is None or value != value else (value,)

    for row in frame.to_dict("records"):
        mine.add(tuple(notes(row[f"{v}.note"]) for v in found.variables))
    for batch in found.batches():
        for row in batch.to_pylist():
            events = [row[v] if isinstance(row[v], list) else [row[v]] for v in found.variables]
            theirs.add(tuple(tuple(e["note"] for e in each if e) for each in events))
    assert mine == theirs
    # Every requirement of each match is said to hold.
    looker = Looker(app._known)
    for number in range(len(app._order)):
        assert looker.conditions(app._known.binding(number))
        assert looker.around(app._known.binding(number)).events


def test_sorting():
    app = browser()
    app.sort("b.x", descending=True)
    assert [b for _, b in pairs(app)] == [9.0, 9.0, 3.0]
    app.sort("length")
    begin, end = app._known.times()
    lengths = (end - begin)[app._order]
    assert list(lengths) == sorted(lengths)
    told(app, do="sort", value='["a", "x"]')
    assert [a for a, _ in pairs(app)] == [1.0, 1.0, 5.0]
    told(app, do="sort", value='["a", "x"]')
    assert [a for a, _ in pairs(app)] == [5.0, 1.0, 1.0]


def test_sort_puts_missing_values_last_in_both_directions():
    app = browser("PATTERN SEQ(A a, B b) WITHIN 1 seconds")
    for descending in (False, True):
        app.sort("b.x", descending=descending)
        assert np.isnan(pairs(app)[-1][1])


def test_a_filter_is_a_condition():
    app = browser()
    app.filter("b.x > 5 AND a.x < 5")
    assert pairs(app) == [(1.0, 9.0)]
    assert "1 of all 3 matches" in app.html
    # A column that the pattern does not read.
    app.filter("b.note = 'r'")
    assert pairs(app) == [(1.0, 3.0)]
    app.filter("")
    assert set(pairs(app)) == ALL


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("b.x >", "Expected"),
        ("z.x > 3", "z"),
        ("b.y > 3", "no column 'y'"),
        ("b.note > 3", "note"),
        ("<i>", "Expected"),
    ],
)
def test_wrong_filter_shows_an_error_and_keeps_the_rows(condition, words):
    app = browser()
    before = list(app._order)
    told(app, set="filter", value=condition)
    assert words in str(app.error)
    assert 'role="alert"' in app.html
    assert "<i>" not in app.html
    assert list(app._order) == before
    assert f'value="{escape(condition)}"' in app.html
    with pytest.raises(ck.CepkitError):
        app.filter(condition)


def test_filters_of_sets_are_refused():
    app = browser("PATTERN SEQ(A a, KL(B b), C c) WITHIN 10 seconds")
    told(app, set="filter", value="avg(b.x) > 2")
    assert "a set of them" in str(app.error)


def test_the_arrow_keys_go_through_the_table():
    app = browser()
    told(app, do="sort", value='["b", "x"]')
    told(app, do="step", value="Home")
    first = app.current
    told(app, do="step", value="ArrowDown")
    assert app.current == app._order[1] != first
    told(app, do="step", value="End")
    told(app, do="step", value="ArrowDown")
    assert app.current == app._order[-1]
    told(app, do="step", value="ArrowUp")
    assert app.current == app._order[-2]


def test_the_chosen_match_is_on_the_page():
    frame = pd.DataFrame({"ts": range(60), "type": ["A", "B"] * 30, "x": range(60)})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    app = browser("PATTERN SEQ(A a, B b) WITHIN 100 seconds", stream)
    app.select(123)
    order = list(app._order)
    assert order[app.state.page * 10 : app.state.page * 10 + 10].count(123) == 1
    told(app, do="page", value="0")
    assert app.state.page == 0
    assert app.current == 123
    told(app, do="page", value="99999")
    assert app.state.page == (len(order) - 1) // 10
    told(app, set="rows", value="50")
    assert app.html.count('aria-label="mark match') == 50


def test_an_event_leads_to_its_matches():
    app = browser()
    told(app, do="with", value="4")
    assert {b for _, b in pairs(app)} == {9.0}
    assert "take away the filter: only with row 4" in app.html
    told(app, do="with", value="3")
    assert pairs(app) == []
    assert "No match is chosen" in app.html
    assert app.selected.empty
    told(app, do="all")
    assert set(pairs(app)) == ALL


def test_conditions_say_by_how_much_they_held():
    app = browser()
    app.filter("a.x = 1 AND b.x = 9")
    said = {c.text: c for c in app._looker.conditions(app._known.binding(app.current))}
    assert said["a.x < b.x"].values == "1 < 9"
    assert said["a.x < b.x"].margin == "by 8"
    assert said["WITHIN 5 seconds"].margin == "1 s left"
    assert said["a before b"].margin == "by 4 s"


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("b.x > prev(b.x)", {"one event", "9 > 3"}),
        ("b.x != prev(b.x, 2)", {"one event", "too few events"}),
        ("sum(b[..i].x) < 13", {"3 < 13", "9 < 13"}),
        ("b.x > max(b[..i-1].x)", {"one event", "9 > 3"}),
        (
            "b[2].x > 3 OR count(b) = 1",
            {"b[2].x = 9, count(b) = 2", "b[2].x = NULL, count(b) = 1"},
        ),
    ],
)
def test_conditions_between_the_members_of_a_set_have_values(condition, values):
    app = browser(f"PATTERN SEQ(A a, KL(B b), C c) WHERE {condition} WITHIN 10 seconds")
    said = [
        c.values
        for number in app._order
        for c in app._looker.conditions(app._known.binding(int(number)))
        if c.text == condition
    ]
    assert set(said) == values


def test_the_time_line_has_the_events_around_that_take_no_part():
    app = browser()
    app.filter("a.x = 1 AND b.x = 9")
    around = app._looker.around(app._known.binding(app.current))
    assert [(s.event, s.variable) for s in around.events] == [
        (0, "a"), (1, None), (2, None), (3, None), (4, "b"), (5, None),
    ]  # fmt: skip
    assert around.lanes == ("A", "B", "X", "C")
    assert around.left_out == 0
    assert "takes no part" in app.html


def test_too_many_events_around_leave_those_of_the_pattern():
    n = 3000
    kinds = ["A", *["X", "Y"] * (n // 2), "C", *["X"] * 9, "B"]
    frame = pd.DataFrame({"ts": range(len(kinds)), "type": kinds})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    app = browser("PATTERN SEQ(A a, B b, NOT(C c)) WITHIN 5000 seconds", stream)
    around = app._looker.around(app._known.binding(0))
    assert len(around.events) == 242
    assert around.left_out == n + 10 - 240
    assert "C" in {line.text.split(",")[0] for line in around.events}
    assert f"{around.left_out:,} of those around left out" in app.html


def test_browser_finds_only_matches_of_pages_asked_for(monkeypatch):
    rows = 30_000
    frame = pd.DataFrame({"ts": np.arange(rows), "type": ["A", "B"] * (rows // 2)})
    stream = ck.events(frame, time="ts", type="type", unit="s")
    app = browser("PATTERN SEQ(A a, B b) WITHIN 20000 seconds", stream)
    assert not app._known.complete
    assert "the first 1,000 matches found · there are more" in app.html
    assert len(app._order) == 1000
    told(app, do="more")
    assert len(app._order) == 10_000
    monkeypatch.setattr(known_module, "MOST", 150_000)
    few = KnownMatches(ck.detect(stream, "PATTERN SEQ(A a, B b) WITHIN 20000 seconds"))
    few.at_least(10**9)
    assert few.size == 150_000
    assert not few.complete
    assert few.full


def test_a_limit_of_the_matches_is_kept():
    app = MatchBrowser(ck.detect(STREAM, PAIRS, limit=2))
    assert len(app._order) == 2
    assert "all 2 matches" in app.html


def test_counting_all():
    app = browser()
    told(app, do="count")
    for _ in range(500):
        if "in all" in app._total:
            break
        app.refresh()
        __import__("time").sleep(0.01)
    assert app._total == "3 matches in all"


def test_no_match_at_all():
    app = browser("PATTERN SEQ(C a, A b, C c) WITHIN 5 seconds")
    assert app.current is None
    assert "all 0 matches" in app.html
    assert app.selected.empty
    told(app, do="step", value="ArrowDown")
    assert app.error is None


@pytest.mark.parametrize("what", [None, "matches", pd.DataFrame({"a": [1]})])
def test_browser_shows_an_error_for_values_that_are_no_matches(what):
    app = MatchBrowser(what)
    assert "what cepkit.detect returns" in app.html
    told(app, do="step", value="ArrowDown")
    assert "there are no matches" in app.html


@pytest.mark.parametrize(
    "message", [{"do": "choose", "value": "77"}, {"do": "page", "value": "x"}, {"do": "nothing"}]
)
def test_wrong_input_is_a_text(message):
    app = browser()
    told(app, **message)
    assert app.error is not None
    assert 'role="alert"' in app.html


def test_values_stay_text_and_the_page_needs_no_kernel():
    app = browser("PATTERN SEQ(A a, B b) WHERE a.note != b.note WITHIN 5 seconds")
    assert "<b>p</b>" not in app.html
    assert "&lt;b&gt;p" in app.html
    html = app._repr_mimebundle_()[0]["text/html"]
    assert "need a running notebook" in html
    assert not re.search(r"https?://", html)


def test_states_are_values():
    state = BrowserState()
    known = KnownMatches(ck.detect(STREAM, PAIRS))
    order = order_of(state, known)
    assert state.toggled(1).toggled(1) == state
    assert state.at(int(order[0]), order) == state.at(int(order[0]), order)
    with pytest.raises(ck.CepkitError, match="not among those"):
        state.at(99, order)


@pytest.mark.parametrize(
    ("times", "unit", "said"),
    [
        (["2024-03-21T10:00:00", "2024-03-21T10:00:05"], None, "2024-03-21 10:00:00"),
        ([1_711_015_200, 1_711_015_205], "s", "1,711,015,200 s"),
    ],
)
def test_browser_writes_times_of_texts_and_numbers_in_full(times, unit, said):
    frame = pd.DataFrame({"ts": times, "type": ["A", "B"]})
    stream = ck.events(frame, time="ts", type="type", unit=unit)
    app = MatchBrowser(ck.detect(stream, "PATTERN SEQ(A a, B b) WITHIN 10 seconds"))
    assert said in app.html
    assert "e+09" not in app.html
