"""The apps over a Spark DataFrame: a sample here, a run there."""

from __future__ import annotations

import time

import pytest

import cepkit as ck
from cepkit_widgets import MatchBrowser, PatternEditor, StrategyComparison
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
    assert app.wait(60)
    assert app.error is None, app.error
    assert app.trial.count == 4
    assert app.run() == 4
    assert app.matches.count() == 4
    browser = MatchBrowser(app.matches)
    assert browser.error is None, browser.error
    assert "all 4 matches · there are more · of 8 events from 0 on" in browser.html


@pytest.mark.parametrize("route", ["driver", "workers"])
def test_matches_on_spark_are_looked_at_in_the_piece_where_the_first_are(spark, route):
    stream = stream_of(spark)
    matches = ck.detect(stream, f"{PAIRS.replace('WITHIN', 'WHERE a.n >= 4 WITHIN')}", route=route)
    app = MatchBrowser(matches)
    assert app.error is None, app.error
    assert "of 4 events from 4 on; the others stay on Spark" in app.html
    assert len(app.selected) == 1
    app.select(1)
    assert app.selected["b.ts"].tolist() == [7]
    app.act("count", "")
    for _ in range(600):
        if "2 matches in all" in app.html:
            break
        time.sleep(0.1)
    assert "2 matches in all" in app.html


def test_a_piece_begins_with_the_stream_where_all_events_matter(spark):
    matches = ck.detect(stream_of(spark), f"{PAIRS} STRATEGY skip-till-next-match")
    assert matches.piece(4)[1] == "4 events"
    assert matches.piece(4)[0].count() == 2


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
    assert app.wait(60)
    endless = result_of(spark.range(0, 8, 1, 8).mapInArrow(nap, "id long"))
    monkeypatch.setattr(running, "detect", lambda *_: endless)
    tracker = spark.sparkContext.statusTracker()
    app.act("run", "")
    for _ in range(600):
        if tracker.getActiveJobsIds():
            break
        time.sleep(0.1)
    assert tracker.getActiveJobsIds()
    app.act("stop", "")
    assert app._running.wait(60)
    assert not tracker.getActiveJobsIds()
    app.refresh()
    assert "stopped after" in app.html
    assert "Traceback" not in app.html
    assert app.error is None
    assert spark.range(5).count() == 5
