"""The worked examples of ASEQ, whose windows end at exactly their length, and its errors."""

from __future__ import annotations

import pytest

from tests.unit.aggregation.cases import METHODS, stream, values

pytestmark = pytest.mark.parametrize("method", METHODS)


def test_figure_1_counts_one_two_and_none_after_expiry(method: str) -> None:
    events = stream("a@1 b@2 c@3 c@4 b@6")
    text = "PATTERN SEQ(A a, B b, C c) WITHIN 5 s EXCLUSIVE AGG COUNT"
    assert values(events, text, method=method, emit="changes") == [
        (3, "trigger", 1, 1),
        (4, "trigger", 2, 1),
        (6, "expiry", 0, 0),
    ]


def test_figure_6_counts_two_none_and_one(method: str) -> None:
    events = stream("a1@1 b1@2 c1@3 a2@4 c2@5 b2@6 d1@7 c3@8 a3@9 d2@10")
    text = "PATTERN SEQ(A a, B b, C c, D d) WITHIN 7 s EXCLUSIVE AGG COUNT"
    assert values(events, text, method=method, emit="changes") == [
        (7, "trigger", 2, 2),
        (8, "expiry", 0, 0),
        (10, "trigger", 1, 1),
        (11, "expiry", 0, 0),
    ]


def test_figure_7_resets_counts_at_the_negated_event(method: str) -> None:
    events = stream("a1@1 b1@2 c1@3 a2@4 b2@5 d1@6")
    text = "PATTERN SEQ(A a, B b, NOT(C c), D d) WITHIN 7 s EXCLUSIVE AGG COUNT"
    assert values(events, text, method=method) == [(6, 2, 2)]


def test_figure_10_leaves_out_matches_of_an_expired_start(method: str) -> None:
    events = stream("a1@1 b1@2 c1@3 a2@4 b2@5 d1@6 c2@7 a3@8 d2@9 e1@10")
    text = "PATTERN SEQ(A a, B b, C c, D d, E e) WITHIN 9 s EXCLUSIVE AGG COUNT"
    assert values(events, text, method=method) == [(10, 1, 1)]


def test_figure_8_keeps_the_counters_of_each_key_apart(method: str) -> None:
    events = stream("a b a b c c", k=[1, 1, 2, 1, 1, 2])
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k WITHIN 9 s AGG COUNT"
    assert values(events, text, method=method) == [(5, 2, 2), (6, 2, 0)]
    by_key = text + " GROUP BY k"
    assert values(events, by_key, method=method) == [(5, 1, 2, 2), (6, 2, 0, 0)]


def test_erratum_4_a_sum_is_no_ratio_of_counts(method: str) -> None:
    # c1(10) d1 c2(20) d2: 10 with d1, 10 and 20 with d2. By the ratio it would be 45.
    events = stream("a b c d c d", w=[0, 0, 10, 0, 20, 0])
    text = "PATTERN SEQ(A a, B b, C c, D d) AGG SUM(c.w), AVG(c.w)"
    assert values(events, text, method=method)[-1] == (6, 40, pytest.approx(40 / 3), 2)


def test_erratum_4_extremes_are_those_of_matches(method: str) -> None:
    # The first C has no B before it, the last no D after it: neither is in a match.
    events = stream("a c b c d c", w=[0, 99, 0, 5, 0, 77])
    text = "PATTERN SEQ(A a, B b, C c, D d) AGG MIN(c.w), MAX(c.w)"
    assert values(events, text, method=method) == [(5, 5, 5, 1)]


def test_erratum_5_a_start_is_live_while_its_expiry_lies_ahead(method: str) -> None:
    text = "PATTERN SEQ(A a, B b) WITHIN 3 s{} AGG COUNT"
    events = stream("a@0 b@2.999999 b@3 b@4")
    assert [row[1] for row in values(events, text.format(" EXCLUSIVE"), method=method)] == [1, 0, 0]
    assert [row[1] for row in values(events, text.format(""), method=method)] == [1, 2, 0]
