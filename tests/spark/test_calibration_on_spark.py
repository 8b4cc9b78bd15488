"""Curves of a Spark stream."""

from __future__ import annotations

from datetime import timedelta

import cepkit as ck
from tests.spark.live import make_events

TEXT = (
    "PATTERN SEQ(A a, B b) WHERE b.price - a.price > $k AND b.ts - a.ts <= $t "
    "WITHIN 1 second PARTITION BY key"
)


def test_curve_has_the_local_counts(spark):
    table = make_events(4_000)
    frame = spark.createDataFrame(table.to_pandas()).repartition(3)
    here = ck.events(table, time="ts", type="type")
    there = ck.events(frame, time="ts", type="type")
    labels = table.slice(0, 40).select(["ts", "key"]).to_pandas().rename(columns={"ts": "time"})
    options = {
        "k": [0, 20, 60],
        "t": [timedelta(milliseconds=200), timedelta(seconds=1)],
        "labels": labels,
        "by": "key",
        "tolerance": "1 second",
    }
    local, remote = (ck.calibrate(stream, TEXT, **options) for stream in (here, there))
    assert local.rows == remote.rows
    assert local.runs == remote.runs == 1
    assert local.rows[0].matches > 50
