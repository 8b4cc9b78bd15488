"""The rows of any Spark stream, counted and collected by Spark's jobs."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from cepkit.spark.passes.extent import has_width, row_bytes
from cepkit.spark.passes.kept import counted
from cepkit.spark.passes.part import FETCHED, Types
from cepkit.spark.passes.rows import StreamRows
from cepkit.spark.session.access import access_to
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
        wide = self._wide()
        size = self.number(types) * row_bytes(self.columns)
        size += counted(self.stream, wide).size(types, wide)
        return size if size > most else self._collected(self._frame(types))

    def held(self, most: float) -> pa.Table | None:
        """Return all rows without counting them, if the JVM holds them; None if not, or too many.

        A first count of rows takes longer than to fetch them.
        """
        frame = self._frame(None)
        number = access_to(frame).held(frame)
        if number is None or number * row_bytes(self.columns) > most:
            return None
        table = self._collected(frame)
        return table if table.nbytes <= most else None

    def _frame(self, types: Types) -> DataFrame:
        source = StreamRows(self.stream)
        rows = source.rows
        if types is not None:
            rows = rows.where(source.may_have(types) | source.no_type | source.no_time)
        return rows.select(*map(source.column, self.columns.names))

    def _collected(self, frame: DataFrame) -> pa.Table:
        table: pa.Table = run_with_progress(frame.toArrow, "fetching")
        if len(table.schema) == len(self.columns):
            table = table.rename_columns(self.columns.names).cast(self.columns)
        return table

    def _wide(self) -> list[str]:
        """Return the columns whose values, such as texts, can exceed the estimate of a row."""
        return [field.name for field in self.columns if not has_width(field.type)]
