"""The meaning of MATCH_RECOGNIZE, on a table of prices: two falls and rises of A, one of B."""

from __future__ import annotations

import math

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cepkit as ck
from cepkit.errors import LimitError
from cepkit.rowpattern import search

PRICES = pd.DataFrame(
    {
        "ticker": list("AAAAAAAABBBB"),
        "day": [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4],
        "price": [9, 7, 5, 6, 8, 4, 3, 9, 5, 2, 3, None],
    }
).astype({"price": "Int64"})
FALL_AND_RISE = """PATTERN (start_ down+ up+)
    DEFINE down AS price < PREV(price), up AS price > PREV(price)"""


def rows(clauses, select="*", table=PRICES, around=""):
    sql = f"SELECT {select} FROM prices MATCH_RECOGNIZE ({clauses}) AS m {around}"
    result = ck.from_match_recognize(sql, table)
    assert sum(batch.num_rows for batch in result.batches()) == len(result)
    return [tuple(row.values()) for row in result.to_arrow().to_pylist()]


def by_ticker(clauses, **options):
    return rows(f"PARTITION BY ticker ORDER BY day {clauses}", **options)


def test_default_is_one_row_per_match_without_common_rows():
    measures = "MEASURES start_.day AS a, LAST(down.price) AS low, up.day AS z, COUNT(*) AS n"
    assert by_ticker(f"{measures} {FALL_AND_RISE}") == [
        ("A", 1, 5, 5, 5),
        ("A", 6, 3, 8, 3),
        ("B", 1, 2, 3, 3),
    ]


def test_skip_to_last_lets_a_match_begin_where_another_ends():
    measures = "MEASURES start_.day AS a, up.day AS z AFTER MATCH SKIP TO LAST up"
    assert by_ticker(f"{measures} {FALL_AND_RISE}") == [("A", 1, 5), ("A", 5, 8), ("B", 1, 3)]


def test_all_rows_per_match_has_order_columns_measures_and_the_rest():
    clauses = f"MEASURES CLASSIFIER() AS c, COUNT(up.*) AS n ALL ROWS PER MATCH {FALL_AND_RISE}"
    assert by_ticker(clauses, around="WHERE ticker = 'B'") == [
        ("B", 1, "START_", 0, 5),
        ("B", 2, "DOWN", 0, 2),
        ("B", 3, "UP", 1, 3),
    ]


def test_running_and_final_differ_inside_a_match():
    measures = "MEASURES SUM(price) AS so_far, FINAL SUM(price) AS whole, FINAL LAST(day) AS ends"
    clauses = f"{measures} ALL ROWS PER MATCH {FALL_AND_RISE}"
    found = by_ticker(clauses, select="so_far, whole, ends", around="WHERE ticker = 'B'")
    assert found == [(5, 10, 3), (7, 10, 3), (10, 10, 3)]


def test_excluded_rows_are_matched_but_not_shown():
    pattern = FALL_AND_RISE.replace("down+", "{- down+ -}")
    clauses = f"MEASURES COUNT(*) AS n ALL ROWS PER MATCH {pattern}"
    found = by_ticker(clauses, select="day, n", around="WHERE ticker = 'B'")
    assert found == [(1, 1), (3, 3)]
    assert by_ticker(f"MEASURES COUNT(*) AS n {pattern}") == [("A", 5), ("A", 3), ("B", 3)]


def test_greedy_gives_a_row_back_and_reluctant_takes_no_more_than_it_must():
    defined = "DEFINE b AS day > 1, c AS day > 2"
    last = "ORDER BY day MEASURES LAST(b.day) AS b, c.day AS c PARTITION BY ticker"
    where = {"around": "WHERE ticker = 'B'"}
    assert rows(f"{last} PATTERN (a b+ c) {defined}", **where) == [("B", 3, 4)]
    assert rows(f"{last} PATTERN (a b+? c) {defined}", **where) == [("B", 2, 3)]


def test_an_earlier_alternative_is_taken_although_a_later_one_is_longer():
    assert rows(
        "PARTITION BY ticker ORDER BY day MEASURES COUNT(*) AS n PATTERN (^ (a | a b))"
    ) == [("A", 1), ("B", 1)]


