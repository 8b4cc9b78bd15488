"""Groups that repeat on Spark: the same rows, aggregates and profile as here."""

from __future__ import annotations

import pytest

import cepkit as ck
from cepkit.errors import UnsupportedError
from tests.spark.live import KEYED, PATTERNS, Live, identities, in_batch, make_events
from tests.spark.test_returned_on_spark import in_any_order

GROUP = PATTERNS["a group that repeats"]
BY_EQUALITY = (
    f"PATTERN SEQ(KL(SEQ(A a, B b)){{1,2}}, C c) WHERE {KEYED} AND a[last].price < c.price"
    " WITHIN 1 second"
)


@pytest.mark.parametrize("text", [GROUP, BY_EQUALITY], ids=["a partition", "equal keys"])
def test_spark_finds_each_number_of_repetitions(spark, text):
    table = make_events(4_000)
    frame = spark.createDataFrame(table).repartition(3)
    stream = ck.events(frame, time="ts", type="type")
    matches = ck.detect(stream, text, spark=ck.SparkOptions(route="workers"))
    expected = in_batch(table, text)
    assert identities(matches.toArrow()) == expected
    assert matches.count() == len(expected) > 50
    asked = f"{text} RETURN a.id AS ids, b[last].price AS last, count(a) AS n, avg(b.price) AS mean"
    here = ck.detect(ck.events(table, time="ts", type="type"), asked).to_arrow()
    assert in_any_order(
        ck.detect(stream, asked, spark=ck.SparkOptions(route="workers")).toArrow()
    ) == in_any_order(here)
    whole = f"{text} AGG COUNT, COUNT(a), SUM(b.id)"
    total = ck.aggregate(stream, whole, emit="total").toPandas().iloc[0].tolist()
    local = ck.aggregate(ck.events(table, time="ts", type="type"), whole, emit="total")
    assert total == local.to_pandas().iloc[0].tolist()


def test_spark_measures_a_group_and_finds_several_patterns(spark):
    table = make_events(4_000)
    stream = ck.events(spark.createDataFrame(table), time="ts", type="type")
    assert "a[2]: A" in str(ck.profile(stream, GROUP))
    queries = {"group": GROUP, "once": "PATTERN SEQ(A a, B b) WITHIN 50 ms PARTITION BY key"}
    expected = ck.detect(ck.events(table, time="ts", type="type"), queries).together.to_arrow()
    assert in_any_order(ck.detect(stream, queries).together.toArrow()) == in_any_order(expected)


def test_timeouts_of_a_group_are_refused(spark, tmp_path):
    live = Live(spark, tmp_path)
    live.put(make_events(100))
    for text in (GROUP, "PATTERN KL(SEQ(A a, B b)){2} WITHIN 1 second PARTITION BY key"):
        with pytest.raises(UnsupportedError, match="timeouts of such a pattern"):
            ck.detect(live.events(lateness="3 seconds"), text, spark=ck.SparkOptions(timeouts=True))
