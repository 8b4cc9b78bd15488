"""Aggregates of values that matches have, as AVG(b.ts - a.ts): those of rows of RETURN.

Cost: detection, plus O(matches log matches); the values of all matches are held at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.aggregation.rows.result import Aggregates
from cepkit.aggregation.rows.tables import Values, column_of, kept, whole_numbers
from cepkit.columnar.results.rows import Rows
from cepkit.errors import UnsupportedError
from cepkit.lazy import pa, pc
from cepkit.pattern.aggregates import AGGREGATES
from cepkit.pattern.aggregates.quantiles import quantile, share_of
from cepkit.pattern.conditions import (
    DISTINCT,
    Aggregate,
    Attribute,
    Expression,
    Literal,
    ValueAggregate,
)
from cepkit.pattern.evaluation.kind_checks import check_threshold, result_kind
from cepkit.pattern.evaluation.kinds import ValueKind
from cepkit.pattern.keys import partition_keys
from cepkit.pattern.nodes import bound_events_of, repeated_in
from cepkit.pattern.printer import expression_text
from cepkit.pattern.query import Query, ResultColumn
from cepkit.routes.detected import without_aggregates
from cepkit.stream.columns import Column
from cepkit.stream.reading.ingest import attribute
from cepkit.stream.schema import Schema

REASON = "values of matches"


@dataclass(frozen=True, slots=True)
class Returned:
    """A query with RETURN in place of its AGG.

    Attributes:
        keys: For each column of GROUP BY its name, and the columns that may have its value.
        values: For each aggregate the aggregate, and the column of its values.
    """

    query: Query
    keys: Mapping[str, Sequence[str]]
    values: Sequence[tuple[ValueAggregate, str]]


def has_values(query: Query) -> bool:
    """Return whether AGG asks for aggregates of values that matches have."""
    return any(isinstance(each, ValueAggregate) for each in query.aggregates)


def returned(query: Query, schema: Schema) -> Returned:
    """Return a query of which `has_values` is true with RETURN."""
    sets = repeated_in(query.written)
    variables = [event.variable for event in bound_events_of(query.written)]
    columns: list[ResultColumn] = []

    def added(value: Expression) -> str:
        columns.append(ResultColumn(f"value {len(columns)}", value, value.span))
        return columns[-1].name

    def key(variable: str, name: str) -> Expression:
        return Aggregate("first", variable, name) if variable in sets else Attribute(variable, name)

    keys = {name: [added(key(v, name)) for v in variables] for name in query.group_by}
    values = []
    for aggregate in query.aggregates:
        of = aggregate
        if not isinstance(of, ValueAggregate):
            value: Expression = Literal(1)
            if of.variable is not None:
                value = Attribute(of.variable, of.attribute or schema.time, of.span)
            of = ValueAggregate(of.function, span=of.span, argument=value)
        values.append((of, added(of.argument)))
    bare = replace(without_aggregates(query), returned=tuple(columns), text=None)
    return Returned(bare, keys, values)


def refuse_other_ways(query: Query, emit: str, method: str, beside: str | None) -> None:
    """Refuse arguments that aggregates of the values of matches do not support.

    Args:
        query: The query.
        emit: The rows wanted.
        method: How to aggregate.
        beside: What stands beside the query; "" for a stream without an end.

    Raises:
        UnsupportedError: They cannot.
    """
    first = next(each for each in query.aggregates if isinstance(each, ValueAggregate))
    if beside == "":
        problem = "over a streaming DataFrame, which has no end"
        hint = (
            f"RETURN {expression_text(first.argument)} AS value, and aggregate the rows of detect"
        )
    elif beside is not None:
        problem, hint = f"beside {beside}", "aggregate it by itself"
    elif emit != "total":
        problem = f"with emit='{emit}'"
        hint = "emit='total' gives it of all matches, with GROUP BY of those of each group"
    elif method not in ("auto", "detect"):
        problem, hint = f"with method='{method}'", "method='detect', or leave method out"
    else:
        return
    raise UnsupportedError(
        f"{column_of(first)} {problem}: it aggregates a computed value, so all matches are found"
        " first",
        hint=hint,
        span=first.span,
    )


def result_kinds(rows: Returned, query: Query, kinds: Mapping[str, ValueKind]) -> list[ValueKind]:
    """Return the kind of each aggregate, given those of the columns of RETURN.

    Raises:
        PatternError: An aggregate, or a threshold of one, does not take its values.
    """
    results = [result_kind(aggregate, kinds[name]) for aggregate, name in rows.values]
    for threshold in query.having:
        place = next(at for at, each in enumerate(query.aggregates) if each == threshold.left)
        check_threshold(threshold, results[place])
    return results


def aggregate_matches(matches: Rows, rows: Returned, query: Query, schema: Schema) -> Aggregates:
    """Return the totals of a query with aggregates of values that matches have.

    Args:
        matches: The matches of `rows.query`.
        rows: From `returned`.
        query: The query with AGG.
        schema: How the events are read.
    """
    table = matches.to_arrow()
    columns = {name: attribute(table[name], name, schema) for name in table.column_names}
    kinds = result_kinds(rows, query, {name: column.kind for name, column in columns.items()})
    groups, number = np.zeros(len(table), np.int64), 1
    result: dict[str, Values] = {}
    if rows.keys:
        arrays = {
            name: pc.coalesce(*(_decoded(table[c]) for c in of)) for name, of in rows.keys.items()
        }
        codes, _ = partition_keys([attribute(each, n, schema) for n, each in arrays.items()])
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        groups, number = inverse, len(first)
        for name, array in arrays.items():
            keys = array.take(pa.array(first)).combine_chunks()
            if pa.types.is_floating(keys.type):  # values that are equal to GROUP BY look alike
                keys = pc.if_else(pc.is_nan(keys), None, pc.add(keys, pa.scalar(0, keys.type)))
            result[name] = keys
    for (aggregate, name), each, kind in zip(rows.values, query.aggregates, kinds, strict=True):
        zone = getattr(table[name].type, "tz", None)
        result[column_of(each)] = _aggregated(aggregate, columns[name], kind, zone, groups, number)
    return Aggregates(query, "total", "detect", REASON, kept(result, query.having))


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_coded = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if is_coded else column


def _aggregated(
    aggregate: ValueAggregate,
    column: Column,
    kind: ValueKind,
    zone: str | None,
    groups: npt.NDArray[np.integer],
    number: int,
) -> Values:
    """Return an aggregate of the values of each group."""
    present = ~column.missing()
    order = np.flatnonzero(present)[np.argsort(groups[present], kind="stable")]
    values: npt.NDArray[Any] = column.values[order]
    ends = np.searchsorted(groups[order], np.arange(number + 1))
    of_group = _function(aggregate)
    results = [of_group(values[low:high]) for low, high in pairwise(ends)]
    match kind:
        case "integer":
            return whole_numbers([None if r is None else int(r) for r in results])
        case "text":
            texts = [None if code is None else str(column.dictionary[code]) for code in results]
            return pa.array(texts, pa.string())
        case "boolean":
            return pa.array([None if r is None else bool(r) for r in results], pa.bool_())
        case "duration" | "timestamp":
            whole = [None if r is None else round(r) for r in results]
            type_ = pa.duration("us") if kind == "duration" else pa.timestamp("us", zone)
            return pa.array(whole, pa.int64()).cast(type_)
        case _:
            return pa.array([None if r is None else float(r) for r in results], pa.float64())


def _function(aggregate: ValueAggregate) -> Callable[[npt.NDArray[Any]], Any]:
    """Return the function of an aggregate: exact for whole numbers, None for no values."""
    share = share_of(aggregate.function, aggregate.share)
    if share is not None:
        quantile_share: Fraction = share

        def of_sorted(values: npt.NDArray[Any]) -> Any:
            return quantile(np.sort(values).tolist(), quantile_share) if len(values) else None

        return of_sorted
    match aggregate.function:
        case "count":
            return len
        case name if name == DISTINCT:
            return lambda values: len(np.unique(values))
        case "min":
            return lambda values: values.min().item() if len(values) else None
        case "max":
            return lambda values: values.max().item() if len(values) else None
        case "sum":
            return lambda values: _sum(values) if len(values) else None
        case "avg":
            return lambda values: _sum(values) / len(values) if len(values) else None
        case name:
            definition = AGGREGATES[name]
            return lambda values: definition.of(values.tolist())


def _sum(values: npt.NDArray[Any]) -> Any:
    """Return the sum; of whole numbers as a fraction, so that it and a mean of it are exact."""
    if values.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return float(values.sum())
    return Fraction(sum(values.tolist()))
