"""The result of a row pattern query over a local table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from cepkit.exports import Exported
from cepkit.lazy import pd
from cepkit.memory import Room
from cepkit.printing import Printed, html_lines, html_output
from cepkit.progress import Progress, showing
from cepkit.rowpattern.binding import BoundQuery
from cepkit.rowpattern.nodes import RowQuery
from cepkit.rowpattern.rows import PartitionedRows, ranks, rows_of
from cepkit.rowpattern.run import Prepared, prepare
from cepkit.rowpattern.translation import Translatable
from cepkit.stream.reading import sources
from cepkit.tables import count_text, html_table, text_table, value_text

_SHOWN = 10


class RowMatches(Translatable, Exported, Printed):
    """The rows of a query with MATCH_RECOGNIZE, computed on demand.

    `batches` yields some at a time, `to_arrow` and `to_pandas` return all. `len()` counts them.

    Attributes:
        query: The parsed query.
        schema: The columns of the result.
        progress: Whether long work shows a bar.
    """

    def __init__(self, query: RowQuery, source: Any, progress: Progress = "auto") -> None:
        self.query = query
        self.progress: Progress = progress
        names = sources.column_names(source)
        self._table = sources.all_rows(source, names, names)
        self._prepared: Prepared = prepare(query, self._table.slice(0, 0))
        self.schema: pa.Schema = self._prepared.schema
        self._rows: PartitionedRows | None = None
        self._count: int | None = None

    def _bound(self) -> BoundQuery:
        return self._prepared.bound

    def batches(self) -> Iterator[pa.Table]:
        """Yield the rows of the result as tables, as soon as they are found.

        With ORDER BY or LIMIT around MATCH_RECOGNIZE there is only one table.
        """
        if self._prepared.sorted_by or self.query.limit is not None:
            yield self.to_arrow()
        else:
            yield from self._unsorted()

    def to_arrow(self) -> pa.Table:
        """Return the rows of the result.

        Raises:
            LimitError: They do not fit the memory.
        """
        room = Room("rows", "an Arrow table", "batches() yields some at a time")
        tables = [pa.Table.from_batches([], self.schema)]
        limit = self.query.limit
        with showing("finding matches", self.progress):
            for table in self._unsorted():
                tables.append(table)
                room.take(table.num_rows, table.nbytes)
                if limit is not None and room.rows >= limit and not self._prepared.sorted_by:
                    break
        whole = pa.concat_tables(tables)
        keys = [ranks(whole, key) for key in reversed(self._prepared.sorted_by)]
        if keys and whole.num_rows:
            whole = whole.take(pa.array(np.lexsort(keys)))
        return whole if limit is None else whole.slice(0, limit)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of the result as a DataFrame.

        Raises:
            LimitError: They do not fit the memory.
        """
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def _in_batches(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        return self.schema, (batch for table in self.batches() for batch in table.to_batches())

    def _flat(self) -> pa.Table:
        return self.to_arrow()

    def __len__(self) -> int:
        """Return the number of rows."""
        if self._count is None:
            with showing("counting rows", self.progress):
                self._count = sum(table.num_rows for table in self.batches())
        return self._count

    def __bool__(self) -> bool:
        """Return True: asking whether there is a result should not compute it."""
        return True

    def explain(self) -> str:
        """Explain how the query runs: its steps, the conditions on rows, the matches."""
        with showing("reading", self.progress):
            rows = self._local()
        head = f"{count_text(len(rows), 'row')}, {count_text(len(rows.bounds) - 1, 'partition')}"
        result = f"{count_text(len(self), 'row')} in the result"
        return "\n".join((head, *self._prepared.explained(), result))

    def _unsorted(self) -> Iterator[pa.Table]:
        return self._prepared.batches(self._local())

    def _local(self) -> PartitionedRows:
        if self._rows is None:
            self._rows = rows_of(self._table, self._prepared.bound)
        return self._rows

    def _head(self) -> tuple[list[str], list[list[str]]]:
        rows = pa.Table.from_batches([], self.schema)
        for table in self.batches():
            rows = pa.concat_tables([rows, table]).slice(0, _SHOWN)
            if rows.num_rows == _SHOWN:
                break
        cells = [[value_text(value) for value in row.values()] for row in rows.to_pylist()]
        return rows.column_names, cells

    def __str__(self) -> str:
        head, cells = self._head()
        return (
            f"the first rows of {self.query.table}, matched\n{text_table(head, cells, len(head))}"
        )

    def _repr_html_(self) -> str:
        head, cells = self._head()
        title = f"the first rows of {self.query.table}, matched"
        return html_output(html_table(head, cells, title, len(head)), html_lines(""))
