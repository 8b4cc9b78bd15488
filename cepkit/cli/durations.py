"""Durations in CSV files: ISO 8601 or seconds, as a bare number of microseconds says nothing."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import pyarrow as pa

from cepkit.lazy import pc

DurationForm: TypeAlias = Literal["iso", "seconds"]
DURATION_FORMS: tuple[DurationForm, ...] = get_args(DurationForm)


class DurationsWritten:
    """Rows with their durations as texts, or as numbers of seconds."""

    def __init__(self, schema: pa.Schema, form: DurationForm) -> None:
        self._form = form
        self.schema = pa.schema([field.with_type(self._kind(field.type)) for field in schema])

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows as they are written."""
        columns = [self._written(column) for column in batch.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _kind(self, kind: pa.DataType) -> pa.DataType:
        if not pa.types.is_duration(kind):
            return kind
        return pa.string() if self._form == "iso" else pa.float64()

    def _written(self, column: pa.Array) -> pa.Array:
        if not pa.types.is_duration(column.type):
            return column
        micros = column.cast(pa.duration("us"), safe=False).cast(pa.int64())
        if self._form == "seconds":
            return pc.divide(micros.cast(pa.float64(), safe=False), 1e6)
        microsecond = pa.scalar("0.000001").cast(pa.decimal128(7, 6))
        decimals = pc.multiply(micros.cast(pa.decimal128(19)), microsecond).cast(pa.string())
        short = pc.utf8_rtrim(pc.utf8_rtrim(decimals, "0"), ".")
        return pc.replace_substring_regex(short, "^(-?)(.*)$", r"\1PT\2S")


def in_sql(column: str, form: DurationForm) -> str:
    """Return the expression of Spark for a column of intervals, written in a form."""
    parts = (("DAY", 86_400), ("HOUR", 3_600), ("MINUTE", 60), ("SECOND", 1))
    seconds = " + ".join(f"extract({part} FROM {column}) * {size}" for part, size in parts)
    if form == "seconds":
        return f"CAST({seconds} AS DOUBLE)"
    short = f"rtrim('.', rtrim('0', CAST(CAST({seconds} AS DECIMAL(38, 6)) AS STRING)))"
    return f"regexp_replace({short}, '^(-?)(.*)$', '$1PT$2S')"
