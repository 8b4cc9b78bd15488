"""The meaning of texts, construct by construct."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from cepkit.errors import PatternError, PatternSyntaxError
from cepkit.pattern.conditions import (
    Aggregate,
    AllOf,
    AnyOf,
    Arithmetic,
    Attribute,
    Between,
    Call,
    Comparison,
    Complement,
    InList,
    IsNull,
    Literal,
    Negative,
    walk,
)
from cepkit.pattern.names import (
    BEFORE_CLAUSES,
    BEFORE_EVENTS,
    BEHIND_SETS,
    BETWEEN_VALUES,
    INSIDE_CLAUSES,
    RESERVED,
)
from cepkit.pattern.nodes import And, Event, Kleene, Not, Or, Seq
from cepkit.pattern.nodes import walk as walk_structure
from cepkit.pattern.parsing.parser import parse, parse_condition, parse_window
from cepkit.pattern.policies import CountWindow, Strategy, TimeWindow
from cepkit.pattern.query import Query

A_X, B_X = Attribute("a", "x"), Attribute("b", "x")


def _event(variable: str, *types: str) -> Event:
    return Event(variable, frozenset(types))


def test_a_whole_query():
    query = parse(
        """
        -- rising prices
        PATTERN SEQ(MSFT a, GOOG b)     # two events
        WHERE a.price < b.price
        WITHIN 4 hours EXCLUSIVE
        STRATEGY skip-till-next-match
        PARTITION BY exchange, "trading day"
        AGG COUNT, SUM(b.volume)
        GROUP BY sector
        """
    )
    assert query == Query(
        Seq((_event("a", "MSFT"), _event("b", "GOOG"))),
        Comparison("<", Attribute("a", "price"), Attribute("b", "price")),
        TimeWindow(4 * 3_600_000_000, exclusive=True),
        Strategy.SKIP_TILL_NEXT_MATCH,
        ("exchange", "trading day"),
        (Aggregate("count"), Aggregate("sum", "b", "volume")),
        ("sector",),
    )


def test_clauses_come_in_any_order_and_keywords_in_any_case():
    assert parse("pattern seq(A a) within 1 h where a.x > 1 agg count") == parse(
        "PATTERN SEQ(A a)\nAGG COUNT\nWHERE a.x > 1\nWITHIN 1 hour"
    )


@pytest.mark.parametrize(
    ("text", "structure"),
    [
        ("MSFT a", _event("a", "MSFT")),
        ("MSFT", _event("MSFT", "MSFT")),
        ("'security 4624' e", _event("e", "security 4624")),
        ('"a ""b"""', _event('a "b"', 'a "b"')),
        ('"in" "or"', _event("or", "in")),
        ("ANY a", Event("a", None)),
        ("a IN (GOOG, 'MS FT')", _event("a", "GOOG", "MS FT")),
        ("SEQ(A, B)", Seq((_event("A", "A"), _event("B", "B")))),
        (
            "AND(A a, OR(B b, C c))",
            And((_event("a", "A"), Or((_event("b", "B"), _event("c", "C"))))),
        ),
        ("SEQ(A a, NOT(B b))", Seq((_event("a", "A"), Not(_event("b", "B"))))),
        ("KL(B b)", Kleene(_event("b", "B"), 1, None)),
        ("KL(B b){2,5}", Kleene(_event("b", "B"), 2, 5)),
        ("KL(B b){2,}", Kleene(_event("b", "B"), 2, None)),
        ("KL(B b){3}", Kleene(_event("b", "B"), 3, 3)),
    ],
)
def test_structures(text, structure):
    assert parse(f"PATTERN {text}").structure == structure


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("1_000", Literal(1000)),
        (".5", Literal(0.5)),
        ("1e-3", Literal(0.001)),
        ("- 3", Literal(-3)),
        ("-(3)", Negative(Literal(3))),
        ("- -3", Negative(Literal(-3))),
        ("-a.x", Negative(A_X)),
        ("'it''s'", Literal("it's")),
        ("true", Literal(True)),
        ("NULL", Literal(None)),
        ("a.within", Attribute("a", "within")),
        ('a."b c"', Attribute("a", "b c")),
        ("a.x - b.x - 1", Arithmetic("-", Arithmetic("-", A_X, B_X), Literal(1))),
        ("a.x + b.x * -2", Arithmetic("+", A_X, Arithmetic("*", B_X, Literal(-2)))),
        ("(a.x + b.x) % 2", Arithmetic("%", Arithmetic("+", A_X, B_X), Literal(2))),
        ("ABS(a.x)", Call("abs", (A_X,))),
        ("mine(a.x, 1)", Call("mine", (A_X, Literal(1)))),
        ("count(b)", Aggregate("count", "b")),
        ("Last(b.x)", Aggregate("last", "b", "x")),
        ("a.x == b.x", Comparison("=", A_X, B_X)),
        ("a.x <> b.x", Comparison("!=", A_X, B_X)),
        ("a.x IN (1, 'b')", InList(A_X, (Literal(1), Literal("b")))),
        ("a.x not in (1)", InList(A_X, (Literal(1),), True)),
        ("a.x between 1 and 2", Between(A_X, Literal(1), Literal(2))),
        ("a.x not between 1 and 2", Between(A_X, Literal(1), Literal(2), True)),
        ("a.x is null", IsNull(A_X)),
        ("a.x is not null", IsNull(A_X, True)),
        ("NOT a.x < 1", Complement(Comparison("<", A_X, Literal(1)))),
        ("a.x AND b.x OR a.x", AnyOf((AllOf((A_X, B_X)), A_X))),
        ("(a.x AND b.x) AND a.x", AllOf((AllOf((A_X, B_X)), A_X))),
        ("NOT NOT a.x", Complement(Complement(A_X))),
    ],
)
def test_expressions(text, expression):
    assert parse_condition(text) == expression


