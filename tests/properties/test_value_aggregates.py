"""Aggregates of values that matches have are those of the judge's matches."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

import cepkit as ck
from cepkit.errors import PatternError
from cepkit.pattern import conditions as c
from cepkit.pattern.checks import check
from cepkit.pattern.nodes import bound_events_of, repeated_in
from cepkit.pattern.normal_form import written_branches
from cepkit.pattern.parsing.parser import parse
from cepkit.pattern.query import Query
from tests.aggregates import plain, rows_in, rows_of
from tests.properties.test_returned import values
from tests.strategies import Case, as_table, cases, named

_FUNCTIONS = ("count", "sum", "avg", "min", "max", "variance", "stddev", "median", "p5", "p95")


def with_aggregates(draw: st.DrawFn, query: Query) -> Query:
    """Draw the aggregates of a query, of events that a match may have together."""
    aggregates: list[c.Aggregate] = [c.Aggregate("count")] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 4))):
        branch = named(draw(st.sampled_from(written_branches(query))), query.groups)
        repeated = [name for name, _, _ in branch.repeated]
        value = draw(values([v for v in branch.variables if v not in repeated], repeated))
        function = draw(st.sampled_from((*_FUNCTIONS, c.DISTINCT, "percentile")))
        share = draw(st.sampled_from((0.0, 0.25, 0.999))) if function == "percentile" else None
        if isinstance(value, c.Attribute) and function in _FUNCTIONS[:7]:  # AVG(a.x), of the values
            value = c.Arithmetic("-", value, value) if value.name in "xyzdt" else c.Literal("one")
        aggregates.append(c.ValueAggregate(function, argument=value, share=share))
    sets = repeated_in(query.written)
    single = [e.variable for e in bound_events_of(query.written) if e.variable not in sets]
    if single and draw(st.booleans()):
        aggregates.append(c.Aggregate("sum", draw(st.sampled_from(single)), "x"))
        aggregates.append(c.Aggregate("count", draw(st.sampled_from(single))))
    having = ()
    if aggregates[0].function == "count" and draw(st.booleans()):
        having = (c.Comparison(">", aggregates[0], c.Literal(1)),)
    group_by = draw(st.sampled_from(((), (), ("k",), ("s",), ("y",), ("k", "x"))))
    try:
        return check(replace(query, aggregates=(*{*aggregates},), group_by=group_by, having=having))
    except PatternError:  # a value of a set is not one of a match
        assume(False)
        raise


AGGREGATED = cases(
    ("SEQ", "AND", "OR", "NOT", "KL", "FIRST", "OPT"),
    max_variables=3,
    max_events=16,
    varying=("x", "y", "z", "s", "d", "t", "f", "h"),
    unsorted=True,
    budget=5_000,
    change=with_aggregates,
)


def form(item: Any) -> Any:
    """Return a value in one form; numbers as floats of 9 digits."""
    item = plain(item)
    if isinstance(item, int | float) and not isinstance(item, bool):
        return float(f"{item:.8e}")
    return item


@given(data=st.data())
def test_totals_are_those_of_the_judge(data: st.DataObject) -> None:
    case: Case = data.draw(AGGREGATED)
    assert parse(str(case.query)) == case.query
    stream = ck.events(as_table(case.events), time="ts", type="kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        try:
            result = ck.aggregate(stream, case.query, emit="total")
        except PatternError:  # the sum of texts, and the like
            assume(False)
            raise
    expected = rows_of(case.query, case.events, "total")
    assert rows_in(result.to_arrow(), case.query, form) == Counter(
        tuple(map(form, row)) for row in expected
    )
