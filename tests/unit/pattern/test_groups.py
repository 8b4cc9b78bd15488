"""Groups that repeat: their names, their text, and refusals."""

from __future__ import annotations

import pandas as pd
import pytest

import cepkit as ck
from cepkit.errors import PatternError, UnsupportedError
from cepkit.pattern.builder import event, kl, seq, var
from cepkit.pattern.evaluation.functions.registered import function_of_members
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.printer import expression_text

GROUP = "PATTERN KL(SEQ(A a, B b)){1,2}"


def stream(kinds: str, **columns: list[object]) -> ck.Stream:
    frame = pd.DataFrame({"t": range(len(kinds)), "kind": list(kinds), **columns})
    return ck.events(frame, time="t", type="kind", unit="s")


def conditions(where: str, *, times: int = 2) -> list[str]:
    branch = normal_form(ck.parse(f"{GROUP} WHERE {where}"))[times - 1]
    return [expression_text(condition) for condition in branch.conditions]


def test_query_with_a_group_prints_its_text_and_parses_back():
    query = ck.parse(f"{GROUP} WHERE a.x < b.x WITHIN 5 s FROM a TO b")
    assert str(query).splitlines()[0] == GROUP
    assert ck.parse(str(query)) == query


def test_builder_makes_groups():
    a, b = var("a"), var("b")
    built = kl(seq(event("a", "A"), event("b", "B")), 1, 2).where(a.x < b.x)
    assert built.query == ck.parse(f"{GROUP} WHERE a.x < b.x")
    assert str(built).splitlines()[0] == GROUP


def test_each_repetition_has_names_that_no_other_event_has():
    query = ck.parse('PATTERN SEQ(C c, KL(SEQ(A "my a", B b)){1,2})')
    assert [branch.variables for branch in normal_form(query)] == [
        ("c", "my a[1]", "b[1]"),
        ("c", "my a[1]", "b[1]", "my a[2]", "b[2]"),
    ]
    with pytest.raises(PatternError, match=r"'a\[1\]' is called like a member of a set"):
        ck.parse('PATTERN SEQ(C "a[1]", KL(SEQ(A a, B b)){1,2})')


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("a.x < b.x", ["a[1].x < b[1].x", "a[2].x < b[2].x"]),
        ("a[i].x < b[i-1].x", ["a[2].x < b[1].x"]),
        ("b[1].x < a[last].x", ["b[1].x < a[2].x"]),
        ("sum(a.x) < 9", ["sum(a[1].x, a[2].x) < 9"]),
        ("count(a) < 9", ["2 < 9"]),
        ("sum(a[..i].x) < b.x", ["sum(a[1].x) < b[1].x", "sum(a[1].x, a[2].x) < b[2].x"]),
        ("max(a[..i-1].x) < b.x", ["max(a[1].x) < b[2].x"]),
    ],
)
def test_conditions_apply_to_each_repetition(where, said):
    assert conditions(where) == said


@pytest.mark.parametrize(
    ("function", "expected"),
    [("sum", [4, 3]), ("count", [2, 1]), ("min", [1, 3]), ("max", [3, 3]), ("avg", [2.0, 3.0])],
)
def test_functions_of_repetitions_skip_missing_values(function, expected):
    form = function_of_members(function).form
    events = stream("ABAB", x=[1, 0, 3, 0])
    text = "PATTERN KL(SEQ(A a, B b)){2} WHERE " + f"{function}(a.x) = "
    assert ck.detect(events, text + str(expected[0])).count() == 1
    assert ck.detect(stream("ABAB", x=[None, 0, 3, 0]), text + str(expected[1])).count() == 1
    assert [form.scalar([1, 3]), form.scalar([3])] == expected


def test_functions_of_repetitions_without_values_are_missing():
    events = stream("ABAB", x=[None, 0.0, None, 0.0])
    assert ck.detect(events, f"{GROUP} WHERE sum(a.x) >= 0 OR sum(a.x) < 0").count() == 0
    assert ck.detect(events, f"{GROUP} WHERE sum(a.x) IS NULL AND count(a.x) = 0").count() == 4


def test_why_not_searches_the_repetitions_of_named_events():
    events = stream("ABABAB", x=[1, 2, 3, 1, 5, 6])
    pattern = f"{GROUP} WHERE b.x > a.x"
    assert ck.why_not(events, pattern, a=4).found
    why = ck.why_not(events, pattern, a=[0, 2], b=3)
    assert not why.found
    assert [str(one.variable) for one in why.events if one.given] == ["a[1]", "a[2]", "b[2]"]
    why = ck.why_not(events, pattern, b=3)
    assert "of 3 choices of repetitions this comes nearest" in why.notes
    with pytest.raises(PatternError, match="'a' names 3 events"):
        ck.why_not(events, pattern, a=[0, 2, 4])


def test_maximal_sets_of_a_group_are_refused():
    events = stream("ABAB")
    with pytest.raises(UnsupportedError, match="sets='maximal' of a group"):
        ck.detect(events, GROUP, sets="maximal")


def test_a_profile_measures_each_repetition():
    statistics = ck.profile(stream("ABABC"), f"{GROUP} WITHIN 5 s")
    assert set(statistics.rates) == {"a[1]", "b[1]", "a[2]", "b[2]"}
    assert statistics.query == ck.parse(f"{GROUP} WITHIN 5 s")


@pytest.mark.parametrize(
    ("condition", "alone", "count"),
    [
        ("c[2].v > 3", "c.v > 3", 1),
        ("last(c.v) > 3", "c.v > 3", 1),
        ("c[1].v > 0 AND c[2].v > c[1].v", "b.v > 0 AND c.v > b.v", 1),
        ("c[i].v > c[i-1].v + 2", "c.v > b.v + 2", 1),
        ("c[last-1].v < c[last].v - 4", "b.v < c.v - 4", 1),
        ("c[3].v IS NULL", "b.v < 9", 1),
        ("c[3].v > 0", "b.v > 9", 0),
    ],
)
def test_first_in_a_group_is_decided_as_in_the_pattern_without_it(condition, alone, count):
    events = stream("ABBB", v=[0, 0, 1, 5])
    group = f"PATTERN SEQ(A a, KL(SEQ(FIRST B c)){{2}}) WHERE {condition}"
    written = f"PATTERN SEQ(A a, FIRST B b, FIRST B c) WHERE {alone}"
    expected = [(m["b"]["t"], m["c"]["t"]) for m in ck.detect(events, written)]
    assert [tuple(e["t"] for e in m["c"]) for m in ck.detect(events, group)] == expected
    assert len(expected) == count
    (total,) = ck.aggregate(events, f"{group} AGG COUNT", emit="total").to_pandas()["count"]
    assert total == count
    trace = ck.simulate(events, f"{group} WITHIN 1 hour", "eager-nfa")
    assert [(m.events["c[1]"], m.events["c[2]"]) for m in trace.matches] == expected
    taken = {"c": [*expected[0]]} if expected else {"c": [1, 2]}
    answer = str(ck.why_not(events, group, a=0, **taken))
    assert answer.startswith("A match after all" if expected else "No match")


def test_functions_of_all_repetitions_choose_among_the_matches_of_first():
    events = stream("ABBB", v=[0, 0, 1, 5])
    group = "PATTERN SEQ(A a, KL(SEQ(FIRST B c)){2,3}) WHERE "
    assert [len(m["c"]) for m in ck.detect(events, group + "sum(c.v) > 3")] == [3]
    assert ck.detect(events, group + "sum(c.v) > 3 AND count(c) = 2").count() == 0
