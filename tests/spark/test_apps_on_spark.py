"""The apps over a Spark DataFrame: a sample here, a run there."""

from __future__ import annotations

import time
from functools import partial

import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.pattern.parsing.parser import parse_condition
from cepkit.spark.matches.pages import MatchPages
from cepkit_widgets import MatchBrowser, PatternEditor, StrategyComparison
from cepkit_widgets.match_browser import view
from cepkit_widgets.match_browser.state import BrowserState, order_of, values_of
from cepkit_widgets.matches.known import KnownMatches
from cepkit_widgets.pattern_editor import running
from tests.spark.test_progress import result_of

PAIRS = "PATTERN SEQ(A a, B b) WITHIN 2 seconds"


def stream_of(spark):
    """Eight events of types A and B."""
    columns = ("id AS ts", "id AS n", "if(id % 2 = 0, 'A', 'B') AS type")
    frame = spark.range(0, 8, 1, 2).selectExpr(*columns)
    return ck.events(frame, time="ts", type="type", unit="s")


def test_the_editor_runs_on_spark(spark):
    app = PatternEditor(stream_of(spark), PAIRS)
    assert app.wait(300)
    assert app.error is None, app.error
    assert app.trial.count == 4
    assert app.run() == 4
    assert app.matches.count() == 4
    browser = MatchBrowser(app.matches)
    assert browser.error is None, browser.error
    assert "all 4 matches" in browser.html


def table_of(size):
    """Events of many types of columns; times are texts of a zone of their own."""
    kinds = ["AABXC"[i * 7 % 5] for i in range(size)]
    return pa.table(
        {
            "time": [f"2024-03-04 10:{i // 120:02}:{i // 2 % 60:02}" for i in range(size)],
            "the type": kinds,
            "x": [float(i * 31 % 17) if i % 11 else None for i in range(size)],
            "y": [[i % 3, None] for i in range(size)],
            "z": [i % 7 for i in range(size)],
        }
    )


RISES = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 30 seconds"
SETS = "PATTERN SEQ(A a, KL(B b){1,2}, C c) WHERE a.x < c.x WITHIN 9 seconds"
RETURNED = f"{RISES} RETURN b.z AS top"


@pytest.mark.parametrize(("pattern", "columns"), [(SETS, None), (RETURNED, ["z"])])
def test_matches_on_spark_are_fetched_a_page_at_a_time(spark, monkeypatch, pattern, columns):
    frame = spark.createDataFrame(table_of(400)).repartition(3)
    options = {"time": "time", "type": "the type", "timezone": "Asia/Tokyo", "columns": columns}
    matches = ck.detect(ck.events(frame, **options), pattern)
    assert matches.here is None
    monkeypatch.setattr(view, "BrowserState", partial(BrowserState, 50))
    app = MatchBrowser(matches)
    assert app.error is None, app.error
    assert "the 50 matches fetched · there are more on Spark" in app.html
    here = KnownMatches(ck.detect(ck.events(table_of(400), **options), pattern))
    here.at_least(10**6)
    sort = ("a", "x")
    order = order_of(BrowserState(10**6, sort, True), here)
    expected = list(values_of(here, *sort)[0].values[order])
    app.sort("a.x", descending=True)
    app.act("search", "")
    assert app.wait(300)
    assert app.error is None, app.error
    column = values_of(app._known, *sort)[0].values[app._order]
    assert list(column) == expected[:50]
    app.sort("match")
    app.filter("a.x <= 8 AND a.z <= 3")
    app.act("search", "")
    assert app.wait(300)
    assert "of the matches on Spark that satisfy the filter · there are more" in app.html
    app.act("more", "")
    assert app.wait(300)
    assert app.error is None, app.error
    wanted = order_of(BrowserState(10**6, condition="a.x <= 8 AND a.z <= 3"), here)
    assert len(app._order) == len(wanted) > 5
    assert "there are more" not in app.html
    app.act("around", "")
    assert app.wait(300)
    assert app.error is None, app.error
    assert app._known.covers(app.current)
    around = app._looker.around(app._known.binding(app.current))
    low, high = app._known._span(app.current)
    assert len(around.events) == ((here.columns.ts >= low) & (here.columns.ts <= high)).sum()
    app.filter("")
    app.act("more", "")
    assert app.wait(300)
    total = min(here.size, 500)
    assert total <= app._known.size < total + 50 + len(wanted)
    if here.size < 500:
        assert f"all {here.size:,} matches" in app.html
        assert sorted(zip(*app._known.times(), strict=True)) == sorted(
            zip(*here.times(), strict=True)
        )


