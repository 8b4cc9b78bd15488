"""Matches as Arrow rows: a struct column for each variable, and where the match lies in time.

The column of a Kleene variable is a list of structs, its members in stream order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from cepkit.columnar.slices.blocks import Block, Members
from cepkit.stream.columns import EventColumns

START, END = "match_start", "match_end"
ROWS = 1 << 16
"""Matches of one record batch."""


def output_schema(
    source: pa.Schema, variables: Sequence[str], time: str, repeated: Collection[str] = ()
) -> pa.Schema:
    """Return the columns of the matches of a query.

    Args:
        source: The columns of an event.
        variables: All variables of the query in pattern order; one that a branch of an OR does
            not have is null there.
        time: The column of the event time; start and end of a match are two of its values.
        repeated: The Kleene variables among them.
    """
    event = pa.struct(list(source))
    # Named as Spark and Parquet name the items of a list.
    several = pa.list_(pa.field("element", event))
    fields = [pa.field(v, several if v in repeated else event) for v in variables]
    moment = source.field(time).type
    return pa.schema([*fields, pa.field(START, moment), pa.field(END, moment)])


def to_parquet(batches: Iterable[pa.RecordBatch], schema: pa.Schema, file: BinaryIO) -> int:
    """Write rows as Parquet, some at a time; return how many there are."""
    written = 0
    with pq.ParquetWriter(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            written += len(batch)
    return written


class Writer:
    """Turns blocks of one slice into record batches.

    Args:
        columns: The events that the blocks are about.
        variables: All variables of the query in pattern order.
        time: The column of the event time.
        repeated: The Kleene variables of the query.
    """

    def __init__(
        self,
        columns: EventColumns,
        variables: Sequence[str],
        time: str,
        repeated: Collection[str] = (),
    ) -> None:
        self._columns = columns
        # Taking rows from one chunk is far cheaper than from many.
        self._source = columns.source.combine_chunks()
        self._variables = tuple(variables)
        self._time = time
        self.schema = output_schema(columns.source.schema, variables, time, repeated)

    def batches(self, block: Block, present: Sequence[str]) -> list[pa.RecordBatch]:
        """Return the matches of `block` as record batches of bounded size.

        Args:
            block: Some matches.
            present: The variables that they bind.
        """
        members = {v: block.members(v) for v in present}
        sets = {v: members_of for v, members_of in members.items() if members_of is not None}
        events = {v: block.events(v) for v in present if v not in sets}
        return [
            self._batch(
                {v: rows[begin : begin + ROWS] for v, rows in events.items()},
                {v: members_of.slice(begin, begin + ROWS) for v, members_of in sets.items()},
            )
            for begin in range(0, block.size, ROWS)
        ]

    def _batch(
        self, events: dict[str, npt.NDArray[np.integer]], sets: dict[str, Members]
    ) -> pa.RecordBatch:
        # Rows are in the order of time, so the first event has the least row.
        extremes = {
            END: [*events.values(), *(each.last for each in sets.values())],
            START: [*events.values(), *(each.first for each in sets.values())],
        }
        ends = {
            START: np.minimum.reduce(extremes[START]),
            END: np.maximum.reduce(extremes[END]),
        }
        arrays = []
        for variable in self._variables:
            if variable in events:
                arrays.append(self._struct(events[variable]))
            elif variable in sets:
                arrays.append(self._list(sets[variable], self.schema.field(variable).type))
            else:
                arrays.append(pa.nulls(len(ends[START]), self.schema.field(variable).type))
        arrays += [self._take(self._time, self._at(ends[name])) for name in (START, END)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _list(self, members: Members, kind: pa.DataType) -> pa.Array:
        starts = pa.array(members.starts.astype(np.int32))
        return pa.ListArray.from_arrays(starts, self._struct(members.rows), type=kind)

    def _struct(self, rows: npt.NDArray[np.integer]) -> pa.Array:
        fields = list(self._source.schema)
        at = self._at(rows)
        return pa.StructArray.from_arrays(
            [self._take(field.name, at) for field in fields], fields=fields
        )

    def _at(self, rows: npt.NDArray[np.integer]) -> pa.Array:
        """Return where events are in the source."""
        return pa.array(self._columns.source_rows(rows))

    def _take(self, name: str, at: pa.Array) -> pa.Array:
        column = self._source.column(name)
        chunk = column.chunk(0) if column.num_chunks else pa.array([], column.type)
        return chunk.take(at)
