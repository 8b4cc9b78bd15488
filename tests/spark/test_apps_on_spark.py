"""The apps over a Spark DataFrame: a sample here, a run there."""

from __future__ import annotations

import cepkit as ck
from cepkit_widgets import MatchBrowser, PatternEditor, StrategyComparison

PAIRS = "PATTERN SEQ(A a, B b) WITHIN 2 seconds"


def stream_of(spark):
    """Eight events of types A and B."""
    frame = spark.range(0, 8, 1, 2).selectExpr("id AS ts", "if(id % 2 = 0, 'A', 'B') AS type")
    return ck.events(frame, time="ts", type="type", unit="s")


def test_the_editor_runs_on_spark(spark):
    app = PatternEditor(stream_of(spark), PAIRS)
    assert app.wait(60)
    assert app.error is None, app.error
    assert app.trial.count == 4
    assert app.run() == 4
    assert app.matches.count() == 4
    html = MatchBrowser(app.matches).html
    assert "stay there" in html
    assert "MatchBrowser(ck.detect(stream.head(100_000), pattern))" in html


def test_strategies_are_compared_of_the_first_events(spark):
    app = StrategyComparison(stream_of(spark), PAIRS, events=6)
    assert app.error is None, app.error
    assert list(app.counts.matches[:3]) == [3, 3, 3]
