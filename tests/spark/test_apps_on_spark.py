"""The apps over a Spark DataFrame: a sample here, a run there that can be stopped."""

from __future__ import annotations

import time

import cepkit as ck
from cepkit_widgets import MatchBrowser, PatternEditor, StrategyComparison

PAIRS = "PATTERN SEQ(A a, B b) WITHIN 2 seconds"


def stream_of(spark, flag=None):
    """Eight events of types A and B; while the flag is there they take for ever to read."""

    def events(batches):
        for batch in batches:
            while flag is not None and flag.exists():
                time.sleep(0.1)
            yield batch

    rows = spark.range(0, 8, 1, 2).selectExpr("id AS ts", "if(id % 2 = 0, 'A', 'B') AS type")
    frame = rows.mapInArrow(events, "ts long, type string")
    return ck.events(frame, time="ts", type="type", unit="s")


def test_it_runs_on_spark_and_is_stopped(spark, tmp_path):
    flag = tmp_path / "wait"
    app = PatternEditor(stream_of(spark, flag), PAIRS)
    assert app.wait(60)
    assert app.error is None, app.error
    assert app.trial.count == 4
    assert app.run() == 4
    assert app.matches.count() == 4
    html = MatchBrowser(app.matches).html
    assert "stay there" in html
    assert "MatchBrowser(ck.detect(stream.head(100_000), pattern))" in html
    flag.touch()
    app._asked(app, {"do": "run", "n": 1}, [])
    running = app._running
    tracker = spark.sparkContext.statusTracker()
    deadline = time.monotonic() + 60
    while not tracker.getActiveJobsIds() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert running.share in (None, 0.0)
    app.stop()
    assert running.wait(60)
    assert isinstance(running.error, KeyboardInterrupt)
    assert not tracker.getActiveJobsIds()
    flag.unlink()
    assert spark.range(5).count() == 5


def test_strategies_are_compared_of_the_first_events(spark):
    app = StrategyComparison(stream_of(spark), PAIRS, events=6)
    assert app.error is None, app.error
    assert list(app.counts.matches[:3]) == [3, 3, 3]
