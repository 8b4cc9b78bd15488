"""A bucket of a stream: its events of the last window, and what becomes certain as time goes on.

State is raw events, never partial matches. When the watermark goes from m0 to m1, each search runs
once over the events of (m0 - W, m1] and owns the rows that end in (m0, m1]; one that looks ahead
seals W later. So each row is told once, the answer is that of a batch over all events that were
not late, whatever the order in which they came, and any plan can take over at any watermark.

Nothing here knows Spark: state and events are Arrow.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cepkit.columnar.slices.candidates import Owned
from cepkit.spark.cells.sending import Sending
from cepkit.spark.streaming.searches import Carried, Search, Taken

TAKEN = "\0taken"
"""The column that says which events a match has, under skip-till-next-match."""

Found = tuple[str, pa.RecordBatch | int | str]
"""What rows are, and the rows; or how many events were looked at, or by which plan."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a bucket carries on.

    Attributes:
        events: The rows that later matches may have, or look for, in the order of arrival.
        complete: All events before this time have come, in microseconds; None: not said yet.
        plans: What decides the plan of the next stretch: see `SlicePlans.memory`.
    """

    events: pa.Table
    complete: int | None = None
    plans: str = ""


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is done with the events of a bucket.

    Attributes:
        sending: Which columns they have, and how they are read.
        searches: What is looked for among them.
        in_turn: Whether an event takes part in one match at most; then there is one search.
    """

    sending: Sending
    searches: tuple[Search, ...]
    in_turn: bool = False

    @property
    def fields(self) -> pa.Schema:
        """The columns of the rows that are held."""
        fields = self.sending.fields
        return fields.append(pa.field(TAKEN, pa.bool_())) if self.in_turn else fields

    def nothing(self) -> Held:
        """Return what a bucket holds before its first event."""
        return Held(self.fields.empty_table())

    def step(self, held: Held, new: pa.Table, until: int) -> Generator[Found, None, Held]:
        """Yield what becomes certain when time goes on, and late events; return what is held then.

        Args:
            held: What the bucket holds.
            new: Rows that have come since, in the order of arrival, of `sending`'s columns.
            until: All events before this time have come, in microseconds.
        """
        until = max(until, held.complete or until)
        late = self.sending.times(new) < until
        if late.any():
            yield "late", batch_of(new.filter(pa.array(late)))
            new = new.filter(pa.array(~late))
        if self.in_turn:
            new = new.append_column(self.fields.field(TAKEN), pa.array(np.zeros(len(new), bool)))
        table = pa.concat_tables([held.events, new])
        carried = Carried(plans=held.plans)
        if len(table):
            yield from self._search(table, held.complete, until, carried)
        return Held(self._needed(table, carried.taken, until), until, carried.plans)

    def wakes(self, held: Held) -> int | None:
        """Return the time that must be complete before there is more to do; None: never.

        Args:
            held: What the bucket holds after a step.
        """
        if not len(held.events) or held.complete is None:
            return None
        ts = self.sending.times(held.events)
        opened = []
        for search in self.searches:
            later = ts[ts >= held.complete - search.ahead]
            if len(later):
                opened.append(int(later.min()) + search.ahead)
        if any(search.at_any_time for search in self.searches):
            opened.append(held.complete)
        idle = int(ts.max()) + max(search.window + search.ahead for search in self.searches)
        return min(opened, default=idle)

    def _search(
        self, table: pa.Table, complete: int | None, until: int, carried: Carried
    ) -> Iterator[Found]:
        """Yield the rows of all searches; which rows of the table matches have is then carried."""
        events = self.sending.events(table.select(self.sending.fields.names))
        seen = events.slice(0, int(np.searchsorted(events.ts, until)))
        if self.in_turn:
            rows = seen.source_rows(np.arange(len(seen)))
            carried.taken = table.column(TAKEN).to_numpy()[rows].copy()
        for search in self.searches:
            since = None if complete is None else complete - search.ahead
            owned = Owned(since, until - search.ahead)
            if search.is_due(seen.ts, owned):
                yield "looked", len(seen)
                for batch in search.batches(seen, owned, carried):
                    yield ("plan" if isinstance(batch, str) else search.kind), batch
        if carried.taken is not None:
            whole: Taken = table.column(TAKEN).to_numpy().copy()
            whole[rows] = carried.taken
            carried.taken = whole

    def _needed(self, table: pa.Table, taken: Taken | None, until: int) -> pa.Table:
        """Return the rows that are of use when all events before a time have come."""
        if taken is not None:
            at = table.schema.get_field_index(TAKEN)
            table = table.set_column(at, self.fields.field(TAKEN), pa.array(taken))
        least = min(until - search.ahead - search.window for search in self.searches)
        of_use = self.sending.times(table) >= least
        return table if of_use.all() else table.filter(pa.array(of_use))


def batch_of(table: pa.Table) -> pa.RecordBatch:
    """Return a table in one piece."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
