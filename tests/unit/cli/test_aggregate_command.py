"""`cepkit aggregate` gives the rows of `ck.aggregate`."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

TOTAL = "PATTERN SEQ(MSFT a, GOOG b, AAPL c) WITHIN 1 hour AGG COUNT, MAX(b.price)"


def test_the_first_rows_and_their_number_are_printed(on_stocks):
    text = "PATTERN SEQ(MSFT a, GOOG b) WITHIN 1 hour AGG COUNT, MAX(b.price)"
    ran = on_stocks("aggregate", "--pattern-text", text)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0].split() == ["ts", "count", "max(b.price)", "new_matches"]
    assert "more; --out FILE writes them all" in ran.out
    assert "STARTs live at once" in ran.out


@pytest.mark.parametrize("method", ["auto", "window-product", "detect"])
def test_every_method_gives_the_same_total(on_stocks, method):
    ran = on_stocks("aggregate", "--pattern-text", TOTAL, "--emit", "total", "--method", method)
    assert ran.out.splitlines()[1].split() == ["4282", "30.57"]
    assert "\n1 row in" in ran.out


def test_rows_are_written(on_stocks):
    query = f"{TOTAL} GROUP BY volume"
    ran = on_stocks("aggregate", "--pattern-text", query, "--out", "a.parquet")
    assert "written to a.parquet" in ran.out
    table = pq.read_table("a.parquet")
    assert table.column_names == ["ts", "volume", "count", "max(b.price)", "new_matches"]
    on_stocks("aggregate", "--pattern-text", query, "--out", "a.csv")
    assert pa_csv.read_csv("a.csv").num_rows == len(table) > 0


def test_json_tells_the_method(on_stocks):
    found = json.loads(
        on_stocks("aggregate", "--pattern-text", TOTAL, "--emit", "total", "--json", "-").out
    )
    assert (found["rows"], found["out"]) == (1, None)
    assert found["method"] in ("prefix-counters", "window-product")
    assert found["first_rows"] == [{"count": 4282, "max(b.price)": 30.57}]


def test_aggregates_of_values_of_matches_are_totals(on_stocks):
    asked = "MEDIAN(c.ts - a.ts), P95(c.price - a.price), COUNT(DISTINCT a.volume)"
    query = TOTAL.replace("COUNT, MAX(b.price)", asked)
    ran = on_stocks("aggregate", "--pattern-text", query, "--emit", "total")
    assert "by detect (values of matches)" in ran.out
    assert ran.out.splitlines()[0].split("  ")[0] == "median(c.ts - a.ts)"
    on_stocks("aggregate", "--pattern-text", query, "--emit", "total", "--out", "a.csv")
    assert pa_csv.read_csv("a.csv").column(0)[0].as_py().startswith("PT")
    ran = on_stocks("aggregate", "--pattern-text", query)
    assert "--emit 'total' gives it of all matches" in ran.err


OTHER = "PATTERN SEQ(MSFT a, GOOG b, AAPL c) WITHIN 1 hour AGG SUM(c.volume), COUNT"


def test_several_patterns_are_aggregated_under_their_names(on_stocks):
    both = ("--pattern-text", TOTAL, "--pattern-text", OTHER, "--emit", "total")
    ran = on_stocks("aggregate", *both)
    alone = json.loads(
        on_stocks("aggregate", "--pattern-text", OTHER, "--emit", "total", "--json", "-").out
    )
    assert "pattern 1: 1 row\n" in ran.out
    assert "pattern 2: 1 row\n" in ran.out
    saved = json.loads(on_stocks("aggregate", *both, "--json", "-").out)
    assert saved["rows"] == 2
    assert saved["first_rows"]["pattern 2"] == alone["first_rows"]


def test_one_file_has_the_rows_of_several_patterns(on_stocks):
    both = ("--pattern-text", TOTAL, "--pattern-text", OTHER, "--emit", "total")
    on_stocks("aggregate", *both, "--out", "rows.csv")
    rows = pd.read_csv("rows.csv")
    assert list(rows["pattern"]) == ["pattern 1", "pattern 2"]
    assert list(rows["max(b.price)"].notna()) == [True, False]
    assert list(rows["sum(c.volume)"].notna()) == [False, True]


def test_a_pattern_without_agg_is_an_error_with_a_hint(on_stocks):
    ran = on_stocks("aggregate")
    assert ran.code == 1
    assert "no AGG" in ran.err
    assert "Hint: add AGG COUNT" in ran.err
