"""Kinds of DEFINE, over a stream without types, match like the types of a column."""

from __future__ import annotations

import warnings
from typing import Any

from hypothesis import given, reject
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import PatternError, UnsupportedError
from cepkit.pattern.names import name_text
from cepkit.pattern.nodes import events_of
from cepkit.pattern.query import Query
from tests.strategies import OPERATORS, Case, as_table, cases, result_of

CASES = st.one_of(
    cases((*OPERATORS, "RUN", "UNTIL", "GREEDY", "TOGETHER"), ties=None, unsorted=True),
    cases((*OPERATORS, "GROUP"), ties=None, unsorted=True),
)


def with_kinds(query: Query) -> Query:
    """Return a query with a kind for each type: the rows whose column `kind` has its name."""
    names = sorted({name for event in events_of(query.written) for name in event.types or ()})
    kinds = [f"{name_text(name)} AS kind = '{name}'" for name in names]
    try:
        return ck.parse(f"DEFINE {', '.join(kinds)}\n{query}" if kinds else str(query))
    except PatternError as error:  # types exclude each other, and kinds need not
        assert "could take the same events" in str(error)
        reject()


def without_types(case: Case) -> ck.Stream:
    return ck.events(as_table(case.events), time="ts", ties=case.ties)


def found(case: Case, stream: Any) -> set[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of windows that cut others short
        matches = ck.detect(stream, with_kinds(case.query))
        try:
            return result_of(matches.to_arrow(), case.variables)
        except UnsupportedError as error:  # greedy runs in windows of events
            assert "did not arrive in the order of time" in str(error)
            reject()


@given(CASES)
def test_kinds_have_the_judges_matches_of_types(case):
    assert found(case, without_types(case)) == case.matches


@given(CASES)
def test_printed_query_with_kinds_parses_to_the_same_query(case):
    query = with_kinds(case.query)
    assert ck.parse(str(query)) == query
    assert str(ck.parse(str(query))) == str(query)
