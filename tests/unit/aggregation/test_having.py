"""HAVING: the rows of aggregates above a threshold, by every method and of all kinds."""

from __future__ import annotations

import operator

import pytest

import cepkit as ck
from cepkit.errors import PatternError, UnsupportedError
from cepkit.pattern.builder import count, event, seq, sum_, var
from tests.unit.aggregation.cases import METHODS, stream

EVENTS = stream("a b a b@4 a b@6 b@6 a b b c", v=[1, 2, 3, 4, 5, 6, 7, 8, None, 10, 11])
TEXT = "PATTERN SEQ(A a, B b) WITHIN 4 s AGG COUNT, AVG(b.v), COUNT(b.v), MIN(b.v)"


@pytest.mark.parametrize("emit", ["trigger", "changes", "new", "total"])
@pytest.mark.parametrize("method", METHODS)
def test_the_rows_are_those_of_all_that_satisfy_it(method, emit):
    every = ck.aggregate(EVENTS, TEXT, method=method, emit=emit).to_pandas()
    chosen = ck.aggregate(
        EVENTS, f"{TEXT} HAVING COUNT >= 2 AND AVG(b.v) < 7.5", method=method, emit=emit
    )
    expected = every[(every["count"] >= 2) & (every["avg(b.v)"] < 7.5)].reset_index(drop=True)
    assert chosen.to_pandas().equals(expected)
    assert emit == "total" or len(chosen) < len(every)


@pytest.mark.parametrize(
    ("sign", "compare"),
    [
        ("<", operator.lt),
        ("<=", operator.le),
        ("=", operator.eq),
        ("<>", operator.ne),
        (">=", operator.ge),
        (">", operator.gt),
    ],
)
def test_every_comparison(sign, compare):
    rows = ck.aggregate(EVENTS, TEXT).to_pandas()["count"]
    kept = ck.aggregate(EVENTS, f"{TEXT} HAVING count {sign} 3").to_pandas()["count"]
    assert list(kept) == [number for number in rows if compare(number, 3)]
    assert 0 < len(kept) < len(rows)


def test_a_missing_aggregate_satisfies_no_threshold():
    text = "PATTERN SEQ(A a, C b) WITHIN 4 s AGG AVG(b.w)"
    events = stream("a c a c", w=[0, None, 0, 2.0])
    counts = [
        len(ck.aggregate(events, f"{text}{having}", emit="new"))
        for having in ("", " HAVING AVG(b.w) < 9", " HAVING AVG(b.w) >= 9")
    ]
    assert counts == [2, 1, 0]


def test_totals_of_groups_and_integers_beyond_64_bits():
    events = stream("a b a b b", k=[1, 1, 2, 2, 2], w=[2**62] * 5)
    text = (
        "PATTERN SEQ(A a, B b) AGG COUNT, SUM(b.w) GROUP BY k HAVING SUM(b.w) > 4611686018427387904"
    )
    rows = ck.aggregate(events, text, emit="total").to_pandas()
    assert rows.values.tolist() == [[2, 2, 2**63]]


@pytest.mark.parametrize("share", ["none", "prefix", "chop-connect"])
def test_queries_that_share_counters_keep_their_own_thresholds(share):
    texts = [f"{TEXT} HAVING COUNT > {n}" for n in range(4)]
    together = ck.aggregate(EVENTS, texts, share=share)
    for text, result in zip(texts, together, strict=True):
        assert result.to_pandas().equals(ck.aggregate(EVENTS, text).to_pandas())


def test_it_prints_as_it_reads_and_the_builder_says_the_same():
    text = "PATTERN SEQ(A a, B b)\nAGG COUNT, SUM(b.v)\nHAVING COUNT > 10 AND SUM(b.v) <= -2.5"
    query = ck.parse(text)
    assert str(query) == text
    assert ck.parse(str(query)) == query
    b = var("b")
    built = seq(event("a", "A"), event("b", "B")).agg(count(), sum_(b.v))
    assert built.having(count() > 10, sum_(b.v) <= -2.5).query == query
    assert built.having("COUNT > 10 AND SUM(b.v) <= -2.5").query == query


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("HAVING COUNT > 2", "HAVING without AGG"),
        ("AGG COUNT HAVING SUM(b.v) > 2", r"SUM\(b.v\), which is not in AGG"),
        ("AGG COUNT HAVING COUNT > b.v", "'b' is not expected here"),
        ("AGG COUNT HAVING b.v > 2", "'.' is not expected here"),
        ("AGG COUNT HAVING COUNT > 2 OR COUNT < 1", "'OR' is not expected here"),
        ("AGG COUNT HAVING COUNT > 2 HAVING COUNT > 3", "HAVING is given twice"),
    ],
)
def test_having_without_threshold_of_an_aggregate_is_refused(clauses, message):
    with pytest.raises(PatternError, match=message):
        ck.parse(f"PATTERN SEQ(A a, B b) {clauses}")


@pytest.mark.parametrize("method", ["auto", "detect"])
@pytest.mark.parametrize("aggregate", ["MIN(b.s)", "MAX(b.f)", "MIN(b.ts)"])
def test_threshold_of_an_aggregate_that_is_no_number_is_refused_before_a_run(aggregate, method):
    events = stream("a b b", s=["x", "y", "z"], f=[True, False, True])
    text = f"PATTERN SEQ(A a, B b) AGG {aggregate} HAVING {aggregate} > 0"
    with pytest.raises(PatternError, match="compared with") as caught:
        ck.aggregate(events, text, method=method)
    assert caught.value.span.column > text.index("HAVING")


def test_trace_of_a_pattern_with_having_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="HAVING cannot be traced"):
        ck.simulate(EVENTS, "PATTERN SEQ(A a, B b) AGG COUNT HAVING COUNT > 1", "prefix-counters")


def test_having_is_a_name_elsewhere():
    text = 'PATTERN SEQ(HAVING a, B "having")\nWHERE a.having = 1\nAGG COUNT\nHAVING COUNT > 1'
    query = ck.parse(text)
    assert ck.parse(str(query)) == query
