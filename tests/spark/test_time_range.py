"""Time ranges of Spark DataFrames are filters that Spark pushes down to the files."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.errors import UnsupportedError

COUNT = 400
SECONDS = np.random.default_rng(3).integers(0, 100, COUNT)
BEGIN = 1_700_000_000
PATTERN = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds"


def table(times):
    rng = np.random.default_rng(4)
    missing = pa.array([i % 50 == 7 for i in range(COUNT)])
    times = pa.compute.if_else(missing, pa.scalar(None, times.type), times)
    return pa.table(
        {
            "ts": times,
            "type": pa.array(rng.choice(["A", "B", "C"], COUNT)),
            "x": pa.array(rng.integers(0, 9, COUNT)),
        }
    )


def frame_of(spark, rows):
    """Return rows as a DataFrame whose times without a zone have none in Spark either."""
    frame = spark.createDataFrame(rows)
    if rows.schema.field("ts").type == pa.timestamp("us"):
        frame = frame.withColumn("ts", frame.ts.cast("timestamp_ntz"))
    return frame


KINDS = {
    "zoned": (pa.array((BEGIN + SECONDS) * 10**6).cast(pa.timestamp("us", "UTC")), {}),
    "naive": (pa.array((BEGIN + SECONDS) * 10**6).cast(pa.timestamp("us")), {}),
    "whole": (pa.array(BEGIN + SECONDS), {"unit": "s"}),
    "milliseconds": (pa.array((BEGIN + SECONDS) * 1000), {"unit": "ms"}),
    "float": (pa.array((BEGIN + SECONDS).astype(float)), {"unit": "s"}),
    "date": (pa.array(SECONDS.astype(np.int32)).cast(pa.date32()), {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_range_on_spark_has_the_events_of_the_local_one(spark, kind):
    times, options = KINDS[kind]
    local = table(times)
    ends = {"since": BEGIN + 20, "until": BEGIN + 60}
    if kind == "date":
        ends = {"since": dt.date(1970, 1, 21), "until": "1970-03-01 12:00"}
    elif options.get("unit") == "ms":
        ends = {name: end * 1000 for name, end in ends.items()}
    elif not options:
        ends = {name: dt.datetime.fromtimestamp(end, dt.UTC) for name, end in ends.items()}
    there, here = (
        ck.events(source, time="ts", type="type", **options, **ends)
        for source in (frame_of(spark, local), local)
    )
    assert there.source.count() == len(here)
    assert ck.detect(there, PATTERN).count() == ck.detect(here, PATTERN).count()
    forced = ck.SparkOptions(route="workers")
    assert ck.detect(there, PATTERN, spark=forced).count() == ck.detect(here, PATTERN).count()


def test_range_is_pushed_down_to_files(spark, tmp_path):
    spark.createDataFrame(table(KINDS["zoned"][0])).write.parquet(str(tmp_path / "events"))
    stream = ck.events(
        spark.read.parquet(str(tmp_path / "events")), time="ts", type="type", since="2023-11-14"
    )
    plan = stream.source._jdf.queryExecution().toString()
    assert "PushedFilters: [IsNotNull(ts), GreaterThanOrEqual(ts," in plan


@pytest.mark.parametrize("options", [{}, {"timezone": "Europe/Copenhagen"}])
def test_range_that_only_python_reads_is_refused(spark, options):
    times = KINDS["naive"][0] if options else KINDS["naive"][0].cast(pa.string())
    with pytest.raises(UnsupportedError, match="since= and until= of a Spark DataFrame"):
        ck.events(
            frame_of(spark, table(times)), time="ts", type="type", since="2023-11-14",
            **options,
        )  # fmt: skip


def test_streaming_frame_with_range_is_refused(spark, tmp_path):
    spark.createDataFrame(table(KINDS["zoned"][0])).write.parquet(str(tmp_path / "events"))
    schema = spark.read.parquet(str(tmp_path / "events")).schema
    frame = spark.readStream.schema(schema).parquet(str(tmp_path / "events"))
    with pytest.raises(UnsupportedError, match="with a streaming DataFrame"):
        ck.events(frame, time="ts", type="type", lateness="1 second", until="2024-01-01")
