"""The rows of any Spark stream, counted and collected by Spark's jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cepkit.spark.passes.extent import row_bytes
from cepkit.spark.passes.part import FETCHED, Types
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.session.progress import run_with_progress
from cepkit.stream.stream import Stream


@dataclass(frozen=True, slots=True)
class CollectedRows:
    """The rows of a DataFrame.

    Attributes:
        columns: The columns to collect, in Arrow.
        types: The types of which the rows may be counted or collected; None for any.
        counts: The number of all rows, and of those that may have some types, once counted.
    """

    stream: Stream
    columns: pa.Schema
    types: Types
    counts: dict[Types, tuple[int, int]] = field(default_factory=dict)

    origin = FETCHED
    in_order = True

    def number(self, types: Types) -> int:
        """Return how many rows may have some types; None for any."""
        source = StreamRows(self.stream)
        if self.types not in self.counts:
            fits = F.count_if(_fits(source, self.types))
            self.counts[self.types] = _first(source.rows, F.count(F.lit(1)), fits)
        return self.counts[self.types][types is not None]

    def read(self, types: Types, most: float) -> pa.Table | float:
        """Return the rows of some types, and those that are no events.

        Args:
            types: The types; None for any.
            most: The most bytes of the table.

        Returns:
            The rows; or about how many bytes they would take, if that is more.
        """
        source, fields = StreamRows(self.stream), self.columns
        rows = source.rows if types is None else source.rows.where(_fits(source, types))
        columns = [source.column(name) for name in fields.names]
        size = self.number(types) * row_bytes(fields) + _extra(rows, columns, fields)
        if size > most:
            return size
        table: pa.Table = run_with_progress(rows.select(*columns).toArrow, "fetching")
        if len(table.schema) == len(fields):
            table = table.rename_columns(fields.names).cast(fields)
        return table


def _fits(source: StreamRows, types: Types) -> Column:
    """Return whether a row may have one of the types, or is no event, to count it."""
    return source.may_have(types) | source.no_type | source.no_time


def _extra(rows: DataFrame, columns: Sequence[Column], fields: pa.Schema) -> float:
    """Return by how much variable-width values, such as texts, exceed the estimate."""
    wide = [c for c, one in zip(columns, fields, strict=True) if not _has_width(one.type)]
    if not wide:
        return 0.0
    sums = (F.sum(F.octet_length(column.cast("string"))) for column in wide)
    return float(sum(size or 0 for size in _first(rows, *sums)))


def _has_width(kind: pa.DataType) -> bool:
    try:
        return bool(kind.bit_width)
    except ValueError:
        return False


def _first(rows: DataFrame, *columns: Column) -> Any:
    look: Callable[[], Any] = rows.agg(*columns).collect
    return run_with_progress(look, "counting")[0]
