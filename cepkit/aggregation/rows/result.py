"""The result of an aggregation: its rows, the method, and why that method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cepkit.aggregation.rows.tables import Values
from cepkit.aggregation.sequence.elements import Emit
from cepkit.errors import LimitError
from cepkit.exports import Exported
from cepkit.lazy import pa, pd
from cepkit.pattern.query import Query
from cepkit.printing import html_output, html_text
from cepkit.tables import html_table, text_table, value_text

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Aggregates(Exported):
    """The aggregates of a query's matches.

    Attributes:
        query: The query.
        emit: Which rows it has: see `cepkit.aggregate`.
        method: The method: "prefix-counters", "window-product" or "detect".
        reason: Why this method was chosen.
        columns: The columns of the result by name; one with integers beyond 64 bits is a list.
    """

    query: Query
    emit: Emit
    method: str
    reason: str
    columns: Mapping[str, Values]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a DataFrame.

        Integers that may be missing have the type Int64; integers that 64 bits cannot hold are
        Python's own, in a column of objects.
        """
        return pd.DataFrame({name: _series(values) for name, values in self.columns.items()})

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table; integers beyond 64 bits are decimals of 76 digits.

        Raises:
            LimitError: An integer has more digits than that.
        """
        return pa.table({name: _array(name, values) for name, values in self.columns.items()})

    def _in_batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        table = self.to_arrow()
        return table.schema, iter(table.to_batches())

    def _flat(self) -> pa.Table:
        return self.to_arrow()

    def __repr__(self) -> str:
        try:
            return f"{self._title()}\n{text_table(list(self.columns), self._cells(), self._left())}"
        except Exception as error:  # noqa: BLE001 - a repr that raises hides the real problem
            return f"Aggregates: cannot be shown ({type(error).__name__})"

    def _repr_html_(self) -> str:
        try:
            table = html_table(list(self.columns), self._cells(), left=self._left())
            return html_output(f"<p>{html_text(self._title())}</p>", table)
        except Exception as error:  # noqa: BLE001 - as above
            return f"<p>Aggregates: cannot be shown ({type(error).__name__})</p>"

    def _title(self) -> str:
        more = f"; the first {_SHOWN}" if len(self) > _SHOWN else ""
        rows = f"{len(self):,} row{'' if len(self) == 1 else 's'}"
        return f"Aggregates by {self.method} ({self.reason}), {rows}{more}:"

    def _cells(self) -> list[list[str]]:
        first_values = [_first(values) for values in self.columns.values()]
        return [[value_text(value) for value in row] for row in zip(*first_values, strict=True)]

    def _left(self) -> int:
        """Return how many columns before the first aggregate are aligned to the left."""
        names = list(self.columns)
        return sum(name in ("ts", "cause", *self.query.group_by) for name in names)


def _first(values: Values) -> list[Any]:
    first: list[Any] = values[:_SHOWN] if isinstance(values, list) else values[:_SHOWN].to_pylist()
    return first


def _series(values: Values) -> pd.Series[Any]:
    if isinstance(values, list):
        return pd.Series(values, dtype=object)
    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    kind = nullable.get(values.type) if values.null_count else None
    frame: pd.Series[Any] = values.to_pandas(types_mapper=lambda _: kind)
    return frame


def _array(name: str, values: Values) -> pa.Array:
    if not isinstance(values, list):
        return values
    try:
        return pa.array(values, pa.decimal256(76))
    except pa.ArrowInvalid as error:
        digits = max(len(str(abs(value))) for value in values if value is not None)
        raise LimitError(
            f"the column '{name}' has an integer of {digits} digits",
            expected="at most 76 in Arrow",
            hint="to_pandas() holds integers of any size",
        ) from error
