"""Output rows as a table with named and typed columns.

Integers beyond 64 bits stay exact: such a column is a list of Python integers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.kernels.records import NOTHING, Tracks
from cepkit.aggregation.rows.moments import Moments
from cepkit.aggregation.semirings.functions import Count, Function, OfValues
from cepkit.aggregation.semirings.lanes import Outcome, attribute_of, decoded
from cepkit.aggregation.sequence.elements import Emit
from cepkit.errors import PatternError
from cepkit.lazy import pa
from cepkit.pattern.aggregates.contract import EXTREMES
from cepkit.pattern.conditions import Aggregate, Comparison, Literal
from cepkit.pattern.printer import aggregate_text
from cepkit.pattern.query import Query
from cepkit.stream.columns import Column, EventColumns
from cepkit.stream.reading.arrow import integers
from cepkit.stream.schema import Schema, time_zone

COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq,
    "!=": operator.ne, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip

TIME, CAUSE, NEW = "ts", "cause", "new_matches"

Values: TypeAlias = "pa.Array | list[int | None]"
"""A column of the output."""


def check_names(group_by: Sequence[str], names: Sequence[str]) -> None:
    """Check that the columns of the output have distinct names.

    Raises:
        PatternError: Two columns have the same name.
    """
    for name in group_by:
        if name in (TIME, CAUSE, NEW, *names):
            raise PatternError(
                f"GROUP BY '{name}', which is the name of another column of the result",
                hint="rename the column of the stream",
            )


def columns_of(
    moments: Moments,
    functions: Mapping[str, Function],
    columns: EventColumns,
    schema: Schema,
    query: Query,
    group_rows: npt.NDArray[np.integer],
    emit: Emit,
) -> dict[str, Values]:
    """Return the columns of the output.

    Args:
        query: The columns that groups agree on, and the thresholds of the rows.
    """
    result: dict[str, Values] = {}
    if emit != "total":
        zone = time_zone(columns.source.schema.field(schema.time).type, schema)
        result[TIME] = pa.array(moments.ts, pa.timestamp("us", zone))
        if emit == "changes":
            words = np.array(["expiry", "trigger"])
            result[CAUSE] = pa.array(words[moments.triggers.astype(np.int64)], pa.string())
    for name in query.group_by:
        rows = columns.source_rows(group_rows[moments.groups])
        values = columns.source.column(name).take(pa.array(rows)).combine_chunks()
        result[name] = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(moments.values, Tracks):
        assert moments.lanes is not None
        outcomes = moments.lanes.outcomes
        for name, outcome in zip(functions, outcomes, strict=True):
            result[name] = _of_lanes(outcome, moments.values, columns, schema)
    else:
        for place, (name, function) in enumerate(functions.items(), 1):
            results = [function.result(element[place]) for element in moments.values]
            result[name] = typed(results, function, columns, schema)
    if emit != "total":
        long = moments.new.dtype == object
        result[NEW] = whole_numbers(moments.new.tolist()) if long else integers(moments.new)
    return kept(result, query.having)


def column_of(aggregate: Aggregate) -> str:
    """Return the name of the column of an aggregate: `count`, `sum(c.volume)`."""
    name, bracket, rest = aggregate_text(aggregate).partition("(")
    return name.lower() + bracket + rest


def kept(rows: dict[str, Values], having: Sequence[Comparison]) -> dict[str, Values]:
    """Return the rows that satisfy all thresholds; a missing aggregate satisfies none."""
    for threshold in having:
        assert isinstance(threshold.left, Aggregate)
        assert isinstance(threshold.right, Literal)
        compare, number = COMPARED[threshold.operator], threshold.right.value
        values = rows[column_of(threshold.left)]
        # Python compares integers of any size with floats exactly.
        listed = values if isinstance(values, list) else values.to_pylist()
        held = [value is not None and compare(value, number) for value in listed]
        rows = {
            name: [value for value, hold in zip(column, held, strict=True) if hold]
            if isinstance(column, list)
            else column.filter(pa.array(held, pa.bool_()))
            for name, column in rows.items()
        }
    return rows


def _of_lanes(outcome: Outcome, tracks: Tracks, columns: EventColumns, schema: Schema) -> Values:
    number, held = outcome.held(tracks)
    if isinstance(outcome.function, Count):
        return whole_numbers(number.tolist()) if _is_long(number) else integers(number)
    definition = outcome.function.definition
    enough = number >= definition.least
    for each, coded in zip(definition.state, held, strict=True):
        if each in EXTREMES:
            enough &= coded < NOTHING
    all_there = bool(enough.all())
    if not all_there:
        number, held = number[enough], [values[enough] for values in held]
    held = [
        decoded(outcome.column, each, values) if each in EXTREMES else values
        for each, values in zip(definition.state, held, strict=True)
    ]
    with np.errstate(all="ignore"):
        results: npt.NDArray[Any] = definition.finish(number, *held)
    if not all_there:
        some, results = results, np.full(len(enough), None if results.dtype == object else 0)
        results = results.astype(some.dtype)
        results[enough] = some
    kind = _type_of(outcome.function, outcome.column, columns, schema)
    if pa.types.is_int64(kind) and _is_long(results[enough]):
        return whole_numbers(results.tolist())
    if pa.types.is_boolean(kind):
        results = results.astype(np.bool_)
    return pa.array(results, kind, mask=None if all_there else ~enough)


def _is_long(values: npt.NDArray[Any]) -> bool:
    return values.dtype == object and all(isinstance(value, int) for value in values)


def typed(results: list[Any], function: Function, columns: EventColumns, schema: Schema) -> Values:
    """Return the results of a function as a column.

    Args:
        results: Python's values, None for missing ones.
        columns: The stream, which may be empty.
    """
    if not isinstance(function, OfValues):
        return whole_numbers(results)
    kind = _type_of(function, attribute_of(function, columns), columns, schema)
    if pa.types.is_int64(kind):
        return whole_numbers(results)
    return pa.array(results, kind)


def whole_numbers(results: list[Any]) -> Values:
    """Return values as Arrow has them, long integers as they are."""
    try:
        return pa.array(results, None if any(r is not None for r in results) else pa.int64())
    except OverflowError:
        return results
    except pa.ArrowInvalid:
        if all(isinstance(r, int | None) for r in results):
            return results
        raise


def _type_of(
    function: OfValues, column: Column | None, columns: EventColumns, schema: Schema
) -> pa.DataType:
    gives = function.definition.gives
    if column is None or gives != "same":
        return pa.float64() if gives == "float" else pa.int64()
    match column.kind:
        case "text":
            return pa.string()
        case "boolean":
            return pa.bool_()
        case "integer":
            return pa.int64()
        case "timestamp":
            assert function.attribute is not None
            source = columns.source.schema.field(function.attribute).type
            return pa.timestamp("us", time_zone(source, schema))
        case "duration":
            return pa.duration("us")
        case _:
            return pa.float64()
