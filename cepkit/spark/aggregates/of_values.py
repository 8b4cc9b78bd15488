"""Aggregates of values that matches have, by Spark's own functions over the rows of RETURN.

Tasks add up the values of their rows before these are exchanged. Quantiles are exact: for them the
different values are exchanged, with their numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from cepkit.aggregation.rows.tables import COMPARED, column_of
from cepkit.pattern.aggregates.quantiles import share_of
from cepkit.pattern.conditions import DISTINCT, Aggregate, Literal, ValueAggregate
from cepkit.pattern.evaluation.kinds import ValueKind
from cepkit.pattern.query import Query
from cepkit.routes.of_values import REASON, Returned, aggregate_matches, result_kinds
from cepkit.spark.aggregates.result import RowsHere
from cepkit.spark.matches.result import SparkMatches
from cepkit.spark.passes.frame import ResultFrame
from cepkit.spark.passes.here import Here
from cepkit.stream.reading.ingest import attribute
from cepkit.stream.reading.nested import quoted

_MICROSECONDS = {
    "DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000,
}  # fmt: skip


def aggregate_frame(matches: SparkMatches, rows: Returned, query: Query) -> ResultFrame:
    """Return the aggregates of the matches of `rows.query`, as a DataFrame."""
    types = to_arrow_schema(matches.schema, timezone="UTC")
    schema = matches.stream.schema
    kinds = {
        name: attribute(pa.array([], types.field(name).type), name, schema).kind
        for _, name in rows.values
    }
    results = result_kinds(rows, query, kinds)
    keys = [
        _plain(F.coalesce(*map(_column, of)), types.field(of[0]).type).alias(name)
        for name, of in rows.keys.items()
    ]
    columns = [
        _aggregate(aggregate, _value(name, kinds[name]), kind).alias(column_of(each))
        for (aggregate, name), each, kind in zip(
            rows.values, query.aggregates, results, strict=True
        )
    ]
    totals = matches.groupBy(*keys).agg(*columns)
    for threshold in query.having:
        assert isinstance(threshold.left, Aggregate)
        assert isinstance(threshold.right, Literal)
        compare: Callable[[Column, Column], Any] = COMPARED[threshold.operator]
        totals = totals.filter(
            compare(_column(column_of(threshold.left)), F.lit(threshold.right.value))
        )
    found: DataFrame | Here = totals
    if matches.here is not None:
        compute = partial(aggregate_matches, matches.here, rows, query, schema)
        here = RowsHere(compute, to_arrow_schema(totals.schema, timezone="UTC"))
        found = Here(here, totals.schema, matches.sparkSession, lambda: totals)
    frame = ResultFrame(found, title=f"Aggregates by detect ({REASON})", route=matches.route)
    frame.query, frame.emit, frame.method, frame.reason = query, "total", "detect", REASON
    return frame


def _column(name: str) -> Column:
    return F.col(quoted(name))


def _plain(values: Column, type_: pa.DataType) -> Column:
    """Return values with null in place of NaN."""
    return F.nanvl(values, F.lit(None)) if pa.types.is_floating(type_) else values


def _value(name: str, kind: ValueKind) -> Column:
    """Return the values of a column: durations in microseconds, missing ones as null."""
    column = _column(name)
    match kind:
        case "integer":
            return column.cast("long")
        case "float":
            return F.nanvl(column.cast("double"), F.lit(None).cast("double"))
        case "duration":
            parts = [
                (F.expr(f"extract({unit} FROM `{name}`)").cast("decimal(18,6)") * F.lit(micros))
                for unit, micros in _MICROSECONDS.items()
            ]
            return reduce(operator.add, parts).cast("long")
        case _:
            return column


def _aggregate(aggregate: ValueAggregate, value: Column, kind: ValueKind) -> Column:
    """Return the aggregate of a column as a result of a kind."""
    result = _computed(aggregate, value, kind)
    match kind:
        case "duration":
            seconds = F.rint(result).cast("decimal(20,0)") / F.lit(1_000_000)
            return F.make_dt_interval(secs=seconds.cast("decimal(18,6)"))
        case "integer" if aggregate.function == "sum":
            problem = F.lit(f"{column_of(aggregate)}: an integer beyond 64 bits")
            return (
                F.when(F.abs(result) > F.lit(2**63 - 1), F.raise_error(problem))
                .otherwise(result)
                .cast("long")
            )
        case _:
            return result


def _computed(aggregate: ValueAggregate, value: Column, kind: ValueKind) -> Column:
    share = share_of(aggregate.function, aggregate.share)
    if share is not None:
        return F.percentile(value, float(share))
    match aggregate.function:
        case "count":
            return F.count(value)
        case name if name == DISTINCT:
            return F.count_distinct(value)
        case "min":
            return F.min(value)
        case "max":
            return F.max(value)
        case "avg":
            return F.avg(value)
        case "sum":
            return F.sum(value.cast("decimal(38,0)") if kind == "integer" else value)
        case "variance":
            return F.var_samp(value)
        case _:
            return F.stddev_samp(value)
