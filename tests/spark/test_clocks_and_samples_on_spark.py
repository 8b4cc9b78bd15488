"""Uncertain clocks over a DataFrame of Spark: as here; a stream without an end is refused."""

from __future__ import annotations

import pytest

import cepkit as ck
from cepkit.errors import LimitError, UnsupportedError
from cepkit.stream.warnings import StreamWarning
from tests.spark.live import make_events

TEXT = "PATTERN SEQ(A a, NOT(C x), B b) WHERE a.key = b.key AND x.key = a.key WITHIN 1 second"


def test_counts_are_the_local_ones(spark):
    table = make_events(2_000)
    frame = spark.createDataFrame(table.to_pandas()).repartition(3)
    counts = [
        ck.detect(ck.events(rows, time="ts", type="type"), TEXT, clock_error="20 ms").counts()
        for rows in (table, frame)
    ]
    assert counts[0].to_dict() == counts[1].to_dict()
    assert counts[0].min() > 0


def test_streaming_frame_is_refused(spark, tmp_path):
    spark.createDataFrame(make_events(20).to_pandas()).write.parquet(str(tmp_path / "in"))
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    frame = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    stream = ck.events(frame, time="ts", type="type", lateness="1 second")
    with pytest.raises(UnsupportedError, match="clock_error= with a streaming DataFrame"):
        ck.detect(stream, TEXT, clock_error="20 ms")


def test_samples_and_estimates_are_the_local_ones(spark):
    table = make_events(2_000)
    frame = spark.createDataFrame(table.to_pandas())
    text = "PATTERN SEQ(A a, B b) WHERE a.key = b.key WITHIN 1 second"
    found = []
    for rows in (table, frame):
        stream = ck.events(rows, time="ts", type="type")
        estimate = ck.aggregate(stream, f"{text} AGG COUNT", error=0.1).to_pandas()
        found.append((ck.detect(stream, text, sample=20).count(), estimate["count"].tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("option", "verb", "text", "value"),
    [
        ("clock_error", ck.detect, TEXT, "20 ms"),
        ("sample", ck.detect, TEXT, 5),
        ("error", ck.aggregate, f"{TEXT} AGG COUNT", 0.1),
    ],
)
def test_frame_too_large_to_fetch_is_refused_by_the_name_of_the_option(
    spark, monkeypatch, option, verb, text, value
):
    stream = ck.events(spark.createDataFrame(make_events(200).to_pandas()), time="ts", type="type")
    monkeypatch.setattr("cepkit.spark.fetching.free_memory", lambda: 1_000)
    with pytest.raises(LimitError, match="MB in this process") as refusal:
        verb(stream, text, **{option: value})
    assert refusal.value.hint.startswith(f"{option}= fetches them: filter the DataFrame")
    if verb is ck.detect:
        with pytest.raises(UnsupportedError, match=f"{option}= with route='workers'"):
            verb(stream, text, spark=ck.SparkOptions(route="workers"), **{option: value})


def test_count_of_more_than_a_minute_names_the_estimate(spark, monkeypatch):
    monkeypatch.setattr("cepkit.columnar.results.reports._LONG", 0.0)
    stream = ck.events(spark.createDataFrame(make_events(500).to_pandas()), time="ts", type="type")
    matches = ck.detect(stream, TEXT, spark=ck.SparkOptions(route="workers"))
    with pytest.warns(StreamWarning, match="error=0.02"):
        matches.count()
