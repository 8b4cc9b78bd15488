"""A profile on Spark is the local one of the same events, however the rows lie and are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pytest

import cepkit as ck
from benchmarks.streams import zipf_events
from cepkit.pattern.parsing.parser import parse
from cepkit.spark.profile.statistics import profile
from cepkit.statistics.model import Statistics
from cepkit.stream.stream import Stream
from cepkit.stream.warnings import StreamWarning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = """PATTERN SEQ(T01 a, T02 b, T10 c)
          WHERE a.price < b.price AND b.price < c.price AND a.diff > 0 WITHIN 1 second"""


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """A stream of 30,000 events of 50 types."""
    return zipf_events(30_000, seed=5)


def on_spark(spark: SparkSession, data: pd.DataFrame, **options: str) -> Stream:
    """Return a stream in Spark."""
    return ck.events(spark.createDataFrame(data), time="ts", type="type", **options)


def assert_close(found: Statistics, expected: Statistics, tolerance: float) -> None:
    """Assert equal counts and shares that differ little."""
    assert found.rates == pytest.approx(expected.rates, rel=1e-6)
    assert found.filters == pytest.approx(expected.filters, abs=tolerance)
    assert found.selectivities.keys() == expected.selectivities.keys()
    for names, share in found.selectivities.items():
        assert share.share == pytest.approx(expected.selectivities[names].share, abs=tolerance)
    assert (found.events, found.first, found.last) == (
        expected.events,
        expected.first,
        expected.last,
    )


def test_a_small_stream_is_measured_whole(spark: SparkSession, table: pa.Table) -> None:
    here = ck.profile(ck.events(table, time="ts", type="type"), TEXT)
    there = ck.profile(on_spark(spark, table.to_pandas()), TEXT)
    assert_close(there, here, 0.01)
    assert there.filters == here.filters


def test_rows_that_are_no_events_and_types_that_never_occur(spark: SparkSession) -> None:
    data = pd.DataFrame(
        {
            "ts": [1.0, None, 2.0, 3.0, float("nan")],
            "type": ["T01", "T01", None, "T02", None],
            "price": [1.0, 2.0, 3.0, 4.0, 5.0],
            "diff": 1.0,
        }
    )
    stream = on_spark(spark, data, unit="s")
    with pytest.warns(StreamWarning) as told:
        found = ck.profile(stream, TEXT)
    assert (found.events, found.dropped.null_time, found.dropped.null_type) == (2, 2, 1)
    assert found.never_occurring == ("T10",)
    assert len(told) == 2


def test_an_empty_stream(spark: SparkSession, table: pa.Table) -> None:
    frame = spark.createDataFrame(table.to_pandas()).where("price < 0")
    with pytest.warns(StreamWarning, match="the stream has no events"):
        found = ck.profile(ck.events(frame, time="ts", type="type"), TEXT)
    assert (found.events, found.rates["a"]) == (0, 0.0)


@pytest.mark.parametrize(
    ("time", "zone"),
    [
        *(
            (time, "America/New_York")
            for time in ("timestamp", "wall clock", "nanoseconds", "text")
        ),
        *((time, "UTC") for time in ("wall clock", "seconds", "milliseconds", "text")),
    ],
)
def test_times_of_every_kind(spark: SparkSession, table: pa.Table, time: str, zone: str) -> None:
    data = table.to_pandas()
    instants = data.ts.dt.tz_localize("UTC") if data.ts.dt.tz is None else data.ts
    micros = instants.astype("datetime64[us, UTC]").astype("int64")
    schema: dict[str, str] = {}
    match time:
        case "seconds":
            data["ts"], schema = micros / 1e6, {"unit": "s"}
        case "milliseconds":
            data["ts"], schema = micros // 1000, {"unit": "ms"}
        case "nanoseconds":
            data["ts"], schema = micros * 1000, {"unit": "ns"}
        case "text":
            data["ts"] = instants.dt.strftime("%Y-%m-%d %H:%M:%S.%f")
        case "wall clock":
            data["ts"] = instants.dt.tz_convert("Europe/Copenhagen").dt.tz_localize(None)
            schema = {"timezone": "Europe/Copenhagen"}
        case _:
            data["ts"] = instants
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = spark.createDataFrame(data)
        if time == "wall clock":
            names = [n if n != "ts" else "cast(ts as timestamp_ntz) ts" for n in frame.columns]
            frame = frame.selectExpr(*names)
        stream = ck.events(frame, time="ts", type="type", **schema)
        found = profile(stream, parse(TEXT), sample_events=6000)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    here = ck.profile(ck.events(table, time="ts", type="type"), TEXT)
    assert abs(found.first - here.first) < 1000
    assert abs(found.last - here.last) < 1000
    assert found.rates == pytest.approx(here.rates, rel=1e-4)
    # A sample taken at other times than Spark was asked for would be all but empty.
    assert found.selectivity("a", "b") == pytest.approx(here.selectivity("a", "b"), abs=0.1)
    assert found.selectivities[frozenset("ab")].pairs > 500
