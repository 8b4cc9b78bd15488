"""A Spark stream prepared for counting types and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as t

from cepkit.pattern.query import Query
from cepkit.spark.passes.rows import StreamRows
from cepkit.stream.columns import MISSING_INTEGER
from cepkit.stream.reading.times import microseconds


@dataclass(frozen=True, slots=True)
class Source(StreamRows):
    """A stream in Spark, with the columns that a query reads.

    Attributes:
        columns: Time, type and the attributes that the query reads, in Arrow.
    """

    query: Query
    columns: pa.Schema

    def has(self, types: frozenset[str] | None, written: Mapping[str, Sequence[Any]]) -> Column:
        """Return whether a row has exactly one of the types; None for any.

        Args:
            written: For each type that occurs its values in the type column.
        """
        if types is None:
            return F.lit(True)
        values = [value for name in sorted(types) for value in written.get(name, ())]
        if not values:
            return F.lit(False)
        return F.coalesce(self.column(self.schema.type).isin(*values), F.lit(False))

    def is_missing(self, name: str) -> Column:
        """Return whether an attribute is missing: null, NaN, or a list with missing numbers."""
        column, kind = self.column(name), self.kind(name)
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
        """Return whether any of several attributes is missing."""
        return reduce(Column.__or__, map(self.is_missing, names))

    def microseconds(self, column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """Return the times of a column in microseconds."""
        schema = self.schema
        return microseconds(column, schema.time, unit=schema.unit, timezone=schema.timezone)
