"""Sub-patterns are equal where renaming makes them so, and only there."""

from __future__ import annotations

from itertools import combinations

import pytest

from cepkit.pattern.canonical import CanonicalEvent, SubPattern, canonical, canonical_event
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse


def form(text: str, *variables: str) -> SubPattern:
    """Return the form of the first branch of a pattern, or of some of its variables."""
    return canonical(normal_form(parse(text))[0], variables or None)[0]


SAME = [
    ("SEQ(A a, B b)", "SEQ(A x, B y)"),
    ("AND(A a, B b)", "AND(B b, A a)"),
    ("SEQ(A a, B b, C c)", "SEQ(A a, SEQ(B b, C c))"),
    ("SEQ(A a) WHERE 3 < a.x", "SEQ(A b) WHERE b.x > 3"),
    ("SEQ(A a) WHERE a.x = a.y", "SEQ(A a) WHERE a.y = a.x"),
    ("SEQ(A a) WHERE a.x > 3 AND a.y < 2", "SEQ(A a) WHERE a.y < 2 AND (a.x > 3 AND a.x > 3)"),
    ("SEQ(A a) WHERE a.x > 3 OR a.y < 2", "SEQ(A a) WHERE a.y < 2 OR a.x > 3 OR a.y < 2"),
    ("SEQ(A a) WHERE NOT (a.x <= 3 OR a.y >= 2)", "SEQ(A a) WHERE a.x > 3 AND a.y < 2"),
    ("SEQ(A a) WHERE a.x BETWEEN 1 AND 2", "SEQ(A a) WHERE a.x <= 2 AND a.x >= 1"),
    ("SEQ(A a) WHERE a.x IN (1, 2)", "SEQ(A a) WHERE a.x IN (2, 1, 2)"),
    ("AND(A a, A b) WHERE a.x < b.x", "AND(A a, A b) WHERE b.x < a.x"),
    (
        "AND(A a, A b, A c) WHERE a.x < b.x AND b.x < c.x",
        "AND(A r, A s, A t) WHERE r.x > s.x AND r.x < t.x",
    ),
    ("AND(A a, A b) WHERE a.x < 2 AND b.y = 1", "AND(A a, A b) WHERE b.x < 2 AND a.y = 1"),
    ("SEQ(A a, NOT(C n), B b) WHERE n.x = a.x", "SEQ(A x, NOT(C y), B z) WHERE x.x = y.x"),
    ("AND(KL(A a){1,3}, KL(A b))", "AND(KL(A a), KL(A b){1,3})"),
    ("SEQ(A a, KL(B b)) WHERE avg(b.x) > a.x", "SEQ(A c, KL(B a)) WHERE c.x < avg(a.x)"),
    ("SEQ(A a, B b) WITHIN 1 s EXCLUSIVE", "SEQ(A a, B b) WITHIN 999999 us"),
    ("SEQ(A a, B b) WITHIN 5 EVENTS EXCLUSIVE", "SEQ(A a, B b) WITHIN 4 EVENTS"),
    ("SEQ(A a, B b) PARTITION BY k, j", "SEQ(A a, B b) PARTITION BY j, k"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_forms_of_equivalent_patterns_are_equal(one: str, other: str) -> None:
    """Names, sides, brackets and the order inside AND and OR do not matter."""
    assert form(f"PATTERN {one}") == form(f"PATTERN {other}")
    assert hash(form(f"PATTERN {one}")) == hash(form(f"PATTERN {other}"))


DIFFERENT = [
    "SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 s",
    "AND(A a, B b) WHERE a.x < b.x WITHIN 5 s",
    "SEQ(B b, A a) WHERE a.x < b.x WITHIN 5 s",
    "SEQ(A a, C b) WHERE a.x < b.x WITHIN 5 s",
    "SEQ(A a, ANY b) WHERE a.x < b.x WITHIN 5 s",
    "SEQ(A a, KL(B b)) WHERE a.x < b.x WITHIN 5 s",
    "SEQ(A a, KL(B b){1,2}) WHERE a.x < b.x WITHIN 5 s",
    "SEQ(A a, KL(B b)) WHERE a.x < sum(b.x) WITHIN 5 s",
    "SEQ(A a, NOT(B b)) WHERE a.x < b.x WITHIN 5 s",
    "SEQ(A a, B b) WHERE a.x <= b.x WITHIN 5 s",
    "SEQ(A a, B b) WHERE a.x > b.x WITHIN 5 s",
    "SEQ(A a, B b) WHERE a.y < b.x WITHIN 5 s",
    "SEQ(A a, B b) WHERE a.x < b.x AND a.x < 1 WITHIN 5 s",
    "SEQ(A a, B b) WHERE a.x < b.x AND a.x < 1.0 WITHIN 5 s",
    "SEQ(A a, B b) WHERE a.x < b.x AND b.x < 1 WITHIN 5 s",
    "SEQ(A a, B b) WHERE a.x < b.x AND FALSE WITHIN 5 s",
    "SEQ(A a, B b) WHERE a.x < b.x",
    "SEQ(A a, B b) WHERE a.x < b.x WITHIN 6 s",
    "SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 s EXCLUSIVE",
    "SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 EVENTS",
    "SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 s STRATEGY strict-contiguity",
    "SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 s STRATEGY skip-till-next-match",
    "SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 s PARTITION BY k",
]


def test_forms_of_different_patterns_differ() -> None:
    """A changed type, operator, constant, order, window or strategy makes another form."""
    forms = [form(f"PATTERN {text}") for text in DIFFERENT]
    for one, other in combinations(range(len(forms)), 2):
        assert forms[one] != forms[other], (DIFFERENT[one], DIFFERENT[other])


def test_conditions_are_not_taken_apart_where_a_part_would_be_about_fewer() -> None:
    """A condition under NOT stays whole; no part of it becomes a filter of `a`."""
    whole = form("PATTERN SEQ(A a, NOT(B b), C c) WHERE NOT (a.x > 3 OR a.y = b.y)")
    parts = form("PATTERN SEQ(A a, NOT(B b), C c) WHERE a.x <= 3 AND a.y != b.y")
    assert whole != parts


def test_next_match_prefers_by_the_order_of_the_text() -> None:
    """There AND(A a, B b) is not AND(B b, A a): another match may be the first."""
    one, other = (
        form(f"PATTERN AND({items}) STRATEGY skip-till-next-match")
        for items in ("A a, B b", "B b, A a")
    )
    assert one != other


def test_sub_patterns_of_two_patterns() -> None:
    """SEQ(A, C, D) is in SEQ(A, B, C, D) and in SEQ(A, E, C, D), with the conditions inside."""
    first = "PATTERN SEQ(A a, B b, C c, D d) WHERE a.x < c.x AND b.x < 2 AND c.y = 1 WITHIN 9 s"
    second = "PATTERN SEQ(A p, E q, C r, D s) WHERE 1 = r.y AND r.x > p.x WITHIN 9 s"
    assert form(first, "a", "c", "d") == form(second, "p", "r", "s")
    assert form(first, "a", "c") == form(second, "p", "r")
    assert form(first, "a", "d") != form(second, "p", "r")
    assert form(first, "a", "b", "c", "d") != form(second, "p", "q", "r", "s")


def test_positions_name_the_variables() -> None:
    """The form over positions agrees with the branch over variables."""
    branch = normal_form(parse("PATTERN AND(B b, SEQ(A x, A a)) WHERE a.x < b.x"))[0]
    pattern, names = canonical(branch)
    assert [canonical_event(branch, name) for name in names] == list(pattern.events)
    assert {(names[x], names[y]) for x, y in pattern.order} == branch.order


def test_events_print_their_types_and_filters() -> None:
    """Names that are no words are quoted, so that no two events print alike."""
    branch = normal_form(parse('PATTERN SEQ(a IN (B, "C | D"), ANY b) WHERE 3 < a.x'))[0]
    assert str(canonical_event(branch, "a")) == 'B | "C | D" [_.x > 3]'
    assert canonical_event(branch, "b") == CanonicalEvent(None)


def test_many_that_look_alike() -> None:
    """Where permutations are too many to try, symmetric variables still give one form."""
    names = [f"v{i}" for i in range(12)]
    one, other = (
        form(f"PATTERN AND({', '.join(f'A {name}' for name in order)})")
        for order in (names, names[::-1])
    )
    assert one == other