def test_no_match_on_spark_is_no_error(spark):
    app = MatchBrowser(ck.detect(stream_of(spark), PAIRS.replace("WITHIN", "WHERE a.n > 9 WITHIN")))
    assert app.error is None, app.error
    assert "all 0 matches" in app.html


def test_a_small_stream_that_was_fetched_is_looked_at_here(spark):
    matches = ck.detect(stream_of(spark), PAIRS, spark=ck.SparkOptions(route="driver"))
    assert matches.here is not None
    app = MatchBrowser(matches)
    assert app.error is None, app.error
    assert "all 4 matches" in app.html
    assert "no use for are on Spark" in app.html


def test_all_matches_are_counted_where_they_are(spark):
    app = MatchBrowser(ck.detect(stream_of(spark), PAIRS))
    app.act("count", "")
    for _ in range(3000):
        if "4 matches in all" in app._total:
            break
        time.sleep(0.1)
    assert app._total == "4 matches in all"


@pytest.mark.parametrize(
    ("pattern", "condition", "can"),
    [
        (PAIRS, "a.n = 2", True),
        (PAIRS, "", True),
        (f"{PAIRS} STRATEGY skip-till-next-match", "a.n = 2", False),
        (f"{PAIRS} AFTER MATCH SKIP PAST LAST EVENT", "a.n = 2", False),
        ("PATTERN OR(SEQ(A a, B b), SEQ(A a, A c)) WITHIN 2 seconds", "a.n = 2", True),
        ("PATTERN OR(SEQ(A a, B b), SEQ(A a, A c)) WITHIN 2 seconds", "b.n = 2", False),
    ],
)
def test_a_filter_is_searched_for_where_it_means_the_same(spark, pattern, condition, can):
    pages = MatchPages(ck.detect(stream_of(spark), pattern))
    assert pages.can_search(parse_condition(condition) if condition else None) is can
    limited = MatchPages(ck.detect(stream_of(spark), pattern, limit=3))
    assert not limited.can_search(None)


def test_strategies_are_compared_of_the_first_events(spark):
    app = StrategyComparison(stream_of(spark), PAIRS, events=6)
    assert app.error is None, app.error
    assert list(app.counts.matches[:3]) == [3, 3, 3]


def test_the_stop_button_stops_the_jobs(spark, monkeypatch):
    def nap(batches):
        for batch in batches:
            time.sleep(900)  # nobody waits for its end
            yield batch

    app = PatternEditor(stream_of(spark), PAIRS)
    assert app.wait(300)
    endless = result_of(spark.range(0, 8, 1, 8).mapInArrow(nap, "id long"))
    monkeypatch.setattr(running, "detect", lambda *_: endless)
    tracker = spark.sparkContext.statusTracker()
    app.act("run", "")
    for _ in range(3000):
        if tracker.getActiveJobsIds():
            break
        time.sleep(0.1)
    assert tracker.getActiveJobsIds()
    app.act("stop", "")
    assert app._running.wait(300)
    assert not tracker.getActiveJobsIds()
    app.refresh()
    assert "stopped after" in app.html
    assert "Traceback" not in app.html
    assert app.error is None
    assert spark.range(5).count() == 5
