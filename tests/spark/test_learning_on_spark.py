"""Patterns learned from a Spark stream."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import UnsupportedError
from tests.unit.learning.test_learn import FRAME, INCIDENTS


def test_proposals_are_the_local_ones(spark):
    frame = spark.createDataFrame(FRAME).repartition(3)
    options = {"by": "machine", "progress": False}
    here = ck.learn(ck.events(FRAME, time="t", type="type", unit="s"), INCIDENTS, **options)
    there = ck.learn(ck.events(frame, time="t", type="type", unit="s"), INCIDENTS, **options)
    assert there.proposals == here.proposals
    assert there.best.f1 > 0.85


def test_streaming_frame_is_refused_by_name(spark, tmp_path):
    times = pd.to_datetime(FRAME["t"][:10], unit="s", utc=True).astype("datetime64[us, UTC]")
    FRAME[:10].assign(t=times).to_parquet(tmp_path / "e.parquet")
    schema = spark.read.parquet(str(tmp_path)).schema
    frame = spark.readStream.schema(schema).parquet(str(tmp_path))
    stream = ck.events(frame, time="t", type="type", lateness="1 minute")
    with pytest.raises(UnsupportedError, match="stream"):
        ck.learn(stream, INCIDENTS)
