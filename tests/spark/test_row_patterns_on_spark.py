"""MATCH_RECOGNIZE on Spark gives the rows of memory per partition, and refuses the rest."""

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import PatternError, UnsupportedError

SQL = """SELECT * FROM prices MATCH_RECOGNIZE (
    PARTITION BY ticker ORDER BY ts
    MEASURES MATCH_NUMBER() AS number, FIRST(ts) AS began, LAST(down.price) AS bottom,
        AVG(up.price) AS mean, CLASSIFIER() AS label
    {form} AFTER MATCH SKIP TO LAST up PATTERN (start_ down+ up+)
    DEFINE down AS price < PREV(price),
        up AS price > PREV(price) AND up.price < start_.price * 2)"""


@pytest.fixture(scope="module")
def frame():
    prices = [9, 7, 8, 6, 5, 30, 4, 3, 9, None, 4, 2, 6]
    made = pd.DataFrame({"price": prices * 3, "ticker": list("abc") * len(prices)})
    made["ts"] = pd.date_range("2024-03-04", periods=len(made), freq="s", tz="UTC", unit="us")
    made.loc[made.index % 7 == 3, "ticker"] = None
    return made


@pytest.mark.parametrize("form", ["ONE ROW PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"])
def test_partitions_are_matched_as_in_memory(spark, frame, form):
    sql = SQL.format(form=form)
    here = ck.from_match_recognize(sql, frame)
    there = ck.from_match_recognize(sql, spark.createDataFrame(frame).repartition(4))
    assert there.columns == here.schema.names
    order = [name for name in ("ticker", "number", "ts") if name in there.columns]
    expected, found = (
        rows.to_pandas().sort_values(order).reset_index(drop=True) for rows in (here, there)
    )
    assert len(expected) > 4
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert "by one task" in there.explain()


def test_unsupported_clauses_and_wrong_columns_are_refused_by_name(spark, frame):
    rows = spark.createDataFrame(frame)
    whole = SQL.format(form="").replace("PARTITION BY ticker", "")
    with pytest.raises(UnsupportedError, match="without PARTITION BY on Spark"):
        ck.from_match_recognize(whole, rows)
    with pytest.raises(UnsupportedError, match="ORDER BY or LIMIT around"):
        ck.from_match_recognize(SQL.format(form="") + " LIMIT 3", rows)
    with pytest.raises(PatternError, match="no column 'prise'"):
        ck.from_match_recognize(SQL.format(form="").replace("PREV(price)", "PREV(prise)"), rows)
    stuck = SQL.format(form="").replace("TO LAST up", "TO FIRST start_")
    with pytest.raises(PatternError, match="is the first row of the match itself"):
        ck.from_match_recognize(stuck, rows).to_pandas()
