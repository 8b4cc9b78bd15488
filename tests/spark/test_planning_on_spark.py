"""Plans of a Spark stream come from its counts and a sample, which the stream keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import cepkit as ck
from benchmarks.streams import zipf_events
from cepkit.pattern.parsing.parser import parse
from cepkit.spark.passes.kept import kept_of
from cepkit.spark.profile.planning import statistics_for_plans
from cepkit.spark.session import warming
from tests.spark.test_profile_details import actions_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = (
    "PATTERN SEQ(T01 a, T02 b, T03 c) WHERE a.key = b.key AND a.price < b.price "
    "AND b.diff < c.diff + 1 WITHIN 4 s"
)
PAIRS = (frozenset("ab"), frozenset("bc"))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return zipf_events(20_000, types=4, keys=60, mean_gap_ms=50, seed=8).to_pandas()


@pytest.fixture
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw 3,000 events where the stream has 20,000."""
    for size in ("EVENTS", "EVENTS_BY_HASH"):
        monkeypatch.setattr(f"cepkit.spark.passes.sample.{size}", 3000)


def stream_of(spark: SparkSession, frame: pd.DataFrame, **options: str) -> ck.Stream:
    return ck.events(spark.createDataFrame(frame), time="ts", type="type", **options)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("window", ["WITHIN 4 s", "", "WITHIN 400 s"])
def test_selectivities_of_samples_are_unbiased(
    spark: SparkSession, frame: pd.DataFrame, window: str
) -> None:
    query = parse(TEXT.replace("WITHIN 4 s", window))
    exact = ck.profile(ck.events(frame, time="ts", type="type"), query)
    stream = stream_of(spark, frame)
    runs = [statistics_for_plans(stream, query, seed=seed) for seed in range(12)]
    design = kept_of(stream).sample.design
    assert not design.whole
    assert (design.begins is None) == (window != "WITHIN 4 s")
    for pair in PAIRS:
        shares = np.array([run.selectivities[pair].share for run in runs])
        spread = shares.std(ddof=1) / np.sqrt(len(runs))
        assert 0 < spread < 0.15 * shares.mean()
        assert abs(shares.mean() - exact.selectivities[pair].share) < 4 * spread
    for run in runs:
        assert run.rates == exact.rates
        assert run.events == exact.events


@pytest.mark.usefixtures("small_samples")
def test_joins_are_sampled_in_slices(spark: SparkSession, frame: pd.DataFrame) -> None:
    query = parse(TEXT)
    exact = ck.profile(ck.events(frame, time="ts", type="type"), query).joins
    stream = stream_of(spark, frame)
    runs = [statistics_for_plans(stream, query, seed=seed).joins for seed in range(8)]
    for names, joined in exact.items():
        mean = np.mean([run[names].in_scope for run in runs])
        assert mean == pytest.approx(joined.in_scope, rel=0.25)


@pytest.mark.usefixtures("small_samples")
def test_further_patterns_take_no_action(
    spark: SparkSession, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warming, "_WARM", {spark})  # what starts workers is no action of a plan
    stream = stream_of(spark, frame)
    workers = ck.SparkOptions(route="workers")

    def plan(text: str) -> int:
        return actions_of(spark, lambda: ck.detect(stream, text, spark=workers))

    assert plan(TEXT) == 2
    assert plan(TEXT) == 0
    assert plan(TEXT.replace("4 s", "5 s").replace("a.price <", "2 * a.price <")) == 0
    assert plan("PATTERN SEQ(T02 b, T03 c) WHERE b.key = c.key WITHIN 1 s") == 0
    assert plan(TEXT.replace("4 s", "9 s")) == 1  # longer than the sample allows
    assert plan(TEXT.replace("T03", "T04")) == 1
    assert plan(TEXT) == 0  # the sample has the types of both
    assert plan(TEXT + " PARTITION BY key") == 1
    assert plan(TEXT + " PARTITION BY key") == 0
    stream.forget()
    assert plan(TEXT) == 2


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("kind", ["wall clock", "text", "seconds"])
def test_times_of_any_kind_are_drawn_alike(
    spark: SparkSession, frame: pd.DataFrame, kind: str
) -> None:
    rows = spark.createDataFrame(frame)
    options = {"timezone": "Asia/Kolkata"}
    if kind == "wall clock":
        rows = rows.selectExpr(
            "to_timestamp_ntz(date_format(ts, 'yyyy-MM-dd HH:mm:ss.SSSSSS')) ts",
            "type",
            "key",
            "price",
            "diff",
        )
    elif kind == "text":
        rows = rows.selectExpr(
            "date_format(ts, 'yyyy-MM-dd HH:mm:ss.SSSSSS') ts", "type", "key", "price", "diff"
        )
    else:
        rows = rows.selectExpr("unix_micros(ts) / 1e6 ts", "type", "key", "price", "diff")
        options = {"unit": "s"}
    query = parse(TEXT)
    known = statistics_for_plans(stream_of(spark, frame), query)
    stream = ck.events(rows, time="ts", type="type", **options)
    assert statistics_for_plans(stream, query).selectivities == known.selectivities
    assert kept_of(stream).sample.table.num_rows == pytest.approx(3000, rel=0.5)


def test_a_small_stream_is_measured_as_a_whole(spark: SparkSession, frame: pd.DataFrame) -> None:
    few = frame.head(2000)
    for text in (TEXT, TEXT + " PARTITION BY key"):
        here = ck.profile(ck.events(few, time="ts", type="type"), text)
        there = statistics_for_plans(stream_of(spark, few), parse(text))
        assert there.selectivities == here.selectivities
        assert there.rates == here.rates
        assert there.same_key == here.same_key
        scopes = [{n: j.in_scope for n, j in found.joins.items()} for found in (here, there)]
        assert scopes[0] == scopes[1]


def test_long_texts_do_not_enlarge_the_sample(
    spark: SparkSession, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cepkit.spark.passes.sample.MOST_BYTES", 200_000)
    long = frame.assign(note="x" * 400)
    stream = stream_of(spark, long)
    text = "PATTERN SEQ(T01 a, T02 b) WHERE a.note = b.note WITHIN 4 s"
    statistics = statistics_for_plans(stream, parse(text))
    assert statistics.selectivities[frozenset("ab")].share == 1.0
    assert kept_of(stream).sample.table.nbytes < 400_000


@pytest.mark.usefixtures("small_samples")
def test_slices_with_too_many_events_are_replaced_by_single_events(
    spark: SparkSession, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cepkit.spark.passes.sample._BURSTS", 0.001)
    query = parse(TEXT)
    exact = ck.profile(ck.events(frame, time="ts", type="type"), query)
    stream = stream_of(spark, frame)
    runs = [statistics_for_plans(stream, query, seed=seed) for seed in range(8)]
    assert kept_of(stream).sample.design.begins is None
    for pair in PAIRS:
        shares = [run.selectivities[pair].share for run in runs]
        assert np.mean(shares) == pytest.approx(exact.selectivities[pair].share, rel=0.3)