def test_permute_prefers_the_orders_of_its_list():
    clauses = "MEASURES FIRST(CLASSIFIER()) AS f PATTERN (^ PERMUTE(a, b)) DEFINE a AS price > 6"
    assert by_ticker(clauses) == [("A", "A")]
    assert by_ticker(clauses.replace("(a, b)", "(b, a)")) == [("A", "B")]


def test_conditions_read_rows_that_were_mapped_before():
    defined = "DEFINE b AS b.price < LAST(b.price, 1) OR LAST(b.price, 1) IS NULL"
    assert by_ticker(f"MEASURES COUNT(b.*) AS n PATTERN (b+) {defined}") == [
        ("A", 3),
        ("A", 1),
        ("A", 3),
        ("A", 1),
        ("B", 2),
        ("B", 1),
        ("B", 1),
    ]


def test_an_aggregate_of_the_rows_so_far_ends_a_run():
    clauses = "MEASURES SUM(b.price) AS s PATTERN (b+) DEFINE b AS SUM(b.price) <= 16"
    assert by_ticker(clauses) == [("A", 16), ("A", 11), ("A", 15), ("A", 9), ("B", 10)]


def test_subset_means_the_rows_of_several_variables():
    clauses = "MEASURES MIN(u.price) AS low, LAST(u.day) AS d PATTERN (start_ down+ up+)"
    subset = (
        "SUBSET u = (down, start_) DEFINE down AS price < PREV(price), up AS price > PREV(price)"
    )
    assert by_ticker(f"{clauses} {subset}") == [("A", 5, 3), ("A", 3, 7), ("B", 2, 2)]


def test_prev_and_next_leave_the_match_and_not_the_partition():
    clauses = "MEASURES PREV(price) AS p, NEXT(price, 2) AS n, PREV(LAST(b.price), 2) AS q"
    assert by_ticker(f"{clauses} PATTERN (b) DEFINE b AS price = 5") == [
        ("A", 7, 8, 9),
        ("B", None, 3, None),
    ]


FOUR = pd.DataFrame({"day": [1, 2, 3, 4], "price": [90, 80, 70, 80]})


@pytest.mark.parametrize(
    ("label", "values"),
    [
        ("CLASSIFIER()", ["A", "B", "B", "C"]),
        ("NEXT(CLASSIFIER())", ["B", "B", "C", None]),
        ("NEXT(CLASSIFIER(), 2)", ["B", "C", None, None]),
        ("PREV(CLASSIFIER())", [None, "A", "B", "B"]),
        ("LAST(CLASSIFIER(), 1)", [None, "A", "B", "B"]),
        ("FIRST(CLASSIFIER(), 1)", [None, "B", "B", "B"]),
        ("NEXT(FIRST(CLASSIFIER()), 3)", ["C", "C", "C", "C"]),
        ("NEXT(LAST(CLASSIFIER(B), 1), 2)", [None, None, "C", "C"]),
        ("PREV(FINAL LAST(CLASSIFIER()), 3)", ["A", "A", "A", "A"]),
        ("FINAL LAST(CLASSIFIER())", ["C", "C", "C", "C"]),
    ],
)
def test_classifier_beside_a_row_is_known_in_the_whole_match(label, values):
    clauses = f"""ORDER BY day MEASURES {label} AS n ALL ROWS PER MATCH PATTERN (A B+ C+)
        DEFINE B AS price < PREV(price), C AS price > PREV(price)"""
    assert [n for _, n, _ in rows(clauses, table=FOUR)] == values


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("ARRAY_AGG(CLASSIFIER())", ["START_", "DOWN", "UP"]),
        ("ARRAY_AGG(CLASSIFIER(u))", ["DOWN", "UP"]),
        ("COUNT(DISTINCT CLASSIFIER())", 3),
        ("MAX_BY(day, price)", 1),
        ("MIN_BY(CLASSIFIER(), price)", "DOWN"),
        ("MIN_BY(u.day, u.price)", 2),
        ("ANY_VALUE(up.price)", 3),
        ("ARBITRARY(ticker)", "B"),
        ("BOOL_OR(price = 2)", True),
        ("BOOL_AND(price > 2)", False),
        ("EVERY(price < 9)", True),
        ("COUNT()", 3),
        ("RUNNING count()", 3),
        ("CONCAT_WS('-', ticker, NULL, 'x')", "B-x"),
        ("CONCAT_WS(NULL, ticker, 'x')", None),
        ("IF(COUNT() > 2, 'long', 'short')", "long"),
        ("IF(price > 5, 'high')", None),
    ],
)
def test_function_of_other_databases_gives_its_value(measure, value):
    pattern = FALL_AND_RISE.replace("DEFINE", "SUBSET u = (down, up) DEFINE")
    clauses = f"MEASURES {measure} AS x {pattern}"
    assert by_ticker(clauses, around="WHERE ticker = 'B'") == [("B", value)]


