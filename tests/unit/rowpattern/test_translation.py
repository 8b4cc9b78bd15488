"""The equivalent pattern of a query, and refusals of queries without one."""

from __future__ import annotations

import pytest

import cepkit as ck
from cepkit.errors import UnsupportedError


def read(clauses):
    return ck.from_match_recognize(f"SELECT * FROM t MATCH_RECOGNIZE ({clauses})")


def test_rows_of_a_fixed_number_are_a_sequence_under_contiguity():
    query = read(
        """PARTITION BY k ORDER BY ts PATTERN (a b{2} c) WITHIN INTERVAL '5' MINUTE
        DEFINE b AS price < PREV(price) AND NOT (v = 1 OR v IS NULL),
            c AS (c.price - FIRST(b.price) > 2 * (a.v + 1) OR a.v = 1) AND c.name = 'it''s'"""
    )
    text = """\
DEFINE b_row AS NOT (v = 1 OR v IS NULL), c_row AS name = 'it''s'
PATTERN SEQ(ANY a, b_row b_1, b_row b_2, c_row c)
WHERE b_1.price < a.price
  AND b_2.price < b_1.price
  AND (c.price - b_1.price > 2 * (a.v + 1) OR a.v = 1)
WITHIN 5 minutes EXCLUSIVE
STRATEGY partition-contiguity
PARTITION BY k
AFTER MATCH SKIP PAST LAST EVENT"""
    assert query.pattern_text() == text
    assert query.as_pattern() == ck.parse(query.pattern_text())


@pytest.mark.parametrize(
    ("clauses", "named", "place"),
    [
        ("ORDER BY t PATTERN (A B+ C)", "tries others", "B+"),
        ("ORDER BY t PATTERN (B*)", "tries others", "B*"),
        ("ORDER BY t PATTERN (A (B C)?)", "tries others", "(B C)?"),
        ("ORDER BY t PATTERN (A B+) DEFINE B AS v > PREV(v)", "other rows of B", "PREV(v)"),
        ("ORDER BY t PATTERN (A B+) DEFINE B AS v > LAST(v, 1)", "other rows of B", "LAST(v, 1)"),
        ("ORDER BY t PATTERN (A B+) DEFINE B AS v > FIRST(B.v)", "other rows of B", "FIRST(B.v)"),
        ("ORDER BY t PATTERN (A B?) DEFINE A AS v > NEXT(v)", "leaves the match", "NEXT(v)"),
        ("ORDER BY t AFTER MATCH SKIP TO LAST B PATTERN (A B?)", "more rows, or none", "AFTER"),
        ("ORDER BY t PATTERN (A | B)", "'|'", "A | B"),
        ("ORDER BY t PATTERN (PERMUTE(A, B))", "PERMUTE", "PERMUTE(A, B)"),
        ("ORDER BY t PATTERN (A {- B -})", "{- -}", "{- B -}"),
        ("ORDER BY t PATTERN (^ A)", "an end of the partition", "^"),
        ("ORDER BY t DESC PATTERN (A B)", "other than one ascending column", "t DESC"),
        ("ORDER BY t PATTERN (A B) DEFINE A AS v > PREV(v)", "leaves the match", "PREV(v)"),
        ("ORDER BY t PATTERN (A B) DEFINE A AS v > B.v", "not mapped yet", "B.v"),
        ("ORDER BY t PATTERN (A B) DEFINE B AS SUM(v) > 3", "SUM in DEFINE", "SUM(v)"),
        ("ORDER BY t AFTER MATCH SKIP TO FIRST A PATTERN (A B)", "an error in SQL", "AFTER"),
        ("ORDER BY t ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A)", "UNMATCHED", "ALL"),
    ],
)
def test_clauses_without_an_equivalent_are_refused_by_name_and_place(clauses, named, place):
    with pytest.raises(UnsupportedError) as caught:
        read(clauses).pattern_text()
    assert named in caught.value.found
    span = caught.value.span
    assert span is not None
    assert span.text[span.start : span.end].startswith(place)
    assert "from_match_recognize(sql, table)" in str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "define", "lines"),
    [
        (
            "A B?",
            "A AS v > 3, B AS v < A.v",
            "DEFINE a_row AS v > 3\nPATTERN SEQ(a_row a, OPT(NEXT ANY b) GREEDY)\nWHERE b.v < a.v",
        ),
        (
            "A C B*",
            "B AS v < A.v AND v > 1",
            """DEFINE b_row AS v > 1
PATTERN SEQ(ANY a, NEXT ANY c, NEXT KL(NEXT b_row b){0,} GREEDY)
WHERE b.v < a.v""",
        ),
        ("B{2,}", "B AS v = 1", "DEFINE b_row AS v = 1\nPATTERN KL(NEXT b_row b){2,} GREEDY"),
        ("A B??", "B AS v = 1", "PATTERN ANY a\nSTRATEGY strict-contiguity"),
    ],
)
def test_rows_at_the_end_that_may_be_more_or_none_are_taken_greedily(pattern, define, lines):
    query = read(f"ORDER BY t AFTER MATCH SKIP TO NEXT ROW PATTERN ({pattern}) DEFINE {define}")
    assert query.pattern_text() == lines
    assert query.as_pattern() == ck.parse(lines)
