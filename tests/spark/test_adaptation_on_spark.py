"""On Spark each task plans the slices of its cells by itself."""

from __future__ import annotations

import pytest

import cepkit as ck
from benchmarks.streams import drifting_events
from cepkit.columnar.results.plans import AdaptedExplanation
from cepkit.errors import UnsupportedError

TEXT = "PATTERN SEQ(T1 a, T2 b, T3 c) WHERE a.diff + 1 < b.diff AND b.diff < c.diff WITHIN 1 s"
TABLE = drifting_events(30_000, weights=(1, 100, 100), segment=10_000, seed=1)


def test_plans_by_slices_find_the_matches_of_one_plan(spark):
    local = ck.events(TABLE, time="ts", type="type")
    stream = ck.events(spark.createDataFrame(TABLE), time="ts", type="type")
    expected = ck.detect(local, TEXT)
    matches = ck.detect(stream, TEXT, adapt="slices", spark=ck.SparkOptions(slice_seconds=60))
    assert matches.count() == expected.count() > 0
    explained = matches.explain()
    assert isinstance(explained, AdaptedExplanation)
    assert matches.plans.switches > 0
    assert sum(s.events for s in matches.plans.stretches) > 0
    static = sum(step.candidates for step in expected.explain().steps)
    assert sum(step.candidates for step in explained.steps) < static


def test_decision_that_needs_slices_in_order_is_refused(spark):
    stream = ck.events(spark.createDataFrame(TABLE), time="ts", type="type")
    with pytest.raises(UnsupportedError, match="one after the other") as refused:
        ck.detect(stream, TEXT, adapt="invariants")
    assert "adapt='slices'" in refused.value.hint