def test_function_of_a_text_means_the_same_in_both_languages():
    table = pa.table({"t": [0, 1, 2, 3], "name": ["straße", " ΑΣ ", None, "İ"]})
    measures = "UPPER(name) AS u, LOWER(name) AS l, LENGTH(TRIM(name)) AS n"
    names = table["name"].to_pylist()
    expected = [(n and n.upper(), n and n.lower(), n and len(n.strip())) for n in names]
    assert rows(f"ORDER BY t MEASURES {measures} PATTERN (a)", table=table) == expected
    found = rows(
        "ORDER BY t MEASURES t AS t PATTERN (a) DEFINE a AS UPPER(name) = 'STRASSE'", table=table
    )
    assert found == [(0,)]


def test_aggregate_of_labels_in_define_sees_the_rows_so_far():
    defined = "DEFINE b AS COUNT(DISTINCT CLASSIFIER()) < 3, c AS MAX_BY(b.day, b.price) = 2"
    assert by_ticker(f"MEASURES LAST(day) AS d PATTERN (^ a b+ c) {defined}") == [
        ("A", 5),
        ("B", 3),
    ]


def test_one_of_the_values_keeps_the_type_of_its_column():
    table = pa.table({"i": pa.array([1, 2], pa.int8()), "v": [2.0, None]})
    sql = """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES MAX_BY(i, v) AS i, ANY_VALUE(i) AS any_i PATTERN (a+))"""
    found = ck.from_match_recognize(sql, table).to_arrow()
    assert found.schema.types == [pa.int8(), pa.int8()]
    assert found.to_pylist() == [{"i": 1, "any_i": 1}]


def test_order_by_takes_expressions_inside_and_around():
    clauses = "ORDER BY price % 3, -day MEASURES ARRAY_AGG(day) AS d PATTERN (a+)"
    table = PRICES[PRICES["ticker"] == "A"]
    assert rows(clauses, table=table) == [([8, 7, 4, 1, 6, 2, 5, 3],)]
    each = "ORDER BY day MEASURES a.day AS d, a.price AS p PATTERN (a)"
    around = "WHERE d < 5 ORDER BY p % 4 DESC, 1 DESC"
    assert rows(each, table=table, around=around) == [(2, 7), (4, 6), (3, 5), (1, 9)]


def test_order_by_an_expression_adds_no_column_to_all_rows():
    clauses = "ORDER BY day % 2, day MEASURES COUNT() AS n ALL ROWS PER MATCH PATTERN (a+)"
    found = ck.from_match_recognize(f"SELECT * FROM t MATCH_RECOGNIZE ({clauses})", PRICES)
    assert found.to_arrow().column_names == ["day", "n", "ticker", "price"]


def test_any_number_of_times_may_be_written_as_a_range_without_numbers():
    for quantifier, ends in (("{,}", [4]), ("{,}?", [1])):
        clauses = f"ORDER BY day MEASURES COUNT() AS n PATTERN (^ a b{quantifier})"
        assert rows(clauses, table=FOUR) == [(end,) for end in ends]


def test_anchor_needs_no_blank_behind_a_name():
    assert by_ticker("MEASURES a.day AS d PATTERN (a$)") == [("A", 8), ("B", 4)]
    table = pd.DataFrame({"a$b": [1, 2]})
    assert rows("MEASURES a$b AS d PATTERN (a$)", table=table) == [(2,)]


def test_measure_without_a_name_has_its_text_as_name():
    clauses = """MEASURES start_.day, LAST( up.day ) ended, COUNT(*)
        ONE ROW PER MATCH PATTERN (start_ down+ up+)
        DEFINE down AS price < PREV(price), up AS price > PREV(price)"""
    sql = f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY ticker ORDER BY day {clauses})"
    found = ck.from_match_recognize(sql, PRICES).to_arrow()
    assert found.column_names == ["ticker", "start_.day", "ended", "COUNT(*)"]


