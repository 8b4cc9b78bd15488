"""Aggregation over Spark gives the local rows, however the stream lies and is cut."""

from __future__ import annotations

import math
import random
import warnings
from collections import Counter
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import LimitError, PatternError, UnsupportedError
from cepkit.routes import of_values
from cepkit.routes.functions import functions_of
from cepkit.routes.ways import EMITS
from cepkit.spark.aggregates.aggregate import aggregate
from cepkit.spark.aggregates.of_values import aggregate_frame
from cepkit.stream.stream import events
from tests.aggregates import plain, rows_in
from tests.properties.test_aggregation import ANYTHING, SEQUENCES, expected
from tests.strategies import FEW, as_table


def found(spark, case, data, method) -> tuple[str, Counter[tuple[Any, ...]]]:
    """Return the rows of the result, and those of the judge."""
    emit = data.draw(st.sampled_from(EMITS))
    seconds = data.draw(st.sampled_from([None, 0.7, 4, 13, 1000]))
    frame = spark.createDataFrame(as_table(case.events))
    if not any(word in str(case.query) for word in ("EVENTS", "contiguity", "next", "AND", "KL")):
        frame = frame.repartition(data.draw(st.sampled_from([1, 2, 3])))
    asked = functions_of(case.query, {})
    stream = events(frame, time="ts", type="kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows that are no events
        (result,) = aggregate(
            stream, {"": case.query}, [asked], method, emit, slice_seconds=seconds
        )
        return emit, rows_in(result.toArrow(), case.query)


@FEW
@given(data=st.data())
def test_sequences_have_the_judges_aggregates_in_any_slices(spark, data):
    case = data.draw(SEQUENCES)
    method = data.draw(st.sampled_from(["a-seq", "a-seq", "detect"]))
    emit, rows = found(spark, case, data, method)
    assert rows == expected(case, emit)


@FEW
@given(data=st.data())
def test_auto_aggregates_the_judges_matches_of_any_pattern(spark, data):
    case = data.draw(ANYTHING)
    emit, rows = found(spark, case, data, "auto")
    assert rows == expected(case, emit)


def clicks(n: int = 4000) -> pd.DataFrame:
    """Return a stream with ties, groups and values that are missing."""
    chance = random.Random(1)
    return pd.DataFrame(
        {
            "ts": pd.to_datetime([1_700_000_000 + i // 3 for i in range(n)], unit="s", utc=True),
            "kind": chance.choices("ABCD", k=n),
            "user": [None if i % 17 == 0 else f"u{chance.randrange(9)}" for i in range(n)],
            "x": [None if i % 31 == 0 else float(i % 17) for i in range(n)],
            "word": [f"w{i % 23}" for i in range(n)],
            "n": list(range(n)),
        }
    )


EVERYTHING = (
    "COUNT, SUM(b.n), AVG(b.x), STDDEV(b.n), VARIANCE(b.x), MIN(b.word), MAX(a.ts), COUNT(b.x)"
)


def rows_of(frame: pd.DataFrame) -> Counter[tuple[Any, ...]]:
    rows = frame.astype(object).itertuples(index=False)
    return Counter(tuple(None if pd.isna(v) else plain(v) for v in row) for row in rows)


def both(spark, frame, pattern, *, emit, options=None) -> tuple[Any, Any]:
    roles = {"time": "ts", "type": "kind"}
    local = ck.aggregate(ck.events(frame, **roles), pattern, emit=emit)
    there = ck.events(spark.createDataFrame(frame), **roles)
    on_spark = ck.aggregate(there, pattern, emit=emit, spark=options)
    return local.to_pandas(), on_spark


@pytest.mark.parametrize(
    ("clauses", "route", "emit"),
    [
        *(("WITHIN 50 s EXCLUSIVE GROUP BY user", "time slices of 60 s", emit) for emit in EMITS),
        ("WITHIN 20 s", "time slices of 60 s", "trigger"),
        ("WITHIN 20 s", "time slices of 60 s", "total"),
        ("GROUP BY user", "one slice: there is no window", "changes"),
    ],
)
def test_all_emits_and_types_are_those_of_a_local_stream(spark, emit, clauses, route):
    slices = ck.SparkOptions(slice_seconds=60 if "WITHIN" in clauses else None)
    within, _, group = clauses.partition("GROUP BY")
    group = f" GROUP BY{group}" if group else ""
    pattern = f"PATTERN SEQ(A a, NOT(C z), B b, D d) {within} AGG {EVERYTHING}{group}"
    local, on_spark = both(spark, clicks(600), pattern, emit=emit, options=slices)
    assert route in on_spark.route
    assert list(on_spark.columns) == list(local.columns)
    moments = [name for name in ("ts", "max(a.ts)") if name in local]
    there = on_spark.toPandas()
    for name in moments:
        local[name] = local[name].dt.tz_localize(None)
        there[name] = there[name].dt.tz_localize(None)
    assert rows_of(there) == rows_of(local)
    assert len(local) > 0


@pytest.mark.parametrize("emit", ["changes", "total"])
def test_thresholds_keep_the_same_rows_in_tasks(spark, emit):
    text = "PATTERN SEQ(A a, B b, D d) WITHIN 20 s AGG COUNT, AVG(b.x) GROUP BY user"
    pattern = f"{text} HAVING COUNT > 1 AND AVG(b.x) <= 9"
    local, on_spark = both(
        spark, clicks(900), pattern, emit=emit, options=ck.SparkOptions(slice_seconds=60)
    )
    moments = ["ts"] if "ts" in local else []
    there = on_spark.toPandas()
    for name in moments:
        local[name] = local[name].dt.tz_localize(None)
    assert rows_of(there) == rows_of(local)
    assert (there["count"] > 1).all()
    every = both(spark, clicks(900), text, emit=emit, options=ck.SparkOptions(slice_seconds=60))[0]
    assert 0 < len(local) < len(every) or emit == "new"


@pytest.mark.parametrize(
    ("structure", "matches", "emit"), [("SEQ", 7, "new"), ("AND", 15, "new"), ("SEQ", 7, "total")]
)
def test_a_set_that_ends_in_a_later_slice_is_new_there(spark, structure, matches, emit):
    a, b = (0, 3, 11, 12, 15, 18, 21, 24, 25), (1, 3, 4, 7, 13, 16, 19, 22, 28, 29)
    rows = sorted([*((second, "A") for second in a), *((second, "B") for second in b)])
    frame = pd.DataFrame(rows, columns=["ts", "kind"]).astype({"ts": "datetime64[s]"})
    pattern = f"PATTERN {structure}(A p, KL(B q)) WITHIN 2 s AGG COUNT"
    for seconds in (2, 13):
        local, on_spark = both(
            spark, frame, pattern, emit=emit, options=ck.SparkOptions(slice_seconds=seconds)
        )
        there = on_spark.toPandas()
        assert rows_of(there) == rows_of(local)
        assert there["count" if emit == "total" else "new_matches"].sum() == matches


def test_keys_and_groups_are_dealt_out_by_bucket(spark, monkeypatch):
    monkeypatch.setattr("cepkit.spark.cells.layout.LEAST_EVENTS", 100)
    pattern = "PATTERN SEQ(A a, B b) WHERE a.user = b.user WITHIN 9 s AGG COUNT, SUM(a.x)"
    for emit in ("new", "total"):
        local, on_spark = both(spark, clicks(2000), pattern, emit=emit)
        assert "buckets of user" in on_spark.route
        if emit == "total":
            assert rows_of(on_spark.toPandas()) == rows_of(local)
        else:
            assert on_spark.count() == len(local)
    local, on_spark = both(spark, clicks(2000), pattern, emit="trigger")
    assert "buckets" not in on_spark.route  # all keys together are asked about


def test_files_are_read_by_the_tasks(spark, tmp_path):
    frame = clicks(3000)
    path = tmp_path / "clicks.parquet"
    pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=200, coerce_timestamps="us")
    pattern = "PATTERN SEQ(A a, B b) WITHIN 9 s AGG COUNT, MIN(a.x)"
    stream = ck.events(spark.read.parquet(str(path)), time="ts", type="kind")
    local = ck.aggregate(ck.events(frame, time="ts", type="kind"), pattern)
    for emit in ("trigger", "total"):
        local = ck.aggregate(ck.events(frame, time="ts", type="kind"), pattern, emit=emit)
        on_spark = ck.aggregate(
            stream, pattern, emit=emit, spark=ck.SparkOptions(slice_seconds=100)
        )
        assert "read by the tasks" in on_spark.route
        there = on_spark.toPandas().drop(columns="ts", errors="ignore")
        assert rows_of(there) == rows_of(local.to_pandas().drop(columns="ts", errors="ignore"))
    # Expiries come after the last event as well.
    assert (
        "rows"
        in ck.aggregate(
            stream, pattern, emit="changes", spark=ck.SparkOptions(slice_seconds=100)
        ).route
    )


def test_aggregate_runs_few_jobs(spark):
    stream = ck.events(spark.createDataFrame(clicks(600)), time="ts", type="kind")
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("aggregation", "counted")
    try:
        for emit in ("trigger", "total"):
            before = len(tracker.getJobIdsForGroup("aggregation"))
            pattern = "PATTERN SEQ(A a, B b) WITHIN 9 s AGG COUNT GROUP BY user"
            ck.aggregate(
                stream, pattern, emit=emit, spark=ck.SparkOptions(slice_seconds=60)
            ).collect()
            # Adaptive execution runs each shuffle as a job of its own.
            assert len(tracker.getJobIdsForGroup("aggregation")) - before <= 3
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


class Untyped:
    """A function that does not declare its type."""

    reads = (("b", "n"),)
    zero = 0
    one = 1

    def plus(self, x, y):
        return x + y

    def times(self, x, y):
        return x * y

    def lift(self, _, value):
        return value

    def result(self, x):
        return x


class Typed(Untyped):
    arrow_type = pa.int64()


def test_user_defined_aggregates_run_in_workers(spark):
    pattern = "PATTERN SEQ(A a, B b) WITHIN 9 s"
    frame = clicks(300)
    stream = ck.events(spark.createDataFrame(frame), time="ts", type="kind")
    local = ck.aggregate(
        ck.events(frame, time="ts", type="kind"), pattern, emit="total", functions={"f": Typed()}
    )
    on_spark = ck.aggregate(stream, pattern, emit="total", functions={"f": Typed()})
    assert [row.f for row in on_spark.collect()] == local.to_pandas()["f"].to_list()
    with pytest.raises(UnsupportedError, match="has no type"):
        ck.aggregate(stream, pattern, functions={"f": Untyped()})


def test_integers_beyond_64_bits_are_refused_by_name(spark):
    frame = pd.DataFrame(
        {"ts": [i // 300 for i in range(2400)], "kind": ["ABCDEFGH"[i // 300] for i in range(2400)]}
    )
    stream = ck.events(spark.createDataFrame(frame), time="ts", type="kind", unit="s")
    pattern = f"PATTERN SEQ({', '.join(f'{c} {c.lower()}' for c in 'ABCDEFGH')}) AGG COUNT"
    with pytest.raises(LimitError, match="'count' has an integer of 20 digits"):
        ck.aggregate(stream, pattern, emit="total").collect()


VALUES = (
    "PATTERN SEQ(A a, KL(B b){1,2}) WITHIN 9 s AGG COUNT, COUNT(a), AVG(max(b.ts) - a.ts),"
    " STDDEV(a.x), MEDIAN(last(b.ts) - a.ts), P95(a.x + sum(b.x)), COUNT(DISTINCT a.word),"
    " MAX(a.word), SUM(a.n * 2), MIN(a.ts), MEDIAN(a.n), AVG(a.nothing), VARIANCE(count(b)),"
    " MEDIAN(a.day), SUM(a.day + a.day)"
)


@pytest.mark.parametrize("route", ["driver", "workers"])
@pytest.mark.parametrize("more", ["", " GROUP BY k", " GROUP BY f HAVING P95(a.x + sum(b.x)) > 1"])
def test_aggregates_of_values_of_matches_are_those_of_a_local_stream(spark, route, more):
    random_ = random.Random(3)
    frame = pd.DataFrame(
        {
            "ts": pd.to_datetime([i * 1.7 for i in range(160)], unit="s"),
            "kind": random_.choices("AB", k=160),
            "k": random_.choices("uv", k=160),
            "f": random_.choices([1.5, -0.0, 0.0, None], k=160),
            "x": random_.choices([0.5, None, -2.25, 7.125], k=160),
            "n": random_.choices([1, 2**40, -3], k=160),
            "word": random_.choices(["a", None, "é", "b"], k=160),
            "day": pd.to_timedelta(random_.choices([1, -100_000, 7], k=160), unit="s"),
            "nothing": [math.nan] * 160,
        }
    )
    text = VALUES + more
    stream = ck.events(spark.createDataFrame(frame), time="ts", type="kind")
    options = ck.SparkOptions(route=route)
    local = ck.aggregate(ck.events(frame, time="ts", type="kind"), text, emit="total")
    # As `aggregate` does, with a route of its own.
    query = ck.parse(text)
    rows = of_values.returned(query, stream.schema)
    matches = ck.detect(stream, rows.query, spark=options)
    assert (matches.here is None) == (route == "workers")
    result = aggregate_frame(matches, rows, query)
    for found in (result.toArrow(), result.select("*").toArrow()):
        assert rows_in(found, query) == rows_in(local.to_arrow(), query)
    assert result.count() == len(local) > 0


def test_sum_of_values_beyond_64_bits_is_refused(spark):
    frame = pd.DataFrame({"ts": range(4), "kind": [*"AABB"], "n": [2**62] * 4})
    stream = ck.events(spark.createDataFrame(frame), time="ts", type="kind", unit="s")
    result = ck.aggregate(stream, "PATTERN SEQ(A a, B b) AGG SUM(b.n - 1 + 1)", emit="total")
    for rows in (result, result.select("*")):
        with pytest.raises(Exception, match="64 bits"):
            rows.collect()


def test_aggregates_of_values_over_a_streaming_frame_are_refused_by_name(spark, tmp_path):
    spark.createDataFrame(clicks(9)).write.parquet(str(tmp_path / "in"))
    frame = spark.readStream.schema(spark.read.parquet(str(tmp_path / "in")).schema)
    stream = ck.events(frame.parquet(str(tmp_path / "in")), time="ts", type="kind", lateness="5 s")
    with pytest.raises(UnsupportedError, match="no end") as caught:
        ck.aggregate(stream, "PATTERN SEQ(A a, B b) WITHIN 9 s AGG MEDIAN(b.ts - a.ts)")
    assert "RETURN b.ts - a.ts AS value" in str(caught.value)


def test_wrong_aggregates_and_methods_are_refused_before_any_job(spark):
    stream = ck.events(spark.createDataFrame(clicks(30)), time="ts", type="kind")
    with pytest.raises(PatternError, match=r"SUM\(a.word\), which is a text"):
        ck.aggregate(stream, "PATTERN SEQ(A a, B b) WITHIN 9 s AGG SUM(a.word)")
    with pytest.raises(UnsupportedError, match="compares events of a match"):
        ck.aggregate(
            stream, "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 s AGG COUNT", method="a-seq"
        )


@pytest.mark.parametrize("emit", ["trigger", "changes"])
@pytest.mark.parametrize(
    ("group", "route"),
    [
        ("", "one slice: what is live depends on all events before, 1 task"),
        (" GROUP BY user", "buckets of user"),
    ],
)
def test_a_window_in_events_sees_those_of_every_type(spark, monkeypatch, emit, group, route):
    monkeypatch.setattr("cepkit.spark.cells.layout.LEAST_EVENTS", 100)
    pattern = f"PATTERN SEQ(A a, B b) WITHIN 7 EVENTS AGG COUNT, MIN(b.n){group}"
    local, on_spark = both(spark, clicks(900), pattern, emit=emit)
    there = on_spark.toPandas()
    assert route in on_spark.route
    assert rows_of(there.drop(columns="ts")) == rows_of(local.drop(columns="ts"))
    assert sorted(there["ts"].dt.tz_localize(None)) == sorted(local["ts"].dt.tz_localize(None))


def test_stream_without_events_has_a_count_of_zero(spark):
    stream = ck.events(spark.createDataFrame(clicks(30)).where("n < 0"), time="ts", type="kind")
    pattern = "PATTERN SEQ(A a, B b) WITHIN 9 s AGG COUNT, SUM(a.x)"
    assert [tuple(row) for row in ck.aggregate(stream, pattern, emit="total").collect()] == [
        (0, None)
    ]
    assert ck.aggregate(stream, pattern).collect() == []
    grouped = ck.aggregate(stream, pattern + " GROUP BY user", emit="total")
    assert grouped.collect() == []


def test_result_shows_its_method_and_route_above_the_rows(spark):
    frame = clicks(30)
    frame.loc[3, "kind"] = None
    stream = ck.events(spark.createDataFrame(frame), time="ts", type="kind")
    with pytest.warns(UserWarning, match=r"1 without a type \(PATTERN SEQ\(A a, B b\)"):
        result = ck.aggregate(stream, "PATTERN SEQ(A a, B b) WITHIN 9 s AGG COUNT")
    assert "Aggregates by a-seq (each cell" in repr(result)
    assert "rows through Spark" in result._repr_html_()
    assert result.count() == len(result.toArrow())


def test_figure_of_aggregates_equals_the_local_one(spark, monkeypatch):
    frame = pd.DataFrame({"ts": range(40), "type": list("ABAB") * 10, "g": list("xxyy") * 10})
    query = "PATTERN SEQ(A a, B b) WITHIN 3 s AGG COUNT GROUP BY g"
    here = events(frame, time="ts", type="type", unit="s")
    there = events(spark.createDataFrame(frame), time="ts", type="type", unit="s")
    for emit in ("total", "trigger"):
        drawn, alike = (ck.draw(ck.aggregate(each, query, emit=emit)) for each in (there, here))
        assert [list(trace.y) for trace in drawn.data] == [list(trace.y) for trace in alike.data]
        assert [list(trace.x) for trace in drawn.data] == [list(trace.x) for trace in alike.data]
    monkeypatch.setattr("cepkit.figures.charts.aggregates._MOST_ROWS", 5)
    with pytest.raises(LimitError, match="too many rows"):
        ck.draw(ck.aggregate(there, query))
