"""The result on Spark: a lazy DataFrame that counts as it goes, and clear words when it fails."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from benchmarks.streams import zipf_events
from cepkit.columnar.results.explanation import Explanation
from cepkit.columnar.results.matches import Matches
from cepkit.errors import LimitError, PatternError, StreamError, UnsupportedError
from cepkit.pattern.evaluation.functions.registered import register_function
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.nodes import OrderPlan, Plan
from cepkit.spark.matches.detect import detect
from cepkit.statistics.measuring.estimate import estimate
from cepkit.stream.columns import Dropped
from cepkit.stream.stream import events
from cepkit.stream.warnings import StreamWarning
from tests.spark.test_batch_matches import plan_of

QUERY = parse("PATTERN SEQ(T01 a, T02 b, T10 c) WHERE a.price < b.price < c.price WITHIN 1 s")
TABLE = zipf_events(5_000, types=20)


@pytest.fixture
def stream(spark):
    return events(spark.createDataFrame(TABLE).repartition(3), time="ts", type="type")


@pytest.fixture(scope="module")
def expected() -> int:
    return Matches(events(TABLE, time="ts", type="type"), QUERY, plan_of(QUERY)).count()


def jobs_of(spark, action):
    """Return the result of an action and the number of jobs that it started."""
    context = spark.sparkContext
    context.setJobGroup("counted", "")
    before = len(context.statusTracker().getJobIdsForGroup("counted"))
    try:
        result = action()
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    return result, len(context.statusTracker().getJobIdsForGroup("counted")) - before


def test_matches_work_as_a_data_frame(stream, expected, tmp_path):
    matches = detect(stream, QUERY, plan_of(QUERY))
    assert isinstance(matches, DataFrame)
    assert matches.columns == ["a", "b", "c", "match_start", "match_end"]
    matches.write.parquet(str(tmp_path / "m.parquet"))
    written = matches.sparkSession.read.parquet(str(tmp_path / "m.parquet"))
    assert matches.count() == written.count() == expected > 0
    with pytest.raises(UnsupportedError, match="a loop over rows that are in Spark"):
        list(matches)
    assert written.schema == matches.schema
    assert written.exceptAll(matches.toDF(*matches.columns)).count() == 0
    frame = matches.toPandas()
    assert len(frame) == expected
    assert (frame["match_start"] == frame["a"].map(lambda event: event["ts"])).all()
    assert (frame["match_end"] == frame["c"].map(lambda event: event["ts"])).all()
    prices = matches.select("a.price", "c.key")
    assert prices.where("price > 50").count() == sum(a["price"] > 50 for a in frame["a"])
    joined = prices.join(prices.groupBy("key").count(), "key")
    assert joined.count() == expected
    assert matches.toArrow().num_rows == expected


def test_a_cached_result_is_detected_once(spark, stream, expected):
    matches = detect(stream, QUERY, plan_of(QUERY)).cache()
    try:
        assert matches.count() == expected
        assert matches.where("a.price < 200").count() == expected
        assert isinstance(matches.explain(), Explanation)
    finally:
        matches.unpersist()


def test_nothing_runs_before_an_action(spark, stream):
    matches, jobs = jobs_of(spark, lambda: detect(stream, QUERY, plan_of(QUERY), slice_seconds=9))
    assert jobs == 0
    assert "T01" not in repr(matches)
    assert jobs_of(spark, lambda: repr(matches) + matches._repr_html_())[1] == 0
    statistics = estimate(events(TABLE, time="ts", type="type").columns(["price"]), QUERY)
    plan = Plan((OrderPlan(("c", "b", "a")),), "by hand", statistics=statistics)
    assert jobs_of(spark, lambda: detect(stream, QUERY, plan))[1] == 0


def test_explain_covers_all_rows_and_runs_no_job_after_an_action(spark, stream, expected, capsys):
    matches = detect(stream, QUERY, plan_of(QUERY), slice_seconds=9)
    matches.show(1)  # takes some only
    explained = matches.explain()
    assert explained.steps[-1].survivors == expected
    assert jobs_of(spark, matches.explain)[1] == 0
    matches.write.format("noop").mode("overwrite").save()
    assert matches.explain().steps[-1].survivors == expected
    capsys.readouterr()
    assert matches.explain(mode="simple") is None
    assert "MapInArrow" in capsys.readouterr().out


def test_limit_bounds_collect_and_count(stream, expected):
    matches = detect(stream, QUERY, plan_of(QUERY), limit=7)
    assert len(matches.collect()) == matches.count() == 7
    assert matches.explain().steps[-1].survivors == expected
    assert detect(stream, QUERY, plan_of(QUERY), limit=0).collect() == []


def test_a_result_far_larger_than_a_batch_streams_out(spark):
    table = pa.table({"t": np.arange(3000) // 2, "kind": ["A", "B"] * 1500, "x": np.arange(3000)})
    stream = events(spark.createDataFrame(table), time="t", type="kind", unit="s")
    query = parse("PATTERN AND(A a, B b)")
    assert len(detect(stream, query, plan_of(query)).select("b.x").toPandas()) == 1500 * 1500


def test_only_the_columns_that_are_asked_for(spark):
    frame = spark.createDataFrame(TABLE)
    stream = events(frame, time="ts", type="type", columns=["key"])
    matches = detect(stream, QUERY, plan_of(QUERY))
    assert matches.select("a.*").columns == ["ts", "type", "key"]
    plan = matches._jdf.queryExecution().optimizedPlan().toString()
    assert "diff" not in plan.split("MapInArrow")[-1].split("LogicalRDD")[0]


def test_an_empty_stream_and_one_type(spark):
    for rows in (0, 30):
        table = TABLE.slice(0, rows).set_column(1, "type", pa.array(["T01"] * rows, pa.string()))
        stream = events(spark.createDataFrame(table), time="ts", type="type")
        matches = detect(stream, QUERY, plan_of(QUERY))
        assert matches.collect() == []
        assert [step.survivors for step in matches.explain().steps] == [rows, 0, 0]


def test_one_warning_counts_rows_without_time_or_type(spark):
    table = pa.table(
        {
            "t": [1.0, 2.0, None, float("nan"), 5.0, 6.0, None],
            "kind": ["A", "B", "A", "X", None, None, None],
        }
    )
    stream = events(spark.createDataFrame(table).repartition(3), time="t", type="kind", unit="s")
    query = parse("PATTERN SEQ(A a, B b)")
    local = events(table, time="t", type="kind", unit="s").columns([]).dropped
    assert local == Dropped(null_time=3, null_type=2)
    told = r"3 without a time and 2 without a type \(PATTERN SEQ\(A a, B b\)\)"
    with pytest.warns(StreamWarning, match=told):
        matches = detect(stream, query, plan_of(query))
    assert matches.count() == 1
    assert matches.dropped == local
    # Where nothing is known beforehand, the run itself tells.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matches = detect(stream, query, plan_of(query), slice_seconds=1)
        again = detect(stream, query, plan_of(query), slice_seconds=1)
    with pytest.warns(StreamWarning, match=told):
        matches.collect()
    with pytest.warns(StreamWarning, match=told):
        again.explain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is told once
        matches.explain()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PATTERN SEQ(T01 a, T02 b) WHERE a.type < b.price", "compare"),
        ("PATTERN SEQ(T01 a, T02 b) WHERE a.price = 'x'", "compare"),
        ("PATTERN SEQ(T01 a, T02 b) WHERE a.type = b.key", "compare"),
    ],
)
def test_wrong_comparison_raises_the_local_error_at_once(spark, stream, text, message):
    query = parse(text)
    with pytest.raises(PatternError) as local:
        Matches(events(TABLE, time="ts", type="type"), query, plan_of(query)).count()
    with pytest.raises(PatternError) as on_spark:
        jobs_of(spark, lambda: detect(stream, query, plan_of(query)))
    assert str(on_spark.value) == str(local.value)
    assert message in str(local.value)


def test_an_error_in_a_worker_is_ours_not_sparks(spark):
    table = pa.table({"t": ["2024-03-01", "yesterday"], "kind": ["A", "A"]})
    stream = events(spark.createDataFrame(table), time="t", type="kind")
    query = parse("PATTERN SEQ(A a, A b)")
    matches = detect(stream, query, plan_of(query))
    for action in (matches.count, matches.collect, matches.show, matches.toPandas, matches.explain):
        with pytest.raises(StreamError) as error:
            action()
        assert str(error.value).splitlines()[0] == "the time column 't' holds 'yesterday'"
        assert len(str(error.value).splitlines()) == 3
        assert error.value.expected
        assert error.value.hint
    with pytest.raises(PySparkException, match="yesterday"):
        matches.select("a.kind").collect()  # no longer ours


def test_a_users_function_reaches_the_workers(spark, stream):
    factor = 2.0

    def doubled(values):
        return values * factor

    register_function("doubled", doubled)
    query = parse("PATTERN SEQ(T01 a, T02 b) WHERE doubled(a.price) < b.price WITHIN 1 s")
    local = Matches(events(TABLE, time="ts", type="type"), query, plan_of(query))
    assert detect(stream, query, plan_of(query)).count() == local.count() > 0


def test_functions_of_the_language_are_the_same_in_the_workers(spark, stream):
    query = parse(
        "PATTERN SEQ(T01 a, T02 b) WHERE floor(a.price) <= round(b.price) AND "
        "exp(a.price - b.price) < 2 AND lower(a.type) < concat(lower(b.type), '!') AND "
        "ends_with(b.type, substring(b.type, 2)) WITHIN 1 s"
    )
    local = Matches(events(TABLE, time="ts", type="type"), query, plan_of(query))
    assert detect(stream, query, plan_of(query)).count() == local.count() > 0


def test_odd_names_and_nested_columns_are_carried(spark):
    frame = spark.sql(
        """
        SELECT timestamp_seconds(id) AS `the time.of it`, if(id % 2 = 0, 'A', 'B') AS `kind``s`,
               named_struct('at', timestamp_seconds(id), 'xs', array(id)) AS `a b`,
               map('k', id) AS m, cast(id AS decimal(20, 3)) AS d, cast(NULL AS binary) AS n
        FROM range(6)
        """
    )
    stream = events(frame, time="the time.of it", type="kind`s")
    query = parse("PATTERN SEQ(A a, B b) WITHIN 1 s")
    rows = detect(stream, query, plan_of(query)).collect()
    assert len(rows) == 3
    for row in rows:
        assert row.a["a b.at"] == row.a["the time.of it"] == row.match_start
        assert row.b["m"] == {"k": int(row.b["d"])}
        assert row.b["a b.xs"] == [int(row.b["d"])]


def test_interval_column_is_refused_unless_columns_leave_it_out(spark):
    frame = spark.sql("SELECT current_timestamp() AS t, 'A' AS k, make_interval(1, 2) AS i")
    query = parse("PATTERN SEQ(A a, A b)")
    with pytest.raises(StreamError, match="the column 'i' holds interval"):
        detect(events(frame, time="t", type="k"), query, plan_of(query))
    stream = events(frame, time="t", type="k", columns=[])
    assert detect(stream, query, plan_of(query)).count() == 0


def test_streaming_frames_are_refused(spark):
    frame = spark.readStream.format("rate").load().selectExpr("timestamp AS t", "'A' AS k")
    query = parse("PATTERN SEQ(A a, A b)")
    with pytest.raises(StreamError, match="lateness"):
        events(frame, time="t", type="k")
    stream = events(frame, time="t", type="k", lateness="1 second")
    with pytest.raises(UnsupportedError, match="streaming"):
        detect(stream, query, plan_of(query))


def test_the_repr_escapes_names(spark):
    frame = spark.createDataFrame(pd.DataFrame({"t": [1], "k": ["A"]}))
    query = parse('PATTERN SEQ(A "<b>", A c)')
    matches = detect(events(frame, time="t", type="k", unit="s"), query, plan_of(query))
    assert "<b>" not in matches._repr_html_()
    assert "&lt;b&gt;" in matches._repr_html_()


SETS = parse("PATTERN SEQ(T01 a, KL(T02 b), T10 c) WITHIN 2 s")
SMALL_SETS = parse("PATTERN SEQ(T01 a, KL(T02 b), T10 c) WITHIN 200 milliseconds")


def test_sets_are_lists_of_events(stream):
    local = Matches(
        events(TABLE, time="ts", type="type"), SMALL_SETS, plan_of(SMALL_SETS), sets="maximal"
    )
    matches = detect(stream, SMALL_SETS, plan_of(SMALL_SETS), sets="maximal")
    rows = matches.collect()
    assert len(rows) == local.count() == matches.count() > 0
    members = sorted(len(row["b"]) for row in rows)
    assert members == sorted(len(row["b"]) for row in local.to_arrow().to_pylist())
    tidy = matches.timeline(3)
    assert tidy["match"].nunique() == 3
    assert list(tidy.columns) == ["match", "variable", "ts", "type", "attributes"]


def test_the_number_of_sets_is_exact_and_too_many_are_refused(stream):
    local = Matches(events(TABLE, time="ts", type="type"), SETS, plan_of(SETS))
    matches = detect(stream, SETS, plan_of(SETS))
    assert matches.count() == local.count() > 2**64
    assert len(detect(stream, SETS, plan_of(SETS), limit=5).collect()) == 5
    with pytest.raises(LimitError, match="sets='maximal'"):
        matches.collect()


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN SEQ(T01 a, T02 b) WHERE a.price < b.price WITHIN 100 ms",
        "PATTERN AND(T01 a, OR(T02 b, T03 c)) WITHIN 50 ms",
        "PATTERN SEQ(T01 a, KL(T02 b), T03 c) WITHIN 100 ms",
    ],
)
def test_flat_frames_are_those_of_a_local_stream(spark, text):
    table, query = TABLE.slice(0, 3000), parse(text)
    plan = plan_of(query)
    here = Matches(events(table, time="ts", type="type"), query, plan)
    there = detect(events(spark.createDataFrame(table), time="ts", type="type"), query, plan)
    frame = there.to_pandas()
    assert [*frame] == [*here.to_pandas()]
    assert rows_of(frame) == rows_of(here.to_pandas())
    nested = there.to_pandas(nested=True)
    assert [*nested] == [*there.columns]
    assert len(nested) == here.count() > 0


def rows_of(frame: pd.DataFrame) -> list[str]:
    """Return the rows in one order, times without their zone."""
    columns = []
    for name in frame:
        column = frame[name]
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        columns.append(
            [None if not isinstance(v, list) and pd.isna(v) else str(v) for v in column]
            if not name.endswith("ts")
            else [str(v) if isinstance(v, list) else pd.Timestamp(v) for v in column]
        )
    return sorted(map(str, zip(*columns, strict=True)))
