"""Small Spark streams are fetched once, and give the results of workers without any worker."""

from __future__ import annotations

import datetime as dt
import decimal
import threading
import uuid
from weakref import WeakSet

import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.spark.fetching import LIMIT
from cepkit.spark.session import warming
from tests.spark.kills import contents

PATTERNS = {
    "SEQ": "PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x WITHIN 20 seconds",
    "key": 'PATTERN SEQ(A a, B b) WHERE a."the key" = b."the key" WITHIN 20 seconds',
    "OR": "PATTERN OR(SEQ(A a, B b), AND(B c, C d)) WITHIN 3 seconds",
    "NOT": "PATTERN SEQ(A a, NOT(B b), C c) WITHIN 10 seconds",
    "set": "PATTERN SEQ(A a, KL(B b){1,2}, C c) WITHIN 10 seconds",
    "neighbours": "PATTERN SEQ(A a, KL(B b)) WHERE b.x > prev(b.x) WITHIN 20 seconds"
    " WITHIN 12 seconds FROM a TO b",
    "until": "PATTERN SEQ(A a, KL(B b) UNTIL D d) WHERE d.x > a.x WITHIN 15 seconds",
    "greedy": "PATTERN SEQ(A a, KL(B b){1,3} GREEDY) WITHIN 15 seconds",
    "distances": "PATTERN SEQ(A a, KL(B b)) WHERE b.x > prev(b.x, 2) AND b[2].x > a.x"
    " WITHIN 15 seconds",
    "greedy ends": "PATTERN KL(NEXT ANY a) GREEDY WHERE a.x - a[1].x < 3 WITHIN 15 seconds",
    "greedy until": "PATTERN SEQ(A a, KL(B b){1,3} GREEDY UNTIL D d) WITHIN 15 seconds",
    "running": "PATTERN SEQ(A a, KL(B b)) WHERE avg(b[..i].x) > a.x WITHIN 12 seconds",
    "skip with OPT": "PATTERN SEQ(OPT(A a), OPT(ANY b), C c) WITHIN 9 seconds"
    " AFTER MATCH SKIP PAST LAST EVENT",
    "next": "PATTERN SEQ(A a, B b) WITHIN 9 seconds STRATEGY skip-till-next-match",
    "strict": "PATTERN SEQ(A a, D b) WITHIN 9 seconds STRATEGY strict-contiguity",
    "events": "PATTERN SEQ(A a, B b) WITHIN 4 EVENTS",
    "any": "PATTERN SEQ(A a, ANY b) WITHIN 2 seconds",
}


def rows(count: int = 90) -> pa.Table:
    """Events with columns of many types; some rows have no time or no type."""
    begin = dt.datetime(2024, 3, 4, 10, tzinfo=dt.UTC)
    times = [None if i % 40 == 7 else begin + dt.timedelta(seconds=i) for i in range(count)]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "kind": pa.array([None if i % 30 == 5 else "ABCD"[i * 7 % 4] for i in range(count)]),
            "x": pa.array([i * 31 % 17 / 2 for i in range(count)]),
            "the key": pa.array([i % 3 for i in range(count)], pa.int16()),
            "price": pa.array([decimal.Decimal(i) / 4 for i in range(count)], pa.decimal128(9, 2)),
            "tags": pa.array([[str(i), None] for i in range(count)]),
        }
    )


@pytest.fixture
def stream(spark):
    spark.conf.unset(LIMIT)
    frame = spark.createDataFrame(rows()).coalesce(1)
    yield ck.events(frame, time="ts", type="kind")
    spark.conf.set(LIMIT, "0")


def jobs_of(spark, action) -> int:
    """Return how many jobs an action starts."""
    context, group = spark.sparkContext, str(uuid.uuid4())
    context.setJobGroup(group, "counted")
    try:
        action()
        return len(context.statusTracker().getJobIdsForGroup(group))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


