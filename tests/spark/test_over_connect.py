"""Spark Connect: calls that differ from those of a classic session (`make connect-test`)."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.errors import StreamError, UnsupportedError
from cepkit.spark.fetching import LIMIT
from tests.spark.live import identities, in_batch, make_events

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not os.environ.get("SPARK_REMOTE"), reason="make connect-test runs these"),
]

TABLE = make_events(3_000, keys=30, disorder=0)
TEXT = "PATTERN SEQ(A a, B b, C c) WHERE a.key = b.key AND b.key = c.key WITHIN 2 seconds"
QUERY = ck.parse(TEXT)
PLAN = ck.choose_plan(QUERY, ck.profile(ck.events(TABLE, time="ts", type="type"), QUERY))


@pytest.fixture
def stream(spark):
    return ck.events(spark.createDataFrame(TABLE).repartition(3), time="ts", type="type")


def test_matches_are_those_of_a_local_stream_and_bring_their_counters(stream, tmp_path):
    matches = ck.detect(stream, QUERY, PLAN)
    expected = in_batch(TABLE, TEXT)
    assert identities(matches.toArrow()) == expected
    assert matches._reports.complete
    assert matches.explain().steps[-1].survivors == len(expected)
    again = ck.detect(stream, QUERY, PLAN)
    again.write.parquet(str(tmp_path / "matches"))
    assert again._reports.complete, "what was written brought them too"
    assert again.count() == len(expected)
    assert again.columns == ["a", "b", "c", "match_start", "match_end"]


def test_reports_stay_incomplete_after_some_rows_are_shown(stream):
    matches = ck.detect(stream, QUERY, PLAN, spark=ck.SparkOptions(slice_seconds=1))
    matches.show(1)
    assert not matches._reports.complete
    assert matches.count() == len(in_batch(TABLE, TEXT))


def test_results_are_data_frames_of_the_session_with_cepkits_class(stream, spark):
    matches = ck.detect(stream, QUERY, PLAN)
    assert isinstance(matches, type(spark.range(1)))
    assert (type(matches).__name__, type(matches).__module__) == (
        "SparkMatches",
        "cepkit.spark.matches.result",
    )
    derived = matches.select("a.id", "b.id")
    assert type(derived) is type(spark.range(1))
    assert derived.count() == matches.count()
    assert matches.to_pandas()["a.id"].nunique() == matches.select("a.id").distinct().count()


def test_small_stream_is_fetched_and_derived_frames_use_workers(spark, stream):
    spark.conf.set(LIMIT, str(2**26))
    try:
        matches = ck.detect(stream, TEXT)
        assert "searched in this process" in matches.route
        expected = in_batch(TABLE, TEXT)
        assert identities(matches.toArrow()) == expected
        assert len(matches.take(2)) == 2
        assert matches.select("a.id").count() == len(expected)
    finally:
        spark.conf.set(LIMIT, "0")


def test_totals_are_joined_where_no_task_has_events(stream):
    asked = f"{TEXT} AGG COUNT, MAX(c.price)"
    local = ck.aggregate(ck.events(TABLE, time="ts", type="type"), asked, emit="total")
    assert ck.aggregate(stream, asked, emit="total").toPandas().equals(local.to_pandas())
    none = ck.events(stream.source.where("id < 0"), time="ts", type="type")
    assert ck.aggregate(none, asked, emit="total").collect()[0][0] == 0


def test_statistics_are_those_of_a_local_stream(stream):
    here = ck.profile(ck.events(TABLE, time="ts", type="type"), QUERY)
    there = ck.profile(stream, QUERY)
    assert there.events == here.events
    assert there.rates == here.rates


def test_rows_of_a_shuffle_are_numbered_once(spark):
    frame = spark.createDataFrame(TABLE).repartition(4).orderBy("id")
    text = "PATTERN SEQ(A a, NOT(B b), C c) WITHIN 8 EVENTS PARTITION BY key"
    found = ck.detect(ck.events(frame, time="ts", type="type"), text).toArrow()
    assert identities(found) == in_batch(TABLE, text)


def test_rows_that_are_no_events_are_warned_of_and_errors_are_plain(spark):
    table = pa.table({"t": ["2024-01-01", None, "2024-01-02"], "kind": ["A", "A", "B"]})
    stream = ck.events(spark.createDataFrame(table), time="t", type="kind")
    with pytest.warns(UserWarning, match="1 without a time"):
        ck.detect(stream, "PATTERN SEQ(A a, B b) WITHIN 3 days", ["a", "b"]).toArrow()
    wrong = pa.table({"t": ["2024-01-01", "x"], "kind": ["A", "B"]})
    stream = ck.events(spark.createDataFrame(wrong), time="t", type="kind")
    with pytest.raises(StreamError, match="holds 'x'") as error:
        ck.detect(stream, "PATTERN SEQ(A a, B b) WITHIN 3 days", ["a", "b"]).toArrow()
    assert "SQLSTATE" not in str(error.value)


def test_streams_are_refused_by_name(spark):
    live = spark.readStream.format("rate").load()
    live = ck.events(live, time="timestamp", type="value", lateness="1 second")
    with pytest.raises(UnsupportedError, match="streams over Spark Connect"):
        ck.detect(live, 'PATTERN SEQ("1" a, "2" b) WITHIN 1 s')
