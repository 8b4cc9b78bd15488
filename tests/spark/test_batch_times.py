"""Times of every kind are on Spark the same as locally, in any zone of the session."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cepkit.columnar.results.matches import Matches
from cepkit.pattern.parsing.parser import parse
from cepkit.spark.matches.detect import detect
from cepkit.stream.stream import events
from tests.spark.test_batch_matches import plan_of

# About the change of clocks in Copenhagen in autumn, before 1970, and to the microsecond.
BASE = [
    *("2024-10-27T00:30:00", "2024-10-27T00:59:59.999999", "2024-10-27T01:00:00"),
    *("2024-10-27T01:30:00", "2024-10-27T02:00:00.000001", "2024-10-27T02:30:00"),
    *("1969-12-31T23:59:59.999999", "1970-01-01T00:00:00", "1900-06-01T12:00:00.5"),
]
MOMENTS = np.array([*BASE, *BASE[:3]], dtype="datetime64[us]")
MICROS = MOMENTS.astype(np.int64)
KINDS = {
    "zoned": (pa.array(MOMENTS, pa.timestamp("us", "UTC")), {}),
    "naive": (pa.array(MOMENTS, pa.timestamp("us")), {}),
    "naive in Copenhagen": (
        pa.array(MOMENTS, pa.timestamp("us")),
        {"timezone": "Europe/Copenhagen"},
    ),
    "date": (pa.array(MOMENTS.astype("datetime64[D]")), {}),
    "date far away": (pa.array(MOMENTS.astype("datetime64[D]")), {"timezone": "-11:00"}),
    "milliseconds": (pa.array(MICROS // 1000), {"unit": "ms"}),
    "nanoseconds": (pa.array(MICROS * 1000 + 999), {"unit": "ns"}),
    "seconds as floats": (pa.array(MICROS / 1e6), {"unit": "s"}),
    "seconds as decimals": (
        pa.array([Decimal(int(m)) / 1_000_000 for m in MICROS], pa.decimal128(20, 6)),
        {"unit": "s"},
    ),
    "texts": (pa.array([str(m) for m in MOMENTS]), {}),
    "texts in Copenhagen": (
        pa.array([f"{m}" if i % 2 else f"{m}+05:30" for i, m in enumerate(MOMENTS)]),
        {"timezone": "Europe/Copenhagen"},
    ),
}
QUERY = parse("""PATTERN AND(A a, B b)
    WHERE abs(b.t - a.t) <= 75 minutes AND (b.t - a.t < 1 hour OR a.t > '1990-01-01')
    WITHIN 90 minutes""")


@pytest.fixture(params=["America/New_York", "Asia/Kolkata"])
def zoned(spark, request):
    """The session, its clocks somewhere else."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


def pairs(frame) -> set[tuple[int, int]]:
    return {(a["id"], b["id"]) for a, b in zip(frame["a"], frame["b"], strict=True)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_time(zoned, tmp_path, kind):
    times, options = KINDS[kind]
    ids = list(range(len(times)))
    table = pa.table({"id": ids, "t": times, "kind": ["A", "B", "B"] * (len(ids) // 3)})
    local = Matches(events(table, time="t", type="kind", **options), QUERY, plan_of(QUERY))
    expected = pairs(local.to_pandas(nested=True))
    assert expected
    path = str(tmp_path / "e.parquet")
    pq.write_table(table, path, row_group_size=5)
    frame = zoned.read.parquet(path)
    for source, seconds in ((frame, None), (frame.where("id >= 0"), 1800)):
        stream = events(source, time="t", type="kind", **options)
        matches = detect(stream, QUERY, plan_of(QUERY), slice_seconds=seconds)
        assert pairs(matches.toArrow().to_pandas()) == expected, matches.route


def test_start_and_end_are_values_of_the_time_column(zoned):
    noon = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    table = pa.table({"t": [noon, noon + dt.timedelta(seconds=1)], "kind": ["A", "B"]})
    stream = events(zoned.createDataFrame(table), time="t", type="kind")
    matches = detect(stream, QUERY, plan_of(QUERY))
    seconds = matches.selectExpr("unix_seconds(match_start)", "unix_seconds(b.t)").collect()
    assert [tuple(row) for row in seconds] == [(int(noon.timestamp()), int(noon.timestamp()) + 1)]


@pytest.mark.parametrize("kind", ["int", "double", "boolean", "date", "decimal(5,2)"])
def test_types_of_every_kind_are_found_as_texts(spark, kind):
    frame = spark.range(40).selectExpr("id AS t", f"CAST(id % 3 AS {_via(kind)}) AS kind")
    if kind == "date":
        frame = frame.selectExpr("t", "date_add(DATE'2024-01-01', CAST(kind AS int)) AS kind")
    names = {"int": "1", "double": "1", "boolean": "true", "date": "2024-01-02"}
    name = names.get(kind, "1.00")
    query = parse(f"PATTERN SEQ('{name}' a, '{name}' b) WITHIN 3 s")
    local = events(pa.Table.from_pandas(_plain(frame)), time="t", type="kind", unit="s")
    expected = Matches(local, query, plan_of(query)).count()
    stream = events(frame, time="t", type="kind", unit="s")
    assert detect(stream, query, plan_of(query)).count() == expected > 0


def _via(kind: str) -> str:
    return "int" if kind == "date" else kind


def _plain(frame) -> pd.DataFrame:
    return frame.toPandas()
