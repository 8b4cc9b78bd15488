"""RETURN on Spark: the same rows as locally, whichever way the events take."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cepkit as ck
from cepkit.errors import PatternError, UnsupportedError
from tests.spark.live import Live, make_events, sealed, times

TEXT = """
PATTERN SEQ(A a, KL(B b){1,2}, OPT(C c))
WITHIN 30 milliseconds
PARTITION BY key
RETURN a.id, b[2].price, b[last-1].type AS before,
  count(b) AS n, max(b.price) AS top, c.ts - a.ts AS took, b.id AS ids, c.type,
  min(b.ts) AS began, concat(c.type, '!') AS word
"""
PLAIN = """
PATTERN SEQ(A a, B b)
WITHIN 100 milliseconds
PARTITION BY key
RETURN b.id AS n, b.ts - a.ts AS took
"""


def in_any_order(table: pa.Table) -> list[str]:
    names = sorted(table.column_names)
    return sorted(str([row[name] for name in names]) for row in table.to_pylist())


@pytest.mark.parametrize("route", ["workers", "driver"])
def test_return_gives_the_columns_and_rows_of_local_matches(spark, route):
    table = make_events(2_000)
    expected = ck.detect(ck.events(table, time="ts", type="type"), TEXT)
    frame = spark.createDataFrame(table).repartition(2)
    matches = ck.detect(
        ck.events(frame, time="ts", type="type"), TEXT, spark=ck.SparkOptions(route=route)
    )
    got = matches.toArrow()
    assert len(got) == expected.count() > 50
    assert got.column_names == expected.schema.names
    assert in_any_order(got) == in_any_order(expected.to_arrow())
    assert list(matches.to_pandas()) == got.column_names
    if route == "workers":
        with pytest.raises(
            UnsupportedError, match="a timeline of matches that have only the columns"
        ):
            matches.timeline()


def test_several_patterns_on_spark_return_their_columns(spark):
    table = make_events(2_000)
    queries = {"sets": TEXT, "pairs": PLAIN}
    expected = ck.detect(ck.events(table, time="ts", type="type"), queries).together.to_arrow()
    frame = spark.createDataFrame(table)
    stream = ck.events(frame, time="ts", type="type")
    got = ck.detect(stream, queries, spark=ck.SparkOptions(slice_seconds=2)).together.toArrow()
    assert in_any_order(got) == in_any_order(expected)
    other = PLAIN.replace("b.id AS n", "b.price AS n")
    with pytest.raises(PatternError, match="'n' has the type"):
        _ = ck.detect(stream, [TEXT, other], spark=ck.SparkOptions(slice_seconds=2)).together


def test_stream_returns_columns_of_matches_and_null_of_timed_out_ones(spark, tmp_path):
    live = Live(spark, tmp_path)
    table = make_events(2_000)
    live.put(table, 1_000)
    live.run(
        ck.detect(
            live.events(lateness="3 seconds"),
            PLAIN,
            spark=ck.SparkOptions(timeouts=True, buckets=2),
        )
    )
    got = live.result()
    told = got.filter(pc.equal(got["kind"], "match"))
    whole = ck.detect(ck.events(table, time="ts", type="type"), PLAIN).to_arrow()
    whole = whole.filter(pa.array(times(whole, "match_end") < sealed(table, 3)))
    assert in_any_order(told.select(whole.column_names)) == in_any_order(whole)
    waiting = got.filter(pc.equal(got["kind"], "timed-out"))
    assert len(waiting) > 10
    assert waiting["n"].null_count == waiting["took"].null_count == len(waiting)


SKIPPING = "PATTERN SEQ(A a, KL(B b){1,2}, C c) WITHIN 300 milliseconds"


@pytest.mark.parametrize("partition", ["PARTITION BY key", ""])
def test_spark_leaves_out_the_same_matches(spark, partition):
    table = make_events(1_500, keys=5, disorder=0)
    skip = f"{SKIPPING} {partition} AFTER MATCH SKIP PAST LAST EVENT"
    text = f"{skip} RETURN a.id, b.id AS ids, c.id AS last"
    expected = ck.detect(ck.events(table, time="ts", type="type"), text).to_arrow()
    frame = spark.createDataFrame(table).repartition(3)
    stream = ck.events(frame, time="ts", type="type", arrival="id")
    matches = ck.detect(stream, text, spark=ck.SparkOptions(route="workers"))
    assert in_any_order(matches.toArrow()) == in_any_order(expected)
    assert matches.count() == len(expected) > 20
    total = ck.aggregate(stream, f"{skip} AGG COUNT", emit="total").toPandas()
    assert total.iloc[0, 0] == len(expected)


@pytest.mark.parametrize(
    ("partition", "skip"), [("PARTITION BY key", "PAST LAST EVENT"), ("", "TO LAST b")]
)
def test_a_stream_leaves_out_the_same_matches(spark, tmp_path, partition, skip):
    table = make_events(3_000, keys=5)
    text = f"{SKIPPING} {partition} AFTER MATCH SKIP {skip} RETURN a.id, b.id AS ids, c.id AS last"
    live = Live(spark, tmp_path)
    live.put(table, 1_000)
    live.run(ck.detect(live.events(lateness="3 seconds"), text))
    whole = ck.detect(ck.events(table, time="ts", type="type"), text).to_arrow()
    # The window of their first event has ended.
    whole = whole.filter(pa.array(times(whole, "match_start") <= sealed(table, 3, 0.3)))
    assert len(whole) > 20
    assert in_any_order(live.result()) == in_any_order(whole)


@pytest.mark.parametrize(
    ("pattern", "options", "found"),
    [
        ("SEQ(A a, B b) WITHIN 9 EVENTS", {}, "counts events and has no window in time"),
        ("SEQ(A a, B b) WITHIN 1 s", {"timeouts": True}, "timeouts with AFTER MATCH SKIP"),
        ("SEQ(A a, B b) WITHIN 1 s", {"slice_seconds": 1}, "slices of time .* AFTER MATCH SKIP"),
    ],
)
def test_after_match_skip_on_a_stream_refuses_unsupported_options(
    spark, tmp_path, pattern, options, found
):
    live = Live(spark, tmp_path)
    live.put(make_events(100))
    text = f"PATTERN {pattern} AFTER MATCH SKIP TO NEXT"
    with pytest.raises(UnsupportedError, match=found):
        ck.detect(live.events(lateness="3 seconds"), text, spark=ck.SparkOptions(**options))