def test_an_empty_match_has_a_number_and_no_values():
    clauses = "MEASURES MATCH_NUMBER() AS m, COUNT(*) AS n, b.price AS p {} PATTERN (b*)"
    fives = f"{clauses} DEFINE b AS price = 5"
    assert by_ticker(fives.format(""), around="WHERE ticker = 'B'") == [
        ("B", 1, 1, 5),
        ("B", 2, 0, None),
        ("B", 3, 0, None),
        ("B", 4, 0, None),
    ]
    omitted = by_ticker(fives.format("ALL ROWS PER MATCH OMIT EMPTY MATCHES"), select="m, n, p")
    assert omitted == [(3, 1, 5), (1, 1, 5)]


def test_rows_that_no_match_covers_come_out_without_measures():
    clauses = f"MEASURES COUNT(*) AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS {FALL_AND_RISE}"
    found = by_ticker(clauses, select="day, n", around="WHERE ticker = 'B'")
    assert found == [(1, 1), (2, 2), (3, 3), (4, None)]


def test_anchors_are_the_ends_of_the_partition():
    assert by_ticker("MEASURES a.day AS d PATTERN (^ a)") == [("A", 1), ("B", 1)]
    assert by_ticker("MEASURES a.day AS d PATTERN (a $)") == [("A", 8), ("B", 4)]


def test_within_is_less_than_so_long_after_the_first_row():
    table = PRICES.assign(at=pd.to_datetime(PRICES["day"], unit="h"))
    clauses = "PARTITION BY ticker ORDER BY at MEASURES COUNT(*) AS n PATTERN (a+)"
    assert rows(f"{clauses} WITHIN INTERVAL '3' HOUR", table=table) == [
        ("A", 3),
        ("A", 3),
        ("A", 2),
        ("B", 3),
        ("B", 1),
    ]


def test_nulls_agree_as_keys_and_go_where_the_query_says():
    table = pd.DataFrame({"k": [None, "x", None], "t": [2.0, 1.0, None]})
    clauses = "PARTITION BY k ORDER BY t {} MEASURES FIRST(t) AS f, COUNT(*) AS n PATTERN (a+)"
    assert rows(clauses.format("NULLS LAST"), table=table) == [(None, 2.0, 2), ("x", 1.0, 1)]
    assert rows(clauses.format("NULLS FIRST"), table=table) == [(None, None, 2), ("x", 1.0, 1)]


def test_a_key_that_is_always_missing_is_one_partition():
    table = pa.table({"k": pa.nulls(3), "t": [3, 1, 2]})
    clauses = "PARTITION BY k ORDER BY t MEASURES ARRAY_AGG(t) AS v PATTERN (a+)"
    assert rows(clauses, table=table) == [(None, [1, 2, 3])]


def test_equal_order_keys_keep_the_order_of_the_rows():
    table = pd.DataFrame({"t": [1, 1, 0, 1], "v": [1, 2, 3, 4]})
    clauses = "ORDER BY t DESC MEASURES ARRAY_AGG(v) AS v PATTERN (a+)"
    assert rows(clauses, table=table) == [([1, 2, 4, 3],)]


def test_unquoted_names_fold_and_quoted_ones_do_not():
    clauses = 'MEASURES CLASSIFIER() AS c PATTERN (^ A "b") DEFINE a AS PRICE > 4'
    assert by_ticker(clauses) == [("A", "b"), ("B", "b")]


def test_select_where_order_by_and_limit_work_on_the_result():
    clauses = f"MEASURES start_.day AS a, COUNT(*) AS n {FALL_AND_RISE}"
    found = by_ticker(
        clauses,
        select="UPPER(m.ticker) || '!' AS name, n * 2 AS twice",
        around="WHERE n > 1 ORDER BY twice DESC LIMIT 1",
    )
    assert found == [("A!", 10)]


def test_measures_keep_the_types_of_their_columns():
    zoned = pd.to_datetime(["2024-03-04"] * 3).tz_localize("Europe/Copenhagen")
    table = pa.table(
        {
            "t": pa.array(zoned),
            "i": pa.array([1, 2, 3], pa.int8()),
            "c": pa.array(["x", "y", "x"]).dictionary_encode(),
        }
    )
    sql = """SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES a.t AS t, LAST(i) AS i, MAX(i) AS top, a.c AS c PATTERN (a+))"""
    types = ck.from_match_recognize(sql, table).to_arrow().schema.types
    assert types == [table.schema.field(name).type for name in ("t", "i", "i", "c")]


