"""Columns of a Parquet file in the engine's form, made row group by row group in threads.

What a thread has decoded is still in its cache when it is brought into the engine's form, and
Arrow's memory is used again for the next row group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cepkit.errors import StreamError
from cepkit.indexing import BLOCK
from cepkit.lazy import pa
from cepkit.stream.columns import MISSING_INTEGER, Column
from cepkit.stream.reading import readers
from cepkit.stream.reading.arrow import ArrowColumn, is_list, is_text, plain
from cepkit.stream.reading.ingest import attribute
from cepkit.stream.reading.times import counts_nanoseconds, microseconds
from cepkit.stream.schema import Schema
from cepkit.threads import together

_FEW = 100


def columns_by_group(path: Path, names: Iterable[str], schema: Schema) -> dict[str, Column]:
    """Return columns of one Parquet file; what is left out has to be read as a whole.

    These are lists, types that are no texts, numbers that may be beyond int64, times that are texts
    or may tie because nanoseconds are floored; and all columns of a file with one row group, or if
    a value is refused, so that whoever reads them as a whole says which.

    Args:
        names: The columns; the time column is read as times.
    """
    stored = readers.schema_of(path)
    if readers.number_of_groups(path) < 2:
        return {}
    try:
        made = [
            _ColumnOfGroups(path, name, schema, stored.field(name).type)
            for name in names
            if _is_by_group(path, name, stored.field(name).type, schema)
        ]
        together(*(job for column in made for job in column.jobs()))
    except (StreamError, pa.ArrowException):
        return {}
    return {column.name: column.whole() for column in made}


def _is_by_group(path: Path, name: str, kind: pa.DataType, schema: Schema) -> bool:
    """Return whether a value's form does not depend on values of other row groups."""
    if is_list(kind) or pa.types.is_uint64(kind) or pa.types.is_dictionary(kind):
        return False
    if name == schema.type and not is_text(kind):
        return False
    if name != schema.time:
        return True
    if is_text(kind):
        return False
    if schema.by_arrival or (pa.types.is_timestamp(kind) and kind.unit != "ns"):
        return True
    first = readers.read_table(path, (name,), limit=_FEW).column(0)
    return not counts_nanoseconds(first, schema.unit)


class _ColumnOfGroups:
    """A column whose row groups are brought into one array, each by a job."""

    def __init__(self, path: Path, name: str, schema: Schema, kind: pa.DataType) -> None:
        self.name = name
        self._path, self._schema = path, schema
        self._groups = readers.column_by_group(path, name)
        form = pa.dictionary(pa.int32(), kind) if is_text(kind) else kind
        self._none = self._converted(pa.Table.from_batches([], pa.schema([(name, form)])), None)
        rows = [rows for rows, _ in self._groups]
        values: npt.NDArray[Any] = np.empty(sum(rows), self._none.values.dtype)
        ends = np.cumsum(rows).tolist()
        self._values = values
        self._own = [values[end - n : end] for n, end in zip(rows, ends, strict=True)]
        self._parts = [self._none] * len(rows)

    def jobs(self) -> Iterator[Callable[[], None]]:
        """Yield the job of each row group."""
        return (partial(self._make, number) for number in range(len(self._groups)))

    def _make(self, number: int) -> None:
        _, read = self._groups[number]
        with readers.reading(self._path):
            table = read()
        own = self._own[number]
        part = self._converted(table, own)
        if part.values is not own:
            own[:] = part.values
        self._parts[number] = Column(part.kind, own, part.dictionary, part.has_missing)

    def _converted(self, table: pa.Table, into: npt.NDArray[Any] | None) -> Column:
        column: ArrowColumn = plain(table).column(0)
        schema = self._schema
        if self.name != schema.time:
            return attribute(column, self.name, schema, into)
        times = microseconds(
            column, self.name, unit=schema.unit, timezone=schema.timezone, into=into
        )
        return Column("timestamp", times, has_missing=times.min(initial=0) == MISSING_INTEGER)

    def whole(self) -> Column:
        """Return the column, once all jobs are done."""
        missing = any(part.has_missing for part in self._parts)
        texts = self._one_dictionary()
        return Column(self._none.kind, self._values, texts, has_missing=missing)

    def _one_dictionary(self) -> npt.NDArray[np.object_]:
        """Let the codes of all parts mean the same texts, and return these."""
        known = [part.dictionary for part in self._parts]
        if not known or all(len(t) == len(known[0]) and (t == known[0]).all() for t in known):
            return known[0] if known else self._none.dictionary
        every = np.array(sorted({text for texts in known for text in texts}), dtype=object)
        for part in self._parts:
            # One more place at the end, because -1 indexes it.
            code_of = np.append(np.searchsorted(every, part.dictionary), -1).astype(np.int32)
            for begin in range(0, len(part.values), BLOCK):
                block = part.values[begin : begin + BLOCK]
                block[:] = code_of[block]
        return every
