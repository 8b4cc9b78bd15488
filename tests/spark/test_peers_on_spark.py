"""The joins that are measured beside cepkit on Spark count the same matches."""

import pyarrow.parquet as pq
import pytest

import cepkit as ck
from benchmarks.peers import PATTERNS
from benchmarks.spark_peers import NAMES, spark_sql, window_of
from benchmarks.streams import zipf_events


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_joins_in_spark_sql_count_the_matches(spark, tmp_path, name):
    path = tmp_path / "events.parquet"
    pq.write_table(zipf_events(20_000, seed=3), path)
    window = window_of(name, 1.1)
    text = f"{PATTERNS[name].partition('WITHIN')[0]} WITHIN {window // 1000} milliseconds"
    (row,) = spark.sql(spark_sql(name, f"parquet.`{path}`", window)).collect()
    counted = ck.detect(ck.events(path, time="ts", type="type"), text).count()
    assert counted > 0
    assert row[0] == counted
