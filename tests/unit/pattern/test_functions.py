"""User functions: registered by name, found by name, refused where the language has the name."""

from __future__ import annotations

import numpy as np
import pytest

from cepkit.errors import ArgumentError, PatternError
from cepkit.pattern.conditions import Attribute, Call, Comparison, Literal
from cepkit.pattern.evaluation import closures, columns
from cepkit.pattern.evaluation.functions import registered as functions
from cepkit.pattern.parsing.parser import parse, parse_condition
from cepkit.pattern.rewrite import without_not


@pytest.fixture(autouse=True)
def _clean_registry(monkeypatch):
    monkeypatch.setattr(functions, "_registered", {})


def test_a_registered_function_can_be_called():
    with pytest.raises(PatternError, match="'spread' is not a known function"):
        parse("PATTERN SEQ(A a, B b) WHERE spread(a.x, b.x) < 3")
    functions.register_function("spread", np.subtract)
    parse("PATTERN SEQ(A a, B b) WHERE spread(a.x, b.x) < 3")
    assert functions.registered_function("spread") is np.subtract
    assert functions.known_functions()[-1] == "spread"


def test_a_registered_function_may_be_a_condition():
    functions.register_function("close", np.isclose)
    condition = parse("PATTERN SEQ(A a, B b) WHERE close(a.x, b.x)").where
    assert condition == Call("close", (Attribute("a", "x"), Attribute("b", "x")))


def test_a_function_with_the_name_of_a_keyword_is_called_in_double_quotes():
    functions.register_function("between", np.maximum)
    condition = parse('PATTERN A a WHERE "between"(a.x, a.y) < 3').where
    called = Call("between", (Attribute("a", "x"), Attribute("a", "y")))
    assert condition == Comparison("<", called, Literal(3))


@pytest.mark.parametrize(
    ("name", "function"),
    [("two words", abs), ("", abs), ("abs", abs), ("COUNT", abs), ("first", abs)],
)
def test_register_function_refuses_reserved_and_malformed_names(name, function):
    with pytest.raises(PatternError):
        functions.register_function(name, function)


def test_register_function_refuses_values_that_cannot_be_called():
    with pytest.raises(ArgumentError, match="function=3"):
        functions.register_function("mine", 3)


def test_an_unknown_name_gets_the_nearest_one():
    functions.register_function("spread", np.subtract)
    with pytest.raises(PatternError, match="did you mean 'spread'"):
        functions.registered_function("spred")


@pytest.mark.parametrize(
    "condition",
    [
        "substring('hello', 1, 3) = 'hel'",
        "substring('hello', 4) = 'lo'",
        "substring('hello', 0, 2) = 'h'",
        "substring('hello', -3) = 'hello'",
        "substring('hello', 6) = '' AND substring('hello', 2, -1) = ''",
        "substring('hello', 1.5, 2) = 'el'",
        "length('née') = 3 AND length('') = 0",
        "lower('ÀB') = 'àb' AND upper('straße') = 'STRASSE'",
        "trim('  a b ') = 'a b'",
        "starts_with('ab', '') AND ends_with('ab', '') AND contains('', '')",
        "NOT starts_with('ab', 'abc') AND NOT ends_with('ab', 'cab') AND NOT contains('ab', 'B')",
        "replace('aaa', 'aa', 'b') = 'ba' AND replace('ab', '', 'x') = 'ab'",
        "concat('a', 'b', 'c') = 'abc' AND concat('a', NULL) IS NULL",
        "round(2.5) = 2 AND round(3.5) = 4 AND round(-0.5) = 0",
        "floor(-1.5) = -2 AND ceil(-1.5) = -1 AND floor(7) = 7",
        "mod(-7, 3) = -1 AND mod(7, 0) IS NULL AND sign(-0.5) = -1",
        "power(2, 10) = 1024 AND power(-2, 3) = -8 AND power(0, 0) = 1",
        "power(0, -1) IS NULL AND power(-8, 0.5) IS NULL AND power(NULL, 0) IS NULL",
        "sin(0) = 0 AND cos(0) = 1 AND tan(0) = 0 AND atan(0) = 0 AND asin(0) = 0 AND acos(1) = 0",
        "asin(2) IS NULL AND acos(-1.5) IS NULL AND sin(NULL) IS NULL AND atan2(0, 1) = 0",
        "abs(sin(radians(30)) - 0.5) < 0.000001 AND abs(degrees(atan2(1, 1)) - 45) < 0.000001",
        # Paris and New York; the poles; a place and itself.
        "haversine(48.8566, 2.3522, 40.7128, -74.006) BETWEEN 5836 AND 5838",
        "haversine(90, 0, -90, 0) BETWEEN 20015 AND 20016 AND haversine(1, 2, 1, 2) = 0",
        "haversine(1, 2, 3, NULL) IS NULL",
        "log10(1000) = 3 AND log10(0) IS NULL AND exp(0) = 1",
        "LENGTH(NULL) IS NULL AND contains('a', NULL) IS NULL",
    ],
)
def test_functions_give_the_stated_values_in_both_evaluators(condition):
    def nothing(variable, attribute):
        raise AssertionError

    plain = without_not(parse_condition(condition))
    assert columns.truth(plain, nothing, 1).tolist() == [True]
    assert closures.truth(plain, nothing)(()) is True
