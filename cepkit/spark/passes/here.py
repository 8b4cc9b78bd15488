"""Rows of a Spark stream that this process has found among fetched events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cepkit.lazy import pd


def in_one_action(frames: Mapping[str, DataFrame]) -> dict[str, pa.Table]:
    """Return the (few) rows of each of several DataFrames by one action.

    Tasks of the first one keep the numbers that they would have alone.
    """
    if len(frames) < 2:
        return {name: frame.toArrow() for name, frame in frames.items()}
    # Each is one column, null in the rows of the others. Inside a list: a bare null struct would
    # have nulls in its non-null fields, which Arrow refuses.
    packed = [frame.select(F.array(F.struct("*")).alias(name)) for name, frame in frames.items()]
    united = reduce(lambda one, more: one.unionByName(more, allowMissingColumns=True), packed)
    table = united.toArrow()
    return {name: _unpacked(table.column(name)) for name in frames}


def _unpacked(column: pa.ChunkedArray) -> pa.Table:
    return pa.Table.from_struct_array(pc.list_flatten(column))


class Found(Protocol):
    """Rows found in this process."""

    def count(self) -> int:
        """Return their number."""

    def to_arrow(self) -> pa.Table:
        """Return all rows."""

    def first(self, n: int) -> pa.Table:
        """Return at most `n` rows."""

    def to_pandas(self, *, nested: bool) -> pd.DataFrame:
        """Return all rows in flat columns, or nested ones."""


@dataclass(frozen=True, eq=False, slots=True)
class Here:
    """Rows of this process, and how Spark gets the same.

    Attributes:
        rows: The rows.
        session: Spark's session.
        workers: Makes the same rows, found by workers.
    """

    rows: Found
    columns: StructType
    session: SparkSession
    workers: Callable[[], DataFrame]

    def to_arrow(self) -> pa.Table:
        """Return all rows, with the types that Spark gives them."""
        return self._as_spark_has_it(self.rows.to_arrow())

    def all(self) -> DataFrame:
        """Return all rows as a DataFrame."""
        return self._in_spark(self.to_arrow())

    def some(self, n: int) -> DataFrame:
        """Return at most `n` rows as a DataFrame."""
        return self._in_spark(self._as_spark_has_it(self.rows.first(max(n, 0))))

    def _in_spark(self, rows: pa.Table) -> DataFrame:
        # Spark cannot infer types from a table without rows.
        return self.session.createDataFrame(rows if len(rows) else [], self.columns)

    def _as_spark_has_it(self, rows: pa.Table) -> pa.Table:
        from pyspark.sql.pandas.types import to_arrow_schema

        large = self.session.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")
        schema = to_arrow_schema(self.columns, timezone="UTC", prefers_large_types=large == "true")
        return rows if rows.schema.equals(schema) else rows.cast(schema)
