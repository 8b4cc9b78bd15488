"""UNTIL: where sets end, how many there are, and which parts support it."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.automata.mechanisms import MECHANISMS
from cepkit.errors import PatternError
from cepkit.pattern.builder import as_query, event, kl, seq, var


def events(kinds, times=None, **columns):
    frame = pd.DataFrame({"t": times or range(len(kinds)), "kind": list(kinds), **columns})
    return ck.events(frame, time="t", type="kind", unit="s")


def test_no_set_is_made_to_count_them():
    stream = events("A" + "B" * 400 + "C" + "B" * 100 + "D")
    assert (
        ck.detect(stream, "PATTERN SEQ(A a, KL(B b) UNTIL C c, D d) WITHIN 1 hour").count()
        == 2**400 - 1
    )
    assert (
        ck.detect(stream, "PATTERN KL(B b) UNTIL C c WITHIN 1 hour").count()
        == 2**400 - 1 + 2**100 - 1
    )


def test_event_that_ends_a_set_is_no_member_of_it():
    stream = events("ABBB", price=[0, 1, 9, 1])
    text = "PATTERN SEQ(A a, KL(B b) UNTIL B c) WHERE c.price > 5"
    assert ck.detect(stream, text).count() == 1
    assert ck.detect(stream, "PATTERN SEQ(A a, KL(B b) UNTIL B c) WHERE c.price > 9").count() == 7


@pytest.mark.parametrize(("kinds", "number"), [("ABCB", 1), ("ACBB", 0), ("ABBC", 3)])
def test_until_uses_arrival_order_for_equal_times(kinds, number):
    stream = events(kinds, [0, 1, 1, 1])
    assert ck.detect(stream, "PATTERN SEQ(A a, KL(B b) UNTIL C c)").count() == number


def test_only_events_of_the_partition_end_a_set():
    stream = events("ABCBCB", user=list("uuvuuu"))
    text = "PATTERN SEQ(A a, KL(B b) UNTIL C c) PARTITION BY user"
    assert ck.detect(stream, text).count() == 3


def test_until_counts_from_the_end_of_the_set_before():
    stream = events("ACABBCB")
    text = "PATTERN SEQ(KL(A a), KL(B b) UNTIL C c) WITHIN 1 minute"
    assert ck.detect(stream, text).count() == 2 * 3


def test_builder_makes_until():
    c, a = var("c"), var("a")
    pattern = seq(event("a", "A"), kl(event("b", "B"), 2, until=event("c", "C", "D")))
    pattern = pattern.where(c.price > a.price)
    text = "PATTERN SEQ(A a, KL(B b){2,} UNTIL c IN (C, D)) WHERE c.price > a.price"
    assert pattern.query == ck.parse(text)
    assert (
        str(pattern) == "PATTERN SEQ(A a, KL(B b){2,} UNTIL c IN (C, D))\nWHERE c.price > a.price"
    )
    with pytest.raises(PatternError, match="UNTIL stands before SEQ"):
        as_query(kl(event("b", "B"), until=seq(event("c", "C"))))


def test_matches_are_aggregated():
    stream = events("ABBCB", price=[0, 1, 2, 3, 4])
    text = "PATTERN SEQ(A a, KL(B b) UNTIL C c) AGG COUNT, SUM(b.price)"
    (row,) = ck.aggregate(stream, text, emit="total").to_pandas().to_dict("records")
    assert (row["count"], row["sum(b.price)"]) == (3, 6)


def test_a_plan_shared_with_a_pattern_without_it_finds_the_same():
    stream = events("ABBCBD" * 3)
    one, other = (
        f"PATTERN SEQ(A a, KL(B b){more}, D d) WITHIN 9 s" for more in ("{1,2} UNTIL C c", "{1,2}")
    )
    alone = [ck.detect(stream, text).count() for text in (one, other)]
    found = ck.detect(stream, [one, other], share="tree")
    assert [each.count() for each in found] == alone
    assert alone[0] < alone[1]


def test_mechanisms_support_until():
    stream, text = events("ABBCBD"), "PATTERN SEQ(A a, KL(B b) UNTIL C c) WITHIN 1 hour"
    for mechanism in MECHANISMS:
        trace = ck.simulate(stream, text, mechanism=mechanism)
        assert len(trace.matches) == ck.detect(stream, text).count() == 3
