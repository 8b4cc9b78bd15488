"""Exact counts are the same on Spark as locally, and no pattern changes the number of jobs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from benchmarks.streams import zipf_events
from cepkit.pattern.parsing.parser import parse
from cepkit.spark.profile.statistics import profile
from cepkit.statistics.model import Statistics

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

CASES = {
    "two keys and a text": (
        "PATTERN SEQ(T01 a, T02 b, NOT(T04 n), T03 c) WHERE a.key = b.key AND b.key = c.other "
        "AND a.price < b.price AND a.name = c.name AND n.name = a.name WITHIN 20 s"
    ),
    "one type, several types, any type": (
        "PATTERN AND(T01 a, T01 b, d IN (T01, T05), ANY e) WHERE a.key = b.key "
        "AND a.key = d.other AND a.flag = e.flag WITHIN 1 s PARTITION BY name"
    ),
    "times and lists": (
        "PATTERN SEQ(T01 a, T02 b, T03 c) WHERE a.day = b.day AND b.day = c.day "
        "AND a.wall = b.wall AND corr(a.list, b.list) > 0 AND c.nothing = a.other WITHIN 5 s"
    ),
}


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    """Return a stream that arrives out of order, with keys of every kind, some missing."""
    frame = zipf_events(4000, types=6, keys=40, seed=3).to_pandas()
    rng = np.random.default_rng(0)
    n = len(frame)
    frame["other"] = np.where(rng.random(n) < 0.1, np.nan, rng.integers(-2, 40, n).astype(float))
    frame["name"] = np.where(rng.random(n) < 0.2, None, rng.choice(["ä", "b, c", ""], n))
    frame["flag"] = rng.random(n) < 0.3
    frame["day"] = frame.ts.dt.floor("2s")
    frame["wall"] = frame.ts.dt.floor("1s").dt.tz_localize(None)
    frame["list"] = [None if x < 0.1 else [x, 1.0, 2 * x] for x in rng.random(n)]
    frame["nothing"] = pd.Series([None] * n, dtype=object).astype("float")
    frame["came"] = np.argsort(np.argsort(np.arange(n) + rng.integers(0, 30, n), kind="stable"))
    return frame


def local(frame: pd.DataFrame, text: str, **options: Any) -> Statistics:
    """Return the profile of the frame here."""
    return ck.profile(ck.events(frame, time="ts", type="type", **options), text)


def there(frame: DataFrame, text: str, **options: Any) -> Statistics:
    """Return the profile on Spark."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ck.profile(ck.events(frame, time="ts", type="type", **options), text)


def on_spark(spark: SparkSession, frame: pd.DataFrame) -> DataFrame:
    """Return the frame in Spark, a wall clock as such."""
    made = spark.createDataFrame(frame)
    return made.selectExpr(
        *(c if c != "wall" else "cast(wall as timestamp_ntz) wall" for c in made.columns)
    )


def exactly(statistics: Statistics) -> Statistics:
    """Return the statistics that are counted: all but joins and conditions beside equalities."""
    return replace(statistics, selectivities={}, joins={}, forecast=None)


@pytest.mark.parametrize("name", CASES)
def test_profile_equals_the_local_one_for_any_layout_of_rows(
    spark: SparkSession, data: pd.DataFrame, name: str
) -> None:
    text = CASES[name]
    expected = exactly(local(data, text, arrival="came"))
    assert expected.lateness is not None
    assert expected.lateness.late > 1000
    assert expected.equalities
    rows = on_spark(spark, data)
    layouts = [rows.repartition(5)]
    if name == "two keys and a text":
        layouts += [rows, rows.orderBy("price")]
    for lying in layouts:
        found = exactly(there(lying, text, arrival="came"))
        for field in ("missing", "over_time", "keys", "lateness", "equalities", "filters"):
            assert getattr(found, field) == getattr(expected, field), field
        assert found == expected


def test_the_order_of_the_rows_is_that_of_arrival(spark: SparkSession, data: pd.DataFrame) -> None:
    text = CASES["two keys and a text"]
    mixed = data.iloc[np.argsort(data.came)]
    expected = local(mixed, text)
    assert expected.lateness is not None
    assert expected.lateness.late > 1000
    rows = on_spark(spark, mixed)
    assert rows.rdd.getNumPartitions() > 1
    assert there(rows, text).lateness == expected.lateness
    as_text = mixed.assign(ts=mixed.ts.dt.strftime("%Y-%m-%d %H:%M:%S.%f"))
    assert there(on_spark(spark, as_text), text).lateness == expected.lateness
    # What a shuffle brings came in no order that means anything.
    assert there(rows.repartition(3), text).lateness is None


