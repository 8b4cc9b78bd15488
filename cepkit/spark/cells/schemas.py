"""Spark's column types as Arrow's, for events sent to workers and for matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from cepkit.columnar.results.output import END, START, MatchColumns
from cepkit.errors import StreamError
from cepkit.stream.schema import Schema


def nullable(columns: t.StructType) -> t.StructType:
    """Return the columns with null allowed at any depth.

    Spark requires exactly the declared types from Python; neither Parquet files nor variables
    missing in a branch of an OR can guarantee "not null".
    """
    return t.StructType.fromJson(_nullable(columns.jsonValue()))


def _nullable(value: Any) -> Any:
    if isinstance(value, dict):
        flags = ("nullable", "containsNull", "valueContainsNull")
        return {k: True if k in flags else _nullable(v) for k, v in value.items()}
    return [_nullable(item) for item in value] if isinstance(value, list) else value


def arrow_columns(frame: DataFrame, names: Sequence[str], selected: Sequence[str]) -> pa.Schema:
    """Return the Arrow types of some columns of a Spark DataFrame, with timestamps in UTC.

    Raises:
        StreamError: Spark cannot hand a column to Python through Arrow.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    large = frame.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")
    fields = []
    for name, column in zip(names, nullable(frame.schema).fields, strict=True):
        if name not in selected:
            continue
        try:
            one = to_arrow_schema(
                t.StructType([column]), timezone="UTC", prefers_large_types=large == "true"
            )
        except (PySparkException, TypeError) as error:
            raise StreamError(
                f"the column '{name}' holds {column.dataType.simpleString()}, which Spark cannot"
                " hand to Python",
                hint="leave it out by events(..., columns=[...]), or convert it",
            ) from error
        fields.append(one.field(0))
    return pa.schema(fields)


def match_columns(
    columns: t.StructType, names: Sequence[str], matches: MatchColumns, in_arrow: pa.Schema
) -> t.StructType:
    """Return the Spark columns of the matches; they keep the types of the source."""
    from pyspark.sql.pandas.types import from_arrow_type

    event = event_type(columns, names, matches.stream)
    by_name = dict(zip(names, nullable(columns).fields, strict=True))
    moment = by_name[matches.stream.time].dataType
    kinds: dict[str, t.DataType] = {START: moment, END: moment}
    for variable in () if matches.returned else matches.variables:
        kinds[variable] = t.ArrayType(event) if variable in matches.repeated else event
    for result in matches.returned:
        source = result.source
        if source is None:
            computed = in_arrow.field(result.name).type
            kinds[result.name] = from_arrow_type(computed, prefer_timestamp_ntz=True)
        else:
            kind = by_name[source.name].dataType
            is_list = source is result.value and source.variable in matches.repeated
            kinds[result.name] = t.ArrayType(kind) if is_list else kind
    return t.StructType([t.StructField(name, kinds[name]) for name in in_arrow.names])


def event_type(columns: t.StructType, names: Sequence[str], schema: Schema) -> t.StructType:
    """Return the Spark type of an event in a match; see `match_columns`."""
    by_name = dict(zip(names, nullable(columns).fields, strict=True))
    return t.StructType([by_name[name] for name in schema.carried(names)])
