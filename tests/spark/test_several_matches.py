"""Several queries over a Spark DataFrame: one pass, and the matches of each alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cepkit as ck

PATTERNS = {
    "p": "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 ms",
    "q": "PATTERN SEQ(A u, B v, D w) WHERE u.x < v.x AND w.k = u.k WITHIN 20 ms",
    "r": "PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 20 ms",
    "set": "PATTERN SEQ(A a, KL(E e), B b) WITHIN 5 ms",
    "not": "PATTERN SEQ(A x, NOT(E n), B y, D z) WHERE x.x < y.x WITHIN 10 ms",
    "next": "PATTERN SEQ(A a, B b) WITHIN 10 ms STRATEGY skip-till-next-match",
    "or": "PATTERN OR(SEQ(A a, B b), SEQ(A a2, D d)) WITHIN 2 ms",
    "other set": "PATTERN SEQ(A a, KL(B b), C c) WITHIN 3 ms",
}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    n = 3_000
    moments = pd.to_datetime(np.sort(rng.integers(0, 2_000_000, n)), unit="us")
    return pd.DataFrame(
        {
            "ts": moments,
            "type": rng.choice(list("ABCDE"), n),
            "x": rng.integers(0, 10, n),
            "k": rng.integers(0, 4, n),
        }
    )


def test_one_pass_finds_the_matches_of_each_query_alone(spark, frame):
    local = ck.detect(ck.events(frame, time="ts", type="type"), PATTERNS)
    stream = ck.events(spark.createDataFrame(frame), time="ts", type="type")
    several = ck.detect(stream, PATTERNS, share="prefix", spark=ck.SparkOptions(slice_seconds=0.3))
    expected = local.counts().to_dict()
    assert several.counts().to_dict() == expected
    assert any(len(step.queries) > 1 for step in several.explain().steps)
    together = several.together
    assert together.columns[0] == "pattern"
    assert together.columns[-2:] == ["match_start", "match_end"]
    counted = {
        row["pattern"]: row["count"] for row in together.groupBy("pattern").count().collect()
    }
    assert counted == expected
    rows = dict.fromkeys(PATTERNS, 0)
    for row in together.collect():
        rows[row["pattern"]] += 1
        if row["pattern"] == "p":
            # A set of another query makes lists of the events of this one.
            assert row["a"]["x"] < row["b"][0]["x"]
            assert row["match_start"] == row["a"]["ts"]
    assert rows == expected
    assert several["or"].count() == expected["or"]


def test_limit_applies_to_each_query(spark, frame):
    stream = ck.events(spark.createDataFrame(frame), time="ts", type="type")
    patterns = {name: PATTERNS[name] for name in ("p", "r")}
    several = ck.detect(stream, patterns, {"p": ["a", "b", "c"], "r": ["a", "b"]}, limit=7)
    assert several.counts().to_dict() == {"p": 7, "r": 7}
    assert several.together.count() == 14


def test_a_partition_of_one_query_does_not_part_the_events_of_another(spark, frame, monkeypatch):
    monkeypatch.setattr("cepkit.spark.cells.layout.LEAST_EVENTS", 100)  # so that there are buckets
    patterns = {
        "keyed": "PATTERN SEQ(A a, B b) PARTITION BY k WITHIN 5 ms",
        "not keyed": "PATTERN SEQ(A a, C c) WITHIN 5 ms",
        "in fact": "PATTERN SEQ(A a, C c) WHERE a.k = c.k WITHIN 5 ms",
    }
    expected = ck.detect(ck.events(frame, time="ts", type="type"), patterns).counts().to_dict()
    stream = ck.events(spark.createDataFrame(frame), time="ts", type="type")
    for names in (["keyed", "not keyed"], ["keyed", "in fact"], list(patterns)):
        some = {name: patterns[name] for name in names}
        assert ck.detect(stream, some).counts().to_dict() == {n: expected[n] for n in names}