@pytest.mark.filterwarnings("ignore:rows left out")
@pytest.mark.parametrize("name", PATTERNS)
def test_matches_are_those_of_the_workers(stream, name):
    here = ck.detect(stream, PATTERNS[name])
    there = ck.detect(stream, PATTERNS[name], spark=ck.SparkOptions(route="workers"))
    assert here.here is not None
    assert there.here is None
    assert here.schema == there.schema
    table, other = here.toArrow(), there.toArrow()
    assert table.schema == other.schema
    assert table.num_rows
    assert contents(table) == contents(other)
    assert here.count() == len(other)
    if name == "SEQ":  # what is derived is found by workers
        assert here.select("match_start").count() == len(other)
    assert here.dropped == there.dropped
    assert sorted(here.to_pandas().columns) == sorted(there.to_pandas().columns)


@pytest.mark.filterwarnings("ignore:rows left out")
def test_the_stream_is_fetched_once(spark, stream, capsys):
    query = PATTERNS["SEQ"]
    assert jobs_of(spark, lambda: ck.detect(stream, query)) > 0

    def edit():
        matches = ck.detect(stream, query.replace("20", "15"))
        assert matches.count() == len(matches.to_pandas()) == matches.toArrow().num_rows
        matches.explain()
        ck.profile(stream, query)
        ck.profile(stream)
        ck.aggregate(stream, query + " AGG COUNT", emit="total").to_pandas()

    assert jobs_of(spark, edit) == 0
    assert "kept in memory" in repr(stream)
    stream.forget()
    assert "kept in memory" not in repr(stream)
    matches = ck.detect(stream, query, limit=3)
    assert "fetched" in matches.route
    assert len(matches.collect()) == matches.count() == len(matches.take(7)) == 3
    matches.show(2)
    assert "only showing top 2 rows" in capsys.readouterr().out
    assert len(matches.toPandas()) == 3
    assert len(matches.timeline(2)) == 6


@pytest.mark.filterwarnings("ignore:rows left out")
@pytest.mark.parametrize("derived", [False, True])
def test_rows_of_a_local_table_are_fetched_by_one_job(spark, stream, derived):
    frame = spark.createDataFrame(rows())
    if derived:
        frame = frame.where("x > 1").selectExpr("ts", "kind", "x * 2 AS x", "price")
    held = ck.events(frame, time="ts", type="kind")
    assert jobs_of(spark, lambda: ck.detect(held, PATTERNS["SEQ"]).count()) == 1
    here = ck.detect(held, PATTERNS["SEQ"])
    there = ck.detect(held, PATTERNS["SEQ"], spark=ck.SparkOptions(route="workers"))
    assert "fetched" in here.route
    assert contents(here.toArrow()) == contents(there.toArrow())
    assert here.dropped == there.dropped


@pytest.mark.filterwarnings("ignore:rows left out")
@pytest.mark.parametrize(
    ("text", "emit"),
    [
        ("PATTERN SEQ(A a, B b) WITHIN 9 seconds AGG COUNT, SUM(b.x), MAX(b.x)", "trigger"),
        (
            'PATTERN SEQ(A a, B b) WHERE a."the key" = b."the key" AGG AVG(a.x) GROUP BY "the key"',
            "total",
        ),
        ("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 seconds AGG COUNT", "total"),
        ("PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 seconds AGG COUNT", "changes"),
    ],
)
def test_aggregates_are_those_of_the_workers(spark, stream, text, emit):
    here = ck.aggregate(stream, text, emit=emit)
    assert "in this process" in here.route
    spark.conf.set(LIMIT, "0")
    stream.forget()
    there = ck.aggregate(stream, text, emit=emit)
    assert "in this process" not in there.route
    assert here.schema == there.schema
    assert contents(here.toArrow()) == contents(there.toArrow())
    assert (here.method, here.reason) == (there.method, there.reason)


@pytest.mark.filterwarnings("ignore:rows left out")
def test_stream_above_the_limit_is_not_fetched(spark, stream):
    query = PATTERNS["SEQ"]
    spark.conf.set(LIMIT, "4000")
    assert ck.detect(stream, query).here is None
    assert ck.detect(stream, query, spark=ck.SparkOptions(route="driver")).here is not None
    stream.forget()
    spark.conf.set(LIMIT, "12000")  # of the types A and B, but not of all
    few = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 2 seconds"
    here = ck.detect(stream, few)
    assert here.here is not None
    assert len(here.here.columns) < 60
    assert ck.detect(stream, PATTERNS["strict"]).here is None
    assert contents(here.toArrow()) == contents(
        ck.detect(stream, few, spark=ck.SparkOptions(route="workers")).toArrow()
    )


