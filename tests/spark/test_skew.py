"""Streams with nearly all events in one key, or at one moment: all matches are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import cepkit as ck
from tests.spark.live import identities, in_batch, make_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATTERNS = {
    "partition": "PATTERN SEQ(A a, B b, C c) WITHIN 150 ms PARTITION BY key",
    "equal keys": "PATTERN SEQ(A a, B b, C c) WHERE a.key = b.key AND b.key = c.key WITHIN 150 ms",
}
EVEN = make_events(3_000, keys=40, disorder=0)


def one_heavy_key() -> pa.Table:
    """Return the stream with nine of ten events under one key."""
    keys = np.where(np.random.default_rng(1).random(len(EVEN)) < 0.9, 7, np.asarray(EVEN["key"]))
    return EVEN.set_column(EVEN.column_names.index("key"), "key", pa.array(keys))


def one_burst() -> pa.Table:
    """Return the stream with nine of ten events in a tenth of the time."""
    ts = np.asarray(EVEN["ts"].cast(pa.int64()))
    begin, span = ts[0], ts[-1] - ts[0]
    burst = begin + span // 2 + (ts - begin) // 10
    moved = np.where(np.random.default_rng(1).random(len(ts)) < 0.9, burst, ts)
    order = np.argsort(moved, kind="stable")
    times = pa.array(moved[order], EVEN["ts"].type)
    return EVEN.take(pa.array(order)).set_column(EVEN.column_names.index("ts"), "ts", times)


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
def test_a_heavy_key_is_cut_by_time_and_even_ones_are_not(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    # As if events were next to nothing beside the search, as in a stream that is large enough.
    monkeypatch.setattr("cepkit.spark.cells.layout._SECONDS_AN_EVENT", 1e-9)
    for table, cut in ((one_heavy_key(), True), (EVEN, False)):
        stream = ck.events(spark.createDataFrame(table).repartition(3), time="ts", type="type")
        plan = ck.choose_plan(text, ck.profile(stream, text))
        matches = ck.detect(stream, text, plan)
        assert ("time slices" in matches.route) == cut, matches.route
        assert identities(matches.toArrow()) == in_batch(table, text)


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
def test_a_burst_is_searched_as_a_whole(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("cepkit.spark.cells.layout._SECONDS_AN_EVENT", 1e-9)
    table = one_burst()
    stream = ck.events(spark.createDataFrame(table).repartition(3), time="ts", type="type")
    matches = ck.detect(stream, text)
    assert identities(matches.toArrow()) == in_batch(table, text)
    assert matches.count() == len(in_batch(table, text))
