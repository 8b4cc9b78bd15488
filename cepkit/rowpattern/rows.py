"""The rows of a table, sorted stably by partition and order."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepkit.errors import StreamError
from cepkit.rowpattern.binding import BoundQuery
from cepkit.rowpattern.columns import as_array, evaluate
from cepkit.rowpattern.expressions import Expression, Here, place_text
from cepkit.rowpattern.nodes import Key
from cepkit.rowpattern.operations import comparable
from cepkit.stream.reading.arrow import described


@dataclass(slots=True)
class PartitionedRows:
    """A table with contiguous partitions.

    Attributes:
        table: The table, sorted by partition and order.
        bounds: The first row of each partition, and the number of rows.
    """

    table: pa.Table
    bounds: np.ndarray
    partitions: np.ndarray
    _columns: dict[Expression, pa.Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.partitions)

    def column(self, value: Expression) -> pa.Array:
        """Return the value of a `Here` expression at each row."""
        if value not in self._columns:
            if isinstance(value, Here):
                column = as_array(self.table.column(value.name), len(self))
                self._columns[value] = comparable(column)
            else:
                self._columns[value] = as_array(evaluate(value, self.column), len(self))
        return self._columns[value]

    def shifted(self, value: Expression, shift: int) -> pa.Array:
        """Return the value of an expression `shift` rows after each row, in its partition."""
        column = self.column(value)
        return column.take(self.indices(np.arange(len(self)), shift)) if shift else column

    def indices(self, rows: np.ndarray, shift: int) -> pa.Array:
        """Return the rows `shift` rows after others; null beyond the ends of a partition.

        Args:
            rows: Row numbers; negative for none.
            shift: The distance, negative for earlier rows.
        """
        to = rows + shift
        valid = (rows >= 0) & (to >= 0) & (to < len(self))
        if shift:
            inside = np.where(valid, to, 0)
            valid[valid] = (self.partitions[inside] == self.partitions[rows])[valid]
        return pa.array(np.where(valid, to, 0), mask=~valid)


def rows_of(table: pa.Table, bound: BoundQuery) -> PartitionedRows:
    """Return the rows of a table in the partitions and the order of a query.

    Raises:
        StreamError: A column has no order, or ORDER BY has nulls, for which databases differ.
    """
    if not table.num_rows:
        return PartitionedRows(table, np.zeros(1, np.int64), np.zeros(0, np.int64))
    keys = [ranks(table, Key(Here(name), nulls="first")) for name in bound.partition]
    order = [ranks(table, key) for key in bound.order]
    if not keys and not order:
        sorted_rows = np.arange(table.num_rows)
    else:
        sorted_rows = np.lexsort([*reversed(order), *reversed(keys)])
        if (sorted_rows[1:] > sorted_rows[:-1]).all():
            sorted_rows = np.arange(table.num_rows)
        else:
            table = table.take(pa.array(sorted_rows))
    begins = np.zeros(table.num_rows, np.bool_)
    begins[0] = True
    for key in keys:
        sorted_key = key[sorted_rows]
        begins[1:] |= sorted_key[1:] != sorted_key[:-1]
    bounds = np.append(np.flatnonzero(begins), table.num_rows)
    return PartitionedRows(table.combine_chunks(), bounds, np.cumsum(begins) - 1)


def ranks(table: pa.Table, key: Key) -> np.ndarray:
    """Return the rank of each row by a key.

    Raises:
        PatternError: The kinds of an expression do not fit.
        StreamError: The key has no order, or has nulls without NULLS FIRST or LAST.
    """

    def of(here: Here) -> pa.Array:
        return comparable(as_array(table.column(here.name), table.num_rows))

    text = key.column or place_text(key.value.span)
    column = as_array(evaluate(key.value, of), table.num_rows)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if column.null_count and key.nulls is None:
        raise StreamError(
            f"'{text}' of ORDER BY has {column.null_count:,} nulls, and databases differ in"
            " where these go",
            hint=f"write ORDER BY {text} NULLS LAST, or NULLS FIRST",
        )
    if pa.types.is_boolean(column.type) or pa.types.is_null(column.type):
        column = column.cast(pa.int8())
    direction = "descending" if key.descending else "ascending"
    try:
        places = pc.rank(column, sort_keys=direction, tiebreaker="dense")
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise StreamError(
            f"'{text}' holds {described(column.type)}, which have no order here",
            expected="numbers, texts, times or truth values",
        ) from error
    numbers: np.ndarray = places.to_numpy(zero_copy_only=False).astype(np.int64)
    if key.nulls == "first" and column.null_count:
        numbers[column.is_null().to_numpy(zero_copy_only=False)] = 0
    return numbers
