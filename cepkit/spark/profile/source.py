"""What a Spark stream is to those who count it: columns by their roles, and which rows are events.

Columns are called by position, so that whatever they are called Spark finds them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.pattern.query import Query
from cepkit.spark.cells.extent import has_type, positional, without_time, without_type
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.schema import Schema
from cepkit.stream.stream import Stream
from cepkit.stream.times import microseconds


@dataclass(frozen=True, slots=True)
class Source:
    """A stream in Spark, and what a query reads of it.

    Attributes:
        stream: The stream.
        frame: Its DataFrame.
        query: The pattern.
        columns: Time, type and the attributes that the query reads, in Arrow.
    """

    stream: Stream
    frame: DataFrame
    query: Query
    columns: pa.Schema

    @property
    def schema(self) -> Schema:
        """Which column is what."""
        return self.stream.schema

    @property
    def rows(self) -> DataFrame:
        """All rows, their columns called by position."""
        return positional(self.frame)

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        return self.frame.sparkSession.sparkContext.defaultParallelism

    def place(self, name: str) -> str:
        """Return what a column is called among `rows`."""
        return f"c{self.stream.column_names.index(name)}"

    def kind(self, name: str) -> t.DataType:
        """Return the type of a column."""
        place = self.stream.column_names.index(name)
        kind: t.DataType = self.frame.schema.fields[place].dataType
        return kind

    @property
    def no_time(self) -> Column:
        """Whether a row has no time."""
        return without_time(F.col(self.place(self.schema.time)), self.kind(self.schema.time))

    @property
    def no_type(self) -> Column:
        """Whether a row has no type."""
        return without_type(F.col(self.place(self.schema.type)), self.kind(self.schema.type))

    @property
    def is_event(self) -> Column:
        """Whether a row is an event."""
        return ~self.no_time & ~self.no_type

    def may_have(self, types: frozenset[str] | None) -> Column:
        """Return whether a row may have one of the types, None for any; workers look again."""
        fitting = has_type(F.col(self.place(self.schema.type)), self.kind(self.schema.type), types)
        return F.lit(True) if fitting is None else fitting

    def has(self, types: frozenset[str] | None, written: Mapping[str, Sequence[Any]]) -> Column:
        """Return whether a row has one of the types, None for any, exactly.

        Args:
            types: The types.
            written: For each type that occurs the values that the type column has for it.
        """
        if types is None:
            return F.lit(True)
        values = [value for name in sorted(types) for value in written.get(name, ())]
        if not values:
            return F.lit(False)
        return F.coalesce(F.col(self.place(self.schema.type)).isin(*values), F.lit(False))

    def is_missing(self, name: str) -> Column:
        """Return whether an attribute has no value: null, NaN, or a list without all numbers."""
        column, kind = F.col(self.place(name)), self.kind(name)
        absent = column.isNull()
        match kind:
            case t.FloatType() | t.DoubleType():
                return absent | F.isnan(column)
            case t.LongType():
                return absent | (column == MISSING_INTEGER)
            case t.ArrayType(elementType=of):
                floating = isinstance(of, t.FloatType | t.DoubleType)
                unknown = F.exists(
                    column, lambda x: x.isNull() | F.isnan(x) if floating else x.isNull()
                )
                return absent | (F.size(column) == 0) | F.coalesce(unknown, F.lit(False))
            case _:
                return absent

    def any_missing(self, names: Sequence[str]) -> Column:
        """Return whether one of several attributes has no value."""
        return reduce(Column.__or__, map(self.is_missing, names))

    def microseconds(self, column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """Return the times of a column in microseconds."""
        schema = self.schema
        return microseconds(column, schema.time, unit=schema.unit, timezone=schema.timezone)
