"""Streams without types on Spark, and kinds of DEFINE over them."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest

import cepkit as ck
from cepkit.errors import PatternError
from cepkit.stream.warnings import StreamWarning
from tests.spark.live import Live, identities, make_events, sealed, times

TEXT = """DEFINE cheap AS price < 20, dear AS price > 80 AND type != 'E'
PATTERN SEQ(cheap a, NOT(dear x), dear b) WHERE a.key = b.key AND x.key = a.key
WITHIN 2 seconds"""
COUNTED = """DEFINE cheap AS price < 20, dear AS price > 80
PATTERN SEQ(cheap a, dear b) WITHIN 1 second PARTITION BY key"""

CALLED_A = "DEFINE of 'A', which is a type of the stream"


@pytest.fixture
def live(spark, tmp_path):
    return Live(spark, tmp_path)


def _ids(matches):
    frame = matches.to_pandas()
    return sorted(zip(frame["a.id"], frame["b.id"], strict=True))


def test_batch_without_types_has_the_local_matches(spark):
    table = make_events(5_000)
    local = ck.events(table, time="ts")
    frame = spark.createDataFrame(table.to_pandas()).repartition(3)
    stream = ck.events(frame, time="ts")
    expected = _ids(ck.detect(local, TEXT))
    assert len(expected) > 100
    for spark_options in (None, ck.SparkOptions(route="workers", slice_seconds=2)):
        matches = ck.detect(stream, TEXT, spark=spark_options)
        assert _ids(matches) == expected
        assert matches.timeline(1)["type"].tolist() == ["event", "event"]
    measured, here = ck.profile(stream, TEXT), ck.profile(local, TEXT)
    assert measured.events == here.events == len(table)
    assert not measured.dropped
    counts = f"{COUNTED} AGG COUNT"
    on_spark = ck.aggregate(stream, counts).to_pandas()
    assert sorted(on_spark["count"]) == sorted(ck.aggregate(local, counts).to_pandas()["count"])
    misses = ck.why_not(stream, TEXT.replace("> 80", "> 101")).near_misses
    assert misses


def test_stream_without_types_has_the_matches_of_the_batch(live):
    table = make_events(3_000)
    live.put(table, 1_500)
    live.run(ck.detect(live.events(type=None, lateness="3 seconds"), TEXT))
    batch = ck.detect(ck.events(table, time="ts"), TEXT).to_arrow()
    expected = batch.filter(pa.array(times(batch, "match_end") <= sealed(table, 3)))
    assert len(expected) > 20
    assert identities(live.result()) == identities(expected)


def test_kind_called_like_a_type_of_a_stream_on_spark_is_refused(spark):
    frame = spark.createDataFrame(make_events(500).to_pandas())
    stream = ck.events(frame, time="ts", type="type")
    text = "DEFINE A AS price < 20 PATTERN SEQ(A a, ANY b) WHERE a.key = b.key WITHIN 2 seconds"
    for spark_options in (None, ck.SparkOptions(route="workers")):
        with pytest.raises(PatternError, match=CALLED_A):
            ck.detect(stream, text, spark=spark_options).count()
    with pytest.raises(PatternError, match=CALLED_A):
        ck.profile(stream, text)
    given = {"plan": ["b", "a"], "spark": ck.SparkOptions(route="workers")}
    with pytest.raises(PatternError, match=CALLED_A):  # by the tasks, which see the types
        ck.detect(stream, text, **given).count()


def test_kind_with_the_name_of_a_streaming_type_fails_when_the_type_comes(live):
    live.put(make_events(300), 100)
    text = "DEFINE A AS price < 20 PATTERN SEQ(A a, ANY b) WHERE a.key = b.key WITHIN 2 seconds"
    with pytest.raises(Exception, match=CALLED_A):
        live.run(ck.detect(live.events(lateness="3 seconds"), text))


IN_MILLISECONDS = pa.table(
    {
        "ts": [1_700_000_000_000 + i // 2 * 1_000 for i in range(400)],
        "k": ["A", "B"] * 200,
        "n": [i // 2 for i in range(400)],
    }
)
SAME = "PATTERN SEQ(A a, B b) WHERE a.n = b.n WITHIN 5 seconds"


def _warnings(session, unit, **options):
    """Return the texts of all warnings of a detection on Spark, as one."""
    frame = session.createDataFrame(IN_MILLISECONDS.to_pandas()).repartition(2)
    stream = ck.events(frame, time="ts", type="k", unit=unit)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ck.detect(stream, SAME, **options).count()
    return "\n".join(str(each.message) for each in caught)


@pytest.mark.parametrize("route", ["auto", "driver", "workers"])
@pytest.mark.parametrize("plan", [None, ["b", "a"]])
def test_unit_that_does_not_fit_is_warned_of(spark, route, plan):
    options = {"spark": ck.SparkOptions(route=route), "plan": plan}
    assert "unit='ms' makes it 2023" in _warnings(spark, "s", **options)
    assert "the year" not in _warnings(spark, "ms", **options)


@pytest.mark.parametrize("route", ["auto", "driver", "workers"])
def test_ties_are_warned_of(spark, route):
    said = _warnings(spark, "ms", spark=ck.SparkOptions(route=route))
    assert "have the same time, as at 2023" in said


def test_profile_warns_of_unit_that_does_not_fit(spark):
    frame = spark.createDataFrame(IN_MILLISECONDS.to_pandas())
    stream = ck.events(frame, time="ts", type="k", unit="s")
    with pytest.warns(StreamWarning, match="unit='ms' makes it 2023"):
        ck.profile(stream, SAME)
