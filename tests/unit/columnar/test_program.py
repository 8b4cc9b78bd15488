"""The lookups, comparisons and checks of the steps of a plan."""

from __future__ import annotations

import pytest

from cepkit.columnar.compile.program import Bound, Program
from cepkit.columnar.compile.query import compile_branch, compile_query
from cepkit.columnar.slices.cutting import looks_ahead
from cepkit.pattern.normal_form import normal_form
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.printer import expression_text
from cepkit.plan.checks import as_plan


def program(text: str, *order: str) -> Program:
    """Return the program of the first branch."""
    return compile_branch(normal_form(parse(text))[0], order)


def test_a_chain_is_bounded_by_its_neighbours_among_the_bound() -> None:
    steps = program("PATTERN SEQ(A a, B b, C c, D d) WITHIN 10 us", "b", "a", "d", "c").steps
    assert [(s.variable, s.lower, s.upper) for s in steps] == [
        ("b", (), ()),
        ("a", (Bound("b", -10),), (Bound("b", 0, "order"),)),
        # d after b (erratum 1 of the sources: not after a), and within the window of a.
        ("d", (Bound("b", 1, "order"),), (Bound("a", 11),)),
        ("c", (Bound("b", 1, "order"),), (Bound("d", 0, "order"),)),
    ]


def test_a_conjunction_is_bounded_by_the_window_of_all_that_are_bound() -> None:
    step = program("PATTERN AND(A a, B b, C c) WITHIN 10 us", "a", "b", "c").steps[2]
    assert set(step.lower) == {Bound("a", -10), Bound("b", -10)}
    assert set(step.upper) == {Bound("a", 11), Bound("b", 11)}


def test_an_exclusive_window_is_a_microsecond_shorter() -> None:
    step = program("PATTERN SEQ(A a, B b) WITHIN 10 us EXCLUSIVE", "a", "b").steps[1]
    assert step.upper == (Bound("a", 10),)


def test_without_a_window_only_order_bounds() -> None:
    steps = program("PATTERN SEQ(A a, B b)", "a", "b").steps
    assert (steps[1].lower, steps[1].upper) == ((Bound("a", 1, "order"),), ())


def test_equalities_link_variables_that_no_condition_names_together() -> None:
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k WITHIN 1 s"
    made = program(text, "a", "c", "b")
    assert made.classes == (frozenset({("a", "k"), ("b", "k"), ("c", "k")}),)
    assert [step.classes for step in made.steps] == [(), (0,), (0,)]
    assert not any(step.bands or step.residuals for step in made.steps)


def test_a_condition_goes_to_the_first_step_that_has_its_variables() -> None:
    text = """PATTERN SEQ(A a, B b, C c)
              WHERE a.x > 1 AND a.x < b.x AND (a.x < c.x OR b.x < c.x) AND a.x + b.x < c.x
              WITHIN 1 s"""
    steps = program(text, "c", "b", "a").steps
    assert [len(s.filters) for s in steps] == [0, 0, 1]
    assert [len(s.bands) for s in steps] == [0, 0, 1]
    assert [len(s.residuals) for s in steps] == [0, 0, 2]
    # In pattern order the sum is about bound variables alone: a band.
    steps = program(text, "a", "b", "c").steps
    assert [len(s.bands) for s in steps] == [0, 1, 1]
    assert [len(s.residuals) for s in steps] == [0, 0, 1]


def test_a_difference_of_times_is_compared_by_bands() -> None:
    text = """PATTERN SEQ(A a, B b)
              WHERE b.t - a.t > 5 s AND abs(b.u - a.t) <= 1 min AND NOT 2 h <= b.t - a.u"""
    (_, step) = program(text, "a", "b").steps
    assert not step.residuals
    assert [
        f"{expression_text(band.own)} {band.operator} {expression_text(band.other)}"
        for band in step.bands
    ] == [
        "b.t > a.t + 5 seconds",
        "b.u >= a.t + -1 minute",
        "b.u <= a.t + 1 minute",
        "b.t < a.u + 2 hours",
    ]


def test_only_unordered_variables_of_common_types_are_checked_as_distinct() -> None:
    steps = program("PATTERN AND(A a, a2 IN (A, B), C c) WITHIN 1 s", "a", "a2", "c").steps
    assert [step.distinct_from for step in steps] == [(), ("a",), ()]
    steps = program("PATTERN SEQ(A a, A b) WITHIN 1 s", "a", "b").steps
    assert steps[1].distinct_from == ()


@pytest.mark.parametrize(
    ("structure", "order", "after"),
    [
        # In the middle: when both neighbours are bound, whatever else is.
        ("SEQ(A a, NOT(B n), C c, D d)", "acd", 1),
        ("SEQ(A a, NOT(B n), C c, D d)", "dac", 2),
        ("SEQ(A a, NOT(B n), C c, D d)", "cda", 2),
        # In front: from the first event back to a window before the last.
        ("SEQ(NOT(B n), A a, C c, D d)", "adc", 1),
        # Behind: from the last event on to a window after the first.
        ("SEQ(A a, C c, D d, NOT(B n))", "dac", 1),
        ("AND(A a, C c, D d, NOT(B n))", "acd", 2),
    ],
)
def test_an_absence_is_checked_as_soon_as_it_can_be(structure: str, order: str, after: int) -> None:
    (absence,) = program(f"PATTERN {structure} WITHIN 9 us", *order).absences
    assert (absence.step.variable, absence.after) == ("n", after)


def test_absence_is_checked_after_the_steps_of_its_conditions() -> None:
    text = "PATTERN SEQ(A a, NOT(B n), C c, D d) WHERE n.x < d.x WITHIN 9 us"
    (absence,) = program(text, "a", "c", "d").absences
    assert (absence.after, len(absence.step.bands)) == (2, 1)


def test_equality_with_a_negated_event_links_no_other_events() -> None:
    text = "PATTERN SEQ(A a, NOT(B n), C c) WHERE a.k = n.k AND n.k = c.k WITHIN 9 us"
    made = program(text, "a", "c")
    assert made.linked == 0
    assert made.steps[1].classes == ()
    assert len(made.absences[0].step.classes) == 2


@pytest.mark.parametrize(
    ("text", "ahead"),
    [
        ("SEQ(A a, NOT(B b), C c)", False),
        ("SEQ(NOT(B b), A a, C c)", False),
        ("SEQ(A a, C c, NOT(B b))", True),
        ("AND(A a, C c, NOT(B b))", True),
    ],
)
def test_only_a_trailing_not_makes_slices_of_time_look_ahead(text, ahead):
    query = parse(f"PATTERN {text} WITHIN 5 s")
    compiled = compile_query(query, as_plan(None, query))
    assert looks_ahead(compiled.programs, "time") == ahead
    assert looks_ahead(compiled.programs, "arrival")
