"""count(DISTINCT b.x) of sets and runs, of values of every kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cepkit.errors import PatternError
from cepkit.pattern import conditions as c
from cepkit.pattern.checks import check
from cepkit.pattern.nodes import repeated_in
from cepkit.pattern.query import Query
from tests.properties.test_engine import found, plans
from tests.strategies import Case, cases


def _of_different_values(draw: st.DrawFn, query: Query) -> Query:
    """Draw a condition on the number of different values of a set."""
    sets = sorted(repeated_in(query.written))
    assume(sets)
    function = draw(st.sampled_from(("", "", c.RUNNING, c.EARLIER))) + c.DISTINCT
    number = c.Aggregate(function, draw(st.sampled_from(sets)), draw(st.sampled_from("ksxyftd")))
    sign = draw(st.sampled_from((">=", "<=", "=", "<")))
    where = c.Comparison(sign, number, c.Literal(draw(st.sampled_from((1, 2, 2, 3)))))
    both = where if query.where is None else c.AllOf((query.where, where))
    try:
        return check(replace(query, where=both))
    except PatternError:  # a run does not allow every condition
        assume(False)
        raise


WORDS = ("SEQ", "AND", "KL", "KL", "NEXT", "RUN", "GREEDY", "GROUP")
LIMITS: dict[str, Any] = {"max_variables": 3, "max_events": 16, "budget": 5_000}
DIFFERENT = st.one_of(
    cases(WORDS[:-1], **LIMITS, condition_kinds=("filter",), change=_of_different_values),
    cases(("SEQ", "KL"), **LIMITS, unsorted=True, change=_of_different_values),
    cases(("SEQ", "GROUP"), **LIMITS, condition_kinds=("filter",), change=_of_different_values),
)


@pytest.mark.parametrize("way", ["numpy", "python"])
@given(data=st.data())
def test_different_values_are_counted_as_the_judge_does(way: Any, data: st.DataObject) -> None:
    case: Case = data.draw(DIFFERENT)
    plan = data.draw(plans(case))
    rows = data.draw(st.sampled_from([None, 1, 3, 7]))
    assert found(case, plan, way=way, slice_rows=rows) == case.matches
