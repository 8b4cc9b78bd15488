"""Patterns without a meaning are refused; whole messages are in tests/golden/pattern_errors.txt."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from cepkit.errors import PatternError
from cepkit.pattern.checks import check
from cepkit.pattern.conditions import (
    Aggregate,
    AllOf,
    AnyOf,
    Arithmetic,
    Attribute,
    Comparison,
    InList,
    Literal,
)
from cepkit.pattern.limits import LONGEST_WINDOW
from cepkit.pattern.nodes import Event, Kleene, Seq
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import CountWindow, TimeWindow
from cepkit.pattern.query import Query

A = Event("a", frozenset({"A"}))
KLEENE = Seq((A, Kleene(Event("b", frozenset({"B"})))))
LOW = Comparison("<", Attribute("a", "x"), Literal(1))


def _long_sum(terms: int) -> Arithmetic:
    total = Literal(0)
    for _ in range(terms):
        total = Arithmetic("+", total, Attribute("a", "x"))
    return total


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Query(A, AllOf(())), "AND of 0 conditions"),
        (Query(A, AnyOf((LOW,))), "OR of 1 condition"),
        (Query(A, AllOf((LOW, AllOf((LOW,))))), "AND of 1 condition"),
        (Query(A, InList(Attribute("a", "x"), ())), "IN with an empty list"),
        (Query(A, Comparison("<", Attribute("a", "x"), Literal(float("nan")))), "constant nan"),
        (Query(A, Comparison("<", Attribute("a", "x"), Literal(float("inf")))), "constant inf"),
        (Query(A, Comparison("<", Attribute("a", "x"), Literal(2**63))), "64 bits"),
        (Query(A, Comparison("<", Attribute("a", "x"), Literal(b"x"))), "type bytes"),
        (Query(A, Comparison("<", _long_sum(100_000), Literal(1))), "100 levels"),
        (Query(KLEENE, Comparison("<", Aggregate("sum", "b"), Literal(1))), "whole events"),
        (Query(KLEENE, Comparison("<", Aggregate("count"), Literal(1))), "of nothing"),
        (Query(A, aggregates=(Aggregate("sum", None, "x"),)), "without a variable"),
        (Query(A, aggregates=(Aggregate("first", "a", "x"),)), "AGG FIRST"),
        (Query(A, window=TimeWindow(-1)), "-1 microseconds"),
        (Query(A, window=TimeWindow(LONGEST_WINDOW + 1)), "10,000 years"),
        (Query(A, window=CountWindow(0)), "window of 0 events"),
        (Query(A, window=CountWindow(10**16)), "1,000,000,000,000,000 events"),
        (Query(Event("", None)), "without a variable"),
        (Query(Event("a", frozenset())), "empty list of types"),
        (Query(Kleene(A, 0)), "bounds"),
    ],
)
def test_queries_made_by_hand_are_checked_too(query, message):
    with pytest.raises(PatternError, match=message):
        check(query)


def test_a_sum_of_ninety_terms_is_fine():
    check(Query(A, Comparison("<", _long_sum(90), Literal(1))))


def test_branch_of_only_absences_is_refused():
    parse("PATTERN AND(OR(NOT(A a), NOT(B b)), C c)")
    with pytest.raises(PatternError, match="only the absence of 'a'"):
        parse("PATTERN AND(OR(NOT(A a), B b), NOT(C c))")


def test_ors_that_multiply_are_refused_before_they_are_multiplied():
    ors = ", ".join(f"OR(A a{i}, B b{i})" for i in range(200))
    with pytest.raises(PatternError, match="OR and OPT expand"):
        parse(f"PATTERN AND({ors})")


def test_huge_number_of_choices_is_reported_as_a_power_of_ten():
    ors = ", ".join(f"OR(A a{i}, B b{i})" for i in range(3_000))
    with pytest.raises(PatternError, match=r"expand to about 10\^903 patterns"):
        parse(f"PATTERN AND({ors})")


def test_pattern_with_too_many_events_is_refused_at_the_first_excess_event():
    def text(n):
        return f"PATTERN SEQ({', '.join(f'A a{i}' for i in range(n))})"

    assert len(parse(text(1000)).structure.items) == 1000
    with pytest.raises(PatternError, match="1,001 events") as caught:
        parse(text(1001))
    assert text(1001)[caught.value.span.start :] == "A a1000)"
    # Those of one choice are not in one match with those of another.
    half = text(600)[8:], text(1200).split("A a600, ")[1].join(("SEQ(", ""))
    assert parse(f"PATTERN OR({', '.join(half)})")


def test_a_file_of_data_where_a_pattern_belongs():
    with pytest.raises(PatternError, match="1,200,000 characters"):
        parse("ts,type,x\n1,A,2" * 80_000)


def test_an_unknown_attribute_is_refused_at_its_place():
    query = parse("PATTERN SEQ(A a, KL(B b)) WHERE a.price < sum(b.prize) AGG SUM(b.w) GROUP BY k")
    query.check_attributes(["price", "prize", "w", "k"])
    with pytest.raises(PatternError) as caught:
        query.check_attributes(["price", "w", "k"])
    assert caught.value.span.column == query.text.index("sum(") + 1
    assert "did you mean 'price'?" in str(caught.value)
    with pytest.raises(PatternError, match="no column 'k'"):
        query.check_attributes(["price", "prize", "w"])


def test_partition_by_column_of_variable_names_the_column():
    query = parse("PATTERN SEQ(A a, B b) PARTITION BY a.k")
    query.check_attributes(["k", "a.k"])
    with pytest.raises(PatternError, match="has no variable before it: k"):
        query.check_attributes(["k"])


def test_duration_equal_to_the_mark_of_missing_is_refused():
    least = Comparison("<", Attribute("a", "t"), Literal(timedelta(microseconds=-(2**63))))
    with pytest.raises(PatternError, match="292,000 years"):
        check(Query(A, least))
    query = Query(A, replace(least, right=Literal(timedelta(microseconds=1 - 2**63))))
    assert parse(str(query)) == check(query)
