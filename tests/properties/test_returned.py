"""RETURN gives the judge's values of each match, and changes nothing else."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from cepkit.columnar.results.matches import Matches
from cepkit.pattern import conditions as c
from cepkit.pattern.checks import check
from cepkit.pattern.normal_form import written_branches
from cepkit.pattern.query import Query, ResultColumn
from cepkit.plan.checks import as_plan
from cepkit.stream.stream import events
from tests.judge import returned
from tests.strategies import Case, as_table, cases, named

if TYPE_CHECKING:
    from collections.abc import Iterable

_SET_FUNCTIONS = {"sum": "xyzd", "avg": "xyz", "min": "xsdt", "max": "xsdt", "count": "xs"}
_SET_FUNCTIONS |= {"first": "xsfh", "last": "xsfh", "member 2": "xsfhtdyz", "member -2": "xsfhtdyz"}


@st.composite
def values(draw: st.DrawFn, single: list[str], repeated: list[str]) -> c.Expression:
    """Draw the value of a column."""
    if repeated and (not single or draw(st.booleans())):
        variable = draw(st.sampled_from(repeated))
        match draw(st.integers(0, 2)):
            case 0:
                return c.Attribute(variable, draw(st.sampled_from("xysfd")))
            case 1:
                return c.Aggregate("count", variable)
            case _:
                function = draw(st.sampled_from(sorted(_SET_FUNCTIONS)))
                name = draw(st.sampled_from(_SET_FUNCTIONS[function]))
                whole = c.Aggregate(function, variable, name)
                more = name in "xyz" or function == "count"
                return (
                    c.Arithmetic("+", whole, c.Literal(1))
                    if more and draw(st.booleans())
                    else whole
                )
    one, other = (c.Attribute(draw(st.sampled_from(single)), n) for n in "xy")
    last = c.Attribute(other.variable, "t")
    return draw(
        st.sampled_from(
            [
                *(c.Attribute(one.variable, name) for name in "xysfdth"),
                c.Arithmetic("-", one, other),
                c.Arithmetic("/", one, c.Attribute(other.variable, "z")),
                c.Call("greatest", (one, c.Attribute(other.variable, "x"))),
                c.Call("concat", (c.Attribute(one.variable, "s"), c.Literal("!"))),
                c.Arithmetic("-", last, c.Attribute(one.variable, "t")),
                c.Arithmetic("-", last, c.Attribute(one.variable, "d")),
                c.Call("hour", (last,)),
                c.Literal("a word"),
            ]
        )
    )


def with_return(draw: st.DrawFn, query: Query) -> Query:
    """Draw the columns of a query, each over events that a match may have together."""
    columns = []
    for number in range(draw(st.integers(1, 4))):
        branch = named(draw(st.sampled_from(written_branches(query))), query.groups)
        repeated = [name for name, _, _ in branch.repeated]
        single = [name for name in branch.variables if name not in repeated]
        columns.append(ResultColumn(f"r{number}", draw(values(single, repeated))))
    return check(replace(query, returned=tuple(columns)))


RETURNED = cases(
    ("SEQ", "AND", "OR", "NOT", "KL", "FIRST", "OPT"),
    max_variables=4,
    max_events=20,
    varying=("x", "y", "z", "s", "d", "t", "f", "h"),
    unsorted=True,
    change=with_return,
)


def plain(value: Any) -> Any:
    """Return a value in one form, independent of its container."""
    match value:
        case list() | tuple():
            return tuple(map(plain, value))
        case float() if math.isnan(value):
            return None
        case bool():
            return f"{value}"
        case int() | float():
            return round(float(value), 9)
        case _:
            return value


def expected(case: Case) -> Counter[Any]:
    """Return the rows that the judge expects."""
    return Counter(plain(returned(case.events, case.query, match)) for match in case.matches)


def rows_of(rows: Iterable[dict[str, Any]], query: Query) -> Counter[Any]:
    """Return rows in the judge's form."""
    names = [result.name for result in query.returned]
    return Counter(tuple(plain(row[name]) for name in names) for row in rows)


@given(data=st.data())
def test_columns_are_those_of_the_judge(data: st.DataObject) -> None:
    case = data.draw(RETURNED)
    stream = events(as_table(case.events), time="ts", type="kind")
    size = data.draw(st.sampled_from([None, 1, 3]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that never occur
        matches = Matches(stream, case.query, as_plan(None, case.query), slice_rows=size)
    table = matches.to_arrow()
    assert table.schema == matches.schema
    assert rows_of(table.to_pylist(), case.query) == expected(case)
    frame = matches.to_pandas()
    assert list(frame) == table.column_names
    lacking = matches.may_lack()
    for name in set(frame) - set(lacking):
        assert frame[name].notna().all(), name
    # The types are those of the stream and the pattern, whichever matches there are.
    none = matches.head(0)
    assert list(none.dtypes) == list(frame.dtypes)
    nested = [dict(row) for row in matches]
    assert len(nested) == len(table)
    assert isinstance(matches.head(1, nested=True), pd.DataFrame)