@pytest.mark.parametrize("kind", ["integer", "float", "boolean"])
def test_types_that_are_no_texts(spark: SparkSession, data: pd.DataFrame, kind: str) -> None:
    codes = data.type.str[1:].astype(int)
    match kind:
        case "integer":
            types, names = codes, ("1", "2")
        case "float":
            types, names = codes.where(codes != 5, np.nan).astype(float), ("1", "2")
        case _:
            types, names = codes < 3, ("true", "false")
    frame = data[["ts", "key", "name"]].assign(type=types)
    text = f'PATTERN SEQ("{names[0]}" a, "{names[1]}" b) WHERE a.key = b.key WITHIN 1 s'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = exactly(local(frame, text))
    assert exactly(there(spark.createDataFrame(frame), text)) == expected


def test_times_without_a_zone_can_be_keys(spark: SparkSession, data: pd.DataFrame) -> None:
    text = "PATTERN SEQ(T01 a, T02 b) WHERE a.wall = b.day WITHIN 5 s"
    options = {"timezone": "Europe/Copenhagen"}
    shifted = data.assign(wall=data.wall + pd.Timedelta("1h"))  # 1 h ahead in winter
    expected = exactly(local(shifted, text, **options))
    assert expected.equalities[frozenset("ab")].in_window.share > 0.1
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        assert exactly(there(on_spark(spark, shifted), text, **options)) == expected
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.parametrize("rows", ["empty", "one", "one moment", "nothing known"])
def test_odd_streams(spark: SparkSession, data: pd.DataFrame, rows: str) -> None:
    text = CASES["two keys and a text"] + " PARTITION BY name"
    kept = {"empty": data[:0], "one": data[:1], "one moment": data[:300]}.get(rows, data[:300])
    if rows == "one moment":
        kept = kept.assign(ts=kept.ts.iloc[0])
    if rows == "nothing known":
        kept = kept.assign(other=np.nan, name=None)
    whole = on_spark(spark, data)
    frame = spark.createDataFrame(kept.assign(nothing=0.0), whole.schema)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = exactly(local(kept, text))
    found = exactly(there(frame, text))
    assert replace(found, lateness=None) == replace(expected, lateness=None)
    assert "nan" not in str(found).lower()


def test_samples_are_unbiased(spark: SparkSession) -> None:
    frame = zipf_events(20_000, types=4, keys=60, mean_gap_ms=50, seed=8).to_pandas()
    text = (
        "PATTERN SEQ(T01 a, T02 b, T03 c) WHERE a.key = b.key AND a.price < b.price "
        "AND b.diff < c.diff + 1 WITHIN 4 s"
    )
    exact = local(frame, text)
    stream = ck.events(spark.createDataFrame(frame), time="ts", type="type")
    runs = [profile(stream, parse(text), seed=seed, sample_events=3000) for seed in range(8)]
    for pair in (frozenset("ab"), frozenset("bc")):
        found = np.array([run.selectivities[pair].share for run in runs])
        spread = found.std(ddof=1) / np.sqrt(len(runs))
        assert 0 < spread < 0.1 * found.mean()
        assert abs(found.mean() - exact.selectivities[pair].share) < 4 * spread
    equal = np.array([run.equalities[frozenset("ab")].in_window.share for run in runs])
    near = exact.equalities[frozenset("ab")].in_window.share
    assert abs(equal.mean() - near) < 4 * equal.std(ddof=1) / np.sqrt(len(runs))
    errors = [run.equalities[frozenset("ab")].in_window.standard_error for run in runs]
    assert 0.3 < np.mean(errors) / equal.std(ddof=1) < 3


def jobs_of(spark: SparkSession, text: str, stream: ck.Statistics) -> int:
    """Return how many jobs a profile takes."""
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    seen: set[int] = set()
    real = spark.sparkContext.setJobGroup

    def group(name: str, *rest: Any, **more: Any) -> None:
        groups.append(name)
        real(name, *rest, **more)

    groups: list[str] = []
    spark.sparkContext.setJobGroup = group  # type: ignore[method-assign]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ck.profile(stream, text)
    finally:
        del spark.sparkContext.setJobGroup
    for name in groups:
        seen |= set(tracker.getJobIdsForGroup(name))
    return len(seen - before)


