"""NOT(SEQ(B b, C c)) and NOT(AND(B b, C c)): which events break a match, and what supports it."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.columnar.compile.query import compile_query
from cepkit.errors import UnsupportedError
from cepkit.pattern.builder import and_, as_query, event, not_, seq, var
from cepkit.pattern.parsing.parser import parse
from cepkit.plan.checks import as_plan
from cepkit.tracing import Trace


def events(kinds, times=None, **columns):
    frame = pd.DataFrame({"t": times or range(len(kinds)), "kind": list(kinds), **columns})
    return ck.events(frame, time="t", type="kind", unit="s")


def number(stream, structure, clauses="WITHIN 1 minute"):
    return ck.detect(stream, f"PATTERN {structure} {clauses}").count()


@pytest.mark.parametrize(
    ("kinds", "in_order", "in_any_order"),
    [("ABCD", 0, 0), ("ACBD", 1, 0), ("ABD", 1, 1), ("BACD", 1, 1), ("ABDC", 1, 1)],
)
def test_only_all_absent_events_in_order_break_a_match(kinds, in_order, in_any_order):
    stream = events(kinds + "Z", z=0)
    assert number(stream, "SEQ(A a, NOT(SEQ(B b, C c)), D d)") == in_order
    assert number(stream, "SEQ(A a, NOT(AND(B b, C c)), D d)") == in_any_order


def test_events_of_equal_times_have_no_order():
    stream = events("ABCD", [0, 1, 1, 2])
    assert number(stream, "SEQ(A a, NOT(SEQ(B b, C c)), D d)") == 1
    assert number(stream, "SEQ(A a, NOT(AND(B b, C c)), D d)") == 0


def test_no_event_stands_for_two_and_none_of_the_match_for_one():
    assert number(events("ABD"), "SEQ(A a, NOT(AND(B b, B c)), D d)") == 1
    assert number(events("ABBD"), "SEQ(A a, NOT(AND(B b, B c)), D d)") == 0
    assert number(events("ABB"), "AND(A a, B d, NOT(AND(B b, B c)))") == 2


def test_absent_events_lie_in_one_window_with_the_match():
    stream = events("BAC", [0, 4, 8])
    assert number(stream, "AND(A a, NOT(SEQ(B b, C c)))", "WITHIN 8 seconds") == 0
    # Each is within 5 seconds of A, both together are not.
    assert number(stream, "AND(A a, NOT(SEQ(B b, C c)))", "WITHIN 5 seconds") == 1
    assert number(stream, "AND(A a, NOT(B b))", "WITHIN 5 seconds") == 0


def test_conditions_may_link_several_absent_events_and_the_match():
    stream = events("ABCD", price=[5, 2, 4, 0])
    for where, found in (("b.price < c.price", 0), ("b.price > c.price", 1),
                         ("b.price + c.price > a.price", 0), ("b.price + c.price < a.price", 1),
                         ("a.price > c.price AND b.price > 1", 0)):  # fmt: skip
        structure = "SEQ(A a, NOT(SEQ(B b, C c)), D d)"
        assert number(stream, structure, f"WHERE {where}") == found


def test_within_from_to_bounds_two_absent_events():
    stream = events("ABCD", [0, 1, 5, 6])
    assert number(stream, "SEQ(A a, NOT(SEQ(B b, C c)), D d)", "WITHIN 4 s FROM b TO c") == 0
    assert number(stream, "SEQ(A a, NOT(SEQ(B b, C c)), D d)", "WITHIN 3 s FROM b TO c") == 1


def test_only_events_of_the_partition_break_a_match():
    stream = events("ABCD", user=list("uuvu"))
    assert number(stream, "SEQ(A a, NOT(SEQ(B b, C c)), D d)") == 0
    assert number(stream, "SEQ(A a, NOT(SEQ(B b, C c)), D d)", "PARTITION BY user") == 1


def test_one_event_in_a_sequence_is_that_event():
    stream = events("ABCABD")
    for absent in ("SEQ(B b)", "AND(B b)", "SEQ(AND(B b))"):
        assert number(stream, f"SEQ(A a, NOT({absent}), C c)") == 0
        assert number(stream, f"SEQ(C c, NOT({absent}), D d)") == 0
        text = f"PATTERN SEQ(A a, NOT({absent}), C c) AGG COUNT"
        assert "by detect" not in repr(ck.aggregate(stream, text, emit="total"))


def test_twelve_events_can_be_absent_together():
    names = [f"B b{i}" for i in range(12)]
    structure = f"SEQ(A a, NOT(SEQ({', '.join(names)})), D d)"
    assert number(events("A" + "B" * 12 + "D"), structure) == 0
    assert number(events("A" + "B" * 11 + "D"), structure) == 1


def test_search_for_absent_events_widens_until_a_pair_is_found():
    kinds = "A" + "B" * 300 + "CD"
    price = [0, *range(300, 0, -1), 2, 0]
    stream = events(kinds, price=price)
    structure = "SEQ(A a, NOT(SEQ(B b, C c)), D d)"
    assert number(stream, structure, "WHERE b.price < c.price WITHIN 1 hour") == 0
    assert number(stream, structure, "WHERE b.price + 1 < c.price WITHIN 1 hour") == 1


def test_key_needs_equalities_that_link_all_absent_events():
    pytest.importorskip("pyspark")
    from cepkit.spark.cells.keys import key_of

    def key(where):
        query = parse(f"PATTERN SEQ(A a, NOT(SEQ(B b, C c)), D d) WHERE a.k = d.k AND {where}")
        return key_of(compile_query(query, as_plan(None, query)))

    assert key("a.k = b.k AND b.k = c.k").columns == ("k",)
    assert key("c.k = d.k AND b.k = c.k").columns == ("k",)
    assert key("a.k = b.k") is None


def test_builder_makes_not_of_several_events():
    b, c = var("b"), var("c")
    absent = not_(seq(event("b", "B"), and_(event("c", "C"), event("d", "D"))))
    pattern = seq(event("a", "A"), absent).where(b.x < c.x).within("3 seconds")
    text = "PATTERN SEQ(A a, NOT(SEQ(B b, AND(C c, D d)))) WHERE b.x < c.x WITHIN 3 seconds"
    assert pattern.query == ck.parse(text)
    assert as_query(str(pattern)) == pattern.query


PATTERN = "PATTERN SEQ(A a, NOT(SEQ(B b, C c)), D d) WHERE b.k = a.k WITHIN 1 minute"


@pytest.fixture
def stream():
    return events("ABCDACBD", k=[0, 0, 0, 0, 0, 0, 1, 0])


def test_aggregates_are_over_the_matches(stream):
    found = ck.aggregate(stream, f"{PATTERN} AGG COUNT", emit="total")
    assert found.to_pandas()["count"].tolist() == [1]
    assert "'b' and 'c' must be absent together" in repr(found)


def test_patterns_beside_absent_together_keep_their_matches(stream):
    other = "PATTERN SEQ(A a, NOT(B b), D d) WHERE b.k = a.k WITHIN 1 minute"
    found = ck.detect(
        stream, {"together": PATTERN, "single": other, "plain": "PATTERN SEQ(A a, D d)"}
    )
    assert found.counts().to_dict() == {"together": 1, "single": 1, "plain": 3}


def test_plans_and_figures_show_events_absent_together(stream):
    statistics = ck.profile(stream, PATTERN)
    plan = ck.choose_plan(PATTERN, statistics)
    matches = ck.detect(stream, PATTERN, plan=plan)
    assert matches.explain().steps[-1].removed == 2
    texts = ck.draw(plan, pattern=PATTERN).to_json()
    assert "no SEQ(B b, C c) after a, before d, where b.k = a.k" in texts
    nested = "PATTERN SEQ(A a, NOT(SEQ(B b, AND(C c, C e))), D d)"
    tree = ck.draw(
        ck.choose_plan(nested, ck.profile(stream, nested), planner="dp-tree"), pattern=nested
    )
    said = "no AND(B b, C c, C e), b before c, b before e after a, before d"
    assert said in tree.to_json().replace("\\u003cbr\\u003e", " ")


@pytest.mark.parametrize("mechanism", ["eager-nfa", "chain-nfa", "tree-nfa", "evaluation-tree"])
def test_mechanisms_find_the_matches_and_name_the_forbidden_events(mechanism):
    stream = events("ABCDABD", k=[1] * 7)
    trace = ck.simulate(stream, PATTERN, mechanism)
    assert [dict(match.events) for match in trace.matches] == [{"a": 4, "d": 6}]
    ended = trace.find("discard", event=1)
    assert [f.operation.event for f in ended] == [(1, 2), (1, 2)]
    assert "ends: forbidden events came together (B 1 and C 2)" in ended[0].text
    assert Trace.from_json(trace.to_json()) == trace


def test_a_match_waits_for_events_that_may_come_together():
    stream = events("ABCABAC", [0, 1, 2, 10, 11, 20, 21])
    pattern = "PATTERN SEQ(A a, NOT(AND(B b, C c))) WITHIN 5 s"
    trace = ck.simulate(stream, pattern, "eager-nfa")
    assert [(match.step, dict(match.events)) for match in trace.matches] == [
        (5, {"a": 3}),
        (7, {"a": 5}),
    ]


def test_mechanisms_of_several_patterns_support_absent_together():
    stream = events("ABCDABD", k=[1] * 7)
    for mechanism in ("chain-nfa", "evaluation-tree"):
        trace = ck.simulate(stream, [PATTERN, "PATTERN SEQ(A a, D d)"], mechanism)
        assert [*trace.totals.by_pattern.values()] == [1, 3]


def test_why_not_says_which_events_break_a_match(stream):
    why = ck.why_not(stream, PATTERN, a=0, d=3)
    assert why.found is False
    assert "NOT(SEQ(B b, C c))" in repr(why)
    assert [(event.variable, event.id) for event in why.culprits] == [("b", 1), ("c", 2)]
    funnel = ck.why_not(stream, PATTERN).funnel
    assert [(row.text, row.before, row.after) for row in funnel][-1] == ("NOT(SEQ(B b, C c))", 3, 1)
    nested = "PATTERN SEQ(A a, NOT(AND(SEQ(B b, C c), A f)), D d)"
    assert "NOT(AND(SEQ(B b, C c), A f))" in repr(ck.why_not(stream, nested))
    with pytest.raises(UnsupportedError, match="whether one event breaks a NOT of several: 'c'"):
        ck.why_not(stream, PATTERN, a=0, c=2, d=3)