def test_wrong_setting_of_the_limit_is_refused(spark, stream):
    spark.conf.set(LIMIT, "64m")
    with pytest.raises(ck.CepkitError, match=f"{LIMIT}=64m"):
        ck.detect(stream, PATTERNS["SEQ"])


def test_limit_of_fetching_counts_bytes_of_wide_values(spark):
    spark.conf.set(LIMIT, "100000")
    try:
        table = rows(20)
        table = table.append_column("text", pa.array(["x" * 10_000] * 20))
        stream = ck.events(spark.createDataFrame(table), time="ts", type="kind")
        with pytest.warns(UserWarning, match="time"):
            assert ck.detect(stream, PATTERNS["SEQ"]).here is None
    finally:
        spark.conf.set(LIMIT, "0")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"route": "moon"}, "route='moon'"),
        ({"route": "driver"}, "route= of SparkOptions with events in this process"),
    ],
)
def test_unknown_route_is_refused(options, text):
    stream = ck.events(rows(5), time="ts", type="kind")
    with pytest.raises(ck.CepkitError, match=text):
        ck.detect(stream, PATTERNS["SEQ"], spark=ck.SparkOptions(**options))


@pytest.mark.filterwarnings("ignore:rows left out")
def test_several_patterns(spark, stream):
    texts = {name: PATTERNS[name] for name in ("SEQ", "NOT", "next", "strict")}
    here = ck.detect(stream, texts)
    spark.conf.set(LIMIT, "0")
    there = ck.detect(ck.events(stream.source, time="ts", type="kind"), texts)
    spark.conf.unset(LIMIT)
    assert jobs_of(spark, here.counts) == jobs_of(spark, here.explain) == 0
    assert here.counts().to_dict() == there.counts().to_dict()
    assert here["NOT"].here is not None
    assert contents(here["NOT"].toArrow()) == contents(there["NOT"].toArrow())
    both, by_workers = here.together, there.together
    assert jobs_of(spark, both.count) == jobs_of(spark, both.toArrow) == 0
    assert both.count() == by_workers.count()
    assert contents(both.toArrow()) == contents(by_workers.toArrow())
    assert dict(both.dtypes) == dict(by_workers.dtypes)
    rare = both.where("pattern = 'NOT'")  # which the workers find
    assert contents(rare.drop("pattern").select("a").toArrow()) == contents(
        by_workers.where("pattern = 'NOT'").select("a").toArrow()
    )
    # One more needs all types: it is not looked for among those that were fetched.
    few = ck.detect(stream, [PATTERNS["SEQ"]]).add(PATTERNS["any"], "any")
    assert (
        few.counts()["any"]
        == ck.detect(stream, PATTERNS["any"], spark=ck.SparkOptions(route="workers")).count()
    )


def test_a_route_for_several_patterns(stream):
    with pytest.raises(ck.CepkitError, match="route='driver' for several patterns"):
        ck.detect(stream, [PATTERNS["SEQ"]], spark=ck.SparkOptions(route="driver"))


def test_an_empty_stream(spark, stream):
    empty = ck.events(stream.source.limit(0), time="ts", type="kind")
    with pytest.warns(UserWarning, match="no event"):
        matches = ck.detect(empty, PATTERNS["SEQ"])
    assert matches.count() == 0
    assert matches.collect() == []
    assert list(matches.to_pandas().columns)


def test_a_worker_is_started_ahead_once_for_each_session(spark, monkeypatch):
    started, begun = threading.Event(), []

    def note(session):
        begun.append(session)
        started.set()

    run_one = warming._run_one
    monkeypatch.setattr(warming, "_run_one", note)
    monkeypatch.setattr(warming, "_WARM", WeakSet())
    for _ in range(2):
        warming.warm_workers(spark.range(3))
    assert started.wait(60)
    assert begun == [spark]
    assert jobs_of(spark, lambda: run_one(spark)) == 1
