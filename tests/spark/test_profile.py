"""Statistics measured on Spark: those of the local profile, for any order of the rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cepkit as ck
from benchmarks.streams import zipf_events
from cepkit.pattern.parsing.parser import parse
from cepkit.spark.profile.statistics import profile
from cepkit.statistics.measuring.estimate import estimate
from cepkit.statistics.stream_counts import attributes_read
from cepkit.stream.columns import Dropped
from cepkit.stream.stream import events

TABLE = zipf_events(60_000, types=20, keys=50)
TEXT = "PATTERN SEQ(T01 a, T02 b, T03 c) WHERE a.price < b.price AND b.diff < c.diff AND c.key < 10"
WINDOWS = {"1 s": " WITHIN 1 s", "keyed": " WITHIN 20 s PARTITION BY key", "no window": ""}


def local(table, query, **options):
    stream = events(table, **{"time": "ts", "type": "type", **options})
    return estimate(stream.columns(attributes_read(query)), query)


@pytest.mark.parametrize("window", WINDOWS)
def test_a_sample_agrees_with_the_whole(spark, window):
    query = parse(TEXT + WINDOWS[window])
    stream = events(spark.createDataFrame(TABLE).repartition(3), time="ts", type="type")
    exact = local(TABLE, query)
    found = profile(stream, query, sample_events=12_000)
    assert dict(found.rates) == pytest.approx(dict(exact.rates))
    assert (found.events, found.first, found.last) == (exact.events, exact.first, exact.last)
    assert found.same_key == pytest.approx(exact.same_key)
    assert found.filters["c"] == pytest.approx(exact.filters["c"], rel=0.2)
    assert found.selectivities.keys() == exact.selectivities.keys()
    for names, share in found.selectivities.items():
        low, high = share.interval()
        assert low - 0.02 < exact.selectivities[names].share < high + 0.02


def test_same_seed_gives_the_same_statistics_for_any_row_order(spark):
    query = parse(TEXT + " WITHIN 1 s")
    ties = TABLE.set_column(0, "ts", TABLE["ts"].cast(pa.timestamp("s", "UTC"), safe=False))
    mixed = ties.take(pa.array(np.random.default_rng(1).permutation(len(ties))))
    found = [
        profile(
            events(spark.createDataFrame(table).repartition(parts), time="ts", type="type"),
            query,
            seed=seed,
            sample_events=10_000,
        )
        for table, parts, seed in ((ties, 1, 5), (mixed, 4, 5), (ties, 1, 6))
    ]
    assert found[0] == found[1] != found[2]


def test_profile_counts_dropped_rows_and_types_that_never_occur(spark):
    table = pa.table(
        {
            "t": ["2024-03-01T10:00:00", "2024-03-01T11:00:00+02:00", "", None, "2024-03-02"],
            "kind": ["A", "B", "A", "A", None],
        }
    )
    query = parse("PATTERN SEQ(A a, B b, Z z) WITHIN 1 h")
    roles = {"time": "t", "type": "kind", "timezone": "UTC"}
    exact = local(table, query, **roles)
    found = profile(events(spark.createDataFrame(table), **roles), query)
    assert found == exact
    assert found.dropped == Dropped(2, 1)
    assert found.never_occurring == ("Z",)


def test_patterns_together(spark):
    texts = [
        "PATTERN SEQ(T01 a, T02 b) WHERE a.key = b.key WITHIN 1 s",
        "PATTERN SEQ(T03 b, T02 a) WHERE a.key < 10 WITHIN 1 s",
        "PATTERN SEQ(T02 b, T01 a) WHERE a.key = b.key WITHIN 2 s PARTITION BY key",
    ]
    table = TABLE.slice(0, 5_000)
    stream = events(spark.createDataFrame(table), time="ts", type="type")
    together = ck.profile(stream, texts)
    for query in map(parse, texts):
        bound, alone = together.of(query), local(table, query)
        assert bound.selectivities == alone.selectivities
        assert (bound.rates, bound.filters) == (alone.rates, alone.filters)
        assert bound.same_key == pytest.approx(alone.same_key)
        assert ck.choose_plan(query, together).statistics == bound
