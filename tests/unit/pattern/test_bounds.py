"""Bounds of steps, WITHIN FROM TO, in every form of a pattern."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import PatternError
from cepkit.pattern.bounds import bound_of
from cepkit.pattern.builder import and_, event, kl, not_, seq, var
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.policies import StepBound, TimeWindow
from cepkit.pattern.printer import expression_text
from cepkit.pattern.requirements import text_of
from cepkit.stream.warnings import StreamWarning

A, B, C = event("a", "A"), event("b", "B"), event("c", "C")
TWO = TimeWindow(2_000_000)


def events(kinds, times=None):
    times = range(len(kinds)) if times is None else times
    frame = pd.DataFrame({"t": times, "kind": list(kinds)})
    return ck.events(frame, time="t", type="kind", unit="s")


def times(stream, pattern):
    rows = ck.detect(stream, pattern).to_arrow().to_pylist()

    def second(bound):
        if isinstance(bound, list):
            return [event["t"] for event in bound]
        return bound and bound["t"]

    return [tuple(second(row[name]) for name in "abc" if name in row) for row in rows]


def test_the_clauses_stand_in_any_order_and_are_printed_as_they_came():
    text = "PATTERN SEQ(A a, B b) WITHIN 2 s FROM a TO b WITHIN 1 min"
    query = parse(f"{text} WITHIN 1 h EXCLUSIVE FROM a TO b")
    assert query.window == TimeWindow(60_000_000)
    hour = TimeWindow(3_600_000_000, exclusive=True)
    assert query.bounds == (StepBound("a", "b", TWO), StepBound("a", "b", hour))
    assert str(query).splitlines()[1:] == [
        "WITHIN 1 minute",
        "WITHIN 2 seconds FROM a TO b",
        "WITHIN 1 hour EXCLUSIVE FROM a TO b",
    ]


def test_from_and_to_can_be_names():
    query = parse("PATTERN SEQ(from to, A from) WHERE from.to = to.from WITHIN 2 s FROM to TO from")
    assert query.bounds == (StepBound("to", "from", TWO),)
    assert parse(str(query)) == query


def test_builder_makes_bounds():
    pattern = seq(A, B, C).within("1 min").within(timedelta(seconds=2), between=(var("a"), "c"))
    assert pattern.query == parse("PATTERN SEQ(A a, B b, C c) WITHIN 1 min WITHIN 2 s FROM a TO c")
    for wrong in ("ac", ("a",), ("a", 3), var("a")):
        with pytest.raises(PatternError, match="two variables"):
            seq(A, B).within("1 s", between=wrong)


@pytest.mark.parametrize(
    "structure", [seq(A, B), and_(A, B), seq(kl(A), B), seq(kl(A), kl(B)), and_(kl(A), kl(B))]
)
def test_condition_of_a_bound_prints_as_the_bound(structure):
    (branch,) = normal_form(structure.within("2 s", between=("a", "b")).query)
    (condition,) = branch.conditions
    assert bound_of(condition) == StepBound("a", "b", TWO)
    assert expression_text(condition) == "WITHIN 2 seconds FROM a TO b"


def test_bound_in_a_sequence_limits_its_step():
    stream = events("ABBC", [0, 3, 4, 9])
    assert len(times(stream, "PATTERN SEQ(A a, B b, C c)")) == 2
    bounded = "PATTERN SEQ(A a, B b, C c) WITHIN 1 minute WITHIN 5 seconds{} FROM b TO c"
    assert times(stream, bounded.format("")) == [(0, 4, 9)]
    assert times(stream, bounded.format(" EXCLUSIVE")) == []


def test_bound_under_and_limits_both_directions():
    stream = events("BABA", [0, 3, 4, 9])
    assert times(stream, "PATTERN AND(A a, B b) WITHIN 3 s FROM a TO b") == [(3, 0), (3, 4)]
    assert times(stream, "PATTERN AND(A a, B b) WITHIN 3 s FROM b TO a") == [(3, 0), (3, 4)]


def test_bound_on_a_set_applies_to_all_members():
    stream = events("BBBC", [0, 3, 4, 6])
    text = "PATTERN SEQ(KL(B b), C c) WITHIN {} s FROM b TO {}"
    assert times(stream, text.format(3, "c")) == [([3], 6), ([3, 4], 6), ([4], 6)]
    spans = times(stream, text.format(1, "b"))
    assert spans == [([0], 6), ([3], 6), ([3, 4], 6), ([4], 6)]
    run = "PATTERN SEQ(A a, KL(FIRST B b)) WITHIN 3 s FROM a TO b WITHIN 1 s FROM b TO b"
    assert times(events("ABBB", [0, 1, 2, 4]), run) == [(0, [1]), (0, [1, 2]), (0, [2])]


def test_bound_on_a_negated_event_limits_its_stretch():
    stream = events("ABCAC", [0, 3, 9, 10, 12])
    text = "PATTERN SEQ(A a, NOT(B b), C c) WITHIN 2 s FROM a TO b"
    assert times(stream, text) == [(0, 9), (0, 12), (10, 12)]
    text = "PATTERN SEQ(A a, NOT(B b), C c) WITHIN 3 s FROM a TO b"
    assert times(stream, text) == [(10, 12)]
    built = seq(A, not_(B), C).within("3 s", between=("a", "b"))
    assert built.query == parse(text)


def test_bound_to_an_event_that_is_left_out_is_ignored():
    stream = events("ABC", [0, 3, 9])
    text = "PATTERN SEQ(A a, OPT(B b), C c) WITHIN 5 s FROM b TO c"
    assert times(stream, text) == [(0, None, 9)]
    turned = "PATTERN OR(SEQ(A a, B b), SEQ(B b, A a, C c)) WITHIN 3 s FROM a TO b"
    assert times(stream, turned) == [(0, 3, None)]


def test_first_binds_the_first_event_even_if_a_bound_then_fails():
    stream = events("ABBC", [0, 3, 6, 7])
    assert times(stream, "PATTERN SEQ(A a, FIRST B b, C c) WITHIN 4 s FROM b TO c") == [(0, 3, 7)]
    assert times(stream, "PATTERN SEQ(A a, FIRST B b, C c) WITHIN 3 s FROM b TO c") == []
    assert times(stream, "PATTERN SEQ(A a, FIRST B b, C c) WITHIN 3 s FROM a TO b") == [(0, 3, 7)]


def test_plans_why_not_and_mechanisms_support_bounds():
    stream = events("ABBC" * 5)
    text = "PATTERN SEQ(A a, B b, C c) WITHIN 20 seconds WITHIN 2 seconds FROM b TO c"
    without = "PATTERN SEQ(A a, B b, C c) WITHIN 20 seconds"
    free = ck.profile(stream, without)
    known = ck.profile(stream, text)
    assert known.selectivity("b", "c") < free.selectivity("b", "c") == 1
    assert ck.choose_plan(text, known).log_cost < ck.choose_plan(without, free).log_cost
    count = ck.detect(stream, text).count()
    assert ck.simulate(stream, text).totals.counts.matches == count
    (reason,) = [
        requirement
        for requirement in ck.why_not(stream, text, a=0, b=1, c=7).requirements
        if requirement.holds is False
    ]
    assert text_of(reason.requirement) == "WITHIN 2 seconds FROM b TO c"
    assert reason.detail == "6 s <= 2 s fails by 4 s"


def test_a_partial_match_times_out_by_the_bounds_it_has():
    pytest.importorskip("pyspark")
    from cepkit.spark.streaming.timeouts import timeout_queries

    text = "PATTERN SEQ(A a, B b, C c) WITHIN 9 s WITHIN 2 s FROM a TO b WITHIN 3 s FROM b TO c"
    waiting = timeout_queries(parse(text))
    assert [[bound.last for bound in query.bounds] for query in waiting.values()] == [
        ["b"],
        ["b", "c"],
    ]


def test_graph_of_the_pattern_has_the_bound():
    graph = parse("PATTERN SEQ(A a, B b) WITHIN 2 s FROM a TO b").to_networkx()
    assert [d["label"] for _, d in graph.nodes(data=True) if d["kind"] == "condition"] == [
        "WITHIN 2 seconds FROM a TO b"
    ]


def test_aggregates_say_why_the_matches_are_detected_first():
    stream = events("ABB")
    result = ck.aggregate(
        stream, "PATTERN SEQ(A a, B b) AGG COUNT WITHIN 1 s FROM a TO b", emit="total"
    )
    assert result.to_pandas()["count"].tolist() == [1]
    assert result.method == "detect"
    assert "WITHIN 1 second FROM a TO b" in result.reason


@pytest.mark.parametrize(
    ("structure", "clauses"),
    [
        ("SEQ(A a, NOT(B b))", "WITHIN 4 s WITHIN 10 s FROM a TO b"),
        ("SEQ(NOT(B b), A a)", "WITHIN 10 s EXCLUSIVE WITHIN 10 s FROM b TO a"),
        ("AND(A a, NOT(B b))", "WITHIN 4 s WITHIN 10 s FROM a TO b"),
        ("KL(SEQ(A a, NOT(B b))){2}", "WITHIN 4 s WITHIN 10 s FROM a TO b"),
        ("OR(SEQ(A a, NOT(B b), C c), SEQ(A a, NOT(B b)))", "WITHIN 4 s WITHIN 10 s FROM a TO b"),
    ],
)
def test_a_not_whose_bound_is_longer_than_the_window_is_warned_of(structure, clauses):
    says = (
        r"NOT\(B b\) forbids nothing .*, so WITHIN \S+ seconds( EXCLUSIVE)? cuts WITHIN 10 s.* FROM"
    )
    with pytest.warns(StreamWarning, match=says) as warned:
        parse(f"PATTERN {structure} {clauses}")
    (warning,) = warned
    assert warning.filename == __file__


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, NOT(B b)) WITHIN 10 s WITHIN 10 s FROM a TO b",
        "SEQ(A a, NOT(B b)) WITHIN 10 s FROM a TO b",
        "SEQ(A a, NOT(B b)) WITHIN 4 EVENTS WITHIN 10 s FROM a TO b",
        "SEQ(A a, NOT(B b), C c) WITHIN 4 s WITHIN 10 s FROM a TO b",
        "SEQ(A a, KL(B b) UNTIL C c) WITHIN 4 s WITHIN 10 s FROM a TO c",
        "SEQ(A a, B b) WITHIN 4 s WITHIN 10 s FROM a TO b",
    ],
)
def test_other_bounds_are_not_warned_of(text, recwarn):
    parse(f"PATTERN {text}")
    assert not recwarn.list
