"""Faulty and extreme data: Spark gives the matches, counts and errors of local sources."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import cepkit as ck
from cepkit.errors import CepkitError, UnsupportedError
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan
from tests import faulty_data as faulty

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from cepkit.stream.stream import Stream

pytestmark = pytest.mark.filterwarnings("ignore::cepkit.stream.warnings.StreamWarning")


@pytest.fixture(scope="module", autouse=True)
def naive(spark: SparkSession) -> Iterator[None]:
    """Times without a zone are such on Spark, too."""
    before = spark.conf.get("spark.sql.timestampType")
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    yield
    spark.conf.set("spark.sql.timestampType", before)


def detected(spark: SparkSession, asked: tuple[Any, dict[str, Any], str]) -> DataFrame:
    """Return the matches on Spark."""
    events, options, pattern = asked
    frame = spark.createDataFrame(events) if isinstance(events, pa.Table) else events
    stream = faulty.stream_of(frame, options)
    return ck.detect(
        stream,
        pattern,
        plan=as_plan(None, parse(pattern)),
        spark=ck.SparkOptions(slice_seconds=1e7),
    )


def matches_of(
    spark: SparkSession, asked: Sequence[tuple[Any, dict[str, Any], str]]
) -> list[list[faulty.Match]]:
    """Return the matches of each, by one job."""
    parts = []
    for number, one in enumerate(asked):
        matches = detected(spark, one)
        variables = [v for v in matches.columns if not v.startswith("match_")]
        ids = F.create_map(*(x for v in variables for x in (F.lit(v), F.col(f"{v}.id"))))
        parts.append(matches.select(F.lit(number), ids))
    found: list[list[faulty.Match]] = [[] for _ in asked]
    for number, ids in reduce(lambda one, other: one.union(other), parts).collect():
        found[number].append({v: event for v, event in ids.items() if event is not None})
    return list(map(faulty.in_order, found))


@pytest.mark.parametrize("name", faulty.CASES)
def test_faulty_events_have_the_local_matches(spark: SparkSession, name: str) -> None:
    asked = faulty.CASES[name]()
    expected = [faulty.found_in(*one) for one in asked]
    for one, found, local in zip(asked, matches_of(spark, asked), expected, strict=True):
        assert found == local, one[2]


@pytest.mark.parametrize("fault", faulty.ERRORS)
def test_faulty_events_raise_the_local_error(spark: SparkSession, fault: str) -> None:
    asked = faulty.ERRORS[fault]
    errors = []
    for ask in (lambda: faulty.found_in(*asked), lambda: detected(spark, asked).count()):
        with pytest.raises(CepkitError) as caught:
            ask()
        errors.append(faulty.said(caught.value))
    assert errors[1] == errors[0]


def both(spark: SparkSession, events: pa.Table, options: dict[str, Any]) -> tuple[Stream, Stream]:
    """Return a stream here, and the same on Spark."""
    sources = (events.to_pandas(types_mapper=faulty.NULLABLE.get), spark.createDataFrame(events))
    return tuple(faulty.stream_of(source, options) for source in sources)


LINKED = [name for name in faulty.VALUES.column_names if name not in ("id", "t", "k", "h")]


def test_faulty_events_have_the_local_profile(spark: SparkSession) -> None:
    for events in (faulty.VALUES, faulty.table(**faulty.KEYS)):
        names = [name for name in LINKED if name in events.column_names]
        branches = ", ".join(f"SEQ(A a_{name}, B b_{name})" for name in names)
        equal = " AND ".join(f"a_{name}.{name} = b_{name}.{name}" for name in names)
        pattern = f"PATTERN OR({branches}) WHERE {equal} WITHIN 100 s PARTITION BY u"
        here, there = (
            replace(ck.profile(stream, pattern), forecast=None)
            for stream in both(spark, events, faulty.ZONE)
        )
        assert here.keys
        for field in fields(here):
            assert getattr(there, field.name) == getattr(here, field.name), field.name


def test_faulty_events_have_the_local_aggregates(spark: SparkSession) -> None:
    of_each = [f"COUNT(b.{x}), MIN(a.{x}), MAX(b.{x})" for x in LINKED]
    of_each += [f"SUM(b.{x}), AVG(a.{x})" for x in ("f", "g", "j", "d")]
    for events, asked in (
        (faulty.VALUES, f"AGG {', '.join(of_each)}"),
        (faulty.table(**faulty.KEYS), f"AGG COUNT GROUP BY {', '.join(faulty.KEYS)}"),
    ):
        here, there = (
            ck.aggregate(stream, f"PATTERN SEQ(A a, B b) WITHIN 2 s {asked}", emit="total")
            for stream in both(spark, events, faulty.ZONE)
        )
        assert rows_of(there.toArrow()) == rows_of(here.to_arrow())


def rows_of(table: pa.Table) -> list[list[str]]:
    """Return the rows; Python could not hold every time, and 0.0 is -0.0."""
    columns = [
        column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        if pa.types.is_timestamp(column.type)
        else column
        for column in table.columns
    ]
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return sorted([repr(0.0 if value == 0.0 else value) for value in row] for row in rows)


def test_faulty_events_have_the_local_answer_of_why_not(spark: SparkSession) -> None:
    here, there = both(spark, faulty.VALUES, faulty.ZONE)
    wanted = " AND ".join(f"({condition})" for condition in faulty.CONDITIONS)
    pattern = f"PATTERN SEQ(A a, B b) WHERE {wanted} WITHIN 100 s"
    for named in ({}, {"a": 2, "b": 3}):
        answers = [ck.why_not(stream, pattern, id="id", **named) for stream in (here, there)]
        assert len({str(replace(answer, notes=())) for answer in answers}) == 1


def test_parquet_files_have_the_local_matches(spark: SparkSession, tmp_path: Path) -> None:
    asked = [one for name in ("keys", "times") for one in faulty.CASES[name]()]
    sources = []
    asked = [one for one in asked if not any(map(pa.types.is_null, one[0].schema.types))]
    for number, (events, options, pattern) in enumerate(asked):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(events, path, row_group_size=3)
        sources.append((spark.read.parquet(str(path)), options, pattern))
    local = [faulty.found_in(*one) for one in asked]
    for one, found, expected in zip(asked, matches_of(spark, sources), local, strict=True):
        assert found == expected, one[2]


@pytest.mark.parametrize("kind", ["timestamp_ntz", "string", "date", "timestamp_ltz"])
def test_times_of_all_kinds_are_measured(spark: SparkSession, kind: str) -> None:
    events = faulty.table(t=faulty.moments("2024-03-01", "2024-03-02", "2024-03-02", "2024-03-03"))
    rows = spark.createDataFrame(events)
    frame = rows.withColumn("t", rows["t"].cast(kind))
    pattern = "PATTERN SEQ(A a, B b) WITHIN 1 d"
    expected = ck.detect(faulty.stream_of(events, {}), pattern).count()
    stream = faulty.stream_of(frame, {})
    assert (
        ck.detect(stream, pattern, spark=ck.SparkOptions(route="workers")).count() == expected == 2
    )
    assert ck.profile(faulty.stream_of(frame, {}), pattern).events
    assert str(ck.why_not(faulty.stream_of(frame, {}), pattern, id="id", a=0, b=3))


CSV = f"""id,t,k,f,i,s,b,day
0,2024-10-27 02:30,A,NaN,{faulty.MAX},NaN,true,0001-01-01
1,2024-10-27T02:30:00+01:00,B,Inf,{faulty.MIN},NA,false,9999-12-31
2,2024-03-31 02:30,A,-Inf,,,,1969-12-31
3,2024-03-31 03:30,B,1e308,{2**53},"a,""b",true,
4,,A,5e-324,1,null,true,2024-01-01
5,0001-01-01,,-0.0,1,é,true,2024-01-01
6,9999-12-31T23:59:59.999999Z,B,,{2**53 + 1}, x ,false,1970-01-01
7,2024-10-27 02:45,B,0.0,0,NaN,true,1970-01-01
8,2024-10-27 01:45,A,-0.0,-1,é,true,1970-01-01
"""


def test_csv_files_have_the_local_matches(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text(CSV, encoding="utf-8")
    kinds = "id long, t string, k string, f double, i long, s string, b boolean, day date"
    frame = spark.read.csv(str(path), header=True, schema=kinds)
    conditions = (
        *("a.f < b.f", "a.f IS NULL OR b.f IS NULL", "a.f = b.f", "a.i < b.i", "b.i IS NULL"),
        *("a.s = b.s", "a.s IS NULL", "b.s IN ('NA', ' x ')", "a.b = b.b", "a.day < b.day"),
        *("abs(b.t - a.t) <= 1 h", "a.t = b.t"),
    )
    asked = [(path, f"PATTERN AND(A a, B b) WHERE {condition}") for condition in conditions]
    zone = {"timezone": "Europe/Copenhagen"}
    local = [faulty.found_in(path, zone, pattern) for path, pattern in asked]
    found = matches_of(spark, [(frame, zone, pattern) for _, pattern in asked])
    assert dict(zip(conditions, found, strict=True)) == dict(zip(conditions, local, strict=True))
    assert [c for c, matches in zip(conditions, local, strict=True) if not matches] == []


def test_times_of_texts_are_no_partition_that_spark_could_count(spark: SparkSession) -> None:
    texts = pa.array(["2024-01-01", "2024-01-01T00:00", "2024-01-02", "2024-01-02"])
    pattern = "PATTERN SEQ(A a, B b) WITHIN 2 EVENTS PARTITION BY t"
    with pytest.raises(UnsupportedError, match="where its times are texts"):
        detected(spark, (faulty.table(t=texts), {}, pattern))


def test_several_frames_have_the_local_matches(spark: SparkSession) -> None:
    orders = pa.table({"t": [1, 5], "user": ["x", "y"], "n": [{"a": 1}, None]})
    refunds = pa.table({"t": [2.5, 9.0], "who": ["x", "z"], "user": ["x", "y"]})
    pattern = 'PATTERN SEQ("it\'s" a, "b" b) WHERE a.user = b.user AND b.n.a IS NULL WITHIN 3 s'
    tables = {"it's": orders, "b": refunds}
    frames = {name: spark.createDataFrame(table) for name, table in tables.items()}
    found = [
        ck.detect(ck.events(source, time="t", unit="s", type="what"), pattern).count()
        for source in (tables, frames)
    ]
    assert found == [1, 1]
    texts = spark.createDataFrame(pa.table({"t": ["1"]}))
    with pytest.raises(CepkitError, match="holds numbers in the table 'a' and string in 'b'"):
        ck.events({"a": frames["b"], "b": texts}, time="t", unit="s")
    with pytest.raises(CepkitError, match="the table 'a' is in Spark, and others are not"):
        ck.events({"a": frames["b"], "b": orders}, time="t", unit="s")


def test_filetime_on_spark_is_the_local_time(spark: SparkSession) -> None:
    ticks = pa.array([133_512_552_000_000_019, None, 0, 133_512_552_000_000_000], pa.int64())
    asked = (faulty.table(t=ticks), {"unit": "filetime"}, "PATTERN AND(A a, B b)")
    assert matches_of(spark, [asked]) == [faulty.found_in(*asked)]
    with pytest.raises(CepkitError, match="unit='filetime' is given"):
        detected(spark, (faulty.table(t=faulty.TEXTS), {"unit": "filetime"}, faulty.PAIR))


@pytest.mark.parametrize(
    "options", [{"time": ("t", "k")}, {"time_format": "%Y"}, {"sep": ";"}, {"encoding": "latin-1"}]
)
def test_format_of_a_file_is_refused_of_a_spark_frame(
    spark: SparkSession, options: dict[str, Any]
) -> None:
    frame = spark.createDataFrame(faulty.table(t=faulty.TEXTS))
    with pytest.raises(CepkitError, match="with a Spark DataFrame"):
        ck.events(frame, **{"time": "t", "type": "k"} | options)
