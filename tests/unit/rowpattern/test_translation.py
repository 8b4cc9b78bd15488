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
PATTERN SEQ(ANY a, ANY b_1, ANY b_2, ANY c)
WHERE b_1.price < a.price AND NOT (b_1.v = 1 OR b_1.v IS NULL) AND b_2.price < b_1.price AND \
NOT (b_2.v = 1 OR b_2.v IS NULL) AND c.name = 'it''s' AND \
(c.price - b_1.price > 2 * (a.v + 1) OR a.v = 1)
WITHIN 5 minutes EXCLUSIVE
PARTITION BY k
STRATEGY partition-contiguity
AFTER MATCH SKIP PAST LAST EVENT"""
    assert query.pattern_text() == text
    assert query.as_pattern() == ck.parse(query.pattern_text())


@pytest.mark.parametrize(
    ("clauses", "named", "place"),
    [
        ("ORDER BY t PATTERN (A B+)", "repeats without a limit", "B+"),
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
