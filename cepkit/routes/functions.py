"""The functions of an aggregation, by the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping

from cepkit.aggregation.rows.tables import CAUSE, NEW, TIME, column_of
from cepkit.aggregation.semirings.functions import Function, function_of
from cepkit.errors import PatternError
from cepkit.pattern.aggregates import NAMES
from cepkit.pattern.nodes import bound_events_of
from cepkit.pattern.query import Query


def functions_of(query: Query, further: Mapping[str, Function]) -> dict[str, Function]:
    """Return the functions of a query's AGG and further ones.

    Raises:
        PatternError: There is no function, or one reads a variable that matches do not have or has
            the name of another column.
    """
    functions: dict[str, Function] = {}
    for aggregate in query.aggregates:
        functions[column_of(aggregate)] = function_of(aggregate)
    for name in further:
        if name in functions or name in (TIME, CAUSE, NEW):
            raise PatternError(
                f"an aggregate with the name '{name}', which another column of the result has",
                hint="give it another name",
            )
    functions.update(further)
    if not functions:
        raise PatternError(
            "nothing to aggregate: the pattern has no AGG",
            expected=f"AGG with {NAMES}, as in AGG SUM(c.price)",
            hint="add AGG COUNT to count the matches",
        )
    names = [event.variable for event in bound_events_of(query.written)]
    for function in further.values():
        for variable, _ in function.reads:
            if variable not in names:
                raise PatternError(
                    f"an aggregate of '{variable}', which matches do not have",
                    expected=f"one of {', '.join(names)}",
                )
    return functions


def attributes_of(functions: Mapping[str, Function]) -> frozenset[str]:
    """Return the columns that aggregates read."""
    return frozenset(a for f in functions.values() for _, a in f.reads if a is not None)