def test_between_takes_its_and_before_conditions_do():
    assert parse_condition("a.x BETWEEN 1 AND 2 AND b.x") == AllOf(
        (Between(A_X, Literal(1), Literal(2)), B_X)
    )


def test_a_chain_of_comparisons_is_the_comparisons_of_its_neighbours():
    chain = parse_condition("a.x < b.x <= 3")
    assert chain == AllOf((Comparison("<", A_X, B_X), Comparison("<=", B_X, Literal(3))))
    assert parse_condition("a.x < b.x <= 3 AND b.x") == AllOf((*chain.items, B_X))


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("0 s", TimeWindow(0)),
        ("7 us", TimeWindow(7)),
        ("1.5 ms", TimeWindow(1500)),
        ("0.5 sec", TimeWindow(500_000)),
        ("90min", TimeWindow(5_400_000_000)),
        ("1e3 Seconds", TimeWindow(1_000_000_000)),
        ("1 DAY", TimeWindow(86_400_000_000)),
        ("2 w exclusive", TimeWindow(1_209_600_000_000, True)),
        ("1_000 EVENTS", CountWindow(1000)),
        ("1 event exclusive", CountWindow(1, True)),
    ],
)
def test_windows(text, window):
    assert parse_window(text) == window


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "9" * 50])
def test_a_monstrous_duration_is_refused_at_once(number):
    with pytest.raises(PatternSyntaxError):
        parse_window(f"{number} s")


def test_every_node_knows_its_place():
    text = 'PATTERN SEQ(A a, NOT(B b), KL("C c" c){2})\nWHERE (a.x + -1 < b.x) AND count(c) > 2'
    query = parse(text)
    places = [n.span for n in (*walk_structure(query.structure), *walk(query.where))]
    assert [text[s.start : s.end] for s in places] == [
        'SEQ(A a, NOT(B b), KL("C c" c){2})',
        "A a",
        "NOT(B b)",
        "B b",
        'KL("C c" c){2}',
        '"C c" c',
        "(a.x + -1 < b.x) AND count(c) > 2",
        "a.x + -1 < b.x",
        "a.x + -1",
        "a.x",
        "-1",
        "b.x",
        "count(c) > 2",
        "count(c)",
        "2",
    ]
    assert query.text == text


def test_names_are_plain_strings():
    query = parse("PATTERN SEQ(A a, b IN (B, C)) WHERE a.x = 'x' PARTITION BY k")
    (first, second) = query.structure.items
    found = [first.variable, second.variable, *second.types, *query.partition_by]
    assert {type(name) for name in found} == {str}


@pytest.mark.parametrize("shape", ["({})", "NOT ({})", "-({})", "abs({})", "1 + ({})", "({}) OR 1"])
@pytest.mark.parametrize("depth", [50, 1_000, 20_000])
def test_deep_nesting_parses_or_is_refused(shape, depth):
    before, after = shape.split("{}")
    text = f"PATTERN A a WHERE {before * depth}a.x{after * depth} > 0"
    try:
        parse(text)
    except PatternError as error:
        shown = str(error)
    else:
        shown = ""
    assert len(shown) < 1000


@pytest.mark.parametrize("operator", ["SEQ", "AND", "OR", "NOT", "KL"])
def test_deeply_nested_structures_are_refused(operator):
    with pytest.raises(PatternError, match="100 levels"):
        parse("PATTERN " + f"{operator}(" * 1000 + "A a" + ")" * 1000)


def test_redundant_brackets_are_no_nesting():
    text = "PATTERN A a WHERE " + "(" * 1000 + "a.x < 1" + ")" * 1000
    assert parse(text) == parse("PATTERN A a WHERE a.x < 1")


def test_parse_refuses_values_that_are_no_text():
    with pytest.raises(PatternError, match="type int"):
        parse(3)


def test_the_reserved_words_are_the_keywords_of_the_grammar():
    grammar = resources.files("cepkit.pattern.parsing").joinpath("grammar.lark").read_text("utf-8")
    words = set(re.findall(r"^_?[A-Z]+\.3: /([A-Z]+)\\b/i$", grammar, re.M))
    assert words == {
        *RESERVED,
        *BETWEEN_VALUES,
        *BEFORE_EVENTS,
        *BEHIND_SETS,
        *BEFORE_CLAUSES,
        *INSIDE_CLAUSES,
    }
    (excluded,) = re.findall(r"^_WORD: /\(\?!\(\?:([A-Z|]+)\)", grammar, re.M)
    assert set(excluded.split("|")) == set(RESERVED)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("b[1].x < b[last].x", "first(b.x) < last(b.x)"),
        ('"b" [ LAST ] . "unit price" > 1', 'last(b."unit price") > 1'),
        ("abs(b[1].x - a.x) <= 1", "abs(first(b.x) - a.x) <= 1"),
        ("b[i].x > b[i-1].x", "b.x > prev(b.x)"),
        ('b [I] . x - b[ i - 1 ]."in" > 1', "b.x - prev(b.in) > 1"),
    ],
)
def test_the_members_of_a_set_have_names(written, meant):
    assert parse_condition(written) == parse_condition(meant)
