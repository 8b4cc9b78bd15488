"""The rows of any Spark stream, counted and collected by Spark's jobs."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cepkit.spark.passes.extent import has_width, row_bytes
from cepkit.spark.passes.kept import counted
from cepkit.spark.passes.part import FETCHED, Types
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.session.progress import run_with_progress
from cepkit.stream.stream import Stream


@dataclass(frozen=True, slots=True)
class CollectedRows:
    """The rows of a DataFrame.

    Attributes:
        columns: The columns to collect, in Arrow.
    """

    stream: Stream
    columns: pa.Schema

    origin = FETCHED
    in_order = True

    def number(self, types: Types) -> int:
        """Return how many rows may have some types, or are no events; None for any."""
        return counted(self.stream, self._wide()).number(types)

    def read(self, types: Types, most: float) -> pa.Table | float:
        """Return the rows of some types, and those that are no events.

        Returns:
            The rows; or about how many bytes they would take, if that is more.
        """
        source, fields, wide = StreamRows(self.stream), self.columns, self._wide()
        size = self.number(types) * row_bytes(fields)
        size += counted(self.stream, wide).size(types, wide)
        if size > most:
            return size
        rows = source.rows
        if types is not None:
            rows = rows.where(source.may_have(types) | source.no_type | source.no_time)
        columns = [source.column(name) for name in fields.names]
        table: pa.Table = run_with_progress(rows.select(*columns).toArrow, "fetching")
        if len(table.schema) == len(fields):
            table = table.rename_columns(fields.names).cast(fields)
        return table

    def _wide(self) -> list[str]:
        """Return the columns whose values, such as texts, can exceed the estimate of a row."""
        return [field.name for field in self.columns if not has_width(field.type)]
