"""Matches that are fetched some at a time: each is known once, in any order of fetching."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.pattern.evaluation.columns import truth
from cepkit.stream.schema import Schema
from cepkit_widgets import MatchBrowser
from cepkit_widgets.match_browser import view
from cepkit_widgets.match_browser.state import BrowserState, order_of, values_of
from cepkit_widgets.matches import paged
from cepkit_widgets.matches.known import KnownMatches
from cepkit_widgets.matches.paged import PagedMatches

SCHEMA = Schema("ts", "type", "s")
PAIRS = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 30 seconds"


def stream(size: int = 60, **more: object):
    rows = {
        "ts": [i // 2 for i in range(size)],
        "type": ["AABXC"[i * 7 % 5] for i in range(size)],
        "x": [float(i * 31 % 17) if i % 11 else None for i in range(size)],
        "note": [f"<{i % 4}>" for i in range(size)],
        "tags": [[i % 3, None] for i in range(size)],
    }
    return ck.events(pa.table({**rows, **more}), time="ts", type="type", unit="s")


@dataclass
class FakePages:
    """Local matches that record each request, and answer it in a different order each time."""

    pattern: str
    stream: ck.Stream
    asked: list[tuple[object, ...]] = field(default_factory=list)
    searchable: bool = True
    timed: bool = False

    def __post_init__(self) -> None:
        self.matches = ck.detect(self.stream, self.pattern)
        self.query = self.matches.query
        self.schema = self.stream.schema
        self.names = self.stream.column_names

    def table(self, pattern: str = "") -> pa.Table:
        return ck.detect(self.stream, pattern).to_arrow(nested=True) if pattern else self.every

    @property
    def every(self) -> pa.Table:
        table = pa.Table.from_batches(list(self.matches.batches()), schema=self.matches.schema)
        order = np.random.default_rng(len(self.asked)).permutation(len(table))
        return table.take(pa.array(order))

    def first(self, n):
        self.asked.append(("first", n))
        return self.every.slice(0, n)

    def searched(self, n, condition, sort, *, descending=False):
        self.asked.append(("searched", n, condition and str(condition), sort, descending))
        known = KnownMatches(self.matches)
        known.at_least(10**6)
        state = BrowserState(wanted=10**6, descending=descending)
        state = replace(state, sort=sort) if sort else state
        order = order_of(state, known)
        if condition is not None:
            held = truth(condition, lambda v, name: values_of(known, v, name)[0], known.size)
            order = order[held[order]]
        table = pa.Table.from_batches(list(self.matches.batches()), schema=self.matches.schema)
        return table.take(pa.array(order[:n]))

    def can_search(self, condition):
        return self.searchable

    def around(self, first, last, seconds, most):
        self.asked.append(("around", first, last, seconds, most))
        table = self.stream.source
        ts = np.array(table["ts"].to_pylist())
        near = np.flatnonzero((ts >= float(first) - seconds) & (ts <= float(last) + seconds))
        order = np.argsort(np.abs(ts[near] - float(first)), kind="stable")
        return table.take(pa.array(near[order][:most]))


def bindings(known, numbers=None):
    """The content of matches, as a sorted list of texts."""
    rows = []
    for number in range(known.size) if numbers is None else numbers:
        bound = known.binding(int(number))
        taken = {
            v: known.columns.source.take(pa.array(known.columns.source_rows(np.array(events))))
            for v, events in bound.items()
        }
        rows.append(repr({v: table.to_pylist() for v, table in taken.items()}))
    return sorted(rows)


PATTERNS = [
    PAIRS,
    "PATTERN SEQ(A a, KL(B b){1,2}, C c) WITHIN 8 seconds",
    "PATTERN OR(SEQ(A a, B b), SEQ(C c, KL(X x){1,2})) WITHIN 4 seconds",
    "PATTERN SEQ(A a, NOT(C c), B b) WITHIN 6 seconds",
    "PATTERN AND(A a, A b) WITHIN 2 seconds",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("equal", [False, True], ids=["different events", "equal events"])
def test_matches_fetched_in_parts_equal_the_local_ones(pattern, equal):
    same = {"x": [1.0 + (i // 12) % 2 for i in range(24)], "note": ["n"] * 24, "tags": [[1]] * 24}
    source = stream(24, ts=[i // 6 for i in range(24)], **same) if equal else stream()
    pages = FakePages(pattern, source)
    here = KnownMatches(ck.detect(source, pattern))
    here.at_least(10**6)
    there = PagedMatches(pages)
    for wanted in (1, 3, 10, 10**5):
        before = bindings(there)
        there.at_least(wanted)
        assert there.size >= min(wanted, here.size)
        assert bindings(there, range(len(before))) == before
    assert there.complete
    assert there.size == here.size > 5
    assert bindings(there) == bindings(here)
    for a, b in zip(here.times(), there.times(), strict=True):
        assert sorted(a) == sorted(b)
    for number in range(there.size):
        for events in there.binding(number).values():
            assert list(events) == sorted(events)


def test_a_match_keeps_its_number():
    there = PagedMatches(FakePages(PAIRS, stream()))
    there.at_least(10)
    first = [there.binding(i) for i in range(10)]
    rows = [{v: [there.row(e) for e in events] for v, events in bound.items()} for bound in first]
    there.at_least(100)
    there.take_around(0, there.pages.around(*there.around(0)))
    again = [there.binding(i) for i in range(10)]
    assert rows == [{v: [there.row(e) for e in es] for v, es in bound.items()} for bound in again]
    assert all(there.event(there.row(e)) == e for e in range(len(there.columns)))


def opened(monkeypatch, pattern=PAIRS, size=900, **options):
    pages = FakePages(pattern, stream(size), **options)
    monkeypatch.setattr(view, "_known_of", lambda _: PagedMatches(pages))
    app = MatchBrowser(pages.matches)
    assert app.error is None, app.error
    return app, pages


def told(app, **message):
    app._asked(app, {**message, "n": app._answered + 1}, [])
    assert app.wait(300)


def values(app, key):
    known = app._known
    column, _ = values_of(known, *key)
    return list(column.values[app._order])


def test_no_more_is_fetched_than_is_asked_for(monkeypatch):
    app, pages = opened(monkeypatch)
    assert pages.asked == [("first", 1000)]
    assert len(app._order) == 1000
    assert "the 1,000 matches fetched · there are more on Spark" in app.html
    told(app, do="page", value="7")
    told(app, do="sort", value='["b", "x"]')
    told(app, set="filter", value="a.x > 3")
    assert "sorted among these" in app.html
    assert pages.asked == [("first", 1000)]
    app.filter("")
    app.sort("match")
    told(app, do="more")
    assert pages.asked[1:] == [("first", 10_000)]
    total = ck.detect(pages.stream, PAIRS).count()
    assert len(app._order) == total > 1000
    assert f"all {total:,} matches" in app.html


def test_all_matches_are_sorted_where_they_are(monkeypatch):
    app, pages = opened(monkeypatch)
    every = KnownMatches(ck.detect(pages.stream, PAIRS))
    every.at_least(10**6)
    whole = order_of(BrowserState(wanted=10**6, sort=("b", "x"), descending=True), every)
    expected = list(values_of(every, "b", "x")[0].values[whole])
    app.sort("b.x", descending=True)
    assert values(app, ("b", "x")) != expected[:1000]
    assert "Sort all on Spark" in app.html
    told(app, do="search")
    assert pages.asked[1:] == [("searched", 1000, None, ("b", "x"), True)]
    assert values(app, ("b", "x")) == expected[:1000]
    assert "the first 1,000 of the matches on Spark · there are more" in app.html
    told(app, do="more")
    assert values(app, ("b", "x")) == expected
    assert len(set(bindings(app._known))) == len(expected)


def test_all_matches_are_filtered_where_they_are(monkeypatch):
    app, pages = opened(monkeypatch)
    condition = "a.x = 0 AND b.x >= 14"
    expected = ck.detect(pages.stream, PAIRS.replace("WITHIN", f"AND {condition} WITHIN")).count()
    app.filter(condition)
    assert 0 < len(app._order) < expected
    assert "Filter all on Spark" in app.html
    app.act("mark:3", "")
    told(app, do="search")
    assert len(app._order) == expected
    assert f"all {expected} matches on Spark that satisfy the filter" in app.html
    assert "on Spark</button>" not in app.html
    assert app.state.marked == {3}
    # Another table is one of what is here, and says so.
    app.filter("")
    assert "matches fetched · there are more on Spark" in app.html
    assert app.error is None


def test_search_by_filter_is_hidden_where_unsupported(monkeypatch):
    app, _ = opened(monkeypatch, searchable=False)
    app.filter("a.x = 0")
    assert "on Spark</button>" not in app.html


def test_events_around_are_fetched_when_they_are_asked_for(monkeypatch):
    app, pages = opened(monkeypatch)
    told(app, do="choose", value="5")
    assert "the other events around are on Spark" in app.html
    event = app._known.binding(5)["a"][0]
    told(app, do="with", value=str(event))
    row, many = app._known.row(event), len(app._order)
    told(app, do="choose", value=str(int(app._order[-1])))
    number = app.current
    told(app, do="around")
    assert "events around are" not in app.html
    assert app._known.row(app.state.event) == row
    assert len(app._order) == many
    around = app._looker.around(app._known.binding(number))
    ts = np.array(pages.stream.source["ts"].to_pylist()) * 1e6
    low, high = app._known._span(number)
    assert len(around.events) == ((ts >= low) & (ts <= high)).sum()


def test_too_many_events_around_fetch_only_the_nearest(monkeypatch):
    monkeypatch.setattr(paged, "MOST_AROUND", 5)
    app, _ = opened(monkeypatch)
    told(app, do="around")
    assert app._known.covers(app.current) is None
    assert "only the nearest" in app.html


def test_error_while_fetching_is_shown_as_text(monkeypatch):
    app, pages = opened(monkeypatch)

    def fail(_):
        raise ck.CepkitError("the cluster is gone")

    monkeypatch.setattr(pages, "first", fail)
    told(app, do="more")
    assert "the cluster is gone" in app.html
    assert len(app._order) == 1000
    assert app.state.wanted == 1000


def test_fetching_can_be_stopped(monkeypatch):
    app, pages = opened(monkeypatch)

    def wait(_):
        while True:
            pass

    monkeypatch.setattr(pages, "first", wait)
    app._asked(app, {"do": "more", "n": 1}, [])
    assert "fetching 10,000 matches …" in app.html
    app._asked(app, {"do": "around", "n": 2}, [])
    assert "matches are being fetched" in str(app.error)
    app._asked(app, {"do": "stop", "n": 3}, [])
    assert app.wait(300)
    assert "fetching 10,000" not in app.html
    assert app.error is None


def test_no_match_at_all(monkeypatch):
    app, _ = opened(monkeypatch, "PATTERN SEQ(A a, B b) WHERE a.x > 99 WITHIN 5 seconds")
    assert "all 0 matches" in app.html
    assert app.selected.empty


def test_marked_matches_are_a_table(monkeypatch):
    app, _ = opened(monkeypatch)
    app.select(3)
    assert isinstance(app.selected, pd.DataFrame)
    assert list(app.selected["a.type"]) == ["A"]
    assert app.selected["a.note"][0].startswith("<")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("PATTERN SEQ(A a, B b) WITHIN 9 EVENTS", "WITHIN 9 EVENTS"),
        ("PATTERN SEQ(A a, B b) STRATEGY strict-contiguity", "STRATEGY strict-contiguity"),
        ("PATTERN SEQ(A a, NEXT B b) WITHIN 9 seconds", "NEXT"),
    ],
)
def test_conditions_that_count_events_show_counted_on_spark(monkeypatch, pattern, text):
    app, _ = opened(monkeypatch, pattern)
    said = {c.text: c.values for c in app._looker.conditions(app._known.binding(0))}
    assert [values for name, values in said.items() if text in name] == ["counted on Spark"]
