"""User functions: registered by name, found by name, refused where the language has the name."""

from __future__ import annotations

import numpy as np
import pytest

from cepkit.errors import ArgumentError, PatternError
from cepkit.pattern import functions
from cepkit.pattern.parser import parse


@pytest.fixture(autouse=True)
def _clean_registry(monkeypatch):
    monkeypatch.setattr(functions, "_registered", {})


def test_a_registered_function_can_be_called():
    with pytest.raises(PatternError, match="'spread' is no known function"):
        parse("PATTERN SEQ(A a, B b) WHERE spread(a.x, b.x) < 3")
    functions.register_function("spread", np.subtract)
    parse("PATTERN SEQ(A a, B b) WHERE spread(a.x, b.x) < 3")
    assert functions.registered_function("spread") is np.subtract
    assert functions.known_functions()[-1] == "spread"


def test_a_registered_function_may_be_a_condition():
    functions.register_function("close", np.isclose)
    parse("PATTERN SEQ(A a, B b) WHERE close(a.x, b.x)")


def test_a_function_with_the_name_of_a_keyword_is_called_in_double_quotes():
    functions.register_function("between", np.maximum)
    parse('PATTERN A a WHERE "between"(a.x, a.y) < 3')


@pytest.mark.parametrize(
    ("name", "function"),
    [("two words", abs), ("", abs), ("abs", abs), ("COUNT", abs), ("first", abs)],
)
def test_what_cannot_be_registered(name, function):
    with pytest.raises(PatternError):
        functions.register_function(name, function)


def test_what_cannot_be_called_cannot_be_registered():
    with pytest.raises(ArgumentError, match="function=3"):
        functions.register_function("mine", 3)


def test_an_unknown_name_gets_the_nearest_one():
    functions.register_function("spread", np.subtract)
    with pytest.raises(PatternError, match="did you mean 'spread'"):
        functions.registered_function("spred")
