"""Matches as Arrow rows: one struct column for each variable, and where the match lies in time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cepkit.columnar.run import Block
from cepkit.stream.columns import EventColumns

START, END = "match_start", "match_end"
ROWS = 1 << 16
"""Matches of one record batch."""


def output_schema(source: pa.Schema, variables: Sequence[str], time: str) -> pa.Schema:
    """Return the columns of the matches of a query.

    Args:
        source: The columns of an event.
        variables: All variables of the query in pattern order; one that a branch of an OR does
            not have is null there.
        time: The column of the event time; start and end of a match are two of its values.
    """
    event = pa.struct(list(source))
    fields = [pa.field(variable, event) for variable in variables]
    moment = source.field(time).type
    return pa.schema([*fields, pa.field(START, moment), pa.field(END, moment)])


class Writer:
    """Turns blocks of one slice into record batches.

    Args:
        columns: The events that the blocks are about.
        variables: All variables of the query in pattern order.
        time: The column of the event time.
    """

    def __init__(self, columns: EventColumns, variables: Sequence[str], time: str) -> None:
        self._columns = columns
        # Taking rows from one chunk is far cheaper than from many.
        self._source = columns.source.combine_chunks()
        self._variables = tuple(variables)
        self._time = time
        self.schema = output_schema(columns.source.schema, variables, time)

    def batches(self, block: Block, present: Sequence[str]) -> list[pa.RecordBatch]:
        """Return the matches of `block` as record batches of bounded size.

        Args:
            block: Some matches.
            present: The variables that they bind.
        """
        events = {variable: block.events(variable) for variable in present}
        return [
            self._batch({v: rows[begin : begin + ROWS] for v, rows in events.items()})
            for begin in range(0, block.size, ROWS)
        ]

    def _batch(
        self, events: dict[str, np.ndarray[tuple[int], np.dtype[np.integer]]]
    ) -> pa.RecordBatch:
        stacked = np.stack(list(events.values()))
        # Rows are in the order of time, so the first event has the least row.
        ends = {START: stacked.min(axis=0), END: stacked.max(axis=0)}
        arrays = [
            self._struct(events[variable])
            if variable in events
            else pa.nulls(stacked.shape[1], self.schema.field(variable).type)
            for variable in self._variables
        ]
        arrays += [self._take(self._time, ends[name]) for name in (START, END)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _struct(self, rows: np.ndarray[tuple[int], np.dtype[np.integer]]) -> pa.Array:
        fields = list(self._source.schema)
        return pa.StructArray.from_arrays(
            [self._take(field.name, rows) for field in fields], fields=fields
        )

    def _take(self, name: str, rows: np.ndarray[tuple[int], np.dtype[np.integer]]) -> pa.Array:
        column = self._source.column(name)
        chunk = column.chunk(0) if column.num_chunks else pa.array([], column.type)
        return chunk.take(pa.array(self._columns.source_rows(rows)))
