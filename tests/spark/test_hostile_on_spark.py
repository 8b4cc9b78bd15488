"""Results on Spark are shown in notebooks with every name and value as text."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

import cepkit as ck
from cepkit.aggregation.semirings.functions import Count
from cepkit.columnar.results.several import SeveralMatches
from cepkit.routes.result import SeveralAggregates
from cepkit.spark.matches.result import SparkMatches
from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.row_patterns import SparkRowMatches
from cepkit.spark.streaming.ending import ended_rows
from cepkit.spark.streaming.explanation import LiveStep, StreamExplanation
from cepkit.spark.streaming.result import StreamFrame
from cepkit.spark.streaming.watching import Watched
from tests.unit.figures.hostile import EVIL, quoted
from tests.unit.figures.test_hostile_texts import check_output, classes

STRUCTURE = f"PATTERN SEQ({quoted(f'{EVIL}A')} {quoted(f'{EVIL}a')}, B b) WITHIN 5 s"


@pytest.fixture
def stream(spark):
    kinds = [f"{EVIL}A", "B"] * 4
    frame = pd.DataFrame({"ts": range(8), "kind": kinds, "g": [f"{EVIL}{i % 2}" for i in range(8)]})
    return ck.events(spark.createDataFrame(frame), time="ts", type="kind", unit="s")


@pytest.fixture(params=["false", "true"], ids=["lazy", "eager"])
def eager(spark, request):
    """Whether Spark shows the rows of a result where it is shown."""
    name = "spark.sql.repl.eagerEval.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, request.param)
    yield
    spark.conf.set(name, before)


@pytest.fixture
def live(spark, tmp_path):
    kinds = [f"{EVIL}A", "B"]
    frame = pd.DataFrame({"ts": pd.to_datetime([1, 2], unit="s"), "kind": kinds, "g": kinds})
    files = spark.createDataFrame(frame)
    files.write.parquet(str(tmp_path / "files"))
    rows = spark.readStream.schema(files.schema).parquet(str(tmp_path / "files"))
    return ck.events(rows, time="ts", type="kind", lateness="1 second")


def shown(stream, live):
    counted = f"{STRUCTURE} AGG COUNT GROUP BY g"
    yield ck.detect(stream, STRUCTURE)
    yield ck.detect(stream, {EVIL: STRUCTURE, f"{EVIL}2": STRUCTURE})
    yield ck.aggregate(stream, counted, functions={EVIL: Count()})
    yield ck.aggregate(stream, [counted, counted])
    yield ck.detect(live, STRUCTURE)
    yield ck.detect(live, {EVIL: STRUCTURE})
    yield ck.aggregate(live, counted, functions={EVIL: Count()})
    yield ck.aggregate(live, {EVIL: counted})
    yield ck.from_match_recognize(
        f"""SELECT * FROM {quoted(EVIL)} MATCH_RECOGNIZE (PARTITION BY g
            MEASURES CLASSIFIER() AS {quoted(EVIL)} PATTERN ({quoted(EVIL)}))""",
        stream,
    )
    query = SimpleNamespace(
        name=EVIL, isActive=False, recentProgress=[], exception=lambda: ValueError(EVIL)
    )
    yield ck.detect(live, STRUCTURE).watch(query)
    explanation = StreamExplanation(EVIL, (LiveStep(EVIL, EVIL, EVIL, 2, 1.5, 1, None, 0, False),))
    yield explanation
    yield ended_rows(ck.detect(stream, STRUCTURE).select("*"), EVIL, explanation, None)
    yield ck.detect(stream, STRUCTURE, spark=ck.SparkOptions(route="driver"))
    # Of the events that were fetched.
    yield ck.aggregate(stream, counted, functions={EVIL: Count()})


def test_texts_stay_texts(stream, live, eager):
    kinds = []
    for thing in shown(stream, live):
        check_output(thing._repr_html_())
        # The kind of session gives a class of its own, under the same name.
        kinds.append(type(thing).__name__)
    expected = [
        SparkMatches, SeveralMatches, ResultFrame, SeveralAggregates,
        *[StreamFrame] * 4,
        SparkRowMatches, Watched, StreamExplanation, ResultFrame,
        SparkMatches, ResultFrame,
    ]  # fmt: skip
    assert kinds == [kind.__name__ for kind in expected]
    known = {k.__name__ for k in classes() if k.__module__.startswith("cepkit.spark.")}
    assert known <= set(kinds)
