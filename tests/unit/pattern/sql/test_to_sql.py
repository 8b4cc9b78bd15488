"""The SQL of a pattern: its words in each system, and what is refused."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import cepkit as ck
from cepkit.errors import ArgumentError, MissingPackageError, UnsupportedError

PAIR = "PATTERN SEQ(A a, B b) WHERE a.k = b.k WITHIN 100 minutes"
GAPLESS = "PATTERN SEQ(A a, B b) PARTITION BY k STRATEGY partition-contiguity"


def sql(text: str, dialect: Any = "duckdb", **options: Any) -> str:
    """Return the SQL of a pattern on one line."""
    return " ".join(ck.parse(text).to_sql(dialect, **options).split())


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ("duckdb", '"event_a"."ts" + INTERVAL \'100\' MINUTE'),
        ("spark", "`event_a`.`ts` + INTERVAL '100' MINUTE"),
        ("snowflake", '"event_a"."ts" + INTERVAL \'100 MINUTE\''),
        ("trino", '"event_a"."ts" + INTERVAL \'100\' MINUTE'),
        ("flink", "`event_a`.`ts` + INTERVAL '1' HOUR + INTERVAL '40' MINUTE"),
    ],
)
def test_window_is_an_interval_in_the_words_of_the_system(dialect: str, words: str) -> None:
    assert words in sql(PAIR, dialect)


def test_window_is_a_number_where_times_are_numbers() -> None:
    assert '"event_b"."ts" <= ( "event_a"."ts" + 1.5 )' in sql(
        "PATTERN SEQ(A a, B b) WITHIN 1500 milliseconds", unit="s"
    )


@pytest.mark.parametrize("dialect", ["flink", "snowflake", "trino"])
def test_contiguity_is_match_recognize_where_the_system_has_it(dialect: str) -> None:
    assert "MATCH_RECOGNIZE" in sql(GAPLESS, dialect, id="n")


def test_type_none_reads_no_column_of_types() -> None:
    assert '"type"' not in sql("PATTERN SEQ(ANY a, ANY b) WHERE a.k = 1 AND b.k = 2", type=None)


def test_id_distinguishes_rows_of_one_type_in_any_order() -> None:
    text = "PATTERN AND(A a, A b) WITHIN 1 second"
    assert '"event_a"."rowid" <> "event_b"."rowid"' in sql(text, id="rowid")
    with pytest.raises(UnsupportedError, match="id='rowid'"):
        sql(text)


def test_text_with_a_quote_stays_a_text() -> None:
    assert "'it''s; DROP TABLE x'" in sql("PATTERN SEQ(A a) WHERE a.s = 'it''s; DROP TABLE x'")
    assert '"odd""name"' in sql("PATTERN SEQ(A a)", time='odd"name')


def test_refusal_of_sets_points_at_the_set():
    with pytest.raises(UnsupportedError) as caught:
        ck.parse("PATTERN SEQ(A a, KL(B b) GREEDY)").to_sql("duckdb")
    span = caught.value.span
    assert span is not None
    assert span.text[span.start : span.end] == "KL(B b) GREEDY"


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("PATTERN SEQ(A a, KL(B b))", {}, "a join cannot express"),
        ("PATTERN SEQ(A a, B b) WITHIN 3 EVENTS", {}, "WITHIN 3 EVENTS"),
        ("PATTERN SEQ(A a, NEXT B b)", {}, "NEXT counts"),
        ("PATTERN SEQ(A a, B A)", {}, "same name in SQL"),
        ("PATTERN SEQ(A a, NOT(X A), B b)", {}, "same name in SQL"),
        ("PATTERN SEQ(A a) WHERE hour(a.ts) = 3", {}, "function hour"),
        ("PATTERN SEQ(A a, B b) AGG COUNT", {}, "leave AGG out"),
        ("PATTERN SEQ(A a, B b) AFTER MATCH SKIP PAST LAST EVENT", {}, "AFTER MATCH SKIP"),
        ("PATTERN SEQ(A a, B b) STRATEGY skip-till-next-match", {}, "skip-till-next-match"),
        (GAPLESS, {"id": "n"}, "duckdb has no MATCH_RECOGNIZE"),
        (GAPLESS, {"dialect": "trino"}, "id='order_id'"),
        ("PATTERN SEQ(A a)", {"type": None}, "type=None"),
        ("PATTERN AND(A a, OR(NOT(B b), NOT(C c))) WITHIN 1 second", {}, "OR between absences"),
    ],
)
def test_part_without_sql_is_refused(text: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        sql(text, **options)


def test_unknown_system_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match=r"dialect='db2'[\s\S]*duckdb"):
        sql(PAIR, "db2")
    with pytest.raises(ArgumentError, match="ms"):
        sql(PAIR, unit="min")


def test_without_sqlglot_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("cepkit.pattern.sql")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingPackageError, match="sqlglot") as error:
        sql(PAIR)
    assert "cepkit[sql]" in str(error.value)