def test_the_number_of_jobs_does_not_grow_with_the_pattern(
    spark: SparkSession, data: pd.DataFrame
) -> None:
    rows = spark.createDataFrame(data.drop(columns=["list"]))
    two = "PATTERN SEQ(T01 v0, T02 v1) WHERE v0.key = v1.key AND v0.price < v1.price WITHIN 2 s"
    variables = ", ".join(f"T0{i % 6 + 1} v{i}" for i in range(8))
    pairs = [(i, j) for i in range(8) for j in range(i)]
    conditions = [f"v{i}.{'key' if i % 2 else 'other'} = v{j}.key" for i, j in pairs]
    conditions += [f"v{i}.price < v{j}.price" for i, j in pairs]
    eight = f"PATTERN SEQ({variables}) WHERE {' AND '.join(conditions)} WITHIN 2 s"
    for arrival in (None, "came"):
        stream = ck.events(rows, time="ts", type="type", arrival=arrival)
        few, many = (jobs_of(spark, text, stream) for text in (two, eight))
        assert 0 < many <= few <= 16


def actions_of(spark: SparkSession, call: Callable[[], object]) -> int:
    """Return how many actions on Spark a call takes, however many jobs Spark makes of each."""
    before = last_action(spark)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call()
    return last_action(spark) - before


def last_action(spark: SparkSession) -> int:
    """Return the number of the latest action.

    Spark numbers its actions but keeps only the last thousand, so their count stands still in a
    long session.
    """
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    kept = spark._jsparkSession.sharedState().statusStore().executionsList()
    return -1 if kept.isEmpty() else kept.last().executionId()


@pytest.mark.parametrize(("time", "partition"), [("ts", ""), ("text", " PARTITION BY name")])
def test_a_profile_takes_two_actions_and_plans_none(
    spark: SparkSession, data: pd.DataFrame, time: str, partition: str
) -> None:
    mixed = data.iloc[np.argsort(data.came)]
    mixed = mixed.assign(text=mixed.ts.dt.strftime("%Y-%m-%d %H:%M:%S.%f"))
    stream = ck.events(on_spark(spark, mixed), time=time, type="type", timezone="UTC")
    query = ck.parse(CASES["two keys and a text"] + partition)
    found: list[Statistics] = []
    taken = actions_of(spark, lambda: found.append(profile(stream, query)))
    assert taken == 2
    everything = found[0]
    assert everything.over_time is not None
    assert everything.keys
    assert everything.lateness is not None
    assert everything.lateness.late > 1000
    assert actions_of(spark, lambda: ck.compare_plans(query, everything)) == 0


def test_partitions_that_overlap_far_in_time_take_one_action_more(
    spark: SparkSession, data: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cepkit.spark.profile.lateness.HEAD", 5)
    rows = on_spark(spark, data.iloc[::-1])
    stream = ck.events(rows, time="ts", type="type")
    query = ck.parse(CASES["two keys and a text"])
    found: list[Statistics] = []
    taken = actions_of(spark, lambda: found.append(profile(stream, query)))
    assert taken == 3
    assert found[0].lateness == local(data.iloc[::-1], CASES["two keys and a text"]).lateness


@pytest.mark.parametrize("condition", ["", "WHERE a.x = b.x"])
def test_columns_for_the_output_alone_need_no_condition(spark, condition):
    frame = pd.DataFrame({"id": range(8), "t": range(8), "kind": list("AB") * 4, "x": 1.0})
    text = f"PATTERN SEQ(A a, B b) {condition} WITHIN 3 s"
    found = {}
    for place, source in (("here", frame), ("there", spark.createDataFrame(frame))):
        stream = ck.events(source, time="t", type="kind", unit="s", columns=("id",))
        found[place] = ck.detect(stream, text).to_pandas().sort_values(["a.id", "b.id"])
    here, there = found["here"], found["there"]
    assert [*here] == [*there]
    assert here[["a.id", "b.id"]].to_numpy().tolist() == there[["a.id", "b.id"]].to_numpy().tolist()
    assert "a.x" not in here