def test_a_search_that_goes_back_often_remembers_where_it_has_been():
    table = pd.DataFrame({"i": range(40), "v": [i % 4 for i in range(40)]})
    defined = "DEFINE a AS v >= FIRST(a.v), b AS v >= FIRST(b.v), c AS v > LAST(a.v) + 5"
    assert rows(f"ORDER BY i PATTERN ((a | b)* c) {defined}", table=table) == []
    counted = "DEFINE a AS COUNT(c.*) < 5, b AS COUNT(c.*) > 100"
    assert rows(f"ORDER BY i PATTERN ((a | c)+ b) {counted}", table=longer(60)) == []


def test_search_sees_only_conditions_that_may_follow():
    # Sums of the first loop tell all paths apart, but nothing behind the loop reads them.
    defined = "DEFINE a AS SUM(a.v) >= 0, x AS v = 99, y AS y.v < FIRST(y.v)"
    pattern = "PATTERN ((a | b){4} (x | y)+)"
    assert rows(f"ORDER BY i {pattern} {defined}", table=longer(100)) == []


def longer(size):
    return pd.DataFrame({"i": range(size), "v": [math.sqrt(i) % 1 for i in range(size)]})


def test_search_that_fails_too_often_is_refused_and_names_the_conditions(monkeypatch):
    monkeypatch.setattr(search, "_MOST_TRIED", 20_000)
    defined = "DEFINE b AS SUM(a.v) > 1000 AND COUNT(c.v) > 2"
    with pytest.raises(LimitError) as error:
        rows(f"ORDER BY i PATTERN ((a | c)+ b) {defined}", table=longer(2000))
    assert "SUM(a.v) > 1000, COUNT(c.v) > 2" in str(error.value)
    assert "begins at {'i': 0}" in str(error.value)


def test_search_over_many_starts_is_not_refused_for_their_number(monkeypatch):
    monkeypatch.setattr(search, "_MOST_TRIED", 5_000)
    table = longer(200)
    defined = "DEFINE b AS SUM(a.v) > 1000 AND COUNT(c.v) > 2"
    assert rows(f"ORDER BY i PATTERN ((a | c){{1,6}} b) {defined}", table=table) == []


@pytest.mark.parametrize("kind", ["arrow", "parquet", "rows", "stream"])
def test_tables_of_every_kind_give_the_same(kind, tmp_path):
    table = pa.Table.from_pandas(PRICES)
    pq.write_table(table, tmp_path / "prices.parquet")
    sources = {
        "arrow": table,
        "parquet": str(tmp_path / "prices.parquet"),
        "rows": table.to_pylist(),
        "stream": ck.events(table, time="day", type="ticker", unit="d"),
    }
    clauses = f"MEASURES start_.day AS a, up.day AS z {FALL_AND_RISE}"
    assert by_ticker(clauses, table=sources[kind]) == [("A", 1, 5), ("A", 6, 8), ("B", 1, 3)]


def test_an_empty_table_gives_the_columns():
    sql = f"SELECT * FROM t MATCH_RECOGNIZE (MEASURES AVG(price) AS mean {FALL_AND_RISE})"
    result = ck.from_match_recognize(sql, PRICES.head(0))
    assert result.to_pandas().columns.tolist() == ["mean"]
    assert len(result) == 0


def test_explain_says_when_each_condition_is_evaluated():
    sql = f"""SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY ticker ORDER BY day
        AFTER MATCH SKIP TO LAST up {FALL_AND_RISE} AND up.price < start_.price)"""
    asked = "up.price < start_.price (of each row that is tried)"
    assert ck.from_match_recognize(sql, PRICES).explain().splitlines() == [
        "12 rows, 2 partitions",
        "PATTERN (start_ down+ up+): 6 steps",
        "  START_: any row",
        "  DOWN: price < PREV(price) (for all rows at once)",
        f"  UP: price > PREV(price) (for all rows at once); {asked}",
        "searched row by row: the preferred way, and back where a condition fails",
        "after a match: LAST UP",
        "2 rows in the result",
    ]
