"""Parquet files of a DataFrame are read without Spark, and give the rows that Spark reads."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.spark.cells.schemas import arrow_columns
from cepkit.spark.fetching import LIMIT
from cepkit.spark.passes.collected_rows import CollectedRows
from cepkit.spark.passes.file_rows import file_rows
from cepkit.spark.passes.scanned import rows_in_files, scanned_files
from tests.spark.kills import contents
from tests.spark.test_fetched import PATTERNS, jobs_of, rows

pytestmark = pytest.mark.filterwarnings("ignore:rows left out")
IN_ORDER = ("greedy ends", "skip with OPT", "next", "strict", "events")
READ = ("SEQ", "key", "NOT", "set", "any", *IN_ORDER)
"""What reads rows in different ways; the other operators are compared in test_fetched.py."""


@pytest.fixture
def spark(spark):
    spark.conf.unset(LIMIT)
    yield spark
    spark.conf.set(LIMIT, "0")


def many_kinds(count: int = 90) -> pa.Table:
    """Events with columns of all kinds that Spark and Arrow have in common."""
    table = rows(count)
    days = [dt.date(1500, 1, 1) + dt.timedelta(days=3000 * i) for i in range(count)]
    times = [
        None if i % 9 == 0 else (i * 700 * 86_400 + i - 2_500_000_000) * 1000 for i in range(count)
    ]
    return pa.table(
        {
            **{name: table[name] for name in table.column_names},
            "day": pa.array(days, pa.date32()),
            "wall": pa.array(times, pa.timestamp("ms")),
            "instant": pa.array(times, pa.timestamp("ms", tz="Europe/Copenhagen")),
            "small": pa.array([i % 7 for i in range(count)], pa.int8()),
            "real": pa.array([float("nan") if i % 5 == 0 else i / 3 for i in range(count)]).cast(
                pa.float32()
            ),
            "yes": pa.array([None if i % 4 == 0 else i % 3 == 0 for i in range(count)]),
            "bytes": pa.array([bytes([i, 0, 255]) for i in range(count)]),
            "wide": pa.array([decimal.Decimal(i) / 8 for i in range(count)], pa.decimal128(38, 6)),
            "inner": pa.array([[{"a": i, "b": [i, None], "c": str(i)}] for i in range(count)]),
            "coded": pa.array(["ä", None, "c"] * (count // 3)).dictionary_encode(),
            "long": pa.array([str(i) * 3 for i in range(count)], pa.large_string()),
        }
    )


def of_spark_and_of_files(frame, types, **times):
    stream = ck.events(frame, **(times or {"time": "ts", "type": "kind"}))
    columns = arrow_columns(stream.source, stream.column_names, stream.column_names)
    files = file_rows(stream, columns, in_order=False)
    assert files is not None
    collected = CollectedRows(stream, columns)
    for of in {None, types}:
        assert collected.number(of) >= files.number(of)  # which leaves out rows without a time
    return collected.read(types, 1e9), files.read(types, 1e9)


@pytest.mark.parametrize("types", [None, frozenset({"A", "D", "none such"})])
@pytest.mark.parametrize("writer", ["arrow", "small row groups", "plain", "spark"])
def test_rows_are_those_that_spark_reads(spark, tmp_path, writer, types):
    path = str(tmp_path / "e.parquet")
    if writer == "spark":
        frame = spark.createDataFrame(many_kinds()).coalesce(1)
        frame.write.parquet(path)
    else:
        options = {"row_group_size": 7} if writer == "small row groups" else {}
        options |= {"use_dictionary": False, "store_schema": False} if writer == "plain" else {}
        pq.write_table(many_kinds(), path, **options)
    collected, read = of_spark_and_of_files(spark.read.parquet(path), types)
    assert read.schema == collected.schema
    assert contents(read) == contents(collected)
    if types is None:
        assert read["ts"].to_pylist() == collected["ts"].to_pylist()


@pytest.mark.parametrize("dictionary", [True, False])
def test_fields_of_structs_are_those_that_spark_reads(spark, tmp_path, dictionary):
    path = str(tmp_path / "e.parquet")
    event = [
        None if i % 7 == 0 else {"kind": "ABC"[i % 3], "of": {"x": i, "tags": ["é", str(i)]}}
        for i in range(90)
    ]
    table = many_kinds().append_column("event", pa.array(event))
    pq.write_table(table, path, row_group_size=13, use_dictionary=dictionary)
    frame = spark.read.parquet(path)
    for types in (None, frozenset({"A"})):
        named = {"time": "ts", "type": "event.kind"}
        collected, read = of_spark_and_of_files(frame, types, **named)
        assert {"event.of.x", "event.of.tags"} <= set(read.schema.names)
        assert read.schema == collected.schema
        assert contents(read) == contents(collected)


@pytest.mark.parametrize("of", ["event.x AS y", "event.x + 1 AS `event.x`"])
def test_fields_of_structs_by_other_names_are_read_by_spark(spark, tmp_path, of):
    path = str(tmp_path / "e.parquet")
    pq.write_table(pa.table({"ts": [1], "event": [{"x": 1}], "k": ["A"]}), path)
    assert scanned_files(spark.read.parquet(path).selectExpr("ts", "k", of)) is None


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        (pa.array([None if i % 5 == 0 else i for i in range(40)], pa.int64()), "s"),
        (pa.array([float("nan") if i % 5 == 0 else i for i in range(40)], pa.float64()), "ms"),
        (pa.array([dt.date(1500 + i, 2, 3) if i % 5 else None for i in range(40)]), None),
        (pa.array(["NaT" if i % 5 == 0 else f"2024-03-{i % 28 + 1:02}" for i in range(40)]), None),
    ],
    ids=["whole", "float", "date", "text"],
)
@pytest.mark.parametrize("kind", ["text", "number", "float"])
def test_times_and_types_of_all_kinds(spark, tmp_path, values, unit, kind):
    types = pa.array([None if i % 7 == 0 else str(i % 3) for i in range(40)])
    if kind != "text":
        types = types.cast(pa.int32() if kind == "number" else pa.float64())
    table = pa.table({"t": values, "k": types, "x": range(40)})
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=16)
    frame = spark.read.parquet(str(tmp_path / "e.parquet"))
    named = {"time": "t", "type": "k", "unit": unit}
    collected, read = of_spark_and_of_files(frame, frozenset({"1", "2"}), **named)
    assert contents(read) == contents(collected)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("name", READ)
def test_matches_are_those_of_the_workers(spark, tmp_path, name, parts):
    table = rows()
    for part in range(parts):
        some = table.slice(part * 20, 20 if part < parts - 1 else None)
        pq.write_table(some, tmp_path / f"{part}.parquet", row_group_size=13)
    stream = ck.events(spark.read.parquet(str(tmp_path)), time="ts", type="kind")
    found = []
    jobs = jobs_of(spark, lambda: found.append(ck.detect(stream, PATTERNS[name])))
    here = found[0]
    there = ck.detect(stream, PATTERNS[name], spark=ck.SparkOptions(route="workers"))
    assert here.here is not None
    if parts > 1 and name in IN_ORDER:  # Spark begins with the largest file
        assert "fetched" in here.route
    else:
        assert jobs == 0
        assert "events read from Parquet files" in here.route
    assert here.schema == there.schema
    table, other = here.toArrow(), there.toArrow()
    assert table.schema == other.schema
    assert table.num_rows
    assert contents(table) == contents(other)
    assert here.count() == len(other)
    assert here.dropped == there.dropped


def test_order_is_asked_of_spark_once(spark, tmp_path):
    for part in range(2):
        pq.write_table(rows().slice(part * 30, 30 + part * 30), tmp_path / f"{part}.parquet")
    stream = ck.events(spark.read.parquet(str(tmp_path)), time="ts", type="kind")
    assert jobs_of(spark, lambda: ck.detect(stream, PATTERNS["SEQ"])) == 0
    assert jobs_of(spark, lambda: ck.detect(stream, PATTERNS["strict"])) > 0
    for name in ("SEQ", "strict", "next"):
        assert jobs_of(spark, lambda name=name: ck.detect(stream, PATTERNS[name]).count()) == 0


def test_rows_are_read_up_to_the_limit_of_the_setting(spark, tmp_path):
    table = rows().append_column("text", pa.array(["x" * 10_000] * 90))
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=10)
    frame = spark.read.parquet(str(tmp_path / "e.parquet"))
    few = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 2 seconds"
    for limit, events in (("1200000", range(84, 85)), ("700000", range(30, 50)), ("300000", ())):
        spark.conf.set(LIMIT, limit)  # for all events, for those of A and B, for neither
        matches = ck.detect(ck.events(frame, time="ts", type="kind"), few)
        assert (matches.here is not None) == bool(events)
        if events:
            assert len(matches.here.columns) in events
            assert "events read from Parquet files" in matches.route
    spark.conf.unset(LIMIT)
    stream = ck.events(frame, time="ts", type="kind")
    route = ck.aggregate(stream, few + " AGG COUNT", emit="total").route
    assert "read from Parquet files" in route
    assert "read from" in ck.detect(stream, [few, PATTERNS["any"]]).together.route


def test_files_that_spark_may_read_differently_are_left_to_spark(spark, tmp_path):
    path = str(tmp_path / "e.parquet")
    pq.write_table(rows(), path)

    def is_read_here(frame) -> bool:
        stream = ck.events(frame, time="ts", type="kind")
        columns = arrow_columns(frame, stream.column_names, stream.column_names)
        return file_rows(stream, columns, in_order=True) is not None

    frame = spark.read.parquet(path)
    assert is_read_here(frame)
    assert is_read_here(frame.select("kind", "x", "ts"))
    assert not is_read_here(frame.where("x > 1"))
    assert not is_read_here(frame.limit(3))
    assert not is_read_here(frame.withColumnRenamed("x", "y"))
    assert not is_read_here(spark.read.option("datetimeRebaseMode", "LEGACY").parquet(path))
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "EXCEPTION")
    assert not is_read_here(spark.read.parquet(path))
    spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInRead")
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    assert not is_read_here(spark.read.parquet(path))
    spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")
    cached = spark.read.parquet(path).cache()
    assert not is_read_here(cached)
    assert not is_read_here(cached.select("ts", "kind"))
    assert scanned_files(spark.read.parquet(path).select("ts")) is None
    cached.unpersist(blocking=True)
    assert is_read_here(spark.read.parquet(path))

    pq.write_table(rows(91), path)  # `frame` has the size of the file before
    assert not is_read_here(frame)
    assert is_read_here(spark.read.parquet(path))
    Path(path).unlink()
    assert not is_read_here(frame)

    for name, table, options in (
        ("nanoseconds", rows().set_column(0, "ts", rows()["ts"].cast(pa.timestamp("ns", "UTC"))),
         {"use_deprecated_int96_timestamps": True}),
        ("dots", rows().rename_columns(["ts", "kind", "x", "the.key", "price", "tags"]), {}),
        ("old", rows().replace_schema_metadata({"org.apache.spark.version": "2.4.8"}), {}),
        ("legacy", rows().replace_schema_metadata({"org.apache.spark.legacyDateTime": ""}), {}),
        ("unsigned", rows().append_column("u", pa.array(range(90), pa.uint32())), {}),
    ):  # fmt: skip
        pq.write_table(table, tmp_path / f"{name}.parquet", **options)
        assert not is_read_here(spark.read.parquet(str(tmp_path / f"{name}.parquet"))), name


def test_files_that_spark_passes_over_have_no_rows(spark, tmp_path):
    pattern = "PATTERN SEQ(A a, D b) WITHIN 3 seconds"
    path = tmp_path / "e.parquet"
    pq.write_table(rows(), path)
    footer = pq.read_metadata(path)
    footer.set_file_path(path.name)
    for name in ("_metadata", "_common_metadata"):  # as pyarrow, Dask and older Sparks write them
        footer.write_metadata_file(tmp_path / name)
    frame = spark.read.parquet(str(tmp_path))
    assert scanned_files(frame) == [path]
    assert rows_in_files(frame) == 90
    stream = ck.events(frame, time="ts", type="kind")
    found = [
        ck.detect(stream, pattern),
        ck.detect(stream, pattern, spark=ck.SparkOptions(route="workers")),
    ]
    assert "Parquet files" in found[1].route
    assert found[0].count() == found[1].count() > 0
    assert (
        jobs_of(
            spark, lambda: ck.detect(stream, pattern, spark=ck.SparkOptions(route="driver")).count()
        )
        == 0
    )
    hidden = tmp_path / "_hidden.parquet"
    pq.write_table(rows(), hidden)
    assert scanned_files(spark.read.parquet(str(path), str(hidden))) == [path]
