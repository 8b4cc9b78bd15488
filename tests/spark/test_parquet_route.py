"""Tasks read files themselves only where the DataFrame is these files' rows and nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.streams import zipf_events
from cepkit.errors import UnsupportedError
from cepkit.pattern.parsing.parser import parse
from cepkit.spark.matches.detect import detect
from cepkit.spark.passes.scanned import scanned_files
from cepkit.stream.columns import Dropped
from cepkit.stream.stream import events
from tests.spark.test_batch_matches import plan_of

QUERY = parse("PATTERN SEQ(T01 a, T02 b) WHERE a.price < b.price WITHIN 1 s")
TABLE = zipf_events(20_000, types=10)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("some events")
    for number in range(2):
        part = TABLE.slice(number * 10_000, 10_000)
        pq.write_table(part, folder / f"part {number}.parquet", row_group_size=2000)
    return str(folder)


def route(frame, **options) -> str:
    return detect(events(frame, time="ts", type="type"), QUERY, plan_of(QUERY), **options).route


def test_scans_are_recognised(spark, path):
    frame = spark.read.parquet(path)
    frame.createOrReplaceTempView("some_events")
    for same in (frame, frame.select("price", "ts", "type"), spark.table("some_events")):
        assert [file.name for file in scanned_files(same)] == ["part 0.parquet", "part 1.parquet"]
        assert route(same).startswith("Parquet files")


def test_derived_frames_are_not_read_from_files(spark, path, tmp_path):
    frame = spark.read.parquet(path)
    others = [
        frame.where("price > 1"),
        frame.limit(5),
        frame.selectExpr("ts", "type", "2 * price AS price"),
        frame.withColumnRenamed("diff", "other"),
        frame.union(frame),
        frame.dropDuplicates(),
        frame.repartition(2),
        frame.sample(0.5, seed=1),
        spark.createDataFrame(TABLE.slice(0, 10)),
        spark.read.schema("ts timestamp, type string, price float").parquet(path),
    ]
    frame.write.partitionBy("type").parquet(str(tmp_path / "parts"))
    others.append(spark.read.parquet(str(tmp_path / "parts")))
    frame.write.csv(str(tmp_path / "csv"), header=True)
    others.append(spark.read.csv(str(tmp_path / "csv"), header=True))
    for other in others:
        assert route(other, slice_seconds=60).startswith("rows"), other
    with pytest.raises(UnsupportedError):
        route(others[0], route="files", slice_seconds=60)
    cached = spark.read.parquet(path).cache()
    assert route(cached, slice_seconds=60).startswith("rows")
    cached.unpersist()


def test_files_that_are_not_sorted_or_have_no_statistics_are_left_to_spark(spark, tmp_path):
    mixed = TABLE.take(pa.array(np.random.default_rng(0).permutation(len(TABLE))))
    pq.write_table(mixed, tmp_path / "mixed.parquet", row_group_size=500)
    frame = spark.read.parquet(str(tmp_path / "mixed.parquet"))
    assert route(frame, slice_seconds=10).startswith("rows")
    pq.write_table(TABLE, tmp_path / "blind.parquet", write_statistics=False)
    assert route(spark.read.parquet(str(tmp_path / "blind.parquet"))).startswith("rows")


def test_rows_that_are_no_events_are_counted_once(spark, tmp_path):
    ts = TABLE["ts"].to_pylist()
    types = TABLE["type"].to_pylist()
    for i in range(0, 20_000, 100):
        ts[i] = None
    for i in range(0, 20_000, 50):
        types[i] = None
    ts[4000:6000] = [None] * 2000  # a row group without any time
    table = TABLE.set_column(0, "ts", pa.array(ts, TABLE.schema.field("ts").type))
    table = table.set_column(1, "type", pa.array(types))
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=2000)
    frame = spark.read.parquet(str(tmp_path / "e.parquet"))
    found = {}
    for name in ("files", "rows"):
        stream = events(frame, time="ts", type="type")
        matches = detect(stream, QUERY, plan_of(QUERY), route=name, slice_seconds=30)
        found[name] = (matches.count(), matches.dropped)
    assert found["files"] == found["rows"]
    expected = events(table, time="ts", type="type").columns([]).dropped
    assert found["files"][1] == expected == Dropped(2180, 180)
