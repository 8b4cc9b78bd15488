"""Spark's column types as Arrow's, for events sent to workers and for matches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from cepkit.columnar.results.output import END, START
from cepkit.errors import StreamError
from cepkit.stream.schema import Schema


def nullable(columns: t.StructType) -> t.StructType:
    """Return the columns with null allowed everywhere, at any depth.

    Spark demands of Python exactly the types that it was promised; "not null" is a promise that
    neither Parquet files nor a variable that a branch of an OR lacks can keep.
    """
    return t.StructType.fromJson(_nullable(columns.jsonValue()))


def _nullable(value: Any) -> Any:
    if isinstance(value, dict):
        flags = ("nullable", "containsNull", "valueContainsNull")
        return {k: True if k in flags else _nullable(v) for k, v in value.items()}
    return [_nullable(item) for item in value] if isinstance(value, list) else value


def arrow_columns(frame: DataFrame, names: Sequence[str], selected: Sequence[str]) -> pa.Schema:
    """Return what some columns of a Spark DataFrame are in Arrow, timestamps in UTC.

    Args:
        names: Its columns.
        selected: Those to take.

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
    columns: t.StructType,
    names: Sequence[str],
    variables: Sequence[str],
    schema: Schema,
    repeated: Collection[str] = (),
) -> t.StructType:
    """Return the columns of the matches: a struct for each variable, start and end.

    A Kleene variable has a list of structs.

    Args:
        columns: Those of the source.
        variables: All variables of the query in pattern order.
        schema: Says which columns are carried and which is the time.
        repeated: The Kleene variables among them.
    """
    event = event_type(columns, names, schema)
    moment = nullable(columns).fields[names.index(schema.time)].dataType
    fields = [t.StructField(v, t.ArrayType(event) if v in repeated else event) for v in variables]
    return t.StructType([*fields, t.StructField(START, moment), t.StructField(END, moment)])


def event_type(columns: t.StructType, names: Sequence[str], schema: Schema) -> t.StructType:
    """Return what an event of a match is; as for `match_columns`."""
    by_name = dict(zip(names, nullable(columns).fields, strict=True))
    return t.StructType([by_name[name] for name in schema.carried(names)])


def quoted(name: str) -> str:
    """Return a column's name as Spark reads it in expressions, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"
