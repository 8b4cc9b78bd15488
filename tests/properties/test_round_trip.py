"""Every query can be written as a text; no text does more than parse or be refused."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepkit.errors import PatternError
from cepkit.pattern.checks import check
from cepkit.pattern.evaluation.functions import registered as functions
from cepkit.pattern.names import RESERVED
from cepkit.pattern.parsing.parser import parse, parse_condition
from cepkit.pattern.printer import to_text
from tests.properties.query_values import names, queries

_OWN = ("spread", "between", "\u2130")


@pytest.fixture(autouse=True, scope="module")
def _own_functions():
    for name in _OWN:
        functions.register_function(name, lambda *arrays: arrays)
    yield
    for name in _OWN:
        del functions._registered[name]


@given(queries())
def test_a_printed_query_parses_to_the_same_query(query):
    assert check(query) is query
    assert parse(to_text(query)) == query


@given(queries())
def test_a_query_survives_pickling_with_its_places(query):
    query = parse(to_text(query))
    assert pickle.loads(pickle.dumps(query)) == query


def _refused_or_parsed(text):
    for read in (parse, parse_condition):
        try:
            read(text)
        except PatternError as error:
            # Making the message must not fail either.
            str(error)
            error._render_traceback_()


@given(st.text())
def test_arbitrary_text_is_parsed_or_refused(text):
    _refused_or_parsed(text)


_WORDS = st.one_of(
    st.sampled_from(
        [
            *RESERVED,
            "DEFINE",
            "x AS",
            "LIKE",
            "a",
            "b.x",
            "4",
            "hours",
            "EVENTS",
            "count(",
            "KL(B b){",
            "'t'",
        ]
    ),
    st.sampled_from([*"(),.{}<>=!+-*/%'\";#", "--", "<=", "<>", "SEQ(", "a.x < 3", "\n"]),
    names,
)


@given(st.lists(_WORDS, max_size=25).map(" ".join))
def test_word_salad_is_parsed_or_refused(text):
    _refused_or_parsed(text)
    _refused_or_parsed(f"PATTERN SEQ(A a, KL(B b)) {text}")
    _refused_or_parsed(f"PATTERN SEQ(A a, KL(B b)) WHERE {text}")


@given(queries(), st.data())
def test_a_damaged_query_is_parsed_or_refused(query, data):
    text = to_text(query)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 5)))
    _refused_or_parsed(text[:start] + data.draw(st.text(max_size=3)) + text[end:])
