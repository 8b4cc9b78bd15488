"""Several queries at once over Spark: each gets the rows of a local stream, shared or not."""

from __future__ import annotations

import datetime as dt
import re
import warnings
from collections import Counter
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import PatternError, PlanError, UnsupportedError
from cepkit.pattern.several import named
from cepkit.routes.aggregates import aggregate as aggregate_locally
from cepkit.routes.functions import functions_of
from cepkit.routes.ways import EMITS
from cepkit.spark.aggregates.aggregate import aggregate
from cepkit.stream.stream import events
from tests.aggregates import plain
from tests.properties.test_aggregation_in_cells import workloads
from tests.spark.test_aggregate_on_spark import clicks
from tests.strategies import FEW, as_table, streams

ROLES = {"time": "ts", "type": "kind"}
FUNNEL = (
    "PATTERN SEQ(A a, B b) WITHIN 9 s AGG COUNT",
    "PATTERN SEQ(A a, B b, C c) WITHIN 20 s AGG COUNT",
    "PATTERN SEQ(A a, NOT(D z), B b, C c) WITHIN 14 s EXCLUSIVE AGG COUNT",
)


def rows_of(table: Any) -> Counter[tuple[Any, ...]]:
    """Return the rows of an Arrow table, times as moments."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in table.to_pylist():
        found[
            tuple(
                round(v.replace(tzinfo=v.tzinfo or dt.UTC).timestamp() * 1e6)
                if isinstance(v, dt.datetime)
                else plain(v)
                for v in row.values()
            )
        ] += 1
    return found


@FEW
@given(data=st.data())
def test_each_query_gets_the_rows_that_it_gets_alone(spark, data):
    queries, share = data.draw(workloads())
    emit = data.draw(st.sampled_from(EMITS))
    table = as_table(
        data.draw(streams(30, types=("A", "B", "C", "X"), attributes=("x", "y", "k", "z", "s")))
    )
    frame = spark.createDataFrame(table).repartition(data.draw(st.sampled_from([1, 3])))
    seconds = data.draw(st.sampled_from([None, 0.7, 4, 13]))
    asked = [functions_of(query, {}) for query in queries]
    local = events(table, **ROLES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur, and of rows without a time
        found = aggregate(
            events(frame, **ROLES),
            named(queries),
            asked,
            "auto",
            emit,
            share,
            slice_seconds=seconds,
        )
        tables = [result.toArrow() for result in found]
        for query, each, there in zip(queries, asked, tables, strict=True):
            (alone,) = aggregate_locally(local, {"": query}, [each], "auto", emit)
            here = alone.to_arrow()
            assert there.column_names == here.column_names
            assert rows_of(there) == rows_of(here), str(query)


@pytest.mark.parametrize("emit", ["changes", "total"])
def test_sharing_changes_no_row_and_no_column_type(spark, emit):
    stream = ck.events(spark.createDataFrame(clicks(900)), **ROLES)
    queries = [f"{query} GROUP BY user HAVING COUNT > {n}" for n, query in enumerate(FUNNEL)]
    alone = [
        ck.aggregate(stream, query, emit=emit, spark=ck.SparkOptions(slice_seconds=60))
        for query in queries
    ]
    expected = [rows_of(result.toArrow()) for result in alone]
    for share in ("prefix", "chop-connect", [(1, 1), (1, 2), (2, 1)]):
        found = ck.aggregate(
            stream, queries, emit=emit, share=share, spark=ck.SparkOptions(slice_seconds=60)
        )
        assert {result.method for result in found} == {"shared-counters"}
        assert [result.schema for result in found] == [result.schema for result in alone]
        assert [rows_of(result.toArrow()) for result in found.persist()] == expected
        found.unpersist()


def test_a_plan_is_made_on_the_driver_from_a_sample(spark):
    frame = clicks(3000)
    queries = [*FUNNEL, *(query.replace("A a, B b", "A a, B b, B d") for query in FUNNEL)]
    local = ck.aggregate(ck.events(frame, **ROLES), queries).plan
    found = ck.aggregate(ck.events(spark.createDataFrame(frame), **ROLES), queries).plan
    assert found.clusters[0].cuts == local.clusters[0].cuts
    assert found.clusters[0].cost == pytest.approx(local.clusters[0].cost)
    assert str(found) == str(local)


@pytest.mark.parametrize("files", [False, True])
def test_plan_cost_from_a_sample_is_near_the_local_one(spark, monkeypatch, tmp_path, files):
    monkeypatch.setattr("cepkit.spark.profile.counting.SAMPLE", 1500)
    frame = clicks(9000)
    queries = [query.replace(" WITHIN", " WHERE b.x > 12 WITHIN") for query in FUNNEL]
    local = ck.aggregate(ck.events(frame, **ROLES), queries, share="chop-connect").plan
    source = spark.createDataFrame(frame)
    if files:
        source.coalesce(1).write.parquet(str(tmp_path / "clicks"))
        source = spark.read.parquet(str(tmp_path / "clicks"))
    found = ck.aggregate(ck.events(source, **ROLES), queries, share="chop-connect").plan
    assert found.clusters[0].cost == pytest.approx(local.clusters[0].cost, rel=0.2)
    assert found.clusters[0].cost != local.clusters[0].cost


def test_given_cuts_run_no_job_to_measure_rates(spark):
    stream = ck.events(spark.createDataFrame(clicks(300)), **ROLES)
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("share", "counted")
    try:
        found = ck.aggregate(
            stream,
            list(FUNNEL),
            share=[(2,), (2, 1), None],
            spark=ck.SparkOptions(slice_seconds=60),
        )
        assert len(tracker.getJobIdsForGroup("sharing")) == 0
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert found.plan.clusters[0].queries == (0, 1)
    assert found.plan.reasons == {2: "as asked"}
    assert not re.search(r"\bnan\b", str(found.plan) + found._repr_html_())
    assert "nan" not in ck.draw(found).to_json().lower()


def test_all_rows_together_come_from_one_pass(spark):
    frame = clicks(600)
    frame.loc[3, "kind"] = None
    stream = ck.events(spark.createDataFrame(frame), **ROLES)
    queries = [*FUNNEL, "PATTERN SEQ(A a, B b) WITHIN 9 s AGG SUM(a.x) GROUP BY user"]
    found = ck.aggregate(stream, queries, share="prefix", spark=ck.SparkOptions(slice_seconds=60))
    assert len(found.passes) == 1
    together = found.together
    assert together.columns == ["pattern", "ts", "count", "new_matches", "user", "sum(a.x)"]
    with pytest.warns(UserWarning, match="1 without a type$"):
        rows = together.toPandas()
    for name, result in zip(found.names, found, strict=True):
        mine = rows[rows["pattern"] == name]
        assert len(mine) == result.count() > 0
        assert mine["count"].isna().all() == ("count" not in result.columns)
    assert "Aggregates of 4 queries together; rows through Spark" in repr(together)


def test_persisted_results_are_computed_once(spark):
    stream = ck.events(spark.createDataFrame(clicks(300)), **ROLES)
    found = ck.aggregate(
        stream, list(FUNNEL), share="prefix", spark=ck.SparkOptions(slice_seconds=60)
    )
    before = [row for result in found for row in result.collect()]
    kept = found.persist()
    plans = [result._jdf.queryExecution().executedPlan().toString() for result in kept]
    assert all("InMemoryTableScan" in plan for plan in plans)
    assert Counter(row for result in kept for row in result.collect()) == Counter(before)
    kept.unpersist()
    again = ck.aggregate(
        stream, list(FUNNEL), share="prefix", spark=ck.SparkOptions(slice_seconds=60)
    )[0]
    assert "InMemory" not in again._jdf.queryExecution().executedPlan().toString()


def test_queries_that_can_be_cut_alike_share_a_pass(spark):
    stream = ck.events(spark.createDataFrame(clicks(300)), **ROLES)
    queries = [
        "PATTERN SEQ(A a, B b) WITHIN 9 s AGG COUNT",
        "PATTERN SEQ(A a, B b) AGG COUNT GROUP BY user",
        "PATTERN SEQ(A a, KL(B b)) WITHIN 2 s AGG COUNT",
        "PATTERN SEQ(A a, B b) WITHIN 1 min AGG COUNT GROUP BY user",
        "PATTERN SEQ(A a, A b) AGG COUNT GROUP BY user",
        "PATTERN SEQ(B b, A a) AGG COUNT",
    ]
    found = ck.aggregate(stream, queries, share="prefix")
    # A set may end at the time of another of its events, so only its pass numbers events.
    assert [sorted(each.queries) for each in found.passes] == [[0, 3], [1, 4], [2], [5]]
    assert [result.method for result in found] == [
        "a-seq", "shared-counters", "a-seq", "a-seq", "shared-counters", "a-seq",
    ]  # fmt: skip
    assert found.plan.reasons[2] == "counters of KL are not shared"


def test_counts_beyond_64_bits_are_refused_with_their_column(spark):
    frame = pd.DataFrame(
        {"ts": [i // 300 for i in range(2400)], "kind": ["ABCDEFGH"[i // 300] for i in range(2400)]}
    )
    stream = ck.events(spark.createDataFrame(frame), time="ts", type="kind", unit="s")
    long = f"PATTERN SEQ({', '.join(f'{c} {c.lower()}' for c in 'ABCDEFGH')}) AGG COUNT"
    found = ck.aggregate(
        stream, [long, "PATTERN SEQ(A a, B b) AGG COUNT"], emit="total", share="prefix"
    )
    assert found.plan.clusters
    with pytest.raises(ck.errors.LimitError, match="'count' has an integer of 20 digits"):
        found[0].collect()
    short = ck.aggregate(
        stream, [long.replace(", H h", ""), "PATTERN SEQ(A a, B b) AGG COUNT"], emit="total",
        share="prefix",
    )  # fmt: skip
    assert [result.collect()[0]["count"] for result in short] == [300**7, 300**2]


def test_wrong_sharing_and_aggregates_are_refused_before_any_job(spark):
    stream = ck.events(spark.createDataFrame(clicks(30)), **ROLES)
    with pytest.raises(PlanError, match="a plan of 2 patterns for 3"):
        ck.aggregate(stream, list(FUNNEL), share=[(2,), (3,)])
    with pytest.raises(PlanError, match=r"pattern 2\nit cannot share"):
        ck.aggregate(
            stream, [FUNNEL[0], "PATTERN SEQ(A a, KL(B b)) WITHIN 9 s AGG COUNT"],
            share=[(2,), (2,)],
        )  # fmt: skip
    with pytest.raises(PlanError, match="share='all'"):
        ck.aggregate(stream, list(FUNNEL), share="all")
    sets = "PATTERN SEQ(A a, KL(B b){1,2}) WITHIN 9 s AGG COUNT"
    with pytest.raises(UnsupportedError, match="only sets of any size"):
        ck.aggregate(stream, [FUNNEL[0], sets], method="a-seq")
    with pytest.raises(PatternError, match=r"SUM\(a.word\), which is a text"):
        ck.aggregate(stream, [FUNNEL[0], "PATTERN SEQ(A a, B b) WITHIN 9 s AGG SUM(a.word)"])


def test_columns_that_cannot_stand_in_one_table_are_refused_by_name(spark):
    frame = clicks(90).rename(columns={"word": "count"})
    stream = ck.events(spark.createDataFrame(frame), **ROLES)
    queries = [FUNNEL[0], "PATTERN SEQ(A a, B b) WITHIN 9 s AGG SUM(a.x) GROUP BY count"]
    found = ck.aggregate(stream, queries, spark=ck.SparkOptions(slice_seconds=60))
    assert found[1].columns == ["ts", "count", "sum(a.x)", "new_matches"]
    assert found[1].count() == found[0].count()
    with pytest.raises(PatternError, match="two queries have different columns 'count'"):
        _ = found.together
