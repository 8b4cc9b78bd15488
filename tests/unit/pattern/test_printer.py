"""How queries are written; that they read back the same is tested in tests/properties."""

from __future__ import annotations

import pytest

from cepkit.pattern.conditions import Arithmetic, Attribute, Literal, Negative
from cepkit.pattern.parsing.parser import parse, parse_condition, parse_window
from cepkit.pattern.printer import expression_text, structure_text, to_text


def test_one_clause_a_line():
    text = (
        "PATTERN SEQ(MSFT a, NOT(ANY x), b IN (AAPL, GOOG), KL(C c){2,})\n"
        "WHERE a.price < b.price AND NOT (a.price = 3 OR b.price IS NULL)\n"
        "WITHIN 90 minutes EXCLUSIVE\n"
        "STRATEGY skip-till-next-match\n"
        'PARTITION BY k, "group"\n'
        "AGG COUNT, SUM(c.group)\n"
        "GROUP BY k"
    )
    assert to_text(parse(text)) == text
    assert str(parse(text)) == text


def test_a_long_condition_is_broken_at_its_ands():
    terms = [f"a.a_long_attribute_{i} < b.a_long_attribute_{i}" for i in range(3)]
    text = to_text(parse(f"PATTERN SEQ(A a, B b) WHERE {' AND '.join(terms)}"))
    assert text.splitlines()[1:] == [f"WHERE {terms[0]}", f"  AND {terms[1]}", f"  AND {terms[2]}"]


@pytest.mark.parametrize(
    "text",
    [
        "a.x - (b.x - 1)",
        "a.x - b.x - 1",
        "(a.x + 1) * 2",
        "-a.x * -3",
        "-(3)",
        "-(-3)",
        "-(a.x + 1)",
        "a.x - -3 < 1e+300",
        "NOT NOT a.x = 'it''s'",
        "(a.x AND b.x) AND a.x",
        "(a.x OR b.x) AND NOT (a.x AND b.x)",
        "a.x AND b.x OR a.x",
        'least(a."b c", "in".y, 1)',
        "a.x NOT BETWEEN 1 AND b.x + 1",
        "a.x NOT IN (1, NULL, TRUE)",
    ],
)
def test_expressions_are_written_with_the_fewest_brackets(text):
    assert expression_text(parse_condition(text)) == text


def test_two_minus_signs_never_meet():
    twice = Negative(Negative(Attribute("a", "x")))
    assert expression_text(twice) == "-(-a.x)"
    assert expression_text(Arithmetic("-", Literal(1), twice)) == "1 - -(-a.x)"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("3600 s", "1 hour"),
        ("90 min", "90 minutes"),
        ("14 days", "2 weeks"),
        ("1500 ms", "1500 milliseconds"),
        ("0 h", "0 seconds"),
        ("100 events", "100 EVENTS"),
    ],
)
def test_windows_are_written_in_the_largest_unit_that_is_exact(text, printed):
    window = parse(f"PATTERN A a WITHIN {text}")
    assert to_text(window).splitlines()[1] == f"WITHIN {printed}"
    assert parse_window(printed) == window.window


def test_a_structure_alone():
    assert structure_text(parse("PATTERN seq(A A, B b)").structure) == "SEQ(A, B b)"


@pytest.mark.parametrize(
    "text",
    [
        'SEQ("FIRST" a, FIRST "first" IN (A, B), "First")',
        'SEQ("NEXT" a, NEXT "next" IN (A, B), NOT(NEXT C c))',
        "OR(OPT opt, SEQ(OPT, OPT(Opt IN (A, B)), ANY first))",
        "SEQ(A first, FIRST B opt) WHERE first.x < TIMESTAMP '2024-05-01 00:00:00' AND opt.x < 1",
    ],
)
def test_keywords_before_events_can_be_names(text: str) -> None:
    query = parse(f"PATTERN {text}")
    assert parse(to_text(query)) == query
    assert to_text(query).replace("\n", " ") == f"PATTERN {text}"
