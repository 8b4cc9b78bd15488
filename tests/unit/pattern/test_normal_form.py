"""Branches: the union of conjunctive patterns that a pattern is."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from cepkit.pattern.conditions import variables_of
from cepkit.pattern.limits import count_branches
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.printer import expression_text


def _branches(text):
    return normal_form(parse(f"PATTERN {text}"))


def _order(branch):
    return sorted("<".join(pair) for pair in branch.order)


def test_a_sequence_is_one_branch_with_a_chain():
    (branch,) = _branches("SEQ(A a, B b, C c)")
    assert branch.variables == ("a", "b", "c")
    assert _order(branch) == ["a<b", "a<c", "b<c"]
    assert branch.before("c") == {"a", "b"}
    assert branch.after("a") == {"b", "c"}


def test_or_under_and_becomes_one_branch_for_each_choice():
    found = _branches("AND(A a, B b, OR(C c, D d))")
    assert [branch.variables for branch in found] == [("a", "b", "c"), ("a", "b", "d")]
    assert all(not branch.order for branch in found)


def test_or_beside_an_absence():
    found = _branches("AND(A a, NOT(B b), OR(C c, D d))")
    assert [branch.variables for branch in found] == [("a", "c"), ("a", "d")]
    assert [[event.variable for event in branch.negated] for branch in found] == [["b"], ["b"]]


def test_nesting_gives_a_series_parallel_order():
    (branch,) = _branches("SEQ(A a, AND(B b, SEQ(C c, D d)), E e)")
    assert _order(branch) == ["a<b", "a<c", "a<d", "a<e", "b<e", "c<d", "c<e", "d<e"]


def test_an_absence_has_its_place_in_the_order():
    (branch,) = _branches("SEQ(A a, NOT(B b), C c)")
    assert branch.variables == ("a", "c")
    assert (branch.before("b"), branch.after("b")) == ({"a"}, {"c"})
    assert branch.event("b").types == {"B"}


def test_repeated_variables_keep_their_bounds():
    (branch,) = _branches("AND(A a, KL(B b){2,5}, KL(C c))")
    assert branch.repeated == (("b", 2, 5), ("c", 1, None))


def test_each_branch_has_the_conditions_about_its_variables():
    first, second = _branches(
        "AND(A a, OR(B b, SEQ(C c, D d))) WHERE a.x < b.x AND (c.x < d.x AND a.x > 0) AND 1 < 2"
    )
    assert list(map(expression_text, first.conditions)) == ["a.x < b.x", "a.x > 0", "1 < 2"]
    assert list(map(expression_text, second.conditions)) == ["c.x < d.x", "a.x > 0", "1 < 2"]
    assert list(map(expression_text, first.conditions_between("b", "a"))) == ["a.x < b.x"]
    assert list(map(expression_text, first.conditions_between("a", "a"))) == ["a.x > 0"]


@pytest.mark.parametrize(
    "text",
    [
        "A a",
        "OR(A a, B b, C c)",
        "SEQ(OR(A a, B b), OR(C c, OR(D d, E e)))",
        "OR(AND(A a, OR(B b, C c)), SEQ(D d, NOT(E e)))",
    ],
)
def test_branches_are_counted_without_being_made(text):
    assert count_branches(parse(f"PATTERN {text}").structure) == len(_branches(text))


def test_the_normal_form_is_made_once_for_each_query():
    text = "PATTERN SEQ(A a, OR(B b, C c)) WHERE a.x < 1 WITHIN 9 s"
    query = parse(text)
    assert normal_form(query) is normal_form(query)
    # Another query is another value, even where it is equal: its conditions have other places.
    assert normal_form(parse(text)) is not normal_form(query)
    longer = replace(query, window=None)
    assert [branch.window for branch in normal_form(longer)] == [None, None]
    assert longer != query == parse(text)
    assert normal_form(pickle.loads(pickle.dumps(query))) == normal_form(query)


def test_the_variables_of_a_condition_are_found_once():
    condition = parse("PATTERN SEQ(A a, B b) WHERE a.x + b.x IN (a.y, 3) OR NOT b.z < 2").where
    assert variables_of(condition) is variables_of(condition)
    assert variables_of(condition) == {"a", "b"}
    again = pickle.loads(pickle.dumps(condition))
    assert again == condition
    assert variables_of(again) == {"a", "b"}
